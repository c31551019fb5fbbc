//! The split policies that experiments compare, and what each asks of a job.

use crate::job::{Job, Split, TargetKind, TargetSpec};

/// A way to choose cuts.
pub(super) struct Contender {
    /// What its line is called.
    pub(super) name: &'static str,
    /// Asks a job for it, where the column of this name is to be predicted.
    pub(super) ask: fn(job: &mut Job, target: &str),
    /// Whether its cuts are made for the column that is to be predicted.
    pub(super) looks_at_target: bool,
}

/// A policy that is entered here has its line in every figure, and is part of every verdict.
pub(super) const CONTENDERS: &[Contender] = &[
    Contender {
        name: "median",
        ask: |job, _| job.split = Some(Split::Median),
        looks_at_target: false,
    },
    Contender {
        name: "compact",
        ask: |job, _| job.split = Some(Split::Compact),
        looks_at_target: false,
    },
    Contender {
        name: "info-gain",
        ask: |job, target| {
            job.split = Some(Split::InfoGain);
            let kind = Some(TargetKind::Class);
            job.workload.targets =
                vec![TargetSpec { column: target.to_owned(), kind, weight: None }];
        },
        looks_at_target: true,
    },
];

/// The names of their lines.
pub(super) fn names() -> Vec<&'static str> {
    CONTENDERS.iter().map(|contender| contender.name).collect()
}
