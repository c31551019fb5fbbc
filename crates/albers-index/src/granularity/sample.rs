//! Small indexes of drawn rows, for tests.

use albers_classes::Attribute;
use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_classes::points::Points;
use albers_classes::space::{Axis, Shown, Space};
use albers_partition::cell::TableSize;
use albers_partition::grain::Grain;
use albers_partition::mondrian::Plan;
use albers_partition::split::Policy;
use albers_partition::split::rule::Allowance;
use albers_privacy::{Criterion, Facts, GroundDistance, Requirement, SensitiveColumn};
use albers_storage::watch::Silent;
use albers_table::row::RowId;
use proptest::prelude::*;

use super::leaves::{Index, LeafRuns};
use crate::bang_file::scale::Scale;
use crate::bang_file::space::HalvedSpace;
use crate::bang_file::{BangFile, BangPlan, LotSizes};
use crate::drawn::column;
use crate::rplus_tree::RPlusTree;
use crate::rplus_tree::grow::{Source, grow_cell};

/// Which index is made of some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Tree,
    Nested,
    Flat,
}

enum Built {
    Tree(RPlusTree),
    Blocks(BangFile),
}

/// An index of some rows, of which each carries a secret from 0 to 2.
pub struct Sample {
    space: Space,
    layout: RowLayout,
    block: RowBlock,
    facts: FactColumns,
    no_facts: Facts,
    base: Requirement,
    built: Built,
    order: Vec<u32>,
    ends: Vec<u32>,
    /// The codes of each row.
    pub codes: Vec<Vec<u32>>,
}

impl Sample {
    /// An index of whole numbers, row by row, with leaves of so many rows at least.
    pub fn of(kind: Kind, rows: &[Vec<i64>], min_rows: usize) -> Sample {
        let attributes: Vec<(Attribute, Vec<Vec<u32>>)> =
            (0..rows[0].len()).map(|at| column(rows.iter().map(|row| Some(row[at])))).collect();
        let (attributes, columns): (Vec<_>, Vec<_>) = attributes.into_iter().unzip();
        let points = Points::new(columns);
        let of_points = &points.chunks()[0].columns;
        let codes: Vec<Vec<u32>> =
            (0..rows.len()).map(|row| of_points.iter().map(|own| own[row]).collect()).collect();
        let greatest: Vec<u32> =
            of_points.iter().map(|own| own.iter().copied().max().unwrap_or(0)).collect();
        let layout = RowLayout::new(&greatest, &[2], false);
        let mut block = RowBlock::with_capacity(&layout, rows.len());
        for ((row, own), values) in (0u64..).zip(&codes).zip(rows) {
            let secret = values.iter().fold(0i64, |sum, &value| sum.wrapping_add(value));
            let values = own.iter().copied().chain([secret.rem_euclid(3) as u32]);
            block.push(&layout, RowId::new(row), values, &[]);
        }
        let axis = |own: &Attribute| Axis::new(&own.domain, Shown::Interval, 1.0, false);
        let mut sample = Sample {
            space: Space { axes: attributes.iter().map(axis).collect() },
            layout,
            block,
            facts: FactColumns { subject: None, ruled: vec![0], targets: Vec::new() },
            no_facts: Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 },
            base: requirement(min_rows as u64, None),
            built: Built::Tree(RPlusTree::new(0, &Default::default(), Vec::new())),
            order: Vec::new(),
            ends: Vec::new(),
            codes,
        };
        match kind {
            Kind::Tree => sample.build_tree(),
            Kind::Nested | Kind::Flat => {
                let scale = |(at, own)| Scale::of(None, own, (&points, at)).unwrap();
                let scales = attributes.iter().enumerate().map(scale).collect();
                let allowance = Allowance { min_rows, rule: None };
                let plan = BangPlan {
                    space: HalvedSpace::new(scales).into(),
                    allowance,
                    nests: kind == Kind::Nested,
                    lot_sizes: LotSizes::of(rows.len() as u64, &Grain::default()),
                };
                let of_row = |row: usize, out: &mut [u32]| out.copy_from_slice(&sample.codes[row]);
                let file = BangFile::build(rows.len(), of_row, &plan, &Silent).unwrap();
                for block in 0..file.n_blocks() as u32 {
                    sample.order.extend(file.rows_of(block));
                    sample.ends.push(sample.order.len() as u32);
                }
                sample.built = Built::Blocks(file);
            }
        }
        sample
    }

    fn build_tree(&mut self) {
        let rows: Vec<u32> = (0..self.codes.len() as u32).collect();
        let source = Source { layout: &self.layout, block: &self.block, facts: &self.facts };
        let grown = grow_cell::<8, 0>(source, &rows, &self.plan(), TableSize::Small, None);
        let tree = RPlusTree::new(self.layout.n_attributes(), &grown.tree, grown.boxes);
        self.ends = tree.leaf_ends().to_vec();
        self.order = grown.rows;
        self.built = Built::Tree(tree);
    }

    pub fn plan(&self) -> Plan<'_> {
        Plan {
            space: &self.space,
            requirement: &self.base,
            facts: &self.no_facts,
            workload: None,
            policy: Policy::Compact,
            keep_regions: false,
            labels_apart: true,
            is_exact: false,
            trust: None,
            portfolio: None,
            grain: Grain::default(),
            seed: 1,
        }
    }

    pub fn leaves(&self) -> LeafRuns<'_> {
        let source = Source { layout: &self.layout, block: &self.block, facts: &self.facts };
        let index = match &self.built {
            Built::Tree(tree) => Index::Tree(tree),
            Built::Blocks(file) => Index::Blocks(file),
        };
        LeafRuns { source, order: &self.order, ends: &self.ends, index }
    }

    /// The file of blocks.
    pub fn file(&self) -> &BangFile {
        match &self.built {
            Built::Blocks(file) => file,
            Built::Tree(_) => panic!("a tree has no blocks"),
        }
    }
}

/// So many rows, and so many different secrets, if any are asked for.
pub fn requirement(k: u64, l: Option<u32>) -> Requirement {
    let secret = SensitiveColumn {
        name: "secret".to_owned(),
        n_values: 3,
        distance: GroundDistance::Equal,
        numbers: None,
    };
    let rules = l.map(|l| (0, Criterion::DistinctLDiversity { l }));
    Requirement::new(k, false, vec![secret], rules.into_iter().collect()).unwrap()
}

/// Rows of one to three attributes, some of them far apart, some the same.
pub fn rows() -> impl Strategy<Value = Vec<Vec<i64>>> {
    let values = prop_oneof![2 => 0i64..4, 3 => 0i64..60, 1 => any::<i64>()];
    (1usize..4).prop_flat_map(move |n_attributes| {
        let row = prop::collection::vec(values.clone(), n_attributes);
        prop::collection::vec(row, 1..90)
    })
}

pub fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Tree), Just(Kind::Nested), Just(Kind::Flat)]
}
