//! A proposal as a commented job file.

use std::path::{Path, PathBuf};

use albers_storage::choice::Choice as _;
use albers_table::format::Format;

use super::{ColumnProposal, InitReport, InitRequest, percent};
use crate::error::{Error, Result};

const ROLES: &str = "\
# Roles:
#   quasi        others know it and it identifies people in combination: generalized
#   sensitive    must not be linked to a person: published as it is, protected where a rule is given
#   identifier   identifies a person alone: dropped
#   subject      tells which rows belong to one person: k counts persons; dropped
#   keep         published as it is: only for what nobody can use to find a person
#   (none)       dropped
";

/// Characters of a line of comment, without its mark.
const COMMENT_CHARS: usize = 78;

/// The text of the job file.
pub fn text(report: &InitReport, request: &InitRequest, k: u64) -> Result<String> {
    let folder = absolute(request.job.parent().unwrap_or(Path::new("")))?;
    let input = absolute(&request.input)?;
    let output = output_beside(&input);
    let job = utf8(request.job.clone())?;
    let mut text = format!(
        "# A proposal by 'albers init', made from the names of the columns and from counts.\n\
         # Read it line by line: nobody but you knows what others know about these people.\n\
         # Run it with: albers anonymize --job {}\n\n{ROLES}\n",
        plain(&job),
    );
    text.push_str(&sets_as_comment(report));
    for note in &report.notes {
        text.push_str(&comment(&format!("Note: {}.", plain(note))));
    }
    text.push_str(&format!(
        "\n# {} rows, {} columns. Paths are relative to this file.\ninput = {}\noutput = {}\n\n",
        report.rows,
        report.columns.len(),
        quoted(&utf8(relative_to(&folder, &input))?),
        quoted(&utf8(relative_to(&folder, &output))?),
    ));
    text.push_str(&format!("# Every row is hidden among at least so many.\nk = {k}\n"));
    if let Some(delimiter) = request.delimiter {
        text.push_str(&format!("delimiter = {}\n", quoted(&delimiter.to_string())));
    }
    if let Some(header) = request.header {
        text.push_str(&format!("header = {header}\n"));
    }
    if let Some(sheet) = &request.sheet {
        text.push_str(&format!("sheet = {}\n", quoted(sheet)));
    }
    if !request.missing.is_empty() {
        let tokens: Vec<String> = request.missing.iter().map(|token| quoted(token)).collect();
        text.push_str(&format!("missing = [{}]\n", tokens.join(", ")));
    }
    if let Some(encoding) = request.text.encoding {
        text.push_str(&format!("encoding = {}\n", quoted(encoding.name())));
    }
    if let Some(decimal) = request.text.decimal {
        text.push_str(&format!("decimal = {}\n", quoted(decimal.name())));
    }
    for column in &report.columns {
        text.push_str(&column_as_table(column));
        let mut formats = request.text.date_formats.iter();
        if let Some((_, format)) = formats.find(|(name, _)| *name == column.name) {
            let comment = if column.role.is_some() { "" } else { "# " };
            text.push_str(&format!("{comment}date-format = {}\n", quoted(&format.to_string())));
        }
    }
    Ok(text)
}

fn sets_as_comment(report: &InitReport) -> String {
    let mut text = String::new();
    if !report.identifying_sets.is_empty() {
        text.push_str("# What identifies, and the share of the rows that it makes unique:\n");
        for set in &report.identifying_sets {
            let names: Vec<String> = set.columns.iter().map(|name| plain(name)).collect();
            let share = percent(set.unique_share);
            text.push_str(&format!("#   {}: {share}\n", names.join(" + ")));
        }
    }
    text
}

fn column_as_table(column: &ColumnProposal) -> String {
    let mut text = format!("\n[columns.{}]\n# {}\n", quoted(&column.name), counts(column));
    text.push_str(&comment(&format!("Why: {}.", plain(&column.reason))));
    for sentence in &column.relations {
        text.push_str(&comment(&format!("Beware: {}.", plain(sentence))));
    }
    match &column.role {
        Some(role) => text.push_str(&format!("role = {}\n", quoted(role))),
        None if column.may_be_kept => text.push_str("# role = \"keep\"\n"),
        None => {}
    }
    for line in &column.suggestions {
        text.push_str(&format!("# {line}\n"));
    }
    if let Some(kind) = &column.given_type {
        // Without a role a type has no effect, and a job that says one is refused.
        let comment = if column.role.is_some() { "" } else { "# " };
        text.push_str(&format!("{comment}type = {}\n", quoted(kind)));
    }
    if let Some(hierarchy) = &column.hierarchy {
        text.push_str(&format!("hierarchy = {}\n", quoted(hierarchy)));
    }
    if let Some(diversity) = &column.l_diversity {
        text.push_str(&format!("l-diversity = {}\n", quoted(diversity)));
    }
    text
}

fn counts(column: &ColumnProposal) -> String {
    let Some(kind) = &column.column_type else { return "not read".to_owned() };
    let about = if column.distinct_is_estimate { "about " } else { "" };
    format!(
        "{kind}, {about}{} values, {} missing cells, {} of the rows unique",
        column.distinct,
        column.missing,
        percent(column.unique_share)
    )
}

/// A comment, in lines that end between words.
fn comment(text: &str) -> String {
    wrapped(text, COMMENT_CHARS).iter().map(|line| format!("# {line}\n")).collect()
}

/// Text in lines of at most so many characters; a longer word stands alone.
pub fn wrapped(text: &str, n_chars: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= n_chars {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// A TOML string that fits on one line, also as a key.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(control)));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Text that stays on its line and does nothing to a terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::path::absolute(path).map_err(|source| {
        albers_storage::StorageError::Read { path: path.to_owned(), source }.into()
    })
}

/// As the job file says it: relative where the file lies below the job's folder.
fn relative_to(folder: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(folder).unwrap_or(path).to_owned()
}

fn utf8(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().map_err(|path| {
        Error::usage(
            format!("the path {} is not valid UTF-8, as a job file needs it", path.display()),
            "rename the file or its folder",
        )
    })
}

/// `people.csv.gz` becomes `people.anonymized.csv.gz`.
fn output_beside(input: &Path) -> PathBuf {
    let name = input.file_name().unwrap_or_default().to_string_lossy();
    let start = name.char_indices().nth(1).map_or(name.len(), |(at, _)| at);
    let is_packed = [".gz", ".zst", ".zstd"].iter().any(|ending| name.ends_with(ending));
    let unpacked = if is_packed { name.rfind('.').unwrap_or(name.len()) } else { name.len() };
    let dot = name[..unpacked].rfind('.').filter(|&at| at >= start).unwrap_or(unpacked);
    let output = input.with_file_name(format!("{}.anonymized{}", &name[..dot], &name[dot..]));
    if Format::of(&output).is_some_and(|format| format != Format::Sheet) {
        return output;
    }
    let ending = match Format::for_reading(input) {
        Ok(format @ (Format::JsonLines | Format::Parquet | Format::Tsv)) => format.name(),
        _ => Format::Csv.name(),
    };
    input.with_file_name(format!("{}.anonymized.{ending}", &name[..dot]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_name_is_read_back_whatever_it_holds() {
        for name in
            ["a.b", "a \"b\"", "back\\slash", "new\nline", "\u{1}\u{7f}", "naïve 日本", "#x"]
        {
            let text = format!("[columns.{}]\nrole = \"quasi\"\n", quoted(name));
            let job: crate::Job = toml::from_str(&text).unwrap();
            assert!(job.columns.contains_key(name), "{text}");
        }
    }

    #[test]
    fn the_release_keeps_the_ending_of_the_table_where_it_can_be_written() {
        for (input, output) in [
            ("d/people.csv", "d/people.anonymized.csv"),
            ("people.csv.gz", "people.anonymized.csv.gz"),
            ("a.b.tsv.zst", "a.b.anonymized.tsv.zst"),
            ("x.parquet", "x.anonymized.parquet"),
            ("x.pq", "x.anonymized.pq"),
            ("data", "data.anonymized.csv"),
            ("data.gz", "data.anonymized.csv"),
            ("x.txt", "x.anonymized.csv"),
            (".csv", ".csv.anonymized.csv"),
        ] {
            assert_eq!(output_beside(Path::new(input)), Path::new(output), "{input}");
        }
    }

    #[test]
    fn paths_below_the_job_are_relative_to_it() {
        let folder = Path::new("/a/b");
        assert_eq!(relative_to(folder, Path::new("/a/b/c/x.csv")), Path::new("c/x.csv"));
        assert_eq!(relative_to(folder, Path::new("/a/x.csv")), Path::new("/a/x.csv"));
    }
}
