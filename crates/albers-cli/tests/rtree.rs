//! The index through the program: tables larger than the budget, several releases of one build.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Folder, patients, table};
use serde_json::Value;

const ROLES: &str = "--quasi age,zip,city --sensitive disease --keep pay";

fn ncp(report: &Value) -> f64 {
    report["table_loss"]["ncp"].as_f64().unwrap()
}

/// A table with a key, so that the rows of several releases can be told apart.
fn keyed(n_rows: usize, seed: u64) -> String {
    let text = table(&patients(n_rows, seed));
    let mut lines = text.lines();
    let mut keyed = format!("{},key\n", lines.next().unwrap());
    for (row, line) in lines.enumerate() {
        keyed.push_str(&format!("{line},r{row}\n"));
    }
    keyed
}

#[test]
fn in_memory_the_index_publishes_what_mondrian_publishes() {
    let folder = Folder::with(table(&patients(3_000, 7)));
    for split in ["compact", "median"] {
        for shown in ["", "--no-compact"] {
            let rest = format!("{ROLES} -k 4 --split {split} {shown}");
            folder.anonymize(&format!("in.csv -o a.csv --method mondrian {rest}"));
            let report = folder.anonymize(&format!("in.csv -o b.csv --method rtree {rest}"));
            assert_eq!(folder.read("a.csv"), folder.read("b.csv"), "{split} {shown}");
            assert_eq!(report["spilled_bytes"], 0);
        }
    }
}

#[test]
fn requirements_hold_when_the_rows_do_not_fit() {
    let folder = Folder::with(table(&patients(20_000, 3)));
    for rule in
        ["", "--l-diversity disease=distinct:3", "--alpha disease=0.6", "--t-closeness disease=0.3"]
    {
        let rest = format!("{ROLES} -k 5 {rule} --least-memory 512KB");
        let report =
            folder.anonymize(&format!("in.csv -o out.csv --method rtree --memory 512KB {rest}"));
        assert!(report["spilled_bytes"].as_u64().unwrap() > 0, "{rule}");
        assert!(report["read_back_bytes"].as_u64() >= report["spilled_bytes"].as_u64(), "{rule}");
        let check = folder
            .run(&format!("check out.csv --quasi age,zip,city --sensitive disease -k 5 {rule}"));
        assert_eq!(check.code, Some(0), "{rule}: {}", check.said());
        folder.anonymize(&format!("in.csv -o whole.csv --method mondrian {rest}"));
        assert_eq!(folder.read("out.csv"), folder.read("whole.csv"), "{rule}");
    }
}

#[test]
fn auto_spills_only_what_does_not_fit() {
    let folder = Folder::with(table(&patients(20_000, 3)));
    let spilled = |memory: &str| {
        let rest = format!("-k 5 -o out.csv --least-memory 1MB --memory {memory}");
        let report = folder.anonymize(&format!("in.csv {ROLES} {rest}"));
        assert_eq!((&report["method"], report["tried"].is_array()), (&"auto".into(), true));
        report["spilled_bytes"].as_u64().unwrap()
    };
    assert_eq!(spilled("1GB"), 0);
    assert!(spilled("1MB") > 0);
}

#[test]
fn threads_and_the_order_of_the_input_change_nothing() {
    let text = table(&patients(5_000, 9));
    let folder = Folder::with(&text);
    let (header, rows) = text.split_once('\n').unwrap();
    let mut reversed: Vec<&str> = rows.lines().collect();
    reversed.reverse();
    folder.write("reversed.csv", format!("{header}\n{}\n", reversed.join("\n")));
    let rest = format!("{ROLES} -k 3 --also-k 9 --method rtree");
    folder.anonymize(&format!("in.csv -o a.csv {rest} --threads 1"));
    for (input, threads) in [("in.csv", 4), ("reversed.csv", 2)] {
        folder.anonymize(&format!("{input} -o b.csv {rest} --threads {threads}"));
        assert_eq!(folder.read("a.csv"), folder.read("b.csv"), "{input}");
        assert_eq!(folder.read("a.k9.csv"), folder.read("b.k9.csv"), "{input}");
    }
}

/// The keys of the rows that look like each row, release by release.
fn classes(folder: &Folder, name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let rows = folder.csv(name);
    let at = |column: &str| rows[0].iter().position(|other| other == column).unwrap();
    let quasi = [at("age"), at("zip"), at("city")];
    let key = at("key");
    let mut by_shown: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
    for row in &rows[1..] {
        let shown = quasi.iter().map(|&column| row[column].clone()).collect();
        by_shown.entry(shown).or_default().insert(row[key].clone());
    }
    let members = by_shown.into_values();
    members
        .flat_map(|class| class.clone().into_iter().map(move |row| (row, class.clone())))
        .collect()
}

/// Every way to bring the leaves of this index together.
const GRANULARITIES: [&str; 5] =
    ["cut", "leaf-scan", "hierarchical", "dendrogram", "dendrogram-cut"];

#[test]
fn intersection_attack_across_granularities_fails() {
    let folder = Folder::with(keyed(2_000, 5));
    for granularity in GRANULARITIES {
        let report = folder.anonymize(&format!(
            "in.csv -o out.csv --quasi age,zip,city --sensitive disease --keep key -k 3 \
             --also-k 7,20,150 --granularity {granularity}"
        ));
        check_together(&folder, &[3, 7, 20, 150], granularity);
        let also = report["also"].as_array().unwrap();
        let ks: Vec<u64> = also.iter().map(|own| own["k"].as_u64().unwrap()).collect();
        assert_eq!(ks, [7, 20, 150]);
        assert_eq!(
            (&also[0]["path"], &also[0]["file"]),
            (&"out.k7.csv".into(), &"out.k7.csv".into())
        );
        let manifest: Value =
            serde_json::from_str(&folder.read("out.k20.csv.manifest.json")).unwrap();
        assert_eq!(manifest["classes"], also[1]["report"]["classes"]);
    }
}

/// Nodes with few children are hardly larger than what a release asks for.
#[test]
fn a_smaller_fan_out_loses_less_and_one_without_nodes_is_refused() {
    let folder = Folder::with(keyed(2_000, 5));
    let loss = |fan_out: u64| {
        let report = folder.anonymize(&format!(
            "in.csv -o out.csv --quasi age,zip,city --keep key -k 5 --also-k 10,40 \
             --granularity hierarchical --fan-out {fan_out}"
        ));
        let also = report["also"].as_array().unwrap();
        also[0]["report"]["table_loss"]["ncp"].as_f64().unwrap()
    };
    assert!(loss(4) < loss(64), "{} and {}", loss(4), loss(64));
    for (rest, expected) in [
        ("--fan-out 4", "--fan-out has no effect"),
        ("--also-k 10 --fan-out 4", "--fan-out has no effect"),
        ("--also-k 10 --granularity hierarchical --fan-out 2", "from 3 to 1024"),
    ] {
        let run =
            folder.run(&format!("anonymize in.csv -o no.csv --quasi age,zip,city -k 5 {rest}"));
        assert_eq!(run.code, Some(2), "{rest}: {}", run.said());
        assert!(run.err.contains(expected), "{rest}: {}", run.err);
    }
}

/// An adversary who can tell the rows of releases apart, by a key: those who hold the releases for
/// 10 and 25 rows, and not that for 5, must not find groups of 5. Labels may make classes alike,
/// and a small least memory makes classes of many parts of the index; neither may help.
#[test]
fn whoever_holds_some_releases_has_the_finest_of_them_and_no_more() {
    let folder = Folder::with(keyed(2_000, 8));
    let labels = "--hierarchy zip=prefix --hierarchy age=ranges:5,20 --hierarchy city=suppress";
    for granularity in GRANULARITIES {
        for shown in ["", labels, "--no-compact", "--hierarchy zip=prefix --no-compact"] {
            for parts in ["", "--least-memory 80KB --split median", "--least-memory 80KB"] {
                let rest = format!("--granularity {granularity} {shown} {parts}");
                let report = folder.anonymize(&format!(
                    "in.csv -o out.csv --quasi age,zip,city --keep key -k 5 --also-k 25,10,150 \
                     {rest}"
                ));
                let also = report["also"].as_array().unwrap();
                let ks: Vec<u64> = also.iter().map(|own| own["k"].as_u64().unwrap()).collect();
                assert_eq!(ks, [25, 10, 150], "as they were asked for");
                check_together(&folder, &[5, 10, 25, 150], &rest);
            }
        }
    }
}

/// Intersects every choice of the releases for these k, the least of which is that of `out.csv`.
fn check_together(folder: &Folder, ks: &[usize], case: &str) {
    let name = |(at, k): (usize, &usize)| match at {
        0 => "out.csv".to_owned(),
        _ => format!("out.k{k}.csv"),
    };
    let releases: Vec<_> = ks.iter().enumerate().map(|own| classes(folder, &name(own))).collect();
    for (release, &k) in releases.iter().zip(ks) {
        assert_eq!(release.len(), 2_000, "{case}: every row is published");
        assert!(release.values().all(|class| class.len() >= k), "{case}: {k}");
    }
    for held in 1..1usize << ks.len() {
        let held: Vec<usize> = (0..ks.len()).filter(|at| held >> at & 1 == 1).collect();
        let (least, others) = held.split_first().unwrap();
        for (row, finest) in &releases[*least] {
            let torn = others.iter().find(|&&other| !finest.is_subset(&releases[other][row]));
            assert_eq!(torn, None, "{case}: {held:?} together leave fewer than {}", ks[*least]);
        }
    }
}

/// How a dendrogram is drawn, who may read it, and what it takes.
#[test]
fn a_dendrogram_is_drawn_for_its_owner_and_appears_with_the_releases() {
    let folder = Folder::with(table(&patients(400, 6)));
    let rest = format!("{ROLES} -k 5 --also-k 20,100 --granularity dendrogram");
    let report = folder.anonymize(&format!("in.csv -o out.csv {rest} --dendrogram tree.svg"));
    assert_eq!(report["also"][0]["report"]["ran"], "rtree, compact split, dendrogram");
    let drawn = folder.read("tree.svg");
    let n_leaves = drawn.matches("text-anchor=\"end\"").count();
    let n_classes = report["classes"].as_u64().unwrap() as usize;
    assert!(n_leaves >= n_classes && drawn.contains(&format!("{n_leaves} leaves")), "{drawn}");
    assert!(drawn.contains("<title>400 rows</title>"), "all rows merge in the end");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = folder.path("tree.svg").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "only the owner may read it");
    }
    let run = folder.run(&format!("anonymize in.csv -o b.csv {rest} --dendrogram tree.svg"));
    assert!(run.code == Some(2) && run.err.contains("there already"), "{}", run.said());
    let forced = format!("anonymize in.csv -o b.csv {rest} --dendrogram tree.svg --force");
    assert_eq!(folder.run(&forced).code, Some(0));
    assert_eq!(folder.read("tree.svg"), drawn, "the same rows make the same drawing");
    assert_eq!(folder.read("b.k20.csv"), folder.read("out.k20.csv"));
}

#[test]
fn a_dendrogram_that_nobody_can_read_is_refused_and_nothing_appears() {
    let folder = Folder::with(table(&patients(3_000, 6)));
    let run = folder.run(&format!(
        "anonymize in.csv -o out.csv {ROLES} -k 5 --also-k 20 --granularity dendrogram-cut \
         --dendrogram tree.svg"
    ));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("leaves, more than the 200 that a person can read"), "{}", run.err);
    assert!(run.err.contains("drop --dendrogram, or ask for a greater -k"), "{}", run.err);
    assert_eq!(folder.names(), ["in.csv"]);
}

/// The order of the leaves of a dendrogram is a walk like any other.
#[test]
fn dendrograms_are_the_same_in_any_memory_and_whatever_is_shown() {
    let text = table(&patients(20_000, 4));
    let folder = Folder::with(&text);
    let (header, rows) = text.split_once('\n').unwrap();
    let mut reversed: Vec<&str> = rows.lines().collect();
    reversed.reverse();
    folder.write("reversed.csv", format!("{header}\n{}\n", reversed.join("\n")));
    for granularity in ["dendrogram", "dendrogram-cut"] {
        let rest = format!(
            "{ROLES} -k 5 --also-k 20,100 --granularity {granularity} --least-memory 600KB"
        );
        folder.anonymize(&format!("in.csv -o a.csv {rest} --threads 1"));
        let report =
            folder.anonymize(&format!("reversed.csv -o b.csv {rest} --threads 4 --memory 1MB"));
        assert!(report["spilled_bytes"].as_u64().unwrap() > 0, "{granularity}");
        for name in ["csv", "k20.csv", "k100.csv"] {
            let [a, b] = ["a", "b"].map(|own| folder.read(&format!("{own}.{name}")));
            assert!(a == b, "{granularity} {name}");
        }
        // Cuts are placed elsewhere to be shown, and the same rows are together.
        let sizes = |shown: &str| -> Vec<(u64, u64)> {
            let report = folder.anonymize(&format!("in.csv -o c.csv {rest} {shown}"));
            let also = report["also"].as_array().unwrap();
            let of = |own: &Value| {
                let report = &own["report"];
                let classes = report["classes"].as_u64().unwrap();
                (classes, report["table_loss"]["discernibility"].as_f64().unwrap() as u64)
            };
            also.iter().map(of).collect()
        };
        assert_eq!(sizes(""), sizes("--no-compact"), "{granularity}");
    }
}

#[test]
fn a_cut_loses_no_more_than_a_leaf_scan() {
    let folder = Folder::with(table(&patients(6_000, 11)));
    let losses = |granularity: &str| -> Vec<f64> {
        let report = folder.anonymize(&format!(
            "in.csv -o out.csv {ROLES} -k 3 --also-k 6,15,50,200,1000 --granularity {granularity}"
        ));
        report["also"].as_array().unwrap().iter().map(|own| ncp(&own["report"])).collect()
    };
    for (cut, scan) in losses("cut").into_iter().zip(losses("leaf-scan")) {
        assert!(cut <= scan + 1e-9, "{cut} {scan}");
    }
}

#[test]
fn range_queries_on_a_biased_column_become_more_accurate() {
    let folder = Folder::with(table(&patients(6_000, 13)));
    let ages: Vec<i64> =
        folder.column("in.csv", "age").iter().map(|age| age.parse().unwrap()).collect();
    // The mean error of counting all rows whose interval meets the query.
    let error = |bias: &str| -> f64 {
        folder.anonymize(&format!(
            "in.csv -o out.csv {ROLES} -k 20 --method rtree --values bounds {bias}"
        ));
        let bounds = |name: &str| -> Vec<i64> {
            folder.column("out.csv", name).iter().map(|age| age.parse().unwrap()).collect()
        };
        let (lo, hi) = (bounds("age_min"), bounds("age_max"));
        let queries: Vec<(i64, i64)> = (20..80).step_by(4).map(|from| (from, from + 7)).collect();
        let errors = queries.iter().map(|&(from, to)| {
            let exact = ages.iter().filter(|&&age| from <= age && age <= to).count() as f64;
            let met =
                lo.iter().zip(&hi).filter(|&(&lo, &hi)| lo <= to && from <= hi).count() as f64;
            (met - exact) / exact.max(1.0)
        });
        errors.sum::<f64>() / queries.len() as f64
    };
    let (plain, weighted, biased) = (error(""), error("--weight age=5"), error("--bias age"));
    assert!(biased < 0.5 * plain, "{biased} {plain}");
    assert!(weighted < plain, "{weighted} {plain}");
}

#[test]
fn rows_that_cannot_be_told_apart_are_one_class_and_it_is_said() {
    let mut text = "a,b,note\n".to_owned();
    for row in 0..20_000 {
        text.push_str(&format!("5,x,n{}\n", row * 7919 % 20_011));
    }
    let folder = Folder::with(&text);
    let roles = "--quasi a,b --keep note -k 3 --least-memory 600KB";
    folder.anonymize(&format!("in.csv -o whole.csv {roles} --method mondrian"));
    let report =
        folder.anonymize(&format!("in.csv -o out.csv {roles} --method rtree --memory 600KB"));
    assert_eq!(report["classes"], 1);
    assert!(report["spilled_bytes"].as_u64().unwrap() > 0);
    let notes = report["notes"].to_string();
    assert!(notes.contains("all rows are in one class"), "{notes}");
    assert_eq!(folder.read("whole.csv"), folder.read("out.csv"));
}

#[test]
fn constant_and_unique_columns_are_no_obstacle() {
    let mut text = "same,unique,float,kind\n".to_owned();
    for row in 0..4_000 {
        text.push_str(&format!("1,{},{}.5,{}\n", row * 3, row % 97, ["u", "v"][row % 2]));
    }
    let folder = Folder::with(&text);
    let roles = "--quasi same,unique,float,kind -k 4 --least-memory 600KB";
    for memory in ["1GB", "700KB"] {
        let report = folder
            .anonymize(&format!("in.csv -o out.csv {roles} --method rtree --memory {memory}"));
        assert!(report["classes"].as_u64().unwrap() > 500, "{memory}");
        assert_eq!(report["table_loss"]["ncp_by_column"]["same"], 0.0);
    }
}

#[test]
fn a_budget_that_is_too_small_is_refused_with_one_that_does() {
    let mut text = "zip,age,word\n".to_owned();
    for row in 0..3_000 {
        text.push_str(&format!("{:05},{},word-{row}\n", row % 700, row % 80));
    }
    let folder = Folder::with(&text);
    let arguments = "anonymize in.csv -o out.csv --method rtree --quasi zip,age,word -k 3";
    let mut memory = "64KB".to_owned();
    let mut n_refused = 0;
    loop {
        let run = folder.run(&format!("{arguments} --memory {memory}"));
        if run.code == Some(0) {
            break;
        }
        assert_eq!(run.code, Some(2), "{}", run.err);
        assert!(run.err.contains("is too small for"), "{}", run.err);
        assert_eq!(folder.names(), ["in.csv"]);
        let advised = run.err.split("give --memory ").nth(1).expect("it says what would do");
        memory = advised.split_whitespace().next().unwrap().to_owned();
        n_refused += 1;
        assert!(n_refused < 3, "the advice does not suffice: {}", run.err);
    }
    assert!(n_refused > 0);
}

#[test]
fn many_columns_make_the_sample_smaller_not_the_job_impossible() {
    let names: Vec<String> = (0..40).map(|column| format!("c{column}")).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..3_000 {
        let cells = (0..40).map(|column| format!("a rather long text {}", row * (column + 3) % 9));
        text.push_str(&(cells.collect::<Vec<_>>().join(",") + "\n"));
    }
    let folder = Folder::with(&text);
    let quasi = names.join(",");
    let report = folder.anonymize(&format!(
        "in.csv -o out.csv --quasi {quasi} -k 3 --method rtree --memory 900KB --least-memory 600KB"
    ));
    assert_eq!(report["rows"], 3_000);
}

#[test]
fn mistakes_end_with_2_and_a_hint() {
    let folder = Folder::with(table(&patients(2_000, 1)));
    for (arguments, said) in [
        ("--also-k 2", "give the least k with -k"),
        ("--also-k 9,9", "give each k once"),
        ("--also-k 9999", "use a k of at most"),
        ("--granularity cut", "add --also-k"),
        ("--also-k 9 --granularity nested", "use --granularity dendrogram"),
        ("--also-k 9 --dendrogram tree.svg", "use --granularity dendrogram"),
        ("--dendrogram tree.svg", "no coarser release is asked for"),
        ("--also-k 9 --granularity dendrogram --dendrogram out.csv", "a name of its own"),
        ("--also-k 9 --granularity dendrogram --dendrogram in.csv", "in.csv"),
        ("--method mondrian --also-k 9", "use --method rtree"),
        ("--memory many", "256MB"),
        ("--memory 0", "256MB"),
        ("--memory 256", "add the unit"),
        ("--method mondrian --memory 64KB", "give --memory"),
        ("--method rtree --spill-dir nowhere", "nowhere"),
        ("--method rtree --spill-dir in.csv", "in.csv"),
    ] {
        let run = folder.run(&format!("anonymize in.csv -o out.csv {ROLES} -k 3 {arguments}"));
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.said());
        assert!(run.err.contains(said), "{arguments}: {}", run.err);
        assert_eq!((run.out.as_str(), run.err.lines().count()), ("", 1), "{arguments}");
        assert_eq!(folder.names(), ["in.csv"], "{arguments}");
    }
}

#[test]
fn a_name_without_an_ending_is_no_trap_for_coarser_releases() {
    let folder = Folder::with(table(&patients(300, 1)));
    folder.anonymize(&format!("in.csv -o my.data.csv.gz {ROLES} -k 3 --also-k 12"));
    let names = folder.names();
    assert!(names.contains(&"my.data.k12.csv.gz".to_owned()), "{names:?}");
}

/// One block of text has decimals of one digit, the next of two: the same person all the same.
#[test]
fn persons_with_decimal_numbers_are_not_counted_twice() {
    let pad = "p".repeat(60);
    let mut text = "pid,age,pad\n".to_owned();
    for row in 0..120_000 {
        // Three persons are 20 years old, whatever the digits of the others.
        let (pid, age) = match row % 40 {
            0 => (format!("{}.5", row / 40 % 3), 20),
            other if row < 60_000 => (format!("{}.5", 100 + row % 977), 30 + other),
            other => (format!("{}.25", 100 + row % 977), 30 + other),
        };
        text.push_str(&format!("{pid},{age},{pad}\n"));
    }
    let folder = Folder::with(&text);
    let rest = "--subject pid --quasi age --keep pad -k 6";
    folder.anonymize(&format!("in.csv -o a.csv {rest} --method mondrian"));
    folder.anonymize(&format!("in.csv -o b.csv {rest} --method rtree"));
    assert!(!folder.column("b.csv", "age").contains(&"20".to_owned()), "a class of three persons");
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
}

#[test]
fn a_large_class_with_few_distinct_rows_needs_no_more_memory() {
    let mut text = "sex,diag\n".to_owned();
    for row in 0..60_000 {
        text.push_str(["m,a\n", "f,b\n", "m,c\n", "f,a\n"][row * 7 % 4]);
    }
    let folder = Folder::with(&text);
    let rest = "--quasi sex --sensitive diag --l-diversity diag=distinct:2 -k 5 \
                --least-memory 500KB";
    folder.anonymize(&format!("in.csv -o a.csv {rest} --method mondrian"));
    let report = folder.anonymize(&format!("in.csv -o b.csv {rest} --memory 500KB"));
    assert!(report["spilled_bytes"].as_u64().unwrap() > 0);
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
}

#[test]
fn a_large_k_in_little_memory_is_no_reason_to_give_up() {
    let folder = Folder::with(table(&patients(40_000, 3)));
    let rest = format!("{ROLES} -k 2000");
    let exact = folder.anonymize(&format!("in.csv -o a.csv {rest} --method mondrian"));
    let rest = format!("{rest} --least-memory 1MB");
    let whole = folder.anonymize(&format!("in.csv -o a.csv {rest} --method mondrian"));
    let report = folder.anonymize(&format!("in.csv -o b.csv {rest} --method rtree --memory 1MB"));
    assert!(report["spilled_bytes"].as_u64().unwrap() > 0);
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
    assert!(ncp(&whole) < 1.3 * ncp(&exact), "{} {}", ncp(&whole), ncp(&exact));
}

#[test]
fn a_coarser_release_replaces_no_file_that_is_read() {
    let folder = Folder::with(table(&patients(300, 1)));
    let zips: BTreeSet<String> = folder.column("in.csv", "zip").into_iter().collect();
    let lines: Vec<String> = zips.iter().map(|zip| format!("{zip},{}*,*", &zip[..4])).collect();
    folder.write("out.k20.csv", lines.join("\n") + "\n");
    let run = folder.run(
        "anonymize in.csv -o out.csv -k 3 --quasi age,zip --hierarchy zip=out.k20.csv --also-k 20",
    );
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert_eq!(folder.names(), ["in.csv", "out.k20.csv"]);
}
