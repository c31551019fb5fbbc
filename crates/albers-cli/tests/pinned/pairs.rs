//! Draws jobs so that every two choices that fit meet in one of them.
//!
//! Source: the greedy covering of Cohen et al. 1997 (AETG), without its random part.
//! Departures: candidates come from pairs that are evenly spread over those still missing, so that
//! the same factors always give the same jobs.
//! Guarantee: two choices that no draw brings together fit into no draw at all.
//! Cost: some thousand looks at the choices of a job; no time beside running one.

/// What can be said of a job: its choices, by what they are and what they cannot stand beside.
pub struct Factor {
    /// What is chosen.
    pub name: &'static str,
    /// From what.
    pub choices: Vec<Choice>,
}

/// One choice of a factor.
pub struct Choice {
    /// What it adds to the arguments, with `{words}` of the table.
    pub flags: &'static str,
    /// What it is, as bits.
    pub gives: u32,
    /// What it cannot stand beside, as bits.
    pub bars: u32,
}

impl Choice {
    fn fits(&self, other: &Choice) -> bool {
        self.bars & other.gives == 0 && other.bars & self.gives == 0
    }
}

/// One choice of each factor, by its number.
pub type Draw = Vec<usize>;

/// How many candidates each draw is the best of.
const N_CANDIDATES: usize = 60;

/// Draws until no two choices that fit are left apart.
pub fn draws(factors: &[Factor]) -> Vec<Draw> {
    let mut cover = Cover::new(factors);
    let mut drawn = Vec::new();
    loop {
        let missing = cover.missing();
        let step = missing.len().div_ceil(N_CANDIDATES).max(1);
        let candidates = missing.iter().step_by(step).filter_map(|&pair| cover.completed(pair));
        let best = candidates.map(|draw| (cover.n_new(&draw), draw)).reduce(|best, other| {
            // The first of equals, whatever the order in which a maximum would be looked for.
            if other.0 > best.0 { other } else { best }
        });
        match best {
            Some((_, draw)) => {
                cover.add(&draw);
                drawn.push(draw);
            }
            // None of the candidates fits into any draw, so they are nothing to wait for.
            None if missing.is_empty() => return drawn,
            None => missing.iter().step_by(step).for_each(|&pair| cover.give_up(pair)),
        }
    }
}

/// Pairs of choices that fit and meet in no draw: none, if the draws are as they should be. The
/// second number is that of the pairs that meet.
pub fn apart(factors: &[Factor], draws: &[Draw]) -> (Vec<String>, usize) {
    let mut cover = Cover::new(factors);
    draws.iter().for_each(|draw| cover.add(draw));
    let n_met = cover.pairs().filter(|&pair| cover.is_met(pair)).count();
    let missing = cover.missing().into_iter().filter(|&pair| cover.completed(pair).is_some());
    let named = |(factor, choice): (usize, usize)| {
        format!("{} '{}'", factors[factor].name, factors[factor].choices[choice].flags)
    };
    (missing.map(|(a, b)| format!("{} and {}", named(a), named(b))).collect(), n_met)
}

/// A choice by its factor and its number.
type Place = (usize, usize);

/// Which choices have met.
struct Cover<'f> {
    factors: &'f [Factor],
    /// The number of the first choice of each factor among all choices.
    first: Vec<usize>,
    n_choices: usize,
    met: Vec<bool>,
    n_uses: Vec<usize>,
}

impl<'f> Cover<'f> {
    fn new(factors: &'f [Factor]) -> Cover<'f> {
        let mut first = Vec::new();
        let mut n_choices = 0;
        for factor in factors {
            first.push(n_choices);
            n_choices += factor.choices.len();
        }
        let (met, n_uses) = (vec![false; n_choices * n_choices], vec![0; n_choices]);
        Cover { factors, first, n_choices, met, n_uses }
    }

    fn number(&self, (factor, choice): Place) -> usize {
        self.first[factor] + choice
    }

    fn fits(&self, a: Place, b: Place) -> bool {
        self.factors[a.0].choices[a.1].fits(&self.factors[b.0].choices[b.1])
    }

    fn is_met(&self, (a, b): (Place, Place)) -> bool {
        self.met[self.number(a) * self.n_choices + self.number(b)]
    }

    fn give_up(&mut self, (a, b): (Place, Place)) {
        let (a, b) = (self.number(a), self.number(b));
        self.met[a * self.n_choices + b] = true;
        self.met[b * self.n_choices + a] = true;
    }

    fn add(&mut self, draw: &Draw) {
        for pair in pairs_of(draw) {
            self.give_up(pair);
        }
        for place in draw.iter().copied().enumerate() {
            let number = self.number(place);
            self.n_uses[number] += 1;
        }
    }

    /// All pairs of choices of two factors that fit.
    fn pairs(&self) -> impl Iterator<Item = (Place, Place)> + '_ {
        let places = move |factor: usize| {
            (0..self.factors[factor].choices.len()).map(move |choice| (factor, choice))
        };
        let n_factors = self.factors.len();
        let factors = (0..n_factors).flat_map(move |a| (a + 1..n_factors).map(move |b| (a, b)));
        factors
            .flat_map(move |(a, b)| places(a).flat_map(move |a| places(b).map(move |b| (a, b))))
            .filter(|&(a, b)| self.fits(a, b))
    }

    /// Those that have not met.
    fn missing(&self) -> Vec<(Place, Place)> {
        self.pairs().filter(|&pair| !self.is_met(pair)).collect()
    }

    fn n_new(&self, draw: &Draw) -> usize {
        pairs_of(draw).filter(|&pair| !self.is_met(pair)).count()
    }

    /// A draw that holds a pair and as many new pairs as each choice in turn can bring.
    fn completed(&self, (a, b): (Place, Place)) -> Option<Draw> {
        let mut chosen: Vec<Option<usize>> = vec![None; self.factors.len()];
        chosen[a.0] = Some(a.1);
        chosen[b.0] = Some(b.1);
        self.complete(&mut chosen).then(|| chosen.into_iter().flatten().collect())
    }

    /// Fills what is not chosen yet, going back where nothing fits.
    fn complete(&self, chosen: &mut Vec<Option<usize>>) -> bool {
        let Some(factor) = chosen.iter().position(Option::is_none) else { return true };
        let others: Vec<Place> =
            chosen.iter().enumerate().filter_map(|(at, own)| Some((at, (*own)?))).collect();
        let all = (0..self.factors[factor].choices.len()).map(|choice| (factor, choice));
        let fitting = all.filter(|&own| others.iter().all(|&other| self.fits(own, other)));
        let mut ranked: Vec<(usize, usize, usize)> = fitting
            .map(|own| {
                let n_met = others.iter().filter(|&&other| self.is_met((own, other))).count();
                (n_met, self.n_uses[self.number(own)], own.1)
            })
            .collect();
        ranked.sort_unstable();
        for (_, _, choice) in ranked {
            chosen[factor] = Some(choice);
            if self.complete(chosen) {
                return true;
            }
        }
        chosen[factor] = None;
        false
    }
}

fn pairs_of(draw: &Draw) -> impl Iterator<Item = (Place, Place)> + '_ {
    let places = || draw.iter().copied().enumerate();
    places().flat_map(move |a| places().skip(a.0 + 1).map(move |b| (a, b)))
}
