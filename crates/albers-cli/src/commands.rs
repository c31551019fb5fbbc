//! One module per command: arguments, and what is done with them.

pub mod anonymize;
pub mod check;
pub mod compact;
pub mod experiment;
pub mod generate;
pub mod index;
pub mod init;
pub mod lattice;
pub mod measure;
pub mod query;
pub mod recode;
mod resolutions;
