//! What shows only after the first rows: encodings and notations.

use super::*;
use crate::notation::{DecimalMark, Notation};

/// Rows of plain letters that fill more than the bytes by which a text is judged at first.
fn many_plain_rows() -> Vec<u8> {
    const N_ROWS: usize = 900_000;
    let mut text = b"city,x\n".to_vec();
    for row in 0..N_ROWS {
        text.extend_from_slice(if row % 2 == 0 { b"Bonn,1\n" } else { b"Rom,2\n" });
    }
    text
}

/// The names of all cities, and what was remarked, if the table can be read.
fn cities_of(text: &[u8]) -> Result<(Vec<String>, Vec<Remark>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    let source = open(&path);
    let requests = requests_of(&source, None);
    let mut cities = std::collections::BTreeSet::new();
    with_settled_types(&source, &requests, &mut |types| {
        cities.clear();
        let mut scan = source.scan(&requests, types)?;
        for_each_chunk(scan.as_mut(), &Silent, &Ok, &mut |chunk: SourceChunk| {
            if let Some(ColumnChunk { cells: Cells::Names { names, .. }, .. }) = chunk.coded.first()
            {
                cities.extend(names.iter().cloned());
            }
            Ok(())
        })
    })?;
    Ok((cities.into_iter().collect(), source.remarks()))
}

#[test]
fn letters_of_another_encoding_far_below_are_read_as_it_says() {
    let text = [many_plain_rows(), b"K\xf6ln,3\nD\xfcren,4\nSaint-Andr\xe9,5\n".to_vec()].concat();
    let (cities, remarks) = cities_of(&text).unwrap();
    assert_eq!(cities, ["Bonn", "Düren", "Köln", "Rom", "Saint-André"]);
    let found = remarks.iter().any(|remark| remark.to_string().contains("windows-1252"));
    assert!(found, "{remarks:?}");
}

#[test]
fn one_broken_letter_far_below_is_refused_where_it_stands() {
    let (first, last) = ("Köln,3\nDüren,4\nAndré,5\n", b"K\xf6ln,3\n");
    let text = [many_plain_rows(), first.as_bytes().to_vec(), last.to_vec()].concat();
    let outcome = cities_of(&text);
    let Err(TableError::Cell { place, problem, .. }) = outcome else { panic!("it is broken") };
    assert_eq!((place.as_str(), problem.contains("UTF-8")), ("line 900005", true));
}

#[test]
fn decimal_commas_far_below_are_read_as_such() {
    let text = format!("x;y\n{}1,5;9\n", "7;8\n".repeat(30_000));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    let source = open(&path);
    for given in [None, Some(ColumnType::Decimal)] {
        let requests = requests_of(&source, given);
        assert_eq!(source.types(&requests).unwrap().notations[0], Notation::Plain);
        let (types, ()) = with_settled_types(&source, &requests, &mut |types| {
            let mut scan = source.scan(&requests, types)?;
            for_each_chunk(scan.as_mut(), &Silent, &Ok, &mut |_| Ok(()))
        })
        .unwrap();
        assert_eq!(types.column_types[0], ColumnType::Decimal);
        assert_eq!(types.notations[0], Notation::Numbers(DecimalMark::Comma));
    }
}
