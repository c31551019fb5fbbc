//! Random tables of codes, and what must be true of their classes.

use albers_classes::points::{Points, row_fingerprint};
use albers_classes::space::{Axis, AxisKind, Shown, Space};
use albers_partition::grain::Grain;
use albers_partition::mondrian::{Plan, partition};
use albers_partition::portfolio::Portfolio;
use albers_partition::split::Policy;
use albers_privacy::Facts;
use albers_privacy::{ClassSummary, Criterion, GroundDistance, Requirement, SensitiveColumn};
use albers_storage::watch::Silent;
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::domain::{Domain, Ruler};
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;

/// SplitMix64: the same numbers on every machine.
pub struct Dice(pub u64);

impl Dice {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        (self.bits() % u64::from(n)) as u32
    }
}

/// A table of codes and what is asked of its classes.
pub struct Table {
    pub space: Space,
    /// The codes of each attribute.
    pub columns: Vec<Vec<u32>>,
    pub n_rows: usize,
    pub facts: Facts,
    pub requirement: Requirement,
}

/// A class: its rows, in the numbers of the table, and its region.
pub struct Class {
    pub rows: Vec<usize>,
    pub region: Vec<(u32, u32)>,
}

impl Table {
    /// A table with axes of all kinds and a requirement that all its rows together satisfy.
    pub fn draw(seed: u64, n_rows: usize, n_attributes: usize, with_labels: bool) -> Table {
        let mut dice = Dice(seed);
        let mut space = Space { axes: Vec::new() };
        let mut columns = Vec::new();
        for _ in 0..n_attributes {
            let n_kinds = if with_labels { 3 } else { 2 };
            let (axis, n_codes) = match dice.below(n_kinds) {
                0 => interval(&mut dice),
                1 => set(&mut dice),
                _ => label(&mut dice),
            };
            let is_skewed = dice.below(2) == 0;
            let mut code = || match is_skewed {
                true => dice.below(n_codes).min(dice.below(n_codes)),
                false => dice.below(n_codes),
            };
            columns.push((0..n_rows).map(|_| code()).collect());
            space.axes.push(axis);
        }
        for axis in &mut space.axes {
            axis.preferred = dice.below(5) == 0;
            axis.weight = [1.0, 1.0, 0.3, 4.0][dice.below(4) as usize];
        }
        let n_sensitive = dice.below(3) as usize;
        let counts_subjects = dice.below(4) == 0;
        let facts = Facts {
            subjects: match counts_subjects {
                true => (0..n_rows).map(|_| u64::from(dice.below(1 + n_rows as u32 / 2))).collect(),
                false => Vec::new(),
            },
            sensitive: (0..n_rows * n_sensitive).map(|_| dice.below(4)).collect(),
            n_sensitive,
        };
        let requirement = satisfied_requirement(&mut dice, &facts, n_rows);
        Table { space, columns, n_rows, facts, requirement }
    }

    /// The classes that the partitioning finds, once it is seen that no row was lost or changed.
    pub fn classes(&self, policy: Policy, keep_regions: bool) -> Vec<Class> {
        self.classes_by((policy, None), keep_regions, Grain::default())
    }

    /// The same by a portfolio, or with other sizes of what is cut at once.
    pub fn classes_by(
        &self,
        (policy, portfolio): (Policy, Option<&Portfolio>),
        keep_regions: bool,
        grain: Grain,
    ) -> Vec<Class> {
        // Two chunks, so that rows of both are brought together.
        let middle = self.n_rows / 2;
        let chunked =
            |column: &Vec<u32>| vec![column[..middle].to_vec(), column[middle..].to_vec()];
        let points = Points::new(self.columns.iter().map(chunked).collect());
        let fingerprint = points.fingerprint();
        let plan = Plan {
            space: &self.space,
            requirement: &self.requirement,
            facts: &self.facts,
            policy,
            keep_regions,
            workload: None,
            labels_apart: false,
            is_exact: false,
            trust: None,
            portfolio,
            grain,
            seed: 0,
        };
        let groups = partition(points, None, &plan, &Silent).expect("nothing cancels it");
        let n_attributes = self.columns.len();
        let mut is_seen = vec![false; self.n_rows];
        let mut sum = 0u64;
        let mut classes = Vec::new();
        for block in &groups.blocks {
            for (class_idx, rows) in block.classes().enumerate() {
                let mut class = Class { rows: Vec::new(), region: Vec::new() };
                for at in rows {
                    let row = block.row_idxs[at].index();
                    let codes = &block.codes[at * n_attributes..(at + 1) * n_attributes];
                    assert!(!std::mem::replace(&mut is_seen[row], true), "a row came twice");
                    assert!(
                        self.columns.iter().zip(codes).all(|(column, code)| column[row] == *code),
                        "a row has the codes of another"
                    );
                    sum = sum.wrapping_add(row_fingerprint(block.row_idxs[at].into(), codes));
                    class.rows.push(row);
                }
                if keep_regions {
                    let first = class_idx * n_attributes;
                    let region = &block.regions[first..first + n_attributes];
                    class.region = region.iter().map(|(lo, hi)| (lo.get(), hi.get())).collect();
                }
                classes.push(class);
            }
        }
        assert!(is_seen.into_iter().all(|seen| seen), "a row was lost");
        assert_eq!(sum, fingerprint);
        classes
    }

    /// Whether some rows satisfy the requirement.
    pub fn holds(&self, rows: &[usize]) -> bool {
        let mut summary = ClassSummary::new(self.requirement.shape());
        rows.iter().for_each(|&row| self.facts.add(row, &mut summary));
        self.requirement.holds(&summary)
    }

    pub fn is_label(&self, axis: usize) -> bool {
        matches!(self.space.axes[axis].kind, AxisKind::Label(_))
    }

    /// The least and the greatest code of some rows.
    pub fn bounds(&self, rows: &[usize], axis: usize) -> (u32, u32) {
        let codes = rows.iter().map(|&row| self.columns[axis][row]);
        (codes.clone().min().expect("rows"), codes.max().expect("rows"))
    }

    pub fn check_every_class_holds(&self, classes: &[Class]) {
        for class in classes {
            assert!(self.holds(&class.rows), "a class of {} rows misses", class.rows.len());
        }
    }

    /// No cut of an interval or a set leaves two satisfying sides.
    pub fn check_minimal(&self, class: &Class) {
        for axis in (0..self.columns.len()).filter(|&axis| !self.is_label(axis)) {
            let code = |&row: &usize| self.columns[axis][row];
            let mut rows = class.rows.clone();
            rows.sort_unstable_by_key(code);
            for n_left in 1..rows.len() {
                let (left, right) = rows.split_at(n_left);
                if code(&left[n_left - 1]) != code(&right[0]) {
                    let is_allowable = self.holds(left) && self.holds(right);
                    assert!(!is_allowable, "a class of {} rows can be cut", rows.len());
                }
            }
        }
    }

    /// Classes are disjoint boxes, where no axis is a label.
    pub fn check_boxes(&self, classes: &[Class]) {
        let bounds = |class: &Class| -> Vec<(u32, u32)> {
            (0..self.columns.len()).map(|axis| self.bounds(&class.rows, axis)).collect()
        };
        check_disjoint(&classes.iter().map(bounds).collect::<Vec<_>>());
    }

    /// Regions hold their points; where no axis is a label they tile the space.
    pub fn check_regions(&self, classes: &[Class]) {
        for class in classes {
            for (axis, &(lo, hi)) in class.region.iter().enumerate() {
                let (least, greatest) = self.bounds(&class.rows, axis);
                assert!(lo <= least && greatest <= hi, "a region does not hold its points");
            }
        }
        if (0..self.columns.len()).any(|axis| self.is_label(axis)) {
            return;
        }
        let regions: Vec<Vec<(u32, u32)>> =
            classes.iter().map(|class| class.region.clone()).collect();
        check_disjoint(&regions);
        let share = |&(lo, hi): &(u32, u32)| (f64::from(hi - lo) + 1.0) / 2f64.powi(32);
        let volume: f64 =
            regions.iter().map(|region| region.iter().map(share).product::<f64>()).sum();
        assert!((volume - 1.0).abs() < 1e-9, "regions fill {volume} of the space");
    }

    /// The certainty penalty of classes, as intervals and sets will be shown.
    pub fn penalty(&self, classes: &[Class]) -> f64 {
        let loss = |class: &Class, axis: usize| {
            let (lo, hi) = self.bounds(&class.rows, axis);
            let loss = match &self.space.axes[axis].kind {
                AxisKind::Interval { scale, .. } => f64::from(hi - lo) * scale,
                AxisKind::Set { scale, .. } => {
                    let mut codes: Vec<u32> =
                        class.rows.iter().map(|&row| self.columns[axis][row]).collect();
                    codes.sort_unstable();
                    codes.dedup();
                    (codes.len() - 1) as f64 * scale
                }
                AxisKind::Label(tree) => tree.loss(lo, hi),
            };
            class.rows.len() as f64 * loss * self.space.axes[axis].weight
        };
        let axes = 0..self.columns.len();
        classes.iter().flat_map(|class| axes.clone().map(move |axis| loss(class, axis))).sum()
    }
}

fn check_disjoint(boxes: &[Vec<(u32, u32)>]) {
    for (at, one) in boxes.iter().enumerate() {
        for other in &boxes[..at] {
            let apart = one.iter().zip(other).any(|(a, b)| a.1 < b.0 || b.1 < a.0);
            assert!(apart, "two classes have a point in common");
        }
    }
}

pub fn interval(dice: &mut Dice) -> (Axis, u32) {
    let n_codes = [1, 2, 7, 50, 1000, 1 << 30][dice.below(6) as usize];
    let scale = 1.0 / f64::from((n_codes - 1).max(1));
    let kind = AxisKind::Interval { scale, ruler: Ruler::of_codes() };
    (Axis { kind, weight: 1.0, preferred: false }, n_codes)
}

fn set(dice: &mut Dice) -> (Axis, u32) {
    let n_codes = [1, 2, 5, 64, 65, 300][dice.below(6) as usize];
    let kind = AxisKind::Set { scale: 1.0 / f64::from((n_codes - 1).max(1)), n_codes };
    (Axis { kind, weight: 1.0, preferred: false }, n_codes)
}

/// Codes of two or three digits under their prefixes, with a missing value at times.
fn label(dice: &mut Dice) -> (Axis, u32) {
    let n_leaves = 1 + dice.below(30);
    let has_missing = dice.below(3) == 0;
    let domain = prefix_domain(dice, n_leaves, has_missing);
    let n_codes = u32::try_from(domain.n_values()).expect("few");
    (Axis::new(&domain, Shown::Label, 1.0, false), n_codes)
}

fn prefix_domain(dice: &mut Dice, n_leaves: u32, has_missing: bool) -> Domain {
    let mut builder = TextColumnBuilder::new(ColumnType::Code);
    for _ in 0..n_leaves {
        builder.push(format!("{:03}", dice.below(400)).as_bytes()).expect("a code");
    }
    if has_missing {
        builder.push_missing();
    }
    let chunks = vec![builder.finish().expect("a column")];
    let column_type = ColumnType::Code;
    let column = RawColumn { name: "code".to_owned(), column_type, data_type: None, chunks };
    let prefix = HierarchySpec::Prefix;
    let coding = CodingPlan::Categories { hierarchy: Some(&prefix), by_frequency: true };
    encode(column, coding).expect("a hierarchy").domain
}

/// A sensitive column of so many values.
pub fn sensitive(name: &str, n_values: u32) -> SensitiveColumn {
    SensitiveColumn {
        name: name.to_owned(),
        n_values,
        distance: GroundDistance::ranks(n_values),
        numbers: Some((0..n_values).map(f64::from).collect()),
    }
}

/// Binds a requirement to all rows; nothing if they do not satisfy it.
pub fn bound(mut requirement: Requirement, facts: &Facts, n_rows: usize) -> Option<Requirement> {
    let mut whole = ClassSummary::new(requirement.shape());
    (0..n_rows).for_each(|row| facts.add(row, &mut whole));
    requirement.bind(&whole);
    requirement.holds(&whole).then_some(requirement)
}

/// Draws until all rows together satisfy it; one class of all rows is always found.
fn satisfied_requirement(dice: &mut Dice, facts: &Facts, n_rows: usize) -> Requirement {
    for _ in 0..10 {
        let columns = (0..facts.n_sensitive).map(|at| sensitive(&format!("s{at}"), 4)).collect();
        let rules = (0..facts.n_sensitive)
            .filter_map(|at| {
                let criterion = match dice.below(7) {
                    0 => Criterion::DistinctLDiversity { l: 1 + dice.below(4) },
                    1 => Criterion::EntropyLDiversity { l: 1.0 + f64::from(dice.below(25)) / 10.0 },
                    2 => Criterion::RecursiveDiversity { c: 2.0, l: 1 + dice.below(3) },
                    3 => Criterion::TCloseness { t: f64::from(dice.below(60)) / 100.0 },
                    4 => Criterion::AlphaK { alpha: 0.4 + f64::from(dice.below(60)) / 100.0 },
                    5 => Criterion::Variance { minimum: f64::from(dice.below(10)) / 10.0 },
                    _ => return None,
                };
                Some((at, criterion))
            })
            .collect();
        let k = u64::from(1 + dice.below(6));
        let requirement = Requirement::new(k, !facts.subjects.is_empty(), columns, rules);
        if let Some(requirement) = bound(requirement.expect("valid"), facts, n_rows) {
            return requirement;
        }
    }
    let columns = (0..facts.n_sensitive).map(|at| sensitive(&format!("s{at}"), 4)).collect();
    Requirement::new(1, !facts.subjects.is_empty(), columns, Vec::new()).expect("valid")
}
