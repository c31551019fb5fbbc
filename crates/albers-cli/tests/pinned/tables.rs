//! The tables of the pinned jobs: made by the program, or written here where they are awkward.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float32Array, LargeStringArray, UInt32Array};

use super::cells::{self, Cell};
use super::outcome::digest_of;
use crate::common::{Numbers, advised, array, finished, write_parquet};

/// Tables that the program makes, in every format: their name, and what makes them.
const GENERATED: [(&str, &str); 5] = [
    ("adult", "adult -n 1000 --seed 11 --hierarchies adult-trees"),
    ("customer", "customer -n 5000 --seed 12"),
    ("agrawal", "agrawal -n 6000 --seed 13 --class c2 --target r7"),
    ("lands-end", "lands-end -n 4000 --seed 14 --hierarchies lands-end-trees"),
    ("voters", "voters -n 700 --seed 15"),
];

/// Above 131,072 rows the top of the tree is grown on a sample.
const SAMPLED: &str = "generate voters -n 140000 --seed 16 -o sampled.csv";

/// Columns for which a hierarchy is written that takes values together by how they begin.
const TREES: [(&str, &str, usize); 9] = [
    ("customer", "gender", 0),
    ("customer", "birth-date", 4),
    ("customer", "postal-code", 2),
    ("customer", "income", 1),
    ("agrawal", "age", 1),
    ("agrawal", "elevel", 0),
    ("agrawal", "car", 1),
    ("agrawal", "hyears", 1),
    ("voters", "zipcode", 3),
];

/// Makes all tables in a folder.
pub fn make(program: &Path, folder: &Path) {
    let run = |line: &str| {
        let run_line = |line: &str| {
            let mut command = std::process::Command::new(program);
            finished(command.current_dir(folder).args(line.split_whitespace()))
        };
        let mut run = run_line(line);
        if let Some(accept) = advised(&run) {
            run = run_line(&format!("{line} --accept {accept}"));
        }
        assert_eq!(run.code, Some(0), "{line}: {}", run.said());
    };
    for (name, rest) in GENERATED {
        for ending in ["csv", "csv.gz", "tsv", "parquet"] {
            run(&format!("generate {rest} --force -o {name}.{ending}"));
        }
        let text = read(folder, &format!("{name}.csv"));
        assert!(!text.contains(['"', ';']), "{name}: cells would have to be quoted");
        write(folder, &format!("{name}.semicolon.csv"), text.replace(',', ";"));
    }
    run(SAMPLED);
    for (table, column, n_letters) in TREES {
        write_tree(folder, table, column, n_letters);
    }
    for (name, n_rows) in [("visits", 900), ("clinic", 9_000)] {
        write_visits(folder, name, n_rows);
    }
    write_odd(folder);
    write_zones(folder);
    write_releases(folder);
    write_faulty(folder);
    write(folder, "job.toml", JOB);
    write(
        folder,
        "method.toml",
        "method = \"incognito\"\nminimize = \"height\"\nsuppress = 0.05\n",
    );
    write(folder, "roles.toml", ROLES);
    run("anonymize visits.csv -o regions.csv -k 5 --quasi age,born,code --keep row --no-compact");
    for ending in ["manifest.json", "codebook.json", "codebook.md"] {
        std::fs::remove_file(folder.join(format!("regions.csv.{ending}"))).unwrap();
    }
}

/// The digest of every file in a folder and the folders in it.
pub fn digests(folder: &Path) -> BTreeMap<String, String> {
    let mut digests = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(own) = folders.pop() {
        for entry in std::fs::read_dir(&own).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            digests.insert(name, digest_of(&path));
        }
    }
    digests
}

/// A job as a file says it, with a column that others say nothing of.
const JOB: &str = "\
input = \"visits.csv\"
k = 6
method = \"mondrian\"
split = \"median\"
seed = 9
missing = [\"n/a\"]

[columns.age]
role = \"quasi\"
weight = 2.5

[columns.born]
role = \"quasi\"
hierarchy = \"dates\"

[columns.city]
role = \"quasi\"
hierarchy = \"visits-city.csv\"

[columns.diagnosis]
role = \"sensitive\"
l-diversity = \"distinct:3\"

[columns.row]
role = \"identifier\"

[columns.note]
role = \"keep\"
";

/// Roles alone: a compaction has no method.
const ROLES: &str = "\
seed = 5
values = \"bounds\"

[columns.age]
role = \"quasi\"

[columns.born]
role = \"quasi\"

[columns.code]
role = \"quasi\"
hierarchy = \"prefix\"

[columns.diagnosis]
role = \"sensitive\"
l-diversity = \"distinct:2\"
";

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// A hierarchy of two levels over the values of a column of a table without quotes.
fn write_tree(folder: &Path, table: &str, column: &str, n_letters: usize) {
    let text = read(folder, &format!("{table}.csv"));
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = rows.next().unwrap().iter().position(|name| *name == column).unwrap();
    let values: BTreeSet<&str> = rows.map(|row| row[at]).collect();
    let start = |value: &str| value.chars().take(n_letters).collect::<String>();
    let lines = values.iter().map(|value| match n_letters {
        0 => format!("{value};*\n"),
        _ => format!("{value};{}…;*\n", start(value)),
    });
    write(folder, &format!("{table}-{column}.csv"), lines.collect::<String>());
}

const CITIES: [&str; 7] =
    ["Köln, \"Altstadt\"", "Zürich", "São Paulo", "東京", "O'Fallon", "Ås", "n/a"];
const DIAGNOSES: [&str; 6] = ["asthma", "gout; acute", "n/a", "migraine", "angina", "fracture"];

const VISIT_COLUMNS: [&str; 14] = [
    "row",
    "person",
    "age",
    "born",
    "seen",
    "change",
    "debt",
    "dose",
    "city",
    "code",
    "smoker",
    "diagnosis",
    "pay",
    "note",
];

/// A visit: cells of every type, some of them missing.
fn visit(row: usize, numbers: &mut Numbers) -> Vec<Cell> {
    let mut pick = |end: u64| numbers.below(end) as i64;
    let age = pick(97);
    let age_cell = if pick(25) == 0 { Cell::Missing } else { Cell::Integer(age) };
    let born = 19_500 - age * 365 - pick(365);
    let born = if pick(40) == 0 { Cell::Missing } else { Cell::Date(born) };
    let seen = 1_700_000_000 + pick(120) * 86_400 + pick(3) * 20_700;
    let debt = age * 350 + pick(60) * 25 - 9_000;
    let city = match pick(11) {
        at @ 0..=6 => Cell::Text(CITIES[at as usize].to_owned()),
        7 => Cell::Missing,
        at => Cell::Text(CITIES[at as usize - 8].to_owned()),
    };
    let diagnosis = match pick(8) {
        at @ 0..=5 => Cell::Text(DIAGNOSES[at as usize].to_owned()),
        6 => Cell::Missing,
        _ => Cell::Text(DIAGNOSES[0].to_owned()),
    };
    let pay = if pick(30) == 0 { Cell::Missing } else { Cell::Integer(900 + age * 20 + pick(800)) };
    vec![
        Cell::Text(format!("r{row:05}")),
        Cell::Text(format!("P{:04}", pick(480))),
        age_cell,
        born,
        Cell::Time(seen),
        Cell::Integer(pick(81) - 40),
        Cell::Decimal(debt),
        Cell::Float(pick(60) as f64 / 1_024.0),
        city,
        Cell::Text(format!("{:05}", 1_000 + pick(12) * 7 + pick(3) * 1_000)),
        Cell::Flag(pick(3) == 0),
        diagnosis,
        pay,
        Cell::Text(
            ["", "plain", "two\nlines", "a \"quoted\" word", "tab\tand;more"][pick(5) as usize]
                .to_owned(),
        ),
    ]
}

/// Visits in all formats, and the hierarchy of their cities.
fn write_visits(folder: &Path, name: &str, n_rows: usize) {
    let mut numbers = Numbers::new(n_rows as u64);
    let rows: Vec<Vec<Cell>> = (0..n_rows).map(|row| visit(row, &mut numbers)).collect();
    let comma = cells::text_of(&VISIT_COLUMNS, &rows, ',');
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, comma.as_bytes()).unwrap();
    write(folder, &format!("{name}.csv.gz"), packed.finish().unwrap());
    write(folder, &format!("{name}.csv"), comma);
    write(folder, &format!("{name}.tsv"), cells::text_of(&VISIT_COLUMNS, &rows, '\t'));
    write(folder, &format!("{name}.semicolon.csv"), cells::text_of(&VISIT_COLUMNS, &rows, ';'));
    let columns = VISIT_COLUMNS.iter().enumerate();
    let columns =
        columns.map(|(at, name)| (*name, cells::array_of(rows.iter().map(|row| &row[at]))));
    write_parquet(&folder.join(format!("{name}.parquet")), columns.collect());
    let city = |(at, city): (usize, &&str)| {
        let part = ["west", "south", "far away"][at % 3];
        format!("\"{}\";{part};*\n", city.replace('"', "\"\""))
    };
    let lines: String = CITIES.iter().enumerate().map(city).collect();
    write(folder, &format!("{name}-city.csv"), lines);
}

/// Types of Parquet that text files do not have.
fn write_odd(folder: &Path) {
    let mut numbers = Numbers::new(5);
    let mut pick = |end: u64| numbers.below(end);
    let n_rows = 300;
    let small: Vec<Option<u32>> =
        (0..n_rows).map(|_| (pick(20) > 0).then_some(4_000_000_000 + pick(90) as u32)).collect();
    let single: Vec<Option<f32>> =
        (0..n_rows).map(|_| (pick(30) > 0).then_some(pick(64) as f32 / 8.0 - 3.5)).collect();
    let long: Vec<String> = (0..n_rows).map(|_| format!("ward {}", pick(9))).collect();
    let word: Vec<&str> =
        (0..n_rows).map(|_| ["aspirin", "lithium", "none", "ozone"][pick(4) as usize]).collect();
    let word: DictionaryArray<Int32Type> = word.into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("small", array(UInt32Array::from(small))),
        ("single", array(Float32Array::from(single))),
        ("long", array(LargeStringArray::from(long))),
        ("word", array(word)),
    ];
    write_parquet(&folder.join("odd.parquet"), columns);
}

/// Points in time with offsets, and numbers near the ends of what 64 bits hold.
fn write_zones(folder: &Path) {
    let mut numbers = Numbers::new(8);
    let mut pick = |end: u64| numbers.below(end) as i64;
    let mut text = "seen,far,share\n".to_owned();
    for _ in 0..240 {
        let (day, hour, fraction) = (1 + pick(29), pick(24), ["", ".5", ".125"][pick(3) as usize]);
        let offset = ["Z", "+02:00", "-05:30"][pick(3) as usize];
        let far = [i64::MIN + pick(9), pick(9), i64::MAX - pick(9)][pick(3) as usize];
        let share = format!("{}e-{}", 1 + pick(9), pick(4));
        text.push_str(&format!(
            "2024-02-{day:02}T{hour:02}:15:00{fraction}{offset},{far},{share}\n"
        ));
    }
    write(folder, "zones.csv", text);
}

/// Releases of the visits in the notation of others.
fn write_releases(folder: &Path) {
    let mut numbers = Numbers::new(900);
    let rows: Vec<Vec<Cell>> = (0..900).map(|row| visit(row, &mut numbers)).collect();
    let mut decades = "row,age,smoker\n".to_owned();
    let mut stars = "smoker;city;row\n".to_owned();
    for (at, row) in rows.iter().enumerate() {
        let [key, smoker] = [&row[0], &row[10]].map(Cell::text);
        let decade = match row[2] {
            Cell::Integer(age) => format!("{}0-{}9", age / 20 * 2, age / 20 * 2 + 1),
            _ => "?".to_owned(),
        };
        decades.push_str(&format!("{key},{decade},{smoker}\n"));
        if at % 50 > 0 {
            stars.push_str(&format!("*;part {};{key}\n", at % 7));
        }
    }
    write(folder, "decades.csv", decades);
    write(folder, "stars.csv", stars);
}

/// What mistakes are made with.
fn write_faulty(folder: &Path) {
    let good = read(folder, "voters.csv");
    let lines: Vec<&str> = good.lines().collect();
    let with = |line: usize, text: &str| {
        let mut lines = lines.clone();
        lines[line] = text;
        lines.join("\n") + "\n"
    };
    write(folder, "bad-cells.csv", with(9, "41,02180"));
    write(folder, "bad-cell.csv", with(300, "forty,02180,30000"));
    write(folder, "bad-quote.csv", with(40, "\"41,02180,30000"));
    write(folder, "bad-header.csv", with(0, "age,zipcode,age"));
    write(folder, "bad-infinite.csv", with(5, "inf,02180,30000"));
    write(folder, "bad-empty.csv", "");
    write(folder, "bad-rows.csv", "age,zipcode,salary\n");
    write(folder, "bad-packed.csv.gz", &good);
    write(folder, "bad-whole.parquet", &good);
    write(folder, "bad-field.toml", "k = 5\ncolour = \"red\"\n");
    write(folder, "bad-tree-parents.csv", "male;one;*\nfemale;one;+\n");
    write(folder, "bad-tree-values.csv", "male;one;*\n");
    write(folder, "bad-tree-lengths.csv", "male;one;*\nfemale;*\n");
    write(folder, "bad-keys.csv", "row,age\nr00001,10\nr00001,10\n");
    write(folder, "bad-key.csv", "row,age\nr00001,10\nr99999,10\n");
}
