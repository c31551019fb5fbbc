//! Attempts to falsify what the index promises, on small tables, with absurdly small memory and by
//! brute force.
//!
//! A failure prints its seed, and stands in `index/properties.regressions`, which is replayed
//! first.

mod index {
    mod faults;
    mod giant;
    mod key_buffers;
    pub mod living;
    pub mod load;
    mod oracle;
    pub mod properties;
    mod recoding;
    mod rothko;
    mod sampled;
    pub mod table;
}
