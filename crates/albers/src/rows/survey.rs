//! The first pass: what the columns hold, and a sample of the rows.

use std::sync::atomic::{AtomicU64, Ordering};

use albers_partition::features::FeatureSpace;
use albers_partition::sample::Tuples;
use albers_release::publish::{CarriedSurvey, Payload, PayloadRows};
use albers_storage::StorageError;
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_table::TableError;
use albers_table::chunk::ColumnChunk;
use albers_table::coding::{ChunkSurvey, CodeMap, ColumnCoder, ColumnSurvey, Look};
use albers_table::schema::Role;
use albers_table::source::SourceChunk;
use albers_table::value_hash::value_hashes;
use arrow_array::ArrayRef;
use rustc_hash::FxHashSet;

use super::again::RowsAgain;
use super::tuples::{LeastTuples, halves, tuple_hashes, tuples_of};
use super::{KnownColumns, Reading, array_bytes, set_aside};
use crate::error::Result;

/// What the first pass found.
pub(crate) struct Surveyed<'s> {
    /// What was known before.
    pub(crate) known: KnownColumns,
    /// The coder of each column that is coded, except for subjects.
    pub(crate) coders: Vec<Option<ColumnCoder>>,
    /// The columns that leave as they came.
    pub(crate) payload: Payload,
    /// About how many bytes of them a row has.
    pub(crate) payload_bytes: usize,
    /// Rows of the table.
    pub(crate) n_rows: u64,
    /// Distinct subjects, as far as they had to be counted.
    pub(crate) n_subjects: u64,
    /// Some tuples of the quasi-identifiers, if a sample was wanted.
    pub(crate) sample: Sample,
    /// The cells of the features, when they are known: rows are coded with theirs.
    pub(crate) feature_space: Option<FeatureSpace>,
    /// How the codes of quasi-identifiers that other rows have settled change, column by column.
    pub(crate) changes: Vec<CodeMap>,
    /// How many rows miss the value of each of these.
    pub(crate) n_missing: Vec<u64>,
    /// What the values of the columns take.
    pub(crate) values: Reservation,
    /// What reading takes besides, for as long as there are rows to come, and the hierarchies.
    _reading: [Reservation; 2],
    /// The rows, once more.
    pub(crate) again: RowsAgain<'s>,
}

/// Some tuples, and the memory that they take.
pub(crate) struct Sample {
    /// A row of each.
    chunks: Vec<SampledChunk>,
    tuples: LeastTuples<()>,
    memory: Reservation,
}

impl Sample {
    /// Gives up the tuples and their memory.
    pub(crate) fn clear(&mut self) {
        self.chunks.clear();
        self.tuples = LeastTuples::new(0);
        self.memory.shrink(self.memory.n_bytes());
    }
}

/// One row of each of some tuples.
struct SampledChunk {
    /// The hashes of the tuples.
    hashes: Vec<u64>,
    /// How many rows of their chunk have each.
    counts: Vec<u32>,
    /// The quasi-identifiers, in the order of their requests.
    coded: Vec<ColumnChunk>,
}

/// Looks at chunks, on whatever thread has read them.
pub(super) struct Lookout<'k> {
    known: &'k KnownColumns,
    /// What is looked for in each column that is surveyed.
    looks: Vec<Look>,
    /// Tuples of the sample; 0 where none is wanted.
    sample_tuples: usize,
    seed: u64,
    typed_output: bool,
    /// Tuples with a greater hash are not in the sample; it falls as rows come.
    bound: AtomicU64,
}

/// What a chunk tells.
pub(super) struct ChunkOutcome {
    pub(super) n_rows: u64,
    columns: Vec<ChunkSurvey>,
    carried: Vec<CarriedSurvey>,
    carried_bytes: usize,
    subjects: Vec<u64>,
    sample: SampledChunk,
}

impl<'k> Lookout<'k> {
    /// For columns of which this is looked for.
    pub(super) fn new(
        known: &'k KnownColumns,
        looks: Vec<Look>,
        sample_tuples: usize,
        reading: &Reading<'_>,
    ) -> Lookout<'k> {
        let Reading { plan, typed_output, .. } = *reading;
        let bound = AtomicU64::new(u64::MAX);
        Lookout { known, looks, sample_tuples, seed: plan.show.seed, typed_output, bound }
    }

    /// The tuples of a chunk that may be in the sample.
    fn sample(&self, chunk: &SourceChunk) -> SampledChunk {
        let quasi: Vec<&ColumnChunk> = self
            .known
            .coded_columns()
            .zip(&chunk.coded)
            .filter(|(column_idx, _)| self.known.planned[*column_idx].role == Role::Quasi)
            .map(|(_, cells)| cells)
            .collect();
        let tuples = match self.sample_tuples {
            0 => Vec::new(),
            _ => {
                let hashes = tuple_hashes(&quasi, chunk.n_rows, self.seed);
                tuples_of(&hashes, self.bound.load(Ordering::Relaxed), self.sample_tuples)
            }
        };
        let rows: Vec<u32> = tuples.iter().map(|tuple| tuple.row).collect();
        SampledChunk {
            hashes: tuples.iter().map(|tuple| tuple.hash).collect(),
            counts: tuples.iter().map(|tuple| tuple.n_rows).collect(),
            coded: quasi.iter().map(|cells| cells.select(&rows)).collect(),
        }
    }

    /// What a chunk tells.
    pub(super) fn look(&self, chunk: &SourceChunk) -> ChunkOutcome {
        let known = self.known;
        let mut outcome = ChunkOutcome {
            n_rows: chunk.n_rows as u64,
            columns: Vec::new(),
            carried: Vec::new(),
            carried_bytes: chunk.carried.iter().map(array_bytes).sum(),
            subjects: Vec::new(),
            sample: self.sample(chunk),
        };
        for (column_idx, cells) in known.coded_columns().zip(&chunk.coded) {
            if known.planned[column_idx].role == Role::Subject {
                outcome.subjects = value_hashes(cells);
            } else {
                outcome.columns.push(ChunkSurvey::of(cells, self.looks[outcome.columns.len()]));
            }
        }
        let carried = known.requests.iter().enumerate().filter(|(_, request)| request.carried);
        for ((column_idx, _), cells) in carried.zip(&chunk.carried) {
            let typing = known.typing(column_idx, self.typed_output);
            outcome.carried.push(CarriedSurvey::of(cells, typing));
        }
        outcome
    }
}

/// What all chunks so far tell.
pub(super) struct Survey {
    n_rows: u64,
    /// Of each column that is coded, except for subjects.
    columns: Vec<ColumnSurvey>,
    carried: Vec<CarriedSurvey>,
    carried_bytes: usize,
    /// Subjects met, no more than the greatest k.
    subjects: FxHashSet<u64>,
    greatest_k: u64,
    sample: Vec<SampledChunk>,
    tuples: LeastTuples<()>,
    /// Whether the sample did not fit: small tables do without one.
    is_sample_over: bool,
    /// Whether the values did not fit, and are only counted.
    is_over: bool,
    values_memory: Reservation,
    sample_memory: Reservation,
    /// What reading takes besides.
    reading_memory: Reservation,
}

impl Survey {
    /// Of no chunk yet.
    pub(super) fn new(
        reading: &Reading<'_>,
        lookout: &Lookout<'_>,
    ) -> albers_table::Result<Survey> {
        let known = lookout.known;
        let surveyed = known.surveyed().zip(&lookout.looks);
        let columns = surveyed.map(|(column_idx, &look)| match known.settled_coding(column_idx) {
            Some(coding) => coding.later_survey(look),
            None => ColumnSurvey::new(&known.planned[column_idx].name, look),
        });
        let carried = known.requests.iter().enumerate().filter(|(_, request)| request.carried);
        let carried = carried.map(|(column_idx, _)| {
            CarriedSurvey::nothing(known.typing(column_idx, lookout.typed_output))
        });
        let budget = &reading.memory.budget;
        let reading_memory = budget.try_reserve("reading the table", budget.limit_bytes() / 8)?;
        Ok(Survey {
            n_rows: 0,
            columns: columns.collect(),
            carried: carried.collect(),
            carried_bytes: 0,
            subjects: FxHashSet::default(),
            greatest_k: reading.plan.greatest_k(),
            sample: Vec::new(),
            tuples: LeastTuples::new(lookout.sample_tuples),
            is_sample_over: false,
            is_over: false,
            values_memory: budget.reserve_nothing("the values of the columns"),
            sample_memory: budget.reserve_nothing("a sample of the rows"),
            reading_memory,
        })
    }

    /// Adds what a chunk tells.
    pub(super) fn add(
        &mut self,
        lookout: &Lookout<'_>,
        outcome: ChunkOutcome,
    ) -> albers_table::Result<()> {
        self.n_rows += outcome.n_rows;
        self.carried_bytes += outcome.carried_bytes;
        for (survey, chunk) in self.columns.iter_mut().zip(outcome.columns) {
            survey.add(chunk)?;
        }
        for (survey, chunk) in self.carried.iter_mut().zip(&outcome.carried) {
            survey.add(chunk);
        }
        for subject in outcome.subjects {
            if (self.subjects.len() as u64) < self.greatest_k {
                self.subjects.insert(subject);
            }
        }
        let more_bytes = self.n_value_bytes().saturating_sub(self.values_memory.n_bytes());
        if !self.is_over && self.values_memory.try_grow(more_bytes).is_err() {
            // The pass goes on without them, to tell how much would do.
            self.is_over = true;
            self.columns.iter_mut().for_each(ColumnSurvey::only_estimate);
        }
        self.add_sample(outcome.sample);
        lookout.bound.store(self.tuples.bound(), Ordering::Relaxed);
        Ok(())
    }

    /// The pass has come to its end; refuses values that do not fit.
    pub(super) fn done(mut self, reading: &Reading<'_>) -> Result<Survey> {
        self.tuples.trim();
        self.trim_sample();
        if self.is_over {
            // What grows with the budget takes about two thirds of it.
            let needed_bytes = 3 * self.n_value_bytes() as u64;
            let limit_bytes = reading.memory.budget.limit_bytes() as u64;
            let what = "the values of the columns";
            return Err(StorageError::OverBudget { what, needed_bytes, limit_bytes }.into());
        }
        match reading.plan.method.sample_grain() {
            Some(grain) if self.is_sample_over && self.n_rows > grain.whole_rows as u64 => {
                let limit_bytes = reading.memory.budget.limit_bytes() as u64;
                let needed_bytes = limit_bytes + 4 * grain.sample_bytes as u64;
                let what = "a sample of the rows";
                Err(StorageError::OverBudget { what, needed_bytes, limit_bytes }.into())
            }
            _ => Ok(self),
        }
    }

    /// What has to be looked for instead, where the values of a column turned out to lie far apart.
    fn closer_looks(&self) -> Option<Vec<Look>> {
        let is_far = self.columns.iter().any(ColumnSurvey::needs_values);
        is_far.then(|| {
            let closer = self.columns.iter().map(|survey| match survey.needs_values() {
                true => Look::Values,
                false => survey.look(),
            });
            closer.collect()
        })
    }

    fn n_value_bytes(&self) -> usize {
        self.columns.iter().map(ColumnSurvey::memory_bytes).sum()
    }

    /// Adds the tuples of a chunk to the sample; cells are kept of those that are new.
    fn add_sample(&mut self, mut chunk: SampledChunk) {
        let mut is_new = Vec::with_capacity(chunk.hashes.len());
        for (&hash, &count) in chunk.hashes.iter().zip(&chunk.counts) {
            is_new.push(self.tuples.add(hash, u64::from(count), ()));
        }
        if self.tuples.is_full() {
            self.tuples.trim();
            self.trim_sample();
        }
        let bound = self.tuples.bound();
        let kept: Vec<bool> = chunk
            .hashes
            .iter()
            .zip(is_new)
            .map(|(&hash, is_new)| is_new && hash <= bound)
            .collect();
        chunk.retain(|place| kept[place]);
        if self.sample_memory.try_grow(chunk.n_bytes()).is_err() {
            self.is_sample_over = true;
            self.tuples = LeastTuples::new(0);
            self.sample.clear();
            self.sample_memory.shrink(self.sample_memory.n_bytes());
            return;
        }
        if !chunk.hashes.is_empty() {
            self.sample.push(chunk);
        }
    }

    /// Drops cells of tuples that do not belong to the sample any more.
    fn trim_sample(&mut self) {
        let bound = self.tuples.bound();
        let mut n_bytes = 0;
        for chunk in &mut self.sample {
            let kept: Vec<bool> = chunk.hashes.iter().map(|&hash| hash <= bound).collect();
            chunk.retain(|place| kept[place]);
            n_bytes += chunk.n_bytes();
        }
        self.sample.retain(|chunk| !chunk.hashes.is_empty());
        let held = self.sample_memory.n_bytes();
        self.sample_memory.shrink(held.saturating_sub(n_bytes));
    }
}

impl SampledChunk {
    /// What it takes, with its share of the table of all tuples.
    fn n_bytes(&self) -> usize {
        const TUPLE_BYTES: usize = 40;
        let cells: usize = self.coded.iter().map(ColumnChunk::n_bytes).sum();
        cells + self.hashes.len() * TUPLE_BYTES
    }

    fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        let kept: Vec<u32> =
            (0..self.hashes.len() as u32).filter(|&own| is_kept(own as usize)).collect();
        if kept.len() < self.hashes.len() {
            self.coded = self.coded.iter().map(|cells| cells.select(&kept)).collect();
            self.hashes = kept.iter().map(|&own| self.hashes[own as usize]).collect();
            self.counts = kept.iter().map(|&own| self.counts[own as usize]).collect();
        }
    }
}

/// A chunk, coded.
pub(crate) struct CodedChunk {
    /// The codes of the attributes, row by row.
    pub(crate) codes: Vec<u32>,
    /// The facts, column by column: both halves of the subject, then all sensitive columns, then
    /// the kept ones that are targets, then the cells of the features, where these are known.
    pub(crate) facts: Vec<Vec<u32>>,
    /// The codes of the features, column by column.
    pub(crate) features: Vec<Vec<u32>>,
}

impl<'s> Surveyed<'s> {
    /// Makes coders of what was found, after a closer look where one is needed.
    pub(super) fn finish(
        reading: &Reading<'s>,
        known: KnownColumns,
        mut survey: Survey,
        mut again: RowsAgain<'s>,
    ) -> Result<Surveyed<'s>> {
        if let Some(looks) = survey.closer_looks() {
            let sample_tuples = survey.tuples.limit();
            drop(survey);
            let lookout = Lookout::new(&known, looks, sample_tuples, reading);
            survey = Survey::new(reading, &lookout)?;
            again.look_closer(reading, &known, &mut |chunk| {
                survey.add(&lookout, lookout.look(chunk))
            })?;
            survey = survey.done(reading)?;
        }
        let budget = &reading.memory.budget;
        let mut hierarchies = budget.reserve_nothing("the hierarchies of the columns");
        let mut hierarchy_bytes = 0;
        let mut columns = survey.columns.into_iter();
        let mut coders = Vec::with_capacity(known.planned.len());
        let (mut changes, mut n_missing) = (Vec::new(), Vec::new());
        for column_idx in 0..known.planned.len() {
            if let Some(coding) = known.settled_coding(column_idx) {
                let survey = columns.next().expect("one survey per coded column");
                n_missing.push(survey.n_missing());
                let (coder, change) = coding.for_later(survey)?;
                coders.push(Some(coder));
                changes.push(change);
                continue;
            }
            coders.push(match known.coding(column_idx) {
                None => None,
                Some(coding) => {
                    let survey = columns.next().expect("one survey per coded column");
                    let data_type = known.types.data_types[column_idx].clone();
                    if let Some(spec) = &known.planned[column_idx].hierarchy {
                        hierarchy_bytes += survey.hierarchy_bytes(spec);
                        set_aside(&mut hierarchies, hierarchy_bytes)?;
                    }
                    Some(survey.finish(known.types.column_types[column_idx], data_type, coding)?)
                }
            });
        }
        let carried = known.requests.iter().filter(|request| request.carried);
        let fields = carried.zip(survey.carried).map(|(request, own)| own.finish(&request.name));
        let payload = Payload::new(fields.collect())?;
        Ok(Surveyed {
            known,
            coders,
            payload,
            payload_bytes: survey.carried_bytes / survey.n_rows.max(1) as usize,
            n_rows: survey.n_rows,
            n_subjects: survey.subjects.len() as u64,
            sample: Sample {
                chunks: survey.sample,
                tuples: survey.tuples,
                memory: survey.sample_memory,
            },
            feature_space: None,
            changes,
            n_missing,
            values: survey.values_memory,
            _reading: [survey.reading_memory, hierarchies],
            again,
        })
    }

    /// The coders of the columns with a role, in the order of the source.
    pub(crate) fn coders_of(&self, role: Role) -> impl Iterator<Item = &ColumnCoder> + '_ {
        let columns = self.known.planned.iter().zip(&self.coders);
        columns
            .filter(move |(column, _)| column.role == role)
            .filter_map(|(_, coder)| coder.as_ref())
    }

    /// The coders of the kept columns that are targets, in the order of the source.
    pub(crate) fn kept_targets(&self) -> impl Iterator<Item = &ColumnCoder> + '_ {
        self.kept_coders(false)
    }

    /// The coders of the features, in the order of the source.
    pub(crate) fn features(&self) -> impl Iterator<Item = &ColumnCoder> + '_ {
        self.kept_coders(true)
    }

    /// How many facts rows have of kept columns: features are one number together.
    pub(crate) fn n_kept_facts(&self) -> usize {
        self.kept_targets().count() + usize::from(self.features().next().is_some())
    }

    fn kept_coders(&self, are_features: bool) -> impl Iterator<Item = &ColumnCoder> + '_ {
        let columns = self.known.planned.iter().zip(&self.coders);
        columns
            .filter(move |(own, _)| own.role == Role::Keep && own.is_feature == are_features)
            .filter_map(|(_, coder)| coder.as_ref())
    }

    /// The sample, coded.
    pub(crate) fn tuples(&self) -> albers_table::Result<Tuples> {
        let n_attributes = self.coders_of(Role::Quasi).count();
        let mut found: Vec<(u64, Vec<u32>)> = Vec::new();
        for chunk in &self.sample.chunks {
            let mut codes = vec![0; chunk.hashes.len() * n_attributes];
            let columns = self.coders_of(Role::Quasi).zip(&chunk.coded).enumerate();
            for (attribute, (coder, cells)) in columns {
                let slots = codes[attribute..].iter_mut().step_by(n_attributes);
                slots.zip(coder.encode(cells.clone())?).for_each(|(slot, code)| *slot = code);
            }
            let rows = codes.chunks_exact(n_attributes).map(<[u32]>::to_vec);
            found.extend(chunk.hashes.iter().copied().zip(rows));
        }
        Ok(Tuples::new(
            n_attributes,
            found.iter().map(|(hash, codes)| (*hash, self.sample.tuples.n_rows(*hash), &codes[..])),
        ))
    }

    /// Counts what the rows of each tuple of the sample hold: the facts at these places. Rows are
    /// looked at once more for that.
    pub(crate) fn count_facts(
        &mut self,
        reading: &Reading<'s>,
        tuples: &mut Tuples,
        places: &[usize],
        limit: usize,
    ) -> Result<()> {
        let n_attributes = self.coders_of(Role::Quasi).count();
        let mut counter = tuples.fact_counter(limit);
        let mut own = Vec::new();
        self.look_again(reading, &mut |CodedChunk { codes, facts, .. }| {
            for (row, codes) in codes.chunks_exact(n_attributes).enumerate() {
                own.clear();
                own.extend(places.iter().map(|&place| facts[place][row]));
                counter.add(codes, &own);
            }
        })
    }

    /// Shows the codes of all rows, without using the rows up.
    pub(crate) fn look_again(
        &mut self,
        reading: &Reading<'s>,
        see: &mut (dyn FnMut(CodedChunk) + Send),
    ) -> Result<()> {
        let mut again = self.again.take();
        again.look_closer(reading, &self.known, &mut |chunk| {
            see(self.code(chunk.coded.clone(), chunk.n_rows)?);
            Ok(())
        })?;
        self.again = again;
        Ok(())
    }

    /// Codes a chunk.
    pub(crate) fn code(
        &self,
        coded: Vec<ColumnChunk>,
        n_rows: usize,
    ) -> albers_table::Result<CodedChunk> {
        let planned = &self.known.planned;
        let n_attributes = planned.iter().filter(|column| column.role == Role::Quasi).count();
        let mut codes = vec![0; n_rows * n_attributes];
        let mut subject = None;
        let (mut sensitive, mut targets, mut features) = (Vec::new(), Vec::new(), Vec::new());
        let mut attribute = 0;
        for (column_idx, chunk) in self.known.coded_columns().zip(coded) {
            match (planned[column_idx].role, &self.coders[column_idx]) {
                (Role::Subject, _) => subject = Some(halves(&value_hashes(&chunk))),
                (Role::Quasi, Some(coder)) => {
                    let slots = codes[attribute..].iter_mut().step_by(n_attributes);
                    slots.zip(coder.encode(chunk)?).for_each(|(slot, code)| *slot = code);
                    attribute += 1;
                }
                (Role::Keep, Some(coder)) => {
                    let is_feature = planned[column_idx].is_feature;
                    let own = if is_feature { &mut features } else { &mut targets };
                    own.push(coder.encode(chunk)?);
                }
                (_, Some(coder)) => sensitive.push(coder.encode(chunk)?),
                (_, None) => {}
            }
        }
        let cells = self.feature_space.as_ref().map(|space| {
            let columns: Vec<&[u32]> = features.iter().map(Vec::as_slice).collect();
            space.cells(&columns)
        });
        let facts = subject.into_iter().flatten().chain(sensitive).chain(targets).chain(cells);
        Ok(CodedChunk { codes, facts: facts.collect(), features })
    }

    /// The columns that leave as they came, as bytes; nothing if there are none.
    pub(crate) fn encode_payload(
        &self,
        carried: &[ArrayRef],
    ) -> albers_table::Result<Option<PayloadRows>> {
        if self.payload.is_empty() {
            return Ok(None);
        }
        self.payload.encode(carried).map(Some).map_err(as_table_error)
    }

    /// Remembers which values occur, where there is room for it; returns what that takes, and the
    /// columns of which it will not be known.
    pub(crate) fn count_values(&mut self, budget: &MemoryBudget) -> (Reservation, Vec<String>) {
        let mut memory = budget.reserve_nothing("the values that occur");
        let mut unknown = Vec::new();
        let columns = self.known.planned.iter().zip(&mut self.coders);
        // Of targets and features that are kept nothing is measured.
        let measured = columns.filter(|(column, _)| column.role != Role::Keep);
        for coder in measured.filter_map(|(_, coder)| coder.as_mut()) {
            let most_bytes = budget.limit_bytes() / 32;
            if let Some(n_bytes) = coder.memory_to_count_values()
                && n_bytes <= most_bytes
                && memory.try_grow(n_bytes).is_ok()
            {
                coder.count_values();
            }
            if !coder.knows_values() {
                unknown.push(coder.domain().name().to_owned());
            }
        }
        (memory, unknown)
    }
}

fn as_table_error(error: albers_release::ReleaseError) -> TableError {
    match error {
        albers_release::ReleaseError::Table(error) => error,
        other => TableError::Column {
            column: "(kept columns)".to_owned(),
            problem: other.to_string(),
            hint: "leave some of them out".into(),
        },
    }
}
