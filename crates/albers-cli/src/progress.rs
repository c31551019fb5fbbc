//! A progress bar on a terminal, nothing elsewhere.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Duration;

use albers::{Phase, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows phase, rows, rows per second and time left on standard error.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar, if standard error is a terminal.
    pub fn new() -> Bar {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar { bar }
    }
}

impl Watch for Bar {
    fn phase(&self, phase: Phase, n_rows: Option<u64>) {
        let template = match n_rows {
            Some(_) => "{msg:>10} {bar:30} {human_pos} of {human_len} rows, {per_sec}, {eta} left",
            None => "{msg:>10} {spinner} {elapsed}",
        };
        let style = ProgressStyle::with_template(template).expect("the templates are valid");
        self.bar.set_style(style);
        self.bar.set_message(phase.name());
        self.bar.reset();
        self.bar.set_position(0);
        match n_rows {
            Some(n_rows) => self.bar.set_length(n_rows),
            None => self.bar.unset_length(),
        }
    }

    fn advance(&self, n_rows: u64) -> ControlFlow<()> {
        self.bar.inc(n_rows);
        ControlFlow::Continue(())
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
