//! What is published beside a release can be computed from the release file, the job and the number
//! of rows left out: this test does so, by its own reading of the file, for all methods.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

mod manifest {
    pub mod cells;
    pub mod codebook;
    pub mod findings;
}

use std::collections::BTreeMap;

use common::{Folder, Numbers};
use manifest::cells::{Shown, lost};
use manifest::codebook::{self, Told};
use manifest::findings::findings;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A quasi-identifier as a job tells of it.
#[derive(Clone)]
struct Quasi {
    name: &'static str,
    shown: Shown,
    /// As the manifest calls its hierarchy.
    hierarchy: Option<&'static str>,
    weight: f64,
}

fn quasi(name: &'static str, shown: Shown) -> Quasi {
    let hierarchy = match &shown {
        Shown::Numbers | Shown::Dates | Shown::Set => None,
        Shown::File(_) => Some("file"),
        Shown::Ranges(_) => Some("ranges:5,20"),
        Shown::DateLabels => Some("dates"),
        Shown::Prefix => Some("prefix"),
        Shown::Suppress => Some("suppress"),
    };
    Quasi { name, shown, hierarchy, weight: 1.0 }
}

const JOBS: [(&str, &str); 6] = [
    ("nurse", "health"),
    ("doctor", "health"),
    ("cook", "kitchen"),
    ("waiter", "kitchen"),
    ("smith", "craft"),
    ("mason", "craft"),
];

fn jobs_file() -> String {
    // Two leaves that nobody has count too.
    let rows = JOBS.iter().map(|(leaf, group)| format!("{leaf};{group};*\n"));
    rows.collect::<String>() + "baker;kitchen;*\npotter;craft;*\n"
}

fn leaves() -> Shown {
    let mut leaves: BTreeMap<String, usize> = BTreeMap::new();
    for line in jobs_file().lines() {
        line.split(';').for_each(|label| *leaves.entry(label.to_owned()).or_default() += 1);
    }
    Shown::File(leaves)
}

const HEADER: &str = "id,age,pay,rate,born,seen,city,zip,job,disease,note";

/// People with every kind of value, some of them missing, and a few far from all others.
fn people(n_rows: usize) -> String {
    let mut numbers = Numbers::new(41);
    let mut below = |end: u64| numbers.below(end);
    let mut text = format!("{HEADER}\n");
    for id in 0..n_rows {
        let far = if id % 61 == 7 { 900 } else { 0 };
        let mut cells = [
            (20 + below(60) + far).to_string(),
            format!("{}.{:02}", 1000 + below(900), below(100)),
            format!("{}.5e-3", below(700) + far),
            format!("19{}-{:02}-{:02}", 50 + below(40), 1 + below(12), 1 + below(28)),
            format!("2020-0{}-1{} {:02}:00:00", 1 + below(9), below(10), below(24)),
            ["Aachen", "Bonn", "Celle", "Dresden"][below(4) as usize].to_owned(),
            format!("{:05}", 1000 + below(300) + 10 * far),
            JOBS[below(6) as usize].0.to_owned(),
        ];
        for at in [0, 5, 7] {
            if below(25) == 0 {
                cells[at].clear();
            }
        }
        let disease = ["asthma", "cough", "flu"][below(3) as usize];
        text.push_str(&format!("p{id},{},{disease},note {}\n", cells.join(","), below(9)));
    }
    text
}

/// A job, and what its manifest must say that the release does not.
struct Case {
    flags: String,
    quasi: Vec<Quasi>,
    requirement: String,
    method: &'static str,
}

impl Case {
    /// Whether the ends of its intervals need not be anybody's values.
    fn shows_regions(&self) -> bool {
        let all = ["--no-compact", "--method tds", "--method ordered-set"];
        all.iter().any(|own| self.flags.contains(own))
    }
}

const ROLES: &str = "--sensitive disease --keep note --identifier id";

fn case(flags: &str, method: &'static str, quasi: Vec<Quasi>) -> Case {
    let names: Vec<&str> = quasi.iter().map(|own| own.name).collect();
    let mut flags = format!("{flags} --quasi {} {ROLES} -k 4", names.join(","));
    for own in &quasi {
        if let Some(hierarchy) = own.hierarchy {
            let file = if hierarchy == "file" { "jobs.csv" } else { hierarchy };
            flags.push_str(&format!(" --hierarchy {}={file}", own.name));
        }
        if own.weight != 1.0 {
            flags.push_str(&format!(" --weight {}={}", own.name, own.weight));
        }
    }
    Case { flags, quasi, requirement: "k = 4".to_owned(), method }
}

/// Quasi-identifiers of every kind.
fn mixed() -> Vec<Quasi> {
    let mut all = vec![
        quasi("age", Shown::Numbers),
        quasi("pay", Shown::Numbers),
        quasi("rate", Shown::Numbers),
        quasi("born", Shown::Dates),
        quasi("seen", Shown::Dates),
        quasi("city", Shown::Set),
        quasi("zip", Shown::Prefix),
        quasi("job", leaves()),
    ];
    all[1].weight = 2.5;
    all
}

/// Quasi-identifiers that can be climbed.
fn climbed() -> Vec<Quasi> {
    vec![
        quasi("age", Shown::Ranges(vec![5.0, 20.0])),
        quasi("seen", Shown::DateLabels),
        quasi("city", Shown::Suppress),
        quasi("zip", Shown::Prefix),
        quasi("job", leaves()),
    ]
}

fn without_hierarchies() -> Vec<Quasi> {
    let mut all = mixed();
    all.truncate(6);
    all
}

fn cases() -> Vec<Case> {
    let two = || climbed().split_off(3);
    let mut diverse = case("--l-diversity disease=2", "auto", mixed());
    diverse.requirement.push_str(", distinct 2-diversity of 'disease'");
    vec![
        diverse,
        case("", "auto", mixed()),
        case("--method mondrian --split median", "mondrian, median split", mixed()),
        case("--method mondrian --no-compact", "mondrian", mixed()),
        case("--no-compact", "auto", without_hierarchies()),
        case("--minimize discernibility", "auto, least discernibility", mixed()),
        case("--method rtree", "rtree", mixed()),
        case("--method rtree --no-compact", "rtree", climbed()),
        case("--method local", "local", mixed()),
        case("--also-k 9,30", "auto", mixed()),
        case("--also-k 12 --granularity leaf-scan", "auto, leaf-scan", without_hierarchies()),
        case("--method incognito --suppress 0.3", "incognito", two()),
        case("--method incognito --minimize height", "incognito, least height", two()),
        case("--method samarati --suppress 0.2", "samarati", two()),
        case("--method bottom-up --variant scan", "bottom-up, scan", two()),
        case("--method subtree --suppress 0.2", "subtree", climbed()),
        case("--method subtree", "subtree", climbed()),
        case("--method ordered-set --suppress 0.3", "ordered-set", without_hierarchies()),
        case("--method ordered-set", "ordered-set", without_hierarchies()),
        case("--method tds --target city", "tds, target 'city'", mixed()),
        case("--method bang", "bang", mixed()),
        case("--method bang --no-compact", "bang", without_hierarchies()),
        case("--method bang --no-nesting", "bang, no nesting", climbed()),
        case("--method bd-tree --no-compact", "bd-tree", mixed()),
        case("--method hb-tree", "hb-tree", without_hierarchies()),
        case("--method kd-b-trie", "kd-b-trie", climbed()),
        case("--level zip=2,job=1 --suppress 0.4", "auto, given levels", two()),
    ]
}

/// Four significant digits.
fn rounded(figure: f64) -> f64 {
    format!("{figure:.3e}").parse().unwrap()
}

/// The manifest of a release, from its file.
fn recomputed(folder: &Folder, release: &str, case: &Case, k: u64, n_left_out: u64) -> Value {
    let rows = folder.csv(release);
    let place = |name: &str| rows[0].iter().position(|own| own == name).unwrap();
    let column = |name: &str| -> Vec<&str> {
        rows[1..].iter().map(|row| row[place(name)].as_str()).collect()
    };
    let level = rows[0].iter().any(|name| name == "level").then_some("level");
    let mut sizes: BTreeMap<Vec<&str>, u64> = BTreeMap::new();
    for row in &rows[1..] {
        // Levels are part of what classes show.
        let names = case.quasi.iter().map(|own| own.name).chain(level);
        let shown = names.map(|name| row[place(name)].as_str()).collect();
        *sizes.entry(shown).or_default() += 1;
    }
    let n_published = rows.len() as u64 - 1;
    let n_rows = n_published + n_left_out;
    let squares: u64 = sizes.values().map(|size| size * size).sum();
    let mut by_column = serde_json::Map::new();
    let (mut penalty, mut weights) = (0.0, 0.0);
    for own in &case.quasi {
        let lost = lost(&own.shown, &column(own.name)) + n_left_out as f64;
        by_column.insert(own.name.to_owned(), rounded(lost / n_rows as f64).into());
        penalty += own.weight * lost;
        weights += own.weight;
    }
    let digest = Sha256::digest(folder.bytes(release));
    let secret = (!case.flags.contains("--l-diversity")).then_some("disease");
    let names: Vec<&str> = case.quasi.iter().map(|own| own.name).collect();
    let is_list = |own: &&Quasi| matches!(own.shown, Shown::Set);
    let lists: Vec<&str> = case.quasi.iter().filter(is_list).map(|own| own.name).collect();
    let mut expected = json!({
        "rows": n_published,
        "suppressed": n_left_out,
        "classes": sizes.len(),
        "class_size": {
            "min": sizes.values().min(),
            "mean": n_published as f64 / sizes.len() as f64,
            "max": sizes.values().max(),
        },
        "requirement": case.requirement.replace("k = 4", &format!("k = {k}")),
        "method": case.method,
        "seed": 0,
        "loss": {
            "discernibility": squares + n_left_out * n_rows,
            "certainty_penalty": rounded(penalty),
            "ncp": rounded(penalty / (n_rows as f64 * weights)),
            "ncp_by_column": by_column,
        },
        "columns": columns(&rows[0], case),
        "findings": findings(&rows, "note", secret, &names, &lists),
        "digest": digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let words: Vec<&str> = case.flags.split_whitespace().collect();
    let also = words.iter().position(|word| *word == "--also-k").map(|at| words[at + 1]);
    if let Some(also) = also.filter(|_| k == 4) {
        let file =
            |k: &str| json!({ "k": k.parse::<u64>().unwrap(), "file": format!("out.k{k}.csv") });
        expected["also"] = also.split(',').map(file).collect();
    }
    expected
}

/// What a manifest says of the columns of a release.
fn columns(header: &[String], case: &Case) -> Vec<Value> {
    let column = |name: &String| {
        let Some(own) = case.quasi.iter().find(|own| own.name == name) else {
            if name == "level" {
                return json!({ "name": name, "role": "level", "shown": "depth" });
            }
            let role = if name == "note" { "keep" } else { "sensitive" };
            return json!({ "name": name, "role": role, "shown": "as is" });
        };
        let shown = match own.shown {
            Shown::Numbers | Shown::Dates => "interval",
            Shown::Set => "set",
            _ => "label",
        };
        let mut column = json!({ "name": name, "role": "quasi", "shown": shown });
        if let Some(hierarchy) = own.hierarchy {
            column["hierarchy"] = hierarchy.into();
        }
        if own.weight != 1.0 {
            column["weight"] = own.weight.into();
        }
        if shown == "interval" && case.shows_regions() {
            column["ends"] = "regions".into();
        }
        column
    };
    header.iter().map(column).collect()
}

#[test]
fn the_manifest_can_be_computed_from_the_release_the_job_and_the_rows_left_out() {
    let folder = Folder::with(people(400));
    folder.write("jobs.csv", jobs_file());
    let (mut n_any, mut n_with_missing, mut n_left_out) = (0, 0, 0);
    for case in cases() {
        let report = folder.anonymize(&format!("in.csv -o out.csv {}", case.flags));
        let left_out = report["suppressed"].as_u64().unwrap();
        n_left_out += left_out;
        let mut releases = vec![(4, "out.csv".to_owned())];
        let also = report["also"].as_array().into_iter().flatten();
        releases.extend(
            also.map(|own| (own["k"].as_u64().unwrap(), own["file"].as_str().unwrap().to_owned())),
        );
        for (k, release) in releases {
            let manifest = folder.json(&format!("{release}.manifest.json"));
            let mut expected = recomputed(&folder, &release, &case, k, left_out);
            // What the job accepts is said in its words.
            if let Some(accepted) = report.get("accepted") {
                expected["accepted"] = accepted.clone();
            }
            // Written and read as the other.
            let expected: Value = serde_json::from_str(&expected.to_string()).unwrap();
            assert_eq!(manifest, expected, "{release} of {}", case.flags);
            assert_eq!(told_codebook(&folder, &release), codebook(&folder, &release, &case));
            let text = folder.read(&release);
            n_any += usize::from(text.contains(",*,"));
            n_with_missing += usize::from(text.contains("{, "));
        }
    }
    assert!(n_any > 3 && n_with_missing > 5 && n_left_out > 30, "cells of every kind are shown");
}

/// What a codebook tells of the columns of a release, but for the sentences.
fn told_codebook(folder: &Folder, release: &str) -> Value {
    let mut codebook = folder.json(&format!("{release}.codebook.json"));
    let page = folder.read(&format!("{release}.codebook.md"));
    for column in codebook["columns"].as_array_mut().unwrap() {
        let reads = column.as_object_mut().unwrap().remove("reads").unwrap();
        assert!(page.contains(reads.as_str().unwrap()), "{release}: {reads}");
    }
    for said in ["promised", "not_promised"] {
        let sentences = codebook.as_object_mut().unwrap().remove(said).unwrap();
        for sentence in sentences.as_array().unwrap() {
            assert!(page.contains(sentence.as_str().unwrap()), "{release}: {sentence}");
        }
    }
    codebook
}

/// The same, from the release file and the job.
fn codebook(folder: &Folder, release: &str, case: &Case) -> Value {
    let rows = folder.csv(release);
    let told = |name: &str| {
        let own = case.quasi.iter().find(|own| own.name == name)?;
        Some(Told { shown: &own.shown, hierarchy: own.hierarchy })
    };
    let shows_regions =
        ["--no-compact", "--method tds", "--method subtree", "--method ordered-set"];
    let shows_regions = shows_regions.iter().any(|flags| case.flags.contains(flags));
    json!({
        "codebook": 1,
        "release": release,
        "digest": folder.json(&format!("{release}.manifest.json"))["digest"],
        "format": "csv",
        "delimiter": ",",
        "columns": codebook::columns(&rows, told, &jobs_file(), shows_regions),
        "dropped": ["id"],
        "version": env!("CARGO_PKG_VERSION"),
    })
}

#[test]
fn the_figures_do_not_depend_on_the_format_of_the_release() {
    let folder = Folder::with(people(300));
    folder.write("jobs.csv", jobs_file());
    for case in cases() {
        folder.anonymize(&format!("in.csv -o out.csv {}", case.flags));
        let mut expected = folder.json("out.csv.manifest.json");
        for (release, flags) in [("out.parquet", ""), ("bounds.csv", "--values bounds")] {
            folder.anonymize(&format!("in.csv -o {release} {flags} {}", case.flags));
            let mut manifest = folder.json(&format!("{release}.manifest.json"));
            for own in [&mut expected, &mut manifest] {
                // Other bytes, and other names of other files.
                own.as_object_mut().unwrap().remove("digest");
                own.as_object_mut().unwrap().remove("also");
            }
            assert_eq!(manifest, expected, "{release} of {}", case.flags);
        }
    }
}

// The release and its manifest, without the original.

/// A release of its own folder, whose original is gone.
fn released(flags: &str) -> Folder {
    let folder = Folder::with(people(200));
    folder.anonymize(&format!("in.csv -o out.csv --quasi age,city {flags}"));
    std::fs::remove_file(folder.path("in.csv")).unwrap();
    folder
}

#[test]
fn a_release_is_verified_against_its_manifest_without_the_original() {
    let rules = "--l-diversity disease=2 --t-closeness disease=0.7 --alpha disease=0.9";
    for flags in ["-k 4".to_owned(), format!("--sensitive disease -k 4 {rules}")] {
        let folder = released(&flags);
        let run = folder.run("check out.csv");
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.said());
        let said = "as its manifest says: digest, rows, classes, class_size, loss, requirement";
        assert!(run.out.contains(said), "{}", run.out);
        std::fs::create_dir(folder.path("elsewhere")).unwrap();
        let (from, to) = (folder.path("out.csv.manifest.json"), folder.path("elsewhere/m.json"));
        std::fs::rename(from, to).unwrap();
        let run = folder.run("check out.csv --manifest elsewhere/m.json --json");
        assert_eq!(run.code, Some(0), "{}", run.said());
        let report: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(report["holds"], true);
        assert_eq!(report["manifest"]["differs"], json!([]));
        let run = folder.run("check out.csv");
        assert_eq!(run.code, Some(2), "without a manifest nothing tells the columns");
    }
}

#[test]
fn closeness_alone_protects_a_secret_when_a_release_is_checked() {
    let folder = released("--sensitive disease -k 4 --t-closeness disease=0.9");
    let run = folder.run_once(&["check", "out.csv"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.said());
    assert!(!run.out.contains("secret-without-rule"), "{}", run.out);
}

#[test]
fn what_differs_from_the_manifest_is_named_and_ends_with_1() {
    let folder = released("-k 4");
    let (release, manifest) = (folder.read("out.csv"), folder.json("out.csv.manifest.json"));
    let mut lines: Vec<&str> = release.lines().collect();
    let last = lines.pop().unwrap();
    folder.write("out.csv", lines.join("\n") + "\n");
    let run = folder.run("check out.csv");
    assert_eq!(run.code, Some(1), "{}", run.said());
    for field in ["digest", "rows"] {
        let named = format!("not what its manifest says: {field} is");
        assert!(run.out.contains(&named), "{field}: {}", run.out);
    }
    assert!(!run.out.contains(last.split(',').next().unwrap()), "no cell is shown");
    folder.write("out.csv", &release);
    for (field, value) in [
        ("rows", json!(199)),
        ("classes", json!(3)),
        ("class_size", json!({ "min": 5, "mean": 5.0, "max": 9 })),
        ("digest", json!("0".repeat(64))),
        ("requirement", json!("k = 190")),
        (
            "loss",
            json!({
                "discernibility": 1,
                "certainty_penalty": 0.5,
                "ncp": 0.5,
                "ncp_by_column": {},
            }),
        ),
    ] {
        let mut changed = manifest.clone();
        changed[field] = value;
        folder.write("out.csv.manifest.json", changed.to_string());
        let run = folder.run("check out.csv");
        assert_eq!(run.code, Some(1), "{field}: {}", run.said());
        assert!(run.out.contains(&format!("says: {field}")), "{field}: {}", run.out);
    }
}

#[test]
fn a_manifest_that_is_not_there_or_damaged_ends_with_2_and_a_hint() {
    let folder = released("-k 4");
    let run = folder.run("check out.csv --manifest nowhere.json");
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.contains("nowhere.json") && run.err.contains("check the name"), "{}", run.err);
    let whole = folder.read("out.csv.manifest.json");
    for damaged in [&whole[..whole.len() / 2], "", "{}", &whole.replace("k = 4", "at least 4")] {
        folder.write("out.csv.manifest.json", damaged);
        let run = folder.run("check out.csv");
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{}", run.err);
        assert!(run.err.contains("damaged"), "{}", run.err);
    }
}

#[test]
fn persons_that_are_not_published_cannot_be_verified_and_that_is_said() {
    let folder = Folder::with(people(200));
    folder.anonymize("in.csv -o out.csv --quasi age,city --subject id -k 4");
    let run = folder.run("check out.csv");
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(run.out.contains("not verified: that every class has 4 persons"), "{}", run.out);
}

#[test]
fn how_classes_lie_to_each_other_is_told_to_the_owner_and_by_check_alike() {
    let folder = Folder::with(people(300));
    let numbers = || without_hierarchies().split_off(2);
    let labels = || climbed().split_off(1)[..3].to_vec();
    let mut told: BTreeMap<String, u32> = BTreeMap::new();
    for case in [
        case("--method mondrian", "", without_hierarchies()),
        case("--method mondrian", "", labels()),
        case("--method mondrian --no-compact", "", numbers()),
        case("--method rtree --also-k 9", "", without_hierarchies()),
        case("--method rtree --also-k 9", "", labels()),
        case("--method local", "", numbers()),
        case("--method local", "", labels()),
        case("--method bang", "", numbers()),
        case("--method bang --no-compact", "", numbers()),
        case("--method bang --no-compact", "", without_hierarchies()),
        case("--method bang --no-nesting", "", numbers()),
        case("--method bd-tree", "", numbers()),
        case("--method bd-tree --no-compact", "", without_hierarchies()),
        case("--method hb-tree", "", numbers()),
        case("--method hb-tree --no-compact", "", numbers()),
        case("--method hb-tree --no-compact", "", without_hierarchies()),
        case("--method kd-trie", "", numbers()),
        case("--method pr-quadtree --no-compact", "", numbers()),
        case("--method kd-b-trie --no-compact", "", without_hierarchies()),
        case("--method grid-file --no-compact", "", numbers()),
        case("--method subtree", "", labels()),
        case("--method ordered-set", "", without_hierarchies()),
        case("--method tds --target city", "", mixed()[..7].to_vec()),
        case("--method incognito", "", labels()),
    ] {
        for release in ["out.csv", "out.parquet"] {
            let report = folder.anonymize(&format!("in.csv -o {release} {}", case.flags));
            let also = report["also"].as_array().into_iter().flatten();
            let coarser = also.map(|own| (own["file"].as_str().unwrap(), &own["report"]));
            for (release, report) in [(release, &report)].into_iter().chain(coarser) {
                let run = folder.run(&format!("check {release} --json"));
                let checked: Value = serde_json::from_str(&run.out).unwrap();
                let (told_to_owner, found) =
                    (&report["class_relation"], &checked["class_relation"]);
                assert_eq!(told_to_owner, found, "{release} of {}", case.flags);
                *told.entry(found.as_str().unwrap().to_owned()).or_default() += 1;
                let name = if found == "disjoint" { "kl" } else { "kl_at_most" };
                assert!(report[name].is_number(), "{release} of {}", case.flags);
            }
        }
    }
    assert!(told["disjoint"] > 5 && told["overlapping"] > 2 && told["nested"] > 2, "{told:?}");
}

// What is said, and to whom.

#[test]
fn a_standard_output_that_is_full_ends_with_2_and_nothing_is_named() {
    let folder = Folder::with(people(100));
    for flags in ["", "--json", "--owner-report mine.json --also-k 20"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = folder.command();
        let arguments = format!("anonymize in.csv -o out.csv --quasi age,city -k 4 {flags}");
        command.args(arguments.split_whitespace()).stdout(full);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot write to standard output"), "{said}");
        assert_eq!(folder.names(), ["in.csv"], "{flags}");
    }
}

#[cfg(unix)]
#[test]
fn the_owners_report_is_for_its_owner_alone_and_says_what_is_printed() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::with(people(100));
    folder.write("job.toml", "owner-report = \"mine.json\"\n");
    let flags = "in.csv -o out.csv --quasi age,city --sensitive disease -k 4 --job job.toml";
    let printed = folder.anonymize(flags);
    assert_eq!(folder.json("mine.json"), printed);
    assert_eq!(printed["audience"], "owner");
    let mode = std::fs::metadata(folder.path("mine.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let run = folder.run(&format!("anonymize {flags} --owner-report out.csv --force"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("written twice"), "{}", run.err);
}

#[test]
fn a_manifest_shows_no_folder() {
    let folder = Folder::with(people(200));
    std::fs::create_dir(folder.path("erika")).unwrap();
    folder.write("erika/jobs.csv", jobs_file());
    folder.anonymize(
        "in.csv -o erika/out.csv --quasi age,job --hierarchy job=erika/jobs.csv -k 4 --also-k 9",
    );
    assert!(!folder.read("erika/out.csv.manifest.json").contains("erika"));
}
