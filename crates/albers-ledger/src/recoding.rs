//! How sensitive codes were renumbered when the domain of a column grew.
//!
//! Deleted rows are sealed elsewhere, where nobody can renumber them: what is kept here lets one that
//! comes again catch up.
//!
//! Cost: one pair of numbers for each run of codes that moved alike, so a few for each new value.

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recoding {
    /// By column, ascending: the first code of a run, and what it became.
    runs: Vec<Vec<(u32, u32)>>,
}

impl Recoding {
    /// The recoding of the codes `0..n_values[column]` of each column.
    pub fn new(n_values: &[u32], code_of: &dyn Fn(usize, u32) -> u32) -> Self {
        let runs_of = |(column, &n_values): (usize, &u32)| {
            let mut runs: Vec<(u32, u32)> = Vec::new();
            for code in 0..n_values {
                let became = code_of(column, code);
                let follows = runs.last().is_some_and(|&run| along(run, code) == became);
                if !follows {
                    runs.push((code, became));
                }
            }
            runs
        };
        Self { runs: n_values.iter().enumerate().map(runs_of).collect() }
    }

    /// What a code became.
    pub fn code(&self, column: usize, code: u32) -> u32 {
        let runs = self.runs.get(column).map_or(&[][..], Vec::as_slice);
        let n_before = runs.partition_point(|run| run.0 <= code);
        n_before.checked_sub(1).map_or(code, |idx| along(runs[idx], code))
    }

    /// Whether every code stayed what it was.
    pub fn is_identity(&self) -> bool {
        self.runs.iter().flatten().all(|(code, became)| code == became)
    }

    /// Whether there is a recoding of each column, in order.
    pub fn is_sound(&self, n_columns: u32) -> bool {
        let ascends = |runs: &Vec<(u32, u32)>| runs.windows(2).all(|pair| pair[0].0 < pair[1].0);
        self.runs.len() == n_columns as usize && self.runs.iter().all(ascends)
    }
}

fn along((first, became): (u32, u32), code: u32) -> u32 {
    became.wrapping_add(code - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_the_middle_makes_two_runs() {
        let recoding = Recoding::new(&[100, 3], &|column, code| {
            if column == 0 && code >= 40 { code + 1 } else { code }
        });
        assert_eq!(recoding.runs, [vec![(0, 0), (40, 41)], vec![(0, 0)]]);
        let codes: Vec<u32> = [0, 39, 40, 99].map(|code| recoding.code(0, code)).to_vec();
        assert_eq!(codes, [0, 39, 41, 100]);
        assert!(recoding.is_sound(2) && !recoding.is_sound(3) && !recoding.is_identity());
    }

    #[test]
    fn any_renumbering_is_kept_as_it_is() {
        let became = [3, 1, 0, 2, 7, 8];
        let recoding = Recoding::new(&[6], &|_, code| became[code as usize]);
        assert!((0..6).all(|code| recoding.code(0, code) == became[code as usize]));
        assert!(Recoding::new(&[6, 0], &|_, code| code).is_identity());
    }
}
