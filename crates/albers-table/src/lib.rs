//! What comes in and what goes out: tables, their schema, and the coding of values into points.
//!
//! - [`row`]: rows by number, as types of their own.
//! - [`schema`]: the type and the role of each column.
//! - [`value`]: text to typed values and back.
//! - [`format`](mod@format): how a table is stored.
//! - [`source`]: where tables come from: files, streams, record batches, the spill store.
//! - [`chunk`]: a stretch of rows as it comes from a source.
//! - [`code`]: the code of a value, as a type of its own.
//! - [`notation`]: how people write numbers, dates and missing values.
//! - [`coding`]: which value of which column has which code.
//! - [`domain`]: the values of a column, and their order.
//! - [`exact_sum`]: sums of floats without rounding.
//! - [`hierarchy`]: generalization hierarchies, from files or built in.
//! - [`profile`]: what a table looks like, in bounded memory.
//! - [`sink`]: where tables go: files, streams, record batches.

mod calendar;
pub mod chunk;
pub mod code;
pub mod coding;
pub mod distinct_sample;
pub mod domain;
pub mod error;
pub mod exact_sum;
pub mod format;
pub mod hierarchy;
pub mod infer;
pub mod mix;
pub mod notation;
pub mod profile;
mod requested;
pub mod row;
pub mod schema;
pub mod sink;
pub mod source;
pub mod value;
pub mod value_hash;

pub use code::{Code, CodeRange};
pub use error::{Result, TableError};
pub use row::{RowId, RowIdx};
