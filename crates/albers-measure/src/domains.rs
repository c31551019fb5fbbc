//! What the loss of a cell is a share of.
//!
//! Source: Xu et al. 2006 for the certainty penalty, which divides by the size of a column's domain and
//! leaves open whether that is what a hierarchy declares or what a table holds. Programs differ in
//! that, and their figures can be compared only where the domain is the same.
//! Departures: none.
//! Guarantee: over either domain a cell loses 0 if one value stands behind it, and 1 if all may. The two
//! differ only for columns with a hierarchy: everything else is declared by the table itself.
//! Cost: a pass over the codes of such a column for the values that occur, then none.

use albers_release::describe::CellContent;
use albers_release::parse::ReadCell;
use albers_table::code::Code;
use albers_table::domain::Domain;

/// The steps that one column can lose.
pub struct ColumnSteps {
    /// All of them.
    n_steps: u64,
    /// How many values that occur have a lower code, by code, and all of them at the end; nothing
    /// where all values count.
    n_below: Option<Vec<u32>>,
}

impl ColumnSteps {
    /// The steps of a column of which all leaves of the hierarchy count.
    pub fn declared(column: &Domain) -> ColumnSteps {
        ColumnSteps { n_steps: column.n_steps(), n_below: None }
    }

    /// The steps of a column of which only those leaves count that are among the codes of the rows. The
    /// missing value, whose code follows the leaves, is one of the values.
    pub fn occurring(column: &Domain, codes: &[u32]) -> ColumnSteps {
        let Some(tree) = column.hierarchy() else { return ColumnSteps::declared(column) };
        let mut occurs = vec![false; tree.n_leaves() as usize + 1];
        codes.iter().for_each(|&code| occurs[code as usize] = true);
        let mut n_below = vec![0];
        let mut n_values = 0;
        for occurs in occurs {
            n_values += u32::from(occurs);
            n_below.push(n_values);
        }
        ColumnSteps { n_steps: u64::from(n_values.max(2) - 1), n_below: Some(n_below) }
    }

    /// All steps.
    pub fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// The steps that a cell of the column loses.
    pub fn lost_by(&self, cell: &ReadCell, column: &Domain) -> u64 {
        let Some(n_below) = &self.n_below else { return cell.lost_steps };
        let between = |lo: Code, end: Code| n_below[end.index()] - n_below[lo.index()];
        let n_values = match &cell.content {
            CellContent::Missing => return 0,
            CellContent::Everything
            | CellContent::Interval { with_missing: true, .. }
            | CellContent::Label { with_missing: true, .. } => return self.n_steps,
            CellContent::Interval { lo, hi, .. } => between(*lo, *hi + 1),
            CellContent::Set(codes) => codes.iter().map(|&code| between(code, code + 1)).sum(),
            CellContent::Label { node, .. } => column.hierarchy().map_or(0, |tree| {
                let leaves = tree.leaves_of(*node);
                between(leaves.start, leaves.end)
            }),
        };
        u64::from(n_values.saturating_sub(1))
    }
}
