//! What counts findings, and the findings that come of it.
//!
//! - `published`: counted on the very cells that are published.
//! - `means`: told by the sizes of the classes that are published.
//! - `recoded`: told of a recoding function.
//! - `owners`: counted on the table itself, and told to its owner alone.

mod means;
mod owners;
mod published;
mod recoded;

pub(crate) use means::SmallClasses;
pub(crate) use owners::{
    OwnersCounts, keep_tells_quasi, own_value_bounds, person_rules_class, rows_per_person,
};
pub(crate) use published::{
    CountedSink, PublishedCounts, about, is_list_of_itself, is_listed, is_unique_severely, low_k,
    secret_without_rule, unique_keep, unique_keeps,
};
pub(crate) use recoded::second_release;
