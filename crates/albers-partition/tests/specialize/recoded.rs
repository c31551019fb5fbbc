//! A recoding of a random table, and what must be true of it.

use std::collections::{BTreeMap, BTreeSet};

use albers_classes::TargetCodes;
use albers_classes::class_block::Groups;
use albers_classes::points::{Points, row_fingerprint};
use albers_classes::space::{AxisKind, Specialization};
use albers_partition::grain::Grain;
use albers_partition::mondrian::Plan;
use albers_partition::plan::PlannedWorkload;
use albers_partition::specialize::{SpecializePlan, partition, tds};
use albers_partition::split::Policy;
use albers_partition::split::workload::Workload;
use albers_storage::watch::Silent;
use albers_table::row::RowIdx;

use crate::table::{Class, Table};

/// The classes of a recoding.
pub struct Recoded {
    pub classes: Vec<Class>,
    pub n_left_out: usize,
}

impl Recoded {
    /// Recodes a table by the loss that steps save.
    pub fn of(table: &Table, max_suppressed: usize) -> Recoded {
        Recoded::from_start(table, max_suppressed, None)
    }

    /// The same, where one recoding goes on from given levels.
    pub fn from_start(table: &Table, max_suppressed: usize, start: Option<&[usize]>) -> Recoded {
        let points = points_of(table);
        let fingerprint = points.fingerprint();
        let plan = plan_of(table, None);
        let plan = SpecializePlan { plan: &plan, max_suppressed, start };
        let groups = partition(points, &plan, &Silent).expect("nothing cancels it");
        Recoded::checked(table, fingerprint, &groups)
    }

    /// Recodes a table by what steps tell of targets.
    pub fn telling(table: &Table, workload: &Workload, carried: &TargetCodes) -> Recoded {
        let points = points_of(table);
        let fingerprint = points.fingerprint();
        let plan = plan_of(table, Some(PlannedWorkload { workload, carried }));
        let groups = tds::partition(points, &plan, &Silent).expect("nothing cancels it");
        Recoded::checked(table, fingerprint, &groups)
    }

    /// Sees that no row was lost or changed.
    fn checked(table: &Table, fingerprint: u64, groups: &Groups) -> Recoded {
        let n_attributes = table.columns.len();
        let mut classes = Vec::new();
        let mut is_seen = vec![false; table.n_rows];
        let mut sum = 0u64;
        let mut see = |row: RowIdx, codes: &[u32]| {
            assert!(!std::mem::replace(&mut is_seen[row.index()], true), "a row came twice");
            sum = sum.wrapping_add(row_fingerprint(row.into(), codes));
        };
        for block in &groups.blocks {
            assert_eq!(block.regions.len(), block.class_ends.len() * n_attributes);
            for (rows, region) in block.classes().zip(block.regions.chunks(n_attributes)) {
                for at in rows.clone() {
                    let codes = &block.codes[at * n_attributes..(at + 1) * n_attributes];
                    see(block.row_idxs[at], codes);
                }
                let rows = block.row_idxs[rows].iter().map(|row| row.index()).collect();
                let region = region.iter().map(|(lo, hi)| (lo.get(), hi.get())).collect();
                classes.push(Class { rows, region });
            }
        }
        let left_out = &groups.suppressed;
        for (row, codes) in left_out.row_idxs.iter().zip(left_out.codes.chunks(n_attributes)) {
            see(*row, codes);
        }
        assert_eq!(sum, fingerprint, "rows were lost or changed");
        Recoded { classes, n_left_out: left_out.row_idxs.len() }
    }

    /// What all rows lose; those that are left out lose everything.
    pub fn loss(&self, table: &Table) -> f64 {
        let all: f64 = table.space.axes.iter().map(|axis| axis.weight).sum();
        let of_class = |class: &Class| {
            let axes = table.space.axes.iter().zip(&class.region);
            let row: f64 =
                axes.map(|(axis, &(lo, hi))| axis.width(lo, hi).min(1.0) * axis.weight).sum();
            class.rows.len() as f64 * row
        };
        self.classes.iter().map(of_class).sum::<f64>() + self.n_left_out as f64 * all
    }

    /// What all rows lose where every attribute that has labels shows those of a level, and any other
    /// nothing; nothing if more rows than may be are left out then.
    pub fn loss_at_levels(table: &Table, levels: &[usize], max_suppressed: usize) -> Option<f64> {
        let part = |attribute: usize, row: usize| match &table.space.axes[attribute].kind {
            AxisKind::Label(tree) if levels[attribute] < tree.height() => {
                let level = levels[attribute];
                tree.part_of(Specialization { level }, table.columns[attribute][row])
            }
            _ => 0,
        };
        let mut classes: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        for row in 0..table.n_rows {
            let parts = (0..table.columns.len()).map(|attribute| part(attribute, row)).collect();
            classes.entry(parts).or_default().push(row);
        }
        let mut ends: BTreeMap<(usize, u32), (u32, u32)> = BTreeMap::new();
        for (attribute, column) in table.columns.iter().enumerate() {
            for (row, &code) in column.iter().enumerate() {
                let own = ends.entry((attribute, part(attribute, row))).or_insert((code, code));
                *own = (own.0.min(code), own.1.max(code));
            }
        }
        let (kept, left_out): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|(_, rows)| table.holds(rows));
        let n_left_out = left_out.iter().map(|(_, rows)| rows.len()).sum::<usize>();
        let shown = |(parts, rows): (Vec<u32>, Vec<usize>)| {
            let region = (0..).zip(parts).map(|(attribute, part)| ends[&(attribute, part)]);
            Class { rows, region: region.collect() }
        };
        let classes = kept.into_iter().map(shown).collect();
        let recoded = Recoded { classes, n_left_out };
        (n_left_out <= max_suppressed.min(table.n_rows - 1)).then(|| recoded.loss(table))
    }

    /// What the classes show, with how many rows show it.
    pub fn shown(&self) -> BTreeMap<Vec<(u32, u32)>, usize> {
        self.classes.iter().map(|class| (class.region.clone(), class.rows.len())).collect()
    }

    /// Every class satisfies the requirement, and no two show the same.
    pub fn check_classes(&self, table: &Table) {
        table.check_every_class_holds(&self.classes);
        let shown: BTreeSet<_> = self.classes.iter().map(|class| &class.region).collect();
        assert_eq!(shown.len(), self.classes.len(), "two classes have the same groups");
    }

    /// Equal codes have equal groups, which hold them, end at codes that occur, and are nodes or
    /// intervals without a code in common.
    pub fn check_is_global(&self, table: &Table) {
        for (attribute, column) in table.columns.iter().enumerate() {
            let mut group_of = BTreeMap::new();
            for class in &self.classes {
                let group = class.region[attribute];
                for &row in &class.rows {
                    let code = column[row];
                    assert!(group.0 <= code && code <= group.1, "a group does not hold its code");
                    assert_eq!(*group_of.entry(code).or_insert(group), group, "two groups");
                }
            }
            let groups: BTreeSet<(u32, u32)> = group_of.into_values().collect();
            let ends: Vec<u32> = groups.iter().flat_map(|&(lo, hi)| [lo, hi]).collect();
            assert!(ends.is_sorted(), "groups overlap");
            assert!(ends.iter().all(|end| column.contains(end)), "a group is too wide");
            if let AxisKind::Label(tree) = &table.space.axes[attribute].kind {
                let losses = groups.iter().map(|&(lo, hi)| tree.loss(lo, hi)).sum::<f64>();
                assert!(losses <= 1.0 + 1e-9, "nodes overlap: they lose {losses} together");
            }
        }
    }

    /// No group can be divided further so that all classes still satisfy.
    pub fn check_minimal(&self, table: &Table) {
        for attribute in 0..table.columns.len() {
            let groups: BTreeSet<(u32, u32)> =
                self.classes.iter().map(|class| class.region[attribute]).collect();
            for group in groups {
                let codes: BTreeSet<u32> = self
                    .rows_of(attribute, group)
                    .flat_map(|rows| rows.iter().map(|&row| table.columns[attribute][row]))
                    .collect();
                for part_of in steps(table, attribute, &codes) {
                    let column = &table.columns[attribute];
                    let is_allowable = self.rows_of(attribute, group).all(|rows| {
                        let mut parts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
                        for &row in rows {
                            parts.entry(part_of[&column[row]]).or_default().push(row);
                        }
                        parts.values().all(|part| table.holds(part))
                    });
                    assert!(!is_allowable, "a group of {} codes can be divided", codes.len());
                }
            }
        }
    }

    /// The rows of each class that has a group.
    fn rows_of(&self, attribute: usize, group: (u32, u32)) -> impl Iterator<Item = &[usize]> {
        let with_group = self.classes.iter().filter(move |class| class.region[attribute] == group);
        with_group.map(|class| class.rows.as_slice())
    }
}

/// The rows in two chunks, so that rows of both are brought together.
fn points_of(table: &Table) -> Points {
    let middle = table.n_rows / 2;
    let chunked = |column: &Vec<u32>| vec![column[..middle].to_vec(), column[middle..].to_vec()];
    Points::new(table.columns.iter().map(chunked).collect())
}

fn plan_of<'a>(table: &'a Table, workload: Option<PlannedWorkload<'a>>) -> Plan<'a> {
    Plan {
        space: &table.space,
        requirement: &table.requirement,
        facts: &table.facts,
        policy: Policy::Compact,
        keep_regions: true,
        workload,
        labels_apart: false,
        is_exact: false,
        trust: None,
        portfolio: None,
        grain: Grain::default(),
        seed: 0,
    }
}

/// All divisions of a group: the part of each of its codes.
pub fn steps(table: &Table, attribute: usize, codes: &BTreeSet<u32>) -> Vec<BTreeMap<u32, u32>> {
    if codes.len() < 2 {
        return Vec::new();
    }
    match &table.space.axes[attribute].kind {
        AxisKind::Label(tree) => {
            let level = tree.specialization(codes.iter().copied());
            vec![codes.iter().map(|&code| (code, tree.part_of(level, code))).collect()]
        }
        AxisKind::Interval { .. } | AxisKind::Set { .. } => codes
            .iter()
            .skip(1)
            .map(|&cut| codes.iter().map(|&code| (code, u32::from(code >= cut))).collect())
            .collect(),
    }
}
