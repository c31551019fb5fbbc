//! The living index against plain maps, attackers and faults.

mod attacker;
mod attacks;
mod crash;
mod faults;
mod life;
mod model;
mod odd;
mod rules;
mod table;
