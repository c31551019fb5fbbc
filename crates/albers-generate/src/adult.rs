//! A census: nine attributes with the distinct counts of the real table.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, figure 9.
//! Departures: no row of the census is used; weights and correlations are rounded guesses of ours.
//! Guarantee: no column ever has more distinct values than figure 9 says, and every one of them has
//! weight, so that a table of a million rows has them all.
//!
//! ```text
//!   age ──► marital-status ──────────┐
//!    └────► education ──► occupation ┼──► salary-class
//!   sex ──► (all of these) ──────────┘
//!   race ─► native-country               occupation ──► workclass
//! ```
//!
//! - `zipcode`: a postal code, which is added where it is asked for.

mod tables;
pub(super) mod zipcode;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Schema};

use self::tables::{
    AGE_WEIGHTS, COUNTRIES, EDUCATIONS, MARITAL_BY_AGE, MARITAL_STATUSES, OCCUPATIONS, RACES,
    SALARY_CLASSES, SCHOOLING_LEVELS, SEXES, WORKCLASSES,
};
use super::draw::{Draw, Weighted, field, integers, labels};
use super::{HierarchyRows, suppression};

const FIRST_AGE: i32 = 17;
const N_AGES: usize = 74;

/// The share of men, in a thousand.
const MEN_PER_MILLE: u32 = 670;

/// The weights, one table per circumstance.
pub(super) struct Adult {
    age: Weighted,
    race: Weighted,
    /// By race.
    country: Vec<Weighted>,
    /// By sex and the row of [`MARITAL_BY_AGE`].
    marital: Vec<Vec<Weighted>>,
    /// By whether still of school age.
    education: [Weighted; 2],
    /// By sex and schooling level.
    occupation: Vec<Vec<Weighted>>,
    /// By occupation.
    workclass: Vec<Weighted>,
}

impl Default for Adult {
    fn default() -> Adult {
        let by_sex = |of: &dyn Fn(usize) -> Vec<Weighted>| (0..SEXES.len()).map(of).collect();
        Adult {
            age: Weighted::new(&age_weights()),
            race: Weighted::new(&RACES.map(|(_, weight)| weight)),
            country: (0..RACES.len()).map(country_weights).collect(),
            marital: by_sex(&|sex| {
                MARITAL_BY_AGE.iter().map(|(_, weights)| marital_weights(sex, weights)).collect()
            }),
            education: [false, true].map(education_weights),
            occupation: by_sex(&|sex| {
                (0..SCHOOLING_LEVELS).map(|level| occupation_weights(sex, level)).collect()
            }),
            workclass: OCCUPATIONS
                .iter()
                .map(|occupation| Weighted::new(&workclass_weights(occupation.public_factor)))
                .collect(),
        }
    }
}

impl Adult {
    /// The columns of one block.
    pub(super) fn columns(&self, draw: &mut Draw, n_rows: usize) -> Vec<ArrayRef> {
        let mut ages = Vec::with_capacity(n_rows);
        let mut indices: [Vec<usize>; 8] = std::array::from_fn(|_| Vec::with_capacity(n_rows));
        for _ in 0..n_rows {
            let age = FIRST_AGE + self.age.pick(draw) as i32;
            let sex = usize::from(!draw.chance(MEN_PER_MILLE));
            let race = self.race.pick(draw);
            let age_row = MARITAL_BY_AGE.iter().position(|&(last_age, _)| age <= last_age);
            let age_row = age_row.expect("the last row holds the oldest");
            let marital = self.marital[sex][age_row].pick(draw);
            let education = self.education[usize::from(age < 22)].pick(draw);
            let country = self.country[race].pick(draw);
            let occupation = self.occupation[sex][EDUCATIONS[education].level].pick(draw);
            let workclass = self.workclass[occupation].pick(draw);
            let is_rich = draw.chance(rich_per_mille(age, sex, marital, education, occupation));
            ages.push(age);
            let row = [
                sex,
                race,
                marital,
                education,
                country,
                workclass,
                occupation,
                usize::from(is_rich),
            ];
            for (column, idx) in indices.iter_mut().zip(row) {
                column.push(idx);
            }
        }
        let [sex, race, marital, education, country, workclass, occupation, salary] = indices;
        vec![
            integers(ages),
            labels(&sex, &SEXES),
            labels(&race, &RACES.map(|(name, _)| name)),
            labels(&marital, &MARITAL_STATUSES.map(|(name, _)| name)),
            labels(&education, &EDUCATIONS.map(|education| education.name)),
            labels(&country, &COUNTRIES.map(|country| country.name)),
            labels(&workclass, &WORKCLASSES.map(|(name, _, _)| name)),
            labels(&occupation, &OCCUPATIONS.map(|occupation| occupation.name)),
            labels(&salary, &SALARY_CLASSES),
        ]
    }
}

/// How many in a thousand of such people earn much: points for each circumstance, one curve for
/// all.
fn rich_per_mille(
    age: i32,
    sex: usize,
    marital: usize,
    education: usize,
    occupation: usize,
) -> u32 {
    /// Indexed by points; halfway up at 8.
    const CURVE: [u32; 17] =
        [5, 10, 22, 45, 90, 170, 270, 390, 510, 630, 730, 810, 870, 910, 940, 960, 975];
    let age_points = match age {
        ..22 => -3,
        22..28 => 0,
        28..36 => 2,
        36..62 => 3,
        62.. => 1,
    };
    let lives_with_spouse = MARITAL_STATUSES[marital].1 == tables::SPOUSE_PRESENT;
    let points = age_points
        + EDUCATIONS[education].pay_points
        + OCCUPATIONS[occupation].pay_points
        + if lives_with_spouse { 3 } else { 0 }
        + if sex == 0 { 1 } else { 0 };
    CURVE[points.clamp(0, CURVE.len() as i32 - 1) as usize]
}

/// Per year of age: straight lines between the knots of [`AGE_WEIGHTS`].
fn age_weights() -> Vec<f64> {
    let weight = |idx: usize| {
        let age = FIRST_AGE + idx as i32;
        let knots = AGE_WEIGHTS.windows(2).find(|knots| age <= knots[1].0);
        let [(from, low), (to, high)] = *knots.expect("the last knot is the oldest") else {
            unreachable!("windows of two")
        };
        low + (high - low) * f64::from(age - from) / f64::from(to - from)
    };
    (0..N_AGES).map(weight).collect()
}

/// Each race has its usual parts of the world; every country keeps some weight in each.
fn country_weights(race: usize) -> Weighted {
    let weight = |country: &tables::Country| {
        let is_usual = country.usual_races.contains(&race);
        country.weight * if is_usual { 1.0 } else { 0.002 }
    };
    Weighted::new(&COUNTRIES.each_ref().map(weight))
}

/// Women in this census live alone or as widows more often than men.
fn marital_weights(sex: usize, weights: &[f64; 7]) -> Weighted {
    const WOMEN_FACTORS: [f64; 7] = [0.3, 2.0, 1.6, 2.6, 2.8, 4.0, 2.0];
    let factor = |idx: usize| if sex == 1 { WOMEN_FACTORS[idx] } else { 1.0 };
    let weights: Vec<f64> =
        weights.iter().enumerate().map(|(idx, weight)| weight * factor(idx)).collect();
    Weighted::new(&weights)
}

/// Nobody of school age has a degree yet, save a few.
fn education_weights(is_of_school_age: bool) -> Weighted {
    let weight = |education: &tables::Education| {
        let factor = match (is_of_school_age, education.level) {
            (true, 3..) => 0.02,
            (true, 0 | 1) => 1.8,
            _ => 1.0,
        };
        education.weight * factor
    };
    Weighted::new(&EDUCATIONS.each_ref().map(weight))
}

fn occupation_weights(sex: usize, level: usize) -> Weighted {
    let weight = |occupation: &tables::Occupation| {
        let by_sex = if sex == 1 { occupation.women_factor } else { 1.0 };
        occupation.weight_by_level[level] * by_sex
    };
    Weighted::new(&OCCUPATIONS.each_ref().map(weight))
}

/// Some occupations are mostly found in public service.
fn workclass_weights(public_factor: f64) -> [f64; 7] {
    WORKCLASSES.map(
        |(_, group, weight)| {
            if group == tables::GOVERNMENT { weight * public_factor } else { weight }
        },
    )
}

/// The nine attributes, and a postal code if there is one.
pub(super) fn schema(has_zipcode: bool) -> Schema {
    let mut fields = vec![
        field("age", DataType::Int32),
        field("sex", DataType::Utf8),
        field("race", DataType::Utf8),
        field("marital-status", DataType::Utf8),
        field("education", DataType::Utf8),
        field("native-country", DataType::Utf8),
        field("workclass", DataType::Utf8),
        field("occupation", DataType::Utf8),
        field("salary-class", DataType::Utf8),
    ];
    fields.extend(has_zipcode.then(|| field("zipcode", DataType::Utf8)));
    Schema::new(fields)
}

/// Figure 9: ranges of 5, 10 and 20 years, taxonomies of two and three levels, else suppression.
pub(super) fn hierarchies() -> Vec<(&'static str, HierarchyRows)> {
    fn taxonomy(rows: impl IntoIterator<Item = Vec<&'static str>>) -> HierarchyRows {
        let to_top = |row: Vec<&str>| row.into_iter().chain(["*"]).map(str::to_owned).collect();
        rows.into_iter().map(to_top).collect()
    }
    vec![
        ("age", (0..N_AGES as i32).map(|idx| age_levels(FIRST_AGE + idx)).collect()),
        ("sex", suppression(SEXES)),
        ("race", suppression(RACES.map(|(name, _)| name))),
        ("marital-status", taxonomy(MARITAL_STATUSES.map(|(name, group)| vec![name, group]))),
        ("education", taxonomy(EDUCATIONS.map(|e| vec![e.name, e.school, e.stage]))),
        ("native-country", taxonomy(COUNTRIES.map(|c| vec![c.name, c.part]))),
        ("workclass", taxonomy(WORKCLASSES.map(|(name, group, _)| vec![name, group]))),
        ("occupation", taxonomy(OCCUPATIONS.map(|o| vec![o.name, o.group]))),
        ("salary-class", suppression(SALARY_CLASSES)),
    ]
}

fn age_levels(age: i32) -> Vec<String> {
    let range = |width: i32| {
        let first = age / width * width;
        format!("{first}-{}", first + width - 1)
    };
    vec![age.to_string(), range(5), range(10), range(20), "*".to_owned()]
}
