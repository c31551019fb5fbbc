//! A part of the tree while rows arrive: a buffer, what was handed to the store, and counts.

use albers_classes::packed::RowBlock;
use albers_partition::split::majority::Majority;
use albers_privacy::{ClassSummary, Requirement};
use albers_storage::Result;
use albers_storage::spill::Block;

use super::BulkPlan;

/// The rows of a part.
pub struct Part {
    buffer: RowBlock,
    /// Full buffers, in the order in which they were filled.
    pub blocks: Vec<Block>,
    /// Rows in all.
    pub n_rows: u64,
    /// Bytes of their payloads.
    pub n_payload_bytes: usize,
    /// What a requirement that looks at more than the number of rows needs to know.
    summary: Option<ClassSummary>,
    /// A subject that the summary knows.
    known_subject: u64,
}

impl Part {
    /// Without rows, of which nothing but their number will be known.
    pub fn counting_rows() -> Part {
        Part {
            buffer: RowBlock::default(),
            blocks: Vec::new(),
            n_rows: 0,
            n_payload_bytes: 0,
            summary: None,
            known_subject: 0,
        }
    }

    /// Without rows.
    pub fn new(requirement: &Requirement) -> Part {
        let has_rule = requirement.is_only_row_count().is_none();
        let summary = has_rule.then(|| ClassSummary::new(requirement.shape()));
        Part { summary, ..Part::counting_rows() }
    }

    /// Some rows of a block.
    pub fn of_rows(plan: &BulkPlan<'_>, rows: &RowBlock, order: &[u32]) -> Result<Part> {
        let mut part = Part::new(plan.strictest);
        for &row in order {
            part.append(plan, rows, row as usize..row as usize + 1)?;
        }
        part.flush(plan)?;
        Ok(part)
    }

    /// Adds some rows.
    pub fn append(
        &mut self,
        plan: &BulkPlan<'_>,
        rows: &RowBlock,
        range: std::ops::Range<usize>,
    ) -> Result<()> {
        self.summarize(plan, rows, range.clone());
        let before = self.buffer.n_bytes();
        self.buffer.extend(plan.layout, rows, range.clone());
        self.n_rows += range.len() as u64;
        let n_bytes = self.buffer.n_bytes() - before;
        self.n_payload_bytes += n_bytes - range.len() * plan.layout.stride_bytes();
        if self.buffer.n_bytes() >= plan.sizes.block_bytes {
            self.flush(plan)?;
        }
        Ok(())
    }

    fn summarize(&mut self, plan: &BulkPlan<'_>, rows: &RowBlock, range: std::ops::Range<usize>) {
        if let Some(summary) = &mut self.summary {
            add_facts(plan, rows, range, (summary, &mut self.known_subject));
        }
    }

    /// Hands the buffer to the store.
    pub fn flush(&mut self, plan: &BulkPlan<'_>) -> Result<()> {
        if self.buffer.n_rows() > 0 {
            let mut bytes = Vec::with_capacity(16 + self.buffer.n_bytes());
            self.buffer.write_to(&mut bytes);
            self.buffer.clear_within(4 * plan.sizes.block_bytes);
            self.blocks.push(plan.store.put(bytes)?);
        }
        Ok(())
    }

    /// Takes over all rows of a part whose buffer is flushed.
    pub fn take(&mut self, other: &mut Part) {
        self.blocks.append(&mut other.blocks);
        self.n_rows += other.n_rows;
        self.n_payload_bytes += other.n_payload_bytes;
    }

    /// All rows of a part whose buffer is flushed.
    pub fn load(self, plan: &BulkPlan<'_>) -> Result<RowBlock> {
        let n_rows = self.n_rows as usize;
        let mut rows = RowBlock::with_room(plan.layout, n_rows, self.n_payload_bytes);
        for block in self.blocks {
            let bytes = plan.store.take(block)?;
            rows.read_from(plan.layout, &bytes);
        }
        Ok(rows)
    }

    /// The rows of the tuple that most of them have, if there is one and both they and the others
    /// satisfy the requirement; and the others, or all rows.
    pub fn without_heavy(self, plan: &BulkPlan<'_>) -> Result<(Option<Part>, Part)> {
        let layout = plan.layout;
        let mut codes = vec![0; layout.n_attributes()];
        let mut majority = Majority::default();
        for block in &self.blocks {
            let mut rows = RowBlock::default();
            rows.read_from(layout, &plan.store.read(block)?);
            for row in 0..rows.n_rows() {
                rows.codes(layout, row, &mut codes);
                majority.add(&codes);
            }
        }
        let Some(tuple) = majority.finish() else { return Ok((None, self)) };
        let [mut heavy, mut rest] = [(); 2].map(|()| Part::new(plan.strictest));
        for block in self.blocks {
            let mut rows = RowBlock::default();
            rows.read_from(layout, &plan.store.take(block)?);
            for row in 0..rows.n_rows() {
                rows.codes(layout, row, &mut codes);
                let part = if codes == tuple { &mut heavy } else { &mut rest };
                part.append(plan, &rows, row..row + 1)?;
            }
        }
        heavy.flush(plan)?;
        rest.flush(plan)?;
        let is_most = heavy.n_rows > rest.n_rows && rest.n_rows > 0;
        if is_most && heavy.holds(plan.strictest) && rest.holds(plan.strictest) {
            return Ok((Some(heavy), rest));
        }
        heavy.take(&mut rest);
        Ok((None, heavy))
    }

    /// Whether its rows satisfy the requirement that it was made for.
    pub fn holds(&self, requirement: &Requirement) -> bool {
        Part::union_holds(std::slice::from_ref(self), requirement)
    }

    /// Whether the rows of some parts satisfy it together.
    pub fn union_holds(parts: &[Part], requirement: &Requirement) -> bool {
        if let Some(k) = requirement.is_only_row_count() {
            return parts.iter().map(|part| part.n_rows).sum::<u64>() >= k;
        }
        let mut union = ClassSummary::new(requirement.shape());
        parts.iter().filter_map(|part| part.summary.as_ref()).for_each(|own| union.merge(own));
        requirement.holds(&union)
    }
}

/// Adds what is known of some rows to a summary, which knows a subject if it knows any.
pub fn add_facts(
    plan: &BulkPlan<'_>,
    rows: &RowBlock,
    places: impl Iterator<Item = usize>,
    (summary, known_subject): (&mut ClassSummary, &mut u64),
) {
    let k = plan.strictest.k();
    let facts = &plan.facts;
    let mut codes = Vec::with_capacity(facts.ruled.len());
    for row in places {
        let fact = |fact: usize| rows.fact(plan.layout, row, fact);
        let subject = facts.subject_of(plan.layout, rows, row as u32);
        codes.clear();
        codes.extend(facts.ruled.iter().map(|&at| fact(at)));
        // Once there are enough subjects, it does not matter who the others are, and they need no
        // memory.
        let is_enough = facts.subject.is_some() && summary.n_subjects() >= k;
        if !is_enough {
            *known_subject = subject;
        }
        summary.add(*known_subject, &codes);
    }
}
