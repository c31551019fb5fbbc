//! Made-up tables through the real binary: what is added, and what is refused.

mod common;

use common::Folder;

#[test]
fn what_is_added_to_a_table_leaves_its_other_columns_as_they_were() {
    let folder = Folder::new();
    for (plain, added) in [
        ("generate adult -n 300 --seed 4 -o plain.csv", "--zipcode"),
        ("generate agrawal -n 300 --seed 4 -o plain.csv", "--class c3 --vary-constants 9"),
    ] {
        assert_eq!(folder.run(plain).code, Some(0));
        let more = plain.replace("plain.csv", "more.csv");
        assert_eq!(folder.run(&format!("{more} {added}")).code, Some(0));
        let (plain, more) = (folder.read("plain.csv"), folder.read("more.csv"));
        for (line, longer) in plain.lines().zip(more.lines()) {
            assert_eq!(longer.rsplit_once(',').unwrap().0, line);
        }
    }
}

#[test]
fn constants_vary_with_their_own_seed_alone() {
    let folder = Folder::new();
    let labels = |flags: &str| {
        let run = folder.run(&format!("generate agrawal -n 2000 --class c2 -o t.csv {flags}"));
        assert_eq!(run.code, Some(0), "{}", run.err);
        folder.column("t.csv", "class")
    };
    let published = labels("");
    let varied = labels("--vary-constants 1");
    assert_ne!(published, varied);
    assert_eq!(varied, labels("--vary-constants 1"));
    assert_ne!(varied, labels("--vary-constants 2"));
}

#[test]
fn hierarchies_of_agrawal_are_taken_by_a_job() {
    let folder = Folder::new();
    let run = folder.run("generate agrawal -n 500 -o t.csv --hierarchies h --salary normal");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("elevel.csv") && run.out.contains("car.csv"));
    let run = folder.run(
        "anonymize t.csv -k 5 --quasi age,elevel,car --hierarchy elevel=h/elevel.csv \
         --hierarchy car=h/car.csv -o r.csv",
    );
    assert_eq!(run.code, Some(0), "{}", run.err);
}

#[test]
fn options_of_another_table_are_refused_and_nothing_is_written() {
    let folder = Folder::new();
    for flags in [
        "voters --zipcode",
        "adult --salary normal",
        "adult --class c3",
        "agrawal --vary-constants 3",
        "agrawal --vary-constants 3 --class c7",
        "voters --hierarchies h",
        "agrawal --class c8",
        "agrawal --salary gamma",
    ] {
        let run = folder.run(&format!("generate {flags} -n 10 -o t.csv"));
        assert_eq!(run.code, Some(2), "{flags}");
        assert!(!folder.path("t.csv").exists(), "{flags}");
    }
}
