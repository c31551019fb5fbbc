//! The door: what is refused, what counts as one class, and in which order rows leave; in memory
//! and by buckets that are spilled.
//!
//! A failure of a property prints its seed, and stands in `door/order.regressions`, which is
//! replayed first.

mod door {
    mod cancelled;
    mod left_out;
    mod nested;
    mod order;
    mod refused;
    mod several;
    mod table;
}
