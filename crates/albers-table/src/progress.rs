//! Where long work says how far it is.

/// Hears of phases and of rows done in them; called from several threads.
pub trait Progress: Sync {
    /// A phase begins, with the number of rows it will handle where that is known.
    fn phase(&self, name: &'static str, n_rows: Option<u64>);
    /// So many more rows are done.
    fn advance(&self, n_rows: u64);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn phase(&self, _name: &'static str, _n_rows: Option<u64>) {}

    fn advance(&self, _n_rows: u64) {}
}
