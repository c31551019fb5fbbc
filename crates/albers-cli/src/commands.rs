//! One module per command: arguments, and what is done with them.

pub mod anonymize;
pub mod check;
pub mod compact;
pub mod completions;
pub mod experiment;
pub mod generate;
pub mod hierarchy;
pub mod index;
pub mod init;
pub mod lattice;
pub mod man;
pub mod measure;
pub mod query;
pub mod recode;
mod resolutions;
