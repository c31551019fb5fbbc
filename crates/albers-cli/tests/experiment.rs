//! The experiments of the papers through the real binary: files, verdicts, and mistakes.

mod common;

use common::Folder;
use serde_json::Value;

const NAMES: [&str; 23] = [
    "class-size-by-k",
    "entropy-by-l",
    "imprecision-by-k",
    "external-cost",
    "sample-size",
    "pruning",
    "nested-boxes-by-k",
    "point-query-error",
    "window-query-error",
    "build-cost-by-k",
    "incremental-cost",
    "moved-by-rows",
    "moved-by-memory",
    "compaction-cost",
    "quality-by-k",
    "incremental-quality",
    "query-error-by-k",
    "query-error-by-selectivity",
    "bias-by-k",
    "bias-by-selectivity",
    "search-by-columns",
    "search-by-k",
    "cube-cost",
];

#[test]
fn all_experiments_write_their_points_and_their_figure_and_the_same_bytes_again() {
    let folder = Folder::new();
    let run = folder.run("experiment all -o a");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.out.lines().count(), NAMES.len(), "{}", run.out);
    for (name, line) in NAMES.iter().zip(run.out.lines()) {
        assert!(line.starts_with(&format!("{name}: the claim ")), "{line}");
        let rows = folder.csv(&format!("a/{name}.csv"));
        assert_eq!(rows[0], ["panel", "series", "x_name", "x", "y_name", "y"]);
        assert!(rows.len() > 4 && rows[1..].iter().all(|row| row[5].parse::<f64>().is_ok()));
        let svg = folder.read(&format!("a/{name}.svg"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("<desc>") && !svg.contains("NaN"));
    }
    let again = folder.run("experiment all --scale small -o b");
    assert_eq!(run.out, again.out);
    for name in NAMES {
        for ending in ["csv", "svg"] {
            let bytes = |place: &str| folder.bytes(&format!("{place}/{name}.{ending}"));
            assert_eq!(bytes("a"), bytes("b"), "{name}.{ending}");
        }
    }
}

#[test]
fn one_experiment_tells_what_it_found_as_json() {
    let folder = Folder::new();
    let run = folder.run("experiment imprecision-by-k -o out --json");
    assert_eq!(run.code, Some(0), "{}", run.err);
    let printed: Value = serde_json::from_str(&run.out).unwrap();
    let [own] = &printed["experiments"].as_array().unwrap()[..] else { panic!("{printed}") };
    assert_eq!(own["name"], "imprecision-by-k");
    assert_eq!(own["scale"], "small");
    assert!(own["holds"].is_boolean() && own["found"].as_str().unwrap().contains("median"));
    assert!(own["source"].as_str().unwrap().contains("figure 12"));
    assert!(folder.path(own["csv"].as_str().unwrap()).exists());
    assert!(folder.path(own["svg"].as_str().unwrap()).exists());
}

#[test]
fn the_list_names_every_experiment_and_writes_nothing() {
    let folder = Folder::new();
    let run = folder.run("experiment --list");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(NAMES.iter().all(|name| run.out.contains(&format!("{name}: "))), "{}", run.out);
    let run = folder.run("experiment --list --json");
    let printed: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(printed["experiments"].as_array().unwrap().len(), NAMES.len());
    assert!(folder.names().is_empty());
}

#[test]
fn mistakes_are_refused_before_anything_is_run() {
    let folder = Folder::new();
    let run = folder.run("experiment figure-8 -o out");
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("figure-8"), "{}", run.err);
    assert!(NAMES.iter().all(|name| run.err.contains(name)), "{}", run.err);
    assert!(!folder.path("out").exists());
    for flags in ["", "all", "-o out", "all --scale huge -o out", "all --list"] {
        assert_eq!(folder.run(&format!("experiment {flags}")).code, Some(2), "{flags}");
    }
    folder.write("file", "not a folder");
    let run = folder.run("experiment all -o file");
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("file") && run.out.is_empty(), "{}", run.err);
    std::fs::create_dir_all(folder.path("taken/entropy-by-l.svg")).unwrap();
    let run = folder.run("experiment all -o taken");
    assert_eq!(run.code, Some(2));
    assert!(!folder.path("taken/class-size-by-k.csv").exists(), "nothing was run");
}
