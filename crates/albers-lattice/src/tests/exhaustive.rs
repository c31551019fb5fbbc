//! Every search against a look at every generalization, on random tables.

use std::collections::BTreeMap;
use std::time::Duration;

use albers_privacy::Facts;
use albers_privacy::{ClassSummary, Criterion, GroundDistance, Requirement, SensitiveColumn};
use proptest::prelude::*;

use super::{Column, TestTable};
use crate::bottom_up::BottomUp;
use crate::bounded;
use crate::choose::{Minimize, best};
use crate::incognito::Variant;
use crate::lattice::{Lattice, height_of};
use crate::question::Question;
use crate::search::{Algorithm, Found, Generalization, search};

/// With a subject, two secrets of so many possible values need keys of two words.
const N_SECRETS: u32 = 1 << 16;

/// An attribute: its values by row, and the group of each group of the level below.
type Attribute = (Vec<Option<u8>>, Vec<Vec<u8>>);

#[derive(Debug, Clone)]
struct Case {
    columns: Vec<Attribute>,
    secrets: Vec<u32>,
    subjects: Option<Vec<u64>>,
    k: u64,
    rules: Vec<Criterion>,
    max_suppressed: u64,
    memory_bytes: usize,
}

const N_VALUES: usize = 6;

fn column(n_rows: usize) -> impl Strategy<Value = Attribute> {
    let cell = prop_oneof![9 => (0..N_VALUES as u8).prop_map(Some), 1 => Just(None)];
    let cells = prop::collection::vec(cell, n_rows);
    // Each level maps the groups of the one below to fewer.
    let level = prop::collection::vec(0u8..3, N_VALUES);
    (cells, prop::collection::vec(level, 0..3))
}

fn rule() -> impl Strategy<Value = Criterion> {
    prop_oneof![
        (1u32..4).prop_map(|l| Criterion::DistinctLDiversity { l }),
        (1.0..2.5f64).prop_map(|l| Criterion::EntropyLDiversity { l }),
        (0.5..3.0f64, 1u32..3).prop_map(|(c, l)| Criterion::RecursiveDiversity { c, l }),
        (0.1..0.9f64).prop_map(|t| Criterion::TCloseness { t }),
        (0.4..1.0f64).prop_map(|alpha| Criterion::AlphaK { alpha }),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    (1usize..40, 1usize..4).prop_flat_map(|(n_rows, n_attributes)| {
        (
            prop::collection::vec(column(n_rows), n_attributes),
            prop::collection::vec(0u32..4, n_rows),
            prop::option::of(prop::collection::vec(0u64..12, n_rows)),
            1u64..6,
            prop::collection::vec(rule(), 0..3),
            0..=(n_rows as u64),
            prop_oneof![Just(1usize << 24), Just(2_000), Just(20_000)],
        )
            .prop_map(
                |(columns, secrets, subjects, k, rules, max_suppressed, memory_bytes)| Case {
                    columns,
                    secrets,
                    subjects,
                    k,
                    rules,
                    max_suppressed: if max_suppressed % 2 == 0 { 0 } else { max_suppressed },
                    memory_bytes,
                },
            )
    })
}

impl Case {
    fn table(&self) -> TestTable {
        let columns: Vec<Column> =
            self.columns.iter().map(|own| as_column(&own.0, &own.1)).collect();
        let n_columns = if self.rules.is_empty() { 0 } else { 2 };
        let secret = |name: &str| SensitiveColumn {
            name: name.to_owned(),
            n_values: N_SECRETS,
            distance: GroundDistance::Equal,
            numbers: None,
        };
        let secrets = ["one", "other"].map(secret).into_iter().take(n_columns).collect();
        let rules: Vec<(usize, Criterion)> =
            self.rules.iter().enumerate().map(|(at, &rule)| (at % 2, rule)).collect();
        let facts = Facts {
            subjects: self.subjects.clone().unwrap_or_default(),
            sensitive: self
                .secrets
                .iter()
                .flat_map(|&secret| {
                    [secret, N_SECRETS - 1 - secret / 2].into_iter().take(n_columns)
                })
                .collect(),
            n_sensitive: n_columns,
        };
        let has_subjects = self.subjects.is_some();
        let requirement = Requirement::new(self.k, has_subjects, secrets, rules).expect("valid");
        let mut table = TestTable::new(&columns, facts, requirement);
        let mut whole = ClassSummary::new(table.requirement.shape());
        (0..table.n_rows()).for_each(|row| table.facts.add(row, &mut whole));
        table.requirement.bind(&whole);
        table
    }
}

/// Labels by level: the group of each value, nested because each level maps that below.
fn as_column(cells: &[Option<u8>], levels: &[Vec<u8>]) -> Column {
    let path = |value: usize| {
        let mut labels = vec![format!("v{value}")];
        let mut group = value;
        for (depth, level) in levels.iter().enumerate() {
            group = usize::from(level[group]);
            labels.push(format!("g{depth}.{group}"));
        }
        labels.push("*".to_owned());
        labels
    };
    let text = |cell: &Option<u8>| cell.map(|value| format!("v{value}")).unwrap_or_default();
    Column { cells: cells.iter().map(text).collect(), hierarchy: (0..N_VALUES).map(path).collect() }
}

/// What a generalization is like, from the rows alone.
struct Truth {
    holds: bool,
    n_suppressed: u64,
    n_classes: u64,
    discernibility: f64,
    ncp: f64,
}

fn truth(table: &TestTable, question: &Question<'_>, levels: &[u16]) -> Truth {
    let n_rows = table.n_rows();
    let mut classes: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
    let value = |row: usize, at: usize| {
        let code = table.codes[at][row];
        table.dimensions[at].map(0, levels[at]).map_or(code, |map| map[code as usize])
    };
    for row in 0..n_rows {
        let key = (0..levels.len()).map(|at| value(row, at)).collect();
        classes.entry(key).or_default().push(row);
    }
    let summary = |rows: &[usize]| {
        let mut summary = ClassSummary::new(table.requirement.shape());
        rows.iter().for_each(|&row| table.facts.add(row, &mut summary));
        summary
    };
    let (kept, left_out): (Vec<_>, Vec<_>) =
        classes.into_values().partition(|rows| table.requirement.holds(&summary(rows)));
    let n_suppressed = left_out.iter().map(Vec::len).sum::<usize>();
    let mut rebound = table.requirement.clone();
    if n_suppressed > 0 && question.max_suppressed > 0 && !kept.is_empty() {
        rebound.bind(&summary(&kept.concat()));
    }
    let all_close = kept.iter().all(|rows| rebound.holds(&summary(rows)));
    let squares: usize = kept.iter().map(|rows| rows.len() * rows.len()).sum();
    let weights: f64 = table.dimensions.iter().map(|own| own.weight()).sum();
    let loss_of_row = |row: usize| -> f64 {
        let attributes = 0..levels.len();
        attributes
            .map(|at| {
                let own = &table.dimensions[at];
                own.weight() * own.losses(levels[at])[value(row, at) as usize]
            })
            .sum()
    };
    let loss: f64 = kept.concat().into_iter().map(loss_of_row).sum();
    Truth {
        holds: all_close && n_suppressed as u64 <= question.max_suppressed && !kept.is_empty(),
        n_suppressed: n_suppressed as u64,
        n_classes: kept.len() as u64,
        discernibility: (squares + n_suppressed * n_rows) as f64,
        ncp: (loss + n_suppressed as f64 * weights) / (n_rows as f64 * weights),
    }
}

const ALL: [Algorithm; 5] = [
    Algorithm::Incognito(Variant::Basic),
    Algorithm::Incognito(Variant::SuperRoots),
    Algorithm::Incognito(Variant::Cube),
    Algorithm::BottomUp(BottomUp::Rollup),
    Algorithm::BottomUp(BottomUp::Scan),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_search_finds_what_a_look_at_every_generalization_finds(case in case()) {
        let table = case.table();
        let question = table.question(case.max_suppressed);
        let lattice = Lattice::new(table.dimensions.iter().map(|own| own.height()).collect());
        let truths: Vec<Truth> = (0..lattice.n_nodes())
            .map(|node| truth(&table, &question, &lattice.levels(node)))
            .collect();
        let satisfying: Vec<usize> =
            (0..lattice.n_nodes()).filter(|&node| truths[node].holds).collect();
        let is_below = |a: usize, b: usize| {
            a != b && lattice.levels(a).iter().zip(lattice.levels(b)).all(|(a, b)| *a <= b)
        };
        let minimal: Vec<usize> = satisfying
            .iter()
            .copied()
            .filter(|&node| !satisfying.iter().any(|&other| is_below(other, node)))
            .collect();
        for algorithm in ALL {
            let (found, _) = table.on_ground(case.memory_bytes, |counted| {
                let found = search(counted, &question, algorithm).expect("memory and disk suffice");
                for own in &found.minimal {
                    let truth = &truths[lattice.node(&own.levels)];
                    assert_eq!(own.verdict.n_suppressed, truth.n_suppressed);
                    assert_eq!(own.verdict.n_classes, truth.n_classes);
                    assert_eq!(own.verdict.discernibility, truth.discernibility);
                    assert!((counted.ncp(&own.levels, &own.verdict) - truth.ncp).abs() < 1e-9);
                }
                found
            });
            prop_assert_eq!(found.satisfying.iter().collect::<Vec<_>>(), satisfying.clone());
            prop_assert_eq!(nodes_of(&found), minimal.clone());
        }
        let least = satisfying.iter().map(|&node| lattice.height_of_node(node)).min();
        let lowest: Vec<usize> = satisfying
            .iter()
            .copied()
            .filter(|&node| Some(lattice.height_of_node(node)) == least)
            .collect();
        let (found, _) = table.on_ground(case.memory_bytes, |counted| {
            search(counted, &question, Algorithm::Samarati).expect("memory and disk suffice")
        });
        prop_assert_eq!(nodes_of(&found), lowest);
    }

    #[test]
    fn the_best_generalization_is_the_best_of_all(case in case()) {
        let table = case.table();
        let question = table.question(case.max_suppressed);
        let lattice = Lattice::new(table.dimensions.iter().map(|own| own.height()).collect());
        let nodes: Vec<(Vec<u16>, Truth)> = (0..lattice.n_nodes())
            .map(|node| lattice.levels(node))
            .map(|levels| (levels.clone(), truth(&table, &question, &levels)))
            .filter(|(_, truth)| truth.holds)
            .collect();
        for minimize in [Minimize::Ncp, Minimize::Height, Minimize::Discernibility, Minimize::Weights] {
            let (chosen, _) = table.on_ground(case.memory_bytes, |counted| {
                let algorithm = Algorithm::Incognito(Variant::SuperRoots);
                let found = search(counted, &question, algorithm).expect("memory and disk suffice");
                let cost = |levels: &[u16], truth: &Truth| match minimize {
                    Minimize::Ncp => truth.ncp,
                    Minimize::Height => height_of(levels) as f64,
                    Minimize::Discernibility => truth.discernibility,
                    Minimize::Weights => counted.weighted_height(levels),
                };
                let least = nodes.iter().map(|(levels, truth)| cost(levels, truth)).reduce(f64::min);
                let chosen = best(counted, &question, &found, minimize).expect("memory and disk suffice");
                let reached = |levels: &[u16]| {
                    let truth = truth(&table, &question, levels);
                    assert!(truth.holds);
                    cost(levels, &truth)
                };
                // With time enough the bounded search proves the same.
                let bounded = bounded::search(counted, &question, minimize, Duration::from_secs(60));
                let bounded = bounded.expect("memory and disk suffice");
                if let Some(own) = &bounded.best {
                    assert!((reached(&own.levels) - least.expect("it satisfies")).abs() < 1e-9);
                    assert!(bounded.bound <= bounded.cost);
                }
                assert_eq!(bounded.best.is_some(), least.is_some());
                (least, chosen.map(|own| reached(&own.levels)))
            });
            match chosen {
                (Some(least), Some(reached)) => prop_assert!((least - reached).abs() < 1e-9, "{minimize:?}: {least} {reached}"),
                (None, None) => {}
                (least, reached) => prop_assert!(false, "{least:?} {reached:?}"),
            }
        }
    }
}

fn nodes_of(found: &Found) -> Vec<usize> {
    found.minimal.iter().map(|own| found.lattice.node(&own.levels)).collect()
}

#[test]
fn sets_that_outgrow_the_budget_are_spilled_and_lose_nothing() {
    let cell = |row: usize, factor: usize| Some((row * factor % 7 % N_VALUES) as u8);
    let levels = vec![vec![0, 0, 1, 1, 2, 2]];
    let n_rows = 400;
    let columns = [1, 3, 5].map(|factor| {
        ((0..n_rows).map(|row| cell(row / factor, factor)).collect(), levels.clone())
    });
    let case = Case {
        columns: columns.to_vec(),
        secrets: (0..n_rows as u32).map(|row| row % 4).collect(),
        subjects: Some((0..n_rows as u64).collect()),
        k: 5,
        rules: vec![Criterion::DistinctLDiversity { l: 2 }],
        max_suppressed: 20,
        memory_bytes: 0,
    };
    let table = case.table();
    let question = table.question(case.max_suppressed);
    for algorithm in ALL {
        let run = |n_bytes: usize| {
            table.on_ground(n_bytes, |counted| {
                let found = search(counted, &question, algorithm).expect("memory and disk suffice");
                (found.satisfying.iter().collect::<Vec<_>>(), found.minimal, found.effort.checked)
            })
        };
        let (in_memory, spilled) = run(1 << 26);
        assert_eq!(spilled, 0);
        let (external, spilled) = run(6_000);
        assert!(spilled > 0, "{algorithm:?}");
        assert_eq!(in_memory.0, external.0);
        let figures = |all: &[Generalization]| -> Vec<(Vec<u16>, u64, u64)> {
            let one = |own: &Generalization| {
                (own.levels.clone(), own.verdict.n_suppressed, own.verdict.n_classes)
            };
            all.iter().map(one).collect()
        };
        assert_eq!(figures(&in_memory.1), figures(&external.1));
        assert_eq!(in_memory.2, external.2);
    }
}
