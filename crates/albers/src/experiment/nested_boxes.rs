//! What a BANG file and an R+-tree lose, by k.
//!
//! Source: Anjum & Raschia 2017, section 5.3 and figures 9, 10 and 11.
//! Departures: one build at k = 5 serves every k, as the paper's does. All columns are ordered, names
//! by their ranks, so that both indexes see the same codes. Both are shown by the bounds of their
//! rows; the paper has enclosing regions for the one and bounds for the other. The baseline of
//! discernibility, which the paper does not name, is the least there can be: k for every row.
//! Guarantee: figures are those of the owner's report.

use albers_generate::{Kind, Options};
use albers_index::granularity::Granularity;
use albers_table::schema::ColumnType;

use super::trial::Table;
use super::{Experiment, Outcome, Setting};
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{Job, Method};
use crate::report::Report;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "nested-boxes-by-k",
    source: "Anjum and Raschia 2017, figures 9 to 11",
    claim: "A BANG file whose blocks are clustered loses less than an R+-tree with a leaf scan, in \
            certainty, in discernibility and in divergence, at every k.",
    seed: 9,
    run,
};

/// An index, and how its leaves are brought together.
struct Contender {
    name: &'static str,
    method: Method,
    granularity: Granularity,
}

const CONTENDERS: [Contender; 5] = [
    Contender {
        name: "rtree, leaf-scan",
        method: Method::Rtree,
        granularity: Granularity::LeafScan,
    },
    Contender { name: "rtree, cut", method: Method::Rtree, granularity: Granularity::Cut },
    Contender { name: "bang, nested", method: Method::Bang, granularity: Granularity::Nested },
    Contender {
        name: "bang, dendrogram",
        method: Method::Bang,
        granularity: Granularity::Dendrogram,
    },
    Contender {
        name: "bang, dendrogram-cut",
        method: Method::Bang,
        granularity: Granularity::DendrogramCut,
    },
];

const QUASI: [&str; 3] = ["age", "zipcode", "education"];

fn run(setting: &Setting) -> Result<Outcome> {
    let n_rows = setting.pick(4_000, 1_000_000);
    let coarser = setting.pick(&[10, 20, 50, 100][..], &[10, 20, 50, 100, 1_000, 10_000]);
    let options = Options { has_zipcode: true, ..Options::default() };
    let table = Table::generate(Kind::Adult, n_rows, setting.seed, &options)?.ranked(&QUASI);
    let mut series: [Vec<Series>; 3] = Default::default();
    for contender in CONTENDERS {
        let mut job = table.job(5, &QUASI)?;
        job.method = Some(contender.method);
        job.granularity = Some(contender.granularity);
        job.also_k = coarser.to_vec();
        for name in QUASI {
            job.column(name).hierarchy = None;
            job.column(name).column_type = Some(ColumnType::Integer);
        }
        let lines = lines_of(&table.report(&job)?, &job);
        for (all, points) in series.iter_mut().zip(lines) {
            all.push(Series::new(contender.name, points));
        }
    }
    let (holds, found) = verdict(&series);
    let axes = [
        Axis::log("certainty penalty per row and column"),
        Axis::linear("log2 of discernibility by its least"),
        Axis::linear("divergence, nats"),
    ];
    let titles = ["certainty", "discernibility", "divergence"];
    let panels = titles.iter().zip(axes).zip(series).map(|((title, y), series)| Chart {
        title: (*title).to_owned(),
        x: Axis::log("k"),
        y,
        series,
    });
    let title = "What nested boxes lose, beside boxes side by side".to_owned();
    Ok(Outcome { title, panels: panels.collect(), holds, found })
}

/// The certainty penalty, the discernibility and the divergence of all releases, by k. The divergence
/// of nested classes is what it is at most.
fn lines_of(report: &Report, job: &Job) -> [Vec<(f64, f64)>; 3] {
    let also = report.also.iter().map(|own| (own.k, &own.report));
    let mut releases: Vec<(u64, &Report)> = vec![(job.k.unwrap_or(1), report)];
    releases.extend(also);
    releases.sort_by_key(|(k, _)| *k);
    let line = |of: &dyn Fn(u64, &Report) -> f64| {
        releases.iter().map(|(k, own)| (*k as f64, of(*k, own))).collect()
    };
    [
        line(&|_, own| own.table_loss.ncp),
        line(&|k, own| (own.table_loss.discernibility / (k * own.rows) as f64).log2()),
        line(&|_, own| own.kl.or(own.kl_at_most).unwrap_or(f64::NAN)),
    ]
}

/// Whether some way of clustering is below the leaf scan at every k, and how it stands.
fn verdict(series: &[Vec<Series>; 3]) -> (bool, String) {
    let words = ["certainty", "discernibility", "divergence"];
    let mut holds = true;
    let mut found = Vec::new();
    for (word, panel) in words.iter().zip(series) {
        let scan = &panel[0].points;
        let n_below = (0..scan.len()).filter(|&at| {
            let bang = panel[2..].iter().map(|own| own.points[at].1);
            bang.fold(f64::INFINITY, f64::min) < scan[at].1
        });
        let n_below = n_below.count();
        holds &= n_below == scan.len();
        found.push(format!(
            "the best of bang is below the leaf scan in {word} at {n_below} of {} k",
            scan.len()
        ));
    }
    (holds, found.join("; ") + ".")
}
