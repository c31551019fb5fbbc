use proptest::prelude::*;

use super::*;

/// Numbers on a line.
struct OnALine(Vec<i64>);

impl Clusters for OnALine {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn nearest(&self, of: u32, among: impl Iterator<Item = u32>) -> Option<u32> {
        let distance = |other: u32| self.0[of as usize].abs_diff(self.0[other as usize]);
        among.min_by_key(|&other| (distance(other), pair(of, other)))
    }

    fn merged(&self, groups: &Lists) -> OnALine {
        let mean =
            |own: &[u32]| own.iter().map(|&at| self.0[at as usize]).sum::<i64>() / own.len() as i64;
        OnALine(groups.iter().map(mean).collect())
    }
}

/// The sizes of all merges by their rounds, once it is seen that they make one tree.
fn checked(n_clusters: usize, merges: &Merges) -> Vec<(u32, usize)> {
    let mut sizes = vec![1usize; n_clusters];
    let mut rounds = vec![0; n_clusters];
    let mut is_taken = vec![false; n_clusters];
    let mut found = Vec::new();
    for (children, &round) in merges.children.iter().zip(&merges.rounds) {
        assert!(children.len() >= 2, "a merge of one");
        for &child in children {
            assert!(!std::mem::replace(&mut is_taken[child as usize], true), "merged twice");
            assert_eq!(rounds[child as usize], round - 1, "a cluster was left out of a round");
        }
        let size = children.iter().map(|&child| sizes[child as usize]).sum();
        sizes.push(size);
        rounds.push(round);
        is_taken.push(false);
        found.push((round, size));
    }
    assert_eq!(is_taken.iter().filter(|&&taken| !taken).count(), 1, "one root is left");
    assert_eq!(sizes.last(), Some(&n_clusters));
    let n_rounds = rounds.last().copied().unwrap_or(0);
    assert!(1usize << n_rounds <= n_clusters.max(1), "{n_rounds} rounds for {n_clusters}");
    found
}

fn lists(n_lists: usize, pairs: &[(u32, u32)]) -> Lists {
    let mut lists = Lists::default();
    for own in 0..n_lists as u32 {
        lists.push(pairs.iter().filter(|(a, _)| *a == own).map(|&(_, b)| b));
    }
    lists.symmetric()
}

#[test]
fn a_hub_does_not_take_all_that_lie_around_it_in_one_round() {
    let pairs: Vec<(u32, u32)> = (1..1000).map(|other| (0, other)).collect();
    let merges = merge(OnALine((0..1000).collect()), lists(1000, &pairs));
    for (round, size) in checked(1000, &merges) {
        assert!(size <= 4usize.pow(round), "{size} in round {round}");
    }
}

#[test]
fn nobody_is_left_out_where_nobody_has_neighbours() {
    for n_clusters in [0, 1, 2, 3, 7, 64, 101] {
        let positions = OnALine((0..n_clusters as i64).collect());
        let merges = merge(positions, lists(n_clusters, &[]));
        if n_clusters > 0 {
            checked(n_clusters, &merges);
        }
    }
}

#[test]
fn a_line_of_falling_distances_is_merged_in_few_rounds() {
    // Each is nearer to the next than to the one before, so that one pair is mutual at a time.
    let positions = (0..60i64).map(|at| -(1i64 << (60 - at))).collect();
    let pairs: Vec<(u32, u32)> = (1..60).map(|at| (at - 1, at)).collect();
    checked(60, &merge(OnALine(positions), lists(60, &pairs)));
}

proptest! {
    #[test]
    fn any_clusters_become_one_tree_of_as_many_rounds_as_doublings(
        positions in prop::collection::vec(0i64..50, 1..200),
        pairs in prop::collection::vec((0usize..200, 0usize..200), 0..500),
    ) {
        let n_clusters = positions.len();
        let pairs: Vec<(u32, u32)> = pairs
            .into_iter()
            .map(|(a, b)| ((a % n_clusters) as u32, (b % n_clusters) as u32))
            .filter(|(a, b)| a != b)
            .collect();
        checked(n_clusters, &merge(OnALine(positions), lists(n_clusters, &pairs)));
    }
}
