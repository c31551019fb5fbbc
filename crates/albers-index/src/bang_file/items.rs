//! What is divided into blocks: rows in the order of their keys, or lots of such rows.

use albers_partition::split::rule::Rule;
use albers_privacy::ClassSummary;

use super::sorted::SortedKeys;

/// Things in the order of their keys. No region that is looked at holds a part of one.
pub(super) trait Items: Sync {
    /// Tells whether some of them satisfy.
    type Judge<'j>: Judge
    where
        Self: 'j;

    /// How often space can be halved.
    fn n_levels(&self) -> usize;

    /// The least key of an item.
    fn first_key(&self, item: u32) -> &[u64];

    /// The greatest key of an item.
    fn last_key(&self, item: u32) -> &[u64];

    /// The rows of some items.
    fn n_rows(&self, items: &[u32]) -> usize;

    /// A judge without items.
    fn judge(&self) -> Self::Judge<'_>;
}

/// Whether parts of a block satisfy a requirement that looks at more than their number of rows. Each
/// part is a run of the block's items.
pub(super) trait Judge {
    /// The items of the next block, all of them inside.
    fn begin(&mut self, items: &[u32]);

    /// Some items are no longer inside.
    fn leave(&mut self, items: &[u32]);

    /// Whether the items inside satisfy, and those outside do.
    fn holds_inside(&mut self) -> bool;

    /// Whether some items satisfy, and all others of the block do.
    fn holds_apart(&mut self, part: &[u32]) -> bool;

    /// Some items are no longer of the block.
    fn forget(&mut self, items: &[u32]);
}

/// Rows, one by one.
#[derive(Clone, Copy)]
pub(super) struct RowItems<'a> {
    pub(super) keys: &'a SortedKeys,
    pub(super) rule: Option<Rule<'a>>,
}

impl Items for RowItems<'_> {
    type Judge<'j>
        = RowJudge<'j>
    where
        Self: 'j;

    fn n_levels(&self) -> usize {
        self.keys.n_levels()
    }

    #[inline]
    fn first_key(&self, item: u32) -> &[u64] {
        self.keys.key(item)
    }

    #[inline]
    fn last_key(&self, item: u32) -> &[u64] {
        self.keys.key(item)
    }

    #[inline]
    fn n_rows(&self, items: &[u32]) -> usize {
        items.len()
    }

    fn judge(&self) -> RowJudge<'_> {
        let sides = self.rule.map(|rule| {
            let empty = || ClassSummary::new(rule.requirement.shape());
            Sides { rule, all: empty(), inside: empty(), outside: empty(), part: empty() }
        });
        RowJudge { keys: self.keys, sides }
    }
}

/// Counts as rows come and go.
pub(super) struct RowJudge<'a> {
    keys: &'a SortedKeys,
    sides: Option<Sides<'a>>,
}

struct Sides<'a> {
    rule: Rule<'a>,
    /// All rows of the block, of the region that was reached, those outside of it, and of a part.
    all: ClassSummary,
    inside: ClassSummary,
    outside: ClassSummary,
    part: ClassSummary,
}

impl Judge for RowJudge<'_> {
    fn begin(&mut self, items: &[u32]) {
        let Some(sides) = &mut self.sides else { return };
        [&mut sides.all, &mut sides.inside, &mut sides.outside]
            .into_iter()
            .for_each(ClassSummary::clear);
        for row in self.keys.rows(items) {
            sides.rule.facts.add(row as usize, &mut sides.all);
            sides.rule.facts.add(row as usize, &mut sides.inside);
        }
    }

    fn leave(&mut self, items: &[u32]) {
        let Some(sides) = &mut self.sides else { return };
        for row in self.keys.rows(items) {
            sides.rule.facts.remove(row as usize, &mut sides.inside);
            sides.rule.facts.add(row as usize, &mut sides.outside);
        }
    }

    fn holds_inside(&mut self) -> bool {
        self.sides.as_ref().is_none_or(|sides| {
            let requirement = sides.rule.requirement;
            requirement.holds(&sides.inside) && requirement.holds(&sides.outside)
        })
    }

    fn holds_apart(&mut self, part: &[u32]) -> bool {
        let Some(sides) = &mut self.sides else { return true };
        let Rule { requirement, facts } = sides.rule;
        let rows = self.keys.rows(part);
        sides.part.clear();
        for row in rows.clone() {
            facts.add(row as usize, &mut sides.part);
            facts.remove(row as usize, &mut sides.all);
        }
        let holds = requirement.holds(&sides.part) && requirement.holds(&sides.all);
        rows.for_each(|row| facts.add(row as usize, &mut sides.all));
        holds
    }

    fn forget(&mut self, items: &[u32]) {
        let Some(sides) = &mut self.sides else { return };
        self.keys.rows(items).for_each(|row| sides.rule.facts.remove(row as usize, &mut sides.all));
    }
}
