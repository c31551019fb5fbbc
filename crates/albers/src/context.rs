//! What all steps of a run share, and the end of it: the door is closed, and all is reported.

mod codebook;

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_index::rothko_tree::Passes;
use albers_measure::relation::RelationOfParts;
use albers_measure::{Loss, LossOfParts, PublishedAttribute, PublishedParts, Relation};
use albers_partition::top::SampledTops;
use albers_release::door::{Door, DoorPlan, Passage, Passed, RowStore};
use albers_release::publish::{OutputColumn, Values};
use albers_storage::watch::Watch;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::{ColumnType, Role};
use albers_table::sink::Sink;
use albers_table::source::{Source, usual_delimiter};

use crate::error::{Error, Result};
use crate::finding;
use crate::finding::Finding;
use crate::findings;
use crate::findings::{CountedSink, OwnersCounts, PublishedCounts, SmallClasses};
use crate::memory::Memory;
use crate::model::ModelOrder;
use crate::plan::{MethodPlan, Plan, no_means};
use crate::report::{
    AUDIENCE, AlsoReport, Chosen, ClassSize, Clock, ColumnReport, DROPPED, GeneralizationReport,
    KlBasis, MEAN, MovedBytes, Note, PLACES, PassesReport, Prepared, PrivacyReport, Report,
    SamplesReport, Told, ToldSink, TriedReport, peak_rss_bytes, shown_word,
};
use crate::rows::{Reading, Repeated};

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
    /// An identifier that some rows share, as far as it was found.
    pub(crate) repeated: Option<Repeated>,
    /// The recoding function that is to be kept.
    pub(crate) model: Option<ModelOrder>,
    /// What is found before any class is.
    pub(crate) found_before: Vec<Finding>,
    /// Rows that a recoding function knows no place for, which never came to the door.
    pub(crate) n_outside: u64,
    /// How many rows miss the value of each quasi-identifier, where its domain does not tell it.
    pub(crate) n_missing: Option<Vec<u64>>,
    /// Whether classes show their regions.
    shows_regions: bool,
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
        let values = plan.show.values(sinks.first().is_some_and(|sink| sink.shows_bounds()));
        plan.check_bound_names(values, source.columns())?;
        let clock = Clock::start();
        Ok(Context {
            plan,
            source,
            memory,
            watch,
            clock,
            values,
            typed_output,
            repeated: None,
            model: None,
            found_before: Vec::new(),
            n_outside: 0,
            n_missing: None,
            shows_regions: false,
        })
    }

    /// The same with another plan: what the rows have decided is no longer open in it.
    pub(crate) fn with_plan<'p>(self, plan: &'p Plan) -> Context<'p>
    where
        'r: 'p,
    {
        Context { plan, ..self }
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
    pub(crate) fn door_plan<'a>(&self, rows: DoorRows<'a>) -> Result<DoorPlan<'a>>
    where
        'r: 'a,
    {
        let DoorRows { attributes, columns, shows_regions, n_rows, fingerprint, rows } = rows;
        let has_intervals = attributes.iter().any(|own| own.shown == Shown::Interval);
        if self.values == Values::Mean && !has_intervals {
            return Err(no_means());
        }
        Ok(DoorPlan {
            attributes,
            columns,
            features: self.plan.method.features(),
            values: self.values,
            delimiter: self.plan.show.delimiter.or(usual_delimiter(self.source)),
            seed: self.plan.show.seed,
            show_regions: shows_regions,
            // The groups of a recoding are told by the values that occur in them.
            ends_in_gaps: !matches!(self.plan.method, MethodPlan::Specialize { .. }),
            is_nested: matches!(
                self.plan.method,
                MethodPlan::Bang { .. } | MethodPlan::Access { .. }
            ),
            n_rows,
            n_missing: self.n_missing.clone(),
            fingerprint,
            max_left_out: self.plan.max_left_out(n_rows),
            may_be_empty: self.plan.method.promise().is_some(),
            rows,
        })
    }

    /// Closes the door: everything is verified, measured and written, and waits for its name.
    pub(crate) fn close(
        self,
        door: Door<'_>,
        sinks: Vec<Box<dyn Sink>>,
        story: &Story<'_>,
    ) -> Result<Prepared> {
        self.close_before(door, sinks, story, &mut |_, _| {})
    }

    /// The same before the eyes of somebody who looks at all that passes.
    pub(crate) fn close_before(
        mut self,
        door: Door<'_>,
        sinks: Vec<Box<dyn Sink>>,
        story: &Story<'_>,
        see: &mut (dyn FnMut(usize, &Passed<'_, '_>) + Send),
    ) -> Result<Prepared> {
        let plan = self.plan;
        let mut figures: Vec<Figures<'_>> =
            (0..sinks.len()).map(|release| story.no_figures(plan, release)).collect();
        let paths: Vec<String> = sinks.iter().map(|sink| sink.name().to_owned()).collect();
        self.shows_regions = door.shows_regions();
        let told: Vec<Option<Told>> =
            sinks.iter().map(|sink| codebook::told(story, sink.as_ref())).collect();
        let counted = sinks.into_iter().zip(&figures).zip(&told);
        let sinks = counted.map(|((sink, own), told)| {
            let sink = CountedSink::around(sink, &own.counts);
            told.iter().fold(sink, ToldSink::around)
        });
        let sinks = sinks.collect();
        let passages = door.close(sinks, &mut |release: usize, passed: &Passed<'_, '_>| {
            let own = &mut figures[release];
            rayon::join(|| own.add(passed), || see(release, passed));
        })?;
        self.clock.verify_and_write(passages.iter().map(|own| own.verify_seconds).sum());
        let mut reports = Vec::new();
        for ((release, passage), figures) in passages.iter().enumerate().zip(figures) {
            reports.push(self.report(story, release, passage, figures));
        }
        for report in &reports {
            self.check(story, report)?;
        }
        let ks: Vec<u64> = passages.iter().map(|own| own.requirement.k()).collect();
        let mut sealed = Vec::new();
        for (passage, report) in passages.into_iter().zip(&mut reports) {
            let table = passage.seal()?;
            report.digest = table.digest().map(str::to_owned);
            sealed.push(table);
        }
        let mut base = reports.remove(0);
        let coarser = reports.into_iter().zip(&paths[1..]).zip(&self.plan.ks[1..]);
        base.also = coarser
            .map(|((report, path), &k)| AlsoReport {
                k,
                file: file_name(path),
                path: path.clone(),
                report,
            })
            .collect();
        let reports = std::iter::once(&base).chain(base.also.iter().map(|also| &also.report));
        for (place, (table, report)) in sealed.iter_mut().zip(reports).enumerate() {
            let manifest = report.manifest();
            if let Some(told) = &told[place] {
                let release = codebook::Release {
                    name: file_name(&paths[place]),
                    manifest: &manifest,
                    k: ks[place],
                };
                table.attach_texts(&self.codebook(story, &release, &told.cells()))?;
            }
            table.attach(&manifest.text())?;
        }
        self.watch.check()?;
        Ok(Prepared::new(base, sealed))
    }

    /// Refuses a release with severe findings that are not accepted, or with classes that overlap
    /// where they may not.
    fn check(&self, story: &Story<'_>, report: &Report) -> Result<()> {
        let findings = finding::not_accepted(&report.findings, &self.plan.accept);
        if !findings.is_empty() {
            return Err(Error::Severe { findings });
        }
        match self.plan.method.is_disjoint() {
            true => check_disjoint(report.class_relation, story.attributes),
            false => Ok(()),
        }
    }

    fn report(
        &self,
        story: &Story<'_>,
        release: usize,
        passage: &Passage,
        mut figures: Figures<'_>,
    ) -> Report {
        let plan = self.plan;
        figures.leave_out(self.n_outside);
        let mut findings = figures.findings(story, passage, self.values);
        let n_read = passage.classes.n_rows + passage.n_left_out;
        findings.extend(self.repeated.as_ref().map(|own| findings::rows_per_person(own, n_read)));
        findings.extend_from_slice(&self.found_before);
        let (table_loss, divergence) = figures.table.finish();
        let in_table = plan.table.iter();
        let sensitive = in_table.filter(|column| column.role == Some(Role::Sensitive));
        let sensitive: Vec<String> = sensitive.map(|own| own.name.clone()).collect();
        let quasi = story.attributes.iter().map(|own| own.domain.name().to_owned());
        let n_classes = passage.classes.n_classes;
        let class_relation = story.told_relation(plan, (release, n_classes), figures.relation);
        let is_disjoint = class_relation == Some(Relation::Disjoint);
        let notes = self.notes(story, passage, &table_loss, &findings);
        let bytes = self.moved_bytes();
        Report {
            audience: AUDIENCE,
            dry_run: false,
            rows: passage.classes.n_rows,
            suppressed: passage.n_left_out + self.n_outside,
            classes: n_classes,
            class_size: ClassSize {
                min: passage.classes.min,
                mean: passage.classes.mean(),
                max: passage.classes.max,
            },
            requirement: passage.requirement.describe(),
            privacy: plan.method.promise().as_ref().map(PrivacyReport::of),
            method: plan.asked.clone(),
            ran: story
                .chosen
                .as_ref()
                .map_or_else(|| plan.method.words(release > 0), |own| own.ran.clone()),
            tried: story.chosen.as_ref().map(TriedReport::of).unwrap_or_default(),
            seed: plan.show.seed,
            repeatable: plan.method.is_repeatable() && !story.has_history,
            loss: figures.published.finish(),
            table_loss,
            class_relation,
            kl: is_disjoint.then_some(divergence.quasi),
            kl_at_most: (!is_disjoint).then_some(divergence.quasi),
            kl_with_sensitive: (!sensitive.is_empty()).then_some(divergence.with_sensitive),
            kl_basis: KlBasis::over(quasi.collect(), sensitive),
            generalization: story.generalization.clone(),
            samples: story.tops.map(SamplesReport::of),
            passes: story.passes.map(PassesReport::of),
            columns: self.column_reports(story),
            findings,
            accepted: plan.accept.iter().map(ToString::to_string).collect(),
            notes,
            seconds: self.clock.seconds(),
            peak_rss_bytes: peak_rss_bytes(),
            spilled_bytes: bytes.partition_spilled + bytes.release_spilled,
            read_back_bytes: bytes.partition_read_back + bytes.release_read_back,
            bytes,
            digest: None,
            also: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ncp_before: story.ncp_before,
        }
    }

    /// What the user should know of a release.
    fn notes(
        &self,
        story: &Story<'_>,
        passage: &Passage,
        table_loss: &Loss,
        findings: &[Finding],
    ) -> Vec<Note> {
        let remarks = self.source.remarks().into_iter();
        let mut notes: Vec<Note> = remarks.map(Note::Reading).collect();
        notes.extend(story.notes.iter().cloned());
        notes.extend(story.tops.iter().flat_map(Note::of_samples));
        match story.ncp_before {
            None if passage.classes.n_classes == 1 => {
                notes.push(Note::OneClass { is_cut: self.plan.method.is_cut() });
            }
            Some(Some(before)) if loses_by_labels(story.attributes, table_loss, before) => {
                let place = notes.len() - story.notes.len() + story.n_given_notes;
                notes.insert(place, Note::LabelsLoseMore);
            }
            _ => {}
        }
        let idle = finding::without_effect(findings, &self.plan.accept);
        notes.extend(idle.into_iter().map(|accepted| Note::NothingToAccept { accepted }));
        notes
    }

    fn moved_bytes(&self) -> MovedBytes {
        let Context { memory, source, .. } = self;
        MovedBytes {
            source: source.read_bytes(),
            partition_spilled: memory.store.written_bytes(),
            partition_read_back: memory.store.read_bytes(),
            release_spilled: memory.release_store.written_bytes(),
            release_read_back: memory.release_store.read_bytes(),
        }
    }

    /// How many rows miss the value of a quasi-identifier.
    fn n_missing_of(&self, story: &Story<'_>, attribute: &Attribute) -> u64 {
        let name = attribute.domain.name();
        let place = story.attributes.iter().position(|own| own.domain.name() == name);
        let counted = self.n_missing.as_ref().zip(place).and_then(|(own, place)| own.get(place));
        counted.copied().unwrap_or(attribute.domain.n_missing())
    }

    /// Whether a quasi-identifier is shown by places.
    fn shows_places(&self, attribute: &Attribute) -> bool {
        self.plan.show.is_by_places(attribute.shown)
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
                (_, Some(_)) if self.plan.has_fixed_ranges(name) => shown_word(Shown::Interval),
                (_, Some(attribute)) if self.shows_places(attribute) => PLACES,
                (_, Some(attribute)) => shown_word(attribute.shown),
                (Some(Role::Sensitive | Role::Keep), _) => "as is",
                _ => DROPPED,
            };
            let is_climbed = match attribute {
                Some(attribute) => attribute.shown == Shown::Label || self.shows_places(attribute),
                None => column.role == Some(Role::Sensitive),
            };
            let hierarchy = self.plan.hierarchy_of(name).filter(|_| is_climbed);
            let is_interval = attribute.is_some_and(|own| own.shown == Shown::Interval);
            let statistics = match self.values {
                Values::Mean if is_interval => vec![MEAN.to_owned()],
                _ => Vec::new(),
            };
            ColumnReport {
                name: name.to_owned(),
                role: column.role.map(|role| role.to_string()),
                column_type: type_of(name),
                missing: attribute.map(|attribute| self.n_missing_of(story, attribute)),
                shown: shown.to_owned(),
                ends: attribute.and_then(|own| self.told_ends(own)),
                statistics,
                hierarchy: hierarchy.map(hierarchy_word),
                weight: attribute.map(|own| own.weight).filter(|&weight| weight != 1.0),
            }
        };
        let mut columns: Vec<ColumnReport> = self.plan.table.iter().map(report).collect();
        // As in the release: behind the last quasi-identifier.
        let is_quasi = |own: &ColumnReport| own.missing.is_some();
        let place = columns.iter().rposition(is_quasi).map_or(columns.len(), |last| last + 1);
        let features = self.plan.method.features().iter();
        columns.splice(place..place, features.map(|own| ColumnReport::of_level(&own.name)));
        columns
    }
}

/// What is measured of a release.
struct Figures<'a> {
    /// Over the domain of the table.
    table: LossOfParts<'a>,
    /// By what is published.
    published: PublishedParts<'a>,
    /// Who stands alone in it.
    counts: PublishedCounts,
    /// What its owner should know beside.
    owners: OwnersCounts<'a>,
    /// Classes too small for means.
    small: SmallClasses,
    /// How classes lie to each other, where they may overlap.
    relation: Option<RelationOfParts>,
}

impl<'a> Figures<'a> {
    /// Of no class yet.
    fn of_nothing(plan: &'a Plan, attributes: &'a [Attribute], may_overlap: bool) -> Figures<'a> {
        let published = attributes.iter().map(|attribute| PublishedAttribute {
            attribute,
            hierarchy: plan.hierarchy_of(attribute.domain.name()),
            shows_places: plan.show.is_by_places(attribute.shown),
        });
        Figures {
            table: LossOfParts::new(attributes),
            published: PublishedParts::new(published.collect()),
            counts: PublishedCounts::of_nothing(plan),
            owners: OwnersCounts::of_nothing(plan, attributes),
            small: SmallClasses::default(),
            relation: may_overlap.then(RelationOfParts::default),
        }
    }

    /// Looks at some rows.
    fn add(&mut self, passed: &Passed<'_, '_>) {
        self.table.add(passed);
        self.published.add(passed);
        self.owners.add(passed);
        self.small.add(passed);
        if let Some(relation) = &mut self.relation {
            relation.add(passed);
        }
    }

    /// Counts rows that never came to the door: nobody shall tell them from others that are left out.
    fn leave_out(&mut self, n_rows: u64) {
        self.table.leave_out(n_rows);
        self.published.leave_out(n_rows);
    }

    /// What puts people at risk although the requirement holds.
    fn findings(&self, story: &Story<'_>, passage: &Passage, values: Values) -> Vec<Finding> {
        let k = passage.requirement.k();
        let hides_nobody = passage.requirement.min_rows() <= 1;
        let low_k = hides_nobody.then(|| findings::low_k(passage.classes.n_rows));
        let means = match values {
            Values::Mean => self.small.mean_below_five(&passage.requirement),
            Values::Interval | Values::Bounds | Values::Features => None,
        };
        let n_listed = self.published.n_listed();
        let counted = self.counts.findings(k, story.attributes, &n_listed);
        let owners = self.owners.findings(&passage.requirement, passage.classes.n_rows);
        low_k.into_iter().chain(means).chain(counted).chain(owners).collect()
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
    /// Whether the finest classes too are such that their boxes may overlap.
    pub(crate) may_overlap: bool,
    /// Whether the same rows and the same job could come to other classes: those of an index follow
    /// from all that happened to it.
    pub(crate) has_history: bool,
    /// The levels of a full-domain release.
    pub(crate) generalization: Option<GeneralizationReport>,
    /// What became of the trees that were grown on samples of a large table.
    pub(crate) tops: Option<SampledTops>,
    /// What was chosen of several ways to cut it.
    pub(crate) chosen: Option<Chosen>,
    /// What was moved of a table that was cut by counts of its values.
    pub(crate) passes: Option<Passes>,
    /// Things the user should know.
    pub(crate) notes: Vec<Note>,
    /// The ncp of a given release, where classes are given and their cells are understood.
    pub(crate) ncp_before: Option<Option<f64>>,
    /// How many of the notes tell of the given release.
    pub(crate) n_given_notes: usize,
}

impl<'a> Story<'a> {
    fn no_figures(&self, plan: &'a Plan, release: usize) -> Figures<'a> {
        Figures::of_nothing(plan, self.attributes, self.relation(plan, release).is_none())
    }

    /// How the so many classes of a release lie to each other: known by how they were found, or by
    /// comparing them.
    fn told_relation(
        &self,
        plan: &Plan,
        (release, n_classes): (usize, u64),
        compared: Option<RelationOfParts>,
    ) -> Option<Relation> {
        match compared {
            Some(relation) => relation.finish(),
            // One class lies in no other.
            None if n_classes == 1 => Some(Relation::Disjoint),
            None => self.relation(plan, release),
        }
    }

    /// How the classes of a release lie to each other in space, where that is known by how they were
    /// found: cuts divide it, and a recoding of columns does; one region lies in another. Labels may
    /// reach beyond what was cut, and classes that are grouped or brought together, or shown by the
    /// bounds of their rows where their regions are nested, may overlap.
    fn relation(&self, plan: &Plan, release: usize) -> Option<Relation> {
        let has_labels = self.attributes.iter().any(|own| own.shown == Shown::Label);
        // Cuts are made in the order of codes, which under a hierarchy is not that of places.
        let is_wider = |own: &Attribute| {
            own.shown == Shown::Set
                && plan.show.is_by_places(own.shown)
                && own.domain.hierarchy().is_some()
        };
        if self.attributes.iter().any(is_wider) {
            return None;
        }
        match &plan.method {
            MethodPlan::FullDomain(_) | MethodPlan::Specialize { .. } => Some(Relation::Disjoint),
            MethodPlan::Local { .. } | MethodPlan::Given { .. } => None,
            _ if release > 0 || has_labels || self.may_overlap => None,
            MethodPlan::Bang { nests: true, shows_regions, .. } => {
                (*shows_regions && plan.method.is_nested()).then_some(Relation::Nested)
            }
            MethodPlan::Access { shows_regions, .. } if plan.method.is_nested() => {
                shows_regions.then_some(Relation::Nested)
            }
            _ => Some(Relation::Disjoint),
        }
    }
}

/// Refuses classes that overlap as they are shown, or cannot be told not to.
fn check_disjoint(relation: Option<Relation>, attributes: &[Attribute]) -> Result<()> {
    let has_labels = attributes.iter().any(|own| own.shown == Shown::Label);
    let (problem, advice) = match relation {
        Some(Relation::Disjoint) => return Ok(()),
        Some(_) if has_labels => (
            "classes overlap as they are shown: a label stands for all values below it",
            wording!["use ", Field::Categories.of("set"), ", or drop ", Field::Disjoint],
        ),
        Some(_) => ("classes overlap as they are shown", wording!["drop ", Field::Disjoint]),
        None => (
            "classes came in parts, or are too many, to see whether they overlap as they are shown",
            wording![
                "use ",
                Field::Categories.of("set"),
                ", give more ",
                Field::Memory,
                ", or drop ",
                Field::Disjoint
            ],
        ),
    };
    Err(Error::usage(problem, advice))
}

/// Whether a release loses more than the one that was given because it shows labels.
fn loses_by_labels(attributes: &[Attribute], loss: &Loss, before: f64) -> bool {
    attributes.iter().any(|own| own.shown == Shown::Label) && loss.ncp > before + 1e-9
}

/// The name of a file, without its folder.
fn file_name(path: &str) -> String {
    let name = std::path::Path::new(path).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The word for a hierarchy; files are called that, since their names may tell of people.
fn hierarchy_word(spec: &HierarchySpec) -> String {
    match spec.whole() {
        HierarchySpec::File(_) | HierarchySpec::Rows(_) => "file".to_owned(),
        built_in => built_in.to_string(),
    }
}
