//! Tuples to choose from, and what each would make a growing class lose.
//!
//! Codes stand lane by lane. Most tuples that join a class change few of its spans, so that what the
//! others would make it lose is kept, and only the lanes that changed are weighed again.

use super::Member;
use super::tuple_space::{Covered, TupleSpace, line_loss};

/// The tuples.
#[derive(Default)]
pub struct Pool {
    /// Each with the rows that may be taken of it.
    pub members: Vec<Member>,
    /// Lane by lane, the codes of all members.
    codes: Vec<Vec<u32>>,
    /// The places of these codes, on lanes that are lines.
    places: Vec<Vec<f32>>,
    /// Lane by lane, what a row of the class would lose there with each member.
    on_lanes: Vec<Vec<f32>>,
    /// The sums over all lanes.
    losses: Vec<f32>,
    /// What a row would lose on a lane with each of its codes.
    by_code: Vec<f32>,
}

impl Pool {
    /// Forgets all tuples, and takes these.
    pub fn fill(&mut self, ground: &TupleSpace<'_>, members: impl IntoIterator<Item = Member>) {
        self.members.clear();
        self.members.extend(members);
        self.codes.resize(ground.n_lanes(), Vec::new());
        self.places.resize(ground.n_lanes(), Vec::new());
        self.on_lanes.resize(ground.n_lanes(), Vec::new());
        for (lane, codes) in self.codes.iter_mut().enumerate() {
            codes.clear();
            codes.extend(self.members.iter().map(|member| ground.code(member.tuple, lane)));
            let own = &mut self.places[lane];
            own.clear();
            if let Some((places, _)) = ground.lanes()[lane].line() {
                own.extend(codes.iter().map(|&code| places[code as usize]));
            }
        }
        for losses in self.on_lanes.iter_mut().chain(std::iter::once(&mut self.losses)) {
            losses.clear();
            losses.resize(self.members.len(), 0.0);
        }
    }

    /// Takes a member out; the last one takes its place.
    pub fn take(&mut self, at: usize) -> Member {
        for (codes, losses) in self.codes.iter_mut().zip(&mut self.on_lanes) {
            codes.swap_remove(at);
            losses.swap_remove(at);
        }
        for places in self.places.iter_mut().filter(|places| !places.is_empty()) {
            places.swap_remove(at);
        }
        self.losses.swap_remove(at);
        self.members.swap_remove(at)
    }

    /// What a row of the class would lose with each member, as it was weighed last.
    pub fn losses(&self) -> &[f32] {
        &self.losses
    }

    /// Weighs the lanes of which the bits are set, of a class that covers more now.
    pub fn weigh(&mut self, ground: &TupleSpace<'_>, covered: &Covered, lanes: u64) {
        if self.members.is_empty() {
            return;
        }
        let mut rest = lanes;
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let lane = &ground.lanes()[at];
            let (codes, kept) = (&self.codes[at], &mut self.on_lanes[at]);
            if let Some((places, most)) = lane.line() {
                let (a, b) = covered.spans[at];
                let ends = (places[a as usize], places[b as usize]);
                weigh_line(&self.places[at], (ends, most), kept, &mut self.losses);
                continue;
            }
            let all = codes.iter().zip(kept).zip(&mut self.losses);
            if lane.n_codes() <= codes.len() {
                self.by_code.clear();
                lane.losses(covered.spans[at], covered, &mut self.by_code);
                for ((&code, kept), sum) in all {
                    let loss = self.by_code[code as usize];
                    *sum += loss - *kept;
                    *kept = loss;
                }
            } else {
                for ((&code, kept), sum) in all {
                    let loss = lane.loss_with(covered.spans[at], covered, code);
                    *sum += loss - *kept;
                    *kept = loss;
                }
            }
        }
    }

    /// Weighs all lanes of a class that has just begun.
    pub fn begin(&mut self, ground: &TupleSpace<'_>, covered: &Covered) {
        for losses in self.on_lanes.iter_mut().chain(std::iter::once(&mut self.losses)) {
            losses.fill(0.0);
        }
        self.weigh(ground, covered, ground.all_lanes());
    }
}

/// Weighs the places of a line against the ends of a class: without branches and tables, so that the
/// compiler takes several at a time.
fn weigh_line(
    places: &[f32],
    (ends, most): ((f32, f32), f32),
    kept: &mut [f32],
    losses: &mut [f32],
) {
    for ((&place, kept), sum) in places.iter().zip(kept).zip(losses) {
        let loss = line_loss(ends, place, most);
        *sum += loss - *kept;
        *kept = loss;
    }
}
