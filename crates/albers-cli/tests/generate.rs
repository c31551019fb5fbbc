//! Made-up tables through the real binary: what is added, and what is refused.

mod common;

use common::Folder;

#[test]
fn what_is_added_to_a_table_leaves_its_other_columns_as_they_were() {
    let folder = Folder::new();
    for (plain, added) in [
        ("generate adult -n 300 --seed 4 -o plain.csv --force", "--zipcode"),
        ("generate agrawal -n 300 --seed 4 -o plain.csv --force", "--class c3 --vary-constants 9"),
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
        let run =
            folder.run(&format!("generate agrawal -n 2000 --class c2 -o t.csv --force {flags}"));
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

#[test]
fn tables_and_hierarchies_that_are_there_are_replaced_only_by_force() {
    let folder = Folder::new();
    let generate = "generate adult -n 20 -o t.csv --hierarchies h";
    assert_eq!(folder.run(generate).code, Some(0));
    let hierarchies = std::fs::read_dir(folder.path("h")).unwrap();
    let mut there: Vec<String> =
        hierarchies.map(|entry| format!("h/{}", entry.unwrap().file_name().display())).collect();
    there.push("t.csv".to_owned());
    assert!(there.len() > 3);
    for kept in &there {
        for other in &there {
            std::fs::remove_file(folder.path(other)).unwrap();
        }
        folder.write(kept, "mine");
        let run = folder.run(generate);
        assert_eq!(run.code, Some(2), "{kept}: {}", run.said());
        assert!(run.err.contains("is there already") && run.err.contains("--force"), "{}", run.err);
        assert_eq!(folder.read(kept), "mine");
        assert!(there.iter().all(|other| other == kept || !folder.path(other).exists()), "{kept}");
        assert_eq!(folder.run(&format!("{generate} --force")).code, Some(0));
        assert_ne!(folder.read(kept), "mine");
    }
}

#[cfg(unix)]
#[test]
fn a_table_takes_the_place_of_no_pipe_and_of_a_link_only_by_force() {
    use std::os::unix::fs::FileTypeExt as _;
    let folder = Folder::new();
    assert!(folder.command_of("mkfifo").arg("pipe.csv").status().unwrap().success());
    for force in ["", "--force"] {
        let run = folder.run(&format!("generate adult -n 20 -o pipe.csv {force}"));
        assert_eq!(run.code, Some(2), "{}", run.said());
        assert!(run.err.contains("is a pipe or a device"), "{}", run.err);
        assert!(folder.path("pipe.csv").metadata().unwrap().file_type().is_fifo());
    }
    folder.write("mine.csv", "mine");
    std::os::unix::fs::symlink("mine.csv", folder.path("link.csv")).unwrap();
    let run = folder.run("generate adult -n 20 -o link.csv");
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("is there already"), "{}", run.err);
    assert_eq!(folder.run("generate adult -n 20 -o link.csv --force").code, Some(0));
    assert!(!folder.path("link.csv").is_symlink());
    assert_eq!(folder.read("mine.csv"), "mine");
}
