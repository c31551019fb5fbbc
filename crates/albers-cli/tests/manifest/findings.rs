//! What a release shows beside its classes, counted on its cells.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// How often each text occurs once.
fn n_alone<T: Ord>(texts: impl Iterator<Item = T>) -> usize {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    texts.for_each(|text| *counts.entry(text).or_default() += 1);
    counts.values().filter(|&&count| count == 1).count()
}

/// The findings of a release of which one column is kept, one is sensitive, and all others show
/// quasi-identifiers, of which some list the values of a text.
pub fn findings(
    rows: &[Vec<String>],
    kept: &str,
    secret: Option<&str>,
    other: &[&str],
    lists: &[&str],
) -> Vec<Value> {
    let place = |name: &str| rows[0].iter().position(|own| own == name).unwrap();
    let rows_of = || rows[1..].iter();
    let shown = |row: &Vec<String>| -> Vec<String> {
        let places = other.iter().map(|name| place(name));
        places.map(|at| row[at].clone()).collect()
    };
    let mut found = Vec::new();
    let values = rows_of().map(|row| row[place(kept)].clone());
    let alone = n_alone(values.clone().filter(|value| !value.is_empty()));
    if alone > 0 {
        found.push(json!({ "name": "unique-keep", "column": kept, "count": alone }));
    }
    if n_alone(rows_of().map(|row| (row[place(kept)].clone(), shown(row)))) > 0 {
        found.push(json!({ "name": "unique-keeps", "count": n_alone(values) }));
    }
    if let Some(secret) = secret {
        let mut classes: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
        for row in rows_of() {
            classes.entry(shown(row)).or_default().push(&row[place(secret)]);
        }
        let is_one = |secrets: &&Vec<&str>| secrets.iter().collect::<BTreeSet<_>>().len() == 1;
        let count: usize = classes.values().filter(is_one).map(Vec::len).sum();
        found.push(json!({ "name": "secret-without-rule", "column": secret, "count": count }));
    }
    for list in lists {
        let cells = rows_of().map(|row| row[place(list)].trim_matches(['{', '}']));
        let names: BTreeSet<&str> = cells.flat_map(|cell| cell.split(", ")).collect();
        if names.len() > 20 {
            found.push(json!({ "name": "text-list", "column": list, "count": names.len() }));
        }
    }
    found
}
