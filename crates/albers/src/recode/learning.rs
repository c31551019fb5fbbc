//! Rows for learning: every one in its order, with the stored cells of its leaf. This is no release.
//!
//! ```text
//!   rows ──► codes, or the nearest ──► leaf ──► its stored cells ──► sink
//! ```
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 4: a function of one table, applied to another.
//! Departures: none; what lies outside of the function's domain is said to be so, or goes to its edge.
//! Guarantee: what a row shows follows from its own cells and the model: no other row changes it. What
//! stands there is not verified, covers nobody, and is for its owner alone.
//! Cost: one pass over the rows; two where text becomes typed. The tree and a cell for each leaf and
//! attribute in memory.

use std::collections::BTreeMap;

use albers_classes::Attribute;
use albers_index::leaf_buffers::LeafTree;
use albers_release::ReleaseError;
use albers_release::publish::{
    CarriedSurvey, OutputColumn, PayloadField, StoredLeaves, StoredTable, Values,
};
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::TableError;
use albers_table::coding::{Coding, ColumnCoding, Fit};
use albers_table::schema::Role;
use albers_table::sink::{Sealed, Sink, WriteOptions, name_all};
use albers_table::source::{
    ColumnRequest, RequestedTypes, Source, SourceChunk, for_each_chunk, usual_delimiter,
};
use arrow_array::RecordBatch;
use serde::Serialize;

use super::outside::{by_types_of_model, check_types, other_type, unknown_value};
use super::{Opened, Outside, RecodeJob, with_settings_of_model};
use crate::error::{Error, Result};
use crate::files;
use crate::memory::{Memory, on_threads};
use crate::method::recoded::not_whole;
use crate::model::{Keep, Model, ModelFile};
use crate::plan::Plan;
use crate::rows::{KnownColumns, attribute_of};

/// What came of rows that were recoded for learning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LearningReport {
    /// Whether nothing was written, since that was all that was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Rows written: all of them.
    pub rows: u64,
    /// Those that show nothing of their quasi-identifiers, since the model does not know a value.
    pub outside: u64,
    /// Those that went the way of the nearest known value.
    pub at_edge: u64,
    /// Leaves of the model.
    pub leaves: u64,
}

/// A table for learning that is written and waits for its name.
pub struct PreparedTable {
    /// What there is to tell of it.
    pub report: LearningReport,
    sealed: Box<dyn Sealed>,
}

impl PreparedTable {
    /// Lets it appear.
    pub fn name(self) -> Result<LearningReport> {
        name_all(vec![self.sealed])?;
        Ok(self.report)
    }
}

/// Recodes rows for learning: every row in its order, each with the stored cells of its leaf. What is
/// written is no release, and only for its owner; it waits for its name.
pub fn prepare_learning(
    job: &RecodeJob,
    source: &dyn Source,
    sink: Box<dyn Sink>,
    watch: &dyn Watch,
) -> Result<PreparedTable> {
    prepare_opened(job, ModelFile::open(&job.model, job.job.limit_bytes())?, source, sink, watch)
}

/// The same with a model that is open.
fn prepare_opened(
    job: &RecodeJob,
    model: ModelFile,
    source: &dyn Source,
    mut sink: Box<dyn Sink>,
    watch: &dyn Watch,
) -> Result<PreparedTable> {
    let Opened { model, plan } = Opened::of(job, model, source)?;
    let values = plan.show.values(sink.shows_bounds());
    check_values(&plan, values, source)?;
    on_threads(plan.resources.n_threads, || {
        let memory = Memory::of(&plan);
        let asked = Asked::of(&plan, &model, source)?;
        let (coding, shows_regions) = (model.coding.clone(), model.head().has_regions);
        let attributes = asked.attributes(&plan, &coding);
        let model = model.read_tree(Keep::Cells, &memory.budget)?;
        let tree = model.tree(&[]).ok_or_else(not_whole)?;
        let leaves = leaves_of(&model, &attributes, (shows_regions, values));
        let carried = asked.carried(&plan, source, sink.is_typed(), watch)?;
        let table = StoredTable::new(leaves, &asked.columns, carried, values)?;
        let delimiter = plan.show.delimiter.or(usual_delimiter(source));
        sink.begin(table.schema().clone(), WriteOptions { delimiter, has_runs: false })?;
        let recoder =
            Recoder { coding: &coding, tree: &tree, table: &table, asked: &asked, job, source };
        let mut report = recoder.write(sink.as_mut(), watch)?;
        report.leaves = model.n_leaves() as u64;
        report.dry_run = job.job.dry_run;
        Ok(PreparedTable { report, sealed: sink.seal()? })
    })
}

/// The same for a job that names its table and where it goes.
pub fn prepare_learning_files(job: &RecodeJob, watch: &dyn Watch) -> Result<PreparedTable> {
    let (job, model) = with_settings_of_model(job)?;
    let sink = files::open_private_output(&job.job, &job.model)?;
    let source = files::open_input(&job.job)?;
    prepare_opened(&job, model, source.as_ref(), sink, watch)
}

/// Refuses cells that rows of another table do not have.
fn check_values(plan: &Plan, values: Values, source: &dyn Source) -> Result<()> {
    if values == Values::Mean {
        return Err(Error::usage(
            wording![
                "the model shows means (",
                Field::Values.of("mean"),
                "), and a mean is that of the rows of a class, not of others"
            ],
            wording!["write the model with ", Field::Values.of("bounds")],
        ));
    }
    plan.check_bound_names(values, source.columns())
}

fn leaves_of<'a>(
    model: &Model,
    attributes: &'a [Attribute],
    (shows_regions, values): (bool, Values),
) -> StoredLeaves<'a> {
    let mut leaves = StoredLeaves::new(attributes, shows_regions, values);
    for leaf in 0..model.n_leaves() as u32 {
        model.for_each_cell(leaf, &mut |codes, region| leaves.push(codes, region));
    }
    leaves
}

/// What is asked of the source.
struct Asked {
    requests: Vec<ColumnRequest>,
    types: RequestedTypes,
    columns: Vec<OutputColumn>,
}

impl Asked {
    fn of(plan: &Plan, model: &ModelFile, source: &dyn Source) -> Result<Asked> {
        let (mut requests, mut columns) = (Vec::new(), Vec::new());
        let (mut n_attributes, mut n_carried) = (0, 0);
        for column in &plan.columns {
            let (coded, output) = match column.role {
                Role::Quasi => {
                    n_attributes += 1;
                    (true, OutputColumn::Attribute(n_attributes - 1))
                }
                Role::Keep | Role::Sensitive => {
                    n_carried += 1;
                    (false, OutputColumn::Carried(n_carried - 1))
                }
                Role::Subject | Role::Identifier => continue,
            };
            requests.push(ColumnRequest { coded, carried: !coded, ..column.request() });
            columns.push(output);
        }
        let types = source.types(&requests).map_err(by_types_of_model)?;
        let kinds = &model.head().types;
        check_types(source.name(), &model.coding, kinds, (&requests, &types))?;
        Ok(Asked { requests, types, columns })
    }

    /// The quasi-identifiers, as the model shows them.
    fn attributes(&self, plan: &Plan, coding: &Coding) -> Vec<Attribute> {
        let quasi = plan.columns.iter().filter(|column| column.role == Role::Quasi);
        let of = |(column, own): (&_, &ColumnCoding)| {
            let shown = KnownColumns::shown_of(plan, column, own.domain().column_type());
            attribute_of(column, own.domain().clone(), shown)
        };
        quasi.zip(coding.columns()).map(of).collect()
    }

    /// What becomes of the columns that leave as they came. Where text becomes typed, all rows tell
    /// its type.
    fn carried(
        &self,
        plan: &Plan,
        source: &dyn Source,
        is_typed: bool,
        watch: &dyn Watch,
    ) -> Result<Vec<PayloadField>> {
        let carried = self.requests.iter().zip(&self.types.data_types);
        let carried = carried.filter(|(request, _)| request.carried);
        let typing = |(request, data_type): (&ColumnRequest, &Option<_>)| {
            let declared = plan.columns.iter().find(|own| own.name == request.name);
            KnownColumns::typing_of(
                data_type.is_some(),
                declared.and_then(|own| own.column_type),
                is_typed,
            )
        };
        let mut surveys: Vec<CarriedSurvey> =
            carried.clone().map(|own| CarriedSurvey::nothing(typing(own))).collect();
        let typings: Vec<_> = carried.clone().map(typing).collect();
        let becomes_typed = is_typed && source.delimiter().is_some() && !typings.is_empty();
        if becomes_typed && source.stamp().is_none() {
            return Err(Error::usage(
                format!("{} can be read only once, and all its rows tell the types", source.name()),
                "write text, or read from a file",
            ));
        }
        watch.phase(Phase::Read, source.n_rows());
        let look = |chunk: SourceChunk| {
            let cells = chunk.carried.iter().zip(&typings);
            Ok(cells.map(|(cells, typing)| CarriedSurvey::of(cells, *typing)).collect::<Vec<_>>())
        };
        if becomes_typed {
            let mut scan = source.scan(&self.requests, &self.types)?;
            for_each_chunk(scan.as_mut(), watch, &look, &mut |found: Vec<CarriedSurvey>| {
                surveys.iter_mut().zip(&found).for_each(|(all, own)| all.add(own));
                Ok(())
            })
            .map_err(by_types_of_model)?;
        }
        let names = carried.map(|(request, _)| request.name.as_str());
        let fields = names.zip(surveys).map(|(name, survey)| survey.finish(name));
        Ok(fields.collect())
    }
}

/// A chunk, recoded.
struct RecodedChunk {
    first_row: u64,
    n_rows: u64,
    batch: Option<RecordBatch>,
    n_outside: u64,
    n_at_edge: u64,
}

struct Recoder<'a> {
    coding: &'a Coding,
    tree: &'a LeafTree,
    table: &'a StoredTable<'a>,
    asked: &'a Asked,
    job: &'a RecodeJob,
    source: &'a dyn Source,
}

impl Recoder<'_> {
    /// Writes all rows in their order.
    fn write(&self, sink: &mut dyn Sink, watch: &dyn Watch) -> Result<LearningReport> {
        let mut report = LearningReport::default();
        // Chunks may come before those that stand before them.
        let mut waiting: BTreeMap<u64, RecodedChunk> = BTreeMap::new();
        let stamp = self.source.stamp();
        watch.phase(Phase::Write, self.source.n_rows());
        let mut scan = self.source.scan(&self.asked.requests, &self.asked.types)?;
        let map = |chunk: SourceChunk| self.recoded(chunk);
        for_each_chunk(scan.as_mut(), watch, &map, &mut |chunk: RecodedChunk| {
            report.outside += chunk.n_outside;
            report.at_edge += chunk.n_at_edge;
            if chunk.n_rows > 0 {
                waiting.insert(chunk.first_row, chunk);
            }
            while let Some(next) = waiting.remove(&report.rows) {
                report.rows += next.n_rows;
                next.batch.iter().try_for_each(|batch| sink.write(batch))?;
            }
            Ok(())
        })
        .map_err(|error| Error::from(by_types_of_model(error)).of_rows_read_once())?;
        drop(scan);
        if !waiting.is_empty() || (stamp.is_some() && self.source.stamp() != stamp) {
            return Err(crate::rows::source_changed(self.source));
        }
        crate::rows::check_size(self.source, report.rows)?;
        Ok(report)
    }

    fn recoded(&self, chunk: SourceChunk) -> albers_table::Result<RecodedChunk> {
        let SourceChunk { first_row, n_rows, coded, carried } = chunk;
        let (mut n_outside, mut n_at_edge) = (0, 0);
        let start = first_row.get();
        let chunk_of = |batch, n_outside, n_at_edge| RecodedChunk {
            first_row: start,
            n_rows: n_rows as u64,
            batch,
            n_outside,
            n_at_edge,
        };
        if n_rows == 0 {
            return Ok(chunk_of(None, 0, 0));
        }
        let n_attributes = self.coding.columns().len();
        let mut codes = vec![0; n_rows * n_attributes];
        let mut fit_of = vec![Fit::Inside; n_rows];
        for (axis, (coding, cells)) in self.coding.columns().iter().zip(&coded).enumerate() {
            let name = coding.domain().name();
            if !coding.reads(cells) {
                return Err(other_type(self.source.name(), name, "another than in the model"));
            }
            let placed = coding.placed(cells);
            let slots = codes[axis..].iter_mut().step_by(n_attributes);
            slots.zip(placed.codes).for_each(|(slot, code)| *slot = code);
            for (row, (all, fit)) in fit_of.iter_mut().zip(placed.fits).enumerate() {
                if fit != Fit::Inside && self.job.outside == Outside::Refuse {
                    return Err(unknown_value(first_row + row as u64, name));
                }
                *all = match (*all, fit) {
                    (Fit::Unknown, _) | (_, Fit::Unknown) => Fit::Unknown,
                    (Fit::Beyond, _) | (_, Fit::Beyond) => Fit::Beyond,
                    (Fit::Inside, Fit::Inside) => Fit::Inside,
                };
            }
        }
        let leaves = self.tree.leaves_of(&codes, n_attributes);
        let leaf_of: Vec<Option<u32>> = leaves
            .into_iter()
            .zip(fit_of)
            .map(|(leaf, fit)| match (fit, self.job.outside) {
                (Fit::Inside, _) => Some(leaf),
                (Fit::Beyond, Outside::Edge) => {
                    n_at_edge += 1;
                    Some(leaf)
                }
                _ => {
                    n_outside += 1;
                    None
                }
            })
            .collect();
        let batch = self.table.batch(&leaf_of, &carried).map_err(|error| match error {
            ReleaseError::Table(error) => error,
            other => TableError::Column {
                column: "(quasi-identifiers)".to_owned(),
                problem: other.to_string(),
                hint: "write the model anew".into(),
            },
        })?;
        Ok(chunk_of(Some(batch), n_outside, n_at_edge))
    }
}
