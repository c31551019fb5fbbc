//! Words and figures for people.

use std::io::Write as _;
use std::process::ExitCode;

/// Prints to standard output. A reader that has gone away is no failure.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever closed the pipe does not want the rest.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints one JSON object to standard output.
pub fn print_json(value: &impl serde::Serialize) {
    let text = serde_json::to_string_pretty(value).expect("reports have only plain fields");
    print(&(text + "\n"));
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
    let _ = writeln!(std::io::stderr(), "albers: {error}");
    let about_requirement =
        error.downcast_ref::<albers::Error>().is_some_and(albers::Error::is_about_the_requirement);
    ExitCode::from(if about_requirement { 1 } else { 2 })
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
