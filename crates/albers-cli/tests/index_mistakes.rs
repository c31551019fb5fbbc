//! Every mistake with an index, through the program: the message says where and what to do, no cell
//! is shown, and the index is as it was.

mod common;

use common::Folder;
use common::living::{
    HEADER, ROLES, done, index_of, json, lines, once, people, person, refused, table_of,
};

// Rows.

#[test]
fn a_key_that_comes_twice_is_refused() {
    let folder = index_of(30);
    folder.write("twice.csv", people([31, 32, 31]));
    let says = ["row 3 has a key that another row of the batch has"];
    for command in ["insert", "sync"] {
        refused(&folder, &format!("index {command} idx twice.csv"), 2, &says);
    }
    folder.write("twice.csv", people([1, 2, 1]));
    refused(&folder, "index update idx twice.csv", 2, &says);
    refused(&folder, "index sync idx twice.csv --max-deletes 1", 2, &says);
    refused(&folder, "index delete idx twice.csv", 2, &["rows 1 and 3 have the same key"]);
}

#[test]
fn a_key_that_is_there_is_refused_at_insert() {
    let folder = index_of(30);
    folder.write("more.csv", people([31, 7]));
    let says = ["row 2 has a key that a row of the index has", "albers index update"];
    refused(&folder, "index insert idx more.csv", 2, &says);
}

#[test]
fn a_key_that_is_not_there_is_refused_at_update_and_delete() {
    let folder = index_of(30);
    folder.write("more.csv", people([7, 8, 31]));
    let says = ["row 3 has a key that no row of the index has"];
    refused(&folder, "index update idx more.csv", 2, &says);
    refused(&folder, "index delete idx more.csv", 2, &says);
}

#[test]
fn a_row_without_a_key_is_refused() {
    let folder = index_of(30);
    let rows = [lines([31]), vec![",7301,01907,mumps".to_owned()]].concat();
    folder.write("more.csv", table_of(&rows));
    for command in ["insert", "update", "sync"] {
        refused(&folder, &format!("index {command} idx more.csv"), 2, &["row", "'id'"]);
    }
    folder.write("first.csv", table_of(&[lines(0..5), rows].concat()));
    let create = format!("index create other first.csv --key id {ROLES}");
    refused(&folder, &create, 2, &["row 7", "'id'"]);
}

#[test]
fn a_table_without_the_key_is_refused() {
    let folder = index_of(30);
    folder.write("more.csv", "age,zip,disease\n7301,01907,mumps\n");
    for command in ["insert", "update", "delete", "sync"] {
        let says = ["more.csv", "'id'"];
        refused(&folder, &format!("index {command} idx more.csv"), 2, &says);
    }
    let create = format!("index create other in.csv --key nobody {ROLES}");
    refused(&folder, &create, 2, &["in.csv", "'nobody'"]);
}

#[test]
fn a_cell_of_another_type_is_refused_with_its_row_and_column() {
    let folder = index_of(30);
    let rows = [lines([31]), vec!["key99999,nobody,01907,mumps".to_owned()]].concat();
    folder.write("more.csv", table_of(&rows));
    for command in ["insert", "sync"] {
        let says = ["more.csv", "line 3", "'age'"];
        refused(&folder, &format!("index {command} idx more.csv"), 2, &says);
    }
}

#[test]
fn a_batch_without_a_column_is_refused() {
    let folder = index_of(30);
    folder.write("more.csv", "id,age,disease\nkey99999,7301,mumps\n");
    for command in ["insert", "update", "sync"] {
        refused(&folder, &format!("index {command} idx more.csv"), 2, &["more.csv", "'zip'"]);
    }
}

#[test]
fn a_value_without_a_leaf_is_refused_with_its_row_and_column() {
    let folder = Folder::with(people(0..30));
    let leaves = (1900..1940).map(|zip| format!("0{zip};0{}*;*\n", zip / 10));
    folder.write("zip.txt", leaves.collect::<String>());
    done(&folder, &format!("index create idx in.csv --key id {ROLES} --hierarchy zip=zip.txt"));
    std::fs::remove_file(folder.path("zip.txt")).unwrap();
    folder.write(
        "more.csv",
        format!("{HEADER}\nkey99998,7301,01907,mumps\nkey99999,7302,09999,mumps\n"),
    );
    refused(&folder, "index insert idx more.csv", 2, &["row 2", "'zip'"]);
    folder.write("more.csv", people(30..36));
    done(&folder, "index insert idx more.csv");
    let report = json(&folder, "index release idx -o out.csv");
    assert_eq!(report["rows"], 36);
}

#[test]
fn a_hierarchy_that_cannot_be_read_makes_no_index() {
    let folder = Folder::with(people(0..30));
    let create = format!("index create idx --key id {ROLES} --hierarchy zip=nope.csv");
    refused(&folder, &create, 2, &["nope.csv", "'zip'"]);
}

#[test]
fn an_extract_that_lacks_too_much_is_refused() {
    let folder = index_of(30);
    folder.write("extract.csv", people(0..26));
    let says = ["4 of the 30 rows", "no more than 3", "--max-deletes"];
    refused(&folder, "index sync idx extract.csv", 2, &says);
    for share in ["-0.1", "1.5", "nan"] {
        let sync = format!("index sync idx extract.csv --max-deletes={share}");
        refused(&folder, &sync, 2, &["--max-deletes", "from 0 to 1"]);
    }
    let synced = json(&folder, "index sync idx extract.csv --max-deletes 0.2");
    assert_eq!((&synced["deleted"], &synced["rows"]), (&4.into(), &26.into()));
}

// Folders.

#[test]
fn a_folder_that_is_no_index_is_refused() {
    let folder = index_of(30);
    std::fs::create_dir(folder.path("sub")).unwrap();
    folder.write("sub/note.txt", "a note");
    let commands =
        ["insert {} in.csv", "release {} -o out.csv", "info {}", "check {}", "compact {}"];
    for command in commands {
        for name in ["sub", "nowhere"] {
            let arguments = format!("index {}", command.replace("{}", name));
            refused(&folder, &arguments, 2, &[name, "holds no index", "create one"]);
        }
        let arguments = format!("index {}", command.replace("{}", "in.csv"));
        refused(&folder, &arguments, 2, &["in.csv"]);
    }
    assert_eq!(std::fs::read_dir(folder.path("sub")).unwrap().count(), 1, "nothing is added");
}

#[test]
fn a_folder_that_is_there_is_not_made_an_index() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = index_of(30);
    std::fs::create_dir(folder.path("sub")).unwrap();
    folder.write("sub/note.txt", "a note");
    let mode = || folder.path("sub").metadata().unwrap().permissions().mode();
    let before = mode();
    for name in ["idx", "sub"] {
        let create = format!("index create {name} --key id {ROLES}");
        refused(&folder, &create, 2, &[name, "exists and is not empty", "name a new folder"]);
    }
    assert_eq!(mode(), before, "a folder that is refused stays as open as it was");
    let create = format!("index create in.csv --key id {ROLES}");
    refused(&folder, &create, 2, &["in.csv"]);
    let create = format!("index create no/where --key id {ROLES}");
    refused(&folder, &create, 2, &["no/where"]);
}

#[test]
fn rows_that_are_refused_leave_no_folder() {
    let folder = Folder::with(people([1, 2, 1]));
    let create = format!("index create idx in.csv --key id {ROLES}");
    refused(&folder, &create, 2, &["row 3 has a key"]);
    std::fs::create_dir(folder.path("empty")).unwrap();
    let create = format!("index create empty in.csv --key id {ROLES}");
    refused(&folder, &create, 2, &["row 3 has a key"]);
    assert_eq!(std::fs::read_dir(folder.path("empty")).unwrap().count(), 0);
    let create = format!("index create idx nope.csv --key id {ROLES}");
    refused(&folder, &create, 2, &["nope.csv"]);
}

#[test]
fn a_second_writer_is_refused() {
    let folder = index_of(30);
    folder.write("more.csv", people(30..33));
    let held = albers::Index::open(&folder.path("idx")).unwrap();
    for command in ["insert idx more.csv", "release idx -o out.csv", "compact idx", "info idx"] {
        let run = once(&folder, &format!("index {command}"));
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{command}: {}", run.err);
        assert!(run.err.contains("idx is in use by another process"), "{command}: {}", run.err);
    }
    drop(held);
    let held = albers::Index::open_to_read(&folder.path("idx")).unwrap();
    done(&folder, "index info idx");
    done(&folder, "index check idx");
    assert_eq!(once(&folder, "index insert idx more.csv").code, Some(2));
    drop(held);
    done(&folder, "index insert idx more.csv");
}

// Jobs.

#[test]
fn what_has_no_place_in_an_index_is_refused_by_name() {
    let folder = Folder::with(people(0..30));
    let flags = [
        ("--method mondrian", "--method mondrian"),
        ("--no-compact", "--no-compact"),
        ("--values mean", "--values mean"),
        ("--also-k 9", "--also-k"),
        ("--granularity cut", "--granularity"),
        ("--split info-gain --target disease", "--split"),
        ("--suppress 0.1", "--suppress"),
        ("--level zip=1", "--level"),
        ("--scale age=equal", "--scale"),
        ("--no-nesting", "--no-nesting"),
        ("--epsilon 1 --delta 1e-6", "--epsilon"),
    ];
    for (flag, name) in flags {
        refused(&folder, &format!("index create idx in.csv --key id {ROLES} {flag}"), 2, &[name]);
    }
    let create = format!("index create idx in.csv --key age {ROLES}");
    refused(&folder, &create, 2, &["column 'age' is the key"]);
}

#[test]
fn a_job_file_makes_an_index() {
    let folder = Folder::with(people(0..30));
    folder.write(
        "job.toml",
        "input = 'nope.csv'\noutput = 'no.csv'\nk = 4\n[columns.age]\nrole = 'quasi'\n\
         [columns.disease]\nrole = 'keep'\n",
    );
    done(&folder, "index create idx in.csv --key id --job job.toml");
    let report = json(&folder, "index release idx -o out.csv --accept secret-without-rule");
    assert_eq!((&report["rows"], &report["requirement"]), (&30.into(), &"k = 4".into()));
    assert_eq!(folder.csv("out.csv")[0], ["age", "disease"]);
}

// Releases.

#[test]
fn a_k_below_that_of_the_index_is_refused() {
    let folder = index_of(30);
    let says = ["k = 3", "k = 2 is less", "-k 3"];
    refused(&folder, "index release idx -o out.csv -k 2", 2, &says);
    let report = json(&folder, "index release idx -o out.csv -k 6");
    assert!(report["class_size"]["min"].as_u64().unwrap() >= 6);
}

#[test]
fn a_release_into_the_index_is_refused() {
    let folder = index_of(30);
    let whole = folder.path("idx");
    let whole = whole.to_str().unwrap();
    for place in ["idx", "./idx", whole] {
        let says = ["lies in the folder of the index", "another folder"];
        refused(&folder, &format!("index release idx -o {place}/out.csv"), 2, &says);
        for flag in ["--manifest", "--owner-report"] {
            let arguments = format!("index release idx -o out.csv {flag} {place}/own.json");
            refused(&folder, &arguments, 2, &says);
        }
    }
}

#[test]
fn only_the_key_is_kept_by_a_release() {
    let folder = index_of(30);
    let says = ["--keep zip", "only the key 'id' can be kept", "the job"];
    refused(&folder, "index release idx -o out.csv --keep zip", 2, &says);
    let severe = once(&folder, "index release idx -o out.csv --keep id");
    assert_eq!((severe.code, severe.out.as_str()), (Some(1), ""), "{}", severe.err);
    assert!(severe.err.contains("--accept unique-keep:id"), "{}", severe.err);
    done(&folder, "index release idx -o out.csv --keep id --accept unique-keep:id");
    let mut ids = folder.column("out.csv", "id");
    ids.sort();
    assert_eq!(ids, (0..30).map(|number| person(number)[0].clone()).collect::<Vec<_>>());
}

#[test]
fn fewer_rows_than_k_are_not_released() {
    let folder = index_of(2);
    refused(&folder, "index release idx -o out.csv", 2, &["2 rows"]);
    let folder = Folder::new();
    done(&folder, &format!("index create idx --key id {ROLES}"));
    refused(&folder, "index release idx -o out.csv", 2, &["no rows"]);
}

#[test]
fn a_release_that_is_there_is_replaced_only_by_force() {
    let folder = index_of(30);
    done(&folder, "index release idx -o out.csv");
    refused(&folder, "index release idx -o out.csv", 2, &["out.csv is there already", "--force"]);
    done(&folder, "index release idx -o out.csv --force");
    let says = ["cannot both go to standard output"];
    refused(&folder, "index release idx -o - --json", 2, &says);
}
