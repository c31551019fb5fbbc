//! Releases against their table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use albers::{Choice, Method, Role, Values};
use serde_json::Value as Json;

use super::case::{Case, recodes_columns, releases};
use super::column::{Column, Shown};
use super::files::{self, Texts};
use super::levels;
use super::loss::Sums;
use super::shown::{self, Cover};
use super::tally::Tally;
use super::value::Value;

/// A release beside its table.
pub struct Pair<'a> {
    pub case: &'a Case,
    k: usize,
    /// Whether it is one of several releases, and not the finest.
    is_coarser: bool,
    /// Whether its rows came after its model: closeness is then to what is published alone.
    is_recoded: bool,
    release: Texts,
    /// What is published beside it.
    manifest: Json,
    /// What its owner is told.
    report: Json,
    /// Rows of the release that show the same on the quasi-identifiers.
    pub classes: Vec<Vec<usize>>,
    /// The row of the table behind each row of the release, where a key tells.
    pub origin: Option<Vec<usize>>,
    /// The values of each sensitive column, row by row of the release.
    secrets: Vec<Vec<Value>>,
}

/// Checks everything that the releases of a case and their manifests promise, and counts of what
/// kind they are.
pub fn check_releases(case: &Case, tally: &Tally) {
    tally.count(case.method.name());
    if case.max_left_out() > 0 {
        tally.count("rows may be left out");
    }
    let mut pairs = Vec::new();
    let report = read_json(case.job.owner_report.as_ref().expect("set when drawn"));
    for (at, (path, k)) in releases(&case.job).into_iter().enumerate() {
        let of_coarser = at.checked_sub(1).map(|at| report["also"][at]["report"].clone());
        let report = of_coarser.unwrap_or_else(|| report.clone());
        pairs.push(Pair::read(case, &path, k, at > 0, report));
        let pair = &pairs[at];
        pair.check();
        pair.tally(tally);
    }
    check_told_together(&pairs);
    if pairs.len() > 1 {
        let granularity = case.job.granularity.unwrap_or_default();
        tally.count(format!("several releases by {granularity}"));
        if check_intersections(&pairs) {
            tally.count("releases intersected");
        }
    }
}

/// Checks a release of rows that came after its model: it satisfies, covers and keeps what is
/// carried. What it loses is told over the values of the model, and not of these rows.
pub fn check_recoded(case: &Case, tally: &Tally) {
    let report = read_json(case.job.owner_report.as_ref().expect("set when drawn"));
    let (path, k) = releases(&case.job).remove(0);
    let pair = Pair { is_recoded: true, ..Pair::read(case, &path, k, false, report) };
    pair.check_columns();
    pair.check_carried();
    for class in &pair.classes {
        pair.check_class(class, "a class");
    }
    pair.check_boxes();
    pair.check_cells();
    let n_left_out = pair.report.pointer("/suppressed").and_then(Json::as_u64);
    assert_eq!(n_left_out, Some(pair.n_left_out() as u64), "rows are not accounted for");
    pair.tally_left_out(tally);
}

/// The manifest of the finest release tells of the others what theirs do.
fn check_told_together(pairs: &[Pair<'_>]) {
    let told = pairs[0].manifest.pointer("/also").and_then(Json::as_array);
    let told: &[Json] = told.map_or(&[], Vec::as_slice);
    assert_eq!(told.len() + 1, pairs.len());
    for (told, pair) in told.iter().zip(&pairs[1..]) {
        assert_eq!(told.pointer("/k").and_then(Json::as_u64), Some(pair.k as u64));
        assert_eq!(told.as_object().map(|told| told.len()), Some(2), "k and the name of a file");
        let report = pair.manifest.pointer("/rows");
        assert_eq!(report, pair.report.pointer("/rows"));
    }
}

fn read_json(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).expect("it is written");
    serde_json::from_str(&text).expect("JSON")
}

/// Whoever holds some of the releases, and knows who is in which class of each, sees no fewer
/// candidates, and no less of what is sensitive, than in the finest of those held.
fn check_intersections(pairs: &[Pair<'_>]) -> bool {
    let mut class_of_row: Vec<BTreeMap<usize, usize>> = Vec::new();
    for pair in pairs {
        let Some(origin) = &pair.origin else { return false };
        let of_class = |(class_idx, class): (usize, &Vec<usize>)| {
            class.iter().map(move |&row| (origin[row], class_idx)).collect::<Vec<_>>()
        };
        class_of_row.push(pair.classes.iter().enumerate().flat_map(of_class).collect());
    }
    for held in 1..1usize << pairs.len() {
        let held: Vec<usize> = (0..pairs.len()).filter(|at| held >> at & 1 == 1).collect();
        let finest = held.iter().map(|&at| &pairs[at]).min_by_key(|pair| pair.k).expect("some");
        let origin = finest.origin.as_ref().expect("all have one");
        let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for (row, at) in origin.iter().enumerate() {
            let classes = held.iter().map(|&release| class_of_row[release][at]).collect();
            groups.entry(classes).or_default().push(row);
        }
        for group in groups.values() {
            finest.check_class(group, "an intersection of classes");
        }
        assert_eq!(groups.len(), finest.classes.len(), "a class is torn by a coarser release");
    }
    true
}

fn origin_of(case: &Case, release: &Texts) -> Option<Vec<usize>> {
    let key = case.columns.iter().find(|column| column.name == "id")?;
    let row_of: BTreeMap<&str, usize> =
        key.cells.iter().enumerate().map(|(row, cell)| (cell.as_str(), row)).collect();
    let place = release.place("id");
    let origin: Vec<usize> = release.rows.iter().map(|row| row_of[row[place].as_str()]).collect();
    let n_distinct = origin.iter().collect::<BTreeSet<_>>().len();
    assert_eq!(n_distinct, origin.len(), "a row came twice");
    Some(origin)
}

/// The values of a column that leaves as it came.
fn carried(release: &Texts, column: &Column) -> Vec<Value> {
    let place = release.place(&column.name);
    release.rows.iter().map(|row| Value::read(column.kind, &row[place])).collect()
}

impl<'a> Pair<'a> {
    fn read(case: &'a Case, path: &Path, k: usize, is_coarser: bool, report: Json) -> Pair<'a> {
        let release = files::read(path);
        let quasi = case.with_role(Role::Quasi);
        let mut places: Vec<usize> =
            quasi.flat_map(|column| shown::places(column, &release)).collect();
        places.extend(case.level_column(&release.header).map(|name| release.place(name)));
        let mut by_text: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        for (row_idx, row) in release.rows.iter().enumerate() {
            let key = places.iter().map(|&place| row[place].as_str()).collect();
            by_text.entry(key).or_default().push(row_idx);
        }
        let classes = by_text.into_values().collect();
        let origin = origin_of(case, &release);
        let manifest = read_json(Path::new(&format!("{}.manifest.json", path.display())));
        let secrets =
            case.with_role(Role::Sensitive).map(|column| carried(&release, column)).collect();
        let is_recoded = false;
        Pair {
            case,
            k,
            is_coarser,
            is_recoded,
            release,
            manifest,
            report,
            classes,
            origin,
            secrets,
        }
    }

    fn check(&self) {
        self.check_columns();
        self.check_carried();
        for class in &self.classes {
            self.check_class(class, "a class");
        }
        self.check_boxes();
        self.check_cells();
        self.check_left_out();
        self.check_manifest();
        if let Some(classes) = levels::classes(self.case, &self.report) {
            self.check_classes(&classes);
        }
    }

    /// Exactly those classes are published that satisfy the requirement.
    fn check_classes(&self, expected: &BTreeSet<Vec<usize>>) {
        let Some(origin) = &self.origin else { return };
        let in_table = |class: &Vec<usize>| {
            let mut rows: Vec<usize> = class.iter().map(|&row| origin[row]).collect();
            rows.sort_unstable();
            rows
        };
        let published: BTreeSet<Vec<usize>> = self.classes.iter().map(in_table).collect();
        assert!(published == *expected, "classes are not those of the levels");
    }

    fn tally_left_out(&self, tally: &Tally) {
        if self.n_left_out() > 0 {
            tally.count("rows left out");
            tally.count(format!("rows left out by {}", self.case.method));
            if self.case.secrets.iter().any(|secret| secret.asked.t.is_some()) {
                tally.count("rows left out under t-closeness");
            }
        }
    }

    fn tally(&self, tally: &Tally) {
        self.tally_left_out(tally);
        let quasi = self.case.with_role(Role::Quasi);
        let shows_labels = { quasi }.any(|column| column.shown == Shown::Label);
        if let Some(name) = self.case.level_column(&self.release.header).filter(|_| !shows_labels) {
            let place = self.release.place(name);
            let is_nested = self.release.rows.iter().any(|row| row[place] != "0");
            if is_nested && self.origin.is_some() {
                tally.count("nested classes looked up");
            }
        }
        if self.origin.is_some() && self.values_are_known() {
            tally.count("divergence recomputed");
        }
    }

    pub fn n_left_out(&self) -> usize {
        self.case.n_rows - self.release.rows.len()
    }

    /// The rows of the table that are left out, where a key tells.
    pub fn left_out(&self) -> Option<Vec<usize>> {
        let published: BTreeSet<usize> = self.origin.as_ref()?.iter().copied().collect();
        Some((0..self.case.n_rows).filter(|row| !published.contains(row)).collect())
    }

    fn check_columns(&self) {
        let is_quasi = |column: &Column| column.role == Some(Role::Quasi);
        let last_quasi = self.case.columns.iter().rposition(is_quasi);
        let expected: Vec<String> = self
            .case
            .columns
            .iter()
            .enumerate()
            .flat_map(|(at, column)| match column.role {
                Some(Role::Quasi) => {
                    let has_mean =
                        self.case.job.values == Some(Values::Mean) && column.shown == Shown::Bounds;
                    let mean = has_mean.then(|| format!("{}_mean", column.name));
                    let level = self
                        .case
                        .level_column(&self.release.header)
                        .filter(|_| Some(at) == last_quasi);
                    let names = shown::names(column, &self.release).into_iter().chain(mean);
                    names.chain(level.map(str::to_owned)).collect()
                }
                Some(Role::Sensitive | Role::Keep) => vec![column.name.clone()],
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(self.release.header, expected);
        let (n_rows, most) = (self.case.n_rows, self.case.max_left_out());
        assert!(!self.release.rows.is_empty(), "nothing is published");
        assert!(self.release.rows.len() <= n_rows, "more rows than there were");
        assert!(self.n_left_out() <= most, "{} left out, not {most}", self.n_left_out());
    }

    /// Sensitive and kept cells are unchanged and still beside each other.
    fn check_carried(&self) {
        let columns: Vec<&Column> = self
            .case
            .columns
            .iter()
            .filter(|column| matches!(column.role, Some(Role::Sensitive | Role::Keep)))
            .collect();
        let mut n_before: BTreeMap<Vec<&Value>, usize> = BTreeMap::new();
        for row in 0..self.case.n_rows {
            let cells = columns.iter().map(|column| &column.values[row]).collect();
            *n_before.entry(cells).or_default() += 1;
        }
        let after: Vec<Vec<Value>> =
            columns.iter().map(|column| carried(&self.release, column)).collect();
        for row in 0..self.release.rows.len() {
            let cells: Vec<&Value> = after.iter().map(|values| &values[row]).collect();
            let n_left = n_before.get_mut(&cells).filter(|n_left| **n_left > 0);
            *n_left.expect("carried cells are those of a row") -= 1;
        }
    }

    /// A class, or any other group of rows, satisfies the requirement.
    fn check_class(&self, class: &[usize], what: &str) {
        let n_units = match (self.case.with_role(Role::Subject).next(), &self.origin) {
            (_, Some(origin)) => self.case.n_units_of(class.iter().map(|&row| origin[row])),
            (None, None) => class.len(),
            // Without a key the subjects are not in the release.
            (Some(_), None) => self.k,
        };
        assert!(n_units >= self.k, "{what} of {n_units}, k is {}", self.k);
        for (secret, published) in self.case.secrets.iter().zip(&self.secrets) {
            let name = &self.case.columns[secret.column].name;
            let values: Vec<Value> = class.iter().map(|&row| published[row].clone()).collect();
            let mut misses = secret.misses(&values, published);
            misses.retain(|missed| !(self.is_recoded && missed.contains("to the table")));
            assert!(misses.is_empty(), "'{name}' of {what} misses {misses:?}");
        }
    }

    /// Where no labels are shown, no two classes have a point in common, but for the cut between
    /// two regions of floats, which is nobody's value. Boxes around leaves that were brought together
    /// may, and then the owner is not told otherwise.
    fn check_boxes(&self) {
        let quasi: Vec<&Column> = self.case.with_role(Role::Quasi).collect();
        let shows_labels = quasi.iter().any(|column| column.shown == Shown::Label);
        if shows_labels {
            return;
        }
        let boxes: Vec<Vec<Cover>> = self.classes.iter().map(|class| self.covers(class)).collect();
        if self.case.level_column(&self.release.header).is_some() {
            return self.check_innermost(&boxes);
        }
        // Nested regions without their levels are boxes that lie in each other.
        let is_leveled_down =
            self.case.method == Method::Bang && self.case.job.nesting != Some(false);
        if self.is_coarser || self.case.method == Method::Local || is_leveled_down {
            return;
        }
        let ran = self.report["ran"].as_str().unwrap_or_default();
        let may_overlap =
            ran.ends_with("then cut") && self.report["class_relation"] == "overlapping";
        for (at, one) in boxes.iter().enumerate() {
            for other in &boxes[..at] {
                let apart = quasi.iter().zip(one.iter().zip(other)).any(|(column, (a, b))| {
                    let cut = a.touches_at(b).filter(|_| !self.case.is_compacted());
                    // Cuts were placed between the rows of the model: others may have that value.
                    let is_free = |cut| self.is_recoded || !column.values.contains(cut);
                    !a.meets(b) || cut.is_some_and(is_free)
                });
                assert!(apart || may_overlap, "classes overlap: {one:?} and {other:?}");
            }
        }
    }

    /// Of all classes that a row fits, its own is the only one of the greatest level.
    fn check_innermost(&self, boxes: &[Vec<Cover>]) {
        let (Some(origin), Some(name)) =
            (&self.origin, self.case.level_column(&self.release.header))
        else {
            return;
        };
        let place = self.release.place(name);
        let level = |class: &[usize]| -> u32 {
            self.release.rows[class[0]][place].parse().expect("a level is a whole number")
        };
        let quasi: Vec<&Column> = self.case.with_role(Role::Quasi).collect();
        for (own_idx, class) in self.classes.iter().enumerate() {
            for &row in class {
                let fits = |covers: &[Cover]| {
                    let mut cells = quasi.iter().zip(covers);
                    cells.all(|(column, cover)| cover.covers(column, &column.values[origin[row]]))
                };
                let found = boxes.iter().enumerate().filter(|(_, covers)| fits(covers));
                let mut levels: Vec<(u32, usize)> =
                    found.map(|(at, _)| (level(&self.classes[at]), at)).collect();
                levels.sort_unstable();
                let innermost = levels.pop();
                assert_eq!(innermost.map(|(_, at)| at), Some(own_idx), "a class is not innermost");
                let is_alone = levels.last().map(|own| own.0) != innermost.map(|own| own.0);
                assert!(is_alone, "two classes of one level");
            }
        }
    }

    /// What a class shows on each quasi-identifier.
    pub fn covers(&self, class: &[usize]) -> Vec<Cover> {
        self.case.with_role(Role::Quasi).map(|column| self.cover(column, class)).collect()
    }

    fn cover(&self, column: &Column, class: &[usize]) -> Cover {
        let row = &self.release.rows[class[0]];
        let places = shown::places(column, &self.release);
        let texts: Vec<&str> = places.iter().map(|&place| row[place].as_str()).collect();
        let mut cover = shown::read(column, &texts);
        // Any value may be the missing one too, where it is shown nowhere else.
        let is_hidden = || self.case.is_full_domain() || !self.shows_missing(column);
        cover.with_missing |= column.has_missing && texts == ["*"] && is_hidden();
        cover
    }

    /// What each class shows covers its rows, and no more than must be.
    fn check_cells(&self) {
        let Some(origin) = &self.origin else { return };
        for column in self.case.with_role(Role::Quasi) {
            let name = &column.name;
            for class in &self.classes {
                let cover = self.cover(column, class).sorted();
                let values: Vec<&Value> =
                    class.iter().map(|&row| &column.values[origin[row]]).collect();
                for value in &values {
                    assert!(cover.covers(column, value), "{name}: {cover:?} hides {value:?}");
                }
                if self.case.is_compacted() {
                    let mut tightest = Cover::tightest(column, &values).sorted();
                    // A label for everything stands for what only rows left out miss, too.
                    let has_label = column.shown == Shown::Label && self.n_left_out() > 0;
                    let is_hiding = has_label && !self.shows_missing(column);
                    tightest.with_missing |= is_hiding && cover.with_missing;
                    assert_eq!(cover, tightest, "{name} is not tight");
                }
            }
        }
    }

    /// Where equal values are shown alike, a row that fits a published class belongs to it.
    fn check_left_out(&self) {
        if !recodes_columns(self.case.method) {
            return;
        }
        let Some(left_out) = self.left_out().filter(|rows| !rows.is_empty()) else { return };
        let quasi: Vec<&Column> = self.case.with_role(Role::Quasi).collect();
        for class in &self.classes {
            let covers = self.covers(class);
            let fits = |row: usize| {
                let mut cells = quasi.iter().zip(&covers);
                cells.all(|(column, cover)| cover.covers(column, &column.values[row]))
            };
            let n_fitting = left_out.iter().filter(|&&row| fits(row)).count();
            assert_eq!(n_fitting, 0, "rows are left out of a class that they fit");
        }
    }

    /// The sensitive values of a row of the release.
    pub fn secrets(&self, row: usize) -> Vec<Value> {
        self.secrets.iter().map(|values| values[row].clone()).collect()
    }

    /// Whether some cell of a column says that a value is missing.
    fn shows_missing(&self, column: &Column) -> bool {
        let place = self.release.place(&column.name);
        self.release.rows.iter().any(|row| row[place].is_empty() || row[place].starts_with("{, "))
    }

    /// Whether the divergence is over the values that occur. An index that has no room to remember
    /// them says so.
    fn values_are_known(&self) -> bool {
        let notes = self.report.pointer("/notes").and_then(Json::as_array).expect("notes");
        let says_so = |note: &Json| {
            note.as_str().is_some_and(|note| note.ends_with("whether they occur or not"))
        };
        let are_known = !notes.iter().any(says_so);
        let may_be_indexed =
            matches!(self.case.method, Method::Auto | Method::Rtree | Method::Bang)
                || self.case.method == Method::Mondrian && self.case.job.suppress > Some(0.0);
        assert!(are_known || may_be_indexed, "a table in memory knows its values");
        are_known
    }

    fn check_manifest(&self) {
        let number = |path: &str| {
            let found = self.report.pointer(path).and_then(Json::as_f64);
            found.unwrap_or_else(|| panic!("the report lacks {path}"))
        };
        let near = |path: &str, expected: f64| {
            let found = number(path);
            let is_near = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
            assert!(is_near, "{path} is {found}, not {expected}");
        };
        let n_rows = self.case.n_rows as f64;
        let n_published = self.release.rows.len() as f64;
        let sizes: Vec<f64> = self.classes.iter().map(|class| class.len() as f64).collect();
        near("/rows", n_published);
        near("/suppressed", n_rows - n_published);
        near("/classes", sizes.len() as f64);
        near("/class_size/min", sizes.iter().copied().fold(f64::INFINITY, f64::min));
        near("/class_size/max", sizes.iter().copied().fold(0.0, f64::max));
        near("/class_size/mean", n_published / sizes.len() as f64);
        let sums = Sums::of(self);
        near("/loss/discernibility", sums.discernibility);
        near("/table_loss/discernibility", sums.discernibility);
        let quasi: Vec<&Column> = self.case.with_role(Role::Quasi).collect();
        let weights: f64 = quasi.iter().map(|column| column.weight).sum();
        let weighted = quasi.iter().zip(&sums.losses).map(|(own, loss)| own.weight * loss);
        let penalty: f64 = weighted.sum();
        near("/table_loss/certainty_penalty", penalty);
        near("/table_loss/ncp", penalty / (n_rows * weights));
        for (column, loss) in quasi.iter().zip(&sums.losses) {
            near(&format!("/table_loss/ncp_by_column/{}", column.name), loss / n_rows);
        }
        if let Some(log_ratios) = sums.log_ratios.filter(|_| self.values_are_known()) {
            let has_kl = self.report.pointer("/kl").is_some();
            let path = if has_kl { "/kl" } else { "/kl_at_most" };
            near(path, (log_ratios.quasi / n_rows).max(0.0));
            if !self.secrets.is_empty() {
                near("/kl_with_sensitive", (log_ratios.with_sensitive / n_rows).max(0.0));
            }
        }
        let seed = self.case.job.seed.unwrap_or(0);
        assert_eq!(self.manifest.pointer("/seed").and_then(Json::as_u64), Some(seed));
    }
}
