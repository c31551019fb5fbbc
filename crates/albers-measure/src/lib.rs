//! How much a release loses.
//!
//! - [`loss`]: discernibility, certainty penalty and divergence of a verified release.

pub mod loss;

pub use loss::{Loss, loss_of};
