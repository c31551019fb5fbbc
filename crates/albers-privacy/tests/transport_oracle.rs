//! The closed forms of the earth mover's distance against an exact transport problem.
//!
//! The oracle knows nothing of lines or trees: it moves mass along cheapest paths until none is
//! left, at the ground distances of the definition.

use albers_privacy::t_closeness::emd;
use albers_privacy::{GroundDistance, Histogram};
use proptest::prelude::*;

/// An arc of the transport network; arc `i ^ 1` is its reverse.
struct Arc {
    from: usize,
    to: usize,
    capacity: u64,
    cost: f64,
}

/// The least cost of turning one distribution into the other, by successive cheapest paths.
fn transport_cost(class: &[u64], whole: &[u64], distance: impl Fn(usize, usize) -> f64) -> f64 {
    let (n_values, n, n_table) =
        (class.len(), class.iter().sum::<u64>(), whole.iter().sum::<u64>());
    let (source, sink) = (2 * n_values, 2 * n_values + 1);
    let mut arcs = Vec::new();
    let mut connect = |from, to, capacity, cost| {
        arcs.push(Arc { from, to, capacity, cost });
        arcs.push(Arc { from: to, to: from, capacity: 0, cost: -cost });
    };
    for a in 0..n_values {
        connect(source, a, class[a] * n_table, 0.0);
        connect(n_values + a, sink, whole[a] * n, 0.0);
        for b in 0..n_values {
            connect(a, n_values + b, u64::MAX / 4, distance(a, b));
        }
    }
    let mut total = 0.0;
    while let Some((path, path_cost)) = cheapest_path(&arcs, source, sink) {
        let moved = path.iter().map(|&arc| arcs[arc].capacity).min().expect("a path has arcs");
        for arc in path {
            arcs[arc].capacity -= moved;
            arcs[arc ^ 1].capacity += moved;
        }
        total += moved as f64 * path_cost;
    }
    total / (n * n_table) as f64
}

/// Bellman-Ford: the arcs of a cheapest path with capacity left, and its cost.
fn cheapest_path(arcs: &[Arc], source: usize, sink: usize) -> Option<(Vec<usize>, f64)> {
    let mut costs = vec![f64::INFINITY; sink + 1];
    let mut arrived_by = vec![usize::MAX; sink + 1];
    costs[source] = 0.0;
    for _ in 0..=sink {
        for (idx, arc) in arcs.iter().enumerate() {
            let through = costs[arc.from] + arc.cost;
            if arc.capacity > 0 && through < costs[arc.to] - 1e-12 {
                costs[arc.to] = through;
                arrived_by[arc.to] = idx;
            }
        }
    }
    if costs[sink].is_infinite() {
        return None;
    }
    let mut path = Vec::new();
    let mut node = sink;
    while node != source {
        path.push(arrived_by[node]);
        node = arcs[arrived_by[node]].from;
    }
    Some((path, costs[sink]))
}

/// The ground distance as defined, pair by pair.
fn ground(distance: &GroundDistance, a: usize, b: usize) -> f64 {
    match distance {
        GroundDistance::Equal => f64::from(a != b),
        GroundDistance::Ordered { positions } => {
            let span = positions[positions.len() - 1] - positions[0];
            if span > 0.0 { (positions[a] - positions[b]).abs() / span } else { 0.0 }
        }
        GroundDistance::Hierarchical { levels } => {
            let height = levels.iter().take_while(|level| level[a] != level[b]).count() + 1;
            if a == b { 0.0 } else { height as f64 / levels.len() as f64 }
        }
    }
}

fn histogram(counts: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(counts.len() as u32);
    for (code, &n) in counts.iter().enumerate() {
        (0..n).for_each(|_| histogram.add(code as u32));
    }
    histogram
}

/// A tree over the codes: each level merges some of the runs of the level below.
fn tree(n_values: usize, n_levels: usize, breaks: &[u8]) -> GroundDistance {
    let level = |height: usize| {
        let mut node = 0;
        (0..n_values)
            .map(|code| {
                // A break of strength s separates neighbours at all heights below s.
                node += u32::from(code > 0 && usize::from(breaks[code]) > height);
                node
            })
            .collect()
    };
    let mut levels: Vec<Vec<u32>> = (1..n_levels).map(level).collect();
    levels.push(vec![0; n_values]);
    GroundDistance::Hierarchical { levels }
}

fn agrees(distance: &GroundDistance, class: &[u64], whole: &[u64]) -> Result<(), TestCaseError> {
    let oracle = transport_cost(class, whole, |a, b| ground(distance, a, b));
    let closed = emd(distance, &histogram(class), &histogram(whole));
    prop_assert!((oracle - closed).abs() < 1e-9, "oracle {oracle}, closed form {closed}");
    prop_assert!((0.0..=1.0 + 1e-12).contains(&closed));
    Ok(())
}

/// Two non-empty histograms over the same 1 to 6 values.
fn two_histograms() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
    (1..=6usize).prop_flat_map(|n_values| {
        let counts = || {
            prop::collection::vec(0..5u64, n_values)
                .prop_filter("not empty", |counts| counts.iter().any(|&n| n > 0))
        };
        (counts(), counts())
    })
}

proptest! {
    #[test]
    fn the_equal_form_is_the_transport_cost((class, whole) in two_histograms()) {
        agrees(&GroundDistance::Equal, &class, &whole)?;
    }

    #[test]
    fn the_ordered_form_is_the_transport_cost((class, whole) in two_histograms()) {
        agrees(&GroundDistance::ranks(class.len() as u32), &class, &whole)?;
    }

    #[test]
    fn the_numeric_form_is_the_transport_cost(
        (class, whole) in two_histograms(),
        start in -50.0..50.0f64,
        gaps in prop::collection::vec(0.01..9.0f64, 6),
    ) {
        let sums = gaps.iter().scan(start, |at, gap| { *at += gap; Some(*at) });
        let positions = sums.take(class.len()).collect();
        agrees(&GroundDistance::Ordered { positions }, &class, &whole)?;
    }

    #[test]
    fn the_hierarchical_form_is_the_transport_cost(
        (class, whole) in two_histograms(),
        n_levels in 1..=4usize,
        breaks in prop::collection::vec(0..5u8, 6),
    ) {
        agrees(&tree(class.len(), n_levels, &breaks), &class, &whole)?;
    }
}
