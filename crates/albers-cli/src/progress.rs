//! A progress bar on a terminal, nothing elsewhere.

use std::fmt::Write;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Duration;

use albers::{Phase, Watch};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::render;

/// With a total: what is done, a bar that takes the room that is left, and when it ends.
const WITH_TOTAL: &str = "{msg} {wide_bar} {percent:>3} %, {human_pos} of {total} rows{left}";

/// Without one: how much is done, and for how long.
const WITHOUT_TOTAL: &str = "{msg} {spinner} {human_pos} rows, {elapsed}";

/// What is shown between two phases, so that no figure of one stands beside the words of the other.
const NOTHING: &str = "";

/// Shows phase, share, rows and time left on standard error.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar, if standard error is a terminal and the program is not to be quiet.
    pub fn new() -> Bar {
        let is_shown = std::io::stderr().is_terminal() && !render::is_quiet();
        let target = match is_shown {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style(NOTHING));
        if is_shown {
            keep_drawing(&bar);
        }
        Bar { bar }
    }
}

/// Draws a bar again from time to time, as long as it is there. The bar's own way to do so panics
/// where no thread can be started; then it is only drawn when rows are done.
fn keep_drawing(bar: &ProgressBar) {
    let bar = bar.downgrade();
    let draw = move || {
        while let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) {
            bar.tick();
            drop(bar);
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    let _ = std::thread::Builder::new().spawn(draw);
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the templates are valid");
    // Rows may be done while the bar is drawn, and the total may be an estimate.
    let style = style.with_key("total", |state: &ProgressState, text: &mut dyn Write| {
        let total = state.len().unwrap_or(0).max(state.pos());
        let _ = write!(text, "{}", HumanCount(total));
    });
    style.with_key("left", |state: &ProgressState, text: &mut dyn Write| {
        // Before the first rows are done nobody can tell.
        let seconds = state.eta().as_secs();
        if state.pos() > 0 {
            // What cannot be written is not shown.
            let _ = write!(text, ", {} left", time(seconds));
        }
    })
}

/// A time in whole units, the two greatest of them.
fn time(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

/// A phase in plain words, all equally long so that the bar does not jump.
fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Read => "reading rows  ",
        Phase::Partition => "finding groups",
        Phase::Search => "trying levels ",
        Phase::Verify => "verifying     ",
        Phase::Write => "writing rows  ",
        Phase::Measure => "measuring loss",
        Phase::Audit => "checking      ",
        _ => "working       ",
    }
}

impl Watch for Bar {
    fn phase(&self, phase: Phase, n_rows: Option<u64>) {
        let template = if n_rows.is_some() { WITH_TOTAL } else { WITHOUT_TOTAL };
        self.bar.set_style(style(NOTHING));
        self.bar.set_message(words(phase));
        self.bar.reset();
        self.bar.set_position(0);
        match n_rows {
            Some(n_rows) => self.bar.set_length(n_rows),
            None => self.bar.unset_length(),
        }
        self.bar.set_style(style(template));
    }

    fn advance(&self, n_rows: u64) -> ControlFlow<()> {
        self.bar.inc(n_rows);
        // Rows that are done correct an estimate.
        let done = self.bar.position();
        if self.bar.length().is_some_and(|total| total < done) {
            self.bar.set_length(done);
        }
        ControlFlow::Continue(())
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_whole_units() {
        let shown = [0, 59, 60, 3599, 3600, 90_061].map(time);
        assert_eq!(shown, ["0s", "59s", "1m 0s", "59m 59s", "1h 0m", "25h 1m"]);
    }
}
