//! What all steps of a run share, and the end of it: the door is closed, all is reported and named.

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_measure::{Loss, LossOfParts};
use albers_release::door::{Door, DoorPlan, Passage, Passed, RowStore};
use albers_release::publish::{OutputColumn, Values};
use albers_storage::watch::Watch;
use albers_table::schema::{ColumnType, Role};
use albers_table::sink::{self, Sink};
use albers_table::source::Source;

use crate::error::Result;
use crate::memory::Memory;
use crate::plan::{MethodPlan, Plan};
use crate::report::{
    AlsoReport, ClassSize, Clock, ColumnReport, GeneralizationReport, KlBasis, MovedBytes, Note,
    Report, peak_rss_bytes, shown_word,
};
use crate::rows::Reading;

/// What all steps of a run share.
pub(crate) struct Context<'r> {
    pub(crate) plan: &'r Plan,
    pub(crate) source: &'r dyn Source,
    pub(crate) memory: &'r Memory,
    pub(crate) watch: &'r dyn Watch,
    pub(crate) clock: Clock,
    /// How intervals are written.
    pub(crate) values: Values,
    /// Whether text that leaves as it came becomes typed.
    pub(crate) typed_output: bool,
}

impl<'r> Context<'r> {
    /// Of a plan and what it works on.
    pub(crate) fn new(
        plan: &'r Plan,
        source: &'r dyn Source,
        memory: &'r Memory,
        sinks: &[Box<dyn Sink>],
        watch: &'r dyn Watch,
    ) -> Result<Context<'r>> {
        let typed_output = sinks.first().is_some_and(|sink| sink.is_typed());
        let values = plan.show.values(typed_output);
        plan.check_bound_names(values, source.columns())?;
        Ok(Context { plan, source, memory, watch, clock: Clock::start(), values, typed_output })
    }

    /// How the source is read, with a key if rows are paired.
    pub(crate) fn reading(&self, key: Option<&'r str>) -> Reading<'r> {
        Reading {
            plan: self.plan,
            source: self.source,
            memory: self.memory,
            typed_output: self.typed_output,
            key,
            watch: self.watch,
        }
    }

    /// What comes to the door.
    pub(crate) fn door_plan<'a>(&self, rows: DoorRows<'a>) -> DoorPlan<'a> {
        let DoorRows { attributes, columns, shows_regions, n_rows, fingerprint, rows } = rows;
        DoorPlan {
            attributes,
            columns,
            features: &[],
            values: self.values,
            delimiter: self.plan.show.delimiter.or(self.source.delimiter()),
            seed: self.plan.show.seed,
            show_regions: shows_regions,
            // The groups of a recoding are told by the values that occur in them.
            ends_in_gaps: !matches!(self.plan.method, MethodPlan::Specialize { .. }),
            is_nested: false,
            n_rows,
            fingerprint,
            max_left_out: self.plan.max_left_out(n_rows),
            rows,
        }
    }

    /// Closes the door: everything is verified, measured, written and named, or nothing is.
    pub(crate) fn close(
        mut self,
        door: Door<'_>,
        sinks: Vec<Box<dyn Sink>>,
        story: &Story<'_>,
    ) -> Result<Report> {
        let attributes = story.attributes;
        let mut losses: Vec<LossOfParts> =
            sinks.iter().map(|_| LossOfParts::new(attributes)).collect();
        let paths: Vec<String> = sinks.iter().map(|sink| sink.name().to_owned()).collect();
        let passages = door.close(sinks, &mut |release: usize, passed: &Passed<'_, '_>| {
            losses[release].add(passed);
        })?;
        self.clock.verify_and_write(passages.iter().map(|own| own.verify_seconds).sum());
        let mut reports = Vec::new();
        for ((release, passage), loss) in passages.iter().enumerate().zip(losses) {
            let loss = loss.finish();
            reports.push(self.report(story, release, passage, loss));
        }
        let mut base = reports.remove(0);
        let mut passages = passages.into_iter();
        let base_passage = passages.next().expect("a run has a release");
        let mut sealed = Vec::new();
        for ((passage, report), (path, &k)) in
            passages.zip(reports).zip(paths[1..].iter().zip(&self.plan.ks[1..]))
        {
            sealed.push(passage.seal(&manifest_of(&report))?);
            base.also.push(AlsoReport { k, path: path.clone(), report });
        }
        sealed.insert(0, base_passage.seal(&manifest_of(&base))?);
        self.watch.check()?;
        sink::name_all(sealed)?;
        Ok(base)
    }

    fn report(&self, story: &Story<'_>, release: usize, passage: &Passage, loss: Loss) -> Report {
        let Context { plan, memory, source, .. } = self;
        let in_table = plan.table.iter();
        let sensitive = in_table.filter(|column| column.role == Some(Role::Sensitive));
        let quasi = story.attributes.iter().map(|own| own.domain.name().to_owned());
        let mut notes = story.notes.clone();
        match story.ncp_before {
            None if passage.classes.n_classes == 1 => {
                notes.push(Note::OneClass { is_cut: plan.method.is_cut() });
            }
            Some(Some(before)) if loses_by_labels(story.attributes, &loss, before) => {
                notes.insert(story.n_given_notes, Note::LabelsLoseMore);
            }
            _ => {}
        }
        let bytes = MovedBytes {
            source: source.read_bytes(),
            partition_spilled: memory.store.written_bytes(),
            partition_read_back: memory.store.read_bytes(),
            release_spilled: memory.release_store.written_bytes(),
            release_read_back: memory.release_store.read_bytes(),
        };
        Report {
            rows: passage.classes.n_rows,
            suppressed: passage.n_left_out,
            classes: passage.classes.n_classes,
            class_size: ClassSize {
                min: passage.classes.min,
                mean: passage.classes.mean(),
                max: passage.classes.max,
            },
            requirement: passage.requirement.describe(),
            method: plan.method.words(story.is_indexed, release > 0),
            seed: plan.show.seed,
            repeatable: plan.method.is_repeatable(),
            loss,
            kl_basis: KlBasis::over(quasi.chain(sensitive.map(|own| own.name.clone())).collect()),
            generalization: story.generalization.clone(),
            columns: self.column_reports(story),
            notes,
            seconds: self.clock.seconds(),
            peak_rss_bytes: peak_rss_bytes(),
            spilled_bytes: bytes.partition_spilled + bytes.release_spilled,
            read_back_bytes: bytes.partition_read_back + bytes.release_read_back,
            bytes: Some(bytes),
            also: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ncp_before: story.ncp_before,
        }
    }

    /// What became of each column, in the order of the source.
    fn column_reports(&self, story: &Story<'_>) -> Vec<ColumnReport> {
        let type_of = |name: &str| {
            let found = story.column_types.iter().find(|(column, _)| column == name);
            found.map(|(_, kind)| kind.to_string())
        };
        let report = |column: &crate::plan::TableColumn| {
            let name = column.name.as_str();
            let attribute = story.attributes.iter().find(|own| own.domain.name() == name);
            let shown = match (column.role, attribute) {
                (_, Some(attribute)) => shown_word(attribute.shown),
                (Some(Role::Sensitive | Role::Keep), _) => "as is",
                _ => "dropped",
            };
            ColumnReport {
                name: name.to_owned(),
                role: column.role.map(|role| role.to_string()),
                column_type: type_of(name),
                missing: attribute.map(|attribute| attribute.domain.n_missing()),
                shown: shown.to_owned(),
            }
        };
        self.plan.table.iter().map(report).collect()
    }
}

/// The rows that come to the door.
#[derive(Clone, Copy)]
pub(crate) struct DoorRows<'a> {
    /// The quasi-identifiers.
    pub(crate) attributes: &'a [Attribute],
    /// The columns of the release.
    pub(crate) columns: &'a [OutputColumn],
    /// Whether classes show their regions.
    pub(crate) shows_regions: bool,
    /// Rows that were read.
    pub(crate) n_rows: u64,
    /// The fingerprint of their codes.
    pub(crate) fingerprint: u64,
    /// Where their facts are.
    pub(crate) rows: RowStore<'a>,
}

/// What there is to tell of the way to the classes.
pub(crate) struct Story<'a> {
    /// The quasi-identifiers.
    pub(crate) attributes: &'a [Attribute],
    /// The types of the columns that were read.
    pub(crate) column_types: &'a [(String, ColumnType)],
    /// Whether an index found the classes.
    pub(crate) is_indexed: bool,
    /// The levels of a full-domain release.
    pub(crate) generalization: Option<GeneralizationReport>,
    /// Things the user should know.
    pub(crate) notes: Vec<Note>,
    /// The ncp of a given release, where classes are given and their cells are understood.
    pub(crate) ncp_before: Option<Option<f64>>,
    /// How many of the notes tell of the given release.
    pub(crate) n_given_notes: usize,
}

/// Whether a release loses more than the one that was given because it shows labels.
fn loses_by_labels(attributes: &[Attribute], loss: &Loss, before: f64) -> bool {
    attributes.iter().any(|own| own.shown == Shown::Label) && loss.ncp > before + 1e-9
}

/// A report as it stands beside its release: without the bytes that were moved, since the size of
/// the source tells of rows that are left out.
fn manifest_of(report: &Report) -> String {
    let mut published = report.clone();
    published.bytes = None;
    published.also.iter_mut().for_each(|also| also.report.bytes = None);
    serde_json::to_string_pretty(&published).expect("a report has only plain fields") + "\n"
}
