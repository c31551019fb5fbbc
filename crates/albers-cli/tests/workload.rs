//! Releases that are made for what they will be used for, end to end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::collections::BTreeMap;

use common::{Folder, Numbers};

/// People whose class follows from age and income, and whose pension follows from age.
fn people(n_rows: u64) -> String {
    let mut numbers = Numbers::new(7);
    let mut text = "age,income,city,shoe,class,pension,illness\n".to_owned();
    for _ in 0..n_rows {
        let (age, income) = (20 + numbers.below(60), 1000 * (10 + numbers.below(90)));
        let city = ["Ulm", "Bern", "Graz", "Riga"][numbers.below(4) as usize];
        let is_noise = numbers.below(20) == 0;
        let class = if (age < 45 && income > 50_000) != is_noise { "buyer" } else { "other" };
        let illness = ["flu", "cold", "none"][(numbers.below(2) + numbers.below(2)) as usize];
        let (shoe, pension) = (30 + numbers.below(18), age * 7 + numbers.below(40));
        text.push_str(&format!("{age},{income},{city},{shoe},{class},{pension},{illness}\n"));
    }
    text
}

/// The rows of a release: what the quasi-identifiers show, and the cell of a column.
fn cells(folder: &Folder, name: &str, column: &str) -> Vec<(String, String)> {
    let text = folder.read(name);
    let mut reader = text.lines().map(fields);
    let header = reader.next().unwrap();
    let place = |name: &str| header.iter().position(|own| own == name).unwrap();
    let quasi: Vec<usize> =
        ["age", "income", "city", "shoe"].iter().map(|own| place(own)).collect();
    let target = place(column);
    let row = |cells: Vec<String>| {
        let shown: Vec<&str> = quasi.iter().map(|&own| cells[own].as_str()).collect();
        (shown.join("|"), cells[target].clone())
    };
    reader.map(row).collect()
}

/// The cells of a line, which may be quoted.
fn fields(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for symbol in line.chars() {
        match symbol {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => cells.last_mut().unwrap().push(other),
        }
    }
    cells
}

fn by_class(rows: Vec<(String, String)>) -> BTreeMap<String, Vec<String>> {
    let mut classes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    rows.into_iter().for_each(|(shown, cell)| classes.entry(shown).or_default().push(cell));
    classes
}

/// The conditional entropy of a column, in bits.
fn entropy(folder: &Folder, name: &str, column: &str) -> f64 {
    let classes = by_class(cells(folder, name, column));
    let n_rows: usize = classes.values().map(Vec::len).sum();
    let of_class = |cells: &Vec<String>| -> f64 {
        let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
        cells.iter().for_each(|cell| *counts.entry(cell).or_insert(0.0) += 1.0);
        let n = cells.len() as f64;
        counts.values().map(|count| -count * (count / n).log2()).sum()
    };
    classes.values().map(of_class).sum::<f64>() / n_rows as f64
}

/// The mean squared distance of a column from the mean of its class.
fn squared_error(folder: &Folder, name: &str, column: &str) -> f64 {
    let classes = by_class(cells(folder, name, column));
    let n_rows: usize = classes.values().map(Vec::len).sum();
    let of_class = |cells: &Vec<String>| -> f64 {
        let numbers: Vec<f64> = cells.iter().map(|cell| cell.parse().unwrap()).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        numbers.iter().map(|number| (number - mean).powi(2)).sum()
    };
    classes.values().map(of_class).sum::<f64>() / n_rows as f64
}

const QUASI: &str = "--quasi age,income,city,shoe";

#[test]
fn cuts_that_follow_a_target_tell_more_of_it_than_others() {
    let folder = Folder::with(people(3000));
    let job = |more: &str| {
        folder.anonymize(&format!("in.csv -o out.csv -k 25 {QUASI} --keep class,pension {more}"))
    };
    let mut entropies = Vec::new();
    let mut errors = Vec::new();
    for split in ["--split compact", "--split median", "--split info-gain --target class"] {
        let report = job(split);
        entropies.push(entropy(&folder, "out.csv", "class"));
        errors.push(squared_error(&folder, "out.csv", "pension"));
        assert!(report["ran"].as_str().unwrap().contains(split.split(' ').nth(1).unwrap()));
    }
    assert!(entropies[2] < 0.9 * entropies[0].min(entropies[1]), "{entropies:?}");
    job("--split regression --target pension --then median");
    let error = squared_error(&folder, "out.csv", "pension");
    assert!(error < 0.9 * errors[0].min(errors[1]), "{error} beside {errors:?}");
    let both = "--split info-gain --target class:2 --target pension:number";
    let report = job(both);
    assert_eq!(
        report["method"],
        "auto, info-gain split, target 'class:2', target 'pension:number'"
    );
    assert!(entropy(&folder, "out.csv", "class") < entropies[0].min(entropies[1]));
    assert!(squared_error(&folder, "out.csv", "pension") < errors[0].min(errors[1]));
    // What anybody can find again from the release.
    let targets = "--target class --target pension:number --json";
    let measured = folder.run(&format!("measure in.csv out.csv {QUASI} {targets}"));
    assert_eq!(measured.code, Some(0), "{}", measured.said());
    let measured: serde_json::Value = serde_json::from_str(&measured.out).unwrap();
    let figure = |place: usize, name: &str| measured["targets"][place][name].as_f64().unwrap();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b);
    assert!(near(figure(0, "conditional_entropy"), entropy(&folder, "out.csv", "class")));
    assert!(near(figure(1, "mean_squared_error"), squared_error(&folder, "out.csv", "pension")));
    for (flags, word) in [
        ("--target age", "is a quasi-identifier"),
        ("--target class:number", "no number"),
        ("--target wages", "no column 'wages'"),
    ] {
        let refused = folder.run(&format!("measure in.csv out.csv {QUASI} {flags}"));
        assert_eq!(refused.code, Some(2), "{}", refused.said());
        assert!(refused.err.contains(word), "{}", refused.err);
    }
}

/// Targets that are kept, sensitive, or quasi-identifiers, and both kinds; beside features or not,
/// whose bins follow from a class or from the rows alone.
const WORKLOADS: [&str; 8] = [
    "--keep class,pension --split info-gain --target class",
    "--keep class,pension --split regression --target pension --then median",
    "--keep class,pension --split info-gain --target class --target pension:number:0.5",
    "--keep class --split info-gain --target city --hierarchy age=ranges:5,20",
    "--sensitive illness --l-diversity illness=distinct:2 --split info-gain --target illness \
     --hierarchy city=suppress",
    "--keep class,pension,illness --split info-gain --target class --features pension,illness",
    "--keep class,pension --split regression --target age --features pension,class",
    "--sensitive illness --l-diversity illness=distinct:2 --keep pension --split info-gain \
     --target illness --features pension",
];

#[test]
fn a_release_for_a_workload_is_the_same_in_any_memory_order_and_number_of_threads() {
    let folder = Folder::with(people(12_000));
    folder.write_sorted("sorted.csv");
    for workload in WORKLOADS {
        for more in ["", "--no-compact", "--also-k 40"] {
            // A small least memory, so that the table is not cut at once.
            let job = format!("-o out.csv -k 6 {QUASI} {workload} {more} --least-memory 400KB");
            let mut found = Vec::new();
            for way in [
                "in.csv",
                "sorted.csv --threads 1",
                "in.csv --method rtree",
                "sorted.csv --memory 500KB --spill-dir .",
            ] {
                if more.contains("also-k") && way == "in.csv" {
                    continue;
                }
                let report = folder.anonymize(&format!("{way} {job}"));
                if way.contains("--memory") {
                    assert!(report["spilled_bytes"].as_u64().unwrap() > 0, "{way} {job}");
                }
                let coarser = more.contains("also-k").then(|| folder.read("out.k40.csv"));
                found.push((folder.read("out.csv"), coarser));
            }
            assert!(found.iter().all(|own| *own == found[0]), "{job}");
        }
    }
}

#[test]
fn classes_that_share_a_kept_target_stop_the_release_and_a_sensitive_one_is_said() {
    let folder = Folder::with(people(2000));
    let kept = format!("anonymize in.csv -o out.csv -k 5 {QUASI} --keep class --split info-gain");
    let refused =
        folder.run_once(&format!("{kept} --target class").split_whitespace().collect::<Vec<_>>());
    assert_eq!(refused.code, Some(1), "{}", refused.said());
    assert!(refused.err.contains("target-in-classes:class: "), "{}", refused.err);
    assert!(!folder.path("out.csv").exists());
    // The homogeneity attack: a secret that cuts follow needs a rule of its own, and keeps it.
    let secret = format!(
        "in.csv -o out.csv -k 5 {QUASI} --sensitive class --split info-gain --target class"
    );
    let refused = folder.run(&format!("anonymize {secret}"));
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.err.contains("forbids classes of one value"), "{}", refused.err);
    // Nor does a rule that asks for nothing help.
    for rule in ["--alpha class=1", "--l-diversity class=distinct:1", "--t-closeness class=0.9"] {
        let refused = folder.run(&format!("anonymize {secret} {rule}"));
        assert_eq!(refused.code, Some(2), "{rule}: {}", refused.said());
    }
    assert_rule_protects_target(&folder, &secret);
}

/// A sensitive target with a rule is said to be one, and no class shares it.
fn assert_rule_protects_target(folder: &Folder, secret: &str) {
    let report = folder.anonymize(&format!("{secret} --l-diversity class=distinct:2"));
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|own| own["name"] == "sensitive-target").unwrap();
    assert_eq!((&found["column"], &found["severe"]), (&"class".into(), &false.into()));
    let classes = by_class(cells(folder, "out.csv", "class"));
    assert!(classes.values().all(|cells| cells.iter().any(|cell| *cell != cells[0])));
}

/// What recodings for a target are asked for, beside the quasi-identifiers.
const RECODINGS: [&str; 4] = [
    "--keep class --target class",
    "--keep class,pension --target class:2 --target pension:number --bias city",
    "--keep class --target city --hierarchy age=ranges:5,20 --hierarchy city=suppress",
    "--sensitive illness --l-diversity illness=distinct:2 --target illness",
];

#[test]
fn a_recoding_for_a_target_tells_more_of_it_than_others_and_is_the_same_in_any_order() {
    let folder = Folder::with(people(3000));
    folder.write_sorted("sorted.csv");
    for recoding in RECODINGS {
        let job = format!("-o out.csv -k 6 {QUASI} --method tds {recoding}");
        let mut found = Vec::new();
        for way in ["in.csv --threads 1", "in.csv --threads 2", "sorted.csv --memory 200MB"] {
            let report = folder.anonymize(&format!("{way} {job}"));
            assert_eq!((&report["ran"], &report["suppressed"]), (&"tds".into(), &0.into()));
            found.push((folder.read("out.csv"), folder.read("out.csv.manifest.json")));
        }
        assert!(found.iter().all(|own| *own == found[0]), "{job}");
        let checked = folder.run("check out.csv");
        assert_eq!(checked.code, Some(0), "{job}: {}", checked.said());
    }
    let entropies = ["--method ordered-set", "--method tds --target class"].map(|method| {
        folder.anonymize(&format!("in.csv -o out.csv -k 25 {QUASI} --keep class {method}"));
        entropy(&folder, "out.csv", "class")
    });
    assert!(entropies[1] < 0.9 * entropies[0], "{entropies:?}");
    let measured = folder.run(&format!("measure in.csv out.csv {QUASI} --target class --json"));
    let measured: serde_json::Value = serde_json::from_str(&measured.out).unwrap();
    let told = measured["targets"][0]["conditional_entropy"].as_f64().unwrap();
    assert!((told - entropies[1]).abs() < 1e-9, "{told} beside {entropies:?}");
}

#[test]
fn a_recoding_for_a_target_has_the_findings_of_cuts_for_one() {
    let folder = Folder::with(people(2000));
    let job = format!("in.csv -o out.csv -k 5 {QUASI} --method tds --target class");
    let kept = format!("anonymize {job} --keep class");
    let refused = folder.run_once(&kept.split_whitespace().collect::<Vec<_>>());
    assert_eq!(refused.code, Some(1), "{}", refused.said());
    assert!(refused.err.contains("target-in-classes:class: "), "{}", refused.err);
    assert!(!folder.path("out.csv").exists());
    let secret = format!("{job} --sensitive class");
    let refused = folder.run(&format!("anonymize {secret}"));
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert_rule_protects_target(&folder, &secret);
}

#[test]
fn mistakes_about_targets_end_with_2_and_a_hint() {
    let folder = Folder::with(people(100));
    let base = "anonymize in.csv -o out.csv -k 5 --quasi age,income,city --keep class,pension,shoe";
    for (flags, word) in [
        ("--split info-gain", "--target"),
        ("--target class", "--split info-gain"),
        ("--then median", "--split info-gain"),
        ("--split regression --target class", "number"),
        ("--split info-gain --target wages", "has no role"),
        ("--split info-gain --target illness", "has no role"),
        ("--split info-gain --target income", "groups"),
        ("--split info-gain --target class:0", "weight"),
        ("--split info-gain --target class:2", "there is no other"),
        ("--split info-gain --target class --method local", "--target has no effect"),
        ("--split info-gain --target class --identifier pension", "both"),
    ] {
        let refused = folder.run(&format!("{base} {flags}"));
        assert_eq!(refused.code, Some(2), "{flags}: {}", refused.said());
        assert!(refused.err.contains(word), "{flags}: {}", refused.err);
        assert!(!folder.path("out.csv").exists());
    }
}

#[test]
fn a_job_file_names_a_workload_as_flags_do() {
    let folder = Folder::with(people(800));
    folder.anonymize(&format!(
        "in.csv -o flags.csv -k 5 {QUASI} --keep class,pension,illness --split info-gain \
         --target class:2 --target pension:number --features illness --then median"
    ));
    let columns = ["age", "income", "city", "shoe"]
        .map(|name| format!("[columns.{name}]\nrole = \"quasi\"\n"));
    let kept =
        ["class", "pension", "illness"].map(|name| format!("[columns.{name}]\nrole = \"keep\"\n"));
    folder.write(
        "job.toml",
        format!(
            "input = \"in.csv\"\noutput = \"job.csv\"\nk = 5\nsplit = \"info-gain\"\nthen = \"median\"\n\
             [workload]\ntargets = [\"class:2\", \"pension:number\"]\nfeatures = [\"illness\"]\n{}{}",
            columns.concat(),
            kept.concat()
        ),
    );
    folder.anonymize("--job job.toml");
    assert_eq!(folder.read("flags.csv"), folder.read("job.csv"));
}

/// People whose class follows from age, but for one sex the other way round than for the other; the
/// note says the class in other words.
fn sexes(n_rows: u64) -> String {
    let mut numbers = Numbers::new(3);
    let mut text = "age,income,city,shoe,sex,class,note\n".to_owned();
    for _ in 0..n_rows {
        let (age, income) = (20 + numbers.below(60), 1000 * (10 + numbers.below(90)));
        let city = ["Ulm", "Bern", "Graz", "Riga"][numbers.below(4) as usize];
        let (sex, shoe) = (["f", "m"][numbers.below(2) as usize], 30 + numbers.below(18));
        let class = if (age < 45) == (sex == "f") { "buyer" } else { "other" };
        let note = if class == "buyer" { "1" } else { "2.5" };
        text.push_str(&format!("{age},{income},{city},{shoe},{sex},{class},{note}\n"));
    }
    text
}

/// Figure 3 of LeFevre et al. 2008: classes of rows hold both classes of people, and tell them
/// apart together with what is known beside them.
#[test]
fn cuts_tell_a_target_together_with_the_features() {
    let folder = Folder::with(sexes(3000));
    let job = format!("in.csv -o out.csv -k 300 {QUASI} --split info-gain --target class");
    let left = ["", "--features sex"].map(|features| {
        folder.anonymize(&format!("{job} --keep sex,class,note {features}"));
        // What is shown, and what is known, together.
        let known = cells(&folder, "out.csv", "sex").into_iter();
        let rows = known.zip(cells(&folder, "out.csv", "class"));
        let classes =
            by_class(rows.map(|((shown, sex), (_, cell))| (shown + &sex, cell)).collect());
        let n_mixed = classes.values().filter(|cells| cells.iter().any(|cell| *cell != cells[0]));
        n_mixed.map(Vec::len).sum::<usize>()
    });
    assert_eq!(left[1], 0);
    assert!(left[0] > 1000, "{left:?}");
    let report = folder.anonymize(&format!("{job} --keep sex,class --features sex"));
    assert_eq!(report["method"], "auto, info-gain split, target 'class', feature 'sex'");
}

#[test]
fn a_target_that_a_kept_feature_tells_does_not_steer_the_cuts() {
    let folder = Folder::with(sexes(3000));
    let job = format!("in.csv -o out.csv -k 20 {QUASI} --keep class,note");
    let release = |more: &str| {
        folder.anonymize(&format!("{job} {more}"));
        folder.read("out.csv")
    };
    let compact = release("--split compact");
    assert_eq!(release("--split info-gain --target class --features note"), compact);
    // The same where the feature is a name, and where it tells a number.
    let as_text = "--split info-gain --target class --features note --type note=text";
    assert_eq!(release(as_text), release("--split compact --type note=text"));
    assert_eq!(release("--split regression --target note --features class"), compact);
    assert_ne!(release("--split regression --target age --features class"), compact);
}

#[test]
fn mistakes_about_features_end_with_2_and_a_hint() {
    let folder = Folder::with(people(2000));
    let base = "anonymize in.csv -o out.csv -k 5 --quasi income --keep class,pension,shoe,city,age";
    let follows = "--split info-gain --target class";
    for (flags, problem, hint) in [
        ("--features city", "--features has no effect", "--split info-gain"),
        ("--split median --features city", "--features has no effect", "--split info-gain"),
        ("--method tds --target class --features city", "has no effect", "--method mondrian"),
        ("--method local --features city", "--features has no effect", "--method mondrian"),
        ("{F} --features income", "is a quasi-identifier", "is one anyway"),
        ("{F} --features illness --sensitive illness", "is sensitive", "--keep"),
        ("{F} --features illness --identifier illness", "is identifier", "--keep"),
        ("{F} --features illness", "has no role", "--keep 'illness'"),
        ("{F} --features wages", "has no role", "--keep 'wages'"),
        ("{F} --features city,class", "both a target and a feature", "one of them"),
        ("{F} --features city,city", "a feature twice", "once"),
        ("{F} --features pension --type pension=text", "'pension' has 4", "groups"),
        (
            "{F} --features age,shoe,city --type age=text --type shoe=text",
            "4320 combinations of values, more than the 4096",
            "fewer",
        ),
    ] {
        let refused = folder.run(&format!("{base} {}", flags.replace("{F}", follows)));
        assert_eq!(refused.code, Some(2), "{flags}: {}", refused.said());
        assert!(refused.err.contains(problem), "{flags}: {}", refused.err);
        assert!(refused.err.contains(hint), "{flags}: {}", refused.err);
        assert!(!folder.path("out.csv").exists());
    }
    // Where there is no memory for it, the same is said.
    let refused = folder.run(&format!(
        "{base} {follows} --features pension --type pension=text --method rtree --memory 500KB \
         --spill-dir ."
    ));
    assert!(refused.err.contains("groups"), "{}", refused.err);
}
