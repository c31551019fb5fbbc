//! What searches of a lattice look at and move: by the columns, by k, and with frequency sets that
//! were computed beforehand.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 4.2 and figures 10, 11 and 12, and the
//! table of nodes searched.
//! Departures: the paper has seconds; here tuples of frequency sets are counted, those that are
//! read to derive other sets and those of the sets that are derived, so that figures follow from
//! name and scale. The table is read as its different tuples with their counts, not row by row. The
//! binary search finds all generalizations of the least height, not one. With super-roots the table
//! itself is rolled up between subsets, which the paper does not do. A tuple does not always cost
//! the same time: large sets that are written cost most, so what is written is shown beside what is
//! read where a cube is weighed. Tables are made up, and `lands-end` is smaller than the paper's.
//! Guarantee: all searches find the same generalizations of least height.

use albers_generate::{Kind, Options};
use albers_lattice::search::MovedTuples;

use super::trial::Table;
use super::{Experiment, Outcome, Setting};
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{Job, Method, SearchVariant};
use crate::lattice::LatticeReport;

pub(super) const BY_COLUMNS: Experiment = Experiment {
    name: "search-by-columns",
    source: "LeFevre, DeWitt and Ramakrishnan 2005, figure 10 and the table of section 4.2.1",
    claim: "Incognito, in each of its variants, costs less than a binary search and than a search \
            from the bottom, with rollup or without, and looks at fewer generalizations the more \
            columns there are.",
    seed: 110,
    run: run_by_columns,
};

pub(super) const BY_K: Experiment = Experiment {
    name: "search-by-k",
    source: "LeFevre, DeWitt and Ramakrishnan 2005, figure 11",
    claim: "What Incognito costs trends downward as k grows, while a binary search goes up and \
            down.",
    seed: 111,
    run: run_by_k,
};

pub(super) const CUBE: Experiment = Experiment {
    name: "cube-cost",
    source: "LeFevre, DeWitt and Ramakrishnan 2005, figure 12",
    claim: "With frequency sets of all subsets computed beforehand Incognito costs less than \
            without, where these are not counted; with them it costs less on a small table and \
            more on a large one.",
    seed: 112,
    run: run_cube,
};

/// A way to search.
struct Search {
    name: &'static str,
    method: Method,
    variant: Option<SearchVariant>,
}

const fn search(name: &'static str, method: Method, variant: Option<SearchVariant>) -> Search {
    Search { name, method, variant }
}

/// How many of the searches are variants of Incognito.
const N_INCOGNITO: usize = 3;
const BASIC: usize = 0;
const CUBED: usize = 2;
const ROLLUP: usize = 3;
const SCAN: usize = 4;
const BINARY: usize = 5;

/// Those of Incognito come first.
const SEARCHES: [Search; 6] = [
    search("incognito, basic", Method::Incognito, Some(SearchVariant::Basic)),
    search("incognito, super-roots", Method::Incognito, Some(SearchVariant::SuperRoots)),
    search("incognito, cube", Method::Incognito, Some(SearchVariant::Cube)),
    search("bottom-up, rollup", Method::BottomUp, Some(SearchVariant::Rollup)),
    search("bottom-up, scan", Method::BottomUp, Some(SearchVariant::Scan)),
    search("binary search", Method::Samarati, None),
];

/// A table of the paper's figure 9, its columns in that order.
struct Case {
    title: &'static str,
    kind: Kind,
    columns: &'static [&'static str],
    /// Rows at small scale and at full scale.
    n_rows: [u64; 2],
    /// The most columns at small scale, and those at which k is varied at both.
    n_columns: usize,
    by_k: [usize; 2],
}

const CASES: [Case; 2] = [
    Case {
        title: "adult",
        kind: Kind::Adult,
        columns: &[
            "age",
            "sex",
            "race",
            "marital-status",
            "education",
            "native-country",
            "workclass",
            "occupation",
            "salary-class",
        ],
        n_rows: [1_000, 45_222],
        n_columns: 6,
        by_k: [5, 8],
    },
    Case {
        title: "lands-end",
        kind: Kind::LandsEnd,
        columns: &super::sales::QUASI,
        n_rows: [1_000, 200_000],
        n_columns: 5,
        by_k: [4, 6],
    },
];

impl Case {
    fn table(&self, setting: &Setting) -> Result<Searched> {
        let [small, full] = self.n_rows;
        let n_rows = setting.pick(small, full);
        let table = Table::generate(self.kind, n_rows, setting.seed, &Options::default())?;
        let job = table.search_job(2, self.columns)?;
        Ok(Searched { table, job })
    }

    /// From three columns on.
    fn sizes(&self, setting: &Setting) -> std::ops::RangeInclusive<usize> {
        3..=setting.pick(self.n_columns, self.columns.len())
    }

    /// What a search of the first so many columns comes to.
    fn search(
        &self,
        of: &Searched,
        k: u64,
        n_columns: usize,
        search: &Search,
    ) -> Result<LatticeReport> {
        let (method, variant) = (Some(search.method), search.variant);
        let mut job = Job { k: Some(k), method, variant, ..of.job.clone() };
        job.columns.retain(|name, _| self.columns[..n_columns].contains(&name.as_str()));
        of.table.lattice(&job)
    }

    /// What each search comes to for each number of columns.
    fn by_columns(&self, setting: &Setting, table: &Searched, k: u64) -> Result<Vec<Vec<Told>>> {
        let line = |search: &Search| -> Result<Vec<Told>> {
            let sizes = self.sizes(setting);
            sizes.map(|size| Told::of(size as f64, &self.search(table, k, size, search)?)).collect()
        };
        SEARCHES.iter().map(line).collect()
    }
}

/// A table, and the job of a search of all its columns.
struct Searched {
    table: Table,
    job: Job,
}

/// What one search came to.
#[derive(Debug, Clone, Copy)]
struct Told {
    x: f64,
    checked: f64,
    moved: MovedTuples,
    cube_moved: MovedTuples,
}

impl Told {
    fn of(x: f64, report: &LatticeReport) -> Result<Told> {
        let LatticeReport { checked, moved, cube_moved, .. } = report;
        Ok(Told { x, checked: *checked as f64, moved: *moved, cube_moved: *cube_moved })
    }

    /// All tuples, read and written.
    fn cost(&self) -> f64 {
        (self.moved.read + self.moved.written) as f64
    }
}

/// A line of what searches came to.
fn line(name: &str, told: &[Told], of: impl Fn(&Told) -> f64) -> Series {
    Series::new(name, told.iter().map(|own| (own.x, of(own))).collect())
}

/// A line for each search.
fn costs(told: &[Vec<Told>]) -> Vec<Series> {
    let lines = SEARCHES.iter().zip(told);
    lines.map(|(search, own)| line(search.name, own, Told::cost)).collect()
}

const MOVED: &str = "tuples read and written";

fn run_by_columns(setting: &Setting) -> Result<Outcome> {
    let (mut panels, mut found, mut holds) = (Vec::new(), Vec::new(), true);
    let mut nodes = Vec::new();
    for case in CASES {
        let table = case.table(setting)?;
        let mut beaten = [[0; N_INCOGNITO]; SEARCHES.len() - N_INCOGNITO];
        let mut n_points = 0;
        for k in [2, 10] {
            let told = case.by_columns(setting, &table, k)?;
            n_points += told[0].len();
            for (other, all) in told[N_INCOGNITO..].iter().zip(&mut beaten) {
                for (own, n_below) in told[..N_INCOGNITO].iter().zip(all) {
                    let pairs = own.iter().zip(other);
                    *n_below += pairs.filter(|(own, other)| own.cost() < other.cost()).count();
                }
            }
            if k == 2 {
                nodes.push(nodes_panel(&case, &told));
            }
            panels.push(Chart {
                title: format!("{}, k = {k}", case.title),
                x: Axis::linear("quasi-identifiers"),
                y: Axis::log(MOVED),
                series: costs(&told),
            });
        }
        holds &= beaten.iter().flatten().all(|&n_below| n_below == n_points);
        let told = |other: usize| beaten[other - N_INCOGNITO].map(|n| n.to_string()).join(", ");
        found.push(format!(
            "on {} basic, super-roots and cube are at {n_points} points below the search from the \
             bottom with rollup {}, without {}, and below the binary search {} times",
            case.title,
            told(ROLLUP),
            told(SCAN),
            told(BINARY)
        ));
    }
    for (case, panel) in CASES.iter().zip(&nodes) {
        let shares: Vec<f64> = {
            let pairs = panel.series[0].points.iter().zip(&panel.series[1].points);
            pairs.map(|(own, other)| own.1 / other.1).collect()
        };
        let (first, last) = (shares[0], shares[shares.len() - 1]);
        holds &= last < first && last < 1.0;
        found.push(format!(
            "on {} Incognito looks at {:.0} % of the generalizations that the search from the \
             bottom looks at with 3 columns, and at {:.0} % with {}",
            case.title,
            100.0 * first,
            100.0 * last,
            panel.series[0].points.len() + 2
        ));
    }
    panels.extend(nodes);
    let title = "What searches of a lattice cost, by the columns".to_owned();
    Ok(Outcome { title, panels, holds, found: found.join("; ") + "." })
}

/// Generalizations that are looked at, as in the paper's table.
fn nodes_panel(case: &Case, told: &[Vec<Told>]) -> Chart {
    let checked = |name: &str, at: usize| line(name, &told[at], |own| own.checked);
    Chart {
        title: format!("{}, k = 2, nodes", case.title),
        x: Axis::linear("quasi-identifiers"),
        y: Axis::log("generalizations looked at"),
        series: vec![checked("incognito", BASIC), checked("bottom-up", ROLLUP)],
    }
}

fn run_by_k(setting: &Setting) -> Result<Outcome> {
    const KS: [u64; 5] = [2, 5, 10, 25, 50];
    let (mut panels, mut found, mut holds) = (Vec::new(), Vec::new(), true);
    for case in CASES {
        let table = case.table(setting)?;
        let n_columns = setting.pick(case.by_k[0], case.by_k[1]);
        let told = |search: &Search| -> Result<Vec<Told>> {
            KS.iter()
                .map(|&k| Told::of(k as f64, &case.search(&table, k, n_columns, search)?))
                .collect()
        };
        let series = costs(&SEARCHES.iter().map(told).collect::<Result<Vec<_>>>()?);
        let ends = |own: &Series| own.points[KS.len() - 1].1 / own.points[0].1;
        let ratios: Vec<String> =
            series[..N_INCOGNITO].iter().map(|own| format!("{:.2}", ends(own))).collect();
        let turns = n_turns(&series[BINARY]);
        let all_fall = series[..N_INCOGNITO].iter().all(|own| ends(own) < 1.0);
        holds &= all_fall && turns > 0;
        found.push(format!(
            "on {} with {n_columns} columns basic, super-roots and cube cost {} times at k = 50 \
             what they cost at k = 2, and the binary search turns {turns} times",
            case.title,
            ratios.join(", ")
        ));
        panels.push(Chart {
            title: format!("{}, {n_columns} columns", case.title),
            x: Axis::log("k"),
            y: Axis::log(MOVED),
            series,
        });
    }
    let title = "What searches of a lattice cost, by k".to_owned();
    Ok(Outcome { title, panels, holds, found: found.join("; ") + "." })
}

/// How often a line that went up goes down, or the other way round.
fn n_turns(series: &Series) -> usize {
    let steps = series.points.windows(2).map(|pair| pair[1].1 - pair[0].1);
    let steps: Vec<f64> = steps.filter(|step| *step != 0.0).collect();
    steps.windows(2).filter(|pair| pair[0] * pair[1] < 0.0).count()
}

fn run_cube(setting: &Setting) -> Result<Outcome> {
    const K: u64 = 2;
    let (mut panels, mut found, mut holds) = (Vec::new(), Vec::new(), true);
    for (at, case) in CASES.iter().enumerate() {
        let table = case.table(setting)?;
        let told = |search: usize| -> Result<Vec<Told>> {
            let told =
                |size| Told::of(size as f64, &case.search(&table, K, size, &SEARCHES[search])?);
            case.sizes(setting).map(told).collect()
        };
        let (cube, basic) = (told(CUBED)?, told(BASIC)?);
        let panel = |what: &str, of: fn(&MovedTuples) -> u64| Chart {
            title: format!("{}, {what}", case.title),
            x: Axis::linear("quasi-identifiers"),
            y: Axis::log(&format!("tuples {what}")),
            series: vec![
                line("computing the cube", &cube, |own| of(&own.cube_moved) as f64),
                line("searching with it", &cube, |own| {
                    (of(&own.moved) - of(&own.cube_moved)) as f64
                }),
                line("searching without", &basic, |own| of(&own.moved) as f64),
            ],
        };
        panels.extend([panel("read", |own| own.read), panel("written", |own| own.written)]);
        let last = cube.len() - 1;
        let made = (cube[last].cube_moved.read + cube[last].cube_moved.written) as f64;
        let (all, without) = (cube[last].cost(), basic[last].cost());
        let is_below = cube.iter().zip(&basic).all(|(cube, basic)| {
            cube.cost() - ((cube.cube_moved.read + cube.cube_moved.written) as f64) < basic.cost()
        });
        // The first table is the small one.
        holds &= is_below && (all < without) == (at == 0);
        found.push(format!(
            "on {} with {} columns computing the cube moves {:.2} times and searching with it \
             {:.2} times what a search without moves, and writes {:.2} times what that writes",
            case.title,
            cube[last].x,
            made / without,
            (all - made) / without,
            cube[last].cube_moved.written as f64 / basic[last].moved.written as f64
        ));
    }
    let title = "What frequency sets of all subsets cost beforehand, and save".to_owned();
    Ok(Outcome { title, panels, holds, found: found.join("; ") + "." })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::experiment::ExperimentScale;

    const COLUMNS: usize = 3;

    fn searched() -> (Searched, Vec<LatticeReport>) {
        let setting = Setting { scale: ExperimentScale::Small, seed: 1 };
        let of = CASES[0].table(&setting).unwrap();
        let reports = SEARCHES.iter().map(|own| CASES[0].search(&of, 5, COLUMNS, own).unwrap());
        let reports = reports.collect();
        (of, reports)
    }

    #[test]
    fn all_searches_find_the_same_generalizations_of_least_height() {
        let (_, reports) = searched();
        let least = |report: &LatticeReport| {
            let height = report.minimal.iter().map(|own| own.height).min().unwrap();
            let own = report.minimal.iter().filter(|own| own.height == height);
            own.map(|own| own.levels.clone()).collect::<BTreeSet<_>>()
        };
        assert!(reports.iter().all(|own| least(own) == least(&reports[0])));
    }

    #[test]
    fn a_search_without_rollup_reads_all_tuples_of_the_table_for_each_node() {
        let (of, reports) = searched();
        let columns: Vec<Vec<Option<u32>>> =
            CASES[0].columns[..COLUMNS].iter().map(|name| of.table.rows().labels(name)).collect();
        let tuple = |row: usize| columns.iter().map(|own| own[row]).collect::<Vec<_>>();
        let n_tuples = (0..columns[0].len()).map(tuple).collect::<BTreeSet<_>>().len() as u64;
        for at in [SCAN, BINARY] {
            assert_eq!(reports[at].moved.read, reports[at].checked * n_tuples);
        }
        assert!(reports[ROLLUP].moved.read < reports[SCAN].moved.read);
        assert_eq!(reports[ROLLUP].moved.written, reports[SCAN].moved.written);
        for (at, own) in reports.iter().enumerate() {
            assert_eq!(own.cube_moved != MovedTuples::default(), at == CUBED);
            assert!(own.cube_moved.read <= own.moved.read);
        }
    }

    #[test]
    fn a_line_turns_where_it_goes_down_after_going_up() {
        let line = |ys: &[f64]| {
            Series::new("", ys.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect())
        };
        assert_eq!(n_turns(&line(&[1.0, 2.0, 2.0, 1.0, 3.0])), 2);
        assert_eq!(n_turns(&line(&[3.0, 2.0, 2.0, 1.0])), 0);
    }
}
