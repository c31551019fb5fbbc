//! The vocabulary that all methods share: a record is a point, a published group is a box.
//!
//! - [`points`]: the table as points, one code per row and attribute.
//! - [`packed`]: rows as bytes, with their facts and what they carry.
//! - [`attribute`]: a quasi-identifier with its values, and how a class shows them.
//! - [`space`]: the attributes as axes, and the loss of a box as it will be shown.
//! - [`class_id`]: classes by number, as a type of its own.
//! - [`class_block`]: rows in classes, as a method hands them to the door.
//! - [`region`]: boxes with holes, and what a class shows beside its box.
//! - [`targets`]: what rows carry of the targets of a workload.

pub mod attribute;
pub mod class_block;
pub mod class_id;
pub mod packed;
pub mod points;
pub mod region;
pub mod space;
pub mod targets;

pub use attribute::Attribute;
pub use class_block::{ClassBlock, ClassDetails, Groups, Suppressed};
pub use class_id::ClassId;
pub use region::{ClassRegion, FeatureValue, Holes, Span};
pub use targets::TargetCodes;

/// The least and greatest code of a box on each attribute.
pub type Region = Vec<Span>;
