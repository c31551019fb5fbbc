//! What the rows of a class cover on each attribute, and what they lose by being shown so.

use albers_classes::space::{AxisKind, Space};

/// What some rows cover, attribute by attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    /// The least and the greatest code of each attribute.
    spans: Vec<(u32, u32)>,
    /// The codes of each attribute that is shown as a set, sorted; nothing of the others.
    sets: Vec<Vec<u32>>,
}

impl Covered {
    /// What some rows cover, of which there must be one.
    pub fn of<'r>(space: &Space, rows: impl Iterator<Item = &'r [u32]>) -> Covered {
        let n_attributes = space.axes.len();
        let mut covered = Covered {
            spans: vec![(u32::MAX, 0); n_attributes],
            sets: vec![Vec::new(); n_attributes],
        };
        for row in rows {
            for (attribute, (&code, span)) in row.iter().zip(&mut covered.spans).enumerate() {
                *span = (span.0.min(code), span.1.max(code));
                if matches!(space.axes[attribute].kind, AxisKind::Set { .. }) {
                    covered.sets[attribute].push(code);
                }
            }
        }
        for set in &mut covered.sets {
            set.sort_unstable();
            set.dedup();
        }
        covered
    }

    /// What both cover.
    pub fn union(&self, other: &Covered) -> Covered {
        let spans = self.spans.iter().zip(&other.spans);
        let sets = self.sets.iter().zip(&other.sets).map(|(own, more)| {
            let mut set = [&own[..], &more[..]].concat();
            set.sort_unstable();
            set.dedup();
            set
        });
        Covered {
            spans: spans.map(|(own, more)| (own.0.min(more.0), own.1.max(more.1))).collect(),
            sets: sets.collect(),
        }
    }

    /// The least and the greatest code of each attribute.
    pub fn spans(&self) -> &[(u32, u32)] {
        &self.spans
    }

    /// The weighted loss of one row that is shown so.
    pub fn loss(&self, space: &Space) -> f64 {
        let of_axis = |attribute: usize| {
            let (axis, (lo, hi)) = (&space.axes[attribute], self.spans[attribute]);
            let share = match &axis.kind {
                // The missing value lies further from all others than these from each other, and
                // loses everything beside them.
                AxisKind::Interval { scale, .. } => (f64::from(hi - lo) * scale).min(1.0),
                AxisKind::Set { scale, .. } => (self.sets[attribute].len() - 1) as f64 * scale,
                AxisKind::Label(tree) => tree.loss(lo, hi),
            };
            axis.weight * share
        };
        (0..space.axes.len()).map(of_axis).sum()
    }
}
