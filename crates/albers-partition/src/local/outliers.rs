//! Groups without the rows whose absence saves most: found, trimmed, and grouped anew.

use albers_classes::class_block::{ClassBlock, Groups, Suppressed};
use albers_classes::points::Points;
use albers_storage::Result;
use albers_storage::watch::Watch;
use albers_table::row::RowIdx;

use crate::outliers::choice::{Choice, ClassPlace};
use crate::outliers::classes::Classes;
use crate::plan::Plan;

/// All rows of some classes, class by class.
pub(super) struct Listed {
    row_idxs: Vec<RowIdx>,
    codes: Vec<u32>,
    ends: Vec<u32>,
    n_attributes: usize,
}

impl Listed {
    fn of(groups: &Groups) -> Listed {
        let mut listed = Listed {
            row_idxs: Vec::with_capacity(groups.n_rows()),
            codes: Vec::new(),
            ends: Vec::with_capacity(groups.n_classes()),
            n_attributes: groups.n_attributes,
        };
        for block in &groups.blocks {
            let first = listed.row_idxs.len() as u32;
            listed.row_idxs.extend_from_slice(&block.row_idxs);
            listed.codes.extend_from_slice(&block.codes);
            listed.ends.extend(block.class_ends.iter().map(|end| first + end));
        }
        listed
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.codes[row * self.n_attributes..(row + 1) * self.n_attributes]
    }

    /// The classes without the rows that are left out.
    fn without(&self, is_out: &[bool]) -> Groups {
        let (mut block, mut suppressed) = (ClassBlock::default(), Suppressed::default());
        let mut start = 0;
        for &end in &self.ends {
            for row in start..end as usize {
                let (row_idxs, codes) = match is_out[row] {
                    true => (&mut suppressed.row_idxs, &mut suppressed.codes),
                    false => (&mut block.row_idxs, &mut block.codes),
                };
                row_idxs.push(self.row_idxs[row]);
                codes.extend_from_slice(self.row(row));
            }
            let n_rows = block.row_idxs.len() as u32;
            if block.class_ends.last().copied().unwrap_or(0) < n_rows {
                block.class_ends.push(n_rows);
            }
            start = end as usize;
        }
        Groups { n_attributes: self.n_attributes, blocks: vec![block], suppressed }
    }
}

/// What all rows of some classes lose.
pub(super) fn loss(groups: &Groups, plan: &Plan<'_>) -> f64 {
    let listed = Listed::of(groups);
    let classes = Classes {
        space: plan.space,
        requirement: plan.requirement,
        strictest: plan.requirement,
        codes: &listed.codes,
        ends: &listed.ends,
        facts: plan.facts,
    };
    classes.loss()
}

/// Divides rows into classes, again and without outliers.
pub(super) type Regroup<'g> = dyn Fn(Points, &Plan<'_>) -> Result<Groups> + 'g;

/// The groups of a first run without the rows whose absence saves most, so many at most: trimmed, or
/// grouped anew, whatever loses less.
pub(super) fn leave_out(
    groups: Groups,
    plan: &Plan<'_>,
    max_rows: u64,
    regroup: &Regroup<'_>,
    watch: &dyn Watch,
) -> Result<Groups> {
    let listed = Listed::of(&groups);
    drop(groups);
    let facts = plan.facts.gather(listed.row_idxs.iter().map(|row_idx| row_idx.index()));
    let classes = Classes {
        space: plan.space,
        requirement: plan.requirement,
        strictest: plan.requirement,
        codes: &listed.codes,
        ends: &listed.ends,
        facts: &facts,
    };
    let mut choice = Choice::new(max_rows);
    classes.offers(0, max_rows).into_iter().for_each(|own| choice.offer(own));
    watch.check()?;
    let taken = choice.taken();
    let n_steps_of = |class| taken.get(&ClassPlace { together: 0, class }).copied();
    let Some(is_out) = classes.left_out(max_rows, n_steps_of) else {
        return Ok(listed.without(&vec![false; listed.row_idxs.len()]));
    };
    let trimmed = classes.trimmed(&is_out);
    let mut anew = grouped_anew(&listed, &is_out, plan, regroup)?;
    let again = Listed::of(&anew);
    let facts = plan.facts.gather(again.row_idxs.iter().map(|row_idx| row_idx.index()));
    let classes = Classes { codes: &again.codes, ends: &again.ends, facts: &facts, ..classes };
    if classes.loss() > trimmed.loss {
        return Ok(listed.without(&trimmed.is_out));
    }
    anew.suppressed = listed.without(&is_out).suppressed;
    Ok(anew)
}

/// The rows that stay, grouped as if there were no others.
fn grouped_anew(
    listed: &Listed,
    is_out: &[bool],
    plan: &Plan<'_>,
    regroup: &Regroup<'_>,
) -> Result<Groups> {
    let mut stay: Vec<usize> = (0..is_out.len()).filter(|&row| !is_out[row]).collect();
    stay.sort_unstable_by_key(|&row| listed.row_idxs[row]);
    let column =
        |attribute: usize| stay.iter().map(|&row| listed.row(row)[attribute]).collect::<Vec<u32>>();
    let points = Points::new((0..listed.n_attributes).map(|own| vec![column(own)]).collect());
    let row_idxs: Vec<RowIdx> = stay.iter().map(|&row| listed.row_idxs[row]).collect();
    let facts = plan.facts.gather(row_idxs.iter().map(|row_idx| row_idx.index()));
    let mut groups = regroup(points, &Plan { facts: &facts, ..*plan })?;
    for row_idx in groups.blocks.iter_mut().flat_map(|block| &mut block.row_idxs) {
        *row_idx = row_idxs[row_idx.index()];
    }
    Ok(groups)
}
