//! Clusters merge in rounds until one is left.
//!
//! ```text
//!   a ── b ── c ── d ── e      each proposes its nearest neighbour;  b and c propose each other
//!   a    [b    c]  d ── e      those that are left propose again among themselves:  d and e
//!   a ─▸ [b    c]  [d    e]    a has no free neighbour left, and joins the cluster of its nearest
//! ```
//!
//! Source: Anjum & Raschia 2017, section 4.1 (neighbours of closest density are merged).
//! Departures: in rounds. One merge after another, by falling density, ends with a single block
//! beside all others, and then no cut is possible above it. Where several find no free neighbour
//! and have the same nearest one, they merge with each other two by two, and only an odd one joins
//! it: a region with a thousand others around it would take them all in one round.
//! Guarantee: every cluster merges in every round, with one to three others or so, so that clusters
//! of one height are of similar size. Merges depend on the clusters and their numbers, not on threads.
//! Cost: O(clusters + pairs of neighbours) in each of at most log2 (clusters) rounds, of which each
//! has half the clusters of the one before.

use rayon::prelude::*;

use crate::granularity::lists::Lists;

/// How often those that are left propose among themselves.
const MAX_PASSES: usize = 12;

/// So many clusters are looked at by one thread at a time.
const STRETCH: usize = 512;

/// No cluster.
const NONE: u32 = u32::MAX;

/// Clusters that are merged, by their numbers.
pub trait Clusters: Sync + Sized {
    /// How many there are.
    fn len(&self) -> usize;

    /// The nearest of some clusters. Pairs have an order, ties decided by [`pair`], so that of any
    /// set of clusters two are nearest to each other.
    fn nearest(&self, of: u32, among: impl Iterator<Item = u32>) -> Option<u32>;

    /// The clusters that groups of these become.
    fn merged(&self, groups: &Lists) -> Self;
}

/// A pair, whichever of the two is asked: what ties are decided by.
#[inline]
pub fn pair(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// Merges of clusters: each makes a node of nodes, of which the first are the clusters themselves.
pub struct Merges {
    /// The nodes that become one, merge by merge.
    pub children: Lists,
    /// In which round, counted from 1.
    pub rounds: Vec<u32>,
}

/// Merges clusters, given who is whose neighbour, until one is left.
pub fn merge(mut clusters: impl Clusters, mut neighbours: Lists) -> Merges {
    let n_clusters = clusters.len();
    let mut merges = Merges { children: Lists::default(), rounds: Vec::new() };
    let mut node_of: Vec<u32> = (0..n_clusters as u32).collect();
    for round in 1.. {
        if clusters.len() <= 1 {
            break;
        }
        let group_of = group(&clusters, &neighbours);
        let groups = Lists::of_groups(&group_of);
        let first = n_clusters + merges.children.len();
        for members in groups.iter() {
            merges.children.push(members.iter().map(|&member| node_of[member as usize]));
            merges.rounds.push(round);
        }
        node_of = (first as u32..).take(groups.len()).collect();
        clusters = clusters.merged(&groups);
        neighbours = neighbours_of(&groups, &group_of, &neighbours);
    }
    merges
}

/// Which groups are neighbours, from their members.
fn neighbours_of(groups: &Lists, group_of: &[u32], neighbours: &Lists) -> Lists {
    let stretch = |start: usize| {
        let mut lists = Lists::default();
        for group in start..(start + STRETCH).min(groups.len()) {
            let members = groups.get(group).iter();
            let of_members = members.flat_map(|&member| neighbours.get(member as usize));
            let others = of_members.map(|&other| group_of[other as usize]);
            lists.push_set(others.filter(|&other| other as usize != group));
        }
        lists
    };
    let starts: Vec<usize> = (0..groups.len()).step_by(STRETCH).collect();
    Lists::concat(starts.into_par_iter().map(stretch).collect())
}

/// The group of each cluster, numbered in the order of their first members; each has two at least,
/// if there are two clusters.
fn group(clusters: &impl Clusters, neighbours: &Lists) -> Vec<u32> {
    let n_clusters = clusters.len();
    // Whom each goes with: itself, if it is the first of a pair, and nobody yet.
    let mut goes_with = vec![NONE; n_clusters];
    let mut nearest = Vec::new();
    let mut free: Vec<u32> = (0..n_clusters as u32).collect();
    let mut proposed = vec![NONE; n_clusters];
    for pass in 0..MAX_PASSES {
        let proposals: Vec<u32> = free
            .par_iter()
            .with_min_len(STRETCH)
            .map(|&own| {
                let among = neighbours.get(own as usize).iter().copied();
                let is_free = |other: &u32| goes_with[*other as usize] == NONE;
                clusters.nearest(own, among.filter(is_free)).unwrap_or(NONE)
            })
            .collect();
        free.iter().zip(&proposals).for_each(|(&own, &other)| proposed[own as usize] = other);
        if pass == 0 {
            nearest = proposals;
        }
        let n_free = free.len();
        for &own in &free {
            let other = proposed[own as usize];
            if other != NONE && own < other && proposed[other as usize] == own {
                (goes_with[own as usize], goes_with[other as usize]) = (own, own);
            }
        }
        free.retain(|&own| goes_with[own as usize] == NONE);
        if free.len() == n_free {
            break;
        }
    }
    attach(free, &nearest, &mut goes_with);
    numbered(goes_with)
}

/// Those that found no free neighbour go with each other, two by two, if they have the same nearest
/// neighbour, and an odd one with it. Those without any neighbour are nearest to who comes before.
fn attach(mut free: Vec<u32>, nearest: &[u32], goes_with: &mut [u32]) {
    free.sort_by_key(|&own| (nearest[own as usize], own));
    for same in free.chunk_by(|&a, &b| nearest[a as usize] == nearest[b as usize]) {
        for two in same.chunks(2) {
            match *two {
                [a, b] => (goes_with[a as usize], goes_with[b as usize]) = (a, a),
                [odd] => {
                    goes_with[odd as usize] = match nearest[odd as usize] {
                        NONE => odd.checked_sub(1).unwrap_or(1),
                        other => other,
                    };
                }
                _ => {}
            }
        }
    }
}

/// The number of each group, from whom each goes with. Nobody goes in a circle: along a chain of
/// nearest neighbours, each is nearer than the one before.
fn numbered(mut goes_with: Vec<u32>) -> Vec<u32> {
    let mut number_of = vec![NONE; goes_with.len()];
    let mut next = 0;
    let mut groups = Vec::with_capacity(goes_with.len());
    for own in 0..goes_with.len() {
        let mut first = own;
        while goes_with[first] as usize != first {
            first = goes_with[first] as usize;
        }
        let mut at = own;
        while goes_with[at] as usize != first {
            at = std::mem::replace(&mut goes_with[at], first as u32) as usize;
        }
        if number_of[first] == NONE {
            number_of[first] = next;
            next += 1;
        }
        groups.push(number_of[first]);
    }
    groups
}

#[cfg(test)]
mod tests;
