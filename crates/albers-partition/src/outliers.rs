//! Outliers: the rows whose absence saves most loss, told from the classes of a first run.
//!
//! Source: none; the hull is that of rate-distortion theory, where the best use of a budget among
//! many independent streams is a common threshold of gain per cost.
//! Departures: none.
//! Guarantee: no more rows are chosen than may be left out. What stays of classes that are divided
//! anew together satisfies what they must satisfy, or nothing of them is left out. What is chosen
//! depends on the classes alone: neither on the order of the rows in them, nor on threads, nor on the
//! order in which classes come.
//! Cost: O(rows * attributes^2) for each of a few trims of a class; memory for the rows of a few more
//! trims than can be chosen.
//!
//! ```text
//!   class ──trim, trim, ..., all of it──► savings by rows left out ──hull──► chain of steps
//!                                                                              │ of all classes
//!   rows that stay ◄── the best steps per row, until no more may be left out ◄─┘
//! ```
//!
//! - [`covered`]: what a class shows, and loses by it.
//! - [`chain`]: what leaving out more and more rows of a class saves.
//! - [`choice`]: the best steps of all chains.
//! - [`classes`]: classes whose rows are divided anew together.

pub mod chain;
pub mod choice;
pub mod classes;
pub mod covered;
