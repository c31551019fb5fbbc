//! Help that fits a terminal: the flags that most jobs need at first sight, all of them on request,
//! under headings, and examples that run.

use clap::{Arg, ArgAction, Command};

/// The columns of the terminals that help is made for.
const WIDTH: usize = 80;

/// A command with no more flags than these shows all of them at first sight.
const FEW: usize = 14;

/// The flags that the short help of a command with many shows, by their long names.
const EVERYDAY: [&str; 21] = [
    "output",
    "job",
    "json",
    "quiet",
    "dry-run",
    "force",
    "accept",
    "quasi",
    "sensitive",
    "identifier",
    "keep",
    "subject",
    "type",
    "hierarchy",
    "l-diversity",
    "t-closeness",
    "method",
    "suppress",
    "key",
    "original",
    "also-k",
];

/// Headings of flags that stand under none, or that belong together in all commands.
const HEADINGS: [(&str, &[&str]); 9] = [
    (
        "Files",
        &[
            "output",
            "job",
            "from",
            "to",
            "manifest",
            "no-codebook",
            "owner-report",
            "force",
            "dry-run",
            "rows",
            "svg",
            "conditions",
            "original",
            "hierarchies",
            "sql",
            "table",
            "like",
            "check",
            "draw",
        ],
    ),
    ("Risk", &["accept", "threshold"]),
    ("Printed", &["json", "quiet", "limit", "sort", "list", "schema"]),
    ("Resources", &["memory", "threads", "spill-dir"]),
    (
        "Question",
        &["group-by", "sum", "avg", "target", "select", "queries", "query-kind", "predicates"],
    ),
    (
        "Columns",
        &[
            "key",
            "categories",
            "domain",
            "subject",
            "keep",
            "identifier",
            "level-column",
            "quasi",
            "hierarchy",
            "type",
            "delimiter",
            "weight",
            "header",
            "no-header",
            "missing",
            "sheet",
            "encoding",
            "decimal",
            "date-format",
            "finest",
        ],
    ),
    ("Release", &["also-k", "granularity", "batch", "for-learning", "outside"]),
    ("Batch", &["max-deletes"]),
    ("Table", &["seed", "class", "vary-constants", "salary", "zipcode", "scale"]),
];

/// The heading under which these flags stand in whatever command they are.
const ALWAYS: [&str; 4] = ["Files", "Risk", "Printed", "Resources"];

/// A job file that can be pasted, in the long help of `anonymize`.
const JOB_SAMPLE: &str = "\
A job file says the same as flags, and can be kept:

  input = \"examples/patients.csv\"
  output = \"patients.anonymized.csv\"
  k = 5

  [columns.name]
  role = \"identifier\"

  [columns.age]
  role = \"quasi\"

  [columns.zip]
  role = \"quasi\"
  type = \"code\"
  hierarchy = \"prefix\"

  [columns.diagnosis]
  role = \"sensitive\"
  l-diversity = \"distinct:3\"

Save it as job.toml, and run: albers anonymize --job job.toml
'albers init' writes one for your own table.
";

/// A release of the example, which other commands look at.
macro_rules! release {
    () => {
        "  albers anonymize examples/patients.csv -o out.csv -k 5 --quasi age,sex \\\n      \
           --sensitive diagnosis --l-diversity diagnosis=distinct:3\n"
    };
}

/// An index of the example.
macro_rules! index {
    () => {
        "  albers index create idx examples/patients.csv --key name --quasi age,sex -k 5\n"
    };
}

/// What stands at the end of the long help of a command, by its words. All examples run, one after
/// another, in a folder with the examples of the repository.
const EXAMPLES: [(&str, &str); 24] = [
    (
        "albers",
        concat!(
            "  albers init examples/patients.csv\n",
            release!(),
            "  albers check out.csv\n",
            "  albers measure examples/patients.csv out.csv --quasi age,sex\n",
        ),
    ),
    (
        "albers anonymize",
        concat!(
            release!(),
            "  albers anonymize examples/patients.csv -o zips.csv -k 5 --quasi age,zip \\\n      \
               --hierarchy zip=prefix --dry-run\n",
            "  albers anonymize --job examples/job.toml\n",
        ),
    ),
    (
        "albers check",
        concat!(
            release!(),
            "  albers check out.csv\n",
            "  albers check out.csv --quasi age,sex --threshold 0.2\n",
            "  albers check out.csv --original examples/patients.csv\n",
        ),
    ),
    (
        "albers compact",
        concat!(
            "  albers anonymize examples/patients.csv -o wide.csv -k 5 --quasi age,sex \\\n      \
               --keep name --no-compact --accept unique-keep\n",
            "  albers compact examples/patients.csv wide.csv --key name -o narrow.csv \\\n      \
               --quasi age,sex\n",
        ),
    ),
    ("albers completions", "  albers completions bash\n  albers completions zsh\n"),
    ("albers experiment", "  albers experiment --list\n  albers experiment --list --json\n"),
    (
        "albers generate",
        concat!(
            "  albers generate adult -n 1000 -o adult.csv\n",
            "  albers generate agrawal -n 1000 -o people.parquet --class c2 --seed 7\n",
        ),
    ),
    (
        "albers index",
        concat!(
            index!(),
            "  albers index release idx -o first.csv\n",
            "  albers index insert idx examples/new-patients.csv\n",
            "  albers index release idx -o second.csv --batch\n",
        ),
    ),
    (
        "albers index create",
        concat!(index!(), "  albers index create empty --key name --quasi age,sex -k 5\n"),
    ),
    (
        "albers index insert",
        concat!(
            index!(),
            "  albers index insert idx examples/new-patients.csv --dry-run\n",
            "  albers index insert idx examples/new-patients.csv\n",
        ),
    ),
    ("albers index update", concat!(index!(), "  albers index update idx examples/patients.csv\n")),
    (
        "albers index delete",
        concat!(index!(), "  albers index delete idx examples/patients.csv --dry-run\n"),
    ),
    (
        "albers index sync",
        concat!(
            index!(),
            "  albers index sync idx examples/patients.csv\n",
            "  albers index sync idx examples/patients.csv --max-deletes 0.02\n",
        ),
    ),
    (
        "albers index release",
        concat!(
            index!(),
            "  albers index release idx -o out.csv --dry-run\n",
            "  albers index release idx -o out.csv --also-k 10,20\n",
        ),
    ),
    ("albers index info", concat!(index!(), "  albers index info idx\n")),
    ("albers index check", concat!(index!(), "  albers index check idx\n")),
    ("albers index compact", concat!(index!(), "  albers index compact idx\n")),
    (
        "albers hierarchy",
        concat!(
            "  albers hierarchy examples/patients.csv zip --like prefix -o zip.csv\n",
            "  albers hierarchy examples/patients.csv diagnosis --like groups -o groups.csv\n",
            "  albers hierarchy examples/patients.csv diagnosis \\\n      \
               --check examples/diagnosis.csv --draw\n",
        ),
    ),
    (
        "albers init",
        concat!(
            "  albers init examples/patients.csv\n",
            "  albers init examples/patients.csv -o patients.toml -k 10 --type zip=code\n",
        ),
    ),
    (
        "albers lattice",
        concat!(
            "  albers lattice examples/patients.csv -k 5 --suppress 0.02 --quasi age,zip \\\n      \
               --hierarchy age=ranges:5,10,20 --hierarchy zip=prefix\n",
            "  albers lattice examples/patients.csv -k 5 --quasi age,sex --sort height \\\n      \
               --hierarchy age=ranges:5,10,20 --hierarchy sex=suppress\n",
        ),
    ),
    ("albers man", "  albers man man1\n  albers man man1 --quiet\n"),
    (
        "albers measure",
        concat!(
            release!(),
            "  albers measure examples/patients.csv out.csv --quasi age,sex\n",
            "  albers measure examples/patients.csv out.csv --quasi age,sex --queries 100\n",
        ),
    ),
    (
        "albers query",
        concat!(
            release!(),
            "  albers query out.csv \"age between 40 and 50 and sex = 'f'\"\n",
            "  albers query out.csv --group-by diagnosis\n",
        ),
    ),
    (
        "albers recode",
        concat!(
            "  albers anonymize examples/patients.csv -o out.csv -k 5 --quasi age,sex \\\n      \
               --model patients.model --accept model-beside-release\n",
            "  albers recode patients.model examples/new-patients.csv --for-learning \\\n      \
               -o new.csv\n",
            "  albers recode patients.model examples/patients.csv -o again.csv --dry-run \\\n      \
               --accept model-beside-release\n",
        ),
    ),
];

/// The program with help that fits, from what the commands say of themselves.
pub fn polished(program: Command) -> Command {
    let name = program.get_name().to_owned();
    dressed(program, &name)
}

fn dressed(command: Command, words: &str) -> Command {
    let n_flags = command.get_arguments().filter(|arg| !arg.is_positional()).count();
    let mut command = command
        .max_term_width(WIDTH)
        .mut_args(|arg| flag(arg, n_flags > FEW))
        .mut_subcommands(|own| {
            let words = format!("{words} {}", own.get_name());
            dressed(own, &words)
        });
    if let Some(end) = end(&command, words) {
        command = command.after_long_help(end);
    }
    command
}

/// A flag under its heading, hidden at first sight where there are many and few need it.
fn flag(arg: Arg, are_many: bool) -> Arg {
    if arg.is_positional() {
        return arg;
    }
    let long = arg.get_long().unwrap_or_default().to_owned();
    let mut headings = HEADINGS.iter();
    let own = headings.find(|(_, flags)| flags.contains(&long.as_str()));
    let heading = own.map(|(heading, _)| *heading);
    let arg = match (arg.get_help_heading(), heading) {
        (None, Some(heading)) => arg.help_heading(heading),
        (Some(_), Some(heading)) if ALWAYS.contains(&heading) => arg.help_heading(heading),
        _ => arg,
    };
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    // A number below zero is refused as a number, not as a flag that nobody knows.
    let arg = if takes_value { arg.allow_negative_numbers(true) } else { arg };
    let is_everyday = long.is_empty() || EVERYDAY.contains(&long.as_str());
    arg.hide_short_help(are_many && !is_everyday)
}

/// What stands at the end of the long help of a command.
fn end(command: &Command, words: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(own, _)| *own == words)?;
    let before = command.get_after_long_help().map(|text| fitted(&text.to_string()) + "\n");
    let sample = (words == "albers anonymize").then(|| format!("{JOB_SAMPLE}\n"));
    Some(format!(
        "{}{}Examples:\n\n{examples}",
        before.unwrap_or_default(),
        sample.unwrap_or_default()
    ))
}

/// A job file whose comments fit, so that it can still be pasted: what goes on is a comment too.
fn fitted(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let comment = line.find("# ").filter(|_| line.chars().count() > WIDTH);
        let Some(at) = comment else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let indent = " ".repeat(at);
        let mut start = line[..at].to_owned();
        let mut own = String::from("#");
        for word in line[at + 1..].split_whitespace() {
            if at + own.chars().count() + 1 + word.chars().count() > WIDTH && own.len() > 1 {
                out.push_str(&format!("{start}{own}\n"));
                (start, own) = (indent.clone(), String::from("#"));
            }
            own.push(' ');
            own.push_str(word);
        }
        out.push_str(&format!("{start}{own}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_that_go_on_stay_comments() {
        let line = format!("k = 5    # {}", "word ".repeat(20).trim_end());
        let shown = fitted(&line);
        assert!(shown.lines().count() > 1 && shown.starts_with("k = 5    # word"), "{shown}");
        assert!(shown.lines().skip(1).all(|line| line.starts_with("         # ")), "{shown}");
        assert!(shown.lines().all(|line| line.len() <= WIDTH), "{shown}");
        assert_eq!(fitted("k = 5 # few"), "k = 5 # few\n");
    }

    #[test]
    fn every_flag_stands_under_one_heading_of_the_table() {
        let all: Vec<&str> = HEADINGS.iter().flat_map(|(_, flags)| flags.iter().copied()).collect();
        for flag in &all {
            assert_eq!(all.iter().filter(|own| *own == flag).count(), 1, "{flag}");
        }
    }
}
