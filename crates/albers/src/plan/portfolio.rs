//! Whether a job leaves open how its table is cut, so that several ways are tried.

use albers_lattice::choose::Minimize;
use albers_partition::portfolio::Portfolio;
use albers_release::publish::Values;
use albers_storage::choice::Choice;
use albers_storage::wording;
use albers_storage::wording::{Field, Setting};

use crate::error::{Error, Result};
use crate::job::{Effort, Job, Method};

/// What is tried to lose less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortfolioPlan {
    /// How much.
    pub(crate) effort: Effort,
    /// Whether no two classes may overlap.
    pub(crate) is_disjoint: bool,
}

impl PortfolioPlan {
    /// What a job leaves open; nothing where it says how its table is cut.
    pub(super) fn of(job: &Job) -> Option<PortfolioPlan> {
        let is_disjoint = job.disjoint == Some(true);
        let plan = PortfolioPlan { effort: job.effort.unwrap_or_default(), is_disjoint };
        said_otherwise(job).is_none().then_some(plan)
    }

    /// The ways that are tried, where there are several.
    pub(crate) fn ways(self) -> Option<Portfolio> {
        (self.effort != Effort::Fast).then(|| Portfolio::new(self.is_disjoint))
    }
}

/// Refuses an effort that has no effect, and classes that cannot be kept apart.
pub(super) fn check(job: &Job) -> Result<()> {
    let is_disjoint = job.disjoint == Some(true);
    if job.effort == Some(Effort::Best) {
        if is_disjoint {
            return Err(not_with_best(Field::Disjoint, "the classes of local recoding overlap"));
        }
        if leaves_out(job) {
            let reason =
                "rows that cuts leave out and rows that local recoding leaves out are others";
            return Err(not_with_best(Field::Suppress, reason));
        }
    }
    let given = [(Field::Effort, job.effort.is_some()), (Field::Disjoint, is_disjoint)];
    let Some((field, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    match said_otherwise(job) {
        None => Ok(()),
        Some(setting) => Err(Error::usage(
            wording![
                field,
                " has no effect with ",
                setting,
                ": there one way to find classes is taken"
            ],
            wording!["drop one of them"],
        )),
    }
}

/// Refuses what local recoding cannot have beside cuts.
fn not_with_best(field: Field, reason: &str) -> Error {
    let best = Field::Effort.of(Effort::Best.name());
    Error::usage(
        wording![field, " and ", best, " contradict each other: ", reason],
        "drop one of them",
    )
}

/// Whether rows may be left out.
fn leaves_out(job: &Job) -> bool {
    job.suppress.is_some_and(|share| share > 0.0)
}

/// A setting that says how the table is cut, or what else decides it.
fn said_otherwise(job: &Job) -> Option<Setting> {
    let given = job.method.unwrap_or_default();
    if given != Method::Auto {
        return Some(Field::Method.of(given.name()));
    }
    let bare = |field| Setting { field, column: None, value: None };
    let discernibility = Minimize::Discernibility;
    let settings = [
        // Levels need no method: they are those of a full-domain release.
        (bare(Field::Level), job.method() != Method::Auto),
        (bare(Field::Split), job.split.is_some()),
        (bare(Field::Then), job.then.is_some()),
        (bare(Field::Target), !job.workload.targets.is_empty()),
        (bare(Field::Features), !job.workload.features.is_empty()),
        (bare(Field::Select), !job.workload.select.is_empty()),
        (bare(Field::AlsoK), !job.also_k.is_empty()),
        (bare(Field::Model), job.model.is_some()),
        (bare(Field::Exact), job.exact == Some(true)),
        (bare(Field::External), job.external.is_some()),
        (bare(Field::Compact), job.compact == Some(false)),
        // Loss is told by other ends than those that are weighed.
        (Field::Values.of(Values::Features.name()), job.values == Some(Values::Features)),
        (Field::Minimize.of(discernibility.name()), job.minimize == Some(discernibility)),
        (bare(Field::Bias), job.columns.values().any(|column| column.bias == Some(true))),
    ];
    settings.into_iter().find_map(|(setting, is_given)| is_given.then_some(setting))
}
