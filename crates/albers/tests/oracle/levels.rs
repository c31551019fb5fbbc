//! The classes of a full-domain release, from its levels and the table.

use std::collections::{BTreeMap, BTreeSet};

use albers::{Method, Role};
use serde_json::Value as Json;

use super::case::Case;
use super::column::Column;

/// The rows of each class that satisfies the requirement, at the levels that a manifest tells;
/// nothing if it tells none.
pub fn classes(case: &Case, manifest: &Json) -> Option<BTreeSet<Vec<usize>>> {
    let told = manifest.pointer("/generalization/levels")?;
    let level_of = |column: &Column| {
        let level = told.get(&column.name).and_then(Json::as_u64);
        level.expect("each quasi-identifier has a level") as usize
    };
    let levels: Vec<(&Column, usize)> =
        case.with_role(Role::Quasi).map(|column| (column, level_of(column))).collect();
    let mut classes: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for row in 0..case.n_rows {
        let labels = levels.iter().map(|&(column, level)| label(case, column, level, row));
        classes.entry(labels.collect()).or_default().push(row);
    }
    let k = case.job.k.expect("set when drawn") as usize;
    let satisfies = |rows: &Vec<usize>| {
        case.n_units_of(rows.iter().copied()) >= k
            && case.secrets.iter().all(|secret| {
                let values: Vec<_> = rows.iter().map(|&row| secret.whole[row].clone()).collect();
                secret.misses(&values, &secret.whole).is_empty()
            })
    };
    Some(classes.into_values().filter(satisfies).collect())
}

/// What a row shows at a level. The top stands for every value, and for none.
fn label(case: &Case, column: &Column, level: usize, row: usize) -> String {
    let tree = column.tree.as_ref().expect("full-domain releases climb hierarchies");
    let Some(path) = tree.paths.values().next() else { return String::new() };
    let top = path.len() - 1;
    let level = match case.method {
        // Whole columns are shown or suppressed, with nothing between.
        Method::AttributeSuppression if level > 0 => top,
        _ => level,
    };
    let value = &column.values[row];
    match (value.is_missing(), level == top) {
        (_, true) => "*".to_owned(),
        (true, false) => String::new(),
        (false, false) => tree.paths[&value.canonical(column.kind)][level].clone(),
    }
}
