//! The living index against plain maps, attackers and faults.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]
#![expect(clippy::result_large_err, reason = "a test makes few errors")]

mod attacker;
mod attacks;
mod crash;
mod faults;
mod life;
mod model;
mod odd;
mod rules;
mod several_k;
mod table;
mod typed;
