//! What is said of columns and paths without effect, or with a wrong one, is refused before reading.

mod common;

use common::{Folder, PEOPLE};

/// Roles under which [`PEOPLE`] is a good table.
const ROLES: &str = "--quasi age,zip --sensitive disease -k 2";

/// The run ends with 2, says this, and leaves the folder as it was.
fn refused(folder: &Folder, arguments: &str, says: &str) {
    let files = folder.files();
    let run = folder.run(arguments);
    assert_eq!(run.code, Some(2), "{arguments}: {}", run.said());
    assert!(run.err.contains(says), "{arguments}: '{says}' is not in: {}", run.err);
    assert_eq!(folder.files(), files, "{arguments}: nothing is changed");
}

#[test]
fn a_manifest_in_the_place_of_the_input_is_refused() {
    let folder = Folder::new();
    folder.write("out.csv.manifest.json", PEOPLE);
    let run = format!("anonymize out.csv.manifest.json -o out.csv {ROLES}");
    refused(&folder, &run, "out.csv.manifest.json is also an input");
}

#[test]
fn a_manifest_in_the_place_of_a_hierarchy_or_the_job_is_refused() {
    let folder = Folder::with(PEOPLE);
    folder.write("out.csv.manifest.json", "k = 2\n");
    let run = format!("anonymize in.csv -o out.csv {ROLES}");
    let job = format!("{run} --job out.csv.manifest.json");
    refused(&folder, &job, "is also an input");
    let hierarchy = format!("{run} --hierarchy zip=out.csv.manifest.json");
    refused(&folder, &hierarchy, "is also an input");
}

#[test]
fn a_bound_with_the_name_of_a_column_with_any_role_is_refused() {
    let folder = Folder::with("age,age_min,age_missing,d\n1,2,3,x\n2,3,4,y\n");
    let run = "anonymize in.csv -o out.csv -k 2 --values bounds --quasi age";
    refused(&folder, &format!("{run},age_min"), "'age_min': there would be two columns");
    for role in ["keep", "sensitive", "subject", "identifier"] {
        let run = format!("{run} --{role} age_missing");
        refused(&folder, &run, "'age_missing': there would be two columns");
    }
    folder.anonymize("in.csv -o out.csv -k 2 --values bounds --quasi age --keep d");
    folder.anonymize("in.csv -o out.csv -k 2 --quasi age,age_min");
    folder.anonymize(
        "in.csv -o out.csv -k 2 --values bounds --quasi age --keep age_min --type age=text",
    );
}

#[test]
fn what_has_no_effect_on_a_column_of_its_role_is_refused() {
    let folder = Folder::with(PEOPLE);
    let run = "anonymize in.csv -o out.csv --quasi age -k 2";
    for (flags, says) in [
        ("--type zip=text", "the type of column 'zip' has no effect, since the column has no role"),
        ("--hierarchy zip=prefix", "the hierarchy of column 'zip' has no effect"),
        ("--keep zip --hierarchy zip=prefix", "since the column is keep"),
        ("--weight zip=2", "the weight of column 'zip' has no effect"),
        ("--sensitive disease --weight disease=2", "since the column is sensitive"),
        ("--bias zip", "the bias of column 'zip' has no effect"),
    ] {
        refused(&folder, &format!("{run} {flags}"), says);
    }
    folder
        .write("job.toml", "k = 2\n[columns.age]\nrole = \"quasi\"\n[columns.zip]\nweight = 2.0\n");
    let job = "anonymize in.csv -o out.csv --job job.toml";
    refused(&folder, job, "the weight of column 'zip' has no effect");
    let measure = "measure in.csv in.csv --quasi age --sensitive disease --weight disease=2";
    refused(&folder, measure, "--weight names column 'disease', which is not quasi");
}

#[test]
fn an_l_above_the_values_that_occur_is_refused_though_the_hierarchy_has_more() {
    let folder = Folder::with("age,d\n1,x\n2,y\n3,x\n4,y\n");
    folder.write("d.csv", "x;*\ny;*\nz;*\n");
    let run = "anonymize in.csv -o out.csv --quasi age --sensitive d --hierarchy d=d.csv -k 2";
    for kind in ["distinct:3", "entropy:3", "recursive:2,3"] {
        let run = format!("{run} --l-diversity d={kind}");
        refused(&folder, &run, "l = 3 is more than the 2 values of column 'd'");
    }
}

#[test]
fn names_may_hold_an_equals_sign_or_have_spaces_around() {
    let folder = Folder::with("age,x=y\n1,a\n2,b\n");
    folder.write("a=b.csv", "a;*\nb;*\n");
    let quasi = ["in.csv", "-o", "out.csv", "-k", "2", "--quasi", "age,x=y"];
    let with = |more: &[&'static str]| folder.anonymize_with(&[&quasi[..], more].concat());
    let report = with(&["--hierarchy", "x=y=a=b.csv"]);
    assert_eq!(report["columns"][1]["shown"], "label");

    let folder = Folder::with("age,id\n1,a\n2,b\n3,b\n");
    folder.anonymize_with(&[
        "in.csv",
        "-o",
        "out.csv",
        "-k",
        "2",
        "--quasi",
        "age",
        "--subject",
        " id",
        "--bias",
        " age",
    ]);
}

#[test]
fn a_tab_may_be_named_as_delimiter() {
    let folder = Folder::with("age\tcity,state\n1\ta,b\n2\tb,c\n");
    for name in ["tab", "\\t", "\t"] {
        let run = ["in.csv", "-o", "out.csv", "-k", "2", "--quasi", "age", "--delimiter", name];
        assert_eq!(folder.anonymize_with(&run)["columns"][1]["name"], "city,state");
    }
}

#[test]
fn the_owner_is_told_what_the_divergence_is_over_and_that_a_k_of_1_hides_nobody() {
    let folder = Folder::with(PEOPLE);
    let report = folder.anonymize("in.csv -o out.csv --quasi zip,age --sensitive disease -k 1");
    assert_eq!(report["kl_basis"]["base"], "e (nats)");
    let measured = folder.run("measure in.csv in.csv --quasi zip,age --sensitive disease --json");
    assert_eq!(measured.code, Some(0), "{}", measured.said());
    let columns = report["kl_basis"]["columns"].as_array().expect("a list");
    assert_eq!(columns.len(), 2);
    assert_eq!(report["kl_basis"]["sensitive"][0], "disease");
    let low_k = &report["findings"][0];
    assert_eq!((low_k["name"].as_str(), low_k["severe"].as_bool()), (Some("low-k"), Some(true)));
    assert!(low_k["sentence"].as_str().expect("a text").contains("hides nobody"), "{low_k}");
}

#[test]
fn a_type_given_to_init_for_a_column_without_a_role_does_not_spoil_its_job() {
    let folder = Folder::with(PEOPLE);
    for column in ["age", "zip", "disease"] {
        let run = folder.run(&format!("init in.csv -k 2 --force --type {column}=text"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        let run = folder.run("anonymize --job job.toml -o out.csv");
        assert!(!run.err.contains("has no effect"), "{}", run.said());
    }
}
