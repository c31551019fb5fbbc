//! The first pass over a table that need not fit in memory: what its columns hold, and a sample of
//! its rows.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use albers_classes::space::Shown;
use albers_partition::top::{is_sampled, sample_threshold};
use albers_release::publish::{CarriedSurvey, Payload};
use albers_storage::StorageError;
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_table::chunk::ColumnChunk;
use albers_table::domain::{ChunkSurvey, ColumnCoder, ColumnSurvey, Look};
use albers_table::progress::Progress;
use albers_table::read::{self, ColumnRequest, HeaderColumn, SourceChunk, SourceColumns};
use albers_table::schema::Role;
use rustc_hash::FxHashSet;

use super::subjects;
use crate::columns::check_size;
use crate::error::Result;
use crate::job::Job;
use crate::table::{self, Planned, shown_as};

/// What the first pass found.
pub struct Surveyed {
    /// All columns of the file.
    pub header: Vec<HeaderColumn>,
    /// The columns that are read.
    pub planned: Vec<Planned>,
    /// How they are read.
    pub requests: Vec<ColumnRequest>,
    /// What the file says of them.
    pub columns: SourceColumns,
    /// How each column would be shown.
    pub shown: Vec<Shown>,
    /// The coder of each column that is coded, except for subjects.
    pub coders: Vec<Option<ColumnCoder>>,
    /// The columns that leave as they came.
    pub payload: Payload,
    /// About how many bytes of them a row has.
    pub payload_bytes: usize,
    /// Rows of the table.
    pub n_rows: u64,
    /// Distinct subjects, as far as they had to be counted.
    pub n_subjects: u64,
    /// Some rows.
    pub sample: Sample,
    /// What the values of the columns take.
    pub values: Reservation,
}

/// Some rows, and the memory that they take.
pub struct Sample {
    /// The rows.
    pub chunks: Vec<SampledChunk>,
    memory: Reservation,
}

impl Sample {
    /// Gives up what is left of the rows and their memory.
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.memory.shrink(self.memory.n_bytes());
    }
}

/// Rows of a sample.
pub struct SampledChunk {
    /// The number of each row in the table.
    pub row_ids: Vec<u32>,
    /// The coded columns, in the order of their requests.
    pub coded: Vec<ColumnChunk>,
}

/// Reads a table for the first time.
pub struct Surveyor<'a> {
    /// The job.
    pub job: &'a Job,
    /// The table.
    pub path: &'a Path,
    /// Whether carried text becomes typed.
    pub typed_output: bool,
    /// The greatest k of all releases: more subjects than that need not be counted.
    pub greatest_k: u64,
    /// Rows of the sample.
    pub sample_rows: usize,
    /// The memory of all.
    pub budget: &'a MemoryBudget,
}

/// What is known before the first row is read.
struct Known {
    planned: Vec<Planned>,
    requests: Vec<ColumnRequest>,
    columns: SourceColumns,
    shown: Vec<Shown>,
}

/// What a chunk tells.
struct ChunkOutcome {
    n_rows: u64,
    columns: Vec<ChunkSurvey>,
    carried: Vec<CarriedSurvey>,
    carried_bytes: usize,
    subjects: Vec<u32>,
    sample: SampledChunk,
}

/// What all chunks so far tell.
struct Pass {
    n_rows: u64,
    /// Of each column that is coded, except for subjects.
    surveys: Vec<ColumnSurvey>,
    carried: Vec<CarriedSurvey>,
    carried_bytes: usize,
    subjects: FxHashSet<u32>,
    sample: Vec<SampledChunk>,
    n_sampled: usize,
    /// Rows that the sample is to have.
    sample_rows: usize,
    /// Whether the values did not fit, and are only counted.
    is_over: bool,
    values_memory: Reservation,
    sample_memory: Reservation,
}

impl Surveyor<'_> {
    /// The first pass, and another one where the values of a column turn out to lie far apart.
    pub fn survey(&self, progress: &dyn Progress) -> Result<Surveyed> {
        let options = self.job.read_options()?;
        let header = read::header(self.path, &options)?;
        let planned = table::plan_columns(self.job, self.path, &header)?;
        let requests = table::requests_of(self.job, &planned);
        let columns = read::source_columns(self.path, &options, &requests)?;
        let kinds = planned.iter().zip(&columns.column_types);
        let shown = kinds
            .map(|(column, &kind)| shown_as(kind, column.hierarchy.is_some(), self.job.categories));
        let known = Known { shown: shown.collect(), planned, requests, columns };
        let looks: Vec<Look> = known.surveyed().map(|at| known.first_look(at)).collect();
        let mut pass = self.pass(&known, &looks, progress)?;
        check_size(self.path, pass.n_rows)?;
        if pass.surveys.iter().any(ColumnSurvey::needs_values) {
            let closer = pass.surveys.iter().map(|survey| match survey.needs_values() {
                true => Look::Values,
                false => survey.look(),
            });
            let closer: Vec<Look> = closer.collect();
            drop(pass);
            pass = self.pass(&known, &closer, progress)?;
        }
        self.finish(header, known, pass)
    }

    fn finish(&self, header: Vec<HeaderColumn>, known: Known, pass: Pass) -> Result<Surveyed> {
        let mut surveys = pass.surveys.into_iter();
        let mut coders = Vec::with_capacity(known.planned.len());
        for (at, column) in known.planned.iter().enumerate() {
            let coding = table::coding_of(column, known.shown[at]);
            let coding = coding.filter(|_| column.role != Role::Subject);
            coders.push(match coding {
                None => None,
                Some(coding) => {
                    let survey = surveys.next().expect("one survey per coded column");
                    let data_type = known.columns.data_types[at].clone();
                    Some(survey.finish(known.columns.column_types[at], data_type, coding)?)
                }
            });
        }
        let carried = known.requests.iter().filter(|request| request.carried);
        let fields = carried.zip(pass.carried).map(|(request, own)| own.finish(&request.name));
        let payload = Payload::new(fields.collect())?;
        let Known { planned, requests, columns, shown } = known;
        Ok(Surveyed {
            header,
            planned,
            requests,
            columns,
            shown,
            coders,
            payload,
            payload_bytes: pass.carried_bytes / pass.n_rows.max(1) as usize,
            n_rows: pass.n_rows,
            n_subjects: pass.subjects.len() as u64,
            sample: Sample { chunks: pass.sample, memory: pass.sample_memory },
            values: pass.values_memory,
        })
    }

    fn pass(&self, known: &Known, looks: &[Look], progress: &dyn Progress) -> Result<Pass> {
        let options = self.job.read_options()?;
        let n_carried = known.requests.iter().filter(|request| request.carried).count();
        let names = known.surveyed().map(|at| known.planned[at].name.as_str());
        let mut pass = Pass {
            n_rows: 0,
            surveys: names.zip(looks).map(|(name, &look)| ColumnSurvey::new(name, look)).collect(),
            carried: vec![CarriedSurvey::nothing(); n_carried],
            carried_bytes: 0,
            subjects: FxHashSet::default(),
            sample: Vec::new(),
            n_sampled: 0,
            sample_rows: self.sample_rows,
            is_over: false,
            values_memory: self.budget.reserve_nothing("the values of the columns"),
            sample_memory: self.budget.reserve_nothing("a sample of the rows"),
        };
        let threshold = AtomicU32::new(u32::MAX);
        let map = |chunk: SourceChunk| {
            Ok(self.look(&chunk, known, looks, threshold.load(Ordering::Relaxed)))
        };
        read::read_mapped(
            self.path,
            &options,
            &known.requests,
            progress,
            &map,
            &mut |outcome: ChunkOutcome| {
                pass.add(outcome, self.greatest_k)?;
                threshold.store(pass.threshold(), Ordering::Relaxed);
                if pass.n_sampled > 2 * pass.sample_rows {
                    pass.trim_sample();
                }
                Ok(())
            },
        )?;
        pass.trim_sample();
        if pass.is_over {
            // What grows with the budget takes about two thirds of it.
            let needed_bytes = 3 * pass.n_value_bytes() as u64;
            let limit_bytes = self.budget.limit_bytes() as u64;
            let what = "the values of the columns";
            return Err(StorageError::OverBudget { what, needed_bytes, limit_bytes }.into());
        }
        Ok(pass)
    }

    /// What a chunk tells, on the thread that read it.
    fn look(
        &self,
        chunk: &SourceChunk,
        known: &Known,
        looks: &[Look],
        threshold: u32,
    ) -> ChunkOutcome {
        let first_row = chunk.first_row as u32;
        // The table has these rows at least, so the threshold will be no higher in the end.
        let n_known = chunk.first_row as usize + chunk.n_rows;
        let threshold = threshold.min(sample_threshold(self.sample_rows, n_known));
        let rows: Vec<u32> = (0..chunk.n_rows as u32)
            .filter(|&row| is_sampled(first_row.wrapping_add(row), threshold))
            .collect();
        let mut outcome = ChunkOutcome {
            n_rows: chunk.n_rows as u64,
            columns: Vec::new(),
            carried: Vec::new(),
            carried_bytes: chunk.carried.iter().map(|cells| cells.get_buffer_memory_size()).sum(),
            subjects: Vec::new(),
            sample: SampledChunk {
                row_ids: rows.iter().map(|&row| first_row.wrapping_add(row)).collect(),
                coded: chunk.coded.iter().map(|cells| cells.select(&rows)).collect(),
            },
        };
        let coded = known.requests.iter().enumerate().filter(|(_, request)| request.coded);
        for ((at, _), cells) in coded.zip(&chunk.coded) {
            if known.planned[at].role == Role::Subject {
                outcome.subjects = subjects::codes_of(cells);
            } else {
                outcome.columns.push(ChunkSurvey::of(cells, looks[outcome.columns.len()]));
            }
        }
        let carried = known.requests.iter().enumerate().filter(|(_, request)| request.carried);
        for ((at, _), cells) in carried.zip(&chunk.carried) {
            let kind = known.columns.column_types[at];
            outcome.carried.push(CarriedSurvey::of(cells, kind, self.typed_output));
        }
        outcome
    }
}

impl Known {
    /// The places of the columns that are surveyed.
    fn surveyed(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.planned.len()).filter(|&at| {
            let role = self.planned[at].role;
            self.requests[at].coded && role != Role::Subject && role != Role::Identifier
        })
    }

    fn first_look(&self, at: usize) -> Look {
        match table::coding_of(&self.planned[at], self.shown[at]) {
            Some(coding) => Look::for_column(self.columns.column_types[at], coding),
            None => Look::Ends,
        }
    }
}

impl Pass {
    fn add(&mut self, outcome: ChunkOutcome, greatest_k: u64) -> albers_table::Result<()> {
        self.n_rows += outcome.n_rows;
        self.carried_bytes += outcome.carried_bytes;
        for (survey, chunk) in self.surveys.iter_mut().zip(outcome.columns) {
            survey.add(chunk)?;
        }
        for (survey, chunk) in self.carried.iter_mut().zip(&outcome.carried) {
            survey.add(chunk);
        }
        for subject in outcome.subjects {
            if (self.subjects.len() as u64) < greatest_k {
                self.subjects.insert(subject);
            }
        }
        let more_bytes = self.n_value_bytes().saturating_sub(self.values_memory.n_bytes());
        if !self.is_over && self.values_memory.try_grow(more_bytes).is_err() {
            // The pass goes on without them, to tell how much would do.
            self.is_over = true;
            self.surveys.iter_mut().for_each(ColumnSurvey::only_estimate);
        }
        self.add_sample(outcome.sample)
    }

    fn n_value_bytes(&self) -> usize {
        self.surveys.iter().map(ColumnSurvey::memory_bytes).sum()
    }

    /// Adds rows to the sample, which becomes smaller if they do not fit.
    fn add_sample(&mut self, mut rows: SampledChunk) -> albers_table::Result<()> {
        const LEAST_ROWS: usize = 64;
        rows.trim(self.threshold());
        while let Err(refused) = self.sample_memory.try_grow(rows.n_bytes()) {
            if self.sample_rows <= LEAST_ROWS {
                return Err(refused.into());
            }
            self.sample_rows /= 2;
            self.trim_sample();
            rows.trim(self.threshold());
        }
        self.n_sampled += rows.row_ids.len();
        if !rows.row_ids.is_empty() {
            self.sample.push(rows);
        }
        Ok(())
    }

    fn threshold(&self) -> u32 {
        sample_threshold(self.sample_rows, self.n_rows as usize)
    }

    /// Drops rows that do not belong to the sample any more.
    fn trim_sample(&mut self) {
        let threshold = self.threshold();
        let mut n_bytes = 0;
        self.n_sampled = 0;
        for chunk in &mut self.sample {
            chunk.trim(threshold);
            n_bytes += chunk.n_bytes();
            self.n_sampled += chunk.row_ids.len();
        }
        let held = self.sample_memory.n_bytes();
        self.sample_memory.shrink(held.saturating_sub(n_bytes));
    }
}

impl SampledChunk {
    fn n_bytes(&self) -> usize {
        let cells: usize = self.coded.iter().map(ColumnChunk::n_bytes).sum();
        cells + self.row_ids.len() * size_of::<u32>()
    }

    fn trim(&mut self, threshold: u32) {
        let kept: Vec<u32> = (0u32..)
            .zip(&self.row_ids)
            .filter(|(_, row_id)| is_sampled(**row_id, threshold))
            .map(|(row, _)| row)
            .collect();
        if kept.len() < self.row_ids.len() {
            self.coded = self.coded.iter().map(|cells| cells.select(&kept)).collect();
            self.row_ids = kept.iter().map(|&row| self.row_ids[row as usize]).collect();
        }
    }
}
