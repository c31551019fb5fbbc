//! Words and figures for people.

use std::io::{ErrorKind as IoErrorKind, Write as _};
use std::process::ExitCode;

use albers::wording::{Field, Setting, Wording};
use albers::{Error, ErrorKind, Finding, Note, Relation};
use anyhow::anyhow;

/// Prints to standard output, and sees that all of it leaves. A reader that has gone away is no
/// failure.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever closed the pipe does not want the rest.
        Err(error) if error.kind() != IoErrorKind::BrokenPipe => Err(anyhow!(
            "cannot write to standard output: {error}; make room there, or send it elsewhere"
        )),
        _ => Ok(()),
    }
}

/// Prints one JSON object to standard output.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value).expect("reports have only plain fields");
    print(&(text + "\n"))
}

/// Prints a warning to standard error.
pub fn warn(text: &str) {
    // Without standard error there is nobody to warn.
    let _ = writeln!(std::io::stderr(), "albers: warning: {text}");
}

/// Prints words to standard error.
pub fn say(text: &str) {
    // Without standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints an error and returns its exit code.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    // Without the chain of sources: messages say all, and end with what the user can do.
    let own = error.downcast_ref::<Error>();
    let message = own.map_or_else(|| error.to_string(), message_of);
    let _ = writeln!(std::io::stderr(), "albers: {message}");
    let about_requirement = own.is_some_and(|own| own.kind() == ErrorKind::Requirement);
    ExitCode::from(if about_requirement { 1 } else { 2 })
}

/// What an error says, with settings by the names of their flags.
fn message_of(error: &Error) -> String {
    if let Error::Usage { problem, advice } = error {
        return format!("{}; {}", problem.text(&flag), advice.text(&flag));
    }
    let mut message = error.to_string();
    if let Error::Severe { findings } = error {
        for finding in findings {
            message = message.replace(&finding.to_string(), &finding.wording().text(&flag));
        }
    }
    match error.advice() {
        Some(advice) => message.replace(&advice.to_string(), &advice.text(&flag)),
        None => message,
    }
}

/// The lines of some findings.
pub fn findings(findings: &[Finding]) -> impl Iterator<Item = String> + '_ {
    findings.iter().map(|finding| match finding.is_severe {
        true => format!("accepted: {}", finding.wording().text(&flag)),
        false => format!("finding: {}", finding.wording().text(&flag)),
    })
}

/// The lines of findings that stop nothing here, some of which are accepted.
pub fn seen(
    findings: &[Finding],
    is_accepted: impl Fn(&Finding) -> bool,
) -> impl Iterator<Item = String> {
    findings.iter().map(move |finding| {
        let kind = match (finding.is_severe, is_accepted(finding)) {
            (true, true) => "accepted",
            (true, false) => "severe finding",
            (false, _) => "finding",
        };
        format!("{kind}: {}", finding.wording().text(&flag))
    })
}

/// Words, with settings by the names of their flags.
pub fn words(wording: &Wording) -> String {
    wording.text(&flag)
}

/// The lines of some notes.
pub fn notes(notes: &[Note]) -> impl Iterator<Item = String> + '_ {
    notes.iter().map(|note| format!("note: {}", note.wording().text(&flag)))
}

/// A setting as its flag.
fn flag(setting: &Setting) -> String {
    if setting.field == Field::Header {
        let is_false = setting.value.as_deref() == Some("false");
        return if is_false { "--no-header" } else { "--header" }.to_owned();
    }
    let flag = match setting.field {
        Field::K => "-k".to_owned(),
        Field::Output => "-o".to_owned(),
        // The flag is its value.
        Field::Codebook => return "--no-codebook".to_owned(),
        Field::Compact => return "--no-compact".to_owned(),
        Field::Nesting => return "--no-nesting".to_owned(),
        field => format!("--{}", field.name()),
    };
    match (&setting.column, &setting.value) {
        (None, None) => flag,
        (None, Some(value)) => format!("{flag} {value}"),
        (Some(column), None) => format!("{flag} '{column}'"),
        (Some(column), Some(value)) => format!("{flag} '{column}={value}'"),
    }
}

/// How classes lie to each other, in words.
pub fn relation(relation: Option<Relation>) -> &'static str {
    match relation {
        Some(Relation::Disjoint) => "disjoint: nobody fits two of them",
        Some(Relation::Nested) => "nested: who fits two of them fits one that lies in the other",
        Some(Relation::Overlapping) => "overlapping: somebody may fit several of them",
        None => "not compared with each other: they may overlap",
    }
}

/// A count with commas between thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share with four digits.
pub fn share(x: f64) -> String {
    format!("{x:.4}")
}

/// The lines of a table whose rows have equally many cells, aligned to the right.
pub fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let n_columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
        format!("  {}", cells.collect::<Vec<_>>().join("  "))
    };
    rows.iter().map(line).collect()
}
