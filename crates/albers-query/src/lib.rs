//! What a release answers to whoever has nothing else.
//!
//! A class is a box of positions, a query is a box or several, and the answer is told by how they
//! lie to each other:
//!
//! ```text
//!        +---------------+
//!        |  query        |          overlap    all rows of the classes that meet the query
//!    +---|----+   +---+  |          estimate   of each the share of its region that lies inside
//!    | A |    |   | B |  |  +---+   lower      rows that surely satisfy it: those of B, and of A
//!    +---|----+   +---+  |  | C |              those whose values are known to lie inside
//!        +---------------+  +---+   upper      rows that can satisfy it at most
//! ```
//!
//! - [`cover`]: what a cell covers on an axis, and what a query asks for there.
//! - [`cells`]: the cells of an axis, and how they lie to what is asked for.
//! - [`term`]: queries as boxes that share nothing, and their opposites.
//! - [`boxes`]: the classes of a release, and what they answer. `axis`: how they are looked up.
//! - `holes`: of classes that lie within each other, what belongs to the inner ones.

mod axis;
pub mod boxes;
pub mod cells;
pub mod cover;
mod holes;
pub mod term;

pub use boxes::{Answer, Boxes};
pub use cells::{AxisCells, Scale};
pub use cover::{Asked, Cover, Missing};
pub use term::{Query, Term};
