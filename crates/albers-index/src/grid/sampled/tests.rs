//! Attempts to falsify the promise: the mechanism itself, run often on tables that differ in one row
//! or person. Half of the runs choose the set of releases that tells the two tables apart best, the
//! other half tell how likely it is. The same attempts must succeed against broken variants.

use std::collections::BTreeMap;

use albers_privacy::SamplingRate;
use albers_table::mix::mix;

use super::*;

/// A generator that can be repeated: the mechanism must not have one, its tests must.
struct Repeatable(u64);

impl SecretBits for Repeatable {
    fn word(&mut self) -> Result<u64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Ok(mix(self.0))
    }
}

/// How many rows of each cell are published.
type Release = Vec<(u32, u32)>;

/// A mechanism: what it publishes of a table, by some random bits.
type Mechanism<'m> = &'m dyn Fn(&mut Repeatable) -> Release;

const N_RUNS: u64 = 60_000;
const EPSILON: f64 = 1.0;
const DELTA: f64 = 0.02;

fn promise() -> DifferentialPrivacy {
    DifferentialPrivacy::of(EPSILON, DELTA).unwrap()
}

fn counted(cells: &[u32], rows: &[u32]) -> Release {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    rows.iter().for_each(|&row| *counts.entry(cells[row as usize]).or_default() += 1);
    counts.into_iter().collect()
}

fn runs(mechanism: Mechanism<'_>, seed: u64) -> BTreeMap<Release, f64> {
    let mut shares: BTreeMap<Release, f64> = BTreeMap::new();
    let mut bits = Repeatable(mix(seed));
    for _ in 0..N_RUNS {
        *shares.entry(mechanism(&mut bits)).or_default() += 1.0 / N_RUNS as f64;
    }
    shares
}

/// How much likelier a set of releases is than the promise allows: of the set that some runs say is
/// the worst, by other runs.
fn beyond(more: Mechanism<'_>, fewer: Mechanism<'_>) -> f64 {
    let (likely, unlikely) = (runs(more, 1), runs(fewer, 2));
    let share =
        |shares: &BTreeMap<Release, f64>, own: &Release| shares.get(own).copied().unwrap_or(0.0);
    let is_worse = |own: &Release| share(&likely, own) > EPSILON.exp() * share(&unlikely, own);
    let of_set = |shares: BTreeMap<Release, f64>| -> f64 {
        shares.iter().filter(|(own, _)| is_worse(own)).map(|(_, share)| share).sum()
    };
    of_set(runs(more, 3)) - EPSILON.exp() * of_set(runs(fewer, 4))
}

/// What runs may be off by: five times their deviation.
fn is_kept(tables: [Mechanism<'_>; 2]) -> bool {
    let deviation = (1.0 + EPSILON.exp()) / 2.0 / (N_RUNS as f64).sqrt();
    let [a, b] = tables;
    beyond(a, b).max(beyond(b, a)) <= DELTA + 5.0 * deviation
}

/// Whether a promise is kept on tables of one cell, with and without a last row.
fn is_kept_on_cells(promise: DifferentialPrivacy, n_rows: usize) -> bool {
    let of = |n: usize| {
        move |bits: &mut Repeatable| {
            let cells = vec![0; n];
            counted(&cells, &drawn(&cells, None, &promise, bits).unwrap())
        }
    };
    is_kept([&of(n_rows), &of(n_rows - 1)])
}

#[test]
fn sampling_keeps_its_promise_whatever_the_size_of_a_cell() {
    let k = promise().k as usize;
    // The promise is nearest to being broken where gamma times the rows is k.
    let worst = (k as f64 / (1.0 - (-2.0f64).exp())) as usize;
    for n_rows in [k - 1, k, worst, worst + 1, 2 * k] {
        assert!(is_kept_on_cells(promise(), n_rows), "{n_rows} rows, k = {k}");
    }
}

#[test]
fn too_small_a_k_is_found_out() {
    let broken = DifferentialPrivacy { k: 2, ..promise() };
    assert!(!is_kept_on_cells(broken, 2));
}

#[test]
fn rows_that_are_all_taken_are_found_out() {
    let broken = DifferentialPrivacy { rate: SamplingRate::of_words(u64::MAX), ..promise() };
    assert!(!is_kept_on_cells(broken, 2 * promise().k as usize));
}

/// Cells of a grid between two ends, which are given or those of the values.
fn cells_between(values: &[u32], ends: Option<(u32, u32)>) -> Vec<u32> {
    let of_values =
        || (values.iter().min().copied().unwrap(), values.iter().max().copied().unwrap());
    let (lo, hi) = ends.unwrap_or_else(of_values);
    let cell = |value: u32| (value.clamp(lo, hi) - lo) * 4 / (hi - lo + 1);
    values.iter().map(|&value| cell(value)).collect()
}

#[test]
fn a_grid_that_looks_at_the_rows_is_found_out_and_a_fixed_one_is_not() {
    let promise = promise();
    let n_rows = promise.k as usize;
    let values: Vec<u32> = (0..2 * n_rows).map(|row| if row < n_rows { 10 } else { 90 }).collect();
    let outlier: Vec<u32> = values.iter().copied().chain([10_000]).collect();
    let of = |values: Vec<u32>, ends: Option<(u32, u32)>| {
        move |bits: &mut Repeatable| {
            let cells = cells_between(&values, ends);
            counted(&cells, &drawn(&cells, None, &promise, bits).unwrap())
        }
    };
    let fixed = Some((0, 100));
    assert!(is_kept([&of(outlier.clone(), fixed), &of(values.clone(), fixed)]));
    assert!(!is_kept([&of(outlier, None), &of(values, None)]));
}

#[test]
fn a_person_with_many_rows_counts_once_and_is_found_out_where_rows_count() {
    let promise = promise();
    let k = promise.k;
    // Each of k - 1 persons has a row; one more has fifty, in two cells.
    let persons: Vec<Option<u64>> = (0..k - 1).chain([k; 50]).map(Some).collect();
    let cells: Vec<u32> =
        (0..persons.len()).map(|row| u32::from(row + 10 > persons.len())).collect();
    let of = |n_rows: usize, by_person: bool| {
        let (cells, persons) = (cells[..n_rows].to_vec(), persons[..n_rows].to_vec());
        move |bits: &mut Repeatable| {
            let persons = by_person.then_some(&persons[..]);
            counted(&cells, &drawn(&cells, persons, &promise, bits).unwrap())
        }
    };
    let (all, without) = (persons.len(), k as usize - 1);
    assert!(is_kept([&of(all, true), &of(without, true)]));
    assert!(!is_kept([&of(all, false), &of(without, false)]));
}

#[test]
fn published_rows_are_whole_cells_of_at_least_k_and_nobody_has_two() {
    let promise = DifferentialPrivacy { k: 5, ..promise() };
    let cells: Vec<u32> = (0..400).map(|row| row % 23).collect();
    let persons: Vec<Option<u64>> =
        (0..400u64).map(|row| (row % 7 > 0).then_some(row / 3)).collect();
    for seed in 0..50 {
        let rows = drawn(&cells, Some(&persons), &promise, &mut Repeatable(seed)).unwrap();
        assert!(rows.is_sorted());
        assert!(counted(&cells, &rows).iter().all(|&(_, n_rows)| n_rows >= 5));
        let mut seen: Vec<u64> = rows.iter().map(|&row| persons[row as usize].unwrap()).collect();
        let n_rows = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), n_rows, "a person is published twice");
    }
    assert!(drawn(&[], None, &promise, &mut Repeatable(0)).unwrap().is_empty());
}
