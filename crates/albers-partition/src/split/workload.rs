//! What a release will be used for: targets whose values classes should tell, and predicates whose
//! rows it will be asked for.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, sections 3.1.1 to 3.1.3 and 3.2 (equations
//! 3 to 7).
//! Departures: classes and numbers may be targets side by side. Each impurity is divided by that of
//! the whole table and weighted, since entropies and squared errors cannot be added as they are.
//! Guarantee: impurities come of whole numbers, so that no order of rows decides a cut.

use albers_classes::TargetCodes;
use albers_classes::region::Span;

use crate::split::Point;
use crate::split::tally::{CellTally, Tally};

/// A target that a row does not have.
pub const NO_VALUE: u32 = u32::MAX;

/// Of the impurity of the whole table, the gain below which a split tells nothing; of a single
/// target that is a class, in bits.
const LEAST_GAIN: f64 = 0.01;

/// What a release will be used for.
#[derive(Debug, Clone, Default)]
pub struct Workload {
    /// What classes should tell.
    pub targets: Vec<Target>,
    /// What is known beside the attributes: impurities are then summed over its cells.
    pub features: Option<FeatureCells>,
    /// The impurity of each target in the whole table, per row; empty until it is known.
    pub roots: Vec<f64>,
    /// What it will be asked for.
    pub predicates: Vec<Predicate>,
}

/// Where rows carry their cell of a feature space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureCells {
    /// The place of its number among what is carried.
    pub place: usize,
    /// How many cells there are.
    pub n_cells: u32,
}

/// Cells of a feature space, numbered as they occur among some rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellNumbers {
    /// By the places of the rows; nothing where there is no feature space.
    pub(crate) of_rows: Vec<u32>,
    /// The number of each cell, [`NO_VALUE`] between uses.
    number_of: Vec<u32>,
    /// The cells that occur.
    seen: Vec<u32>,
}

/// Rows that a release will be asked for: those with some codes on some attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    /// What a row that is returned in vain counts for.
    pub weight: f64,
    /// What it asks, one term for each attribute that it looks at.
    pub terms: Vec<Term>,
}

/// What a predicate asks of one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The attribute.
    pub axis: usize,
    /// The codes that satisfy it, as ascending runs.
    pub codes: Vec<Span>,
}

/// A column that classes should tell.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where its codes are.
    pub place: TargetPlace,
    /// What they mean.
    pub values: TargetValues,
    /// How much it counts.
    pub weight: f64,
}

/// Where the codes of a target are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetPlace {
    /// It is an attribute.
    Axis(usize),
    /// It is carried: its place among the carried targets.
    Carried(usize),
}

/// What the codes of a target mean.
#[derive(Debug, Clone)]
pub enum TargetValues {
    /// Names.
    Classes {
        /// How many there are.
        n_classes: u32,
        /// The code of a missing value, which tells nothing.
        missing: Option<u32>,
    },
    /// Points on a line.
    Numbers {
        /// Where each code lies; codes are distances themselves where it is empty.
        by_code: Vec<u32>,
        /// The code of a missing value.
        missing: Option<u32>,
    },
}

impl Target {
    /// Its value in a row: a class, a point on a line, or [`NO_VALUE`].
    #[inline]
    fn value<const L: usize>(&self, point: &Point<L>, carried: &[u32]) -> u32 {
        let code = match self.place {
            TargetPlace::Axis(axis) => point[axis],
            TargetPlace::Carried(place) => carried[place],
        };
        self.value_of(code)
    }

    /// The same by its code.
    #[inline]
    pub fn value_of(&self, code: u32) -> u32 {
        match &self.values {
            TargetValues::Classes { missing, .. } | TargetValues::Numbers { missing, .. }
                if *missing == Some(code) =>
            {
                NO_VALUE
            }
            TargetValues::Numbers { by_code, .. } if !by_code.is_empty() => by_code[code as usize],
            _ => code,
        }
    }

    /// How many classes it has; none where it is a number.
    pub(crate) fn n_classes(&self) -> u32 {
        match self.values {
            TargetValues::Classes { n_classes, .. } => n_classes,
            TargetValues::Numbers { .. } => 0,
        }
    }

    /// A tally of no rows.
    fn tally(&self) -> Tally {
        match self.values {
            TargetValues::Classes { n_classes, .. } => Tally::of_classes(n_classes),
            TargetValues::Numbers { .. } => Tally::of_numbers(),
        }
    }

    /// The same, cell by cell.
    fn cell_tally(&self) -> Tally {
        Tally::ByCell(match self.values {
            TargetValues::Classes { n_classes, .. } => CellTally::of_classes(n_classes),
            TargetValues::Numbers { .. } => CellTally::of_numbers(),
        })
    }
}

impl Workload {
    /// Whether rows carry something of it: targets that are no attributes, or a feature space.
    pub fn has_carried(&self) -> bool {
        self.features.is_some()
            || self.targets.iter().any(|target| matches!(target.place, TargetPlace::Carried(_)))
    }

    /// The values of each target, by the places of the points.
    pub fn values<const L: usize>(
        &self,
        points: &[Point<L>],
        locals: &[u32],
        carried: Option<&TargetCodes>,
        out: &mut Vec<Vec<u32>>,
    ) {
        out.resize(self.targets.len(), Vec::new());
        for (target, values) in self.targets.iter().zip(out) {
            values.clear();
            let own = |local: u32| carried.map_or(&[][..], |codes| codes.of_row(local as usize));
            let rows = points.iter().zip(locals);
            values.extend(rows.map(|(point, &local)| target.value(point, own(local))));
        }
    }

    /// The cells of the points in the feature space, by their places.
    pub(crate) fn cells(
        &self,
        locals: &[u32],
        carried: Option<&TargetCodes>,
        out: &mut CellNumbers,
    ) {
        out.of_rows.clear();
        let Some((features, carried)) = self.features.zip(carried) else { return };
        let CellNumbers { of_rows, number_of, seen } = out;
        number_of.resize(features.n_cells as usize, NO_VALUE);
        for &local in locals {
            let cell = carried.of_row(local as usize)[features.place];
            let number = &mut number_of[cell as usize];
            if *number == NO_VALUE {
                *number = seen.len() as u32;
                seen.push(cell);
            }
            of_rows.push(*number);
        }
        seen.drain(..).for_each(|cell| number_of[cell as usize] = NO_VALUE);
    }

    /// Tallies of no rows, one for each target.
    pub fn tallies(&self) -> Vec<Tally> {
        let tally = if self.features.is_some() { Target::cell_tally } else { Target::tally };
        self.targets.iter().map(tally).collect()
    }

    /// The same workload, with the impurities of these points as those of the whole table.
    pub fn rooted<const L: usize>(
        &self,
        points: &[Point<L>],
        carried: Option<&TargetCodes>,
    ) -> Workload {
        let locals: Vec<u32> = (0..points.len() as u32).collect();
        let mut values = Vec::new();
        self.values(points, &locals, carried, &mut values);
        let mut cells = CellNumbers::default();
        self.cells(&locals, carried, &mut cells);
        let root = |(mut tally, values): (Tally, &Vec<u32>)| {
            match cells.of_rows.is_empty() {
                true => values.iter().for_each(|&value| tally.add(value)),
                false => {
                    let rows = cells.of_rows.iter().zip(values);
                    rows.for_each(|(&cell, &value)| tally.add_in(cell, value));
                }
            }
            tally.impurity() / points.len().max(1) as f64
        };
        let roots = self.tallies().into_iter().zip(&values).map(root).collect();
        Workload { roots, ..self.clone() }
    }

    /// What each target's impurity counts for. That of a single class is counted in bits.
    pub fn scales(&self) -> Vec<f64> {
        if self.is_single_class() {
            return vec![1.0];
        }
        let scale = |(target, &root): (&Target, &f64)| match root > 0.0 {
            true => target.weight / root,
            // A target with one value has no say.
            false => 0.0,
        };
        self.targets.iter().zip(&self.roots).map(scale).collect()
    }

    /// The gain per row below which a split tells nothing.
    pub fn least_gain(&self) -> f64 {
        match self.is_single_class() {
            true => LEAST_GAIN,
            false => {
                let told = self.targets.iter().zip(&self.roots).filter(|(_, root)| **root > 0.0);
                LEAST_GAIN * told.map(|(target, _)| target.weight).sum::<f64>()
            }
        }
    }

    fn is_single_class(&self) -> bool {
        matches!(&self.targets[..], [Target { values: TargetValues::Classes { .. }, .. }])
    }
}
