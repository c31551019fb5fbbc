//! Wrong values in plain words: every flag of every command and every field of a job file is tried
//! with values of other kinds, and no answer speaks of the inside of the program.

use crate::common::{Folder, PEOPLE, helped};
use serde_json::Value;

/// Words that nobody should need to know.
const JARGON: [&str; 23] = [
    "u64",
    "i128",
    "u32",
    "u16",
    "u8",
    "usize",
    "f64",
    "i64",
    "bool",
    "enum",
    "unknown variant",
    "literal",
    "parse",
    "struct",
    "serde",
    "invalid type",
    "invalid digit",
    "invalid float",
    "sequence",
    "visitor",
    "newtype",
    "panicked",
    "TOML parse error",
];

/// What flags are tried with.
const WRONG: [&str; 6] = ["x", "-1", "1.5", "", "99999999999999999999999", "x=y"];

fn speaks_plainly(said: &str, of: &str) {
    let words: Vec<&str> = said.split(|own: char| !own.is_alphanumeric()).collect();
    for jargon in JARGON {
        let is_there = match jargon.contains(' ') {
            true => said.contains(jargon),
            false => words.contains(&jargon),
        };
        assert!(!is_there, "{of} answers with '{jargon}': {said}");
    }
}

/// What a command needs to come as far as its flags.
fn places(words: &str) -> &'static [&'static str] {
    match words {
        "anonymize" | "init" | "lattice" => &["in.csv"],
        "check" | "query" => &["in.csv"],
        "compact" | "measure" => &["in.csv", "in.csv"],
        "recode" => &["model", "in.csv"],
        "completions" => &["bash"],
        "man" => &["pages"],
        "generate" => &["adult"],
        "experiment" => &["metrics"],
        "index info" | "index check" | "index compact" | "index release" => &["idx"],
        "index create" => &["idx"],
        _ => &["idx", "in.csv"],
    }
}

#[test]
fn every_flag_with_a_wrong_value_is_answered_in_plain_words() {
    let folder = Folder::with(PEOPLE);
    let mut n_tried = 0;
    for words in
        helped::commands(&folder).iter().filter(|words| !matches!(words.as_str(), "" | "index"))
    {
        for flag in helped::flags(&folder, words) {
            let values = WRONG.iter().filter(|_| flag.takes_value);
            for value in values {
                let given = format!("{}={value}", flag.name.trim_end_matches('='));
                let given = if flag.name.len() == 2 {
                    vec![flag.name.as_str(), value]
                } else {
                    vec![given.as_str()]
                };
                let arguments: Vec<&str> =
                    words.split(' ').chain(places(words).iter().copied()).chain(given).collect();
                let run = folder.run_once(&arguments);
                speaks_plainly(&run.err, &arguments.join(" "));
                n_tried += 1;
            }
        }
    }
    assert!(n_tried > 900, "{n_tried} values were tried");
}

#[test]
fn a_number_that_is_none_is_refused_with_an_example() {
    let folder = Folder::with(PEOPLE);
    for (arguments, says) in [
        ("-k five", "albers: -k must be a whole number such as 5, not 'five'\n"),
        ("-k -1", "albers: -k must be a whole number such as 5, not '-1'\n"),
        ("-k 1.5", "albers: -k must be a whole number such as 5, not '1.5'\n"),
        ("-k 99999999999999999999", "albers: -k must be a smaller whole number, not "),
        ("--suppress few", "albers: --suppress must be a number such as 0.5, not 'few'\n"),
        (
            "--weight age=much",
            "albers: --weight 'age=much': what follows '=' must be a number such as 0.5\n",
        ),
        (
            "--level age=1.5",
            "albers: --level 'age=1.5': what follows '=' must be a whole number such as 5\n",
        ),
        ("--weight age", "albers: --weight 'age': write COLUMN=VALUE; there is no '='\n"),
        ("--type age=interger", "did you mean 'integer'?"),
        ("--delimiter ab", "albers: --delimiter must be one character, or tab, not 'ab'\n"),
        ("--memory much", "albers: --memory 'much': "),
        ("--time 30 --method samarati", "albers: --time '30': there is no unit"),
        ("--method mondrain", "not 'mondrain'; did you mean 'mondrian'?\n"),
        ("--quazi age", "--quasi"),
        ("--accept unique-kep", "did you mean 'unique-keep'"),
    ] {
        let arguments = format!("anonymize in.csv -o out.csv --quasi age {arguments}");
        let run = folder.run_once(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.said());
        assert!(run.err.contains(says), "{arguments}: {}", run.err);
    }
    assert_eq!(folder.names(), ["in.csv"]);
}

/// The places of all fields of a job file, with their schemas.
fn fields(schema: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let of = |name: &str| schema["$defs"][name]["properties"].as_object().unwrap().clone();
    for (name, own) in schema["properties"].as_object().unwrap() {
        if !matches!(name.as_str(), "columns" | "workload") {
            found.push((name.clone(), own.clone()));
        }
    }
    found.extend(
        of("ColumnJob").into_iter().map(|(name, own)| (format!("columns.age.{name}"), own)),
    );
    let workload = of("WorkloadJob").into_iter().filter(|(name, _)| name != "select");
    found.extend(workload.map(|(name, own)| (format!("workload.{name}"), own)));
    found
}

#[test]
fn every_field_with_a_value_of_another_kind_is_answered_in_plain_words() {
    let folder = Folder::with(PEOPLE);
    let schema: Value = serde_json::from_str(&folder.run("init --schema").out).unwrap();
    let fields = fields(&schema);
    assert!(fields.len() > 45, "{} fields", fields.len());
    for (field, own) in fields {
        for value in
            ["\"x\"", "5", "-1", "1.5", "true", "[\"x\"]", "[5]", "{ x = 5 }", "1979-05-27"]
        {
            folder.write("job.toml", format!("input = \"in.csv\"\n{field} = {value}\n"));
            let run = folder.run_once(&["anonymize", "--job", "job.toml"]);
            let of = format!("{field} = {value}");
            speaks_plainly(&run.err, &of);
            let kind = own["type"].as_str().or(own["type"][0].as_str());
            let is_number = matches!(kind, Some("integer" | "number"));
            if is_number && matches!(value, "\"x\"" | "true" | "[5]") {
                let name = field.rsplit('.').next().unwrap();
                assert!(run.err.contains("job.toml, line 2: "), "{of}: {}", run.err);
                assert!(run.err.contains(&format!("'{name}'")), "{of}: {}", run.err);
                assert!(run.err.contains(" number"), "{of}: {}", run.err);
            }
        }
    }
}

#[test]
fn a_job_file_is_refused_where_it_is_wrong() {
    let folder = Folder::with(PEOPLE);
    for (line, job, says) in [
        (1, "k = \"five\"\n", "'k' must be a whole number such as 5, not \"five\""),
        (2, "seed = 1\nk = -1\n", "'k' must be a whole number such as 5, not -1"),
        (1, "exact = \"yes\"\n", "'exact' must be true or false, not \"yes\""),
        (1, "delimiter = \"ab\"\n", "'delimiter' must be one character in quotes, not \"ab\""),
        (1, "missing = \"NA\"\n", "'missing' must be a list such as"),
        (
            2,
            "[columns.age]\nlevel = 70000\n",
            "'level' of column 'age' must be a whole number from 0 to 65535",
        ),
        (2, "[columns.age]\nrole = \"quazi\"\n", "not 'quazi'; did you mean 'quasi'?"),
        (
            2,
            "[columns.age]\nrol = \"quasi\"\n",
            "there is no field 'rol' of column 'age'; did you mean 'role'?",
        ),
        (1, "metod = \"mondrian\"\n", "there is no field 'metod'; did you mean 'method'?"),
        (1, "method = \"mondrain\"\n", "did you mean 'mondrian'?"),
        (1, "memory = \"much\"\n", "'memory': "),
        (2, "[[workload.select]]\nweight = 2\n", "lacks the field 'where'"),
        (2, "k = 5\nquasi age\n", "this is not TOML"),
        (1, "k = 99999999999999999999\n", "a number is too large"),
    ] {
        folder.write("job.toml", job);
        let run = folder.run_once(&["anonymize", "--job", "job.toml"]);
        assert_eq!(run.code, Some(2), "{job}: {}", run.said());
        assert!(run.err.contains(says), "{job}: {}", run.err);
        if !job.contains("select") {
            assert!(run.err.contains(&format!("job.toml, line {line}: ")), "{job}: {}", run.err);
        }
        speaks_plainly(&run.err, job);
    }
}

#[test]
fn columns_that_were_meant_are_told() {
    let folder = Folder::with(PEOPLE);
    for (name, says) in [
        ("agee", "there is no column 'agee'; did you mean 'age'? the columns are name, age, "),
        ("AGE", "did you mean 'age'?"),
        ("dis_ease", "did you mean 'disease'?"),
        ("nothing", "there is no column 'nothing'; the columns are name, age, "),
    ] {
        folder.write("job.toml", format!("input = \"in.csv\"\noutput = \"o.csv\"\nk = 2\n[columns.{name}]\nrole = \"quasi\"\n"));
        for arguments in [
            format!("anonymize in.csv -o out.csv -k 2 --quasi {name}"),
            "anonymize --job job.toml".to_owned(),
            format!("check in.csv --quasi {name}"),
            format!("measure in.csv in.csv --quasi {name}"),
            format!("lattice in.csv -k 2 --quasi {name} --hierarchy {name}=prefix"),
        ] {
            let run = folder.run_once(&arguments.split(' ').collect::<Vec<_>>());
            assert_eq!(run.code, Some(2), "{arguments}: {}", run.said());
            assert!(run.err.contains(says), "{arguments}: {}", run.err);
        }
    }
    let run = folder.run_once(&["query", "in.csv", "agee < 5", "--keep", "age"]);
    assert!(run.err.contains("did you mean 'age'?"), "{}", run.err);
}

#[test]
fn of_many_columns_ten_are_listed() {
    let names: Vec<String> = (1..=14).map(|n| format!("column{n}x")).collect();
    let folder = Folder::with(format!("{}\n{}\n", names.join(","), vec!["a"; 14].join(",")));
    let run = folder.run("check in.csv --quasi other");
    assert!(run.err.contains("column10x and 4 more\n"), "{}", run.err);
    assert!(!run.err.contains("column11x"), "{}", run.err);
}

#[test]
fn what_may_be_a_cell_is_never_told_as_a_column_that_was_meant() {
    let folder = Folder::with("Ysolde,7303\nZebedee,7304\n");
    let run = folder.run("check in.csv --quasi Ysold --header");
    assert_eq!(run.code, Some(2));
    assert!(!run.err.contains("Ysolde") && !run.err.contains("7303"), "{}", run.err);
}

#[test]
fn a_missing_text_of_a_misspelt_column_is_refused() {
    let folder = Folder::with("age,zip\n34,01067\n99,01069\n");
    let job = "anonymize in.csv -o out.csv -k 2 --quasi age,zip --missing";
    let run = folder.run(&format!("{job} agge=99"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("did you mean 'age'?"), "{}", run.err);
    assert_eq!(folder.names(), ["in.csv"]);
    for meant in ["age=99", "zip=agge=99", "other-thing=99"] {
        let run = folder.run(&format!("{job} {meant} --force"));
        assert_eq!(run.code, Some(0), "{meant}: {}", run.said());
    }
}

#[test]
fn what_a_terminal_obeys_in_names_of_columns_is_shown_and_not_sent() {
    let names = "red\u{1b}[31m,bell\u{7},nul\u{0},c1\u{9b}2J";
    let rows: String = (0..20).map(|row| format!("{},{},{},a\n", row % 3, row % 2, row)).collect();
    let folder = Folder::with(format!("{names}\n{rows}"));
    let quasi = "red\u{1b}[31m,bell\u{7}";
    let runs: [&[&str]; 6] = [
        &["check", "in.csv", "--quasi", "other"],
        &["check", "in.csv", "--quasi", quasi],
        &["init", "in.csv", "-o", "job.toml"],
        &["lattice", "in.csv", "--quasi", quasi, "-k", "2"],
        &["anonymize", "in.csv", "-o", "out.csv", "--quasi", quasi, "-k", "2"],
        &["anonymize", "in.csv", "--no-such-flag\u{1b}[31m"],
    ];
    for arguments in runs {
        let run = folder.run_with(arguments);
        let is_sent = |letter: char| letter.is_control() && letter != '\n';
        assert!(!run.out.contains(is_sent), "{arguments:?}: {:?}", run.out);
        assert!(!run.err.contains(is_sent), "{arguments:?}: {:?}", run.err);
    }
    let run = folder.run("check in.csv --quasi other");
    for shown in ["red\\u{1b}[31m", "bell\\u{7}", "nul\\u{0}", "c1\\u{9b}2J"] {
        assert!(run.err.contains(shown), "{shown}: {}", run.err);
    }
    // What a program reads has its names as they are.
    let sensitive = "red\u{1b}[31m";
    let checked = ["check", "in.csv", "--quasi", "bell\u{7}", "--sensitive", sensitive, "--json"];
    let run = folder.run_with(&checked);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert!(report.to_string().contains("red\\u001b[31m"), "{report}");
}

/// The mistakes of whoever writes a command for the first time.
#[test]
fn one_argument_too_many_is_answered_with_how_arguments_are_joined() {
    let folder = Folder::with(PEOPLE);
    for (arguments, word) in [
        (&["anonymize", "in.csv", "-o", "out.csv", "-k", "2", "--quasi", "age", "zip"][..], "zip"),
        (&["anonymize", "in.csv", "out.csv", "-k", "2", "--quasi", "age"], "out.csv"),
        (&["query", "in.csv", "age", "between", "30", "and", "40"], "between"),
    ] {
        let run = folder.run_with(arguments);
        let told =
            format!("albers: '{word}' is one argument too many; names of columns are joined");
        assert!(run.code == Some(2) && run.err.contains(&told), "{}", run.said());
    }
}

/// The nearest flag of more letters would publish a column.
#[test]
fn k_with_two_dashes_is_answered_with_the_flag_of_one() {
    let folder = Folder::with(PEOPLE);
    let run = folder.run("anonymize in.csv -o out.csv --k 2 --quasi age");
    assert!(run.code == Some(2) && run.err.contains("did you mean '-k'?"), "{}", run.err);
}

/// Days of a release are asked for in quotes, as it shows them.
#[test]
fn a_day_that_is_written_in_another_way_is_answered_with_how_it_is() {
    let rows = (1..=20).map(|day| format!("2020-01-{day:02}\n")).collect::<String>();
    let folder = Folder::with(format!("day\n{rows}"));
    folder.anonymize("in.csv -o out.csv -k 2 --quasi day --hierarchy day=dates");
    for condition in ["day > '01.05.2020'", "day >= 2020-01-05"] {
        let run = folder.run_with(&["query", "out.csv", condition]);
        assert_eq!(run.code, Some(2), "{condition}: {}", run.said());
        assert!(run.err.contains("'2020-12-31'"), "{condition}: {}", run.err);
        assert!(!run.err.contains("without quotes"), "{condition}: {}", run.err);
    }
}
