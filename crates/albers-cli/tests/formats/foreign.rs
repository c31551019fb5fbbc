//! Files that are no tables are named for what they are, with what makes tables of them.

use std::io::Write as _;

use super::workbooks::archive;
use crate::common::{Folder, PEOPLE, piped};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// First bytes, what the file is called, and what the command holds that converts it.
fn kinds() -> Vec<(Vec<u8>, &'static str, &'static str, &'static str)> {
    let mut jet = b"\x00\x01\x00\x00Standard Jet DB\x00".to_vec();
    jet.extend([0; 64]);
    let mut tar = vec![b'a'; 257];
    tar.extend(b"ustar\x0000");
    let mut sas = vec![0; 12];
    sas.extend(b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c\x18\x1f\x10\x11");
    vec![
        (b"$FL2@(#) SPSS DATA FILE".to_vec(), "sav", "SPSS", "read_spss('X'"),
        (b"$FL3@(#) SPSS DATA FILE".to_vec(), "zsav", "SPSS", "read_spss('X'"),
        (b"<stata_dta><header>".to_vec(), "dta", "Stata", "read_stata('X'"),
        (b"\x72\x02\x01\x00\x05\x00".to_vec(), "dta", "Stata", "read_stata('X'"),
        (sas, "sas7bdat", "SAS", "format='sas7bdat'"),
        (b"HEADER RECORD*******LIBRARY HEADER".to_vec(), "xpt", "SAS", "format='xport'"),
        (gzip(b"RDX3\nX\n\0\0\0\x03"), "RData", "R", "get(load('X')[1])"),
        (gzip(b"X\n\0\0\0\x03\0\x04"), "rds", "R", "readRDS('X')"),
        (b"ARROW1\0\0\xff".to_vec(), "feather", "Feather", "read_feather('X')"),
        (b"SQLite format 3\0".to_vec(), "sqlite", "SQLite", "sqlite3 -header -csv 'X'"),
        (jet, "mdb", "Access", "mdb-export 'X' TABLE"),
        (b"%PDF-1.7\n".to_vec(), "pdf", "a PDF", "ask for the data"),
        (b"\x89PNG\r\n\x1a\n\0".to_vec(), "png", "a picture", "ask for the data"),
        (b"\xff\xd8\xff\xe0\0".to_vec(), "jpg", "a picture", "ask for the data"),
        (b"7z\xbc\xaf\x27\x1c\0".to_vec(), "7z", "7-Zip", "7z x 'X'"),
        (tar.clone(), "tar", "tar", "tar -xf 'X'"),
        (gzip(&tar), "tgz", "tar", "tar -xf 'X'"),
        (b"BZh91AY&SYabc".to_vec(), "bz2", "bzip2", "bunzip2 -k 'X'"),
        (b"\xfd7zXZ\0\0".to_vec(), "xz", "xz", "unxz -k 'X'"),
        (b"<html><body><table>".to_vec(), "xls", "HTML", "read_html('X')"),
        (b"\n<!DOCTYPE HTML><p>".to_vec(), "html", "HTML", "read_html('X')"),
        (b"<?xml version=\"1.0\"?><people/>".to_vec(), "xml", "XML", "read_xml('X')"),
        (b"{\"type\": \"FeatureCollection\"}".to_vec(), "geojson", "GeoJSON", ".features[]"),
        (archive(&[("people.csv", PEOPLE.as_bytes())]), "zip", "zip", "unzip 'X'"),
        (archive(&[("word/document.xml", b"<a/>")]), "docx", "text document", "ask for"),
        (archive(&[("xl/workbook.bin", b"\x83")]), "xlsb", "binary workbook", "soffice"),
    ]
}

#[test]
fn a_file_that_is_no_table_is_named_by_its_content_whatever_its_name() {
    let folder = Folder::new();
    for (bytes, ending, what, command) in kinds() {
        // GeoJSON tells itself by its name alone.
        let names = match ending {
            "geojson" => vec![format!("x.{ending}")],
            _ => vec![format!("x.{ending}"), "x.csv".to_owned(), "x".to_owned()],
        };
        for name in names {
            folder.write(&name, &bytes);
            let run = folder.run(&format!("anonymize {name} -o out.csv --quasi age -k 2"));
            assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{name}: {}", run.said());
            let (says, command) =
                (format!("{name}: this is "), command.replace("'X'", &format!("'{name}'")));
            for own in [says.as_str(), what, &command] {
                assert!(run.err.contains(own), "{name}: '{own}' is not in: {}", run.err);
            }
            std::fs::remove_file(folder.path(&name)).unwrap();
        }
    }
    assert!(folder.names().is_empty(), "nothing was written");
}

#[test]
fn an_ending_names_a_file_whose_bytes_do_not() {
    let folder = Folder::new();
    let kinds = [
        ("a.sav", "SPSS"),
        ("a.dta", "Stata"),
        ("a.pdf", "a PDF"),
        ("a.rds", "R"),
        ("a.arff", "ARFF"),
    ];
    for (name, what) in kinds {
        folder.write(name, b"\x01\x02\x00\x03");
        let run = folder.run(&format!("check {name} --quasi age"));
        assert!(run.code == Some(2) && run.err.contains(what), "{name}: {}", run.err);
    }
}

#[test]
fn a_name_that_a_shell_would_take_apart_stands_in_no_command() {
    let folder = Folder::new();
    folder.write("a'; rm b.dta", b"<stata_dta>");
    let run = folder.run_with(&["check", "a'; rm b.dta", "--quasi", "age"]);
    assert!(run.err.contains("read_stata('FILE'"), "{}", run.err);
}

#[test]
fn what_a_pipe_brings_is_named_too() {
    let folder = Folder::new();
    let zip = archive(&[("xl/workbook.xml", b"<workbook/>")]);
    for (bytes, says) in [
        (&b"%PDF-1.7\n"[..], "this is a PDF"),
        (&b"SQLite format 3\0"[..], "this is a database of SQLite"),
        (&zip[..], "--from sheet"),
    ] {
        let (code, _, err) = piped(&folder, "check - --quasi age", bytes);
        assert!(code == Some(2) && err.contains(says), "{err}");
    }
}

#[test]
fn a_table_is_read_as_what_it_is_under_another_name() {
    let folder = Folder::with(PEOPLE);
    let job = "--quasi age,zip --type zip=code --sensitive disease -k 3";
    folder.anonymize(&format!("in.csv -o expected.csv {job}"));
    folder.anonymize("in.csv -o all.parquet --values interval --quasi age --keep zip,disease -k 1");
    folder.write("gzip.csv", gzip(PEOPLE.as_bytes()));
    folder.write("zstd.txt", zstd::encode_all(PEOPLE.as_bytes(), 3).unwrap());
    folder.write("text.xlsx", PEOPLE);
    folder.write("text.xls", PEOPLE.replace(',', "\t"));
    folder.write("people", PEOPLE);
    for input in ["gzip.csv", "zstd.txt", "text.xlsx", "people"] {
        folder.anonymize(&format!("{input} -o out.csv {job}"));
        assert_eq!(folder.read("out.csv"), folder.read("expected.csv"), "{input}");
    }
    let run = folder.run(&format!("anonymize text.xls -o out.tsv {job}"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    folder.write("parquet.csv", folder.bytes("all.parquet"));
    let run = folder.run("check parquet.csv --quasi age");
    assert!(run.out.starts_with("12 rows in 12 classes"), "it is read: {}", run.said());
    let run = folder.run("check parquet.csv --quasi age --from csv");
    assert!(run.code == Some(2) && run.err.contains("--from parquet"), "{}", run.err);
    let run = folder.run("check in.csv --quasi age --from sheet");
    assert!(run.code == Some(2) && run.err.contains("no spreadsheet"), "{}", run.err);
}

#[test]
fn spreadsheets_are_read_and_not_written() {
    let folder = Folder::with(PEOPLE);
    let run = folder.run("anonymize in.csv -o out.xlsx --quasi age -k 3");
    assert!(run.code == Some(2) && run.err.contains("not written"), "{}", run.err);
    let run = folder.run("anonymize in.csv -o - --to sheet --quasi age -k 3");
    assert_eq!(run.code, Some(2), "{}", run.said());
}
