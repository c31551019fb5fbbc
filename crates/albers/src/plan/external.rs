//! Which jobs counts of values can decide, so that a table need not fit in memory to be cut exactly.

use albers_partition::split::Policy;
use albers_storage::choice::Choice;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::schema::Role;

use crate::error::{Error, Result};
use crate::job::{External, Job, Split, TargetKind};

/// Refuses to count where counts do not decide.
pub(super) fn check(job: &Job) -> Result<()> {
    match (job.external, why_not(job)) {
        (Some(External::Tree), Some((problem, advice))) => {
            let mut whole = wording![Field::External.of(External::Tree.name())];
            whole.append(problem);
            Err(Error::usage(whole, advice))
        }
        _ => Ok(()),
    }
}

/// Whether counts of values decide all cuts of a job.
pub(super) fn counts_decide(job: &Job) -> bool {
    why_not(job).is_none()
}

/// What counts do not decide of a job, and what can be done about it.
fn why_not(job: &Job) -> Option<(Wording, Wording)> {
    why_not_split(job).or_else(|| why_not_workload(job)).or_else(|| why_not_requirement(job))
}

fn why_not_split(job: &Job) -> Option<(Wording, Wording)> {
    let split = job.split.unwrap_or_default();
    let median = || wording!["use ", Field::Split.of(Split::Median.name())];
    match split {
        Split::Median => None,
        Split::InfoGain if job.then == Some(Policy::Median) => None,
        Split::InfoGain => Some((
            wording![
                " has no counts for ",
                Field::Then.of(job.then.unwrap_or_default().name()),
                ": compact weighs boxes of all columns at once"
            ],
            wording!["add ", Field::Then.of(Policy::Median.name())],
        )),
        Split::Compact => Some((
            wording![
                " has no counts for ",
                Field::Split.of(split.name()),
                ": it weighs boxes of all columns at once"
            ],
            median(),
        )),
        Split::Selection => Some((
            wording![
                " has no counts for ",
                Field::Split.of(split.name()),
                ": selections look at several columns at once"
            ],
            median(),
        )),
        Split::Regression => Some((
            wording![
                " has no counts for ",
                Field::Split.of(split.name()),
                ": those of a number for every value of a column are nearly as many as the rows"
            ],
            wording![
                "use ",
                Field::Split.of(Split::Median.name()),
                ", or ",
                Field::Split.of(Split::InfoGain.name()),
                " with a target that is a class"
            ],
        )),
    }
}

fn why_not_workload(job: &Job) -> Option<(Wording, Wording)> {
    if !job.workload.select.is_empty() {
        return Some((
            wording![
                " has no counts for ",
                Field::Select,
                ": selections look at several columns at once"
            ],
            wording!["drop ", Field::Select],
        ));
    }
    if !job.workload.features.is_empty() {
        return Some((
            wording![
                " has no counts for ",
                Field::Features,
                ": they are looked at together with every other column"
            ],
            wording!["drop ", Field::Features],
        ));
    }
    let mut targets = job.workload.targets.iter();
    let number = targets.find(|target| target.kind == Some(TargetKind::Number))?;
    Some((
        wording![
            format!(" has no counts for target '{}', which is a number: ", number.column),
            "they are nearly as many as the rows"
        ],
        "drop it, or make it a class".into(),
    ))
}

fn why_not_requirement(job: &Job) -> Option<(Wording, Wording)> {
    let variance = job.columns.iter().find(|(_, column)| column.variance.is_some());
    if let Some((name, _)) = variance {
        return Some((
            wording![
                format!(" has no counts for the variance of column '{name}': "),
                "those of a number for every value of a column are nearly as many as the rows"
            ],
            "drop the variance, or ask for a diversity of distinct values".into(),
        ));
    }
    let name = job.with_role(Role::Subject).next()?;
    Some((
        wording![
            format!(" has no counts for k by persons, told apart by column '{name}': "),
            "they are nearly as many as the rows"
        ],
        wording![
            "drop ",
            Field::Subject,
            ", or use ",
            Field::Exact,
            " with enough ",
            Field::Memory,
            " instead"
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Method;

    fn job() -> Job {
        let mut job = Job { k: Some(5), method: Some(Method::Mondrian), ..Job::default() };
        job.set_role("age", Role::Quasi).unwrap();
        job.set_role("pay", Role::Sensitive).unwrap();
        job.set_role("work", Role::Keep).unwrap();
        (job.external, job.split) = (Some(External::Tree), Some(Split::Median));
        job
    }

    fn follow(job: &mut Job, target: &str) {
        job.workload.targets = vec![target.parse().unwrap()];
        (job.split, job.then) = (Some(Split::InfoGain), Some(Policy::Median));
    }

    #[test]
    fn what_counts_do_not_decide_is_refused_with_the_reason_and_a_way_out() {
        type Spoil = fn(&mut Job);
        let mistakes: [(&str, &str, Spoil); 9] = [
            ("boxes of all columns", "`split = median`", |job| job.split = None),
            ("boxes of all columns", "median", |job| job.split = Some(Split::Compact)),
            ("selections look at", "median", |job| job.split = Some(Split::Selection)),
            ("nearly as many as the rows", "info-gain", |job| job.split = Some(Split::Regression)),
            ("boxes of all columns", "`then = median`", |job| {
                follow(job, "work");
                job.then = None;
            }),
            ("target 'work', which is a number", "class", |job| follow(job, "work:number")),
            ("looked at together", "features", |job| {
                follow(job, "work");
                job.workload.features = vec!["note".into()];
            }),
            ("the variance of column 'pay'", "diversity", |job| {
                job.column("pay").variance = Some(1.0);
            }),
            ("k by persons", "subject", |job| job.set_role("who", Role::Subject).unwrap()),
        ];
        for (problem, advice, spoil) in mistakes {
            let mut job = job();
            spoil(&mut job);
            let words = check(&job).unwrap_err().to_string();
            assert!(words.contains(problem) && words.contains(advice), "{words}");
            assert!(!counts_decide(&job));
            job.external = None;
            assert!(check(&job).is_ok(), "{problem} is refused without counts");
        }
    }

    #[test]
    fn medians_and_targets_that_are_classes_are_decided_by_counts() {
        let mut job = job();
        job.column("pay").t_closeness = Some(0.2);
        assert!(check(&job).is_ok() && counts_decide(&job));
        follow(&mut job, "work:class:2");
        assert!(check(&job).is_ok() && counts_decide(&job));
    }
}
