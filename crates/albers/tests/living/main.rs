//! The living index against plain maps, attackers and faults.

mod faults;
mod life;
mod model;
mod table;
