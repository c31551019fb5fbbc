//! Random histories of a changing table against brute force over full signatures.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod model;

use model::{Mode, Model, Step, requirements};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

fn step() -> impl Strategy<Value = Step> {
    let mode = prop_oneof![
        (1_u8..4, 0_u8..3, any::<u64>()).prop_map(|(n_classes, n_waiting_of_8, salt)| Mode::Anew {
            n_classes,
            n_waiting_of_8,
            salt
        }),
        (any::<u64>(), any::<bool>()).prop_map(|(salt, new_wait)| Mode::Batch { salt, new_wait }),
    ];
    prop_oneof![
        6 => (0_u64..6, 0_u32..4).prop_map(|(subject, code)| Step::Insert { subject, code }),
        2 => any::<u8>().prop_map(|person| Step::Delete { person }),
        2 => (any::<u8>(), any::<bool>(), 0_u64..6, 0_u32..4)
            .prop_map(|(person, anew, subject, code)| Step::Revive { person, anew, subject, code }),
        2 => (any::<u8>(), any::<bool>(), any::<bool>(), 0_u32..4)
            .prop_map(|(person, other, touched, code)| Step::Update { person, other, touched, code }),
        1 => Just(Step::Recode),
        4 => (mode, any::<bool>()).prop_map(|(mode, accepts)| Step::Release { mode, accepts }),
    ]
}

proptest! {
    #![proptest_config(config(64))]

    /// Every person's history is kept in full beside the ledger. After each release the figures and
    /// the sets are those of brute force, and after each step so is what was stored and read back.
    #[test]
    fn the_ledger_says_what_all_signatures_say(
        which in 0..requirements().len(),
        n_first in 0_usize..14,
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut model = Model::new(requirements().swap_remove(which));
        for person in 0..n_first {
            model.apply(Step::Insert { subject: person as u64, code: person as u32 % 4 });
        }
        for step in steps {
            model.apply(step);
            model.check();
        }
    }
}

#[test]
fn histories_reach_every_kind_of_verdict() {
    let mut seen = model::Seen::default();
    let mut runner = TestRunner::deterministic();
    let histories = (0..requirements().len(), prop::collection::vec(step(), 30..60));
    for _ in 0..150 {
        let tree = histories.new_tree(&mut runner).unwrap();
        let (which, steps) = tree.current();
        let mut model = Model::new(requirements().swap_remove(which));
        (0..12).for_each(|i| model.apply(Step::Insert { subject: i, code: i as u32 % 4 }));
        steps.into_iter().for_each(|step| model.apply(step));
        seen.add(&model.seen);
    }
    assert!(seen.n_held > 20, "releases after others that hold: {}", seen.n_held);
    assert!(seen.n_refused > 20, "refused releases: {}", seen.n_refused);
    assert!(seen.n_accepted > 20, "accepted releases: {}", seen.n_accepted);
    assert!(seen.n_inherited > 20, "sets accepted before: {}", seen.n_inherited);
    assert!(seen.n_eras > 20, "sets of several eras: {}", seen.n_eras);
    assert!(seen.n_revived > 20, "rows revived: {}", seen.n_revived);
}
