//! Random histories of indexes whose requirement looks at secrets and at persons: every class
//! satisfies it, and every set of rows that all releases together cannot tell apart, with its
//! values in each release that it is in.

use proptest::prelude::*;

use super::attacker::{Rule, Rules};
use super::model::{steps, try_history};
use super::table::{Style, config};

const K: u64 = 2;

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn sets_have_distinct_values(steps in steps()) {
        let rules = Rules { k: K, rule: Rule::Distinct(2), by_subject: false };
        try_history(rules, Style::Plain, &steps);
    }

    #[test]
    fn sets_have_entropy(steps in steps()) {
        let rules = Rules { k: K, rule: Rule::Entropy(1.5), by_subject: false };
        try_history(rules, Style::Odd, &steps);
    }

    #[test]
    fn sets_are_close_to_the_whole(steps in steps()) {
        let rules = Rules { k: K, rule: Rule::Closeness(0.5), by_subject: false };
        try_history(rules, Style::Plain, &steps);
    }

    #[test]
    fn sets_have_k_persons(steps in steps()) {
        let rules = Rules { k: K, rule: Rule::Nothing, by_subject: true };
        try_history(rules, Style::Plain, &steps);
    }

    #[test]
    fn sets_have_k_persons_and_distinct_values(steps in steps()) {
        let rules = Rules { k: K, rule: Rule::Distinct(2), by_subject: true };
        try_history(rules, Style::Plain, &steps);
    }
}
