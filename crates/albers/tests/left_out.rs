//! The attack of somebody who looks at a release, its manifest and its codebook, at order, types and
//! digits, to learn of rows that are not in it: two tables that publish the same rows publish the same bytes,
//! in all files, whatever they leave out, as long as they leave out as many.
//!
//! ```text
//!   table a   groups of equal rows + some rows alone ──┐
//!                                                      ├──► the same bytes
//!   table b   the same groups + others alone         ──┘
//! ```

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod accept;

use std::path::Path;

use albers::sink::FileSink;
use albers::source::{ReadOptions, StreamSource};
use albers::{ColumnType, Job, Method, Role, Silent, Values, anonymize};

const METHODS: [Method; 10] = [
    Method::Incognito,
    Method::Samarati,
    Method::BottomUp,
    Method::AttributeSuppression,
    Method::Subtree,
    Method::OrderedSet,
    Method::Auto,
    Method::Mondrian,
    Method::Rtree,
    Method::Local,
];

/// Whether hierarchies have a part in what is shown: without them there are sets and intervals.
fn climbs(method: Method) -> bool {
    !matches!(method, Method::OrderedSet | Method::Auto | Method::Rtree)
}

/// The quasi-identifiers: their types, and the hierarchies that all methods but one climb.
const COLUMNS: [(&str, ColumnType, &str); 7] = [
    ("age", ColumnType::Integer, "ranges:5,20"),
    ("pay", ColumnType::Decimal, "suppress"),
    ("zip", ColumnType::Code, "prefix"),
    ("city", ColumnType::Text, "suppress"),
    ("born", ColumnType::Date, "dates"),
    ("seen", ColumnType::Timestamp, "suppress"),
    ("rate", ColumnType::Float, "suppress"),
];

/// Numbers that look random, by a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % end
    }

    /// The quasi-identifiers of a group.
    fn group(&mut self) -> String {
        let (age, pay, zip) = (30 + self.below(40), self.below(90), 5000 + self.below(900));
        let (city, day) = (self.below(12), 1 + self.below(28));
        let (hour, rate) = (self.below(24), self.below(40));
        format!(
            "{age},{pay}.25,{zip},city {city},1990-05-{day:02},2020-01-01 {hour:02}:00:00,{rate}e-1"
        )
    }

    /// Those of a row alone: values below and above those of the groups, new ones between them,
    /// some of the groups' own, which become more frequent, and missing ones.
    fn outlier(&mut self) -> String {
        let own = self.group();
        let at_random = self.below(2) as usize;
        let cells = own.split(',').enumerate().map(|(at, cell)| match (self.below(4), at) {
            (0, _) => String::new(),
            (1, 0) => self.below(1 << 31).to_string(),
            (1, 1) => format!("-{}.{}", self.below(1_000_000), ["5", "12345"][at_random]),
            (1, 2) => format!("{:04}", self.below(10_000)),
            (1, 3) => format!("a city {}", self.below(1000)),
            (1, 4) => format!("18{:02}-01-01", self.below(100)),
            (1, 5) => format!("1900-01-01 00:{:02}:00", self.below(60)),
            (1, _) => format!("-{}e10", 1 + self.below(1000)),
            _ => cell.to_owned(),
        });
        cells.collect::<Vec<_>>().join(",")
    }

    /// Rows alone, told apart by their notes. What they carry has other types, more digits, or is
    /// missing.
    fn outliers(&mut self, n_rows: u64) -> Vec<String> {
        const OTHERS: [&str; 8] =
            ["", "x", "007", "1e9", "0.123456", "123456789012", "2020-01-01", "true"];
        let row = |row: u64| {
            let [paid, visits, since] = [0; 3].map(|_| OTHERS[self.below(8) as usize]);
            let score = ["", "5", "0.125", "70"][self.below(4) as usize];
            format!("{},flu,{score},alone {row},{paid},{visits},{since}", self.outlier())
        };
        (0..n_rows).map(row).collect()
    }

    /// Groups of at least three rows, some with the same notes.
    fn groups(&mut self) -> Vec<String> {
        let mut rows = Vec::new();
        for _ in 0..4 + self.below(8) {
            let group = self.group();
            for _ in 0..3 + self.below(3) {
                let (score, note, visits) = (self.below(9), self.below(20), self.below(50));
                let paid = ["1.50", "2", "", "30.25"][self.below(4) as usize];
                let since = 1 + self.below(28);
                let carried = format!("{score},note {note},{paid},{visits},2021-02-{since:02}");
                rows.push(format!("{group},flu,{carried}"));
            }
        }
        rows
    }
}

/// A hierarchy of all cities with a root that is no star.
fn cities(folder: &Path) -> String {
    let groups = (0..12).map(|city| format!("city {city};Anywhere"));
    let alone = (0..1000).map(|city| format!("a city {city};Anywhere"));
    let file = folder.join("cities.csv");
    std::fs::write(&file, groups.chain(alone).collect::<Vec<_>>().join("\n")).unwrap();
    file.to_str().unwrap().to_owned()
}

fn job(method: Method, draws: &mut Draws, cities: &str) -> Job {
    let mut job = Job {
        k: Some(3),
        method: Some(method),
        threads: Some(1),
        accept: accept::all(),
        ..Job::default()
    };
    job.suppress = Some(0.4);
    job.values = Some(Values::Interval);
    job.seed = Some(draws.below(3));
    for (name, column_type, hierarchy) in COLUMNS {
        job.set_role(name, Role::Quasi).unwrap();
        let column = job.column(name);
        column.column_type = Some(column_type);
        if climbs(method) {
            let hierarchy = if name == "city" { cities } else { hierarchy };
            column.hierarchy = Some(hierarchy.parse().unwrap());
        }
    }
    if matches!(method, Method::Incognito | Method::Samarati | Method::BottomUp) {
        // Labels in one column at least, and sometimes the top.
        job.column("age").level = Some(draws.below(3) as u16);
        job.column("born").level = Some(draws.below(4) as u16);
        job.column("city").level = Some(draws.below(2) as u16);
    }
    job.set_role("ill", Role::Sensitive).unwrap();
    job.set_role("score", Role::Sensitive).unwrap();
    for name in ["note", "paid", "visits", "since"] {
        job.set_role(name, Role::Keep).unwrap();
    }
    job
}

/// The bytes of the release of some rows, in a file with this ending, and of what stands beside it: its
/// manifest, and its codebook for people and for programs.
fn released(job: &Job, rows: &[String], ending: &str) -> Option<[Vec<u8>; 4]> {
    let header = "age,pay,zip,city,born,seen,rate,ill,score,note,paid,visits,since";
    let text = format!("{header}\n{}\n", rows.join("\n"));
    let reader = Box::new(std::io::Cursor::new(text.into_bytes()));
    let source = StreamSource::text(reader, "a pipe", None, &ReadOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join(format!("release.{ending}"));
    let manifest = folder.path().join("release.json");
    let codebooks = albers::files::codebook_paths(&output);
    let sink = FileSink::new(&output, None, Some(manifest.clone())).unwrap();
    let sink = sink.with_texts(&codebooks);
    let report = anonymize(job, &source, vec![Box::new(sink)], &Silent).ok()?;
    assert_eq!(report.rows + report.suppressed, rows.len() as u64);
    let [page, codebook] = codebooks;
    Some([output, manifest, page, codebook].map(|path| std::fs::read(path).unwrap()))
}

/// The same job, which leaves it to the cells what types they have. All rows decide then whether a column
/// is one of numbers or of names, and so how it is shown, which the manifest says: where it says the same,
/// the codebook must too.
fn without_types(job: &Job) -> Job {
    let mut job = job.clone();
    job.columns.values_mut().for_each(|column| column.column_type = None);
    job
}

/// The values of a release, row by row, whatever zeros end their fractions, and whether or not the
/// top of a hierarchy stands for missing values: no group has any.
fn values_of(bytes: &[u8]) -> Vec<String> {
    let is_digit = |letter: char| letter.is_ascii_digit() || letter == '.';
    let short = |word: &str| match word.contains('.') {
        true => word.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => word.to_owned(),
    };
    let value_of = |line: &str| -> String {
        let line = line.replace("\"{, Anywhere}\"", "Anywhere");
        let words = line.split_inclusive(|letter| !is_digit(letter));
        let words = words.map(|word| {
            let end = word.trim_end_matches(|letter| !is_digit(letter)).len();
            format!("{}{}", short(&word[..end]), &word[end..])
        });
        words.collect()
    };
    let mut lines: Vec<String> =
        std::str::from_utf8(bytes).unwrap().lines().skip(1).map(value_of).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn what_is_published_tells_nothing_of_rows_that_are_left_out_but_their_number() {
    const N_CASES: u64 = 24;
    let folder = tempfile::tempdir().unwrap();
    let cities = cities(folder.path());
    for method in METHODS {
        let (mut n_same, mut n_told) = (0, 0);
        for case in 0..N_CASES {
            let mut draws = Draws(case * 1_000_003 + 17);
            let mut job = job(method, &mut draws, &cities);
            let groups = draws.groups();
            let n_alone = 1 + draws.below(4);
            let tables = [0, 1].map(|_| [groups.clone(), draws.outliers(n_alone)].concat());
            let releases = tables.each_ref().map(|rows| released(&job, rows, "csv"));
            let [Some(a), Some(b)] = &releases else { continue };
            if values_of(&a[0]) != values_of(&b[0]) {
                continue;
            }
            n_same += 1;
            assert!(a == b, "{method}, case {case}: the same rows, other bytes");
            let told = without_types(&job);
            let files = tables.each_ref().map(|rows| released(&told, rows, "csv"));
            if let [Some(a), Some(b)] = &files
                && a[..2] == b[..2]
            {
                n_told += 1;
                assert!(a[2..] == b[2..], "{method}, case {case}: other codebooks of one release");
            }
            for (values, ending) in [
                (Values::Interval, "parquet"),
                (Values::Interval, "csv.gz"),
                (Values::Bounds, "csv"),
                (Values::Bounds, "parquet"),
                (Values::Mean, "csv"),
                (Values::Mean, "parquet"),
                (Values::Features, "csv"),
                (Values::Features, "parquet"),
            ] {
                if values == Values::Mean && climbs(method) {
                    // Labels have no means.
                    continue;
                }
                job.values = Some(values);
                let files = tables.each_ref().map(|rows| released(&job, rows, ending).unwrap());
                assert!(files[0] == files[1], "{method}, case {case}: {values} {ending}");
            }
        }
        assert!(n_same >= N_CASES / 2, "{method}: only {n_same} pairs publish the same rows");
        assert!(n_told > 0, "{method}: types were told of nothing");
    }
}
