//! Flags that several commands share, and how they become a job.

use std::path::PathBuf;
use std::str::FromStr;

use albers::{
    Acceptance, ByteSize, Categories, Choice, ColumnType, Effort, External, Finest, Format,
    Granularity, Job, Method, Minimize, Policy, Role, SearchVariant, SelectSpec, Split, TargetSpec,
    Values,
};
use anyhow::{Result, anyhow};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::plain;
use crate::text_flags::TextFlags;

pub use crate::values::{Assignment, choice};

/// What the columns are.
#[derive(Args, Default)]
#[command(next_help_heading = "Columns (one without a role is dropped)")]
pub struct ColumnFlags {
    /// Columns that others know and that identify people in combination: generalized
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub quasi: Vec<String>,
    /// Columns that must not be linked to a person: published as they are, and
    /// protected where a rule for them is given
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
    /// ranges:5,10,20, dates, dates:month,year or suppress
    #[arg(long = "hierarchy", value_name = "COLUMN=HIERARCHY")]
    pub hierarchies: Vec<HierarchyFlag>,
    /// The lowest level of a column's hierarchy that may be shown: its number, or birth=year with
    /// dates, zip=3-characters with prefix
    #[arg(long = "finest", value_name = "COLUMN=LEVEL")]
    pub finest: Vec<Assignment<Finest>>,
    /// The character between the cells of a CSV file, or tab; told from the header when not given
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<char>,
    #[command(flatten)]
    pub header: HeaderFlags,
    /// The sheet of a workbook; the only one that holds anything when not given
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// A text that stands for a missing value, besides the empty cell and, among numbers and dates,
    /// NA, N/A, NULL, None, NaN, unknown, ?, - and .; age=99 for one of the column age
    #[arg(long, value_name = "[COLUMN=]TEXT")]
    pub missing: Vec<String>,
    #[command(flatten)]
    pub text: TextFlags,
}

/// What the first line of a text is.
#[derive(Args, Default, Clone, Copy)]
pub struct HeaderFlags {
    /// The first line of a CSV file holds the names of the columns, even if it looks like a record
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// The first line of a CSV file is a record: columns are called c1, c2 and so on
    #[arg(long)]
    no_header: bool,
}

impl HeaderFlags {
    /// What they say, if anything.
    pub fn given(self) -> Option<bool> {
        (self.header || self.no_header).then_some(self.header)
    }
}

/// What every class must satisfy.
#[derive(Args, Default)]
#[command(next_help_heading = "Requirement")]
pub struct RequirementFlags {
    /// Rows (or subjects) per class, at least
    #[arg(short, value_name = "N", value_parser = plain::whole::<u64>)]
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

impl RequirementFlags {
    /// Puts them into a job.
    fn apply(self, job: &mut Job) -> Result<()> {
        job.k = self.k.or(job.k);
        for Assignment { column, value } in self.l_diversity {
            let diversity = value.parse();
            let diversity = diversity
                .map_err(|error| anyhow!("--l-diversity of column '{column}': {error}"))?;
            job.column(&column).l_diversity = Some(diversity);
        }
        for Assignment { column, value } in self.t_closeness {
            job.column(&column).t_closeness = Some(value);
        }
        for Assignment { column, value } in self.alpha {
            job.column(&column).alpha = Some(value);
        }
        for Assignment { column, value } in self.variance {
            job.column(&column).variance = Some(value);
        }
        Ok(())
    }
}

/// How classes are found and shown.
#[derive(Args, Default)]
#[command(next_help_heading = "Method")]
pub struct MethodFlags {
    /// How classes are found
    #[arg(long, value_parser = choice::<Method>())]
    pub method: Option<Method>,
    /// How much is tried to lose less, where nothing else says how classes are found
    #[arg(long, value_parser = choice::<Effort>())]
    pub effort: Option<Effort>,
    /// Refuse classes that overlap, and try only ways whose classes do not (with --method auto)
    #[arg(long)]
    pub disjoint: bool,
    /// Differential privacy with --method grid: how much likelier one person may make a release, as
    /// a logarithm, such as 1; needs --delta, and a fixed grid: --scale COLUMN=equal:LO..HI:BITS or
    /// a hierarchy file for every published column
    #[arg(long, value_name = "E", value_parser = plain::number)]
    pub epsilon: Option<f64>,
    /// How likely it may be that --epsilon does not hold, such as 1e-6
    #[arg(long, value_name = "D", value_parser = plain::number)]
    pub delta: Option<f64>,
    /// How cuts are chosen
    #[arg(long, value_parser = choice::<Split>())]
    pub split: Option<Split>,
    /// A column that classes should tell, with --split info-gain or regression, or --method tds:
    /// COLUMN, or with what is told of it (class or number) and how much it counts, COLUMN:number:2;
    /// may be given again
    #[arg(long = "target", value_name = "COLUMN[:KIND][:WEIGHT]")]
    pub targets: Vec<TargetSpec>,
    /// Kept columns that will be known beside the quasi-identifiers when the targets are predicted,
    /// with --split info-gain or regression: what they tell already steers no cut
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Rows that the release will be asked for, with --split selection, or before the targets with
    /// info-gain or regression: "age >= 40 and sex = 'M'", or "2: age >= 40" with how much it counts;
    /// may be given again
    #[arg(long = "select", value_name = "[WEIGHT:] CONDITION")]
    pub selects: Vec<SelectSpec>,
    /// How cuts are chosen where no target and no selection has a say
    #[arg(long, value_parser = choice::<Policy>())]
    pub then: Option<Policy>,
    /// Weigh every cut on all rows, also the first ones of a large table (with --method mondrian): no
    /// sample has a say, and the table must fit in memory unless --external tree is given
    #[arg(long)]
    pub exact: bool,
    /// How a table is cut that need not fit in memory (with --method mondrian)
    #[arg(long, value_parser = choice::<External>())]
    pub external: Option<External>,
    /// Write the recoding function, for 'albers recode', to a file that only its owner may read; it
    /// tells of the table, and is not for publication
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    #[command(flatten)]
    pub search: SearchFlags,
    /// What the best full-domain release has least of, or with ncp or discernibility what cuts are
    /// chosen by; ncp when not given
    #[arg(long, value_parser = choice::<Minimize>())]
    pub minimize: Option<Minimize>,
    /// The level of a column's hierarchy at which a full-domain release shows it, 0 for its own
    /// values; columns that are not named stay as they are
    #[arg(long = "level", value_name = "COLUMN=LEVEL", value_delimiter = ',')]
    pub levels: Vec<Assignment<u16>>,
    /// More releases of the same index for greater k, written beside the first as NAME.k10.EXT;
    /// together they hide everybody as well as the first does
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = plain::whole::<u64>)]
    pub also_k: Vec<u64>,
    /// How leaves of the index are brought together for --also-k
    #[arg(long, value_parser = choice::<Granularity>())]
    pub granularity: Option<Granularity>,
    /// The most children of a node, with --granularity hierarchical; 4 when not given
    #[arg(long, value_name = "N", value_parser = plain::whole::<u64>)]
    pub fan_out: Option<u64>,
    /// Draw how leaves were merged (SVG), with --granularity dendrogram or dendrogram-cut, if a
    /// person can read it; only its owner may read the file, and it is not for publication
    #[arg(long, value_name = "FILE")]
    pub dendrogram: Option<PathBuf>,
    #[command(flatten)]
    pub resources: ResourceFlags,
    /// The release is the same with any --memory from this size on, 64MB when not given, unless
    /// classes for --also-k do not fit, which is refused; with more, the first cuts of a large table
    /// are chosen on a larger sample
    #[arg(long, value_name = "SIZE")]
    pub least_memory: Option<String>,
    /// How columns with a hierarchy are shown
    #[arg(long, value_parser = choice::<Categories>())]
    pub categories: Option<Categories>,
    /// How intervals are written
    #[arg(long, value_parser = choice::<Values>())]
    pub values: Option<Values>,
    /// Publish the regions of the classes instead of the bounds of their rows
    #[arg(long)]
    pub no_compact: bool,
    /// Publish classes side by side, none within another: no level column, larger classes (with
    /// --method bang)
    #[arg(long)]
    pub no_nesting: bool,
    /// The column that tells how deep the region of a class lies in others (with --method bang,
    /// bd-tree, hb-tree); level when not given
    #[arg(long, value_name = "NAME")]
    pub level_column: Option<String>,
    /// How the values of a column are halved (with --method bang and grid, and those for
    /// comparison with bang but hb-tree): equal, ranges of equal length, or with their ends and how often at most,
    /// equal:0..120:6; quantile or quantile:6, of about equally many rows; hierarchy; or a FILE with
    /// a range LO,HI on each line
    #[arg(long = "scale", value_name = "COLUMN=SCALE")]
    pub scales: Vec<HierarchyFlag>,
    /// Columns that are cut before all others
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub bias: Vec<String>,
    /// How much a loss on a column counts; 1 when not given
    #[arg(long = "weight", value_name = "COLUMN=WEIGHT")]
    pub weights: Vec<Assignment<f64>>,
    /// Decides the order of classes and rows
    #[arg(long, value_name = "N", value_parser = plain::whole::<u64>)]
    pub seed: Option<u64>,
}

/// What a job may use.
#[derive(Args, Default)]
pub struct ResourceFlags {
    /// The memory to work in, such as 256MB; a quarter of the machine's when not given. What does
    /// not fit goes to temporary files
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Where temporary files go; beside the release, or in the folder of an index, when not given.
    /// They have no names and are gone when the program ends, however it ends
    #[arg(long, value_name = "FOLDER")]
    pub spill_dir: Option<PathBuf>,
    /// Threads to work on; all cores when not given. The result is the same for any number
    #[arg(long, value_name = "N", value_parser = plain::whole::<usize>)]
    pub threads: Option<usize>,
}

impl ResourceFlags {
    /// Puts them into a job.
    pub fn apply(self, job: &mut Job) -> Result<()> {
        if let Some(text) = &self.memory {
            job.memory = Some(size_of("memory", text)?);
        }
        job.spill_dir = self.spill_dir.or(job.spill_dir.take());
        job.threads = self.threads.or(job.threads);
        Ok(())
    }
}

fn size_of(setting: &str, text: &str) -> Result<ByteSize> {
    text.parse().map_err(|problem: String| {
        anyhow!("--{setting} '{text}': {problem}; use for example 256MB or 2GB")
    })
}

/// What a command may use that works in memory.
#[derive(Args, Default)]
pub struct LimitFlags {
    /// The memory to work in, such as 256MB; tables that do not fit are refused
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Threads to work on; all cores when not given. The result is the same for any number
    #[arg(long, value_name = "N", value_parser = plain::whole::<usize>)]
    threads: Option<usize>,
}

impl From<LimitFlags> for ResourceFlags {
    fn from(limits: LimitFlags) -> ResourceFlags {
        let LimitFlags { memory, threads } = limits;
        ResourceFlags { memory, threads, spill_dir: None }
    }
}

/// Where a table comes from and where it goes, beyond the names of files.
#[derive(Args, Default)]
pub struct StreamFlags {
    /// The format of the table; told by its ending and its first bytes when not given, csv for
    /// standard input
    #[arg(long, value_parser = choice::<Format>())]
    pub from: Option<Format>,
    /// The format of the release; told by its ending when not given, csv for standard output
    #[arg(long, value_parser = written_format())]
    pub to: Option<Format>,
    /// Where the manifest goes; beside the release when not given
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    #[command(flatten)]
    pub codebook: CodebookFlags,
    #[command(flatten)]
    pub owner: OwnerFlags,
}

/// Whether recipients are told how to read a release.
#[derive(Args, Default)]
pub struct CodebookFlags {
    /// Do not write OUT.codebook.md and OUT.codebook.json beside the release OUT, which tell recipients
    /// how to read it
    #[arg(long)]
    pub no_codebook: bool,
}

impl CodebookFlags {
    /// Puts them into a job.
    pub fn apply(self, job: &mut Job) {
        if self.no_codebook {
            job.codebook = Some(false);
        }
    }
}

/// What the owner of a table gets, and allows.
#[derive(Args, Default)]
pub struct OwnerFlags {
    /// Write the owner's report to a file that only its owner may read; it tells of the table, and is
    /// not for publication
    #[arg(long, value_name = "FILE")]
    pub owner_report: Option<PathBuf>,
    /// Replace a release, its codebook and its manifest that are there already
    #[arg(long)]
    pub force: bool,
    /// Do all but write: read, find classes, verify, and say what would be written
    #[arg(long)]
    pub dry_run: bool,
    /// A severe finding that does not stop the release: low-k, mean-below-5, rows-per-person, linkage
    /// (with other releases of an index), second-release (of rows that are recoded),
    /// model-beside-release, or of all columns or one unique-keep, keep-tells-quasi, secret-without-rule, target-in-classes,
    /// text-list, person-rules-class
    #[arg(long, value_name = "FINDING[:COLUMN]", value_delimiter = ',')]
    pub accept: Vec<Acceptance>,
}

impl OwnerFlags {
    /// Puts them into a job.
    pub fn apply(self, job: &mut Job) {
        job.owner_report = self.owner_report.or(job.owner_report.take());
        if self.force {
            job.force = Some(true);
        }
        job.dry_run = self.dry_run;
        job.accept.extend(self.accept);
    }
}

impl StreamFlags {
    /// Puts them into a job.
    pub fn apply(self, job: &mut Job) {
        job.from = self.from.or(job.from);
        job.to = self.to.or(job.to);
        job.manifest = self.manifest.or(job.manifest.take());
        self.codebook.apply(job);
        self.owner.apply(job);
    }
}

/// A format that tables are written in.
fn written_format() -> impl TypedValueParser<Value = Format> {
    let written = Format::ALL.iter().filter(|format| **format != Format::Sheet);
    let words: Vec<_> =
        written.map(|own| PossibleValue::new(own.name()).help(own.about())).collect();
    PossibleValuesParser::new(words)
        .try_map(|word| Format::of_name(&word).ok_or("it is not written"))
}

/// How a lattice is searched.
#[derive(Args, Default)]
pub struct SearchFlags {
    /// How the lattice is searched: basic, super-roots or cube for incognito, rollup or scan for
    /// bottom-up
    #[arg(long, value_parser = choice::<SearchVariant>())]
    pub variant: Option<SearchVariant>,
    /// The share of the rows that may be left out, such as 0.02: outliers, where that saves most loss
    #[arg(long, value_name = "SHARE", value_parser = plain::number)]
    pub suppress: Option<f64>,
    /// The time that the search may take, such as 30s: the best found by then, with a bound on how
    /// much better it could be
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
}

/// `COLUMN=HIERARCHY` or `COLUMN=SCALE`, where both may hold a `=` of their own.
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
pub fn delimiter(text: &str) -> std::result::Result<char, plain::Must> {
    match text {
        "tab" | "\\t" => Ok('\t'),
        _ => text.parse().map_err(|_| plain::Must("one character, or tab".to_owned())),
    }
}

/// Names of columns without the spaces around them.
fn trimmed(columns: &[String]) -> Vec<String> {
    columns.iter().map(|column| column.trim().to_owned()).collect()
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
    set_hierarchies(&mut job, &columns.hierarchies)?;
    for Assignment { column, value } in columns.finest {
        job.column(&column).finest = Some(value);
    }
    job.delimiter = columns.delimiter.or(job.delimiter);
    job.header = columns.header.given().or(job.header);
    job.sheet = columns.sheet.or(job.sheet);
    job.missing.extend(columns.missing);
    columns.text.apply(&mut job);

    requirement.apply(&mut job)?;
    job.method = method.method.or(job.method);
    job.effort = method.effort.or(job.effort);
    job.disjoint = if method.disjoint { Some(true) } else { job.disjoint };
    job.epsilon = method.epsilon.or(job.epsilon);
    job.delta = method.delta.or(job.delta);
    job.variant = method.search.variant.or(job.variant);
    job.suppress = method.search.suppress.or(job.suppress);
    if let Some(text) = &method.search.time {
        job.time = Some(text.parse().map_err(|error| anyhow!("--time '{text}': {error}"))?);
    }
    job.minimize = method.minimize.or(job.minimize);
    for Assignment { column, value } in method.levels {
        job.column(&column).level = Some(value);
    }
    job.split = method.split.or(job.split);
    job.then = method.then.or(job.then);
    set_workload(&mut job, method.targets, &method.features, method.selects);
    if !method.also_k.is_empty() {
        job.also_k = method.also_k;
    }
    job.exact = if method.exact { Some(true) } else { job.exact };
    job.external = method.external.or(job.external);
    job.model = method.model.or(job.model);
    job.granularity = method.granularity.or(job.granularity);
    job.fan_out = method.fan_out.or(job.fan_out);
    job.dendrogram = method.dendrogram.or(job.dendrogram);
    method.resources.apply(&mut job)?;
    job.categories = method.categories.or(job.categories);
    job.values = method.values.or(job.values);
    if let Some(text) = &method.least_memory {
        job.least_memory = Some(size_of("least-memory", text)?);
    }
    job.compact = if method.no_compact { Some(false) } else { job.compact };
    job.nesting = if method.no_nesting { Some(false) } else { job.nesting };
    job.level_column = method.level_column.or(job.level_column);
    set_scales(&mut job, &method.scales)?;
    for column in method.bias {
        job.column(column.trim()).bias = Some(true);
    }
    for Assignment { column, value } in method.weights {
        job.column(&column).weight = Some(value);
    }
    job.seed = method.seed.or(job.seed);
    Ok(job)
}

/// What the release will be used for, from flags that replace what the job file says.
fn set_workload(
    job: &mut Job,
    targets: Vec<TargetSpec>,
    features: &[String],
    selects: Vec<SelectSpec>,
) {
    if !targets.is_empty() {
        job.workload.targets = targets;
    }
    if !features.is_empty() {
        job.workload.features = trimmed(features);
    }
    if !selects.is_empty() {
        job.workload.select = selects;
    }
}

/// Hierarchies from flags replace those of the job file.
pub fn set_hierarchies(job: &mut Job, flags: &[HierarchyFlag]) -> Result<()> {
    for hierarchy in flags {
        let Assignment { column, value } = hierarchy.split(job);
        let spec = value.parse().map_err(|problem: String| {
            anyhow!(
                "--hierarchy of column '{column}': {problem}; use a file, prefix, ranges:SIZES, \
                 dates or suppress"
            )
        })?;
        job.column(&column).hierarchy = Some(spec);
    }
    Ok(())
}

/// Scales from flags replace those of the job file.
fn set_scales(job: &mut Job, flags: &[HierarchyFlag]) -> Result<()> {
    for scale in flags {
        let Assignment { column, value } = scale.split(job);
        let spec = value
            .parse()
            .map_err(|problem: String| anyhow!("--scale of column '{column}': {problem}"))?;
        job.column(&column).scale = Some(spec);
    }
    Ok(())
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
