//! The store: models, faults, power cuts, kills, damage and sharing.

#![allow(clippy::unwrap_used, reason = "a test that fails says so by a panic")]

mod common;
mod damage;
mod faults;
mod kills;
mod model;
mod power;
mod sharing;
