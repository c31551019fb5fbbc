//! How much a release loses, and how safe a table is.
//!
//! - [`loss`]: discernibility, certainty penalty and divergence of what passes the door, over the
//!   domain of the table.
//! - [`published`]: the losses that anybody can compute from a release.
//! - [`classes`]: rows that show the same, in any table.
//! - [`released`]: the same losses, of a release that was read back from a file.
//! - [`exposure`]: who stands alone beside the classes.
//! - [`relation`]: whether the classes of a release are disjoint, nested or overlapping.
//! - [`mod@audit`]: which requirement the classes of a table satisfy.
//! - [`risk`]: how likely a person is found.

pub mod audit;
pub mod classes;
pub mod exposure;
pub mod loss;
pub mod published;
pub mod relation;
pub mod released;
pub mod risk;

pub use audit::{Audit, audit};
pub use classes::{Classes, Codes};
pub use loss::{Divergence, Loss, LossOfParts};
pub use published::{PublishedAttribute, PublishedLoss, PublishedParts};
pub use relation::Relation;
pub use released::{ReleasedColumn, loss_of_released};
pub use risk::{Risk, SizeBin};
