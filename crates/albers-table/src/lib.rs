//! What comes in: tables, their schema, and the coding of values into points.
//!
//! - [`schema`]: the type and the role of each column.
//! - [`value`]: text to typed values and back.
//! - [`hierarchy`]: generalization hierarchies, from files or built in.
//! - [`profile`]: what a table looks like, in bounded memory.
//! - [`write`](mod@write): record batches to CSV and Parquet files.

pub mod chunk;
pub mod domain;
pub mod error;
pub mod hierarchy;
mod infer;
pub mod mix;
pub mod profile;
pub mod progress;
pub mod read;
pub mod schema;
pub mod sink;
pub mod source;
pub mod value;
pub mod write;

pub use error::{Result, TableError};
