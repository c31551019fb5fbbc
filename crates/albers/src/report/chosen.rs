//! What was chosen of several ways to divide a table, in words and figures for its owner.

use albers_classes::space::Space;
use albers_partition::portfolio::{Found, Portfolio};

/// What was chosen of several ways.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    /// The words and the loss of each way, in the order in which they were tried.
    pub(crate) tried: Vec<(String, f64)>,
    /// The words of the one that was taken.
    pub(crate) ran: String,
    /// Whether losses are those of a sample.
    pub(crate) is_sampled: bool,
    /// Whether its classes may overlap.
    pub(crate) may_overlap: bool,
    /// Whether it is local recoding.
    pub(crate) is_grouped: bool,
}

impl Chosen {
    /// Of what came of a portfolio, and of local recoding where that was tried too: what all rows
    /// lose by it, whether it is taken, and how many rows there are.
    pub(crate) fn of(
        ways: &Portfolio,
        space: &Space,
        local: Option<((f64, bool), usize)>,
    ) -> Option<Chosen> {
        let Found { tried, ran, is_sampled } = ways.found()?;
        let mut chosen = Chosen {
            tried: tried.iter().map(|(way, loss)| (way.to_string(), *loss)).collect(),
            ran: ran.to_string(),
            is_sampled: *is_sampled,
            may_overlap: ran.may_overlap(),
            is_grouped: false,
        };
        if let Some(((loss, is_taken), n_rows)) = local {
            let weights: f64 = space.axes.iter().map(|axis| axis.weight).sum();
            let whole = (n_rows as f64 * weights).max(f64::MIN_POSITIVE);
            chosen.tried.push(("local".to_owned(), loss / whole));
            if is_taken {
                chosen.ran = "local".to_owned();
                (chosen.may_overlap, chosen.is_grouped) = (true, true);
            }
        }
        Some(chosen)
    }
}
