//! A search of the lattice, and what it chooses.

use albers_classes::Attribute;
use albers_lattice::bounded::{self, Bounded};
use albers_lattice::choose::best;
use albers_lattice::counted_table::CountedTable;
use albers_lattice::dimension::Dimension;
use albers_lattice::incognito::{MAX_CUBE_ATTRIBUTES, Variant};
use albers_lattice::lattice::Levels;
use albers_lattice::question::{Question, Verdict};
use albers_lattice::search::{Algorithm, Effort, Found, Generalization, search, too_many_nodes};
use albers_privacy::Requirement;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::domain::Domain;

use crate::error::{Error, Result};
use crate::plan::SearchPlan;
use crate::report::{GeneralizationReport, Note};

/// A lattice that is to be searched.
pub(crate) struct LatticeSearch<'p> {
    plan: &'p SearchPlan,
    /// The quasi-identifiers.
    pub(crate) dimensions: Vec<Dimension>,
    n_rows: u64,
    max_left_out: u64,
    /// Things the user should know.
    pub(crate) notes: Vec<Note>,
}

/// What a search found, exactly or in the time given.
pub(crate) enum SearchOutcome {
    /// All there is.
    Exact(Found),
    /// The best by then.
    Bounded(Bounded),
}

/// The levels of a release, and how they were found.
pub(crate) struct ChosenLevels {
    pub(crate) levels: Levels,
    pub(crate) report: GeneralizationReport,
    pub(crate) notes: Vec<Note>,
}

impl<'p> LatticeSearch<'p> {
    /// Of these quasi-identifiers; refuses a lattice that cannot be kept track of.
    pub(crate) fn new(
        plan: &'p SearchPlan,
        attributes: &[Attribute],
        n_rows: u64,
        max_left_out: u64,
    ) -> Result<LatticeSearch<'p>> {
        let dimensions = attributes.iter().map(|own| dimension_of(plan, &own.domain, own.weight));
        let dimensions: Vec<Dimension> = dimensions.collect();
        if plan.levels.is_none() {
            check_size(plan, &dimensions)?;
        }
        let added = attributes.iter().filter(|attribute| {
            attribute.domain.hierarchy().is_some_and(|hierarchy| hierarchy.added_top())
        });
        let notes =
            added.map(|own| Note::AddedTop { column: own.domain.name().to_owned() }).collect();
        Ok(LatticeSearch { plan, dimensions, n_rows, max_left_out, notes })
    }

    /// What the search asks of each generalization.
    pub(crate) fn question<'s>(&'s self, requirement: &'s Requirement) -> Question<'s> {
        Question {
            dimensions: &self.dimensions,
            requirement,
            n_rows: self.n_rows,
            max_suppressed: self.max_left_out,
        }
    }

    /// Searches.
    pub(crate) fn search(
        &self,
        counted: &CountedTable<'_>,
        question: &Question<'_>,
    ) -> Result<SearchOutcome> {
        let SearchPlan { minimize, algorithm, .. } = *self.plan;
        Ok(match self.plan.time {
            Some(time) => {
                SearchOutcome::Bounded(bounded::search(counted, question, minimize, time)?)
            }
            None => SearchOutcome::Exact(search(counted, question, algorithm)?),
        })
    }

    /// The levels that the plan gives, or the best that the search finds.
    pub(crate) fn choose(
        &self,
        counted: &CountedTable<'_>,
        question: &Question<'_>,
    ) -> Result<ChosenLevels> {
        if let Some(levels) = self.given_levels()? {
            let set = counted.derive_all(counted.table(), &levels)?;
            let verdict = question.judge(counted.workspace, &set)?;
            if !verdict.holds {
                return Err(self.refused(counted, &levels, &verdict));
            }
            let given = Generalization { levels, verdict };
            return Ok(self.chosen(counted, given, 1, None));
        }
        match self.search(counted, question)? {
            SearchOutcome::Exact(found) => {
                let least = best(counted, question, &found, self.plan.minimize)?;
                let least = least.ok_or_else(|| self.nothing_satisfies())?;
                let n_satisfying = Some(found.satisfying.len() as u64);
                let Effort { checked, .. } = found.effort;
                Ok(self.chosen(counted, least, checked, n_satisfying))
            }
            SearchOutcome::Bounded(bounded) => {
                let (gap, bound, checked) = (bounded.gap(), bounded.bound, bounded.checked);
                let least = bounded.best.ok_or_else(|| self.nothing_satisfies())?;
                let mut chosen = self.chosen(counted, least, checked, None);
                chosen.report.bound = Some(bound);
                chosen.report.gap = Some(gap);
                chosen.notes.push(self.gap_note(gap));
                Ok(chosen)
            }
        }
    }

    /// How good the best that was found in the time given is.
    pub(crate) fn gap_note(&self, gap: f64) -> Note {
        Note::Gap { minimize: self.plan.minimize, gap }
    }

    /// The levels that the plan gives; columns that it does not name stay as they are.
    fn given_levels(&self) -> Result<Option<Levels>> {
        let Some(given) = &self.plan.levels else { return Ok(None) };
        let level_of = |dimension: &Dimension| {
            let level = given.get(dimension.name()).copied().unwrap_or(0);
            match level <= dimension.height() {
                true => Ok(level),
                false => Err(Error::usage(
                    format!(
                        "level {level} of column '{}' is above the top of its hierarchy",
                        dimension.name()
                    ),
                    format!("use a level from 0 to {}", dimension.height()),
                )),
            }
        };
        self.dimensions.iter().map(level_of).collect::<Result<Levels>>().map(Some)
    }

    fn chosen(
        &self,
        counted: &CountedTable<'_>,
        generalization: Generalization,
        checked: u64,
        satisfying: Option<u64>,
    ) -> ChosenLevels {
        let Generalization { levels, verdict } = generalization;
        let names = self.dimensions.iter().map(|dimension| dimension.name().to_owned());
        let report = GeneralizationReport {
            levels: names.zip(levels.iter().copied()).collect(),
            height: counted.height(&levels) as u64,
            precision: counted.precision(&levels, &verdict),
            checked,
            satisfying,
            bound: None,
            gap: None,
        };
        ChosenLevels { levels, report, notes: Vec::new() }
    }

    /// Why the levels that the plan gives cannot be published.
    fn refused(&self, counted: &CountedTable<'_>, levels: &[u16], verdict: &Verdict) -> Error {
        let named = self.dimensions.iter().zip(levels);
        let shown: Vec<String> =
            named.map(|(dimension, level)| format!("{}={level}", dimension.name())).collect();
        let levels = shown.join(",");
        let (n_rows, n_suppressed) = (counted.n_rows(), verdict.n_suppressed);
        let max_suppressed = self.max_left_out;
        if n_suppressed > max_suppressed {
            return Error::LevelsViolate { levels, n_suppressed, max_suppressed, n_rows };
        }
        let problem = match verdict.n_classes {
            0 => "no class at these levels satisfies the requirement",
            _ => "the classes are not close enough to the distribution of the rows that are left",
        };
        Error::LevelsUnfit { levels, problem }
    }

    /// Nothing was found.
    pub(crate) fn nothing_satisfies(&self) -> Error {
        Error::NothingSatisfies { n_rows: self.n_rows, max_suppressed: self.max_left_out }
    }
}

/// A quasi-identifier as a dimension.
pub(crate) fn dimension_of(plan: &SearchPlan, domain: &Domain, weight: f64) -> Dimension {
    match plan.all_or_nothing {
        true => Dimension::all_or_nothing(domain, weight),
        false => Dimension::new(domain, weight),
    }
}

/// Refuses a lattice that an exact search cannot keep track of.
fn check_size(plan: &SearchPlan, dimensions: &[Dimension]) -> Result<()> {
    if plan.time.is_some() {
        return Ok(());
    }
    let heights: Vec<u16> = dimensions.iter().map(Dimension::height).collect();
    let n_attributes = dimensions.len();
    if let Some(n_nodes) = too_many_nodes(&heights, plan.algorithm) {
        return Err(Error::usage(
            format!(
                "the lattice of {n_attributes} columns has {} generalizations, more than an exact \
                 search can keep track of",
                in_words(n_nodes)
            ),
            wording![
                "give ",
                Field::Time.of("30s"),
                " for the best found by then, or use fewer columns or levels"
            ],
        ));
    }
    if plan.algorithm == Algorithm::Incognito(Variant::Cube) && n_attributes > MAX_CUBE_ATTRIBUTES {
        return Err(Error::usage(
            format!(
                "a cube of {n_attributes} columns has more sets than can be computed beforehand"
            ),
            wording![
                "use ",
                Field::Variant.of("super-roots"),
                format!(", or at most {MAX_CUBE_ATTRIBUTES} columns")
            ],
        ));
    }
    Ok(())
}

/// A count that may be beyond all bounds.
fn in_words(n_nodes: u128) -> String {
    match n_nodes {
        u128::MAX => "more than 3e38".to_owned(),
        n_nodes if n_nodes >= 1_000_000_000_000 => format!("{:.1e}", n_nodes as f64),
        n_nodes => n_nodes.to_string(),
    }
}
