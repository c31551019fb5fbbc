//! The SQL that `query` writes gives its answers, in DuckDB and in PostgreSQL.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
#![allow(clippy::print_stdout, reason = "a test says which databases it did not try")]

mod common;
mod query_sql {
    pub mod databases;
}

use common::Folder;
use query_sql::databases::Database;
use serde_json::Value;

/// People of all kinds of columns, some with missing values.
fn people(n_rows: u32) -> String {
    let mut table = "age,born,height,sex,zip,job,stay,diagnosis\n".to_owned();
    let mut state = 7u32;
    let mut draw = |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % n
    };
    for _ in 0..n_rows {
        let age = draw(80) + 10;
        let age = if draw(15) == 0 { String::new() } else { age.to_string() };
        let born = format!("19{:02}-{:02}-{:02}", draw(60) + 30, draw(12) + 1, draw(28) + 1);
        let height = format!("{}.{}", 150 + draw(40), draw(10));
        let sex = ["f", "m", "d"][draw(3) as usize];
        let zip = format!("0{}{}{}", draw(3), draw(4), draw(10));
        let job = ["nurse", "surgeon", "teacher", "professor"][draw(4) as usize];
        let diagnosis = ["asthma", "o'neill", "flu"][draw(3) as usize];
        table += &format!("{age},{born},{height},{sex},{zip},{job},{},{diagnosis}\n", draw(20));
    }
    table
}

const JOBS: &str = "nurse,health,*\nsurgeon,health,*\nteacher,school,*\nprofessor,school,*\n";

const CONDITIONS: [&str; 14] = [
    "age between 40 and 50",
    "age < 30 or age > 70",
    "age = 33",
    "age is null",
    "not (age between 20 and 60)",
    "born >= '1960-05-01' and born < '1975-01-01'",
    "height > 170.5",
    "sex = 'f'",
    "sex in ('f', 'm') and age >= 18",
    "zip = '0123'",
    "zip between '0100' and '0199'",
    "job = 'nurse' or diagnosis = 'o''neill'",
    "job = 'teacher' and stay > 5 and diagnosis <> 'flu'",
    "(age < 40 and sex = 'f') or (height > 175 and job = 'surgeon') or zip = '0000'",
];

/// What the program answers, and what a database does to the SQL that it writes.
fn check(folder: &Folder, release: &str, conditions: &[&str], databases: &[Database]) {
    for condition in conditions {
        let run = folder.run_with(&["query", release, condition, "--json"]);
        assert_eq!(run.code, Some(0), "{condition}: {}", run.said());
        let told: Value = serde_json::from_str(&run.out).unwrap();
        let told =
            ["overlap", "estimate", "lower", "upper"].map(|name| told[name].as_f64().unwrap());
        for database in databases {
            let dialect = database.dialect();
            let sql = folder.run_with(&["query", release, condition, "--sql", dialect]);
            assert_eq!(sql.code, Some(0), "{condition}: {}", sql.said());
            let text = folder.read(release);
            let header = text.lines().next().unwrap();
            let root = folder.path("");
            let found = database.answers(&root, release, header, &sql.out);
            let [found] = &found[..] else { panic!("{condition}: {found:?}\n{}", sql.out) };
            for (told, found) in told.iter().zip(found) {
                let is_same = (told - found).abs() <= 1e-6 * told.abs().max(1.0);
                assert!(is_same, "{dialect}, {condition}: {told} and {found}\n{}", sql.out);
            }
        }
    }
}

#[test]
fn sql_gives_the_same_answers_of_intervals_bounds_sets_and_labels() {
    let databases = Database::all("sql_gives_the_same_answers");
    let folder = Folder::with(people(400));
    folder.write("jobs.csv", JOBS);
    let columns = "--quasi age,born,height,sex,zip,job --hierarchy zip=prefix --hierarchy \
                   job=jobs.csv --keep stay --sensitive diagnosis";
    for (name, more) in
        [("intervals.csv", ""), ("bounds.csv", "--values bounds"), ("regions.csv", "--no-compact")]
    {
        let run = folder.run(&format!("anonymize in.csv -o {name} -k 5 {columns} {more}"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        check(&folder, name, &CONDITIONS, &databases);
    }
}

#[test]
fn sql_tells_nested_classes_by_elementary_ranges_and_refuses_too_many() {
    let databases = Database::all("sql_tells_nested_classes");
    let mut table = "x,y,kind\n".to_owned();
    for place in 0..240 {
        let (x, y) = if place % 2 == 0 { (place % 9, place % 7) } else { (place % 97, place % 89) };
        table += &format!("{x},{y},{}\n", place % 3);
    }
    let folder = Folder::with(table);
    for (name, more) in [("nested.csv", "--no-compact"), ("compacted.csv", "--values bounds")] {
        let flags = "-k 5 --quasi x,y --keep kind --method bang";
        let run = folder.run(&format!("anonymize in.csv -o {name} {flags} {more}"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        let level = folder.read(name);
        assert!(level.lines().any(|line| line.ends_with(",1,0") || line.contains(",1,")));
        let conditions = [
            "x = 4 and y = 3",
            "x < 20",
            "x between 3 and 60 and y > 40 and kind = 1",
            "x < 5 or y < 5",
        ];
        check(&folder, name, &conditions, &databases);
    }
    let mut wide = "a,b,c,d\n".to_owned();
    for place in 0..600u64 {
        let number = |step: u64| place * step % 997;
        wide += &format!("{},{},{},{}\n", number(7), number(31), number(101), number(211));
    }
    folder.write("wide.csv", wide);
    folder.run("anonymize wide.csv -o wide-release.csv -k 3 --quasi a,b,c,d --method bang");
    let run = folder.run_with(&["query", "wide-release.csv", "a < 20", "--sql", "duckdb"]);
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("elementary ranges, more than 1000000"), "{}", run.err);
}

#[test]
fn sql_is_for_counts_only() {
    let folder = Folder::with(people(60));
    folder.run("anonymize in.csv -o out.csv -k 5 --quasi age,sex --keep stay");
    let run = folder.run("query out.csv --sql duckdb --group-by sex");
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("drop --group-by, --sum and --avg"), "{}", run.err);
}
