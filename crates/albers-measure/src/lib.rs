//! How much a release loses, and how safe a table is.
//!
//! - [`loss`]: discernibility, certainty penalty and divergence of what passes the door, over the
//!   domain of the table.
//! - [`published`]: the losses that anybody can compute from a release.
//! - [`classes`]: rows that show the same, in any table.
//! - [`released`]: the same losses, of a release that was read back from a file.
//! - [`domains`]: what the loss of a cell is a share of.
//! - [`bounds`]: published ends that are the value of few rows.
//! - [`exposure`]: who stands alone beside the classes.
//! - [`relation`]: whether the classes of a release are disjoint, nested or overlapping.
//! - [`persons`]: classes whose rule holds only by the rows of one person.
//! - [`tells`]: carried cells that tell a quasi-identifier which their class hides.
//! - [`told`]: what classes tell of a column that is published as it is.
//! - [`mod@audit`]: which requirement the classes of a table satisfy.
//! - [`risk`]: how likely a person is found.

pub mod audit;
pub mod bounds;
pub mod classes;
mod counted_codes;
pub mod domains;
pub mod exposure;
pub mod loss;
pub mod persons;
pub mod published;
pub mod relation;
pub mod released;
pub mod risk;
pub mod tells;
pub mod told;

pub use audit::{Audit, audit};
pub use bounds::{EndParts, OwnEnds};
pub use classes::{ClassNumbers, ClassRows, Classes, Codes, RowRuns};
pub use domains::ColumnSteps;
pub use loss::{Divergence, Loss, LossOfParts};
pub use persons::{PersonParts, ruled_by_one_of_released};
pub use published::{PublishedAttribute, PublishedLoss, PublishedParts};
pub use relation::Relation;
pub use released::{ReleasedColumn, loss_of_released};
pub use risk::{Risk, SizeBin};
pub use tells::released::CarriedCells;
pub use tells::{TellParts, ToldRows};
