//! Rows on their way in: reading is the survey.
//!
//! ```text
//!   source ──► chunks ──keep while they fit──► all of them: a table in memory
//!                 │ too many, or the method packs its rows itself
//!                 ▼
//!              survey: values, sample, types of what is carried
//!                 │
//!                 ▼
//!   rows once more: those kept, those spilled, or the source again
//! ```
//!
//! Guarantee: a source is read at most twice, and one that can be read only once is spilled as it
//! comes, when its rows no longer fit. Both may happen once more from the start: where all rows
//! turn out to have other types than the first.
//! Cost: one pass, and a second one over what was not kept.

mod again;
mod kept;
mod repeated;
mod survey;
mod table;
mod tuples;

use std::sync::atomic::{AtomicBool, Ordering};

use albers_classes::space::Shown;
use albers_partition::grain::Grain;
use albers_release::publish::Typing;
use albers_storage::StorageError;
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::{Phase, Watch};
use albers_table::TableError;
use albers_table::coding::{Coding, CodingPlan, ColumnCoding, Look};
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{
    ColumnRequest, CountedRows, RequestedTypes, Source, SourceChunk, SpilledChunks, for_each_chunk,
};

use crate::error::{Error, Result};
use crate::job::{Categories, TargetKind};
use crate::memory::Memory;
use crate::plan::{MethodPlan, Plan, PlannedColumn};

use repeated::{HashedIdentifiers, IdentifierCounts};
use survey::{Lookout, Survey};

pub(crate) use again::{RowsAgain, changed, check_unchanged, source_changed};
pub(crate) use kept::{array_bytes, cells_bytes, kept_bytes};
pub(crate) use repeated::{Repeated, most_repeated};
pub(crate) use survey::{CodedChunk, Surveyed};
pub(crate) use table::{NO_PERSON, SensitiveData, Table, attribute_of};

/// Hierarchies take so much beside the budget, as the program itself does; what they take beyond that
/// counts.
const HIERARCHIES_BESIDE_BYTES: usize = 4 << 20;

/// The most rows of a table: they are numbered in 32 bits.
const MAX_ROWS: u64 = u32::MAX as u64 - 1;

/// How rows are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// As a table in memory, if they take no more than this; surveyed otherwise.
    Table {
        /// What they may take.
        limit_bytes: usize,
    },
    /// As a table in memory, and refused if they take more than this.
    OnlyTable {
        /// What they may take.
        limit_bytes: usize,
    },
    /// Surveyed; kept for a second look if they take no more than this.
    Survey {
        /// What kept rows may take.
        limit_bytes: usize,
    },
}

/// The rows of a source.
pub(crate) enum Rows<'s> {
    /// All of them, coded.
    InMemory(Box<Table>),
    /// What their columns hold, and a way to see them once more.
    Outside(Box<Surveyed<'s>>),
}

/// Reads a source by a plan.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'s> {
    /// The plan.
    pub(crate) plan: &'s Plan,
    /// The table.
    pub(crate) source: &'s dyn Source,
    /// What all live in.
    pub(crate) memory: &'s Memory,
    /// Whether text that leaves as it came becomes typed.
    pub(crate) typed_output: bool,
    /// A column that pairs the rows with those of a release.
    pub(crate) key: Option<&'s str>,
    /// Who watches.
    pub(crate) watch: &'s dyn Watch,
}

/// What is known of the columns before the first row is read.
pub(crate) struct KnownColumns {
    /// The columns that are read.
    pub(crate) planned: Vec<PlannedColumn>,
    /// How they are read, and after them the key, if there is one.
    pub(crate) requests: Vec<ColumnRequest>,
    /// Their types.
    pub(crate) types: RequestedTypes,
    /// Identifiers that are counted as rows are first read, and their types.
    identifiers: (Vec<ColumnRequest>, RequestedTypes),
    /// How each would be shown.
    pub(crate) shown: Vec<Shown>,
    /// The coding of the quasi-identifiers, where other rows have settled it.
    settled: Option<Coding>,
}

impl KnownColumns {
    /// What a source tells of the columns of a plan.
    pub(crate) fn of(reading: &Reading<'_>) -> Result<KnownColumns> {
        let planned = reading.plan.columns.clone();
        let mut requests: Vec<ColumnRequest> = planned.iter().map(PlannedColumn::request).collect();
        requests.extend(reading.key.map(as_text));
        let types = reading.source.types(&requests)?;
        let counted: Vec<ColumnRequest> =
            reading.plan.identifiers.iter().map(|name| as_text(name)).collect();
        let identifiers = (counted.clone(), reading.source.types(&counted)?);
        let (shown, settled) = (Vec::new(), None);
        let known = KnownColumns { shown, planned, requests, types, identifiers, settled };
        Ok(known.shown_by(reading.plan))
    }

    /// The columns of a plan, of which all rows have these types.
    pub(crate) fn stored(plan: &Plan, types: RequestedTypes) -> KnownColumns {
        let planned = plan.columns.clone();
        let requests = planned.iter().map(PlannedColumn::request).collect();
        let none = RequestedTypes::plain(Vec::new(), Vec::new());
        let identifiers = (Vec::new(), none);
        let (shown, settled) = (Vec::new(), None);
        let known = KnownColumns { shown, planned, requests, types, identifiers, settled };
        known.shown_by(plan)
    }

    /// The same columns, whose quasi-identifiers are coded as other rows have settled it.
    pub(crate) fn settled(mut self, coding: Coding) -> KnownColumns {
        self.settled = Some(coding);
        self
    }

    /// The coding that other rows have settled for a column.
    fn settled_coding(&self, column_idx: usize) -> Option<&ColumnCoding> {
        let coding = self.settled.as_ref()?;
        let is_quasi = |column: &PlannedColumn| column.role == Role::Quasi;
        let (before, own) = self.planned.split_at(column_idx);
        let place = before.iter().filter(|&column| is_quasi(column)).count();
        coding.columns().get(place).filter(|_| own.first().is_some_and(is_quasi))
    }

    /// Asks for more columns behind the others, whose cells are texts.
    pub(crate) fn with_texts(
        mut self,
        requests: &[ColumnRequest],
        source: &dyn Source,
    ) -> Result<KnownColumns> {
        let types = source.types(requests)?;
        self.requests.extend_from_slice(requests);
        self.types.append(types);
        Ok(self)
    }

    /// What is asked for when rows are read for the first time: the identifiers behind the rest.
    fn with_identifiers(&self) -> (Vec<ColumnRequest>, RequestedTypes) {
        let (requests, types) = &self.identifiers;
        let mut all = (self.requests.clone(), self.types.clone());
        all.0.extend_from_slice(requests);
        all.1.append(types.clone());
        all
    }

    /// The same columns, of which all rows have these types.
    fn of_types(mut self, reading: &Reading<'_>, mut types: RequestedTypes) -> KnownColumns {
        // Identifiers are texts whatever they look like.
        types.truncate(self.requests.len());
        self.types = types;
        self.shown_by(reading.plan)
    }

    fn shown_by(mut self, plan: &Plan) -> KnownColumns {
        let kinds = self.planned.iter().zip(&self.types.column_types);
        let shown = kinds.map(|(column, &kind)| KnownColumns::shown_of(plan, column, kind));
        self.shown = shown.collect();
        self
    }

    /// How a column of this type would be shown.
    pub(crate) fn shown_of(plan: &Plan, column: &PlannedColumn, kind: ColumnType) -> Shown {
        match column.fixed {
            Some(_) => Shown::Label,
            None => shown_as(kind, column.hierarchy.is_some(), plan.show.categories),
        }
    }

    /// Whether the text of a carried column becomes typed: not where the source is typed already,
    /// unless the job says what its text is.
    pub(crate) fn typing(&self, column_idx: usize, typed_output: bool) -> Typing {
        let declared = self.planned.get(column_idx).and_then(|own| own.column_type);
        let is_typed = self.types.data_types[column_idx].is_some();
        KnownColumns::typing_of(is_typed, declared, typed_output)
    }

    /// The same of a column of a source that is typed or not, whose type the job may say.
    pub(crate) fn typing_of(
        is_typed: bool,
        declared: Option<ColumnType>,
        typed_output: bool,
    ) -> Typing {
        match (is_typed, declared) {
            _ if !typed_output => Typing::AsRead,
            (true, None) => Typing::AsRead,
            (_, declared) => Typing::ByCells(declared),
        }
    }

    /// How a column is coded, if it is.
    fn coding(&self, column_idx: usize) -> Option<CodingPlan<'_>> {
        let column = &self.planned[column_idx];
        let hierarchy = column.hierarchy.as_ref();
        let kind = self.types.column_types[column_idx];
        match column.role {
            Role::Keep
                if (column.target == Some(TargetKind::Number) || column.is_feature)
                    && kind.is_ordered() =>
            {
                Some(CodingPlan::Ordered)
            }
            Role::Keep if column.target.is_some() || column.is_feature => {
                Some(CodingPlan::Categories { hierarchy: None, by_frequency: false })
            }
            // Subjects are numbered, not coded.
            Role::Keep | Role::Identifier | Role::Subject => None,
            Role::Quasi if self.shown[column_idx] == Shown::Interval => Some(CodingPlan::Ordered),
            Role::Quasi => Some(CodingPlan::Categories { hierarchy, by_frequency: true }),
            Role::Sensitive => Some(CodingPlan::Categories { hierarchy, by_frequency: false }),
        }
    }

    /// Whether columns have ranges of a fixed grid.
    fn is_fixed(&self) -> bool {
        self.planned.iter().any(|column| column.fixed.is_some())
    }

    /// The columns whose cells come coded, in the order in which they come; the key, which comes
    /// after them, left out.
    pub(crate) fn coded_columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.planned.len()).filter(|&column_idx| self.requests[column_idx].coded)
    }

    /// The columns that are surveyed: all that are coded but the subject, which is only counted.
    pub(crate) fn surveyed(&self) -> impl Iterator<Item = usize> + '_ {
        let coded = self.coded_columns();
        coded.filter(|&column_idx| self.planned[column_idx].role != Role::Subject)
    }

    fn first_look(&self, column_idx: usize) -> Look {
        if let Some(coding) = self.settled_coding(column_idx) {
            return coding.later_look();
        }
        match self.coding(column_idx) {
            Some(coding) => Look::for_column(self.types.column_types[column_idx], coding),
            None => Look::Ends,
        }
    }
}

/// A column of which only the texts matter.
fn as_text(name: &str) -> ColumnRequest {
    ColumnRequest {
        name: name.to_owned(),
        column_type: Some(ColumnType::Text),
        coded: true,
        carried: false,
    }
}

/// How a quasi-identifier is shown: ordered values as intervals, categories as sets; with a
/// hierarchy as labels, unless sets are asked for.
fn shown_as(kind: ColumnType, has_hierarchy: bool, categories: Option<Categories>) -> Shown {
    if has_hierarchy && categories != Some(Categories::Set) {
        Shown::Label
    } else if kind.is_ordered() {
        Shown::Interval
    } else {
        Shown::Set
    }
}

/// A chunk as it comes to the intake.
enum Arrival {
    /// Not looked at.
    Whole(SourceChunk),
    /// Surveyed on the thread that read it; the rows come along if they are to be kept.
    Looked(Box<survey::ChunkOutcome>, Option<SourceChunk>),
}

/// What becomes of the rows as they arrive.
struct Intake<'k, 's> {
    reading: &'k Reading<'s>,
    lookout: &'k Lookout<'k>,
    /// What the kept rows may take in memory.
    limit_bytes: usize,
    /// How many attributes a point has.
    n_attributes: usize,
    /// Whether nothing can be done with rows that take more.
    is_only_in_memory: bool,
    survey: Option<Survey>,
    kept: Kept<'s>,
    n_rows: u64,
    identifiers: IdentifierCounts,
}

/// Rows that were read.
enum Kept<'s> {
    /// All so far, in memory.
    Memory(Vec<SourceChunk>, Reservation),
    /// All so far, in the spill store.
    Spilled(SpilledChunks<'s>),
    /// None: the source can be read again.
    Nothing,
}

/// What became of all rows.
struct Taken<'s> {
    /// What they tell, if they were surveyed.
    survey: Option<Survey>,
    /// Where they are.
    kept: Kept<'s>,
    /// How many there are.
    n_rows: u64,
    /// An identifier that some of them share.
    repeated: Option<Repeated>,
}

impl<'s> Reading<'s> {
    /// Reads all rows.
    pub(crate) fn read(&self, wanted: Wanted) -> Result<Rows<'s>> {
        self.read_known(KnownColumns::of(self)?, wanted)
    }

    /// The same where the columns are known already, as far as the first rows tell them.
    pub(crate) fn read_known(&self, known: KnownColumns, wanted: Wanted) -> Result<Rows<'s>> {
        self.read_counted(known, wanted).map(|(rows, _)| rows)
    }

    /// The same, with an identifier that some rows share.
    pub(crate) fn read_counted(
        &self,
        mut known: KnownColumns,
        wanted: Wanted,
    ) -> Result<(Rows<'s>, Option<Repeated>)> {
        let stamp = self.source.stamp();
        let Taken { survey, kept, n_rows, repeated } = match self.take_rows(&known, wanted) {
            Err(TableError::OtherTypes { types, .. }) => {
                known = known.of_types(self, *types);
                self.take_rows(&known, wanted)?
            }
            outcome => outcome?,
        };
        if n_rows > 0 || self.plan.method.promise().is_none() {
            check_size(self.source, n_rows)?;
        }
        let survey = survey.map(|survey| survey.done(self)).transpose()?;
        match (survey, kept) {
            (None, Kept::Memory(chunks, memory)) => {
                let table = Table::of(self, &known, chunks, n_rows as usize, memory)?;
                Ok((Rows::InMemory(Box::new(table)), repeated))
            }
            (None, _) => unreachable!("rows that were not kept were surveyed"),
            (Some(survey), kept) => {
                let again = RowsAgain::of(kept, stamp);
                let surveyed = Surveyed::finish(self, known, survey, again)?;
                Ok((Rows::Outside(Box::new(surveyed)), repeated))
            }
        }
    }

    /// Takes in all rows, read with these types.
    fn take_rows(&self, known: &KnownColumns, wanted: Wanted) -> albers_table::Result<Taken<'s>> {
        let (Wanted::Table { limit_bytes }
        | Wanted::OnlyTable { limit_bytes }
        | Wanted::Survey { limit_bytes }) = wanted;
        let looks = known.surveyed().map(|column_idx| known.first_look(column_idx)).collect();
        let lookout = Lookout::new(known, looks, self.sample_tuples(known), self);
        let is_surveyed = matches!(wanted, Wanted::Survey { .. });
        let memory = self.memory.budget.reserve_nothing("the table in memory");
        let mut intake = Intake {
            identifiers: IdentifierCounts::new(self),
            reading: self,
            lookout: &lookout,
            limit_bytes,
            n_attributes: self.n_attributes(known),
            is_only_in_memory: matches!(wanted, Wanted::OnlyTable { .. }),
            survey: is_surveyed.then(|| Survey::new(self, &lookout)).transpose()?,
            kept: Kept::Memory(Vec::new(), memory),
            n_rows: 0,
        };
        intake.read_source(known)?;
        let repeated = intake.identifiers.most_repeated(&self.plan.identifiers);
        let Intake { survey, kept, n_rows, .. } = intake;
        Ok(Taken { survey, kept, n_rows, repeated })
    }

    /// The distinct rows with their numbers, if the source can count them itself: for those who
    /// publish nothing of them.
    pub(crate) fn count(&self, known: &KnownColumns) -> Result<Option<(Table, Vec<u32>)>> {
        let Some(CountedRows { rows, counts }) =
            self.source.count_by(&known.requests, &known.types)?
        else {
            return Ok(None);
        };
        check_size(self.source, counts.iter().map(|&count| u64::from(count)).sum())?;
        let mut memory = self.memory.budget.reserve_nothing("the table in memory");
        memory.try_grow(kept_bytes(&rows))?;
        let n_rows = rows.n_rows;
        Ok(Some((Table::of(self, known, vec![rows], n_rows, memory)?, counts)))
    }

    /// Tuples of a sample, where the method wants one.
    fn sample_tuples(&self, known: &KnownColumns) -> usize {
        let grain = self.plan.method.sample_grain().filter(Grain::has_samples);
        grain.map_or(0, |grain| grain.sample_tuples(self.n_attributes(known)))
    }

    /// How many attributes a point has.
    fn n_attributes(&self, known: &KnownColumns) -> usize {
        let is_quasi = |column: &&PlannedColumn| column.role == Role::Quasi;
        known.planned.iter().filter(is_quasi).count()
    }

    /// What so many rows take beside their codes while all of them are cut in memory.
    fn cut_bytes(&self, n_rows: u64, n_attributes: usize) -> usize {
        match &self.plan.method {
            MethodPlan::Cuts { cuts } | MethodPlan::Index { cuts, .. } => {
                cuts.table_bytes(n_rows, n_attributes)
            }
            _ => 0,
        }
    }
}

/// Refuses a table without rows, and one with more than can be numbered.
pub(crate) fn check_size(source: &dyn Source, n_rows: u64) -> Result<()> {
    if n_rows == 0 {
        return Err(Error::usage(
            format!("{} has column names but no rows", source.name()),
            "a table needs at least one row",
        ));
    }
    if n_rows > MAX_ROWS {
        return Err(Error::usage(
            format!("{} has {n_rows} rows, more than can be numbered", source.name()),
            "split the table",
        ));
    }
    Ok(())
}

impl Intake<'_, '_> {
    /// Reads the source to its end.
    fn read_source(&mut self, known: &KnownColumns) -> albers_table::Result<()> {
        let Reading { source, watch, .. } = *self.reading;
        let lookout = self.lookout;
        let surveys = AtomicBool::new(self.survey.is_some());
        let keeps = AtomicBool::new(true);
        let n_coded = known.requests.iter().filter(|request| request.coded).count();
        let map = |mut chunk: SourceChunk| {
            let identifiers = chunk.coded.split_off(n_coded.min(chunk.coded.len()));
            let identifiers = HashedIdentifiers::of(&identifiers);
            if !surveys.load(Ordering::Relaxed) {
                return Ok((Arrival::Whole(chunk), identifiers));
            }
            let outcome = Box::new(lookout.look(&chunk));
            let kept = keeps.load(Ordering::Relaxed).then_some(chunk);
            Ok((Arrival::Looked(outcome, kept), identifiers))
        };
        watch.phase(Phase::Read, source.n_rows());
        let (requests, types) = known.with_identifiers();
        let mut scan = source.scan(&requests, &types)?;
        for_each_chunk(scan.as_mut(), watch, &map, &mut |(arrival, identifiers)| {
            self.identifiers.add(&identifiers);
            self.take(arrival)?;
            surveys.store(self.survey.is_some(), Ordering::Relaxed);
            keeps.store(!matches!(self.kept, Kept::Nothing), Ordering::Relaxed);
            Ok(())
        })
    }

    fn take(&mut self, arrival: Arrival) -> albers_table::Result<()> {
        let chunk = match arrival {
            Arrival::Whole(chunk) => {
                self.n_rows += chunk.n_rows as u64;
                if let Some(survey) = &mut self.survey {
                    survey.add(self.lookout, self.lookout.look(&chunk))?;
                }
                Some(chunk)
            }
            Arrival::Looked(outcome, chunk) => {
                self.n_rows += outcome.n_rows;
                let survey = self.survey.as_mut().expect("chunks are looked at for a survey");
                survey.add(self.lookout, *outcome)?;
                chunk
            }
        };
        match (&mut self.kept, chunk) {
            (Kept::Memory(chunks, memory), Some(chunk)) => {
                let n_bytes = kept_bytes(&chunk);
                chunks.push(chunk);
                // Rows that are surveyed are kept for a second look, and cut elsewhere.
                let cut_bytes = match &self.survey {
                    Some(_) => 0,
                    None => self.reading.cut_bytes(self.n_rows, self.n_attributes),
                };
                let is_within = memory.n_bytes() + n_bytes + cut_bytes <= self.limit_bytes;
                if !is_within || memory.try_grow(n_bytes).is_err() {
                    self.give_up_memory()?;
                }
            }
            (Kept::Spilled(spilled), Some(chunk)) => spilled.put(chunk)?,
            (Kept::Nothing, _) | (_, None) => {}
        }
        Ok(())
    }

    /// About what all rows would take, by those that are there.
    fn needed_bytes(&self, chunks: &[SourceChunk]) -> u64 {
        let n_bytes: usize = chunks.iter().map(kept_bytes).sum();
        let n_rows = self.reading.source.n_rows().unwrap_or(0).max(2 * self.n_rows);
        let needed = n_bytes as u128 * u128::from(n_rows) / u128::from(self.n_rows.max(1));
        let needed = needed + self.reading.cut_bytes(n_rows, self.n_attributes) as u128;
        u64::try_from(needed + needed / 4).unwrap_or(u64::MAX)
    }

    /// The rows no longer fit: what they hold is surveyed, and they go where they can be read
    /// again.
    fn give_up_memory(&mut self) -> albers_table::Result<()> {
        let kept = std::mem::replace(&mut self.kept, Kept::Nothing);
        let Kept::Memory(chunks, memory) = kept else { return Ok(()) };
        if self.is_only_in_memory {
            let needed_bytes = self.needed_bytes(&chunks);
            let limit_bytes = self.reading.memory.budget.limit_bytes() as u64;
            let what = "the table in memory";
            return Err(StorageError::OverBudget { what, needed_bytes, limit_bytes }.into());
        }
        // What the survey finds takes the place of the rows, which are given up one by one.
        drop(memory);
        let is_surveyed = self.survey.is_some();
        let survey = match &mut self.survey {
            Some(survey) => survey,
            none => none.insert(Survey::new(self.reading, self.lookout)?),
        };
        let can_reread = self.reading.source.stamp().is_some();
        let mut spilled = (!can_reread).then(|| SpilledChunks::new(&self.reading.memory.store));
        for chunk in chunks {
            if !is_surveyed {
                survey.add(self.lookout, self.lookout.look(&chunk))?;
            }
            if let Some(spilled) = &mut spilled {
                spilled.put(chunk)?;
            }
        }
        self.kept = spilled.map_or(Kept::Nothing, Kept::Spilled);
        Ok(())
    }
}

/// Sets aside what hierarchies take while they are made, given what all of them so far take.
fn set_aside(hierarchies: &mut Reservation, n_bytes: usize) -> albers_storage::Result<()> {
    let counted = n_bytes.saturating_sub(HIERARCHIES_BESIDE_BYTES);
    hierarchies.try_grow(counted.saturating_sub(hierarchies.n_bytes()))
}
