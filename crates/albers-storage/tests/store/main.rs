//! The store: models, faults, power cuts, kills, damage and sharing.

mod common;
mod damage;
mod faults;
mod kills;
mod model;
mod power;
mod sharing;
