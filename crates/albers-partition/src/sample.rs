//! A sample of a table that is a function of its content.
//!
//! Source: Gibbons 2001 (distinct sampling); the k minimum values of a hash.
//! Departures: tuples of quasi-identifiers are sampled, each with the number of its rows, instead
//! of rows; a tuple that alone has the rows of several points of the sample counts for just its
//! share.
//! Guarantee: the distinct tuples of least hash, each with all its rows counted, whatever the order
//! in which the rows came: the bound only falls, so a tuple that is in the sample has always been
//! below it. Up to the limit of a sample it is the whole table. Secrets have no part in the hash:
//! which tuples are sampled tells nothing of them.
//! Cost: one look per row; memory for a quarter more tuples than the sample has.

use albers_classes::TargetCodes;
use albers_classes::points::codes_hash;
use albers_privacy::Facts;
use albers_table::mix::mix;
use rustc_hash::FxHashMap;

use crate::plan::Plan;
use crate::split::Point;
use crate::split::workload::Workload;

/// The most different facts that are kept of one tuple: those of least hash.
const MOST_FACTS: usize = 64;

/// The facts of a sample, for each tuple that it may have.
const FACTS_PER_TUPLE: usize = 2;

/// The hash of a tuple's codes.
#[inline]
pub fn tuple_hash(codes: &[u32], seed: u64) -> u64 {
    mix(codes_hash(codes) ^ mix(seed ^ 0x3c6e_f372_fe94_f82b))
}

/// Some distinct tuples with the number of their rows, by ascending hash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tuples {
    n_attributes: usize,
    hashes: Vec<u64>,
    n_rows: Vec<u64>,
    /// The codes, tuple by tuple.
    codes: Vec<u32>,
    /// What the rows of each tuple hold that a requirement looks at; empty where that was not asked
    /// for.
    facts: Vec<FactCounts>,
}

/// How many rows of a tuple have which sensitive codes, by ascending hash of the codes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FactCounts(Vec<FactCount>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FactCount {
    hash: u64,
    n_rows: u64,
    codes: Box<[u32]>,
}

impl FactCounts {
    /// Adds rows; no more than the `most` codes of least hash are kept.
    fn add(&mut self, codes: &[u32], n_rows: u64, most: usize) {
        let hash = mix(codes_hash(codes));
        match self.0.binary_search_by_key(&hash, |own| own.hash) {
            Ok(place) => self.0[place].n_rows += n_rows,
            Err(place) if place < most => {
                self.0.insert(place, FactCount { hash, n_rows, codes: codes.into() });
                // What was dropped once never comes back: there are enough of lesser hash.
                self.0.truncate(most);
            }
            Err(_) => {}
        }
    }

    /// The codes at a share of the rows.
    fn at(&self, share: f64) -> &[u32] {
        let n_rows: u64 = self.0.iter().map(|own| own.n_rows).sum();
        let mut left = (share * n_rows as f64) as u64;
        for own in &self.0 {
            if left < own.n_rows {
                return &own.codes;
            }
            left -= own.n_rows;
        }
        self.0.last().map_or(&[], |own| &own.codes)
    }
}

impl Tuples {
    /// Of so many attributes, from hash, number of rows and codes of each tuple.
    pub fn new<'c>(
        n_attributes: usize,
        tuples: impl Iterator<Item = (u64, u64, &'c [u32])>,
    ) -> Tuples {
        let mut found = Tuples { n_attributes, ..Tuples::default() };
        for (hash, n_rows, codes) in tuples {
            found.hashes.push(hash);
            found.n_rows.push(n_rows);
            found.codes.extend_from_slice(codes);
        }
        found.sort();
        found
    }

    /// Number of tuples.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The codes of all tuples with the number of their rows, in no order that tells anything.
    pub fn counted(&self) -> impl Iterator<Item = (&[u32], u64)> {
        (0..self.len()).map(|tuple| (self.codes_of(tuple), self.n_rows[tuple]))
    }

    /// The codes of a tuple.
    fn codes_of(&self, tuple: usize) -> &[u32] {
        &self.codes[tuple * self.n_attributes..(tuple + 1) * self.n_attributes]
    }

    fn sort(&mut self) {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by_key(|&tuple| self.hashes[tuple as usize]);
        self.pick(&order);
    }

    /// Keeps some tuples, in a given order.
    fn pick(&mut self, order: &[u32]) {
        let picked = |numbers: &[u64]| order.iter().map(|&own| numbers[own as usize]).collect();
        let (hashes, n_rows) = (picked(&self.hashes), picked(&self.n_rows));
        let mut codes = Vec::with_capacity(order.len() * self.n_attributes);
        order.iter().for_each(|&own| codes.extend_from_slice(self.codes_of(own as usize)));
        let mut facts = Vec::new();
        if !self.facts.is_empty() {
            let taken = order.iter().map(|&own| std::mem::take(&mut self.facts[own as usize]));
            facts = taken.collect();
        }
        *self = Tuples { n_attributes: self.n_attributes, hashes, n_rows, codes, facts };
    }

    /// How many points each tuple becomes, of about `n_points` that stand for `n_rows` rows.
    fn copies(&self, n_points: usize, n_rows: u64) -> Vec<u32> {
        let n_points = (n_points as u64).min(n_rows) as f64;
        let share = n_points / n_rows.max(1) as f64;
        let is_heavy = |n_own: u64| n_own as f64 * share >= 1.0;
        let sampled: u64 = self.n_rows.iter().sum();
        let heavy: u64 = self.n_rows.iter().filter(|&&own| is_heavy(own)).sum();
        // The others also stand for all tuples that are not in the sample.
        let light = n_rows.saturating_sub(heavy) as f64 / (sampled - heavy).max(1) as f64 * share;
        let copies = self.n_rows.iter().zip(&self.hashes).map(|(&own, &hash)| {
            let exact = own as f64 * if is_heavy(own) { share } else { light };
            let fraction = mix(hash ^ 0x510e_527f_ade6_82d1) as f64 / 2f64.powi(64);
            (exact + fraction) as u32
        });
        copies.collect()
    }

    /// Every tuple as often as it has rows, but no more often than `most`: enough to see which
    /// parts have so many rows. Nothing where some tuples are not known, or there would be more
    /// than `n_points` points.
    pub fn few_of_each<const L: usize>(
        &self,
        most: usize,
        n_points: usize,
        n_rows: u64,
    ) -> Option<Vec<Point<L>>> {
        let copies = || self.n_rows.iter().map(|&own| own.min(most as u64) as usize);
        if self.n_rows.iter().sum::<u64>() < n_rows || copies().sum::<usize>() > n_points {
            return None;
        }
        let mut points = Vec::new();
        for (tuple, n_copies) in copies().enumerate() {
            let mut point = [0; L];
            point[..self.n_attributes].copy_from_slice(self.codes_of(tuple));
            points.extend(std::iter::repeat_n(point, n_copies));
        }
        Some(points)
    }

    /// Forgets tuples of more rows than so many, and tells how many rows they have together.
    pub fn drop_heavy(&mut self, most_rows: u64) -> u64 {
        let heavy: u64 = self.n_rows.iter().filter(|&&own| own > most_rows).sum();
        if heavy > 0 {
            let is_light = |&own: &u32| self.n_rows[own as usize] <= most_rows;
            let light: Vec<u32> = (0..self.len() as u32).filter(is_light).collect();
            self.pick(&light);
        }
        heavy
    }

    /// The first tuples by their hashes, each as often as it has rows but no more often than `most`,
    /// up to about `n_points` points: what is near to what is as in the table, and no tuple outweighs
    /// the others.
    pub fn capped<const L: usize>(&self, most: usize, n_points: usize) -> Vec<Point<L>> {
        let mut points = Vec::new();
        for (tuple, &n_rows) in self.n_rows.iter().enumerate() {
            let n_copies = n_rows.min(most as u64) as usize;
            if points.len() + n_copies > n_points {
                break;
            }
            let mut point = [0; L];
            point[..self.n_attributes].copy_from_slice(self.codes_of(tuple));
            points.extend(std::iter::repeat_n(point, n_copies));
        }
        points
    }

    /// About `n_points` points that stand for `n_rows` rows, in the order of their hashes, and
    /// what is known of them where that was kept.
    pub fn points<const L: usize>(&self, n_points: usize, n_rows: u64) -> SampledPoints<L> {
        let copies = self.copies(n_points, n_rows);
        let mut points = Vec::with_capacity(copies.iter().map(|&own| own as usize).sum());
        let mut facts_of_points = Vec::new();
        for (tuple, &n_copies) in copies.iter().enumerate() {
            let mut point = [0; L];
            point[..self.n_attributes].copy_from_slice(self.codes_of(tuple));
            points.extend(std::iter::repeat_n(point, n_copies as usize));
            if let Some(facts) = self.facts.get(tuple) {
                for copy in 0..n_copies {
                    let share = (f64::from(copy) + 0.5) / f64::from(n_copies);
                    facts_of_points.extend_from_slice(facts.at(share));
                }
            }
        }
        let facts = (!self.facts.is_empty()).then_some(facts_of_points);
        SampledPoints { points, facts }
    }

    /// A workload that takes the impurities of the sample for those of the whole table.
    pub fn rooted<const L: usize>(
        &self,
        workload: &Workload,
        n_rows: u64,
        plan: &Plan<'_>,
    ) -> Workload {
        let n_points = plan.grain.sample_tuples(self.n_attributes);
        let sample = self.points::<L>(n_points, n_rows);
        let (_, targets) = sample.known(plan.n_tested_columns());
        workload.rooted(&sample.points, targets.as_ref())
    }

    /// Counts what the rows of each tuple hold; `limit` is the most tuples that there may be.
    pub fn fact_counter(&mut self, limit: usize) -> FactCounter<'_> {
        let slots = (0..self.len()).map(|tuple| (codes_hash(self.codes_of(tuple)), tuple as u32));
        let slot_of = slots.collect();
        self.facts = vec![FactCounts::default(); self.len()];
        let most = (FACTS_PER_TUPLE * limit / self.len().max(1)).clamp(2, MOST_FACTS);
        FactCounter { slot_of, most, tuples: self }
    }
}

/// Points that stand for the rows of a table.
pub struct SampledPoints<const L: usize> {
    /// The points.
    pub points: Vec<Point<L>>,
    /// What is known of them, point by point, where that was kept.
    facts: Option<Vec<u32>>,
}

impl<const L: usize> SampledPoints<L> {
    /// What the requirement looks at, in the first `n_ruled` codes of each point, and what points
    /// carry of a workload, in the others.
    pub fn known(&self, n_ruled: usize) -> (Option<Facts>, Option<TargetCodes>) {
        let Some(codes) = &self.facts else { return (None, None) };
        let n_codes = codes.len() / self.points.len().max(1);
        let n_columns = n_codes - n_ruled.min(n_codes);
        let rows = || codes.chunks_exact(n_codes.max(1));
        let sensitive = rows().flat_map(|row| &row[..n_ruled]).copied().collect();
        // Every point counts as a person of its own: all rows will tell.
        let subjects = (0..self.points.len() as u64).collect();
        let facts = Facts { subjects, sensitive, n_sensitive: n_ruled };
        let own = rows().flat_map(|row| &row[n_ruled..]).copied().collect();
        let targets = TargetCodes { codes: own, n_columns };
        (Some(facts), (n_columns > 0).then_some(targets))
    }
}

/// Counts what the rows of the tuples of a sample hold.
pub struct FactCounter<'t> {
    slot_of: FxHashMap<u64, u32>,
    /// The most different facts that are kept of one tuple.
    most: usize,
    tuples: &'t mut Tuples,
}

impl FactCounter<'_> {
    /// Adds a row by its codes; those whose tuple is not in the sample do not count.
    #[inline]
    pub fn add(&mut self, codes: &[u32], facts: &[u32]) {
        let Some(&slot) = self.slot_of.get(&codes_hash(codes)) else { return };
        if self.tuples.codes_of(slot as usize) == codes {
            self.tuples.facts[slot as usize].add(facts, 1, self.most);
        }
    }
}

/// Finds the tuples of least hash.
pub struct TupleSample {
    limit: usize,
    keeps_facts: bool,
    /// Tuples with a greater hash are not in the sample.
    bound: u64,
    slot_of: FxHashMap<u64, u32>,
    tuples: Tuples,
    /// Facts of all tuples.
    n_facts: usize,
}

impl TupleSample {
    /// A sample of up to so many tuples; `keeps_facts` if their sensitive codes are wanted.
    pub fn new(limit: usize, n_attributes: usize, keeps_facts: bool) -> TupleSample {
        TupleSample {
            limit,
            keeps_facts,
            bound: u64::MAX,
            slot_of: FxHashMap::default(),
            tuples: Tuples { n_attributes, ..Tuples::default() },
            n_facts: 0,
        }
    }

    /// Adds so many rows of a tuple.
    #[inline]
    pub fn add(&mut self, hash: u64, codes: &[u32], facts: &[u32], n_rows: u64) {
        if hash > self.bound {
            return;
        }
        let n_tuples = self.tuples.len() as u32;
        let slot = *self.slot_of.entry(hash).or_insert(n_tuples);
        if slot == n_tuples {
            self.tuples.hashes.push(hash);
            self.tuples.n_rows.push(0);
            self.tuples.codes.extend_from_slice(codes);
            if self.keeps_facts {
                self.tuples.facts.push(FactCounts::default());
            }
        }
        self.tuples.n_rows[slot as usize] += n_rows;
        if self.keeps_facts {
            let own = &mut self.tuples.facts[slot as usize];
            self.n_facts -= own.0.len();
            own.add(facts, n_rows, MOST_FACTS);
            self.n_facts += own.0.len();
        }
        let is_full = self.tuples.len() > self.limit + self.limit / 4;
        if is_full || self.n_facts > MOST_FACTS + FACTS_PER_TUPLE * self.limit {
            self.trim();
        }
    }

    /// Drops all but the tuples of least hash, as many as may be, by their own number and by that
    /// of their facts.
    fn trim(&mut self) {
        self.tuples.sort();
        let mut n_facts = 0;
        let n_kept = self.tuples.facts.iter().take_while(|own| {
            n_facts += own.0.len();
            n_facts <= FACTS_PER_TUPLE * self.limit
        });
        let n_kept = if self.keeps_facts { n_kept.count().max(1) } else { self.limit };
        let n_kept = n_kept.min(self.limit);
        if n_kept < self.tuples.len() {
            // A tuple that is still to come may stand before the first that is dropped, and have
            // so few facts that it is among the least.
            self.bound = self.tuples.hashes[n_kept] - 1;
            let kept: Vec<u32> = (0..n_kept as u32).collect();
            self.tuples.pick(&kept);
        }
        self.n_facts = self.tuples.facts.iter().map(|own| own.0.len()).sum();
        self.slot_of = self.tuples.hashes.iter().copied().zip(0..).collect();
    }

    /// The tuples of least hash.
    pub fn finish(mut self) -> Tuples {
        self.trim();
        self.tuples
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rows of two codes and a secret.
    type Row = ([u32; 2], u32);

    fn sampled(rows: &[Row], limit: usize) -> Tuples {
        let mut sample = TupleSample::new(limit, 2, true);
        for (codes, secret) in rows {
            sample.add(tuple_hash(codes, 7), codes, &[*secret], 1);
        }
        sample.finish()
    }

    fn orders(rows: &[Row]) -> Vec<Vec<Row>> {
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        let mut reversed = sorted.clone();
        reversed.reverse();
        let mut shuffled = sorted.clone();
        shuffled.sort_by_key(|(codes, secret)| mix(tuple_hash(codes, 1) ^ u64::from(*secret)));
        vec![sorted, reversed, shuffled]
    }

    fn rows(n_rows: u32, n_tuples: u32) -> Vec<Row> {
        let row = |row: u32| ([row % n_tuples, row % n_tuples / 3], row % 7);
        (0..n_rows).map(row).collect()
    }

    #[test]
    fn a_sample_is_the_same_in_every_order() {
        for (n_rows, n_tuples, limit) in [(5_000, 4_000, 100), (5_000, 90, 100), (9_000, 740, 64)] {
            let rows = rows(n_rows, n_tuples);
            let found = sampled(&rows, limit);
            assert!(found.len() <= limit.min(n_tuples as usize));
            let n_facts: usize = found.facts.iter().map(|own| own.0.len()).sum();
            assert!(n_facts <= 2 * limit && n_facts + 7 > limit.min(n_tuples as usize));
            for other in orders(&rows) {
                assert_eq!(sampled(&other, limit), found);
            }
        }
    }

    /// Rows of tuples by hash, each with another secret.
    fn secrets(hash: u64, n_secrets: u32) -> impl Iterator<Item = (u64, u32)> {
        (0..n_secrets).map(move |secret| (hash, secret))
    }

    fn sampled_by_hash(rows: &[(u64, u32)], limit: usize) -> Tuples {
        let mut sample = TupleSample::new(limit, 1, true);
        rows.iter().for_each(|&(hash, secret)| sample.add(hash, &[hash as u32], &[secret], 1));
        sample.finish()
    }

    #[test]
    fn a_tuple_of_few_secrets_is_sampled_also_where_it_comes_after_those_of_many() {
        // Of 32 secrets the first tuple has 30: no room for the third, but for the second.
        let last = [secrets(3, 64), secrets(1, 30), secrets(5, 10), secrets(2, 1)];
        let last: Vec<(u64, u32)> = last.into_iter().flatten().collect();
        let first: Vec<(u64, u32)> = last.iter().rev().copied().collect();
        let found = sampled_by_hash(&last, 16);
        assert_eq!((&found.hashes[..], &found.n_rows[..]), (&[1, 2][..], &[30, 1][..]));
        assert_eq!(found, sampled_by_hash(&first, 16));
    }

    proptest! {
        #[test]
        fn a_sample_is_of_the_tuples_of_least_hash_whose_secrets_fit(
            sizes in prop::collection::vec(prop_oneof![4 => 1..6u32, 1 => 1..100u32], 1..60),
            limit in 16..40usize,
            order in any::<u64>(),
        ) {
            let tuples = (1u64..).zip(&sizes);
            let mut rows: Vec<(u64, u32)> =
                tuples.flat_map(|(hash, &n_secrets)| secrets(hash, n_secrets)).collect();
            rows.sort_by_key(|&(hash, secret)| mix(order ^ mix(hash << 32 | u64::from(secret))));
            let mut n_left = FACTS_PER_TUPLE * limit;
            let fits = |&&n_secrets: &&u32| {
                let n_kept = (n_secrets as usize).min(MOST_FACTS);
                let fits = n_kept <= n_left;
                n_left -= n_kept.min(n_left);
                fits
            };
            let n_fitting = sizes.iter().take_while(fits).count().clamp(1, limit);
            let expected: Vec<u64> = sizes[..n_fitting].iter().map(|&n| u64::from(n)).collect();
            prop_assert_eq!(sampled_by_hash(&rows, limit).n_rows, expected);
        }
    }

    #[test]
    fn tuples_are_counted_from_their_first_row_on() {
        let rows = rows(5_000, 400);
        let found = sampled(&rows, 50);
        for tuple in 0..found.len() {
            let n_rows = rows.iter().filter(|(codes, _)| codes == found.codes_of(tuple)).count();
            assert_eq!(found.n_rows[tuple], n_rows as u64);
        }
    }

    #[test]
    fn a_tuple_with_half_of_all_rows_gets_half_of_the_points() {
        let mut all = rows(20_000, 20_000);
        all.extend(std::iter::repeat_n(([1 << 20, 5], 3), 20_000));
        for limit in [500, 2_000] {
            let mut sample = TupleSample::new(limit, 2, false);
            // The heavy tuple has the least hash, so that it is in the sample.
            for (codes, _) in &all {
                let hash = if codes[0] == 1 << 20 { 0 } else { tuple_hash(codes, 7) };
                sample.add(hash, codes, &[], 1);
            }
            let sampled = sample.finish().points::<8>(limit, 40_000);
            assert!(sampled.known(0).0.is_none());
            let points = sampled.points;
            let n_heavy = points.iter().filter(|point| point[0] == 1 << 20).count();
            assert!(n_heavy.abs_diff(limit / 2) <= 1, "{n_heavy} of {limit}");
            assert!(points.len().abs_diff(limit) <= limit / 50 + 3, "{} points", points.len());
        }
    }

    #[test]
    fn few_tuples_keep_their_shares_of_rows_and_of_secrets() {
        let rows = rows(100_000, 740);
        let found = sampled(&rows, 5_000).points::<8>(5_000, 100_000);
        let (facts, targets) = found.known(1);
        assert!(targets.is_none());
        let (points, facts) = (found.points, facts.unwrap());
        assert!(points.len().abs_diff(5_000) < 100, "{}", points.len());
        for secret in 0..7 {
            let n = facts.sensitive.iter().filter(|&&own| own == secret).count();
            assert!(n.abs_diff(points.len() / 7) < points.len() / 20, "{n} of {}", points.len());
        }
    }
}
