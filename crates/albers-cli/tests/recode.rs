//! Recoding functions through the real program: what is kept, what other rows come to, and what is
//! refused.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use arrow_array::{Int64Array, StringArray};
use common::{Folder, Run, array, finished};

const ROLES: &str = "--quasi age,city,weight --type weight=decimal --sensitive disease --keep note \
    --identifier name";

/// People with an age, a city, a weight and a disease.
fn people(n_rows: usize, seed: usize) -> String {
    let mut text = "name,age,city,weight,disease,note\n".to_owned();
    for row in 0..n_rows {
        let at = row * 7919 + seed * 104_729;
        let city = ["Ulm", "Bonn", "Kiel", "Jena"][at / 3 % 4];
        let disease = ["measles", "mumps", "rubella", "flu"][at / 5 % 4];
        text += &format!(
            "p{row},{},{city},{}.{},{disease},n{}\n",
            20 + at % 60,
            50 + at % 41,
            at % 10,
            row % 3
        );
    }
    text
}

fn with_model(table: &str, flags: &str) -> Folder {
    let folder = Folder::with(table);
    std::fs::create_dir(folder.path("own")).unwrap();
    let run = folder.run(&format!("anonymize in.csv -o out.csv --model own/model {ROLES} {flags}"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    folder
}

fn small() -> Folder {
    with_model(&people(60, 1), "-k 4")
}

fn mode(folder: &Folder, name: &str) -> u32 {
    folder.path(name).metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn the_rows_of_a_model_give_their_release_again_byte_for_byte() {
    let jobs = [
        "-k 4 --split compact",
        "-k 4 --split median --method rtree",
        "-k 3 --no-compact --values bounds --seed 5",
        "-k 5 --values mean --method mondrian",
        "-k 4 --l-diversity disease=distinct:2 --hierarchy city=cities.csv --split compact",
        "-k 4 --t-closeness disease=0.5 --exact",
        "-k 4 --hierarchy weight=ranges:5,10,20 --categories label --split compact",
        "-k 4 --alpha disease=0.7 --split info-gain --target note",
    ];
    for flags in jobs {
        let folder = Folder::with(people(150, 1));
        folder.write(
            "cities.csv",
            "Ulm,south,*\nBonn,west,*\nKiel,north,*\nJena,east,*\nHof,south,*\n",
        );
        std::fs::create_dir(folder.path("own")).unwrap();
        for (out, model) in [("plain.csv", ""), ("out.csv", "--model own/model")] {
            let run = folder.run(&format!("anonymize in.csv -o {out} {ROLES} {flags} {model}"));
            assert_eq!(run.code, Some(0), "{flags}: {}", run.err);
        }
        assert_eq!(folder.bytes("plain.csv"), folder.bytes("out.csv"), "{flags}");
        assert_eq!(mode(&folder, "own/model"), 0o600);
        // The hierarchy's file is not needed any more, and neither is the order of the rows.
        std::fs::remove_file(folder.path("cities.csv")).unwrap();
        folder.write_sorted("sorted.csv");
        let run = folder.run("recode own/model sorted.csv -o again.csv");
        assert_eq!(run.code, Some(0), "{flags}: {}", run.err);
        assert_eq!(folder.bytes("again.csv"), folder.bytes("out.csv"), "{flags}");
        assert!(!run.out.contains("second-release"), "{flags}: {}", run.out);
    }
}

#[test]
fn recoding_in_little_memory_comes_to_the_same_bytes() {
    let folder = with_model(&people(4_000, 1), "-k 3");
    folder.write("later.csv", people(3_000, 2));
    for (out, flags) in [("roomy.csv", ""), ("tight.csv", "--memory 1MB --threads 1")] {
        let run = folder.run(&format!("recode own/model later.csv -o {out} {flags}"));
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert_eq!(run.out.contains("temporary files: "), out == "tight.csv", "{}", run.out);
    }
    assert_eq!(folder.bytes("roomy.csv"), folder.bytes("tight.csv"));
}

#[test]
fn a_model_is_never_changed_by_recoding() {
    let folder = small();
    let before = (folder.bytes("own/model"), folder.path("own/model").metadata().unwrap());
    folder.run("recode own/model in.csv -o again.csv");
    folder.run("recode own/model in.csv -o learning.csv --for-learning");
    folder.run("recode own/model in.csv -o own/model --force");
    folder.run("recode own/model in.csv -o own/model --force --for-learning");
    assert_eq!(folder.bytes("own/model"), before.0);
    let after = folder.path("own/model").metadata().unwrap();
    assert_eq!(after.modified().unwrap(), before.1.modified().unwrap());
}

#[test]
fn rows_outside_of_the_domain_are_left_out_and_counted_or_refused_without_their_value() {
    let folder = small();
    let outliers = "x,7777,Ulm,60.0,flu,n1\ny,30,Atlantis,60.0,flu,n1\nz,,Ulm,60.0,flu,n1\n";
    folder.write("later.csv", people(60, 1) + outliers);
    let run = folder.run("recode own/model later.csv -o later-release.csv --json");
    assert_eq!(run.code, Some(0), "{}", run.err);
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((report["rows"].as_u64(), report["suppressed"].as_u64()), (Some(60), Some(3)));
    assert!(run.out.contains("3 rows have values that the model does not know"), "{}", run.out);
    assert_eq!(folder.bytes("later-release.csv"), folder.bytes("out.csv"), "poison changes others");
    for flags in ["", "--for-learning"] {
        let run =
            folder.run(&format!("recode own/model later.csv -o r.csv --outside refuse {flags}"));
        assert_eq!(run.code, Some(2), "{}", run.said());
        assert!(
            run.err.contains("row 61") || run.err.contains("row 62") || run.err.contains("row 63")
        );
        assert!(
            run.err.contains("column 'age'") || run.err.contains("column 'city'"),
            "{}",
            run.err
        );
        for secret in ["7777", "Atlantis"] {
            assert!(!run.said().contains(secret), "{}", run.said());
        }
        assert!(!folder.path("r.csv").exists());
    }
}

#[test]
fn poisoned_rows_change_no_other_row_for_learning() {
    let folder = small();
    let clean = people(60, 3);
    let mut lines: Vec<&str> = clean.lines().collect();
    let poison = ["x,7777,Ulm,60.0,flu,n1", "y,30,Atlantis,60.125,flu,n1", "z,,Ulm,0.001,flu,n1"];
    for (place, row) in [5, 20, 61].into_iter().zip(poison) {
        lines.insert(place, row);
    }
    folder.write("clean.csv", &clean);
    folder.write("poisoned.csv", lines.join("\n") + "\n");
    for outside in ["suppress", "edge"] {
        for table in ["clean", "poisoned"] {
            let run = folder.run(&format!(
                "recode own/model {table}.csv -o {table}-{outside}.csv --for-learning --outside {outside}"
            ));
            assert_eq!(run.code, Some(0), "{}", run.err);
        }
        let clean = folder.csv(&format!("clean-{outside}.csv"));
        let mut poisoned = folder.csv(&format!("poisoned-{outside}.csv"));
        let taken: Vec<Vec<String>> =
            [61, 20, 5].into_iter().map(|place| poisoned.remove(place)).collect();
        assert_eq!(clean, poisoned, "{outside}");
        // A new name and a missing value have no nearest one.
        assert_eq!(taken[0][..3], ["*", "*", "*"], "{outside}");
        assert_eq!(taken[1][..3], ["*", "*", "*"], "{outside}");
        assert_eq!(taken[2][0] == "*", outside == "suppress", "{outside}");
        assert_eq!(taken[2][3..], ["flu", "n1"], "what is carried is carried");
    }
}

#[test]
fn rows_for_learning_show_what_their_class_showed_and_stay_in_their_order() {
    let folder = small();
    let run = folder.run("recode own/model in.csv -o learning.csv --for-learning");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.starts_with("NO RELEASE: "), "{}", run.out);
    assert_eq!(mode(&folder, "learning.csv"), 0o600);
    assert!(!folder.path("learning.csv.manifest.json").exists());
    let mut learning = folder.csv("learning.csv");
    let mut release = folder.csv("out.csv");
    let diseases: Vec<String> = learning[1..].iter().map(|row| row[3].clone()).collect();
    assert_eq!(diseases, folder.column("in.csv", "disease"), "the order of the rows");
    learning.sort_unstable();
    release.sort_unstable();
    assert_eq!(learning, release, "the stored cells are those of the release");
}

#[test]
fn rows_for_learning_are_typed_where_their_file_is() {
    let folder = with_model(&people(60, 1), "-k 4 --values bounds");
    folder.write(
        "later.csv",
        "name,age,city,weight,disease,note\nx,999,Ulm,60.0,flu,7\ny,30,Ulm,60.0,flu,8\n",
    );
    let run = folder.run("recode own/model later.csv -o learning.parquet --for-learning");
    assert_eq!(run.code, Some(0), "{}", run.err);
    let batch = folder.parquet("learning.parquet");
    let ages = batch.column_by_name("age_min").unwrap();
    let ages = ages.as_any().downcast_ref::<Int64Array>().unwrap();
    use arrow_array::Array as _;
    assert!(ages.is_null(0) && !ages.is_null(1));
    let notes = batch.column_by_name("note").unwrap();
    let notes = notes.as_any().downcast_ref::<Int64Array>().unwrap();
    assert_eq!((notes.value(0), notes.value(1)), (7, 8), "text becomes typed as in a release");
    let cities = batch.column_by_name("city").unwrap();
    let cities = cities.as_any().downcast_ref::<StringArray>().unwrap();
    assert_eq!(cities.value(0), "*");
}

#[test]
fn what_is_for_learning_never_stands_where_a_release_stood() {
    let folder = small();
    for flags in ["", "--force"] {
        let run = folder.run(&format!("recode own/model in.csv -o out.csv --for-learning {flags}"));
        assert_eq!(run.code, Some(2), "{}", run.said());
        assert!(run.err.contains("out.csv.manifest.json stands beside out.csv"), "{}", run.err);
    }
}

/// Whatever byte of a model is another one, it is refused, and nobody panics.
#[test]
fn a_model_with_any_byte_flipped_is_refused() {
    let folder = with_model(
        "name,age,city,weight,disease,note\np,30,Ulm,50.5,flu,n\np,31,Bonn,51.5,flu,n\n",
        "-k 1",
    );
    let model = folder.bytes("own/model");
    let mut refusals = std::collections::BTreeSet::new();
    for place in 0..model.len() {
        let mut damaged = model.clone();
        damaged[place] ^= 1 << (place % 8);
        folder.write("damaged", &damaged);
        let run = folder.run_once(&["recode", "damaged", "in.csv", "-o", "r.csv"]);
        assert_eq!(run.code, Some(2), "byte {place}: {}", run.said());
        assert!(run.err.starts_with("albers: damaged: "), "byte {place}: {}", run.err);
        refusals.insert(run.err);
    }
    for n_bytes in (0..model.len()).step_by(41) {
        folder.write("damaged", &model[..n_bytes]);
        let run = folder.run_once(&["recode", "damaged", "in.csv", "-o", "r.csv"]);
        assert_eq!(run.code, Some(2), "{n_bytes} bytes: {}", run.said());
    }
    let said: Vec<&str> = refusals.iter().map(String::as_str).collect();
    assert!(said.iter().any(|text| text.contains("is damaged")), "{said:?}");
    assert!(said.iter().any(|text| text.contains("newer version")), "{said:?}");
    assert!(said.iter().any(|text| text.contains("no model of this program")), "{said:?}");
    assert!(!folder.path("r.csv").exists());
}

fn refused(folder: &Folder, arguments: &str) -> Run {
    let run = folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>());
    assert_eq!(run.code, Some(2), "{arguments}: {}", run.said());
    assert_eq!(run.out, "", "{arguments}");
    assert_eq!(run.err.lines().count(), 1, "{arguments}: {}", run.err);
    run
}

#[test]
fn rows_of_another_schema_are_refused_by_the_name_of_the_column() {
    let folder = small();
    folder.write("lacks.csv", "name,age,weight,disease,note\np,30,50.5,flu,n\n");
    let run = refused(&folder, "recode own/model lacks.csv -o r.csv");
    assert!(run.err.contains("no column 'city'"), "{}", run.err);
    folder.write("words.csv", "age,city,weight,disease,note\nhalf-past,Ulm,50.5,flu,n\n");
    let run = refused(&folder, "recode own/model words.csv -o r.csv --for-learning");
    assert!(run.err.contains("'age'") && !run.err.contains("half-past"), "{}", run.err);
    let texts = |text: &str| array(StringArray::from(vec![text]));
    folder.write_parquet(
        "typed.parquet",
        vec![
            ("age", texts("a")),
            ("city", texts("Ulm")),
            ("weight", texts("b")),
            ("disease", texts("flu")),
            ("note", texts("n")),
        ],
    );
    for flags in ["", "--for-learning"] {
        let run = refused(&folder, &format!("recode own/model typed.parquet -o r.csv {flags}"));
        assert!(run.err.contains("'age'"), "{}", run.err);
    }
    // Columns in another order, more columns and no identifier are no other schema.
    folder.write("more.csv", "more,note,weight,city,age,disease\n1,n,50.5,Ulm,30,flu\n");
    let run = folder.run("recode own/model more.csv -o learning.csv --for-learning");
    assert_eq!(run.code, Some(0), "{}", run.err);
}

#[test]
fn mistakes_end_with_2_and_say_what_to_do() {
    let folder = small();
    let edge = refused(&folder, "recode own/model in.csv -o r.csv --outside edge");
    assert!(edge.err.contains("--outside edge is for learning only"), "{}", edge.err);
    assert!(edge.err.contains("--for-learning"), "{}", edge.err);
    let table = refused(&folder, "recode in.csv in.csv -o r.csv");
    assert!(table.err.contains("in.csv: is no model of this program"), "{}", table.err);
    let none = refused(&folder, "recode nothing in.csv -o r.csv");
    assert!(none.err.contains("nothing"), "{}", none.err);
    refused(&folder, "recode own in.csv -o r.csv");
    let accept = "recode own/model in.csv -o r.csv --for-learning --accept low-k";
    assert!(refused(&folder, accept).err.contains("--accept has no effect"));
    let there = refused(&folder, "recode own/model in.csv -o out.csv");
    assert!(there.err.contains("is there already"), "{}", there.err);
    assert!(!folder.path("r.csv").exists());
}

#[test]
fn a_job_that_has_no_one_function_refuses_to_keep_one() {
    let folder = Folder::with(people(60, 1));
    std::fs::create_dir(folder.path("own")).unwrap();
    let model = "--model own/model";
    for flags in
        ["-k 3 --also-k 6", "-k 3 --method bang", "--method grid --epsilon 1 --delta 0.001"]
    {
        let run = refused(&folder, &format!("anonymize in.csv -o out.csv {ROLES} {flags} {model}"));
        assert!(run.err.contains("--model"), "{flags}: {}", run.err);
    }
    assert!(std::fs::read_dir(folder.path("own")).unwrap().next().is_none(), "nothing is left");
}

#[test]
fn a_model_takes_no_place_that_is_taken() {
    let folder = small();
    let again = format!("anonymize in.csv -o other.csv {ROLES} -k 4 --model");
    let there = refused(&folder, &format!("{again} own/model"));
    assert!(there.err.contains("own/model is there already"), "{}", there.err);
    for input in ["in.csv", "other.csv", "other.csv.manifest.json"] {
        let run = refused(&folder, &format!("{again} {input} --force"));
        let is_told = run.err.contains("is also an input") || run.err.contains("written twice");
        assert!(is_told, "{}", run.err);
    }
    let run = folder.run(&format!("{again} own/model --force"));
    assert_eq!(run.code, Some(0), "{}", run.err);
}

/// A release and its model appear together or not at all, wherever the disk ends.
#[test]
fn a_write_that_fails_leaves_neither_a_release_nor_a_model() {
    let folder = Folder::with(people(3_000, 1));
    std::fs::create_dir(folder.path("own")).unwrap();
    let mut n_failed = 0;
    for n_blocks in [0, 1, 2, 4, 8, 16, 32, 64, 128, 1_000_000] {
        let script = format!(
            "trap '' XFSZ; ulimit -f {n_blocks}; exec {} anonymize in.csv -o out.csv --force -k 3 {ROLES} \
             --model own/model --accept secret-without-rule",
            env!("CARGO_BIN_EXE_albers")
        );
        let run = finished(Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")));
        let own = std::fs::read_dir(folder.path("own")).unwrap().count();
        if run.code == Some(0) {
            assert_eq!((folder.names().len(), own), (6, 1));
            continue;
        }
        n_failed += 1;
        assert_eq!(run.code, Some(2), "{n_blocks}: {}", run.said());
        assert_eq!((folder.names(), own), (vec!["in.csv".to_owned(), "own".to_owned()], 0));
    }
    assert!(n_failed >= 4, "some limits are too low for the release or the model");
}

#[test]
fn a_release_of_other_rows_goes_to_standard_output_too() {
    let folder = small();
    let run = folder.run("recode own/model in.csv -o -");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.out, folder.read("out.csv"));
    let run = folder.run("recode own/model - -o - --for-learning --from csv");
    assert_eq!(run.code, Some(2), "nothing comes in: {}", run.said());
}

#[test]
fn rows_none_of_which_is_known_or_enough_publish_nothing() {
    let folder = small();
    folder.write("unknown.csv", "age,city,weight,disease,note\n999,Ulm,50.5,flu,n\n");
    folder.write("few.csv", "age,city,weight,disease,note\n30,Ulm,50.5,flu,n\n");
    for table in ["unknown", "few"] {
        let arguments = format!("recode own/model {table}.csv -o r.csv --accept second-release");
        let run = folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>());
        assert_eq!(run.code, Some(1), "{}", run.said());
        assert!(run.err.contains("all 1 rows would be left out"), "{}", run.err);
        assert!(!folder.path("r.csv").exists());
    }
}

/// The types are those of the model, so that no flag is named that would change them.
#[test]
fn a_cell_of_another_type_is_refused_without_a_flag_that_is_not_there() {
    let table = "age,disease\n30,flu\n31,mumps\n52,flu\n55,mumps\n";
    let folder = Folder::with(table);
    std::fs::create_dir(folder.path("own")).unwrap();
    let accept = "--accept secret-without-rule";
    let job = format!("--quasi age --sensitive disease -k 2 {accept} --model own/model");
    let run = folder.run(&format!("anonymize in.csv -o out.csv {job}"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    for cell in ["30.5", "nobody"] {
        folder.write("later.csv", format!("{table}{cell},flu\n"));
        for more in [&[][..], &["--for-learning"]] {
            let recode = ["recode", "own/model", "later.csv", "-o", "later-out.csv"];
            let run = folder.run_once(&[&recode[..], more].concat());
            assert_eq!(run.code, Some(2), "{}", run.said());
            assert!(run.err.contains("types are those of the model"), "{}", run.err);
            assert!(!run.err.contains("--type") && !run.err.contains(cell), "{}", run.err);
            assert!(!folder.path("later-out.csv").exists());
        }
    }
}
