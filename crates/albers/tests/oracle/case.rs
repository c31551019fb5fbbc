//! Random tables with random roles, hierarchies, requirements and options.

use std::collections::BTreeSet;
use std::path::Path;

use albers::{Categories, ColumnType, Job, Method, Role, SplitPolicy, Values};

use super::dice::Dice;
use super::files;
use super::require::{Asked, Ground, Secret};
use super::tree::{self, Tree};
use super::value::{self, Value};

/// How a quasi-identifier is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shown {
    Interval,
    Bounds,
    Set,
    Label,
}

/// A column of the table.
pub struct Column {
    pub name: String,
    pub role: Option<Role>,
    pub kind: ColumnType,
    pub cells: Vec<String>,
    pub values: Vec<Value>,
    pub tree: Option<Tree>,
    pub shown: Shown,
    pub weight: f64,
}

/// A table and what is to be done with it.
pub struct Case {
    pub columns: Vec<Column>,
    pub n_rows: usize,
    pub job: Job,
    pub k: usize,
    pub secrets: Vec<Secret>,
    pub is_compacted: bool,
    /// Whether classes may have a point in common.
    pub may_overlap: bool,
    /// Whether `*` stands for the missing value too.
    pub is_full_domain: bool,
}

impl Case {
    /// Draws a case and writes its table into `folder`.
    pub fn draw(seed: u64, n_rows: usize, n_quasi: usize, folder: &Path) -> Case {
        let mut dice = Dice::new(seed);
        let mut columns: Vec<Column> = (0..n_quasi)
            .map(|at| draw_column(&mut dice, format!("q{at}"), Role::Quasi, n_rows))
            .collect();
        for at in 0..dice.below(3) {
            columns.push(draw_column(&mut dice, format!("s{at}"), Role::Sensitive, n_rows));
        }
        columns.extend(plain_columns(&mut dice, n_rows));
        dice.shuffle(&mut columns);

        let mut job = Job {
            input: Some(folder.join("table.csv")),
            method: *dice.pick(&[None, Some(Method::Mondrian), Some(Method::Rtree)]),
            split: *dice.pick(&[None, Some(SplitPolicy::Compact), Some(SplitPolicy::Median)]),
            categories: *dice.pick(&[None, Some(Categories::Label), Some(Categories::Set)]),
            values: *dice.pick(&[None, Some(Values::Interval), Some(Values::Bounds)]),
            compact: *dice.pick(&[None, Some(true), Some(false)]),
            seed: *dice.pick(&[None, Some(7)]),
            threads: Some(1 + dice.below(3)),
            ..Job::default()
        };
        let ending = if dice.chance(0.3) { "parquet" } else { "csv" };
        job.output = Some(folder.join(format!("release.{ending}")));
        let as_bounds = job.values.map_or(ending == "parquet", |values| values == Values::Bounds);
        for column in &mut columns {
            plan(&mut dice, column, &mut job, as_bounds, folder);
        }
        let n_units = n_units(&columns, n_rows);
        let k = (2 + dice.below(4)).min(n_units);
        job.k = Some(k as u64);
        let mut secrets = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            if column.role == Some(Role::Sensitive) {
                let secret = draw_secret(&mut dice, at, column);
                secret.asked.write(job.column(&column.name));
                secrets.push(secret);
            }
        }
        let is_compacted = job.compact != Some(false);
        let (may_overlap, is_full_domain) = (false, false);
        let case =
            Case { columns, n_rows, job, k, secrets, is_compacted, may_overlap, is_full_domain };
        case.write_table((0..n_rows).collect());
        case
    }

    /// The same table by another method, if that can be: some need a hierarchy for each column.
    pub fn by(mut self, method: Method) -> Option<Case> {
        let shows_labels = !matches!(method, Method::Local | Method::OrderedSet);
        let lacks_tree = |column: &Column| column.tree.is_none();
        if shows_labels && self.with_role(Role::Quasi).any(lacks_tree) {
            return None;
        }
        let Job { categories, values, output, .. } = &self.job;
        let categories = match method {
            Method::OrderedSet => Some(Categories::Set),
            Method::Local => *categories,
            _ => None,
        };
        let is_parquet = output.as_ref().is_some_and(|path| path.ends_with("release.parquet"));
        let as_bounds = values.map_or(is_parquet, |values| values == Values::Bounds);
        for column in self.columns.iter_mut().filter(|own| own.role == Some(Role::Quasi)) {
            column.shown = shown_as(column, categories, as_bounds);
            self.job.column(&column.name).bias = None;
        }
        self.job = Job { method: Some(method), split: None, compact: None, categories, ..self.job };
        self.is_compacted = method == Method::Local;
        self.may_overlap = method == Method::Local;
        self.is_full_domain = shows_labels && method != Method::Subtree;
        Some(self)
    }

    /// Writes the table with its rows in this order.
    pub fn write_table(&self, order: Vec<usize>) {
        let header = self.columns.iter().map(|column| column.name.clone()).collect();
        let row = |row: usize| self.columns.iter().map(move |column| column.cells[row].clone());
        let rows = order.into_iter().map(|at| row(at).collect());
        let path = self.job.input.as_deref().expect("set when drawn");
        files::write(path, ',', std::iter::once(header).chain(rows));
    }

    /// How many rows, or subjects, there are.
    pub fn n_units(&self) -> usize {
        n_units(&self.columns, self.n_rows)
    }

    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(move |column| column.role == Some(role))
    }
}

fn n_units(columns: &[Column], n_rows: usize) -> usize {
    let subject = columns.iter().find(|column| column.role == Some(Role::Subject));
    subject.map_or(n_rows, |column| column.cells.iter().collect::<BTreeSet<_>>().len())
}

/// The columns besides quasi-identifiers and sensitive ones.
fn plain_columns(dice: &mut Dice, n_rows: usize) -> Vec<Column> {
    let column = |name: &str, role, cells: Vec<String>| Column {
        name: name.to_owned(),
        role,
        kind: ColumnType::Text,
        values: cells.iter().map(|cell| Value::read(ColumnType::Text, cell)).collect(),
        cells,
        tree: None,
        shown: Shown::Set,
        weight: 1.0,
    };
    let numbered = |word: &str| (0..n_rows).map(|row| format!("{word}{row}")).collect();
    let mut columns = Vec::new();
    if dice.chance(0.85) {
        columns.push(column("id", Some(Role::Keep), numbered("id ")));
    }
    if dice.chance(0.3) {
        let cells = (0..n_rows).map(|row| ["x", "", "y, \"z\""][row % 3].to_owned()).collect();
        columns.push(column("note", Some(Role::Keep), cells));
    }
    if dice.chance(0.3) {
        columns.push(column("name", Some(Role::Identifier), numbered("person ")));
    }
    if dice.chance(0.3) {
        columns.push(column("extra", None, numbered("extra ")));
    }
    if dice.chance(0.3) {
        let n_persons = 1 + dice.below(n_rows);
        let cells = (0..n_rows).map(|_| match dice.below(n_persons + 1) {
            0 => String::new(),
            person => format!("subject {person}"),
        });
        columns.push(column("subject", Some(Role::Subject), cells.collect()));
    }
    columns
}

fn draw_column(dice: &mut Dice, name: String, role: Role, n_rows: usize) -> Column {
    const KINDS: [ColumnType; 7] = [
        ColumnType::Integer,
        ColumnType::Decimal,
        ColumnType::Float,
        ColumnType::Date,
        ColumnType::Boolean,
        ColumnType::Text,
        ColumnType::Code,
    ];
    let kind = *dice.pick(&KINDS);
    let n_pool = match role {
        Role::Sensitive => 1 + dice.below(6),
        _ => *dice.pick(&[1, 2, 5, 20, 100, 1000]),
    };
    let pool = draw_pool(dice, kind, n_pool);
    let share_missing = *dice.pick(&[0.0, 0.0, 0.0, 0.1, 0.5, 0.97]);
    let is_skewed = dice.chance(0.5);
    let cells: Vec<String> = (0..n_rows)
        .map(|_| {
            if dice.chance(share_missing) {
                return String::new();
            }
            let at = dice.below(pool.len());
            pool[if is_skewed { at.min(dice.below(pool.len())) } else { at }].clone()
        })
        .collect();
    let values = cells.iter().map(|cell| Value::read(kind, cell)).collect();
    let weight = 1.0;
    Column { name, role: Some(role), kind, cells, values, tree: None, shown: Shown::Set, weight }
}

/// Texts that a column takes its cells from.
fn draw_pool(dice: &mut Dice, kind: ColumnType, n_pool: usize) -> Vec<String> {
    const NAMES: [&str; 9] =
        ["a", "ab", "abc", "b, c", " d", "say \"e\"", "[1, 2]", "new\nline", "Ärger"];
    let flavour = dice.below(3);
    let draw = |at: usize| match (kind, flavour) {
        (ColumnType::Integer, 0) => dice.between(0, 99).to_string(),
        (ColumnType::Integer, 1) => (dice.bits() as i64).to_string(),
        (ColumnType::Integer, _) => dice.between(-2_000_000_000, 2_000_000_000).to_string(),
        (ColumnType::Decimal, 0) => {
            let n_digits = dice.below(4);
            let sign = if dice.chance(0.3) { "-" } else { "" };
            let (whole, fraction) = (dice.below(10), dice.below(1000));
            let text = format!("{sign}{whole}.{fraction:03}");
            text[..text.len() - 3 + n_digits].trim_end_matches('.').to_owned()
        }
        (ColumnType::Decimal, _) => {
            format!("{}.{:02}", dice.between(1, 5_000_000_000), dice.below(100))
        }
        (ColumnType::Float, 0) => (dice.unit() * 10.0 - 5.0).to_string(),
        (ColumnType::Float, 1) => format!("{}e{}", dice.unit(), dice.between(-300, 300)),
        (ColumnType::Float, _) => (dice.between(-4, 4) as f64 * 0.25).to_string(),
        (ColumnType::Date, 0) => value::date(dice.between(43_000, 43_100).into()),
        (ColumnType::Date, _) => value::date(dice.between(0, 70_000).into()),
        (ColumnType::Boolean, _) => ["true", "False"][at % 2].to_owned(),
        (ColumnType::Code, _) => format!("{:05}", dice.below(2000) * 37),
        (ColumnType::Text, 0) => NAMES[at % NAMES.len()].to_owned(),
        (ColumnType::Text, _) => format!("name {}", dice.below(500)),
        (ColumnType::Timestamp, _) => unreachable!("not drawn"),
    };
    (0..n_pool).map(draw).collect()
}

/// Gives a column its entry in the job, with a hierarchy at times.
fn plan(dice: &mut Dice, column: &mut Column, job: &mut Job, as_bounds: bool, folder: &Path) {
    let Some(role) = column.role else { return };
    let categories = job.categories;
    let of_job = job.column(&column.name);
    of_job.role = Some(role);
    of_job.column_type = Some(column.kind);
    if role != Role::Quasi && role != Role::Sensitive {
        return;
    }
    if dice.chance(0.5) {
        let mut leaves: Vec<String> = column
            .values
            .iter()
            .filter(|value| !value.is_missing())
            .map(|value| value.canonical(column.kind))
            .collect();
        leaves.sort_unstable();
        leaves.dedup();
        if let Some((text, tree)) = tree::draw(dice, column.kind, &column.name, &leaves, folder) {
            of_job.hierarchy = Some(text);
            column.tree = Some(tree);
        }
    }
    if role == Role::Sensitive {
        return;
    }
    if dice.chance(0.3) {
        column.weight = 0.1 + 5.0 * dice.unit();
        of_job.weight = Some(column.weight);
    }
    of_job.bias = dice.chance(0.2).then_some(true);
    column.shown = shown_as(column, categories, as_bounds);
}

fn shown_as(column: &Column, categories: Option<Categories>, as_bounds: bool) -> Shown {
    if column.tree.is_some() && categories != Some(Categories::Set) {
        Shown::Label
    } else if column.kind.is_ordered() {
        if as_bounds { Shown::Bounds } else { Shown::Interval }
    } else {
        Shown::Set
    }
}

/// A requirement on a sensitive column that the whole table satisfies.
fn draw_secret(dice: &mut Dice, at: usize, column: &Column) -> Secret {
    let has_missing = column.values.iter().any(Value::is_missing);
    let mut distinct: Vec<&Value> = column.values.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let ground = match &column.tree {
        _ if has_missing => Ground::Equal,
        Some(tree) => Ground::Tree(tree.clone()),
        None if column.kind.is_ordered() && distinct.len() > 1 => Ground::Line,
        None => Ground::Equal,
    };
    let is_number =
        matches!(column.kind, ColumnType::Integer | ColumnType::Decimal | ColumnType::Float);
    let mut secret = Secret {
        column: at,
        kind: column.kind,
        ground,
        whole: column.values.clone(),
        can_vary: is_number && !has_missing,
        asked: Asked::default(),
    };
    secret.asked = secret.draw(dice);
    secret
}
