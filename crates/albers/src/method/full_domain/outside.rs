//! Full-domain jobs on tables that do not fit in memory.
//!
//! ```text
//!   survey ──► domains, requirement
//!   rows once more ──┬─► keys ──► frequency set ──search──► levels
//!                    └─► packed rows ──► spill store             │
//!                                             │                  │
//!                      rows at these levels ◄─┴──────────────────┘
//!                               │
//!                             door
//! ```

use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_classes::points::row_fingerprint;
use albers_classes::region::ALL_CODES;
use albers_lattice::counted_table::{CountedTable, fact_fields};
use albers_lattice::frequency_set::{SetBuilder, Workspace};
use albers_lattice::layout::KeyLayout;
use albers_lattice::recode::{ClassKeys, Violating};
use albers_release::door::{Door, LeafClasses, LeafRows, PackedRows, RowStore};
use albers_release::publish::Payload;
use albers_storage::spill::Block;
use albers_storage::watch::Phase;
use albers_table::schema::Role;
use albers_table::sink::Sink;
use albers_table::source::{SourceChunk, for_each_chunk};

use super::search::{LatticeSearch, dimension_of};
use super::show_levels;
use crate::context::{Context, DoorRows, Story};
use crate::error::Result;
use crate::method::packed::{PackedTable, layout_of, sensitive_facts};
use crate::plan::SearchPlan;
use crate::protection::{Protection, TableFacts};
use crate::report::Prepared;
use crate::rows::{CodedChunk, Reading, RowsAgain, Surveyed, changed, check_unchanged};

/// A table whose rows are in the spill store, and whose keys are about to become a frequency set.
pub(crate) struct StoredTable<'w> {
    /// All of the table but its rows.
    pub(crate) table: PackedTable,
    /// What every class must satisfy.
    pub(crate) protection: Protection,
    /// The keys of all rows.
    pub(crate) keys: SetBuilder<'w>,
    rows: StoredRows,
}

/// The rows of a table in the spill store.
struct StoredRows {
    layout: RowLayout,
    facts: FactColumns,
    payload: Payload,
    n_payload_bytes: usize,
    blocks: Vec<Block>,
    n_rows: u64,
    fingerprint: u64,
}

/// Reads the rows of a surveyed table once more, into keys and, if they are to leave, packed rows.
pub(crate) fn store<'w>(
    reading: &Reading<'_>,
    plan: &SearchPlan,
    mut surveyed: Surveyed<'_>,
    workspace: Workspace<'w>,
    keeps_rows: bool,
) -> Result<StoredTable<'w>> {
    surveyed.sample.clear();
    let protection = Protection::of(reading.plan, &TableFacts::of_survey(&surveyed))?;
    let (layout, facts) = layout_of(&surveyed, &protection, &[]);
    let quasi = surveyed.known.planned.iter().filter(|column| column.role == Role::Quasi);
    let columns = surveyed.coders_of(Role::Quasi).zip(quasi);
    let dimensions: Vec<_> =
        columns.map(|(coder, column)| dimension_of(plan, coder.domain(), column.weight)).collect();
    let key_layout = KeyLayout::bottom(&dimensions, &fact_fields(&protection.requirements[0]));
    let again = surveyed.again.take();
    let packer = Packer { keys: key_layout, layout, facts, surveyed: &surveyed, keeps_rows };
    let (keys, blocks, fingerprint) = packer.pack_all(reading, again, workspace)?;
    let Packer { layout, facts, .. } = packer;
    if keys.n_rows() != surveyed.n_rows {
        return Err(changed(reading));
    }
    let n_rows = surveyed.n_rows;
    let n_payload_bytes = surveyed.payload_bytes * n_rows as usize;
    let payload = std::mem::replace(&mut surveyed.payload, Payload::new(Vec::new())?);
    let table = PackedTable::of(surveyed);
    let rows = StoredRows { layout, facts, payload, n_payload_bytes, blocks, n_rows, fingerprint };
    Ok(StoredTable { table, protection, keys, rows })
}

/// How rows are packed.
struct Packer<'a> {
    keys: KeyLayout,
    layout: RowLayout,
    facts: FactColumns,
    surveyed: &'a Surveyed<'a>,
    keeps_rows: bool,
}

/// Rows of a chunk, as keys and packed.
struct PackedChunk {
    keys: Vec<u64>,
    rows: RowBlock,
    fingerprint: u64,
}

impl Packer<'_> {
    /// The keys of all rows, the rows themselves, and their fingerprint.
    fn pack_all<'w>(
        &self,
        reading: &Reading<'_>,
        again: RowsAgain<'_>,
        workspace: Workspace<'w>,
    ) -> Result<(SetBuilder<'w>, Vec<Block>, u64)> {
        let mut keys = SetBuilder::new(workspace, self.keys.clone());
        let mut blocks = Vec::new();
        let mut fingerprint = 0u64;
        reading.watch.phase(Phase::Read, Some(self.surveyed.n_rows));
        let (mut scan, stamp) = again.into_scan(reading, &self.surveyed.known)?;
        let map = |chunk: SourceChunk| self.pack(chunk);
        for_each_chunk(scan.as_mut(), reading.watch, &map, &mut |packed| {
            fingerprint = fingerprint.wrapping_add(packed.fingerprint);
            keys.add_keys(&packed.keys)?;
            if packed.rows.n_rows() > 0 {
                let mut bytes = Vec::new();
                packed.rows.write_to(&mut bytes);
                blocks.push(workspace.store.put(bytes)?);
            }
            Ok(())
        })?;
        drop(scan);
        check_unchanged(reading, stamp.as_ref())?;
        Ok((keys, blocks, fingerprint))
    }

    fn pack(&self, chunk: SourceChunk) -> albers_table::Result<PackedChunk> {
        let Packer { keys, layout, facts, surveyed, keeps_rows } = self;
        let SourceChunk { first_row, n_rows, coded, carried } = chunk;
        let CodedChunk { codes, facts: of_rows, .. } = surveyed.code(coded, n_rows)?;
        let payload = if *keeps_rows { surveyed.encode_payload(&carried)? } else { None };
        let mut packed = PackedChunk {
            keys: Vec::with_capacity(n_rows * keys.n_words()),
            rows: RowBlock::default(),
            fingerprint: 0,
        };
        for (row, codes) in codes.chunks_exact(layout.n_attributes()).enumerate() {
            let row_id = first_row + row as u64;
            let fact = |&fact: &usize| of_rows[fact][row];
            let looked_at = facts.subject.iter().flatten().chain(&facts.ruled).map(fact);
            keys.pack(codes.iter().copied(), looked_at, &mut packed.keys);
            packed.fingerprint = packed.fingerprint.wrapping_add(row_fingerprint(row_id, codes));
            if *keeps_rows {
                let values = codes.iter().copied().chain(of_rows.iter().map(|facts| facts[row]));
                let carried = payload.as_ref().map(|rows| rows.row(row));
                let bytes = carried.as_ref().map_or(&[][..], |carried| carried.data());
                packed.rows.push(layout, row_id, values, bytes);
            }
        }
        Ok(packed)
    }
}

/// Searches a table that does not fit in memory, and publishes it.
pub(crate) fn publish(
    mut run: Context<'_>,
    plan: &SearchPlan,
    surveyed: Surveyed<'_>,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    run.memory.check_folder()?;
    let budget = &run.memory.budget;
    let workspace = Workspace { budget, store: &run.memory.store, watch: run.watch };
    let stored = store(&run.reading(None), plan, surveyed, workspace, true)?;
    // Some is left for the copies that a frequency set needs while it leaves the table that it was
    // counted in.
    let copies = budget.try_reserve("copies of frequency sets", budget.limit_bytes() / 3)?;
    let StoredTable { mut table, protection, keys, rows } = stored;
    run.clock.read();

    let max_left_out = run.plan.max_left_out(rows.n_rows);
    let search = LatticeSearch::new(plan, &table.attributes, rows.n_rows, max_left_out)?;
    run.watch.phase(Phase::Search, None);
    let requirement = &protection.requirements[0];
    let counted = CountedTable::new(&search.dimensions, workspace, fact_fields(requirement), keys)?;
    let chosen = search.choose(&counted, &search.question(requirement))?;
    let class_keys = ClassKeys::new(&search.dimensions, &chosen.levels);
    let set = counted.derive_all(counted.table(), &chosen.levels)?;
    let violating = Violating::of(&search.question(requirement), &class_keys, workspace, &set)?;
    drop((counted, set, copies));
    show_levels(&mut table.attributes, &search.dimensions, &chosen.levels);

    let sensitive_facts = sensitive_facts(&rows.layout, &rows.facts, 0);
    let packed = PackedRows {
        layout: &rows.layout,
        facts: &rows.facts,
        sensitive_facts: &sensitive_facts,
        payload: &rows.payload,
        payload_bytes: rows.n_payload_bytes,
        budget,
        store: &run.memory.release_store,
    };
    let door_plan = run.door_plan(DoorRows {
        attributes: &table.attributes,
        columns: &table.output_columns,
        shows_regions: false,
        n_rows: rows.n_rows,
        fingerprint: rows.fingerprint,
        rows: RowStore::Packed(packed),
    })?;
    let mut door = Door::open(&door_plan, protection.requirements.clone(), run.watch)?;
    run.watch.phase(Phase::Partition, Some(rows.n_rows));
    let classes = Classes { layout: &rows.layout, keys: &class_keys, violating: &violating };
    for block in rows.blocks {
        let mut packed = RowBlock::default();
        packed.read_from(&rows.layout, &run.memory.store.take(block)?);
        classes.admit(&packed, &mut door)?;
        run.watch.done(packed.n_rows() as u64)?;
    }
    run.clock.partition();
    let story = Story {
        attributes: &table.attributes,
        column_types: &table.column_types,
        may_overlap: false,
        has_history: false,
        tops: None,
        chosen: None,
        passes: None,
        generalization: Some(chosen.report),
        notes: [protection.notes, search.notes.clone(), chosen.notes].concat(),
        ncp_before: None,
        n_given_notes: 0,
    };
    run.close(door, sinks, &story)
}

/// Which rows show the same, and which are left out.
struct Classes<'c> {
    layout: &'c RowLayout,
    keys: &'c ClassKeys<'c>,
    violating: &'c Violating,
}

impl Classes<'_> {
    /// Hands the rows of a block to the door. Those of a class that lie in several blocks meet in
    /// the bucket of what they show.
    fn admit(&self, rows: &RowBlock, door: &mut Door<'_>) -> Result<()> {
        let n_attributes = self.layout.n_attributes();
        let n_words = self.keys.n_words();
        let mut codes = vec![0; n_attributes];
        let mut keys = Vec::with_capacity(rows.n_rows() * n_words);
        let mut order = Vec::with_capacity(rows.n_rows());
        let mut left_out = Vec::new();
        for row in 0..rows.n_rows() {
            rows.codes(self.layout, row, &mut codes);
            self.keys.push(codes.iter().copied(), &mut keys);
            match self.violating.contains(&keys[row * n_words..]) {
                true => left_out.push(row as u32),
                false => order.push(row as u32),
            }
        }
        door.leave_out_packed(self.layout, rows, left_out.into_iter())?;
        let key = |row: u32| &keys[row as usize * n_words..(row as usize + 1) * n_words];
        order.sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(a.cmp(&b)));
        let mut ends = Vec::new();
        let mut boxes = Vec::new();
        for class in order.chunk_by(|&a, &b| key(a) == key(b)) {
            ends.push(ends.last().copied().unwrap_or(0) + class.len() as u32);
            // Labels are told by the rows; no attribute is a plain interval.
            boxes.extend(std::iter::repeat_n(ALL_CODES, n_attributes));
        }
        let leaves = LeafRows {
            layout: self.layout,
            rows,
            order: &order,
            ends: &ends,
            boxes: &boxes,
            regions: None,
        };
        Ok(door.admit_leaves(leaves, &[LeafClasses::default()])?)
    }
}
