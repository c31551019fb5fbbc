//! One module per command: arguments, and what is done with them.

pub mod anonymize;
pub mod generate;
