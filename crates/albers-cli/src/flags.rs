//! Flags that several commands share, and how they become a job.

use std::path::PathBuf;
use std::str::FromStr;

use albers::{
    Categories, ColumnType, GranularityChoice, Job, Method, MinimizeChoice, Role, SearchVariant,
    SplitPolicy, Values,
};
use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};

/// What the columns are.
#[derive(Args, Default)]
#[command(next_help_heading = "Columns (one without a role is dropped)")]
pub struct ColumnFlags {
    /// Columns that others know and that identify people in combination: generalized
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub quasi: Vec<String>,
    /// Columns that must not be linked to a person: published as they are, protected
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub sensitive: Vec<String>,
    /// Columns that identify a person alone: dropped
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub identifier: Vec<String>,
    /// Columns to publish as they are
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// The column that tells which rows belong to the same person: k counts persons, not rows
    #[arg(long, value_name = "COLUMN")]
    pub subject: Option<String>,
    /// The type of a column: integer, decimal, float, date, timestamp, boolean, text or code
    #[arg(long = "type", value_name = "COLUMN=TYPE")]
    pub types: Vec<Assignment<ColumnType>>,
    /// The hierarchy of a column: a FILE (one row per value, from specific to general), prefix,
    /// ranges:5,10,20, dates or suppress
    #[arg(long = "hierarchy", value_name = "COLUMN=HIERARCHY")]
    pub hierarchies: Vec<HierarchyFlag>,
    /// The character between the cells of a CSV file, or tab; told from the header when not given
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<char>,
    /// A text that stands for a missing value, besides the empty cell
    #[arg(long, value_name = "TEXT")]
    pub missing: Vec<String>,
}

/// What every class must satisfy.
#[derive(Args, Default)]
#[command(next_help_heading = "Requirement")]
pub struct RequirementFlags {
    /// Rows (or subjects) per class, at least
    #[arg(short, value_name = "N")]
    pub k: Option<u64>,
    /// Diversity of a sensitive column: distinct:3, entropy:3 or recursive:C,L
    #[arg(long, value_name = "COLUMN=KIND:L")]
    pub l_diversity: Vec<Assignment<String>>,
    /// Greatest distance of a class's distribution of a sensitive column from the table's
    #[arg(long, value_name = "COLUMN=T")]
    pub t_closeness: Vec<Assignment<f64>>,
    /// Greatest share of one value of a sensitive column in a class
    #[arg(long, value_name = "COLUMN=SHARE")]
    pub alpha: Vec<Assignment<f64>>,
    /// Least variance of a sensitive number within a class
    #[arg(long, value_name = "COLUMN=V")]
    pub variance: Vec<Assignment<f64>>,
}

/// How classes are found and shown.
#[derive(Args, Default)]
#[command(next_help_heading = "Method")]
pub struct MethodFlags {
    /// How classes are found
    #[arg(long, value_enum)]
    pub method: Option<MethodFlag>,
    /// How cuts are chosen
    #[arg(long, value_enum)]
    pub split: Option<SplitFlag>,
    #[command(flatten)]
    pub search: SearchFlags,
    /// What the best full-domain release has least of
    #[arg(long, value_enum)]
    pub minimize: Option<MinimizeFlag>,
    /// The level of a column's hierarchy at which a full-domain release shows it, 0 for its own
    /// values; columns that are not named stay as they are
    #[arg(long = "level", value_name = "COLUMN=LEVEL", value_delimiter = ',')]
    pub levels: Vec<Assignment<u16>>,
    /// More releases of the same index for greater k, written beside the first as NAME.k10.EXT;
    /// together they hide everybody as well as the first does
    #[arg(long, value_name = "K", value_delimiter = ',')]
    pub also_k: Vec<u64>,
    /// How leaves of the index are brought together for --also-k
    #[arg(long, value_enum)]
    pub granularity: Option<GranularityFlag>,
    /// The memory to work in, such as 256MB; a quarter of the machine's when not given. What does
    /// not fit goes to temporary files
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Where temporary files go; beside the release when not given. They have no names and are gone
    /// when the program ends, however it ends
    #[arg(long, value_name = "FOLDER")]
    pub spill_dir: Option<PathBuf>,
    /// How columns with a hierarchy are shown
    #[arg(long, value_enum)]
    pub categories: Option<CategoriesFlag>,
    /// How intervals are written
    #[arg(long, value_enum)]
    pub values: Option<ValuesFlag>,
    /// Publish the regions of the classes instead of the bounds of their rows
    #[arg(long)]
    pub no_compact: bool,
    /// Columns that are cut before all others
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub bias: Vec<String>,
    /// How much a loss on a column counts; 1 when not given
    #[arg(long = "weight", value_name = "COLUMN=WEIGHT")]
    pub weights: Vec<Assignment<f64>>,
    /// Decides the order of classes and rows
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Threads to work on; all cores when not given. The result is the same for any number
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// How a lattice is searched.
#[derive(Args, Default)]
pub struct SearchFlags {
    /// How the lattice is searched: basic, super-roots or cube for incognito, rollup or scan for
    /// bottom-up
    #[arg(long, value_enum)]
    pub variant: Option<VariantFlag>,
    /// The share of the rows that may be left out, such as 0.02
    #[arg(long, value_name = "SHARE")]
    pub suppress: Option<f64>,
    /// The time that the search may take, such as 30s: the best found by then, with a bound on how
    /// much better it could be
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
}

/// How a lattice is searched.
#[derive(Clone, Copy, ValueEnum)]
pub enum VariantFlag {
    /// Incognito: each root from the table
    Basic,
    /// Incognito: the roots of one subset of the columns together (default)
    SuperRoots,
    /// Incognito: from sets computed beforehand for all subsets of the columns
    Cube,
    /// Bottom-up: each set from one below (default)
    Rollup,
    /// Bottom-up: each set from the table
    Scan,
}

/// What the best full-domain release has least of.
#[derive(Clone, Copy, ValueEnum)]
pub enum MinimizeFlag {
    /// The normalized certainty penalty, by the weights of the columns (default)
    Ncp,
    /// The sum of the levels
    Height,
    /// The sum of the squared class sizes
    Discernibility,
    /// The levels as shares of their hierarchies, by the weights of the columns
    Weights,
}

/// How classes are found.
#[derive(Clone, Copy, ValueEnum)]
pub enum MethodFlag {
    /// In memory if the table fits there, by an index on disk if not (default)
    Auto,
    /// Top-down cuts in memory
    Mondrian,
    /// An R+-tree loaded by a buffer tree: tables of any size, several releases of one index
    Rtree,
    /// Full-domain: every value of a column at the same level of its hierarchy, the best of all
    Incognito,
    /// Full-domain, by a binary search for the least sum of levels
    Samarati,
    /// Full-domain, by a search of the whole lattice from its bottom
    BottomUp,
    /// Whole columns, shown or suppressed
    AttributeSuppression,
    /// One label for each value of a column, wherever it stands
    Subtree,
    /// One interval or set for each value of a column, wherever it stands
    OrderedSet,
    /// Rows grouped by least added loss: loses least, takes longest; classes may overlap
    Local,
}

/// How leaves of an index are brought together for a coarser release.
#[derive(Clone, Copy, ValueEnum)]
pub enum GranularityFlag {
    /// The finest cut through the index, with merges where a side is too small (default)
    Cut,
    /// Leaves one after another, until they are enough
    LeafScan,
    /// Whole nodes of the index
    Hierarchical,
}

/// How cuts are chosen.
#[derive(Clone, Copy, ValueEnum)]
pub enum SplitFlag {
    /// The least loss over all cuts of all columns (default)
    Compact,
    /// The widest column, nearest its median: faster, loses more
    Median,
}

/// How columns with a hierarchy are shown.
#[derive(Clone, Copy, ValueEnum)]
pub enum CategoriesFlag {
    /// As the label of the lowest common ancestor (default)
    Label,
    /// As the set of values that occur, ordered values as an interval: loses less
    Set,
}

/// How intervals are written.
#[derive(Clone, Copy, ValueEnum)]
pub enum ValuesFlag {
    /// One column of text, [48, 62] (default for CSV)
    Interval,
    /// Two typed columns, age_min and age_max (default for Parquet)
    Bounds,
}

/// `COLUMN=VALUE`.
#[derive(Clone)]
pub struct Assignment<V> {
    /// The column.
    pub column: String,
    /// What is said of it.
    pub value: V,
}

impl<V: FromStr<Err: std::fmt::Display>> FromStr for Assignment<V> {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Assignment<V>> {
        let (column, value) =
            text.rsplit_once('=').ok_or_else(|| anyhow!("expected COLUMN=VALUE, found no '='"))?;
        let value = value.parse().map_err(|error: V::Err| anyhow!("{error}"))?;
        Ok(Assignment { column: column.trim().to_owned(), value })
    }
}

/// `COLUMN=HIERARCHY`, where both may hold a `=` of their own.
#[derive(Clone)]
pub struct HierarchyFlag(String);

impl FromStr for HierarchyFlag {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<HierarchyFlag> {
        Assignment::<String>::from_str(text)?;
        Ok(HierarchyFlag(text.to_owned()))
    }
}

impl HierarchyFlag {
    /// Splits after the first column that the job knows, else at the first `=`.
    pub fn split(&self, job: &Job) -> Assignment<String> {
        let splits = self.0.match_indices('=').map(|(at, _)| (&self.0[..at], &self.0[at + 1..]));
        let known = splits.clone().find(|(column, _)| job.columns.contains_key(column.trim()));
        let (column, value) = known.or(splits.clone().next()).unwrap_or((&self.0, ""));
        Assignment { column: column.trim().to_owned(), value: value.to_owned() }
    }
}

/// A delimiter: one character, or a tab by name.
pub fn delimiter(text: &str) -> Result<char> {
    match text {
        "tab" | "\\t" => Ok('\t'),
        _ => text.parse().map_err(|_| anyhow!("expected one character, or tab")),
    }
}

/// A job from a job file, if one is given, and flags that override it.
pub fn job(
    file: Option<&PathBuf>,
    columns: ColumnFlags,
    requirement: RequirementFlags,
    method: MethodFlags,
) -> Result<Job> {
    let mut job = match file {
        Some(path) => Job::from_file(path)?,
        None => Job::default(),
    };
    set_roles(&mut job, &columns)?;
    for Assignment { column, value } in columns.types {
        job.column(&column).column_type = Some(value);
    }
    for hierarchy in columns.hierarchies {
        let Assignment { column, value } = hierarchy.split(&job);
        job.column(&column).hierarchy = Some(value);
    }
    job.delimiter = columns.delimiter.or(job.delimiter);
    job.missing.extend(columns.missing);

    job.k = requirement.k.or(job.k);
    for Assignment { column, value } in requirement.l_diversity {
        job.column(&column).l_diversity = Some(value);
    }
    for Assignment { column, value } in requirement.t_closeness {
        job.column(&column).t_closeness = Some(value);
    }
    for Assignment { column, value } in requirement.alpha {
        job.column(&column).alpha = Some(value);
    }
    for Assignment { column, value } in requirement.variance {
        job.column(&column).variance = Some(value);
    }

    job.method = method.method.map(Into::into).or(job.method);
    job.variant = method.search.variant.map(Into::into).or(job.variant);
    job.suppress = method.search.suppress.or(job.suppress);
    job.time = method.search.time.or(job.time);
    job.minimize = method.minimize.map(Into::into).or(job.minimize);
    for Assignment { column, value } in method.levels {
        job.column(&column).level = Some(value);
    }
    job.split = method.split.map(Into::into).or(job.split);
    if !method.also_k.is_empty() {
        job.also_k = method.also_k;
    }
    job.granularity = method.granularity.map(Into::into).or(job.granularity);
    job.memory = method.memory.or(job.memory);
    job.spill_dir = method.spill_dir.or(job.spill_dir);
    job.categories = method.categories.map(Into::into).or(job.categories);
    job.values = method.values.map(Into::into).or(job.values);
    job.compact = if method.no_compact { Some(false) } else { job.compact };
    for column in method.bias {
        job.column(column.trim()).bias = Some(true);
    }
    for Assignment { column, value } in method.weights {
        job.column(&column).weight = Some(value);
    }
    job.seed = method.seed.or(job.seed);
    job.threads = method.threads.or(job.threads);
    Ok(job)
}

/// Roles from flags replace those of the job file, but must not contradict each other.
fn set_roles(job: &mut Job, flags: &ColumnFlags) -> Result<()> {
    let roles = [
        (&flags.quasi, Role::Quasi),
        (&flags.sensitive, Role::Sensitive),
        (&flags.identifier, Role::Identifier),
        (&flags.keep, Role::Keep),
    ];
    let mut given = Job::default();
    for (names, role) in roles {
        for name in names {
            given.set_role(name.trim(), role)?;
        }
    }
    if let Some(name) = &flags.subject {
        given.set_role(name.trim(), Role::Subject)?;
    }
    for (name, column) in given.columns {
        job.column(&name).role = column.role;
    }
    Ok(())
}

impl From<MethodFlag> for Method {
    fn from(flag: MethodFlag) -> Method {
        match flag {
            MethodFlag::Auto => Method::Auto,
            MethodFlag::Mondrian => Method::Mondrian,
            MethodFlag::Rtree => Method::Rtree,
            MethodFlag::Incognito => Method::Incognito,
            MethodFlag::Samarati => Method::Samarati,
            MethodFlag::BottomUp => Method::BottomUp,
            MethodFlag::AttributeSuppression => Method::AttributeSuppression,
            MethodFlag::Subtree => Method::Subtree,
            MethodFlag::OrderedSet => Method::OrderedSet,
            MethodFlag::Local => Method::Local,
        }
    }
}

impl From<VariantFlag> for SearchVariant {
    fn from(flag: VariantFlag) -> SearchVariant {
        match flag {
            VariantFlag::Basic => SearchVariant::Basic,
            VariantFlag::SuperRoots => SearchVariant::SuperRoots,
            VariantFlag::Cube => SearchVariant::Cube,
            VariantFlag::Rollup => SearchVariant::Rollup,
            VariantFlag::Scan => SearchVariant::Scan,
        }
    }
}

impl From<MinimizeFlag> for MinimizeChoice {
    fn from(flag: MinimizeFlag) -> MinimizeChoice {
        match flag {
            MinimizeFlag::Ncp => MinimizeChoice::Ncp,
            MinimizeFlag::Height => MinimizeChoice::Height,
            MinimizeFlag::Discernibility => MinimizeChoice::Discernibility,
            MinimizeFlag::Weights => MinimizeChoice::Weights,
        }
    }
}

impl From<GranularityFlag> for GranularityChoice {
    fn from(flag: GranularityFlag) -> GranularityChoice {
        match flag {
            GranularityFlag::Cut => GranularityChoice::Cut,
            GranularityFlag::LeafScan => GranularityChoice::LeafScan,
            GranularityFlag::Hierarchical => GranularityChoice::Hierarchical,
        }
    }
}

impl From<SplitFlag> for SplitPolicy {
    fn from(flag: SplitFlag) -> SplitPolicy {
        match flag {
            SplitFlag::Compact => SplitPolicy::Compact,
            SplitFlag::Median => SplitPolicy::Median,
        }
    }
}

impl From<CategoriesFlag> for Categories {
    fn from(flag: CategoriesFlag) -> Categories {
        match flag {
            CategoriesFlag::Label => Categories::Label,
            CategoriesFlag::Set => Categories::Set,
        }
    }
}

impl From<ValuesFlag> for Values {
    fn from(flag: ValuesFlag) -> Values {
        match flag {
            ValuesFlag::Interval => Values::Interval,
            ValuesFlag::Bounds => Values::Bounds,
        }
    }
}
