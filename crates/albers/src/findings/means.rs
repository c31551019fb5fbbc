//! Classes that are too small for their means to be published.
//!
//! Guarantee: what is counted are the sizes of published classes, which anybody can count on the
//! release, so that the finding may stand in its manifest.

use albers_privacy::Requirement;
use albers_release::FEWEST_VALUES;
use albers_release::door::Passed;

use crate::finding::{Finding, FindingName};

/// Classes of fewer rows than that, counted as they pass.
#[derive(Debug, Default)]
pub(crate) struct SmallClasses {
    n_small_rows: u64,
    n_rows: u64,
}

impl SmallClasses {
    /// Adds some classes.
    pub(crate) fn add(&mut self, passed: &Passed<'_, '_>) {
        match passed {
            Passed::Classes(classes) => {
                let met = classes.classes_by_memory().iter();
                met.for_each(|met| self.add_class(classes.class_of(met).n_rows() as u64));
            }
            Passed::Giant(class) => self.add_class(class.n_rows),
            Passed::GiantRows(_) | Passed::LeftOut(_) => {}
        }
    }

    fn add_class(&mut self, n_rows: u64) {
        self.n_rows += n_rows;
        self.n_small_rows += if n_rows < FEWEST_VALUES { n_rows } else { 0 };
    }

    /// What was found in a release that shows means and satisfies a requirement. Where k counts
    /// persons, larger classes may be of fewer than five too, and are not told apart.
    pub(crate) fn mean_below_five(&self, requirement: &Requirement) -> Option<Finding> {
        let counts_persons = requirement.shape().counts_subjects;
        let may_be_small = self.n_small_rows > 0 || counts_persons;
        let SmallClasses { n_small_rows, n_rows } = self;
        (requirement.k() < FEWEST_VALUES && may_be_small).then(|| Finding {
            name: FindingName::MeanBelowFive,
            column: None,
            count: *n_small_rows,
            is_about: false,
            is_severe: true,
            sentence: format!(
                "k is below {FEWEST_VALUES}{} and means are published: {n_small_rows} of {n_rows} rows are \
                 in classes of fewer, whose bounds and mean nearly tell the values between them",
                if counts_persons { " persons" } else { "" },
            )
            .into(),
        })
    }
}
