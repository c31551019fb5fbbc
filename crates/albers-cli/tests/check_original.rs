//! What `albers check` finds in a release with its original, against what its owner was told.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, Numbers, Run, piped};
use serde_json::Value;

/// The findings that need the original.
const NEED_ORIGINAL: [&str; 3] = ["own-value-bounds", "keep-tells-quasi", "person-rules-class"];

/// Refuses words in which a cell of these tables stands.
fn assert_shows_no_cell(said: &str) {
    for cell in ["Quillon", "703", "704", "910", "919"] {
        assert!(!said.contains(cell), "a cell is shown: {said}");
    }
}

/// Runs the program once, whatever it advises.
fn run(folder: &Folder, arguments: &str) -> Run {
    let run = folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>());
    match arguments.contains("--json") {
        // Digits of times and digests may look like anything.
        true => assert_shows_no_cell(&run.err),
        false => assert_shows_no_cell(&run.said()),
    }
    run
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}{}", run.out, run.err))
}

/// The name of a finding, its column and count, whether it is severe, and its sentence, but for what
/// only whoever makes a release can do about it.
type Told = (String, String, u64, bool, String);

/// The findings of a report that need the original.
fn told(report: &Value) -> Vec<Told> {
    assert_shows_no_cell(&format!("{}{}", report["findings"], report["notes"]));
    let findings = report["findings"].as_array().unwrap().iter();
    let needing = findings.filter(|own| NEED_ORIGINAL.contains(&own["name"].as_str().unwrap()));
    let mut told: Vec<Told> = needing
        .map(|own| {
            let text = |field: &str| own[field].as_str().unwrap().to_owned();
            let count = own["count"].as_u64().unwrap();
            let sentence = text("sentence");
            let sentence = sentence.split(';').next().unwrap().to_owned();
            (text("name"), text("column"), count, own["severe"] == true, sentence)
        })
        .collect();
    told.sort();
    told
}

/// Makes a release and checks it with its original: its owner's findings, and those of the check.
fn both(folder: &Folder, anonymize: &str, check: &str) -> [Vec<Told>; 2] {
    let made = run(folder, &format!("anonymize in.csv {anonymize} --force --json"));
    assert_eq!(made.code, Some(0), "{}", made.err);
    let checked = run(folder, &format!("check {check} --original in.csv --json"));
    assert!(checked.code.is_some_and(|code| code < 2), "{}", checked.err);
    [told(&json(&made)), told(&json(&checked))]
}

fn table(header: &str, rows: impl Iterator<Item = String>) -> String {
    format!("{header}\n{}\n", rows.collect::<Vec<_>>().join("\n"))
}

#[test]
fn ends_of_few_rows_are_those_that_the_owner_was_told() {
    let mut numbers = Numbers::new(7);
    let mut cells = || (70_300 + numbers.below(300), 910_000 + numbers.below(30).pow(2));
    let mut row = |_| {
        let (age, pay) = cells();
        let pay = if age % 40 == 0 { String::new() } else { format!("{pay}.5") };
        format!("{age},{pay},{}", age % 7)
    };
    let folder = Folder::with(table("age,pay,shade", (0..3000).map(&mut row)));
    let mut n_found = 0;
    for options in [
        "",
        "--no-compact",
        "--values bounds",
        "--values mean",
        "--method incognito --hierarchy age=ranges:5,10 --hierarchy pay=ranges:1,100 \
         --hierarchy shade=suppress",
        "--method local",
        "--hierarchy shade=prefix",
        "--hierarchy age=ranges:5,10",
        "--also-k 40",
    ] {
        for out in ["out.csv", "out.parquet"] {
            let job = format!("-o {out} -k 12 --quasi age,pay,shade {options}");
            let [owner, checked] = both(&folder, &job, out);
            assert_eq!(owner, checked, "{job}");
            n_found += checked.len();
        }
    }
    assert!(n_found > 10, "{n_found}");
    // Without a manifest, flags tell the columns, and the k that is reached is the measure.
    std::fs::remove_file(folder.path("out.csv.manifest.json")).unwrap();
    let quasi = "check out.csv --original in.csv --quasi age,pay,shade";
    let less = json(&run(&folder, &format!("{quasi} --json -k 2")));
    let more = json(&run(&folder, &format!("{quasi} --json")));
    let count = |report: &Value| told(report).iter().map(|own| own.2).sum::<u64>();
    assert!(count(&less) < count(&more), "{less} {more}");
}

/// People whose birth tells their age, of the first ones; of the others it is one for all. Three
/// people have each age, so that it is generalized.
fn births(n_told: usize) -> String {
    let rows = (0..3000).map(|row| {
        let age = 70_300 + row / 3;
        format!("{age},{}", if row < n_told { 990_000 - age } else { 910_000 })
    });
    table("age,born", rows)
}

#[test]
fn a_column_that_tells_a_generalized_one_is_found_with_the_original_as_it_was_by_the_owner() {
    for n_told in [3000, 150, 147, 27, 0] {
        let folder = Folder::with(births(n_told));
        for role in ["--keep born", "--sensitive born --accept secret-without-rule"] {
            for options in
                ["", "--method samarati --hierarchy age=ranges:5", "--method local", "--no-compact"]
            {
                let job = format!("-o out.csv -k 5 --quasi age {role} {options}");
                let accepting = format!("{job} --accept keep-tells-quasi:born");
                let [owner, checked] = both(&folder, &accepting, "out.csv");
                assert_eq!(owner, checked, "{n_told}, {job}");
                let is_told = checked.iter().any(|own| own.0 == "keep-tells-quasi");
                assert_eq!(is_told, n_told >= 30, "{n_told}, {job}");
            }
        }
    }
}

#[test]
fn a_column_tells_nothing_where_ages_are_shown_and_where_it_is_unique_or_shuffled() {
    let mut shuffled: Vec<usize> = (0..3000).map(|row| row / 3).collect();
    Numbers::new(11).shuffle(&mut shuffled);
    let people = |born: &dyn Fn(usize) -> usize, n_each: usize| {
        let row = |row| format!("{},{}", 70_300 + row / n_each, 910_000 + born(row));
        table("age,born", (0..3000).map(row))
    };
    for table in
        [people(&|row| row / 10, 10), people(&|row| row, 3), people(&|row| shuffled[row], 3)]
    {
        let folder = Folder::with(table);
        let job = "-o out.csv -k 5 --quasi age --keep born --accept unique-keep";
        let [owner, checked] = both(&folder, job, "out.csv");
        assert_eq!(owner, checked);
        assert!(checked.iter().all(|own| own.0 != "keep-tells-quasi"), "{checked:?}");
    }
}

#[test]
fn what_chance_tells_is_taken_off_also_where_some_ages_are_shown_and_others_are_not() {
    let mut numbers = Numbers::new(23);
    let ages: Vec<u64> =
        (0..40).flat_map(|age| vec![70_300 + age; 10 + numbers.below(80) as usize]).collect();
    let mut born: Vec<usize> = (0..ages.len()).map(|row| row / 2).collect();
    let (_, shuffled) = born.split_at_mut(ages.len() / 2);
    numbers.shuffle(shuffled);
    let rows = ages.iter().zip(&born).map(|(age, born)| format!("{age},{}", 910_000 + born));
    let folder = Folder::with(table("age,born", rows));
    let job = "-o out.csv -k 30 --quasi age --keep born --accept keep-tells-quasi,unique-keep";
    let [owner, checked] = both(&folder, job, "out.csv");
    assert_eq!(owner, checked);
    let count = checked.iter().find(|own| own.0 == "keep-tells-quasi").unwrap().2;
    assert!((100..ages.len() as u64 / 2).contains(&count), "{count} of {}", ages.len());
    let shown = folder.column("out.csv", "age");
    let n_exact = shown.iter().filter(|cell| !cell.contains(',')).count();
    assert!(n_exact > 100 && n_exact + 100 < shown.len(), "{n_exact} of {}", shown.len());
}

#[test]
fn tables_that_do_not_fit_together_are_refused_with_what_to_do() {
    let rows = (0..60_000).map(|row| format!("{},{}", 70_300 + row / 60, row % 30));
    let folder = Folder::with(table("age,shade", rows));
    let made = "anonymize in.csv -o out.csv -k 5 --quasi age --keep shade --spill-dir .";
    assert_eq!(run(&folder, made).code, Some(0));
    let check = "check out.csv --original in.csv --spill-dir .";
    let refused = run(&folder, &format!("{check} --memory 300KB"));
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{}", refused.err);
    assert!(refused.err.contains("check against an original"), "{}", refused.err);
    assert!(refused.err.contains("give more --memory"), "{}", refused.err);
    assert_eq!(run(&folder, &format!("{check} --memory 30MB")).code, Some(0));
}

#[test]
fn a_severe_finding_of_the_original_ends_with_1_unless_it_is_accepted() {
    let folder = Folder::with(births(3000));
    let made = "anonymize in.csv -o out.csv -k 5 --quasi age --keep born --accept keep-tells-quasi";
    assert_eq!(run(&folder, made).code, Some(0));
    let check = "check out.csv --original in.csv";
    assert_eq!(run(&folder, check).code, Some(0), "its manifest accepts it");
    std::fs::remove_file(folder.path("out.csv.manifest.json")).unwrap();
    let check = format!("{check} --quasi age --keep born");
    let refused = run(&folder, &check);
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    assert!(refused.out.contains("severe finding: keep-tells-quasi:born: 3000 of"), "{}", {
        refused.out
    });
    assert!(refused.err.contains("--accept keep-tells-quasi:born"), "{}", refused.err);
    assert_eq!(run(&folder, &format!("{check} --accept keep-tells-quasi")).code, Some(0));
    // Without its original nobody sees it.
    assert_eq!(run(&folder, "check out.csv --quasi age --keep born").code, Some(0));
}

#[test]
fn carried_values_that_the_original_lacks_are_counted_and_said() {
    let folder = Folder::with(births(3000));
    let made = "anonymize in.csv -o out.csv -k 5 --quasi age --keep born --accept keep-tells-quasi";
    assert_eq!(run(&folder, made).code, Some(0));
    let check = "check other.csv --original in.csv --quasi age --keep born --json";
    let lines = folder.read("out.csv");
    // The same numbers in another form are the same.
    folder.write("other.csv", lines.replace(",9", ",+9"));
    let report = json(&run(&folder, check));
    assert_eq!(told(&report).iter().filter(|own| own.3).count(), 1, "{report}");
    assert_eq!(report["notes"], serde_json::json!([]));
    // A word before each of them is another value.
    folder.write("other.csv", lines.replace(",91", ",year 91").replace(",\"91", ",\"year 91"));
    let report = json(&run(&folder, check));
    let n_other = folder.read("other.csv").matches("year").count();
    let note = report["notes"][0].as_str().unwrap();
    assert!(n_other > 100, "{n_other}");
    assert!(note.starts_with(&format!("{n_other} rows have a value of 'born'")), "{report}");
    // A column that the original does not have at all.
    folder.write("lacking.csv", folder.read("in.csv").replace("born", "birth"));
    let report = json(&run(&folder, &check.replace("in.csv", "lacking.csv")));
    assert!(report["notes"][0].as_str().unwrap().starts_with("3000 rows have"), "{report}");
}

/// Groups of four persons of one age, of whom the first has a row for each of three diseases; all
/// others have measles, or each another disease.
fn groups(is_alike: bool) -> String {
    let diseases = ["measles", "mumps", "rubella"];
    let rows = (0..200).flat_map(|group| {
        let of_first = diseases.iter().map(move |disease| (0, *disease));
        let of_others = (0..3).map(move |own| (own + 1, diseases[if is_alike { 0 } else { own }]));
        of_first.chain(of_others).enumerate().map(move |(row, (person, disease))| {
            let age = 70_300 + 3 * group;
            format!("{},Quillon{group:05}{person},{age},{disease}", 6 * group + row)
        })
    });
    table("visit,person,age,disease", rows)
}

#[test]
fn classes_that_one_person_rules_are_found_where_a_key_pairs_the_rows() {
    for is_alike in [true, false] {
        let folder = Folder::with(groups(is_alike));
        let job = "-o out.csv -k 4 --subject person --quasi age --sensitive disease --keep visit \
                   --l-diversity disease=distinct:3 --accept person-rules-class,unique-keep";
        let check = "out.csv --subject person --key visit";
        let [owner, checked] = both(&folder, job, check);
        assert_eq!(owner, checked);
        let ruled = checked.iter().find(|own| own.0 == "person-rules-class");
        assert_eq!(ruled.map(|own| own.2), is_alike.then_some(200));
        // Its manifest accepts it; flags alone do not.
        std::fs::remove_file(folder.path("out.csv.manifest.json")).unwrap();
        let flags = "--original in.csv --quasi age --sensitive disease --l-diversity disease=3";
        let code = run(&folder, &format!("check {check} {flags}")).code;
        assert_eq!(code, Some(i32::from(is_alike)));
        let without = run(&folder, &format!("check out.csv --subject person {flags}"));
        assert_eq!(without.code, Some(0), "{}", without.err);
        assert!(without.out.contains("cannot be told: name a column"), "{}", without.out);
        assert!(without.out.contains("--key"), "{}", without.out);
    }
}

#[test]
fn closeness_that_a_manifest_names_is_asked_without_each_person() {
    let folder = Folder::with(groups(true));
    let job = "-o out.csv -k 4 --subject person --quasi age --sensitive disease --keep visit \
               --t-closeness disease=0.2 --accept person-rules-class,unique-keep";
    let [owner, checked] = both(&folder, job, "out.csv --subject person --key visit");
    assert_eq!(owner, checked);
    assert_eq!(checked.iter().find(|own| own.0 == "person-rules-class").unwrap().2, 200);
}

#[test]
fn rows_left_out_count_with_those_of_the_original() {
    let mut table = births(3000);
    // Two people alone at their age, who are left out, share their births with three others each.
    table.push_str("90300,919700\n90400,919699\n");
    let folder = Folder::with(table);
    let job = "-o out.csv -k 5 --quasi age --keep born --method samarati --suppress 0.01 \
               --hierarchy age=ranges:5,100 --accept keep-tells-quasi";
    let [owner, checked] = both(&folder, job, "out.csv");
    assert_eq!(folder.rows("out.csv").len(), 1 + 3000);
    let count = |told: &[Told]| told.iter().find(|own| own.0 == "keep-tells-quasi").unwrap().2;
    assert_eq!((count(&owner), count(&checked)), (3000, 2994));
}

#[test]
fn an_original_that_cannot_be_compared_is_refused_with_a_hint() {
    let folder = Folder::with(groups(false));
    let made = "anonymize in.csv -o out.csv -k 4 --quasi age --keep visit --accept unique-keep";
    assert_eq!(run(&folder, made).code, Some(0));
    folder.write("lacking.csv", folder.read("in.csv").replace("age", "years"));
    let short: Vec<String> = folder.read("in.csv").lines().take(9).map(str::to_owned).collect();
    folder.write("short.csv", short.join("\n"));
    folder.write("moved.csv", folder.read("in.csv").replace(",703", ",803"));
    for (arguments, said) in [
        ("--original out.csv", "is the release itself"),
        ("--original ./out.csv", "name the table that the release was made of"),
        ("--original none.csv", "none.csv"),
        ("--original lacking.csv", "there is no column 'age'"),
        ("--original short.csv", "rows, more than the 8"),
        ("--original moved.csv", "make sure that this is the release of this original"),
        ("--original in.csv --key age", "a column that both files hold unchanged"),
        ("--original in.csv --key disease", "there is no column 'disease'"),
        ("--original in.csv --subject nobody", "there is no column 'nobody'"),
        ("--key visit", "--original"),
    ] {
        let refused = run(&folder, &format!("check out.csv {arguments}"));
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{arguments}");
        assert!(refused.err.contains(said), "{arguments}: {}", refused.err);
    }
    let (code, _, err) = piped(&folder, "check out.csv --original -", &folder.bytes("in.csv"));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("can be read only once; give a file"), "{err}");
    let place = run(&folder, "check out.csv --original in.csv --rows in.csv --force");
    assert_eq!(place.code, Some(2), "{}", place.err);
    assert!(place.err.contains("also an input"), "{}", place.err);
}
