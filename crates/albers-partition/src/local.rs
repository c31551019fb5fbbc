//! Local recoding: records are grouped by what they lose together, not by where the space is cut.
//!
//! Source: Xu, Wang, Pei, Wang, Shi & Fu 2006 (utility-based anonymization by local recoding) for
//! growing classes by least added loss; Iwuchukwu & Naughton 2007 for work bounded by an index.
//! Departures: distinct tuples are grouped, not records, inside cells of near tuples; then tuples
//! are moved and swapped between classes while that lowers the loss, and near classes grown anew, at
//! first also where that adds a little, as in annealing. Where cuts lose less in the end, these are
//! the classes.
//! Guarantee: every class satisfies the requirement, if the whole table does. Classes may overlap
//! in space, but equal records are in one class: which of them goes where could only be decided by
//! what they carry, and whoever knows how would learn who of a class carries what. They never lose
//! more than [`crate::mondrian`], before rows are left out. The result depends on the table, the plan
//! and nothing else, not on the number of threads; without rules it does not depend on what rows carry.
//! Cost: O(tuples * cell) sums of table entries to group, with cells of two thousand tuples or more,
//! and as much for each round of moves; memory for the codes three times.
//!
//! ```text
//!   rows ──► distinct tuples ──cut──► cells ──grow──► classes ──move, swap, regroup──► classes
//!                                                                                        │
//!  lesser loss ◄── classes ◄──move, swap, regroup── cells of whole classes ◄──cut other──┘
//!       ▲
//!  rows ┴──cut, as mondrian does
//! ```

mod board;
mod cells;
mod greedy;
mod improve;
mod outliers;
mod pool;
mod regroup;
mod settle;
mod tuple_space;
mod tuples;

use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::points::Points;
use albers_storage::Result;
use albers_storage::watch::{Phase, Watch};
use rayon::prelude::*;

use crate::mondrian;
use crate::plan::{MAX_ATTRIBUTES, Plan};
use crate::sample::Tuples as SampledTuples;
use crate::split::Policy;
use crate::split::rule::{Rule, RuleScratch};

use board::Board;
use cells::Items;
use outliers::loss;
use settle::Absorbed;
use tuple_space::TupleSpace;
use tuples::Tuples;

/// Distinct tuples of a cell. The cost of a table grows with it; above one or two thousand the loss
/// hardly falls.
const CELL_TUPLES: usize = 2048;
/// About so many rows make a block of classes.
const BLOCK_ROWS: usize = 16_384;
/// A cell has room for so many classes at least, if tuples have one row each.
const CELL_CLASSES: usize = 32;

/// Divides points into classes that may overlap in space. The whole table must satisfy the
/// requirement, and regions cannot be asked for. `sample` is of a table that is too large to be cut
/// at once, see [`mondrian::partition`].
pub fn partition(
    points: Points,
    sample: Option<SampledTuples>,
    plan: &Plan<'_>,
    watch: &dyn Watch,
) -> Result<Groups> {
    let found = partition_weighed(points, sample, plan, watch)?;
    Ok(found.groups)
}

/// What came of local recoding, and of cuts beside it.
pub struct Weighed {
    /// Those that lose less.
    pub groups: Groups,
    /// What grouped rows lose: all of them together.
    pub grouped_loss: f64,
    /// What cut ones lose.
    pub cut_loss: f64,
}

impl Weighed {
    /// Whether the groups are those of local recoding.
    pub fn is_grouped(&self) -> bool {
        self.grouped_loss <= self.cut_loss
    }
}

/// The same with what both lose.
pub fn partition_weighed(
    points: Points,
    sample: Option<SampledTuples>,
    plan: &Plan<'_>,
    watch: &dyn Watch,
) -> Result<Weighed> {
    assert!(points.n_attributes() <= MAX_ATTRIBUTES, "checked when the job was planned");
    assert!(!plan.keep_regions, "classes that overlap have no regions of their own");
    watch.phase(Phase::Partition, Some(points.n_rows() as u64));
    if points.n_rows() == 0 {
        let groups = Groups::of_all(points.n_attributes(), Vec::new());
        return Ok(Weighed { groups, grouped_loss: 0.0, cut_loss: 0.0 });
    }
    let tuples = Tuples::new(points);
    let rule = plan.has_rule().then_some(Rule { requirement: plan.requirement, facts: plan.facts });
    let min_rows = u32::try_from(plan.min_rows()).unwrap_or(u32::MAX);
    let test = Test { tuples: &tuples, min_rows, rule };
    let grouper = Grouper { plan, tuples: &tuples, test };
    let classes = grouper.improve(&grouper.group(watch)?, watch)?;
    let grouped = blocks(&tuples, &classes);
    drop(classes);
    let cut = mondrian::partition(tuples.points(), sample, plan, watch)?;
    let (grouped_loss, cut_loss) = (loss(&grouped, plan), loss(&cut, plan));
    let groups = if cut_loss < grouped_loss { cut } else { grouped };
    Ok(Weighed { groups, grouped_loss, cut_loss })
}

/// The same without the rows whose absence saves most loss, so many at most.
pub fn partition_without_outliers(
    points: Points,
    sample: Option<SampledTuples>,
    plan: &Plan<'_>,
    max_left_out: u64,
    watch: &dyn Watch,
) -> Result<Groups> {
    let groups = partition(points, sample, plan, watch)?;
    if max_left_out == 0 {
        return Ok(groups);
    }
    let regroup = |points: Points, plan: &Plan<'_>| partition(points, None, plan, watch);
    outliers::leave_out(groups, plan, max_left_out, &regroup, watch)
}

/// A tuple with all its rows, named by its number in the table or its place in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    tuple: u32,
    n_rows: u32,
}

/// What classes must satisfy.
struct Test<'a> {
    tuples: &'a Tuples,
    min_rows: u32,
    /// The whole requirement, unless the number of rows says it all.
    rule: Option<Rule<'a>>,
}

impl Test<'_> {
    /// Whether members make a class; `ids` are the tuples' numbers in the table.
    fn holds(&self, members: &[Member], ids: &[u32], scratch: &mut RuleScratch) -> bool {
        let n_rows: u32 = members.iter().map(|member| member.n_rows).sum();
        self.holds_of(n_rows, members, ids, scratch)
    }

    /// The same where their rows have been counted.
    fn holds_of(
        &self,
        n_rows: u32,
        members: &[Member],
        ids: &[u32],
        scratch: &mut RuleScratch,
    ) -> bool {
        let rows = members
            .iter()
            .flat_map(|member| self.tuples.row_idxs(ids[member.tuple as usize]))
            .map(|row_idx| row_idx.get());
        n_rows >= self.min_rows && self.rule.as_ref().is_none_or(|rule| rule.holds(rows, scratch))
    }
}

/// What all cells share.
struct Grouper<'a> {
    plan: &'a Plan<'a>,
    tuples: &'a Tuples,
    test: Test<'a>,
}

impl Grouper<'_> {
    /// Classes of all tuples, found cell by cell.
    fn group(&self, watch: &dyn Watch) -> Result<Vec<Vec<Member>>> {
        let codes = |tuple| self.tuples.codes(tuple);
        let items = Items { n_items: self.tuples.len(), codes: &codes, size: &|_| 1 };
        let cells = cells::cells(self.plan, Policy::Compact, &items, self.cell_tuples());
        let grouped: Vec<_> = cells
            .par_iter()
            .map(|ids| {
                let grouped = self.group_cell(ids);
                let n_rows: u64 = ids.iter().map(|&id| u64::from(self.tuples.n_rows(id))).sum();
                watch.done(n_rows)?;
                Ok(grouped)
            })
            .collect::<Result<_>>()?;
        let (classes, rests): (Vec<_>, Vec<_>) = grouped.into_iter().unzip();
        let mut classes: Vec<Vec<Member>> = classes.into_iter().flatten().collect();
        let rest: Vec<Member> = rests.into_iter().flatten().collect();
        if !rest.is_empty() {
            let ids: Vec<u32> = (0..self.tuples.len() as u32).collect();
            let ground = TupleSpace::new(self.tuples, &ids, self.plan.space);
            match settle::absorb(&ground, &self.test, &ids, rest, &mut classes) {
                Absorbed::Class(class) => classes.push(class),
                Absorbed::All(_) => panic!("the whole table must satisfy the requirement"),
            }
        }
        Ok(classes)
    }

    /// Classes of the tuples of a cell, and the members of none, if the cell has no class at all.
    fn group_cell(&self, ids: &[u32]) -> (Vec<Vec<Member>>, Vec<Member>) {
        let ground = TupleSpace::new(self.tuples, ids, self.plan.space);
        let start = greedy::start(&ground, &self.test, ids);
        let mut board = Board::new(&ground, start.classes);
        let rest = settle::place(&mut board, &self.test, ids, start.rest);
        improve::improve(&mut board, &self.test, ids);
        let mut classes = board.into_classes();
        let mut unplaced = Vec::new();
        if !rest.is_empty() {
            match settle::absorb(&ground, &self.test, ids, rest, &mut classes) {
                Absorbed::Class(class) => classes.push(class),
                Absorbed::All(members) => unplaced = members,
            }
        }
        let named = |members: Vec<Member>| in_table(members, ids);
        (classes.into_iter().map(named).collect(), in_table(unplaced, ids))
    }

    /// Improves classes across the borders of the cells they were found in: in cells of whole
    /// classes, cut otherwise.
    fn improve(&self, classes: &[Vec<Member>], watch: &dyn Watch) -> Result<Vec<Vec<Member>>> {
        let codes = |class: u32| self.tuples.codes(classes[class as usize][0].tuple);
        let size = |class: u32| classes[class as usize].len();
        let items = Items { n_items: classes.len(), codes: &codes, size: &size };
        let cells = cells::cells(self.plan, Policy::Median, &items, self.cell_tuples());
        let improved: Vec<Vec<Vec<Member>>> = cells
            .par_iter()
            .map(|cell| {
                watch.check()?;
                let own: Vec<&[Member]> =
                    cell.iter().map(|&class| classes[class as usize].as_slice()).collect();
                Ok(self.improve_cell(&own))
            })
            .collect::<Result<_>>()?;
        Ok(improved.into_iter().flatten().collect())
    }

    fn improve_cell(&self, classes: &[&[Member]]) -> Vec<Vec<Member>> {
        let mut ids: Vec<u32> =
            classes.iter().flat_map(|class| class.iter().map(|member| member.tuple)).collect();
        ids.sort_unstable();
        ids.dedup();
        let ground = TupleSpace::new(self.tuples, &ids, self.plan.space);
        let place = |member: &Member| Member {
            tuple: ids.partition_point(|&id| id < member.tuple) as u32,
            ..*member
        };
        let placed = classes.iter().map(|class| class.iter().map(place).collect()).collect();
        let mut board = Board::new(&ground, placed);
        improve::improve(&mut board, &self.test, &ids);
        board.into_classes().into_iter().map(|members| in_table(members, &ids)).collect()
    }

    fn cell_tuples(&self) -> usize {
        CELL_TUPLES.max((self.test.min_rows as usize).saturating_mul(CELL_CLASSES))
    }
}

/// Members by the numbers of their tuples in the table.
fn in_table(mut members: Vec<Member>, ids: &[u32]) -> Vec<Member> {
    members.iter_mut().for_each(|member| member.tuple = ids[member.tuple as usize]);
    members
}

/// The rows of the classes.
fn blocks(tuples: &Tuples, classes: &[Vec<Member>]) -> Groups {
    let mut blocks = vec![ClassBlock::default()];
    for class in classes {
        if blocks.last().is_none_or(|block| block.row_idxs.len() >= BLOCK_ROWS) {
            blocks.push(ClassBlock::default());
        }
        let block = blocks.last_mut().expect("there is one from the start");
        for &Member { tuple, .. } in class {
            let rows = tuples.row_idxs(tuple);
            block.row_idxs.extend_from_slice(rows);
            rows.iter().for_each(|_| block.codes.extend_from_slice(tuples.codes(tuple)));
        }
        block.class_ends.push(block.row_idxs.len() as u32);
    }
    Groups::of_all(tuples.n_attributes(), blocks)
}

#[cfg(test)]
mod tests {
    use albers_privacy::Requirement;
    use albers_table::domain::Ruler;
    use albers_table::mix::mix;

    use super::pool::Pool;
    use super::*;
    use albers_classes::space::{Axis, AxisKind, Space};
    use albers_privacy::Facts;

    /// An interval of many values, one with a missing value, and a set.
    fn space() -> Space {
        let axis = |kind| Axis { kind, weight: 1.0, preferred: false };
        Space {
            axes: vec![
                axis(AxisKind::Interval { scale: 1.0 / 4999.0, ruler: Ruler::of_codes() }),
                axis(AxisKind::Interval { scale: 1.0 / 9.0, ruler: Ruler::of_codes() }),
                axis(AxisKind::Set { scale: 1.0 / 69.0, n_codes: 70 }),
            ],
        }
    }

    fn points(seed: u64, n_rows: u64) -> Points {
        let draw = |column: u64, n_codes: u64| -> Vec<u32> {
            (0..n_rows).map(|row| (mix(seed ^ mix(column << 32 | row)) % n_codes) as u32).collect()
        };
        // A missing value is coded 0, and the others lie as far above it as they are wide.
        let ages = draw(1, 11).into_iter().map(|code| if code == 0 { 0 } else { code + 9 });
        Points::new(vec![vec![draw(0, 5000)], vec![ages.collect()], vec![draw(2, 70)]])
    }

    fn with_cell(seed: u64, n_rows: u64, k: u64, check: impl Fn(&Grouper<'_>, &[u32])) {
        let requirement = Requirement::new(k, false, Vec::new(), Vec::new()).expect("valid");
        let facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
        let (space, policy) = (space(), Policy::Compact);
        let (requirement, facts, space) = (&requirement, &facts, &space);
        let grain = crate::grain::Grain::default();
        let (keep_regions, labels_apart) = (false, false);
        let plan = Plan {
            space,
            requirement,
            facts,
            workload: None,
            policy,
            keep_regions,
            labels_apart,
            is_exact: false,
            trust: None,
            portfolio: None,
            grain,
            seed: 0,
        };
        let tuples = Tuples::new(points(seed, n_rows));
        let test = Test { tuples: &tuples, min_rows: k as u32, rule: None };
        let ids: Vec<u32> = (0..tuples.len() as u32).collect();
        check(&Grouper { plan: &plan, tuples: &tuples, test }, &ids);
    }

    #[test]
    fn improvement_never_adds_loss() {
        for seed in 0..20 {
            with_cell(seed, 400, 2 + seed % 5, |grouper, ids| {
                let ground = TupleSpace::new(grouper.tuples, ids, grouper.plan.space);
                let start = greedy::start(&ground, &grouper.test, ids);
                let mut board = Board::new(&ground, start.classes);
                let rest = settle::place(&mut board, &grouper.test, ids, start.rest);
                assert!(rest.is_empty(), "a class of {} rows takes any row", 2 + seed % 5);
                let total =
                    |board: &Board<'_, '_>| board.classes.iter().map(board::Class::total).sum();
                let before: f64 = total(&board);
                improve::improve(&mut board, &grouper.test, ids);
                let after: f64 = total(&board);
                assert!(after < before, "{before} became {after}");
            });
        }
    }

    #[test]
    fn the_costs_of_joining_all_classes_are_those_of_joining_each() {
        with_cell(7, 600, 3, |grouper, ids| {
            let ground = TupleSpace::new(grouper.tuples, ids, grouper.plan.space);
            let board = Board::new(&ground, greedy::start(&ground, &grouper.test, ids).classes);
            let mut costs = Vec::new();
            for tuple in 0..50 {
                let member = Member { tuple, n_rows: 1 + tuple % 3 };
                board.join_costs(member, &mut costs);
                for (class, &cost) in costs.iter().enumerate() {
                    if board.classes[class].members.is_empty() {
                        assert_eq!(cost, f32::INFINITY);
                    } else {
                        let exact = board.join_cost(class, member);
                        assert!((f64::from(cost) - exact).abs() < 1e-4, "{cost} is not {exact}");
                    }
                }
            }
        });
    }

    #[test]
    fn losses_by_places_are_those_by_codes_to_the_last_bit() {
        with_cell(5, 900, 4, |grouper, ids| {
            let ground = TupleSpace::new(grouper.tuples, ids, grouper.plan.space);
            let member = |tuple| Member { tuple, n_rows: 1 };
            let mut pool = Pool::default();
            for seed in 0..40u32 {
                let draw = |at: u32| (mix(u64::from(seed * 8 + at)) % ids.len() as u64) as u32;
                let first = [member(draw(0)), member(draw(1))];
                let mut covered = ground.covered(&first[..1 + seed as usize % 2]);
                for (lane, &span) in ground.lanes().iter().zip(&covered.spans) {
                    let mut by_places = Vec::new();
                    lane.losses(span, &covered, &mut by_places);
                    let by_code = |code| lane.loss_with(span, &covered, code).to_bits();
                    let by_codes: Vec<u32> = (0..lane.n_codes() as u32).map(by_code).collect();
                    assert_eq!(
                        by_places.iter().map(|own| own.to_bits()).collect::<Vec<_>>(),
                        by_codes
                    );
                }
                pool.fill(&ground, (0..ids.len() as u32).map(member));
                pool.begin(&ground, &covered);
                let changed = ground.cover(&mut covered, pool.take(draw(2) as usize).tuple);
                pool.weigh(&ground, &covered, changed);
                for (member, &loss) in pool.members.iter().zip(pool.losses()) {
                    let exact = ground.loss_with(&covered.spans, &covered, member.tuple);
                    assert!((f64::from(loss) - exact).abs() < 1e-5, "{loss} is not {exact}");
                }
            }
        });
    }

    #[test]
    fn a_loss_is_too_much_on_some_lanes_only_if_it_is_on_all() {
        with_cell(9, 300, 3, |grouper, ids| {
            let ground = TupleSpace::new(grouper.tuples, ids, grouper.plan.space);
            for tuple in 1..ids.len() as u32 {
                let covered = ground.covered(&[Member { tuple: tuple - 1, n_rows: 1 }]);
                let exact = ground.loss_with(&covered.spans, &covered, tuple);
                for most in [0.0, exact / 2.0, exact.next_down(), exact, 2.0] {
                    let within = ground
                        .loss_with_unless(&covered.spans, &covered, tuple, |loss| loss > most);
                    assert_eq!(within, (exact <= most).then_some(exact));
                }
            }
        });
    }

    #[test]
    fn a_missing_value_among_others_loses_the_whole_interval() {
        with_cell(3, 300, 2, |grouper, ids| {
            let ground = TupleSpace::new(grouper.tuples, ids, grouper.plan.space);
            let age = |tuple: &u32| grouper.tuples.codes(ids[*tuple as usize])[1];
            let member = |tuple| Member { tuple, n_rows: 1 };
            let missing = (0..ids.len() as u32).find(|tuple| age(tuple) == 0).expect("some");
            for tuple in (0..ids.len() as u32).filter(|tuple| age(tuple) > 0) {
                let covered = ground.covered(&[member(missing), member(tuple)]);
                let alone = ground.covered(&[member(tuple)]);
                assert_eq!(ground.loss(&alone), 0.0);
                let others: f64 = ground.loss(&covered) - 1.0;
                let codes = [missing, tuple].map(|tuple| grouper.tuples.codes(tuple));
                let width = f64::from(codes[0][0].abs_diff(codes[1][0])) / 4999.0;
                let set = if codes[0][2] == codes[1][2] { 0.0 } else { 1.0 / 69.0 };
                assert!((others - width - set).abs() < 1e-5);
            }
        });
    }
}
