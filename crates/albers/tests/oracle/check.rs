//! A release against its table.

use std::collections::{BTreeMap, BTreeSet};

use albers::Role;
use serde_json::Value as Json;

use super::case::{Case, Column, Shown};
use super::files::{self, Texts};
use super::shown::{self, Cover};
use super::value::Value;

/// A release beside its table.
struct Pair<'a> {
    case: &'a Case,
    release: Texts,
    /// Rows of the release that show the same on the quasi-identifiers.
    classes: Vec<Vec<usize>>,
    /// The row of the table behind each row of the release, where a key tells.
    origin: Option<Vec<usize>>,
}

/// Checks everything that the release and its manifest promise.
pub fn check_release(case: &Case) {
    let path = case.job.output.as_deref().expect("set when drawn");
    let release = files::read(path);
    let mut by_text: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
    let places: Vec<usize> =
        case.with_role(Role::Quasi).flat_map(|column| shown::places(column, &release)).collect();
    for (row_idx, row) in release.rows.iter().enumerate() {
        let key = places.iter().map(|&place| row[place].as_str()).collect();
        by_text.entry(key).or_default().push(row_idx);
    }
    let classes: Vec<Vec<usize>> = by_text.into_values().collect();
    let origin = origin_of(case, &release);
    let pair = Pair { case, release, classes, origin };
    pair.check_columns();
    pair.check_carried();
    pair.check_requirement();
    pair.check_boxes();
    let losses = pair.check_cells();
    let manifest = std::fs::read_to_string(format!("{}.manifest.json", path.display()));
    let manifest: Json = serde_json::from_str(&manifest.expect("a manifest")).expect("JSON");
    pair.check_manifest(&manifest, &losses);
}

fn origin_of(case: &Case, release: &Texts) -> Option<Vec<usize>> {
    let key = case.columns.iter().find(|column| column.name == "id")?;
    let row_of: BTreeMap<&str, usize> =
        key.cells.iter().enumerate().map(|(row, cell)| (cell.as_str(), row)).collect();
    let place = release.place("id");
    let origin: Vec<usize> = release.rows.iter().map(|row| row_of[row[place].as_str()]).collect();
    assert_eq!(origin.iter().collect::<BTreeSet<_>>().len(), case.n_rows, "a row came twice");
    Some(origin)
}

impl Pair<'_> {
    fn check_columns(&self) {
        let expected: Vec<String> = self
            .case
            .columns
            .iter()
            .flat_map(|column| match column.role {
                Some(Role::Quasi) => shown::names(column),
                Some(Role::Sensitive | Role::Keep) => vec![column.name.clone()],
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(self.release.header, expected);
        assert_eq!(self.release.rows.len(), self.case.n_rows);
    }

    /// The value of a carried column in a row of the release.
    fn carried(&self, column: &Column, row: usize) -> Value {
        Value::read(column.kind, &self.release.rows[row][self.release.place(&column.name)])
    }

    /// Sensitive and kept cells are unchanged and still beside each other.
    fn check_carried(&self) {
        let carried: Vec<&Column> = self
            .case
            .columns
            .iter()
            .filter(|column| matches!(column.role, Some(Role::Sensitive | Role::Keep)))
            .collect();
        let row = |row: usize| carried.iter().map(|column| self.carried(column, row)).collect();
        let mut after: Vec<Vec<Value>> = (0..self.case.n_rows).map(row).collect();
        let row = |row: usize| carried.iter().map(|column| column.values[row].clone()).collect();
        let mut before: Vec<Vec<Value>> = (0..self.case.n_rows).map(row).collect();
        after.sort_unstable();
        before.sort_unstable();
        assert!(before == after, "carried cells changed");
    }

    fn check_requirement(&self) {
        let subject = self.case.with_role(Role::Subject).next();
        for class in &self.classes {
            let n_units = match (subject, &self.origin) {
                (None, _) => class.len(),
                (Some(subject), Some(origin)) => {
                    let of_row = |&row: &usize| &subject.cells[origin[row]];
                    class.iter().map(of_row).collect::<BTreeSet<_>>().len()
                }
                // Without a key the subjects are not in the release.
                (Some(_), None) => self.case.k,
            };
            assert!(n_units >= self.case.k, "a class of {n_units}, k is {}", self.case.k);
            for secret in &self.case.secrets {
                let column = &self.case.columns[secret.column];
                let values: Vec<Value> =
                    class.iter().map(|&row| self.carried(column, row)).collect();
                let misses = secret.misses(&values);
                assert!(misses.is_empty(), "'{}' of a class misses {misses:?}", column.name);
            }
        }
    }

    /// Where no labels are shown, no two classes have a point in common.
    fn check_boxes(&self) {
        let quasi: Vec<&Column> = self.case.with_role(Role::Quasi).collect();
        let shows_labels = quasi.iter().any(|column| column.shown == Shown::Label);
        if shows_labels || self.case.may_overlap {
            return;
        }
        let covers = |class: &Vec<usize>| -> Vec<Cover> {
            quasi.iter().map(|column| self.cover(column, class)).collect()
        };
        let boxes: Vec<Vec<Cover>> = self.classes.iter().map(covers).collect();
        for (at, one) in boxes.iter().enumerate() {
            for other in &boxes[..at] {
                let apart = one.iter().zip(other).any(|(a, b)| !a.meets(b));
                assert!(apart, "classes overlap: {one:?} and {other:?}");
            }
        }
    }

    /// What a class shows on a column.
    fn cover(&self, column: &Column, class: &[usize]) -> Cover {
        let row = &self.release.rows[class[0]];
        let places = shown::places(column, &self.release);
        let texts: Vec<&str> = places.iter().map(|&place| row[place].as_str()).collect();
        let mut cover = shown::read(column, &texts);
        let has_missing = column.values.iter().any(Value::is_missing);
        cover.with_missing |= self.case.is_full_domain && has_missing && texts == ["*"];
        cover
    }

    /// What each class shows covers its rows, and no more than must be. Returns the sum of the
    /// losses of all rows, column by column.
    fn check_cells(&self) -> Vec<f64> {
        self.case
            .with_role(Role::Quasi)
            .map(|column| self.classes.iter().map(|class| self.check_cell(column, class)).sum())
            .collect()
    }

    fn check_cell(&self, column: &Column, class: &[usize]) -> f64 {
        let cover = self.cover(column, class).sorted();
        if let Some(origin) = &self.origin {
            let values: Vec<&Value> =
                class.iter().map(|&row| &column.values[origin[row]]).collect();
            let name = &column.name;
            for value in &values {
                assert!(cover.covers(column, value), "{name}: {cover:?} hides {value:?}");
            }
            if self.case.is_compacted {
                let tightest = Cover::tightest(column, &values).sorted();
                assert_eq!(cover, tightest, "{name} is not tight");
            }
        }
        class.len() as f64 * cover.loss(column)
    }

    fn check_manifest(&self, manifest: &Json, losses: &[f64]) {
        let number = |path: &str| {
            let found = manifest.pointer(path).and_then(Json::as_f64);
            found.unwrap_or_else(|| panic!("the manifest lacks {path}"))
        };
        let near = |path: &str, expected: f64| {
            let found = number(path);
            let is_near = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
            assert!(is_near, "{path} is {found}, not {expected}");
        };
        let n_rows = self.case.n_rows as f64;
        let sizes: Vec<f64> = self.classes.iter().map(|class| class.len() as f64).collect();
        near("/rows", n_rows);
        near("/suppressed", 0.0);
        near("/classes", sizes.len() as f64);
        near("/class_size/min", sizes.iter().copied().fold(f64::INFINITY, f64::min));
        near("/class_size/max", sizes.iter().copied().fold(0.0, f64::max));
        near("/class_size/mean", n_rows / sizes.len() as f64);
        near("/loss/discernibility", sizes.iter().map(|size| size * size).sum());
        let quasi: Vec<&Column> = self.case.with_role(Role::Quasi).collect();
        let weights: f64 = quasi.iter().map(|column| column.weight).sum();
        let penalty: f64 =
            quasi.iter().zip(losses).map(|(column, loss)| column.weight * loss).sum();
        near("/loss/certainty_penalty", penalty);
        near("/loss/ncp", penalty / (n_rows * weights));
        for (column, loss) in quasi.iter().zip(losses) {
            near(&format!("/loss/ncp_by_column/{}", column.name), loss / n_rows);
        }
        let seed = self.case.job.seed.unwrap_or(0);
        assert_eq!(manifest.pointer("/seed").and_then(Json::as_u64), Some(seed));
    }
}
