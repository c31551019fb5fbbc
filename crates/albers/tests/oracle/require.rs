//! What is asked of a class, checked from the definitions and by brute force.

use std::collections::BTreeMap;

use albers::{ColumnJob, ColumnType};

use super::dice::Dice;
use super::tree::Tree;
use super::value::Value;

/// How far two sensitive values lie apart.
pub enum Ground {
    Equal,
    Line,
    Tree(Tree),
}

/// A sensitive column and what is asked of it.
pub struct Secret {
    /// Its place in the table.
    pub column: usize,
    pub kind: ColumnType,
    pub ground: Ground,
    /// The values of all rows.
    pub whole: Vec<Value>,
    /// Whether its values are numbers.
    pub can_vary: bool,
    pub asked: Asked,
}

#[derive(Debug, Clone, Copy)]
pub enum Diversity {
    Distinct(usize),
    Entropy(f64),
    Recursive(f64, usize),
}

/// What is asked of one column.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub diversity: Option<Diversity>,
    pub t: Option<f64>,
    pub alpha: Option<f64>,
    pub variance: Option<f64>,
}

impl Asked {
    pub fn write(&self, job: &mut ColumnJob) {
        let text = self.diversity.map(|diversity| match diversity {
            Diversity::Distinct(l) => format!("distinct:{l}"),
            Diversity::Entropy(l) => format!("entropy:{l}"),
            Diversity::Recursive(c, l) => format!("recursive:{c},{l}"),
        });
        job.l_diversity = text.map(|text| text.parse().expect("a diversity"));
        job.t_closeness = self.t;
        job.alpha = self.alpha;
        job.variance = self.variance;
    }
}

/// The numbers of rows per value, most frequent first.
fn counts(values: &[Value]) -> Vec<usize> {
    let mut by_value = BTreeMap::new();
    values.iter().for_each(|value| *by_value.entry(value).or_insert(0) += 1);
    let mut counts: Vec<usize> = by_value.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

pub fn n_distinct(values: &[Value]) -> usize {
    counts(values).len()
}

pub fn exp_entropy(values: &[Value]) -> f64 {
    let n = values.len() as f64;
    let shares = counts(values).into_iter().map(|count| count as f64 / n);
    (-shares.map(|share| share * share.ln()).sum::<f64>()).exp()
}

pub fn max_share(values: &[Value]) -> f64 {
    counts(values)[0] as f64 / values.len() as f64
}

/// The most frequent count over all counts from the l-th on.
pub fn top_over_tail(values: &[Value], l: usize) -> f64 {
    let counts = counts(values);
    let tail: usize = counts.iter().skip(l - 1).sum();
    counts[0] as f64 / tail as f64
}

impl Secret {
    /// Draws what the whole table satisfies.
    pub fn draw(&self, dice: &mut Dice) -> Asked {
        let mut asked = Asked::default();
        let n_distinct = n_distinct(&self.whole);
        asked.diversity = match dice.below(6) {
            0 => Some(Diversity::Distinct(1 + dice.below(n_distinct))),
            1 => {
                let most = exp_entropy(&self.whole);
                let l = 1.0 + (most - 1.0).max(0.0) * dice.unit();
                Some(Diversity::Entropy(if dice.chance(0.3) { l.floor() } else { l }))
            }
            2 => {
                let l = 1 + dice.below(n_distinct);
                let c = top_over_tail(&self.whole, l) * (1.01 + 2.0 * dice.unit());
                Some(Diversity::Recursive(c, l))
            }
            _ => None,
        };
        asked.t = dice.chance(0.3).then(|| dice.unit() * dice.unit());
        if dice.chance(0.25) {
            let least = max_share(&self.whole);
            asked.alpha = Some(least + (1.0 - least) * dice.unit());
        }
        if self.can_vary && dice.chance(0.3) {
            let most = self.variance(&self.whole);
            asked.variance = most.is_finite().then(|| most * 0.99 * dice.unit());
        }
        asked
    }

    /// What some values miss of what is asked, where these are the values of all rows that are
    /// published.
    pub fn misses(&self, values: &[Value], published: &[Value]) -> Vec<String> {
        let mut misses = Vec::new();
        let mut need = |holds: bool, what: String| {
            if !holds {
                misses.push(what);
            }
        };
        match self.asked.diversity {
            Some(Diversity::Distinct(l)) => {
                need(n_distinct(values) >= l, format!("distinct {l}"));
            }
            Some(Diversity::Entropy(l)) => {
                need(exp_entropy(values) >= l - 1e-8 * l, format!("entropy {l}"));
            }
            Some(Diversity::Recursive(c, l)) if l > 1 => {
                let holds = n_distinct(values) >= l && top_over_tail(values, l) < c;
                need(holds, format!("recursive {c}, {l}"));
            }
            Some(Diversity::Recursive(..)) | None => {}
        }
        if let Some(t) = self.asked.t {
            // Nobody sees the whole table where rows are left out.
            for (of, seen) in [("table", &self.whole[..]), ("release", published)] {
                let distance = self.emd(values, seen);
                need(distance <= t + 1e-8, format!("closeness {t} to the {of}, is {distance}"));
            }
        }
        if let Some(alpha) = self.asked.alpha {
            need(max_share(values) <= alpha + 1e-8, format!("alpha {alpha}"));
        }
        if let Some(least) = self.asked.variance {
            need(self.variance(values) >= least - 1e-8 * least, format!("variance {least}"));
        }
        misses
    }

    /// The mean squared distance of all pairs, halved.
    pub fn variance(&self, values: &[Value]) -> f64 {
        let numbers: Vec<f64> = values.iter().map(|value| value.number(self.kind)).collect();
        let n = numbers.len() as f64;
        let pairs = numbers.iter().flat_map(|a| numbers.iter().map(move |b| (a - b).powi(2)));
        pairs.sum::<f64>() / (2.0 * n * n)
    }

    /// The earth mover's distance between some values and others, as a transport problem.
    pub fn emd(&self, values: &[Value], others: &[Value]) -> f64 {
        let mut domain: Vec<&Value> = self.whole.iter().collect();
        domain.sort_unstable();
        domain.dedup();
        let count = |of: &[Value], value: &Value| of.iter().filter(|other| *other == value).count();
        // Masses in units of 1 / (values * others).
        let supply: Vec<i64> =
            domain.iter().map(|value| (count(values, value) * others.len()) as i64).collect();
        let demand: Vec<i64> =
            domain.iter().map(|value| (count(others, value) * values.len()) as i64).collect();
        let distances: Vec<Vec<f64>> = domain
            .iter()
            .map(|a| domain.iter().map(|b| self.distance(a, b, &domain)).collect())
            .collect();
        let work = transport(&supply, &demand, &distances);
        work / (values.len() * others.len()) as f64
    }

    fn distance(&self, a: &Value, b: &Value, domain: &[&Value]) -> f64 {
        if a == b {
            return 0.0;
        }
        match &self.ground {
            Ground::Equal => 1.0,
            Ground::Line => {
                let (first, last) = (domain[0], domain[domain.len() - 1]);
                a.half_distance(b).abs() / first.half_distance(last)
            }
            Ground::Tree(tree) => tree.distance(&a.canonical(self.kind), &b.canonical(self.kind)),
        }
    }
}

/// The least work that moves masses from sources to sinks: shortest paths, one after the other.
fn transport(supply: &[i64], demand: &[i64], distances: &[Vec<f64>]) -> f64 {
    let n = supply.len();
    let (mut left, mut open) = (supply.to_vec(), demand.to_vec());
    let mut flow = vec![vec![0i64; n]; n];
    let mut work = 0.0;
    while left.iter().any(|&mass| mass > 0) {
        // Nodes 0..n are sources, n..2n sinks; Bellman-Ford from all sources with mass.
        let mut cost = vec![f64::INFINITY; 2 * n];
        let mut from = vec![usize::MAX; 2 * n];
        (0..n).filter(|&source| left[source] > 0).for_each(|source| cost[source] = 0.0);
        for _ in 0..2 * n {
            for source in 0..n {
                for sink in 0..n {
                    let there = cost[source] + distances[source][sink];
                    if there < cost[n + sink] - 1e-12 {
                        (cost[n + sink], from[n + sink]) = (there, source);
                    }
                    let back = cost[n + sink] - distances[source][sink];
                    if flow[source][sink] > 0 && back < cost[source] - 1e-12 {
                        (cost[source], from[source]) = (back, n + sink);
                    }
                }
            }
        }
        let sink = (0..n)
            .filter(|&sink| open[sink] > 0)
            .min_by(|&a, &b| cost[n + a].total_cmp(&cost[n + b]))
            .expect("as much is wanted as is there");
        let mut path = vec![n + sink];
        while from[path[path.len() - 1]] != usize::MAX {
            path.push(from[path[path.len() - 1]]);
        }
        let source = path[path.len() - 1];
        let backward = path.windows(2).filter(|step| step[0] < n);
        let mass = backward
            .map(|step| flow[step[0]][step[1] - n])
            .chain([left[source], open[sink]])
            .min()
            .expect("two at least");
        for step in path.windows(2) {
            if step[0] >= n {
                flow[step[1]][step[0] - n] += mass;
            } else {
                flow[step[0]][step[1] - n] -= mass;
            }
        }
        work += mass as f64 * cost[n + sink];
        left[source] -= mass;
        open[sink] -= mass;
    }
    work
}
