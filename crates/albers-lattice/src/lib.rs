//! Full-domain generalization: every value of a column at the same level of its hierarchy.
//!
//! - [`dimension`]: what the values of an attribute become, level by level.
//! - [`lattice`]: all combinations of levels.
//! - [`frequency_set`]: how many rows have which values, rolled up and projected.
//! - [`counted_table`]: the table that is searched, and what levels lose.
//! - [`question`]: whether a generalization may be published.
//! - [`search`]: what the searches find, whichever is used:
//!   [`incognito`], [`samarati`] and [`bottom_up`].
//! - [`choose`]: the best of what was found.
//! - [`bounded`]: the best that can be found in a given time.
//! - [`recode`]: the classes of a table at chosen levels.

mod aggregate;
pub mod bottom_up;
pub mod bounded;
pub mod choose;
pub mod counted_table;
pub mod dimension;
mod entries;
pub mod found;
pub mod frequency_set;
pub mod incognito;
pub mod lattice;
pub mod layout;
pub mod question;
pub mod recode;
pub mod samarati;
pub mod search;
#[cfg(test)]
mod tests;
mod walk;
mod witness;
