//! The classes of a cell, ready to tell what any tuple would make any of them lose.
//!
//! For each slot of the ground stands a row with one loss per class. What a tuple would make every
//! class lose is the sum of the rows of its slots: additions of whole rows, without branches.

use super::Member;
use super::tuple_space::{Covered, NO_CODE, NO_SPAN, Span, TupleSpace, line_loss};

/// A tuple is tried in so many classes, those that would lose least by it.
const N_NEAREST: usize = 8;
/// Costs are compared with so many at a time.
const CHUNK: usize = 16;

/// Classes that would lose least by a tuple.
#[derive(Default)]
pub struct Nearest {
    /// How much more all rows together would lose, and which class, the least first.
    pub classes: Vec<(f32, usize)>,
    costs: Vec<f32>,
}

/// A search for the nearest classes. A type of its own, so that all of it is compiled for each
/// instruction set: a closure would be compiled once, for the least.
struct Search<'s, 'g, 'a> {
    board: &'s Board<'g, 'a>,
    own: usize,
    member: Member,
    nearest: &'s mut Nearest,
}

impl pulp::WithSimd for Search<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        let Search { board, own, member, nearest: Nearest { classes, costs } } = self;
        board.join_costs(member, costs);
        costs[own] = f32::INFINITY;
        classes.clear();
        let mut limit = f32::INFINITY;
        for (chunk_idx, chunk) in costs.chunks(CHUNK).enumerate() {
            // Without branches; most chunks have none.
            if !chunk.iter().fold(false, |any, &cost| any | (cost < limit)) {
                continue;
            }
            for (at, &cost) in chunk.iter().enumerate() {
                if cost < limit {
                    classes.truncate(N_NEAREST - 1);
                    let place = classes.partition_point(|&(other, _)| other <= cost);
                    classes.insert(place, (cost, chunk_idx * CHUNK + at));
                    if classes.len() == N_NEAREST {
                        limit = classes[N_NEAREST - 1].0;
                    }
                }
            }
        }
    }
}

/// A class and what its improvement needs to know.
pub struct Class {
    /// Tuples, none of them twice.
    pub members: Vec<Member>,
    /// Rows of all members.
    pub n_rows: u32,
    /// What each row loses.
    pub loss: f64,
    /// What the members cover.
    pub covered: Covered,
    /// What all members but one cover, member by member.
    rests: Vec<Span>,
    /// What each row loses without a member.
    pub rest_losses: Vec<f64>,
}

/// All classes of a cell.
pub struct Board<'g, 'a> {
    /// The tuples.
    pub ground: &'g TupleSpace<'a>,
    /// The classes; those without members are gone.
    pub classes: Vec<Class>,
    /// Per slot and class: what the class loses on the slot's attribute with the slot's code.
    table: Vec<f32>,
    /// The lines that have too many codes for the table.
    wide: Vec<WideLine>,
    sizes: Vec<f32>,
    /// What the rows of each class lose together; less than nothing where a class is gone.
    held: Vec<f32>,
    /// Classes without members; none is listed that has some.
    gone: Vec<usize>,
    lane_losses: Vec<f32>,
    counts: Vec<u32>,
    /// The vector instructions of this machine.
    arch: pulp::Arch,
}

struct WideLine {
    lane: usize,
    lo: Vec<f32>,
    hi: Vec<f32>,
}

impl<'g, 'a> Board<'g, 'a> {
    /// Sets up some classes.
    pub fn new(ground: &'g TupleSpace<'a>, mut classes: Vec<Vec<Member>>) -> Board<'g, 'a> {
        // Room for more: regrouping may find more classes than there were.
        classes.resize(classes.len() + classes.len() / 16 + 8, Vec::new());
        let n_classes = classes.len();
        let is_wide = |lane: &usize| ground.lanes()[*lane].wide_line().is_some();
        let line = |lane| WideLine { lane, lo: vec![0.0; n_classes], hi: vec![0.0; n_classes] };
        let mut board = Board {
            ground,
            classes: Vec::with_capacity(n_classes),
            table: vec![0.0; ground.n_slots() * n_classes],
            wide: (0..ground.n_lanes()).filter(is_wide).map(line).collect(),
            sizes: vec![0.0; n_classes],
            held: vec![0.0; n_classes],
            gone: Vec::new(),
            lane_losses: Vec::new(),
            counts: vec![0; ground.n_slots()],
            arch: pulp::Arch::new(),
        };
        for (at, members) in classes.into_iter().enumerate() {
            board.classes.push(Class {
                members: Vec::new(),
                n_rows: 0,
                loss: 0.0,
                covered: ground.nothing(),
                rests: Vec::new(),
                rest_losses: Vec::new(),
            });
            board.set_members(at, members);
        }
        board
    }

    /// Gives all classes other members.
    pub fn reset(&mut self, classes: Vec<Vec<Member>>) {
        self.gone.clear();
        for (class, members) in classes.into_iter().enumerate() {
            if members == self.classes[class].members && !members.is_empty() {
                continue;
            }
            self.set_members(class, members);
        }
    }

    /// Gives a class other members.
    pub fn set_members(&mut self, class: usize, members: Vec<Member>) {
        if members.is_empty() {
            self.gone.push(class);
        }
        self.classes[class].members = members;
        self.refresh(class);
    }

    fn refresh(&mut self, at: usize) {
        let ground = self.ground;
        let class = &mut self.classes[at];
        class.covered = ground.covered(&class.members);
        class.n_rows = class.members.iter().map(|member| member.n_rows).sum();
        class.loss = ground.loss(&class.covered);
        class.find_rests(ground, &mut self.counts);
        self.sizes[at] = class.n_rows as f32;
        self.held[at] = (f64::from(class.n_rows) * class.loss) as f32;
        if class.members.is_empty() {
            self.held[at] = f32::NEG_INFINITY;
            return;
        }
        let n_classes = self.sizes.len();
        for (lane, &span) in ground.lanes().iter().zip(&class.covered.spans) {
            // Wide lines are many codes, of which no table is kept.
            if lane.wide_line().is_some() {
                continue;
            }
            self.lane_losses.clear();
            lane.losses(span, &class.covered, &mut self.lane_losses);
            for (slot, &loss) in (lane.first()..).zip(&self.lane_losses) {
                self.table[slot * n_classes + at] = loss;
            }
        }
        for line in &mut self.wide {
            let Some((places, _)) = ground.lanes()[line.lane].wide_line() else { continue };
            let (lo, hi) = class.covered.spans[line.lane];
            line.lo[at] = places[lo as usize];
            line.hi[at] = places[hi as usize];
        }
    }

    /// What all rows together would lose more, class by class, if a tuple joined.
    #[inline(always)]
    pub fn join_costs(&self, member: Member, out: &mut Vec<f32>) {
        let n_classes = self.sizes.len();
        out.clear();
        out.resize(n_classes, 0.0);
        for (at, lane) in self.ground.lanes().iter().enumerate() {
            if lane.wide_line().is_none() {
                let slot = lane.first() + self.ground.code(member.tuple, at) as usize;
                let row = &self.table[slot * n_classes..][..n_classes];
                out.iter_mut().zip(row).for_each(|(sum, loss)| *sum += loss);
            }
        }
        for line in &self.wide {
            let Some((places, most)) = self.ground.lanes()[line.lane].wide_line() else { continue };
            let place = places[self.ground.code(member.tuple, line.lane) as usize];
            for ((sum, &lo), &hi) in out.iter_mut().zip(&line.lo).zip(&line.hi) {
                *sum += line_loss((lo, hi), place, most);
            }
        }
        let n_more = member.n_rows as f32;
        for ((cost, &size), &held) in out.iter_mut().zip(&self.sizes).zip(&self.held) {
            *cost = (size + n_more) * *cost - held;
        }
    }

    /// The classes that lose least if a member of another one joins them, and how much, the least
    /// first. Runs with the widest vector instructions that the machine has.
    pub fn find_nearest(&self, own: usize, member: Member, nearest: &mut Nearest) {
        self.arch.dispatch(Search { board: self, own, member, nearest });
    }

    /// What all rows together would lose more if a tuple joined a class.
    pub fn join_cost(&self, class: usize, member: Member) -> f64 {
        let class = &self.classes[class];
        let covered = &class.covered;
        let loss = self.ground.loss_with(&covered.spans, covered, member.tuple);
        f64::from(class.n_rows + member.n_rows) * loss - class.total()
    }

    /// What each row of a class would lose with a tuple in the place of a member; nothing as soon as
    /// that is too much.
    #[inline]
    pub fn loss_with_instead(
        &self,
        (class, member): (usize, usize),
        tuple: u32,
        is_too_much: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let class = &self.classes[class];
        let n_lanes = self.ground.n_lanes();
        let rest = &class.rests[member * n_lanes..][..n_lanes];
        self.ground.loss_with_unless(rest, &class.covered, tuple, is_too_much)
    }

    /// How many classes without members there are.
    pub fn n_gone(&self) -> usize {
        self.gone.len()
    }

    /// A class without members, which must get some now.
    pub fn gone(&mut self) -> Option<usize> {
        self.gone.pop()
    }

    /// The classes that have members.
    pub fn into_classes(self) -> Vec<Vec<Member>> {
        let classes = self.classes.into_iter().map(|class| class.members);
        classes.filter(|members| !members.is_empty()).collect()
    }
}

impl Class {
    /// What all rows lose.
    pub fn total(&self) -> f64 {
        f64::from(self.n_rows) * self.loss
    }

    /// All members but one.
    pub fn without(&self, at: usize) -> Vec<Member> {
        let mut members = self.members.clone();
        members.remove(at);
        members
    }

    /// The members and another one.
    pub fn with(&self, member: Member) -> Vec<Member> {
        let mut members = self.members.clone();
        members.push(member);
        members
    }

    /// What all members but one cover.
    fn find_rests(&mut self, ground: &TupleSpace<'_>, counts: &mut [u32]) {
        let n_lanes = ground.n_lanes();
        let places = || self.members.iter().map(|member| member.tuple);
        self.rests.clear();
        self.rests.resize(self.members.len() * n_lanes, NO_SPAN);
        for (at, lane) in ground.lanes().iter().enumerate() {
            let codes = || places().map(|place| ground.code(place, at));
            if lane.is_set() {
                codes().for_each(|code| counts[lane.first() + code as usize] += 1);
                let (n_distinct, _) = self.covered.spans[at];
                for (member, code) in codes().enumerate() {
                    let is_lone = counts[lane.first() + code as usize] == 1;
                    let rest = if is_lone { (n_distinct - 1, code) } else { (n_distinct, NO_CODE) };
                    self.rests[member * n_lanes + at] = rest;
                }
                codes().for_each(|code| counts[lane.first() + code as usize] = 0);
            } else {
                let ends = Ends::of(codes());
                for (member, code) in codes().enumerate() {
                    self.rests[member * n_lanes + at] = ends.without(code);
                }
            }
        }
        self.rest_losses.clear();
        let rests = self.rests.chunks_exact(n_lanes);
        self.rest_losses.extend(rests.map(|rest| ground.loss_of(rest)));
    }
}

/// The two least and the two greatest codes.
struct Ends {
    lo: [u32; 2],
    hi: [u32; 2],
}

impl Ends {
    fn of(codes: impl Iterator<Item = u32>) -> Ends {
        let mut ends = Ends { lo: [NO_SPAN.0; 2], hi: [NO_SPAN.1; 2] };
        for code in codes {
            let Ends { lo, hi } = &mut ends;
            lo[1] = lo[1].min(code.max(lo[0]));
            lo[0] = lo[0].min(code);
            hi[1] = hi[1].max(code.min(hi[0]));
            hi[0] = hi[0].max(code);
        }
        ends
    }

    fn without(&self, code: u32) -> Span {
        let lo = if code == self.lo[0] { self.lo[1] } else { self.lo[0] };
        let hi = if code == self.hi[0] { self.hi[1] } else { self.hi[0] };
        (lo, hi)
    }
}
