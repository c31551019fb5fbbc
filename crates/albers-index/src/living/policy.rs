//! When a subtree is grown anew, although all its leaves satisfy the requirement.
//!
//! Splitting only leaves that overflow keeps the cuts that suited fewer rows. So a subtree is grown
//! anew when it has so many times as many or as few rows as when its splits were chosen. Each
//! subtree has its own limit, which follows from its first cut, so that not all are due at once.
//! Cost: amortized over the rows that make it due, a constant number of rows grown for each.
//!
//! Measured with the example `living_cost` (k = 10, half a million drawn rows, then eight batches of
//! as many, then half of all removed; processor time of one run each): without this the loss is
//! 8.3 % and then 6.9 % above that of a bulk load, with it 2.3 % and 1.2 %. The last settle takes
//! 1.7 times as long as without, and 1.3 times as long as the one at a million rows; the longest
//! between them takes 1.4 times as long. The limits were chosen on these same rows.

use albers_partition::split::cut::Cut;

/// Subtrees of more rows than this keep their first cuts: what lies below says more about the loss.
const MOST_ROWS: u64 = 512;

/// Larger ones are due only when their rows have become so many times as many or as few.
const LARGE_CHANGE: u64 = 6;

/// The limits of small ones lie between these, in units of 1/64.
const LEAST_CHANGE: u64 = 92;
const MOST_CHANGE: u64 = 140;

/// Whether a subtree of so many rows, that had `grown_rows` when it was grown, is due.
pub(super) fn is_due(cut: &Cut, n_rows: u64, grown_rows: u64) -> bool {
    let limit = match n_rows <= MOST_ROWS {
        true => LEAST_CHANGE + spread(cut) % (MOST_CHANGE - LEAST_CHANGE),
        false => LARGE_CHANGE * 64,
    };
    let (less, more) = (n_rows.min(grown_rows), n_rows.max(grown_rows));
    more * 64 >= less * limit
}

/// A number that looks drawn at random, but follows from the cut.
fn spread(cut: &Cut) -> u64 {
    let bits = u64::from(cut.axis) << 58 ^ u64::from(cut.lo) << 29 ^ u64::from(cut.hi);
    bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}
