//! Words and figures for people.

use std::borrow::Cow;
use std::io::{ErrorKind as IoErrorKind, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use albers::wording::{Field, Setting, Wording};
use albers::{Error, ErrorKind, Finding, Note, Relation};
use anyhow::anyhow;

/// Whether nothing is said but what must be.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Lines on a terminal are no longer than this, since nobody reads them.
const LONGEST_CHARS: usize = 100;

/// Says nothing from now on but what must be said.
pub fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Whether nothing is said but what must be.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints what was done, unless the program is to be quiet.
pub fn tell(text: &str) -> anyhow::Result<()> {
    if is_quiet() { Ok(()) } else { print(text) }
}

/// The same to standard error, where standard output is taken.
pub fn tell_aside(text: &str) {
    if !is_quiet() {
        say(text);
    }
}

/// Prints what was asked for to standard output: wrapped at words where people read it, and one
/// line for each thing where programs do.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_code(&visible(text))
}

/// The same of what another program runs, in which no letter may change.
pub fn print_code(text: &str) -> anyhow::Result<()> {
    match stdout_chars() {
        Some(width) => print_raw(&wrapped(text, width)),
        None => print_raw(text),
    }
}

/// A text whose control characters, but for the ends of lines, are shown as `\u{1b}`: the name of a
/// column may hold what a terminal obeys.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_obeyed = |letter: char| letter.is_control() && letter != '\n';
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match is_obeyed(letter) {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Prints to standard output as it is, and sees that all of it leaves. A reader that has gone away
/// is no failure.
pub fn print_raw(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever closed the pipe does not want the rest.
        Err(error) if error.kind() != IoErrorKind::BrokenPipe => Err(no_room(&error)),
        _ => Ok(()),
    }
}

fn no_room(error: &std::io::Error) -> anyhow::Error {
    anyhow!("cannot write to standard output: {error}; make room there, or send it elsewhere")
}

/// Prints what the reader of arguments says: help that was asked for to standard output, what is
/// wrong to standard error.
pub fn print_about_arguments(error: &clap::Error) -> anyhow::Result<()> {
    if error.use_stderr() {
        let text = error.render().to_string();
        match visible(&text) {
            // Without standard error there is nobody to tell.
            Cow::Borrowed(_) => drop(error.print()),
            // Its colours are control characters too.
            Cow::Owned(shown) => drop(write!(std::io::stderr(), "{shown}")),
        }
        return Ok(());
    }
    match error.print().and_then(|()| std::io::stdout().flush()) {
        // Whoever closed the pipe does not want the rest.
        Err(error) if error.kind() != IoErrorKind::BrokenPipe => Err(no_room(&error)),
        _ => Ok(()),
    }
}

/// Prints one JSON object to standard output.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value).expect("reports have only plain fields");
    print_raw(&(text + "\n"))
}

/// How many characters fit on a line of standard output, where that is a terminal.
fn stdout_chars() -> Option<usize> {
    let is_terminal = std::io::stdout().is_terminal();
    is_terminal.then(|| chars_of(terminal_size::terminal_size_of(std::io::stdout())))
}

fn stderr_chars() -> Option<usize> {
    let is_terminal = std::io::stderr().is_terminal();
    is_terminal.then(|| chars_of(terminal_size::terminal_size_of(std::io::stderr())))
}

fn chars_of(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    const USUAL_CHARS: usize = 80;
    let width = size.map(|(terminal_size::Width(n), _)| usize::from(n)).filter(|&n| n > 0);
    width.unwrap_or(USUAL_CHARS).min(LONGEST_CHARS)
}

/// A text whose lines are wrapped at words; what follows hangs below the words of its line. A word
/// that is longer than a line stays whole.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        match line.chars().count() <= width {
            true => out.push_str(line),
            false => wrap_line(line, width, &mut out),
        }
        out.push_str(end);
    }
    out
}

fn wrap_line(line: &str, width: usize, out: &mut String) {
    let own = line.len() - line.trim_start().len();
    let indent = " ".repeat((own + 4).min(width / 2));
    out.push_str(&line[..own]);
    let mut at = own;
    let mut is_first = true;
    // Spaces between words stay, so that columns stay columns on the first line.
    for piece in line[own..].split_inclusive(' ') {
        let n_chars = piece.trim_end().chars().count();
        if !is_first && at + n_chars > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&indent);
            at = indent.len();
        }
        out.push_str(piece);
        at += piece.chars().count();
        is_first = false;
    }
    out.truncate(out.trim_end_matches(' ').len());
}

/// Prints a warning to standard error.
pub fn warn(text: &str) {
    // Without standard error there is nobody to warn.
    let _ = writeln!(std::io::stderr(), "{}", for_terminal(&format!("albers: warning: {text}")));
}

/// Prints an error in words.
pub fn refuse(text: &str) {
    // Without standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{}", for_terminal(&format!("albers: {text}")));
}

/// Ends a line of progress, so that what follows stands on its own.
pub fn end_line() {
    if stderr_chars().is_some() && !is_quiet() {
        let _ = writeln!(std::io::stderr());
    }
}

/// Words as standard error shows them.
fn for_terminal(text: &str) -> String {
    let text = visible(text);
    match stderr_chars() {
        Some(width) => wrapped(&text, width),
        None => text.into_owned(),
    }
}

/// Prints words to standard error.
pub fn say(text: &str) {
    // Without standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{}", for_terminal(text));
}

/// Prints an error and returns its exit code.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    // Without the chain of sources: messages say all, and end with what the user can do.
    let own = error.downcast_ref::<Error>();
    let message = own.map_or_else(|| error.to_string(), message_of);
    refuse(&message);
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

/// A number of classes, with what a class is.
pub fn classes(n: u64) -> String {
    format!("{} classes (groups of rows that show the same)", count(n))
}

/// A share with four digits.
pub fn share(x: f64) -> String {
    format!("{x:.4}")
}

/// The lines of a table whose rows have equally many cells, aligned to the right. On a terminal that
/// is too narrow for all columns, those that do not fit stand below the others, with the first again.
pub fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    stacked(rows, stdout_chars().unwrap_or(usize::MAX))
}

fn stacked(rows: &[Vec<String>], most_chars: usize) -> Vec<String> {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let n_columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut lines = Vec::new();
    let mut from = 0;
    while from < n_columns {
        // The first column tells which row it is, also in what stands below.
        let mut shown: Vec<usize> = if from > 0 { vec![0, from] } else { vec![0] };
        let mut n_chars: usize = shown.iter().map(|&at| 2 + widths[at]).sum();
        from += 1;
        while from < n_columns && n_chars + 2 + widths[from] <= most_chars {
            n_chars += 2 + widths[from];
            shown.push(from);
            from += 1;
        }
        lines.extend((!lines.is_empty()).then(String::new));
        lines.extend(rows.iter().map(|row| {
            let cells = shown.iter().map(|&at| format!("{:>1$}", row[at], widths[at]));
            format!("  {}", cells.collect::<Vec<_>>().join("  "))
        }));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_at_words_and_hang() {
        let text = "short\nfinding: of which there are many words\n";
        let wide = "short\nfinding: of which\n    there are many\n    words\n";
        assert_eq!(wrapped(text, 18), wide);
        assert_eq!(wrapped(text, 80), text);
        assert_eq!(wrapped("a reallylongword b\n", 8), "a\n    reallylongword\n    b\n");
        assert_eq!(
            wrapped("  age  quasi (integer), loses\n", 16),
            "  age  quasi\n      (integer),\n      loses\n"
        );
    }

    #[test]
    fn what_a_terminal_obeys_is_shown_and_not_sent() {
        assert_eq!(
            visible("a\u{1b}]0;b\u{7}\0\t\r\u{9b}\u{7f}"),
            "a\\u{1b}]0;b\\u{7}\\u{0}\\t\\r\\u{9b}\\u{7f}"
        );
        for plain in ["two\nlines\n", "n\u{e4}ive \u{2026} \\"] {
            assert!(matches!(visible(plain), Cow::Borrowed(same) if same == plain));
        }
    }

    #[test]
    fn columns_that_do_not_fit_stand_below_the_others() {
        let cells = |row: [&str; 3]| row.map(str::to_owned).to_vec();
        let rows = [cells(["age", "zip", "ncp"]), cells(["4", "0", "0.3467"])];
        assert_eq!(stacked(&rows, 80), ["  age  zip     ncp", "    4    0  0.3467"]);
        let low = ["  age  zip", "    4    0", "", "  age     ncp", "    4  0.3467"];
        assert_eq!(stacked(&rows, 12), low);
    }
}
