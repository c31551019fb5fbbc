//! Whether a generalization may be published, and what it would lose.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 2.1 (full-domain generalization with a
//! tuple-suppression threshold).
//! Departures: any requirement takes the place of k. Rows of violating classes are left out, if
//! they are no more than may be and some rows remain.
//! Guarantee: the answer is that of the finished release. Where t-closeness is asked for and rows
//! are left out, the rest must also be close to the distribution of what is published, since nobody
//! sees the whole table.
//! Cost: one pass over the frequency set; where more than row counts decide, its keys are sorted.
//!
//! Monotone or not: without suppression every requirement is monotone, because satisfying classes
//! merge into satisfying ones. With suppression it is only if a satisfying class stays one whatever
//! rows are added, as for k and distinct l: for the others the merge of a satisfying class with a
//! violating one may violate, and then more rows are left out than before. The searches then prune
//! by the part of the requirement that is monotone, and look at every generalization that passes.

use albers_privacy::{ClassSummary, Criterion, Requirement};
use albers_storage::Result;

use crate::dimension::Dimension;
use crate::entries::Entries;
use crate::frequency_set::{FrequencySet, Workspace};
use crate::layout::KeyLayout;

/// What a search asks of each generalization.
pub struct Question<'a> {
    /// The attributes.
    pub dimensions: &'a [Dimension],
    /// What every published class must satisfy; bound to the whole table.
    pub requirement: &'a Requirement,
    /// Rows of the table.
    pub n_rows: u64,
    /// How many may be left out.
    pub max_suppressed: u64,
}

/// What is known of a generalization once its frequency set was looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Whether it may be published.
    pub holds: bool,
    /// Rows in violating classes.
    pub n_suppressed: u64,
    /// Classes that would be published.
    pub n_classes: u64,
    /// The sum of the squared class sizes, and all rows for each row left out.
    pub discernibility: f64,
    /// The weighted losses that the rows left out would have had, had they been published.
    pub suppressed_loss: f64,
}

impl Question<'_> {
    /// Whether all that generalizes a satisfying generalization satisfies too, and whatever has
    /// fewer attributes.
    pub fn is_monotone(&self) -> bool {
        self.max_suppressed == 0 || self.requirement.survives_additions()
    }

    /// How many rows every class must have, where that is all that is asked for and none may be left
    /// out: one class with fewer is enough to violate.
    pub(crate) fn least_rows(&self, layout: &KeyLayout) -> Option<u64> {
        let is_all = self.max_suppressed == 0 && layout.facts().is_empty();
        self.requirement.is_only_row_count().filter(|_| is_all)
    }

    /// Looks at a frequency set.
    pub fn judge(&self, workspace: Workspace<'_>, set: &FrequencySet) -> Result<Verdict> {
        workspace.watch.check()?;
        let mut tally = Tally::default();
        let losses = LossTable::new(self, set.layout());
        let only_rows = self.requirement.is_only_row_count();
        // With facts in the keys, several of them make one class.
        if let Some(k) = only_rows.filter(|_| set.layout().facts().is_empty()) {
            set.visit_classes(workspace, false, &mut |entries| {
                for (at, &count) in entries.counts.iter().enumerate() {
                    tally.add(u64::from(count), u64::from(count) >= k, || {
                        losses.of(entries.key(at))
                    });
                }
            })?;
            return Ok(self.verdict(tally, true));
        }
        let mut judge = ClassJudge::new(self, set.layout());
        let mut published = ClassSummary::new(self.requirement.shape());
        let must_rebind = self.max_suppressed > 0 && has_t_closeness(self.requirement);
        set.visit_classes(workspace, true, &mut |entries| {
            judge.each(entries, &mut |first, summary| {
                let holds = self.requirement.holds(summary);
                tally.add(summary.n_rows(), holds, || losses.of(entries.key(first)));
                if holds && must_rebind {
                    published.merge(summary);
                }
            });
        })?;
        let mut are_close = true;
        if must_rebind && tally.n_suppressed > 0 && tally.n_classes > 0 {
            let mut rebound = self.requirement.clone();
            rebound.bind(&published);
            set.visit_classes(workspace, true, &mut |entries| {
                judge.each(entries, &mut |_, summary| {
                    are_close &= !self.requirement.holds(summary) || rebound.holds(summary);
                });
            })?;
        }
        Ok(self.verdict(tally, are_close))
    }

    /// Hands a key of each class to `see`, and whether the class satisfies.
    pub(crate) fn each_class(
        &self,
        workspace: Workspace<'_>,
        set: &FrequencySet,
        see: &mut dyn FnMut(&[u64], bool),
    ) -> Result<()> {
        let only_rows = self.requirement.is_only_row_count();
        if let Some(k) = only_rows.filter(|_| set.layout().facts().is_empty()) {
            return set.visit_classes(workspace, false, &mut |entries| {
                for (at, &count) in entries.counts.iter().enumerate() {
                    see(entries.key(at), u64::from(count) >= k);
                }
            });
        }
        let mut judge = ClassJudge::new(self, set.layout());
        set.visit_classes(workspace, true, &mut |entries| {
            judge.each(entries, &mut |first, summary| {
                see(entries.key(first), self.requirement.holds(summary));
            });
        })
    }

    fn verdict(&self, tally: Tally, holds: bool) -> Verdict {
        let Tally { n_suppressed, n_classes, squares, suppressed_loss } = tally;
        let holds = holds && n_suppressed <= self.max_suppressed && n_classes > 0;
        let discernibility = squares + n_suppressed as f64 * self.n_rows as f64;
        Verdict { holds, n_suppressed, n_classes, discernibility, suppressed_loss }
    }
}

fn has_t_closeness(requirement: &Requirement) -> bool {
    requirement.rules().iter().any(|(_, rule)| matches!(rule, Criterion::TCloseness { .. }))
}

#[derive(Clone, Copy, Default)]
struct Tally {
    n_suppressed: u64,
    n_classes: u64,
    squares: f64,
    suppressed_loss: f64,
}

impl Tally {
    #[inline]
    fn add(&mut self, n_rows: u64, holds: bool, loss: impl FnOnce() -> f64) {
        if holds {
            self.n_classes += 1;
            self.squares += n_rows as f64 * n_rows as f64;
        } else {
            self.n_suppressed += n_rows;
            self.suppressed_loss += n_rows as f64 * loss();
        }
    }
}

/// What a class loses on all attributes, with weights.
struct LossTable<'a> {
    fields: Vec<(crate::layout::Field, &'a [f64], f64)>,
}

impl<'a> LossTable<'a> {
    fn new(question: &Question<'a>, layout: &KeyLayout) -> LossTable<'a> {
        // Without suppression nobody asks.
        let n_fields = if question.max_suppressed == 0 { 0 } else { layout.fields().len() };
        let attributes = layout.attributes().iter().zip(layout.levels()).take(n_fields);
        let fields = attributes.zip(layout.fields()).map(|((&attribute, &level), &field)| {
            let dimension = &question.dimensions[attribute];
            (field, dimension.losses(level), dimension.weight())
        });
        LossTable { fields: fields.collect() }
    }

    fn of(&self, key: &[u64]) -> f64 {
        let losses = self.fields.iter();
        losses.map(|(field, losses, weight)| weight * losses[field.get(key) as usize]).sum()
    }
}

/// Summaries of classes, one after another.
struct ClassJudge<'a> {
    layout: &'a KeyLayout,
    has_subjects: bool,
    summary: ClassSummary,
    order: Vec<u32>,
    codes: Vec<u32>,
}

impl<'a> ClassJudge<'a> {
    fn new(question: &Question<'_>, layout: &'a KeyLayout) -> ClassJudge<'a> {
        ClassJudge {
            layout,
            has_subjects: question.requirement.shape().counts_subjects,
            summary: ClassSummary::new(question.requirement.shape()),
            order: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// Hands the place of the first entry of each class and its summary to `see`, in the order of
    /// the keys.
    fn each(&mut self, entries: &Entries, see: &mut dyn FnMut(usize, &ClassSummary)) {
        let ClassJudge { layout, has_subjects, summary, order, codes } = self;
        order.clear();
        order.extend(0..entries.len() as u32);
        order.sort_unstable_by(|&a, &b| entries.key(a as usize).cmp(entries.key(b as usize)));
        let same_class = |a: &u32, b: &u32| {
            layout.same_class(entries.key(*a as usize), entries.key(*b as usize))
        };
        for class in order.chunk_by(same_class) {
            summary.clear();
            for &at in class {
                let key = entries.key(at as usize);
                let mut facts = layout.facts().iter().map(|field| field.get(key));
                let mut half = || u64::from(facts.next().unwrap_or(0));
                let subject = if *has_subjects { half() | half() << 32 } else { 0 };
                codes.clear();
                codes.extend(facts);
                summary.add_many(subject, codes, u64::from(entries.counts[at as usize]));
            }
            see(class[0] as usize, summary);
        }
    }
}
