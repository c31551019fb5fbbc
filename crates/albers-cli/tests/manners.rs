//! The manners of the program, through the real binary: what it says, how it fits a terminal, and
//! what it leaves alone.
//!
//! - `dry_run`: dry runs write nothing, quiet ones say nothing.
//! - `plain_words`: wrong values of all flags and fields, and names that were meant.
//! - `help`, `shells`: help with examples that run; completions and manual pages.
//! - `progress`: a terminal of 80 columns, and interrupts.
//! - `check_threshold`: the threshold of risk, and words that are explained where they stand.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

mod manners {
    mod check_threshold;
    mod dry_run;
    mod help;
    mod plain_words;
    mod progress;
    mod shells;
}
