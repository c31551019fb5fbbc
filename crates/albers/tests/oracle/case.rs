//! Random tables with random roles, hierarchies, requirements and options.
//!
//! The method comes first, and then what suits it: a hierarchy for each quasi-identifier where the
//! method climbs, only settings that it looks at, a requirement that the whole table satisfies. So
//! every case that is drawn is one that can be run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use albers::{
    Categories, Choice, ColumnType, Granularity, Job, Method, Minimize, Policy, Role,
    SearchVariant, SelectSpec, Split, TargetKind, TargetSpec, Values,
};

use super::column::{self, Column, Shown};
use super::dice::Dice;
use super::files;
use super::require::{Asked, Ground, Secret};
use super::tree;

/// A table and what is to be done with it.
pub struct Case {
    pub method: Method,
    pub columns: Vec<Column>,
    pub n_rows: usize,
    pub job: Job,
    pub secrets: Vec<Secret>,
}

impl Case {
    /// Draws a case for a method, and writes its table into `folder`.
    pub fn draw(
        method: Method,
        (seed, n_rows, n_quasi): (u64, usize, usize),
        folder: &Path,
    ) -> Case {
        let mut dice = Dice::new(seed);
        // The lattice of many high hierarchies has too many nodes to look at.
        // So has the directory of a grid file.
        let is_bounded = climbs_levels(method) || method == Method::GridFile;
        let n_quasi = if is_bounded { n_quasi.min(3) } else { n_quasi };
        let mut columns: Vec<Column> = (0..n_quasi)
            .map(|at| Column::draw(&mut dice, &format!("q{at}"), Role::Quasi, n_rows))
            .collect();
        for at in 0..dice.below(3) {
            columns.push(Column::draw(&mut dice, &format!("s{at}"), Role::Sensitive, n_rows));
        }
        columns.extend(column::plain(&mut dice, n_rows));
        if method == Method::Tds {
            columns.push(column::told(&mut dice, n_rows));
        }
        if cuts(method) && dice.chance(0.5) {
            columns.push(Column::draw(&mut dice, "known", Role::Keep, n_rows));
        }
        dice.shuffle(&mut columns);

        let mut job = draw_job(&mut dice, method, folder);
        for column in &mut columns {
            plan(&mut dice, column, &mut job, method, folder);
        }
        let has_tree = |own: &Column| own.role == Some(Role::Quasi) && own.tree.is_some();
        if !columns.iter().any(has_tree) {
            job.categories = job.categories.filter(|&own| own != Categories::Label);
        }
        draw_ks(&mut dice, &mut job, method, n_units(&columns, n_rows));
        let has_bounds =
            columns.iter().any(|own| own.role == Some(Role::Quasi) && own.shown == Shown::Bounds);
        if has_bounds && may_show_means(method, &job) && dice.chance(0.5) {
            job.values = Some(Values::Mean);
        }
        // Without the whole table, only a search of all generalizations can tell what is close.
        let may_ask_t = is_full_domain(method) || job.suppress.unwrap_or(0.0) == 0.0;
        let mut secrets = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            if column.role == Some(Role::Sensitive) {
                let mut secret = draw_secret(&mut dice, at, column);
                secret.asked.t = secret.asked.t.filter(|_| may_ask_t);
                secret.asked.write(job.column(&column.name));
                secrets.push(secret);
            }
        }
        // Rows are left out by what they lose, and cuts that follow something else are refused.
        let may_follow = cuts(method) && job.suppress.unwrap_or(0.0) == 0.0;
        if method == Method::Tds || may_follow && dice.chance(0.5) {
            draw_targets(&mut dice, &columns, &mut job);
        }
        if may_follow && dice.chance(0.4) {
            draw_selects(&mut dice, &columns, &mut job);
        }
        let case = Case { method, columns, n_rows, job, secrets };
        case.write_table((0..n_rows).collect());
        case
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

    /// How many rows, or subjects, some rows are.
    pub fn n_units_of(&self, rows: impl Iterator<Item = usize>) -> usize {
        match self.with_role(Role::Subject).next() {
            Some(subject) => rows.map(|row| &subject.cells[row]).collect::<BTreeSet<_>>().len(),
            None => rows.count(),
        }
    }

    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(move |column| column.role == Some(role))
    }

    /// How many rows may be left out.
    pub fn max_left_out(&self) -> usize {
        let share = self.job.suppress.unwrap_or(0.0);
        (share * self.n_rows as f64 * (1.0 + 1e-12)).floor() as usize
    }

    /// Whether every value of a column is shown at the same level, the missing one too.
    pub fn is_full_domain(&self) -> bool {
        is_full_domain(self.method)
    }

    /// Whether classes show no more than their rows need.
    pub fn is_compacted(&self) -> bool {
        let shows_regions = self.job.compact == Some(false);
        (has_regions(self.method) && !shows_regions) || self.method == Method::Local
    }

    /// The column that tells how deep classes lie in others, where they may. Of several releases the
    /// one that loses least may have none, unless the job says how it comes about.
    pub fn level_column(&self, header: &[String]) -> Option<&str> {
        let job = &self.job;
        let name = job.level_column()?;
        let is_open =
            !job.also_k.is_empty() && job.granularity.is_none() && job.level_column.is_none();
        (!is_open || header.iter().any(|own| own == name)).then_some(name)
    }
}

/// The files of all releases of a job, the finest first, with their k.
pub fn releases(job: &Job) -> Vec<(PathBuf, usize)> {
    let output = job.output.as_ref().expect("set when drawn");
    let part = |part: Option<&std::ffi::OsStr>| {
        part.and_then(|part| part.to_str()).expect("a name with an ending").to_owned()
    };
    let (stem, ending) = (part(output.file_stem()), part(output.extension()));
    let beside = |&k: &u64| (output.with_file_name(format!("{stem}.k{k}.{ending}")), k as usize);
    let base = (output.clone(), job.k.expect("set when drawn") as usize);
    std::iter::once(base).chain(job.also_k.iter().map(beside)).collect()
}

/// Whether classes come of cuts.
fn cuts(method: Method) -> bool {
    matches!(method, Method::Auto | Method::Mondrian | Method::Rtree)
}

/// Whether classes have regions beyond the bounds of their rows.
fn has_regions(method: Method) -> bool {
    cuts(method) || halves(method) || method == Method::HbTree
}

/// Whether space is halved where scales say.
fn halves(method: Method) -> bool {
    matches!(method, Method::Bang | Method::Grid)
        || method.relative().is_some_and(|own| own.is_regular())
}

/// Whether means may stand beside bounds.
fn may_show_means(method: Method, job: &Job) -> bool {
    has_regions(method) && job.compact != Some(false) && job.also_k.is_empty()
}

/// Whether a lattice of levels is searched.
fn climbs_levels(method: Method) -> bool {
    matches!(method, Method::Incognito | Method::Samarati | Method::BottomUp)
}

fn is_full_domain(method: Method) -> bool {
    climbs_levels(method) || method == Method::AttributeSuppression
}

/// Whether every quasi-identifier needs a hierarchy.
fn climbs(method: Method) -> bool {
    climbs_levels(method) || method == Method::Subtree
}

pub fn can_leave_out(method: Method) -> bool {
    recodes_columns(method) || cuts(method) || method == Method::Local
}

/// Whether equal values are shown alike wherever they stand.
pub fn recodes_columns(method: Method) -> bool {
    is_full_domain(method) || matches!(method, Method::Subtree | Method::OrderedSet)
}

fn n_units(columns: &[Column], n_rows: usize) -> usize {
    let subject = columns.iter().find(|column| column.role == Some(Role::Subject));
    subject.map_or(n_rows, |column| column.cells.iter().collect::<BTreeSet<_>>().len())
}

/// One of these, or nothing.
fn any_or_none<T: Copy>(dice: &mut Dice, from: &[T]) -> Option<T> {
    let at = dice.below(from.len() + 1);
    from.get(at).copied()
}

/// Settings that have an effect on the method, all but those of columns.
fn draw_job(dice: &mut Dice, method: Method, folder: &Path) -> Job {
    let ending = if dice.chance(0.3) { "parquet" } else { "csv" };
    let mut job = Job {
        input: Some(folder.join("table.csv")),
        output: Some(folder.join(format!("release.{ending}"))),
        owner_report: Some(folder.join("owner.json")),
        force: Some(true),
        method: Some(method),
        values: any_or_none(dice, &[Values::Interval, Values::Bounds]),
        compact: any_or_none(dice, &[true]),
        seed: any_or_none(dice, &[7]),
        threads: Some(1 + dice.below(3)),
        accept: crate::accept::all(),
        ..Job::default()
    };
    job.method = job.method.filter(|&own| own != Method::Auto || dice.chance(0.5));
    job.categories = match method {
        Method::OrderedSet => any_or_none(dice, &[Categories::Set]),
        _ if is_full_domain(method) || climbs(method) => any_or_none(dice, &[Categories::Label]),
        _ => any_or_none(dice, Categories::ALL),
    };
    if cuts(method) {
        job.split = any_or_none(dice, &[Split::Compact, Split::Median]);
        job.compact = any_or_none(dice, &[true, false]);
    }
    if has_regions(method) && !cuts(method) {
        job.compact = any_or_none(dice, &[true, false]);
    }
    if method == Method::Bang {
        job.nesting = any_or_none(dice, &[true, false]);
    }
    if method.may_nest() && job.nesting != Some(false) && dice.chance(0.3) {
        job.level_column = Some("how deep".to_owned());
    }
    if is_full_domain(method) {
        job.minimize = any_or_none(dice, Minimize::ALL);
    } else if cuts(method) && job.split != Some(Split::Median) {
        job.minimize = any_or_none(dice, &[Minimize::Ncp, Minimize::Discernibility]);
    }
    let variants: &[SearchVariant] = match method {
        Method::Incognito | Method::AttributeSuppression => {
            &[SearchVariant::Basic, SearchVariant::SuperRoots, SearchVariant::Cube]
        }
        Method::BottomUp => &[SearchVariant::Rollup, SearchVariant::Scan],
        _ => &[],
    };
    job.variant = any_or_none(dice, variants);
    if can_leave_out(method) && dice.chance(0.6) {
        job.suppress = Some(*dice.pick(&[0.0, 0.02, 0.1, 0.3, 0.6, 1.0]));
        // Regions reach to rows that are left out.
        job.compact = job.compact.filter(|own| *own || !cuts(method) || job.suppress == Some(0.0));
    }
    job
}

/// Lets cuts, or steps, follow some columns, if there are any that classes could tell.
fn draw_targets(dice: &mut Dice, columns: &[Column], job: &mut Job) {
    let is_ruled = |column: &Column| {
        let own = &job.columns[&column.name];
        // Closeness alone does not forbid classes of one value.
        own.l_diversity.is_some_and(|diversity| diversity.0.forbids_one_value())
            || own.alpha.is_some_and(|alpha| alpha < 1.0)
            || own.variance.is_some_and(|minimum| minimum > 0.0)
    };
    let mut targets = Vec::new();
    for column in columns {
        let may_be_one = match column.role {
            Some(Role::Quasi | Role::Keep) => true,
            Some(Role::Sensitive) => is_ruled(column),
            _ => false,
        };
        let kind = match column.kind {
            ColumnType::Text | ColumnType::Code | ColumnType::Boolean => TargetKind::Class,
            ColumnType::Integer | ColumnType::Decimal | ColumnType::Float => TargetKind::Number,
            _ => continue,
        };
        // More classes than a reader could tell apart are refused.
        let n_values = column.cells.iter().collect::<BTreeSet<_>>().len();
        let may_be_one = may_be_one && (kind == TargetKind::Number || n_values <= 900);
        if may_be_one && (column.name == "told" || dice.chance(0.5)) {
            let weight = any_or_none(dice, &[0.5, 3.0]);
            targets.push(TargetSpec { column: column.name.clone(), kind: Some(kind), weight });
        }
    }
    if let [only] = &mut targets[..] {
        only.weight = None;
    }
    let Some(first) = targets.first() else { return };
    if job.method == Some(Method::Tds) {
        job.workload.targets = targets;
        return;
    }
    job.split = Some(match first.kind {
        Some(TargetKind::Number) => Split::Regression,
        _ => Split::InfoGain,
    });
    draw_then(dice, job);
    job.workload.targets = targets;
    draw_features(dice, columns, job);
}

/// What cuts go by where nothing else has a say. Medians weigh nothing that could be least.
fn draw_then(dice: &mut Dice, job: &mut Job) {
    job.then = any_or_none(dice, Policy::ALL);
    job.minimize = job.minimize.filter(|_| job.then != Some(Policy::Median));
}

/// Lets what is kept and no target be known to readers, at times.
fn draw_features(dice: &mut Dice, columns: &[Column], job: &mut Job) {
    let mut n_cells = 1;
    for column in columns.iter().filter(|column| column.role == Some(Role::Keep)) {
        let is_target = job.workload.targets.iter().any(|own| own.column == column.name);
        // More values of a category are refused.
        let n_values = column.cells.iter().collect::<BTreeSet<_>>().len();
        let may_be_one = !is_target && (column.kind.is_ordered() || n_values <= 64);
        let n_bins = 1 + if column.kind.is_ordered() { 16 } else { n_values };
        // More combinations are refused, and fewer beside a target of many classes.
        if may_be_one && n_cells * n_bins <= 1024 && dice.chance(0.7) {
            n_cells *= n_bins;
            job.workload.features.push(column.name.clone());
        }
    }
}

/// Lets the release be asked for some rows.
fn draw_selects(dice: &mut Dice, columns: &[Column], job: &mut Job) {
    let quasi: Vec<&Column> =
        columns.iter().filter(|column| column.role == Some(Role::Quasi)).collect();
    for _ in 0..1 + dice.below(3) {
        let boxes: Vec<String> = (0..1 + dice.below(2))
            .map(|_| {
                let mut asked = quasi.clone();
                dice.shuffle(&mut asked);
                let n_terms = 1 + dice.below(asked.len().min(3));
                let terms = asked.into_iter().take(n_terms).map(|column| term(dice, column));
                terms.collect::<Vec<_>>().join(" and ")
            })
            .collect();
        let weight = any_or_none(dice, &[0.25, 4.0]);
        let condition = boxes.join(" or ").parse().expect("a condition");
        job.workload.select.push(SelectSpec { condition, weight });
    }
    if let [only] = &mut job.workload.select[..] {
        only.weight = None;
    }
    if job.workload.targets.is_empty() {
        job.split = Some(Split::Selection);
        draw_then(dice, job);
    }
}

/// What a selection asks of a column.
fn term(dice: &mut Dice, column: &Column) -> String {
    let name = format!("\"{}\"", column.name);
    let cell = dice.pick(&column.cells).clone();
    if cell.is_empty() {
        return format!("{name} is {}null", dice.pick(&["", "not "]));
    }
    let literal = format!("'{}'", cell.replace('\'', "''"));
    let has_order =
        !matches!(column.kind, ColumnType::Text | ColumnType::Code | ColumnType::Boolean);
    match has_order && dice.chance(0.8) {
        true => format!("{name} {} {literal}", dice.pick(&["<", "<=", ">", ">="])),
        false => format!("{name} {} {literal}", dice.pick(&["=", "<>"])),
    }
}

/// How the leaves of a tree can be brought together.
pub const OF_TREES: [Granularity; 5] = [
    Granularity::Cut,
    Granularity::LeafScan,
    Granularity::Hierarchical,
    Granularity::Dendrogram,
    Granularity::DendrogramCut,
];

/// How the blocks of a BANG file can be brought together, beside nested ones.
const OF_BLOCKS: [Granularity; 4] =
    [Granularity::Cut, Granularity::LeafScan, Granularity::Dendrogram, Granularity::DendrogramCut];

/// The k of each release; several where the method builds an index.
fn draw_ks(dice: &mut Dice, job: &mut Job, method: Method, n_units: usize) {
    let mut k = (2 + dice.below(4)).min(n_units);
    let is_indexed = matches!(method, Method::Auto | Method::Rtree | Method::Bang);
    if is_indexed && n_units > 1 && dice.chance(0.5) {
        k = k.min(n_units - 1);
        let most_more = (n_units - k).min(*dice.pick(&[2, 10, 200]));
        let coarser: BTreeSet<u64> =
            (0..1 + dice.below(3)).map(|_| (k + 1 + dice.below(most_more)) as u64).collect();
        job.also_k = coarser.into_iter().collect();
        dice.shuffle(&mut job.also_k);
        job.granularity = match (method, job.nesting, &job.level_column) {
            (Method::Bang, _, Some(_)) => any_or_none(dice, &[Granularity::Nested]),
            (Method::Bang, Some(false), None) => any_or_none(dice, &OF_BLOCKS),
            (Method::Bang, _, None) if dice.chance(0.4) => Some(Granularity::Nested),
            (Method::Bang, _, None) => any_or_none(dice, &OF_BLOCKS),
            _ => any_or_none(dice, &OF_TREES),
        };
        if job.granularity == Some(Granularity::Hierarchical) {
            job.fan_out = any_or_none(dice, &[3, 4, 7, 100]);
        }
    }
    job.k = Some(k as u64);
}

/// Gives a column its entry in the job, with a hierarchy where there must be one, and at times.
fn plan(dice: &mut Dice, column: &mut Column, job: &mut Job, method: Method, folder: &Path) {
    let Some(role) = column.role else { return };
    let is_parquet = job.output.as_ref().is_some_and(|path| path.ends_with("release.parquet"));
    let as_bounds = job.values.map_or(is_parquet, |values| values == Values::Bounds);
    let categories = match method {
        Method::OrderedSet => Some(Categories::Set),
        _ => job.categories,
    };
    let of_job = job.column(&column.name);
    of_job.role = Some(role);
    of_job.column_type = Some(column.kind);
    if role != Role::Quasi && role != Role::Sensitive {
        return;
    }
    // Only without labels a row's own class is sure to be the innermost around it.
    let share_climbing = if method.may_nest() { 0.15 } else { 0.5 };
    if (role == Role::Quasi && climbs(method)) || dice.chance(share_climbing) {
        let leaves = column.leaves();
        let (text, tree) = tree::draw(dice, column.kind, &column.name, &leaves, folder);
        of_job.hierarchy = Some(text.parse().expect("a hierarchy"));
        column.tree = Some(tree);
    }
    if role == Role::Sensitive {
        return;
    }
    if method == Method::AttributeSuppression {
        let leaves = column.leaves();
        column.tree.get_or_insert_with(|| tree::suppressing(&leaves));
    }
    if dice.chance(0.3) {
        column.weight = 0.1 + 5.0 * dice.unit();
        of_job.weight = Some(column.weight);
    }
    let may_come_first = cuts(method) || method == Method::Tds;
    of_job.bias = (may_come_first && dice.chance(0.2)).then_some(true);
    column.shown = column.shown_by(categories, as_bounds);
    if halves(method) && dice.chance(0.6) {
        let scales: &[&str] = match column.shown {
            Shown::Label => &["hierarchy", "equal", "quantile:2"],
            Shown::Set => &["equal", "equal:1", "quantile"],
            Shown::Interval | Shown::Bounds if column.kind == ColumnType::Integer => {
                &["equal", "equal:3", "quantile", "quantile:2", "equal:-5..5", "equal:0..60:9"]
            }
            Shown::Interval | Shown::Bounds => &["equal", "equal:3", "quantile", "quantile:2"],
        };
        of_job.scale = Some(dice.pick(scales).parse().expect("a scale"));
    }
}

/// A requirement on a sensitive column that the whole table satisfies.
fn draw_secret(dice: &mut Dice, at: usize, column: &Column) -> Secret {
    let ground = match &column.tree {
        _ if column.has_missing => Ground::Equal,
        Some(tree) => Ground::Tree(tree.clone()),
        None if column.kind.is_ordered() && column.present.len() > 1 => Ground::Line,
        None => Ground::Equal,
    };
    let is_number =
        matches!(column.kind, ColumnType::Integer | ColumnType::Decimal | ColumnType::Float);
    let mut secret = Secret {
        column: at,
        kind: column.kind,
        ground,
        whole: column.values.clone(),
        can_vary: is_number && !column.has_missing,
        asked: Asked::default(),
    };
    secret.asked = secret.draw(dice);
    secret
}
