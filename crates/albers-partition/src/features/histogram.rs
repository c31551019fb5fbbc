//! Bins of a feature that is a number: where a class changes, or with about as many rows each.
//!
//! Source: Fayyad & Irani 1993, "Multi-interval discretization of continuous-valued attributes for
//! classification learning": cuts of least entropy, as long as a cut saves more bits than it takes to
//! tell (the minimum description length).
//! Departures: the stretch whose cut gains most is divided first, until there are as many as there
//! may be. Codes are counted in buckets of equal width, and cut between these.
//! Guarantee: a function of the counts, which know no order of rows.
//! Cost: one count per row; O(bins * buckets * classes) to find the bins.

use std::ops::Range;

use super::{Bins, MAX_BINS};
use crate::split::tally::{STEPS, product};
use crate::split::workload::NO_VALUE;

/// More buckets tell nothing more of a few bins.
const MAX_BUCKETS: u32 = 1 << 16;

/// How many rows have which codes, and which classes.
#[derive(Debug, Clone)]
pub struct Histogram {
    first_code: u32,
    missing: Option<u32>,
    /// The codes of a bucket, as bits.
    shift: u32,
    /// Of the class that bins should tell; without one they have about as many rows each.
    n_classes: Option<u32>,
    /// Rows by bucket and class.
    counts: Vec<u32>,
}

/// Neighbouring buckets, and the cut that divides them best, if one is worth it.
struct Stretch {
    buckets: Range<usize>,
    best: Option<BucketCut>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BucketCut {
    /// The first bucket of the second part.
    at: usize,
    /// What it tells, in steps of bits.
    gain: i64,
}

/// Rows by class, and how impure they are.
struct ClassCounts {
    n_rows: u32,
    inner: i64,
    counts: Vec<u32>,
}

impl ClassCounts {
    fn of_nothing(n_classes: usize) -> ClassCounts {
        ClassCounts { n_rows: 0, inner: 0, counts: vec![0; n_classes] }
    }

    fn add(&mut self, bucket: &[u32]) {
        for (count, &more) in self.counts.iter_mut().zip(bucket).filter(|(_, more)| **more > 0) {
            self.inner += product(*count + more) - product(*count);
            *count += more;
            self.n_rows += more;
        }
    }

    fn remove(&mut self, bucket: &[u32]) {
        for (count, &less) in self.counts.iter_mut().zip(bucket).filter(|(_, less)| **less > 0) {
            self.inner -= product(*count) - product(*count - less);
            *count -= less;
            self.n_rows -= less;
        }
    }

    /// The number of rows times their entropy, in steps of bits.
    fn impurity(&self) -> i64 {
        product(self.n_rows) - self.inner
    }

    /// The number of classes that occur, and that times the entropy in bits.
    fn classes(&self) -> (f64, f64) {
        let n_classes = self.counts.iter().filter(|count| **count > 0).count() as f64;
        (n_classes, n_classes * self.impurity() as f64 / STEPS / f64::from(self.n_rows.max(1)))
    }
}

impl Histogram {
    /// No rows, of codes in a range besides that of a missing value; no more than about so many
    /// counts are kept.
    pub fn new(
        (lo, hi): (u32, u32),
        missing: Option<u32>,
        n_classes: Option<u32>,
        most_counts: usize,
    ) -> Histogram {
        let most = most_counts / n_classes.unwrap_or(1).max(1) as usize;
        let most = (most.min(MAX_BUCKETS as usize) as u32).max(MAX_BINS as u32);
        let mut shift = 0;
        while (hi - lo) >> shift >= most {
            shift += 1;
        }
        let n_buckets = ((hi - lo) >> shift) as usize + 1;
        let counts = vec![0; n_buckets * n_classes.unwrap_or(1) as usize];
        Histogram { first_code: lo, missing, shift, n_classes, counts }
    }

    /// What it takes.
    pub fn n_bytes(&self) -> usize {
        self.counts.len() * size_of::<u32>()
    }

    /// Adds a row by its code and its class. Rows that miss one of them do not count.
    #[inline]
    pub fn add(&mut self, code: u32, class: u32) {
        if self.missing == Some(code) {
            return;
        }
        let bucket = ((code - self.first_code) >> self.shift) as usize;
        match self.n_classes {
            None => self.counts[bucket] += 1,
            Some(_) if class == NO_VALUE => {}
            Some(n_classes) => self.counts[bucket * n_classes as usize + class as usize] += 1,
        }
    }

    /// The bins.
    pub fn bins(&self) -> Bins {
        let ends = match self.n_classes {
            Some(_) => self.telling_ends(),
            None => self.even_ends(),
        };
        let last_code = |end: usize| self.first_code + ((end as u32) << self.shift) - 1;
        Bins::Stretches { ends: ends.into_iter().map(last_code).collect(), missing: self.missing }
    }

    fn bucket(&self, bucket: usize) -> &[u32] {
        let n_classes = self.n_classes.unwrap_or(1) as usize;
        &self.counts[bucket * n_classes..(bucket + 1) * n_classes]
    }

    /// The buckets at which bins end that have about as many rows each.
    fn even_ends(&self) -> Vec<usize> {
        let n_rows: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let mut ends = Vec::new();
        let mut n_before = 0;
        for (bucket, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let earlier = n_before * MAX_BINS as u64 / n_rows;
            n_before += u64::from(count);
            if n_before < n_rows && n_before * MAX_BINS as u64 / n_rows > earlier {
                ends.push(bucket + 1);
            }
        }
        ends
    }

    /// The buckets at which bins end that tell most of the class.
    fn telling_ends(&self) -> Vec<usize> {
        let n_classes = self.n_classes.unwrap_or(1) as usize;
        let stretch = |buckets: Range<usize>| {
            let best = self.best_cut(buckets.clone());
            Stretch { buckets, best }
        };
        let mut stretches = vec![stretch(0..self.counts.len() / n_classes.max(1))];
        while stretches.len() < MAX_BINS {
            let gain = |stretch: &Stretch| stretch.best.map(|cut| cut.gain);
            // Of those that gain the same, the first.
            let best = stretches.iter().enumerate().rev().max_by_key(|(_, own)| gain(own));
            let Some((place, cut)) = best.and_then(|(place, own)| Some((place, own.best?))) else {
                break;
            };
            let Range { start, end } = stretches[place].buckets;
            let parts = [stretch(start..cut.at), stretch(cut.at..end)];
            stretches.splice(place..place + 1, parts);
        }
        stretches.iter().skip(1).map(|own| own.buckets.start).collect()
    }

    /// The cut of least entropy, if it saves more than it takes to tell.
    fn best_cut(&self, buckets: Range<usize>) -> Option<BucketCut> {
        let n_classes = self.n_classes.unwrap_or(1) as usize;
        let mut before = ClassCounts::of_nothing(n_classes);
        let mut after = ClassCounts::of_nothing(n_classes);
        buckets.clone().for_each(|bucket| after.add(self.bucket(bucket)));
        let whole = after.impurity();
        let mut best: Option<BucketCut> = None;
        for bucket in buckets.clone() {
            let n_before = before.n_rows;
            before.add(self.bucket(bucket));
            after.remove(self.bucket(bucket));
            if before.n_rows == n_before || after.n_rows == 0 {
                continue;
            }
            let gain = whole - before.impurity() - after.impurity();
            if best.is_none_or(|own| gain > own.gain) {
                best = Some(BucketCut { at: bucket + 1, gain });
            }
        }
        best.filter(|cut| cut.gain > 0 && self.is_worth_telling(&buckets, *cut))
    }

    /// The test of Fayyad & Irani: whether a cut gains more than it takes to tell where it is, and
    /// what the classes of both sides are.
    fn is_worth_telling(&self, buckets: &Range<usize>, cut: BucketCut) -> bool {
        let counted = |buckets: Range<usize>| {
            let mut counts = ClassCounts::of_nothing(self.n_classes.unwrap_or(1) as usize);
            buckets.for_each(|bucket| counts.add(self.bucket(bucket)));
            counts
        };
        let whole = counted(buckets.clone());
        let (n_classes, bits) = whole.classes();
        let sides = [buckets.start..cut.at, cut.at..buckets.end].map(counted);
        let bits_of_sides: f64 = sides.iter().map(|side| side.classes().1).sum();
        // log2(3^classes - 2), also where the power is too large for a float.
        let of_classes = n_classes * 3f64.log2() + (1.0 - 2.0 * 3f64.powf(-n_classes)).log2();
        let taken = f64::from(whole.n_rows - 1).log2() + of_classes - (bits - bits_of_sides);
        cut.gain as f64 / STEPS > taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bins of rows with codes and classes, in any order.
    fn bins(rows: &[(u32, u32)], missing: Option<u32>, n_classes: Option<u32>) -> Bins {
        let codes = || rows.iter().map(|row| row.0).filter(|&code| Some(code) != missing);
        let range = (codes().min().unwrap_or(0), codes().max().unwrap_or(0));
        let found = [0, 1].map(|turn| {
            let mut histogram = Histogram::new(range, missing, n_classes, 1 << 16);
            let mut rows = rows.to_vec();
            if turn == 1 {
                rows.reverse();
            }
            rows.iter().for_each(|&(code, class)| histogram.add(code, class));
            histogram.bins()
        });
        assert_eq!(found[0], found[1]);
        found[0].clone()
    }

    fn ends(bins: Bins) -> Vec<u32> {
        match bins {
            Bins::Stretches { ends, .. } => ends,
            Bins::Codes { .. } => panic!("numbers are put into stretches"),
        }
    }

    /// Eight rows of one class and eight of the other: the cut between them gains 16 bits and takes
    /// log2(15) + log2(3^2 - 2) - 2 = 4.7 of them. One of each gains 2 and takes 0 + 2.8 - 2 = 0.8; a
    /// class alone gains nothing. Of `+ - + -` the first cut gains 4 - 3 * 0.918 = 1.25 and takes
    /// log2(3) + log2(7) - (2 - 2 * 0.918) = 4.2, so there is none.
    #[test]
    fn a_cut_is_made_where_it_saves_more_bits_than_it_takes() {
        let two_classes: Vec<(u32, u32)> =
            (0..16).map(|code| (10 + code, u32::from(code >= 8))).collect();
        assert_eq!(ends(bins(&two_classes, None, Some(2))), [17]);
        assert_eq!(ends(bins(&[(3, 0), (9, 1)], None, Some(2))), [3]);
        assert!(ends(bins(&[(1, 0), (2, 0), (3, 0)], None, Some(2))).is_empty());
        assert!(ends(bins(&[(0, 0), (1, 1), (2, 0), (3, 1)], None, Some(2))).is_empty());
        assert!(ends(bins(&[], None, Some(2))).is_empty());
    }

    /// Three stretches of 20 rows: the first cut that is looked at takes one away, the next divides
    /// the others.
    #[test]
    fn stretches_are_divided_until_nothing_is_worth_it_or_there_are_enough() {
        let three: Vec<(u32, u32)> = (0..60).map(|code| (code, code / 20 % 2)).collect();
        assert_eq!(ends(bins(&three, None, Some(2))), [19, 39]);
        let many: Vec<(u32, u32)> = (0..2000).map(|code| (code, code / 50)).collect();
        assert_eq!(ends(bins(&many, None, Some(40))).len(), MAX_BINS - 1);
    }

    #[test]
    fn rows_without_a_class_or_a_value_do_not_count() {
        let mut rows: Vec<(u32, u32)> =
            (0..40).map(|code| (9 + code, u32::from(code > 9))).collect();
        rows.extend((0..300).map(|row| (0, row % 2)));
        rows.extend((0..40).map(|code| (9 + code, NO_VALUE)));
        let found = bins(&rows, Some(0), Some(2));
        assert_eq!(found, Bins::Stretches { ends: vec![18], missing: Some(0) });
        assert_eq!((found.n_bins(), found.of(0), found.of(18), found.of(19)), (3, 0, 1, 2));
    }

    #[test]
    fn without_a_class_bins_have_about_as_many_rows_each() {
        let rows: Vec<(u32, u32)> = (0..1600).map(|row| (row % 800, 0)).collect();
        let expected: Vec<u32> = (1..16).map(|bin| bin * 50 - 1).collect();
        assert_eq!(ends(bins(&rows, None, None)), expected);
        // One value with most of the rows is one bin.
        let mut rows: Vec<(u32, u32)> = (0..100).map(|row| (row, 0)).collect();
        rows.extend([(50, 0); 900]);
        assert_eq!(ends(bins(&rows, None, None)), [50]);
        assert!(ends(bins(&[(4, 0), (4, 0)], None, None)).is_empty());
    }

    #[test]
    fn codes_far_apart_are_counted_in_buckets() {
        let code = |row: u32| 7 + row * 1_000_000;
        let rows: Vec<(u32, u32)> =
            (0..1000).map(|row| (code(row), u32::from(row >= 300))).collect();
        let found = ends(bins(&rows, None, Some(2)));
        assert_eq!(found.len(), 1);
        assert!((code(299)..code(300)).contains(&found[0]), "{found:?}");
        let histogram = Histogram::new((7, u32::MAX), None, Some(1000), 1 << 20);
        assert!(histogram.n_bytes() <= 4 << 20, "{}", histogram.n_bytes());
    }
}
