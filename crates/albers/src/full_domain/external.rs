//! Full-domain jobs on tables that do not fit in memory.
//!
//! ```text
//!   pass 1   table ──► domains, requirement
//!   pass 2   table ──┬─► keys ──► frequency set ──search──► levels
//!                    └─► packed rows ──► spill store             │
//!                                             │                  │
//!                      rows at these levels ◄─┴──────────────────┘
//!                               │
//!                      buckets by what they show ──► verify, write
//! ```

use std::path::Path;

use albers_classes::packed::FactColumns;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::points::row_fingerprint;
use albers_index::buffer_tree::Sizes;
use albers_lattice::frequency_set::{Room, SetBuilder};
use albers_lattice::ground::{Ground, fact_fields};
use albers_lattice::layout::KeyLayout;
use albers_lattice::recode::{ClassKeys, Violating};
use albers_measure::LeftOut;
use albers_privacy::Requirement;
use albers_release::ReleaseError;
use albers_release::publish::{Payload, name_all};
use albers_release::stream::{LeafRows, Shuffle, StreamPlan};
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_storage::spill::{self, Block, SpillStore};
use albers_table::progress::Progress;
use albers_table::read::{self, Format, SourceChunk};
use albers_table::schema::Role;

use super::asked::Asked;
use super::{Chosen, Scene, folder_of, method_words, show_levels};
use crate::anonymize::{Clock, Outcome, destination_of, manifest_of, report_of, seed_of};
use crate::error::Result;
use crate::indexed::load::{CodedChunk, changed, table_of};
use crate::indexed::releases::{Streamed, Targets, Written, stream_sizes};
use crate::indexed::survey::{Surveyed, Surveyor};
use crate::indexed::{self, layout_of, stamp_of};
use crate::job::Job;
use crate::report::Report;
use crate::table::Table;

/// A table whose rows are in the spill store, and whose keys are about to become a frequency set.
pub struct Stored<'s> {
    /// All of the table but its rows.
    pub table: Table,
    /// What every class must satisfy.
    pub requirement: Requirement,
    /// Things the user should know.
    pub notes: Vec<String>,
    /// The keys of all rows.
    pub keys: SetBuilder<'s>,
    rows: StoredRows,
    _values: Reservation,
}

/// The rows of a table in the spill store.
struct StoredRows {
    layout: RowLayout,
    facts: FactColumns,
    payload: Payload,
    n_payload_bytes: usize,
    blocks: Vec<Block>,
    fingerprint: u64,
}

/// What is needed to read a table into the store.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The job that reads it.
    pub job: &'a Job,
    /// What is asked.
    pub asked: &'a Asked,
    /// The table.
    pub input: &'a Path,
    /// Where the release goes; without one rows are not kept.
    pub output: Option<&'a Path>,
    /// Where everything lives.
    pub room: Room<'a>,
}

impl<'a> Reading<'a> {
    /// Reads the table twice: for its domains, then for its rows.
    pub fn read(self, progress: &dyn Progress) -> Result<Stored<'a>> {
        let Reading { job, input, output, room, .. } = self;
        let budget_bytes = room.budget.limit_bytes();
        let _reading = room.budget.try_reserve("reading the table", budget_bytes / 8)?;
        let targets = Targets::of(job, input, output.unwrap_or(Path::new("")))?;
        let surveyor = Surveyor {
            job,
            path: input,
            typed_output: output.is_some_and(|output| Format::of(output) == Format::Parquet),
            greatest_k: targets.greatest_k(),
            sample_rows: 64,
            budget: room.budget,
        };
        let stamp = stamp_of(input);
        let mut surveyed = surveyor.survey(progress)?;
        surveyed.sample.clear();
        let protection = indexed::Protection::of(job, &targets, &surveyed)?;
        let (layout, facts) = layout_of(&surveyed, &protection);
        let requirement = protection.requirements.into_iter().next().expect("a job has one");
        let packer = Packer {
            keys: self.key_layout(&surveyed, &requirement),
            layout,
            facts,
            surveyed: &surveyed,
            keeps_rows: output.is_some(),
        };
        let (keys, blocks, fingerprint) = self.pack_rows(&packer, progress)?;
        if keys.n_rows() != surveyed.n_rows || stamp_of(input) != stamp {
            return Err(changed(input));
        }
        let Packer { layout, facts, .. } = packer;
        let n_payload_bytes = surveyed.payload_bytes * surveyed.n_rows as usize;
        let payload = std::mem::replace(&mut surveyed.payload, Payload::new(Vec::new())?);
        let (table, values) = table_of(surveyed);
        let rows = StoredRows { layout, facts, payload, n_payload_bytes, blocks, fingerprint };
        let notes = protection.notes;
        Ok(Stored { table, requirement, notes, keys, rows, _values: values })
    }

    fn key_layout(self, surveyed: &Surveyed, requirement: &Requirement) -> KeyLayout {
        let quasi = surveyed.planned.iter().filter(|column| column.role == Role::Quasi);
        let columns = surveyed.coders_of(Role::Quasi).zip(quasi);
        let dimensions: Vec<_> = columns
            .map(|(coder, column)| self.asked.dimension(coder.domain(), column.weight))
            .collect();
        KeyLayout::bottom(&dimensions, &fact_fields(requirement))
    }

    /// The keys of all rows, the rows themselves, and their fingerprint.
    fn pack_rows(
        self,
        packer: &Packer<'_>,
        progress: &dyn Progress,
    ) -> Result<(SetBuilder<'a>, Vec<Block>, u64)> {
        let Reading { job, input, room, .. } = self;
        let mut keys = SetBuilder::new(room, packer.keys.clone());
        let mut blocks = Vec::new();
        let mut fingerprint = 0u64;
        let map = |chunk: SourceChunk| packer.pack(chunk);
        let requests = &packer.surveyed.requests;
        read::read_mapped(input, &job.read_options()?, requests, progress, &map, &mut |packed| {
            fingerprint = fingerprint.wrapping_add(packed.fingerprint);
            keys.add_keys(&packed.keys)?;
            if packed.rows.n_rows() > 0 {
                let mut bytes = Vec::new();
                packed.rows.write_to(&mut bytes);
                blocks.push(room.store.put(bytes)?);
            }
            Ok(())
        })?;
        Ok((keys, blocks, fingerprint))
    }
}

/// How rows are packed.
struct Packer<'a> {
    keys: KeyLayout,
    layout: RowLayout,
    facts: FactColumns,
    surveyed: &'a Surveyed,
    keeps_rows: bool,
}

/// Rows of a chunk, as keys and packed.
struct PackedChunk {
    keys: Vec<u64>,
    rows: RowBlock,
    fingerprint: u64,
}

impl Packer<'_> {
    fn pack(&self, chunk: SourceChunk) -> albers_table::Result<PackedChunk> {
        let Packer { keys, layout, facts, surveyed, keeps_rows } = self;
        let SourceChunk { first_row, n_rows, coded, carried } = chunk;
        let CodedChunk { codes, facts: own_facts } = surveyed.code(coded, n_rows)?;
        let payload = if *keeps_rows { surveyed.encode_payload(&carried)? } else { None };
        let mut packed = PackedChunk {
            keys: Vec::with_capacity(n_rows * keys.n_words()),
            rows: RowBlock::default(),
            fingerprint: 0,
        };
        for (row, codes) in codes.chunks_exact(layout.n_attributes()).enumerate() {
            let row_id = first_row as u32 + row as u32;
            let fact = |&fact: &usize| own_facts[fact][row];
            let looked_at = facts.subject.iter().chain(&facts.ruled).map(fact);
            keys.pack(codes.iter().copied(), looked_at, &mut packed.keys);
            packed.fingerprint = packed.fingerprint.wrapping_add(row_fingerprint(row_id, codes));
            if *keeps_rows {
                let values = codes.iter().copied().chain(own_facts.iter().map(|own| own[row]));
                let carried = payload.as_ref().map(|rows| rows.row(row));
                let bytes = carried.as_ref().map_or(&[][..], |carried| carried.data());
                packed.rows.push(layout, row_id, values, bytes);
            }
        }
        Ok(packed)
    }
}

/// The memory to work in: some of what the job gives is left for the copies that a frequency set
/// needs while it leaves the table that it was counted in.
pub fn budget_of(job: &Job) -> Result<MemoryBudget> {
    Ok(MemoryBudget::new(job.memory_bytes()? / 3 * 2))
}

/// Runs a job on a table that does not fit in memory.
pub fn run(
    job: &Job,
    asked: &Asked,
    input: &Path,
    output: &Path,
    progress: &dyn Progress,
) -> Result<Report> {
    let mut clock = Clock::start();
    let folder = folder_of(job, output);
    spill::check_folder(folder)?;
    let budget = budget_of(job)?;
    let room_bytes = budget.limit_bytes() / 5 * 3;
    let store = SpillStore::in_folder(folder, budget.clone()).with_room(room_bytes);
    let room = Room { budget: &budget, store: &store };
    let reading_job = asked.reading(job);
    let reading = Reading { job: &reading_job, asked, input, output: Some(output), room };
    let Stored { mut table, mut requirement, notes, keys, rows, _values } =
        reading.read(progress)?;
    clock.seconds.read = clock.lap();

    let scene = Scene::new(job, asked, &table.attributes, table.n_rows, folder)?;
    progress.phase("search", None);
    let ground = Ground::new(&scene.dimensions, room, fact_fields(&requirement), keys)?;
    let chosen = scene.choose(&ground, &scene.question(&requirement))?;
    let class_keys = ClassKeys::new(&scene.dimensions, &chosen.levels);
    let set = ground.derive_all(ground.table(), &chosen.levels)?;
    let violating = Violating::of(&scene.question(&requirement), &class_keys, room, &set)?;
    drop((ground, set));
    if let Some(published) = violating.published() {
        requirement.bind(published);
    }
    show_levels(&mut table.attributes, &scene.dimensions, &chosen.levels);
    clock.seconds.partition = clock.lap();

    let release = Release { job, table: &table, requirement: &requirement, output, room };
    let written = release.write(rows, &class_keys, &violating, scene.max_suppressed, progress)?;
    clock.seconds.verify = written.published.verify_seconds;
    clock.seconds.write = clock.lap() - clock.seconds.verify;
    clock.seconds.total = clock.start.elapsed().as_secs_f64();
    let Chosen { report: generalization, notes: more, .. } = chosen;
    let n_rows = written.published.totals.n_rows;
    let outcome = Outcome {
        n_rows,
        n_suppressed: table.n_rows as u64 - n_rows,
        n_classes: written.n_classes,
        class_size: written.class_size,
        requirement: &requirement,
        method: method_words(job, asked),
        loss: written.loss,
        notes: [notes, scene.notes, more].concat(),
        spilled_bytes: store.written_bytes(),
        generalization: Some(generalization),
    };
    let report = report_of(job, &table, outcome, clock.seconds);
    let report = Report { read_back_bytes: store.read_bytes(), ..report };
    name_all(vec![written.published.pending.seal(&manifest_of(&report))?])?;
    Ok(report)
}

/// A release on its way out.
struct Release<'a> {
    job: &'a Job,
    table: &'a Table,
    requirement: &'a Requirement,
    output: &'a Path,
    room: Room<'a>,
}

impl Release<'_> {
    /// Brings the rows of each class together, and writes those that satisfy.
    fn write(
        &self,
        rows: StoredRows,
        keys: &ClassKeys<'_>,
        violating: &Violating,
        max_suppressed: usize,
        progress: &dyn Progress,
    ) -> Result<Written> {
        let Release { job, table, room: Room { budget, store }, .. } = *self;
        let StoredRows { layout, facts, payload, n_payload_bytes, blocks, fingerprint } = rows;
        let first_sensitive = usize::from(facts.subject.is_some());
        let sensitive_facts: Vec<usize> = (first_sensitive..layout.n_facts()).collect();
        let sizes = stream_sizes(&Streamed {
            budget,
            layout: &layout,
            block_bytes: Sizes::within(budget.limit_bytes()).block_bytes,
            n_rows: table.n_rows,
            n_payload_bytes,
            n_releases: 1,
        });
        let plan = StreamPlan {
            attributes: &table.attributes,
            layout: &layout,
            facts: &facts,
            sensitive_facts: &sensitive_facts,
            payload: &payload,
            requirement: self.requirement,
            seed: seed_of(job),
            show_regions: false,
            budget,
            store,
            sizes,
        };
        let mut shuffled = Shuffled::new(&plan, keys, violating)?;
        progress.phase("partition", Some(table.n_rows as u64));
        for block in blocks {
            let mut rows = RowBlock::default();
            rows.read_from(&layout, &store.take(block)?);
            shuffled.add(&rows)?;
            progress.advance(rows.n_rows() as u64);
        }
        let Shuffled { shuffle, left_out, left_out_fingerprint, memory: _memory, .. } = shuffled;
        let n_suppressed = left_out.n_rows() as usize;
        if n_suppressed > max_suppressed {
            let n_rows = table.n_rows;
            return Err(
                ReleaseError::TooManySuppressed { n_suppressed, max_suppressed, n_rows }.into()
            );
        }
        let destination = destination_of(job, table, self.output, &[]);
        let written = Written::of(shuffle, &destination, table, left_out, progress)?;
        let totals = &written.published.totals;
        let all_rows = totals.n_rows + n_suppressed as u64;
        let all_codes = totals.fingerprint.wrapping_add(left_out_fingerprint);
        if (all_rows, all_codes) != (table.n_rows as u64, fingerprint) {
            return Err(ReleaseError::RowsChanged.into());
        }
        Ok(written)
    }
}

/// Rows that are sorted by what they show, block by block.
struct Shuffled<'p> {
    plan: &'p StreamPlan<'p>,
    keys: &'p ClassKeys<'p>,
    violating: &'p Violating,
    shuffle: Shuffle<'p>,
    left_out: LeftOut,
    left_out_fingerprint: u64,
    n_leaves: u64,
    memory: Reservation,
}

impl<'p> Shuffled<'p> {
    fn new(
        plan: &'p StreamPlan<'p>,
        keys: &'p ClassKeys<'p>,
        violating: &'p Violating,
    ) -> Result<Shuffled<'p>> {
        Ok(Shuffled {
            plan,
            keys,
            violating,
            shuffle: Shuffle::new(plan)?,
            left_out: LeftOut::default(),
            left_out_fingerprint: 0,
            n_leaves: 0,
            memory: plan.budget.reserve_nothing("the rows that are left out"),
        })
    }

    /// Adds the rows of a block. Those of a class that lie in several blocks meet in the bucket of
    /// what they show.
    fn add(&mut self, rows: &RowBlock) -> Result<()> {
        let layout = self.plan.layout;
        let n_attributes = layout.n_attributes();
        let n_words = self.keys.n_words();
        let mut codes = vec![0; n_attributes];
        let mut keys = Vec::with_capacity(rows.n_rows() * n_words);
        let mut order = Vec::with_capacity(rows.n_rows());
        for row in 0..rows.n_rows() {
            rows.codes(layout, row, &mut codes);
            self.keys.push(codes.iter().copied(), &mut keys);
            if self.violating.contains(&keys[row * n_words..]) {
                self.leave_out(rows, row, &codes)?;
            } else {
                order.push(row as u32);
            }
        }
        let key = |row: u32| &keys[row as usize * n_words..(row as usize + 1) * n_words];
        order.sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(a.cmp(&b)));
        let mut ends = Vec::new();
        let mut boxes = Vec::new();
        for class in order.chunk_by(|&a, &b| key(a) == key(b)) {
            ends.push(ends.last().copied().unwrap_or(0) + class.len() as u32);
            // Labels are told by the rows; no attribute is a plain interval.
            boxes.extend(std::iter::repeat_n((0, 0), n_attributes));
        }
        let first_leaf = self.n_leaves;
        self.n_leaves += ends.len() as u64;
        let leaves =
            LeafRows { rows, order: &order, ends: &ends, boxes: &boxes, first_leaf, regions: None };
        Ok(self.shuffle.add(leaves, None)?)
    }

    fn leave_out(&mut self, rows: &RowBlock, row: usize, codes: &[u32]) -> Result<()> {
        self.memory.try_grow(LeftOut::ROW_BYTES)?;
        let layout = self.plan.layout;
        let secrets = self.plan.sensitive_facts.iter();
        self.left_out.add(codes, secrets.map(|&fact| rows.fact(layout, row, fact)));
        let fingerprint = row_fingerprint(rows.row_id(layout, row), codes);
        self.left_out_fingerprint = self.left_out_fingerprint.wrapping_add(fingerprint);
        Ok(())
    }
}
