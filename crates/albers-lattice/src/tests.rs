//! Searches against the paper's example and against a look at every generalization.

mod exhaustive;
mod patients;
mod witnesses;

use std::io::Write as _;

use albers_classes::points::Points;
use albers_privacy::Facts;
use albers_privacy::Requirement;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use albers_storage::watch::Silent;
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;

use crate::counted_table::CountedTable;
use crate::dimension::Dimension;
use crate::frequency_set::Workspace;
use crate::question::Question;

/// A column with its hierarchy: each value with its labels, from specific to general.
pub(crate) struct Column {
    pub(crate) cells: Vec<String>,
    pub(crate) hierarchy: Vec<Vec<String>>,
}

/// A table to be searched.
pub(crate) struct TestTable {
    pub(crate) dimensions: Vec<Dimension>,
    /// The codes of each attribute.
    pub(crate) codes: Vec<Vec<u32>>,
    pub(crate) facts: Facts,
    pub(crate) requirement: Requirement,
}

impl TestTable {
    pub(crate) fn new(columns: &[Column], facts: Facts, requirement: Requirement) -> TestTable {
        let coded: Vec<_> = columns.iter().enumerate().map(|(at, own)| own.encode(at)).collect();
        let (dimensions, codes) = coded.into_iter().unzip();
        TestTable { dimensions, codes, facts, requirement }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.codes[0].len()
    }

    pub(crate) fn question(&self, max_suppressed: u64) -> Question<'_> {
        Question {
            dimensions: &self.dimensions,
            requirement: &self.requirement,
            n_rows: self.n_rows() as u64,
            max_suppressed,
        }
    }

    /// Does something with the table as a counted, in so much memory, and tells how much was
    /// spilled.
    pub(crate) fn on_ground<T>(
        &self,
        n_bytes: usize,
        work: impl FnOnce(&CountedTable<'_>) -> T,
    ) -> (T, u64) {
        let budget = MemoryBudget::new(n_bytes);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = SpillStore::in_folder(folder.path(), budget.clone());
        let workspace = Workspace { budget: &budget, store: &store, watch: &Silent };
        let points = Points::new(self.codes.iter().map(|codes| vec![codes.clone()]).collect());
        let Self { dimensions, facts, requirement, .. } = self;
        let counted =
            CountedTable::of_points(dimensions, workspace, (&points, None), facts, requirement);
        let done = work(&counted.expect("memory and disk suffice"));
        (done, store.written_bytes())
    }
}

impl Column {
    fn encode(&self, at: usize) -> (Dimension, Vec<u32>) {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        for path in &self.hierarchy {
            writeln!(file, "{}", path.join(";")).expect("a line");
        }
        let mut builder = TextColumnBuilder::new(ColumnType::Text);
        for cell in &self.cells {
            if cell.is_empty() {
                builder.push_missing();
            } else {
                builder.push(cell.as_bytes()).expect("a text");
            }
        }
        let raw = RawColumn {
            name: format!("column{at}"),
            column_type: ColumnType::Text,
            data_type: None,
            chunks: vec![builder.finish().expect("a column")],
        };
        let spec = HierarchySpec::File(file.path().to_owned());
        let coding = CodingPlan::Categories { hierarchy: Some(&spec), by_frequency: true };
        let coded = encode(raw, coding).expect("every value is a leaf");
        (Dimension::new(&coded.domain, 1.0 + at as f64), coded.codes.concat())
    }
}
