//! Random tables of codes, and what is asked of their leaves and classes.

use std::collections::BTreeSet;

use albers_classes::space::{Axis, AxisKind, MISSING_PART, Shown, Space, Specialization};
use albers_privacy::{ClassSummary, Criterion, GroundDistance, Requirement, SensitiveColumn};
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::domain::Ruler;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;

use super::oracle;

/// Values of a sensitive column.
pub const N_SECRETS: u32 = 4;

/// SplitMix64: the same numbers on every machine.
pub struct Dice(pub u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        (self.bits() % u64::from(n)) as u32
    }

    /// One of some values.
    pub fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }

    /// True once in `n` throws.
    pub fn once_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

/// What is asked of every class, as plain data.
#[derive(Debug, Clone)]
pub struct Asked {
    pub k: u64,
    pub rules: Vec<(usize, Criterion)>,
}

/// A table of codes.
pub struct Table {
    pub space: Space,
    pub n_rows: usize,
    /// The codes of each row.
    pub rows: Vec<Vec<u32>>,
    /// The greatest code of each attribute.
    pub greatest: Vec<u32>,
    /// The subject of each row; empty when subjects are not counted.
    pub subjects: Vec<u32>,
    /// The sensitive columns.
    pub secrets: Vec<Vec<u32>>,
    /// What leaves as it came; empty when nothing does.
    pub payloads: Vec<Vec<u8>>,
    /// What every leaf must satisfy; all rows together do.
    pub asked: Asked,
    /// The same with a greater k and at times with more rules; all rows together satisfy that too.
    pub coarser: Asked,
}

impl Table {
    /// A table with axes of all kinds.
    pub fn draw(seed: u64, n_rows: usize, n_attributes: usize, with_labels: bool) -> Table {
        let mut dice = Dice(seed);
        let mut space = Space { axes: Vec::new() };
        let mut columns = Vec::new();
        let mut greatest = Vec::new();
        let all_alike = dice.once_in(12);
        for _ in 0..n_attributes {
            let (mut axis, n_codes) = match dice.below(if with_labels { 3 } else { 2 }) {
                0 => interval(&mut dice),
                1 => set(&mut dice),
                _ => label(&mut dice),
            };
            axis.preferred = dice.once_in(5);
            axis.weight = dice.of(&[1.0, 1.0, 0.3, 4.0]);
            space.axes.push(axis);
            greatest.push(n_codes - 1);
            columns.push(match all_alike {
                true => vec![n_codes - 1; n_rows],
                false => column(&mut dice, n_rows, n_codes),
            });
        }
        let row = |row: usize| columns.iter().map(|column: &Vec<u32>| column[row]).collect();
        let mut table = Table {
            space,
            n_rows,
            rows: (0..n_rows).map(row).collect(),
            greatest,
            subjects: Vec::new(),
            secrets: Vec::new(),
            payloads: Vec::new(),
            asked: Asked { k: 1, rules: Vec::new() },
            coarser: Asked { k: 1, rules: Vec::new() },
        };
        table.draw_facts(&mut dice);
        table.draw_requirements(&mut dice);
        table
    }

    /// The same rows, the last first.
    pub fn reversed(mut self) -> Table {
        self.rows.reverse();
        self.subjects.reverse();
        self.secrets.iter_mut().for_each(|column| column.reverse());
        self.payloads.reverse();
        self
    }

    /// Subjects, secrets and payloads. At times a secret follows from the first attribute, so that
    /// neighbours have the same and a rule forbids most cuts.
    fn draw_facts(&mut self, dice: &mut Dice) {
        let n_rows = self.n_rows;
        if dice.once_in(4) {
            let n_subjects = 1 + n_rows as u32 / 2;
            self.subjects = (0..n_rows).map(|_| dice.below(n_subjects)).collect();
        }
        for _ in 0..dice.below(3) {
            let follows = dice.once_in(3);
            let span = u64::from(self.greatest[0]) + 1;
            let mut secret = |row: &Vec<u32>| match follows && !dice.once_in(5) {
                true => (u64::from(row[0]) * u64::from(N_SECRETS) / span) as u32,
                false => dice.below(N_SECRETS),
            };
            self.secrets.push(self.rows.iter().map(&mut secret).collect());
        }
        if dice.once_in(3) {
            let mut payload = |row: usize| vec![row as u8; dice.below(30) as usize];
            self.payloads = (0..n_rows).map(&mut payload).collect();
        }
    }

    /// Draws until all rows together satisfy it; k = 1 is always satisfied.
    fn draw_requirements(&mut self, dice: &mut Dice) {
        let all: Vec<u32> = (0..self.n_rows as u32).collect();
        for _ in 0..10 {
            let rules = (0..self.secrets.len()).filter_map(|at| Some((at, criterion(dice)?)));
            let rules: Vec<_> = rules.collect();
            let k = u64::from(1 + dice.below(6));
            let most_more = dice.of(&[20, 20, 1 + self.n_rows as u32 / 2]);
            let coarser = Asked { k: k + u64::from(dice.below(most_more)), rules: rules.clone() };
            if oracle::holds(self, &coarser, &all) && self.bound(&coarser).1 {
                // Leaves without rules make it hard to satisfy those of a coarser release.
                self.asked = Asked { k, rules: if dice.once_in(3) { Vec::new() } else { rules } };
                self.coarser = coarser;
                return;
            }
        }
    }

    /// Gives the table another least k, where its rows suffice for that.
    pub fn with_k(mut self, k: u64) -> Table {
        self.asked.k = k.min(self.coarser.k);
        self
    }

    /// What is asked of the classes of each coarser release, the strictest last.
    pub fn releases(&self) -> Vec<Asked> {
        let (least, most) = (self.asked.k, self.coarser.k);
        let mut ks = vec![least + (most - least) / 4, least + (most - least) / 2, most];
        ks.dedup();
        ks.into_iter().map(|k| Asked { k, rules: self.coarser.rules.clone() }).collect()
    }

    /// What a class of these rows shows: the ends of intervals, the members of sets, and the codes
    /// below the lowest label, with the missing value beside them.
    pub fn shown_by(&self, rows: &[u32]) -> Vec<Vec<u32>> {
        let shown = |(lane, axis): (usize, &Axis)| {
            let codes: BTreeSet<u32> =
                rows.iter().map(|&row| self.rows[row as usize][lane]).collect();
            let (Some(&lo), Some(&hi)) = (codes.first(), codes.last()) else { return Vec::new() };
            match &axis.kind {
                AxisKind::Interval { .. } => vec![lo, hi],
                AxisKind::Set { .. } => codes.into_iter().collect(),
                AxisKind::Label(tree) => {
                    let children = tree.specialization(codes.iter().copied());
                    let is_missing = |code: u32| tree.part_of(children, code) == MISSING_PART;
                    let values: Vec<u32> =
                        codes.iter().copied().filter(|&code| !is_missing(code)).collect();
                    let (first, last) = match values[..] {
                        [] => (hi, hi),
                        [only] => (only, only),
                        [first, ..] => {
                            let level = Specialization { level: children.level + 1 };
                            tree.part_range(level, first)
                        }
                    };
                    vec![first, last, u32::from(is_missing(hi))]
                }
            }
        };
        self.space.axes.iter().enumerate().map(shown).collect()
    }

    /// The requirement, bound to all rows.
    pub fn requirement(&self, asked: &Asked) -> Requirement {
        self.bound(asked).0
    }

    /// The requirement, and whether the library finds that all rows satisfy it.
    fn bound(&self, asked: &Asked) -> (Requirement, bool) {
        let columns = (0..self.secrets.len()).map(|at| sensitive(&format!("s{at}"))).collect();
        let counts_subjects = !self.subjects.is_empty();
        let requirement = Requirement::new(asked.k, counts_subjects, columns, asked.rules.clone());
        let mut requirement = requirement.expect("the parameters are in range");
        let mut whole = ClassSummary::new(requirement.shape());
        for row in 0..self.n_rows {
            let secrets: Vec<u32> = self.secrets.iter().map(|column| column[row]).collect();
            whole.add(self.subjects.get(row).map_or(0, |own| u64::from(*own)), &secrets);
        }
        requirement.bind(&whole);
        let holds = requirement.holds(&whole);
        (requirement, holds)
    }

    /// About what a row has besides its codes.
    pub fn payload_bytes(&self) -> usize {
        self.payloads.iter().map(Vec::len).sum::<usize>() / self.n_rows
    }

    pub fn payload(&self, row: usize) -> &[u8] {
        self.payloads.get(row).map_or(&[], Vec::as_slice)
    }

    pub fn has_labels(&self) -> bool {
        self.space.axes.iter().any(|axis| matches!(axis.kind, AxisKind::Label(_)))
    }
}

fn sensitive(name: &str) -> SensitiveColumn {
    SensitiveColumn {
        name: name.to_owned(),
        n_values: N_SECRETS,
        distance: GroundDistance::ranks(N_SECRETS),
        numbers: Some((0..N_SECRETS).map(f64::from).collect()),
    }
}

fn criterion(dice: &mut Dice) -> Option<Criterion> {
    Some(match dice.below(8) {
        0 => Criterion::DistinctLDiversity { l: 1 + dice.below(4) },
        1 => Criterion::EntropyLDiversity { l: 1.0 + f64::from(dice.below(25)) / 10.0 },
        2 => Criterion::RecursiveDiversity { c: 2.0, l: 1 + dice.below(3) },
        3 => Criterion::TCloseness { t: f64::from(dice.below(60)) / 100.0 },
        4 => Criterion::AlphaK { alpha: 0.3 + f64::from(dice.below(70)) / 100.0 },
        5 => Criterion::Variance { minimum: f64::from(dice.below(10)) / 10.0 },
        _ => return None,
    })
}

/// Constant, unique, skewed or even codes.
fn column(dice: &mut Dice, n_rows: usize, n_codes: u32) -> Vec<u32> {
    match dice.below(6) {
        0 => vec![dice.below(n_codes); n_rows],
        1 => {
            // An odd factor permutes the rows' numbers, so that all codes differ if there are
            // enough.
            let factor = 2 * dice.below(1000) + 1;
            (0..n_rows as u32).map(|row| (row * factor) % 512 % n_codes).collect()
        }
        2 | 3 => (0..n_rows).map(|_| dice.below(n_codes).min(dice.below(n_codes))).collect(),
        _ => (0..n_rows).map(|_| dice.below(n_codes)).collect(),
    }
}

fn interval(dice: &mut Dice) -> (Axis, u32) {
    let n_codes = dice.of(&[1, 2, 7, 50, 1000, 1 << 30]);
    let scale = 1.0 / f64::from((n_codes - 1).max(1));
    let kind = AxisKind::Interval { scale, ruler: Ruler::of_codes() };
    (Axis { kind, weight: 1.0, preferred: false }, n_codes)
}

fn set(dice: &mut Dice) -> (Axis, u32) {
    let n_codes = dice.of(&[1, 2, 5, 64, 65, 600]);
    let kind = AxisKind::Set { scale: 1.0 / f64::from((n_codes - 1).max(1)), n_codes };
    (Axis { kind, weight: 1.0, preferred: false }, n_codes)
}

/// Codes of three digits under their prefixes, with a missing value at times.
fn label(dice: &mut Dice) -> (Axis, u32) {
    let mut builder = TextColumnBuilder::new(ColumnType::Code);
    for _ in 0..1 + dice.below(30) {
        builder.push(format!("{:03}", dice.below(400)).as_bytes()).expect("a code");
    }
    if dice.once_in(3) {
        builder.push_missing();
    }
    let chunks = vec![builder.finish().expect("a column")];
    let column_type = ColumnType::Code;
    let column = RawColumn { name: "code".to_owned(), column_type, data_type: None, chunks };
    let prefix = HierarchySpec::Prefix;
    let coding = CodingPlan::Categories { hierarchy: Some(&prefix), by_frequency: true };
    let domain = encode(column, coding).expect("a hierarchy").domain;
    let n_codes = u32::try_from(domain.n_values()).expect("few");
    (Axis::new(&domain, Shown::Label, 1.0, false), n_codes)
}
