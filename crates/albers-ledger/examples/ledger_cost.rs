//! What the ledger costs: ten releases of 4.5 million rows in 300,000 classes, k = 10.
//!
//! `cargo run --release -p albers-ledger --example ledger_cost [ROWS] [CLASSES]`
//!
//! Four histories: the same classes again and again, for k alone and with a rule; the same classes
//! and a tenth of the rows new each time; classes whose ends move by one row each time, so that
//! every release divides every set and only an owner who accepts linkage could publish it.

#![expect(clippy::print_stdout, reason = "an example that reports figures")]

use std::collections::BTreeMap;
use std::time::Instant;

use albers_ledger::{Ledger, LedgerError, Needs, NewRelease, RowFacts};
use albers_privacy::{Criterion, GroundDistance, Requirement, SensitiveColumn};

const N_RELEASES: usize = 10;
const N_CODES: u32 = 100;

fn main() -> Result<(), LedgerError> {
    let mut args = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let n_rows = args.next().unwrap_or(4_500_000);
    let n_classes = args.next().unwrap_or(300_000);
    let per_class = n_rows.div_ceil(n_classes).max(1);
    let rows = shuffled(n_rows);
    println!("{n_rows} rows in classes of {per_class}; seconds and bytes per release");
    let same = |_| (0, n_rows);
    let only_k = Requirement::new(10, false, vec![], vec![]).expect("10 is a k");
    history("same classes", &only_k, &rows, same, per_class)?;
    history("same classes, diverse", &diverse(), &rows, same, per_class)?;
    let tenth = n_rows / N_RELEASES / per_class * per_class;
    let growing = |release| (0, tenth * (release + 1));
    history("batches", &only_k, &rows, growing, per_class)?;
    history("moving classes", &only_k, &rows, |release| (release, n_rows), per_class)
}

fn diverse() -> Requirement {
    let (name, n_values) = ("disease".to_owned(), N_CODES);
    let distance = GroundDistance::Equal;
    let column = SensitiveColumn { name, n_values, distance, numbers: None };
    let rule = (0, Criterion::DistinctLDiversity { l: 2 });
    Requirement::new(10, false, vec![column], vec![rule]).expect("every parameter is in its range")
}

/// Runs one history; `part` gives where the first whole class begins and where the rows end.
fn history(
    name: &str,
    requirement: &Requirement,
    rows: &[u32],
    part: impl Fn(usize) -> (usize, usize),
    per_class: usize,
) -> Result<(), LedgerError> {
    let mut ledger = Ledger::new(Needs::of(requirement));
    let n_codes = requirement.columns().len();
    let mut stored = BTreeMap::new();
    println!("{name}\n  classes   finish     keep   pieces       bytes    sets below");
    for release in 0..N_RELEASES {
        let (start, end) = part(release);
        let clock = Instant::now();
        let mut opened =
            ledger.open(NewRelease::new(release.to_string(), 10, "k = 10"), requirement, None)?;
        let classes = rows[start..end].chunks(per_class);
        for class in std::iter::once(&rows[..start]).chain(classes) {
            for &row in class {
                let codes = [row % N_CODES];
                opened.add(row, RowFacts { subject: 0, codes: &codes[..n_codes] })?;
            }
            opened.end_class()?;
        }
        let classes = clock.elapsed();
        let tested = opened.finish()?;
        let finished = clock.elapsed();
        let n_below = tested.verdict().sets_below;
        tested.keep(true)?;
        let kept = clock.elapsed();
        let pieces = ledger.take_changed_pieces();
        let written = clock.elapsed();
        let n_bytes: usize = pieces.iter().filter_map(|p| Some(p.bytes.as_ref()?.len())).sum();
        println!(
            "{:9.3}{:9.3}{:9.3}{:9.3}{n_bytes:12}{n_below:14}",
            classes.as_secs_f64(),
            (finished - classes).as_secs_f64(),
            (kept - finished).as_secs_f64(),
            (written - kept).as_secs_f64(),
        );
        stored.extend(pieces.into_iter().filter_map(|p| Some((p.key, p.bytes?))));
    }
    let n_bytes: usize = stored.values().map(Vec::len).sum();
    let clock = Instant::now();
    let read = Ledger::from_pieces(stored)?;
    let seconds = clock.elapsed().as_secs_f64();
    println!("  read again: {seconds:.3} s, {n_bytes} bytes, {} sets\n", read.n_sets());
    Ok(())
}

/// All row numbers in an order that no cache foresees.
fn shuffled(n_rows: usize) -> Vec<u32> {
    let mut keyed: Vec<(u64, u32)> = (0..n_rows as u32)
        .map(|row| ((u64::from(row) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32), row))
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, row)| row).collect()
}
