//! The synthetic tables of the papers, from a seed.
//!
//! - `agrawal`: nine numbers per person, with class labels and numeric targets to predict.
//! - `lands_end`: eight attributes of sales, with the distinct counts of the real table.
//! - `customer`: fifteen attributes of customers.
//! - `adult`: nine attributes of a census, with the distinct counts of the real table.
//! - `voters`: age, postal code and salary.
//! - `draw`: random numbers, the same on every machine.
//!
//! Source: Agrawal et al. 1993 as given by LeFevre et al. 2008, tables I, II and VI; LeFevre et al.
//! 2005, figure 9; Iwuchukwu & Naughton 2007, section 5; the BangA paper's `Customer` and `Voter
//! list`.
//! Departures: only `agrawal` is published as formulas. The others have the papers' columns, sizes
//! and distinct counts; their marginals and correlations are ours.
//! Guarantee: a table is a function of kind, number of rows, seed and options. Rows come in blocks
//! of [`BLOCK_ROWS`]; each has its own random numbers, so threads change nothing, and a longer
//! table starts with the blocks of a shorter one.
//! Cost: one block per thread in memory, at any number of rows.

mod adult;
mod agrawal;
mod customer;
mod draw;
mod lands_end;
mod voters;

use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use albers_table::{Result, TableError};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use rayon::prelude::*;

pub use self::agrawal::{ClassFunction, Salary, TargetFunction};
use self::draw::Draw;

/// Rows per block, the unit of generation and of the batches.
pub const BLOCK_ROWS: usize = 1 << 16;

/// A hierarchy as rows of text: each from a value over ever wider groups to `*`.
pub type HierarchyRows = Vec<Vec<String>>;

/// Which table to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nine whole numbers per person (Agrawal et al. 1993).
    Agrawal,
    /// Sales of a mail-order house (LeFevre et al. 2005, figure 9).
    LandsEnd,
    /// Customers, fifteen attributes (the BangA paper).
    Customer,
    /// A census, nine attributes (LeFevre et al. 2005, figure 9).
    Adult,
    /// Age, postal code and salary of voters (the BangA paper).
    Voters,
}

impl Kind {
    /// Every kind, in the order in which help texts list them.
    pub const ALL: [Kind; 5] =
        [Kind::Agrawal, Kind::LandsEnd, Kind::Customer, Kind::Adult, Kind::Voters];

    /// The word used in flags and messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Agrawal => "agrawal",
            Kind::LandsEnd => "lands-end",
            Kind::Customer => "customer",
            Kind::Adult => "adult",
            Kind::Voters => "voters",
        }
    }

    /// How many rows the papers' table has.
    pub fn default_rows(self) -> u64 {
        match self {
            Kind::Agrawal => 100_000_000,
            Kind::LandsEnd => 4_591_581,
            Kind::Customer => 1_000_000,
            Kind::Adult => 45_222,
            Kind::Voters => 54_803,
        }
    }

    /// Part of each block's seed, so that two kinds never share random numbers. Never reuse one.
    fn tag(self) -> u64 {
        match self {
            Kind::Agrawal => 1,
            Kind::LandsEnd => 2,
            Kind::Customer => 3,
            Kind::Adult => 4,
            Kind::Voters => 5,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(word: &str) -> std::result::Result<Kind, String> {
        Kind::ALL.into_iter().find(|kind| kind.name() == word).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            format!("'{word}' is not a table to generate; use one of {names}")
        })
    }
}

/// What to add to a table or to change in it; nothing by default. All is of `agrawal` but for the
/// postal code, which is of `adult`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Class labels: one becomes the column `class`, several become `c2`, `c4`, …
    pub class_functions: BTreeSet<ClassFunction>,
    /// Numeric targets: the columns `r7` and `r10`.
    pub target_functions: BTreeSet<TargetFunction>,
    /// Draws the constants of the class functions 2 to 6 over the ranges of their attributes.
    pub constants_seed: Option<u64>,
    /// How salaries are spread.
    pub salary: Salary,
    /// Adds a postal code, the column `zipcode`.
    pub has_zipcode: bool,
}

impl Options {
    /// Refuses what the kind does not have, and what would change nothing.
    fn check(&self, kind: Kind) -> Result<()> {
        let refused = |column: &str, problem: String, hint: String| {
            Err(TableError::Column { column: column.to_owned(), problem, hint: hint.into() })
        };
        let other = |kind: Kind| format!("leave them out, or generate the {kind} table");
        let is_agrawal = kind == Kind::Agrawal;
        let has_functions = !self.class_functions.is_empty() || !self.target_functions.is_empty();
        if !is_agrawal && has_functions {
            let problem = format!("the {kind} table has no class or target functions");
            return refused("class", problem, other(Kind::Agrawal));
        }
        if !is_agrawal && self.salary != Salary::default() {
            let problem = format!("the {kind} table has no choice of salaries");
            return refused("salary", problem, other(Kind::Agrawal));
        }
        let has_constants = self.class_functions.iter().any(|function| function.has_constants());
        if self.constants_seed.is_some() && !has_constants {
            let problem = "no class function is asked for that has constants to vary".to_owned();
            return refused("class", problem, "ask for one of c2, c3, c4, c5 and c6".to_owned());
        }
        if kind != Kind::Adult && self.has_zipcode {
            let problem = format!("a postal code cannot be added to the {kind} table");
            return refused("zipcode", problem, other(Kind::Adult).replace("them", "it"));
        }
        Ok(())
    }
}

/// A table that can be generated, block by block.
pub struct Generator {
    kind: Kind,
    n_rows: u64,
    seed: u64,
    schema: SchemaRef,
    model: Model,
}

/// What each kind needs to make rows: columns to add, or tables of weights.
enum Model {
    Agrawal(Options),
    LandsEnd(Box<lands_end::LandsEnd>),
    Customer(Box<customer::Customer>),
    Adult(Box<adult::Adult>, Option<adult::zipcode::Zipcodes>),
    Voters(Box<voters::Voters>),
}

impl Generator {
    /// A table of `n_rows` rows. Options that the kind does not have are refused.
    pub fn new(kind: Kind, n_rows: u64, seed: u64, options: Options) -> Result<Generator> {
        options.check(kind)?;
        let (schema, model) = match kind {
            Kind::Agrawal => (agrawal::schema(&options), Model::Agrawal(options)),
            Kind::LandsEnd => (lands_end::schema(), Model::LandsEnd(Box::default())),
            Kind::Customer => (customer::schema(), Model::Customer(Box::default())),
            Kind::Adult => {
                let zipcodes = options.has_zipcode.then(adult::zipcode::Zipcodes::default);
                (adult::schema(options.has_zipcode), Model::Adult(Box::default(), zipcodes))
            }
            Kind::Voters => (voters::schema(), Model::Voters(Box::default())),
        };
        Ok(Generator { kind, n_rows, seed, schema: Arc::new(schema), model })
    }

    /// The columns; none of them has missing values.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The number of rows.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The number of blocks; a table without rows has none.
    pub fn n_blocks(&self) -> u64 {
        self.n_rows.div_ceil(BLOCK_ROWS as u64)
    }

    /// One block: a function of kind, seed, options and `block_idx` alone, cut at the last row.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    pub fn block(&self, block_idx: u64) -> RecordBatch {
        assert!(block_idx < self.n_blocks(), "block {block_idx} of {}", self.n_blocks());
        let n_rows = (self.n_rows - block_idx * BLOCK_ROWS as u64).min(BLOCK_ROWS as u64) as usize;
        let mut draw = Draw::new(self.seed, self.kind.tag(), block_idx);
        let columns: Vec<ArrayRef> = match &self.model {
            Model::Agrawal(options) => agrawal::columns(options, &mut draw, n_rows),
            Model::LandsEnd(model) => model.columns(&mut draw, n_rows),
            Model::Customer(model) => model.columns(&mut draw, n_rows),
            Model::Adult(model, zipcodes) => {
                let mut columns = model.columns(&mut draw, n_rows);
                let added = zipcodes.iter().map(|own| own.column(self.seed, block_idx, n_rows));
                columns.extend(added);
                columns
            }
            Model::Voters(model) => model.columns(&mut draw, n_rows),
        };
        RecordBatch::try_new(self.schema.clone(), columns).expect("columns follow the schema")
    }

    /// The blocks in order. They are made in parallel, as many at a time as there are threads.
    pub fn into_batches(self) -> Batches {
        Batches { generator: self, next_block: 0, ready: VecDeque::new() }
    }
}

/// The blocks of a [`Generator`], in order.
pub struct Batches {
    generator: Generator,
    next_block: u64,
    ready: VecDeque<RecordBatch>,
}

impl Iterator for Batches {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        if self.ready.is_empty() {
            let n_left = self.generator.n_blocks() - self.next_block;
            let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
            let end = self.next_block + n_left.min(n_threads as u64);
            let blocks: Vec<RecordBatch> = (self.next_block..end)
                .into_par_iter()
                .map(|block_idx| self.generator.block(block_idx))
                .collect();
            self.ready.extend(blocks);
            self.next_block = end;
        }
        self.ready.pop_front()
    }
}

/// The hierarchies of a table: column by column, one row per value that the column can have. Empty
/// for the kinds whose columns the papers treat as plain numbers.
pub fn hierarchies(kind: Kind, options: &Options) -> Vec<(&'static str, HierarchyRows)> {
    match kind {
        Kind::Agrawal => agrawal::hierarchies(),
        Kind::Adult => {
            let mut hierarchies = adult::hierarchies();
            hierarchies
                .extend(options.has_zipcode.then(|| ("zipcode", adult::zipcode::hierarchy())));
            hierarchies
        }
        Kind::LandsEnd => lands_end::hierarchies(),
        Kind::Customer | Kind::Voters => Vec::new(),
    }
}

/// A hierarchy that hides a value or shows it.
fn suppression<S: ToString>(values: impl IntoIterator<Item = S>) -> HierarchyRows {
    values.into_iter().map(|value| vec![value.to_string(), "*".to_owned()]).collect()
}

/// A hierarchy that rounds off digits from the right: `12`, `001*`, `00**`, `0***`, `*`.
fn rounded_digits(
    values: impl IntoIterator<Item = (String, u32)>,
    n_digits: usize,
) -> HierarchyRows {
    let levels = |(text, number): (String, u32)| {
        let digits = format!("{number:0n_digits$}");
        let rounded = (1..n_digits)
            .map(|n_hidden| format!("{}{}", &digits[..n_digits - n_hidden], "*".repeat(n_hidden)));
        std::iter::once(text).chain(rounded).chain(std::iter::once("*".to_owned())).collect()
    };
    values.into_iter().map(levels).collect()
}

#[cfg(test)]
mod tests;
