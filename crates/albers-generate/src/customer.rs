//! Customers: fifteen attributes, many of them tied to each other.
//!
//! Source: the table `Customer` of the BangA paper, one million rows of fifteen attributes from a
//! commercial generator.
//! Departures: the paper names no attribute; all fifteen are ours, and so are the invented towns.
//!
//! ```text
//!   city ──► postal-code, phone-prefix
//!   birth-date ──► marital-status, children ──► household-size
//!   education ──► profession ──► income ──► segment, vehicle, balance ◄── customer-since
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array};
use arrow_schema::{DataType, Schema};

use super::draw::{Draw, Weighted, dates, field, from_quantiles, integers, labels};

const BALANCE_PRECISION: u8 = 10;
const BALANCE_SCALE: i8 = 2;

/// 2024-01-01, the day on which the table is as it is.
const TODAY: i32 = 19_723;
const DAYS_PER_YEAR: f64 = 365.25;

const GENDERS: [&str; 3] = ["female", "male", "diverse"];
const MARITAL_STATUSES: [&str; 4] = ["single", "married", "divorced", "widowed"];
const VEHICLES: [&str; 6] =
    ["none", "bicycle", "motorcycle", "compact car", "family car", "luxury car"];
const SEGMENTS: [&str; 4] = ["basic", "standard", "premium", "private"];

/// Name and weight.
const EDUCATIONS: [(&str, f64); 5] = [
    ("no certificate", 7.0),
    ("school", 28.0),
    ("apprenticeship", 38.0),
    ("bachelor", 17.0),
    ("master or doctorate", 10.0),
];

/// Name, weight by education, and what it pays relative to the average.
const PROFESSIONS: [(&str, [f64; 5], f64); 14] = [
    ("student", [1.0, 9.0, 1.0, 6.0, 3.0], 0.3),
    ("unemployed", [16.0, 7.0, 4.0, 2.0, 2.0], 0.35),
    ("laborer", [35.0, 14.0, 6.0, 0.5, 0.1], 0.65),
    ("driver", [14.0, 9.0, 8.0, 0.5, 0.1], 0.75),
    ("cook", [9.0, 6.0, 6.0, 0.5, 0.1], 0.7),
    ("shop assistant", [12.0, 16.0, 11.0, 2.0, 0.5], 0.65),
    ("craftsman", [6.0, 9.0, 22.0, 2.0, 0.5], 0.95),
    ("nurse", [1.0, 5.0, 12.0, 6.0, 1.0], 0.9),
    ("clerk", [4.0, 16.0, 18.0, 12.0, 4.0], 0.9),
    ("police officer", [0.5, 4.0, 5.0, 5.0, 1.0], 1.0),
    ("teacher", [0.1, 1.0, 1.0, 18.0, 22.0], 1.15),
    ("engineer", [0.1, 1.0, 4.0, 25.0, 28.0], 1.5),
    ("manager", [1.0, 3.0, 5.0, 18.0, 22.0], 1.9),
    ("physician", [0.1, 0.1, 0.1, 1.0, 16.0], 2.2),
];

/// Per region its six towns, the largest first.
const REGIONS: [[&str; TOWNS_PER_REGION]; 8] = [
    ["Elverport", "Sandhaven", "Grauholm", "Kiekersee", "Osterwick", "Tangfeld"],
    ["Brunnstadt", "Lindenau", "Marwitz", "Oderhain", "Pelkow", "Rotbach"],
    ["Harzfurt", "Weissenberg", "Dornfeld", "Eichrode", "Falkental", "Gruental"],
    ["Rheinbruck", "Altenforst", "Burgwald", "Collmar", "Duenfeld", "Erlenbach"],
    ["Mainstett", "Aschau", "Birkenhall", "Hohenlind", "Idelsberg", "Kahlgrund"],
    ["Donauwert", "Neckarau", "Schwanfurt", "Talheim", "Ulmingen", "Wendelstein"],
    ["Bergmunden", "Enzlach", "Firnau", "Gletsch", "Hochried", "Innerbruck"],
    ["Seestadt", "Moorfleet", "Plauen am See", "Quellin", "Schilfhagen", "Wasserburg"],
];
const TOWNS_PER_REGION: usize = 6;

/// Twenty equally frequent groups of ages.
const AGE_QUANTILES: [f64; 21] = [
    18.0, 21.0, 24.0, 26.5, 29.0, 31.5, 34.0, 37.0, 40.0, 42.5, 45.0, 48.0, 51.0, 54.0, 57.0, 60.0,
    64.0, 68.0, 73.0, 80.0, 97.0,
];

/// Twenty equally frequent groups of income, as shares of the average of a profession.
const INCOME_QUANTILES: [f64; 21] = [
    0.25, 0.42, 0.5, 0.57, 0.63, 0.68, 0.73, 0.78, 0.83, 0.88, 0.93, 0.98, 1.04, 1.1, 1.17, 1.25,
    1.36, 1.5, 1.7, 2.1, 4.5,
];

/// The codes of a town.
struct Town {
    phone_prefix: String,
    first_code: usize,
    n_codes: u32,
}

/// The weights and the map.
pub(super) struct Customer {
    towns: Vec<Town>,
    town_names: Vec<&'static str>,
    town_weights: Weighted,
    education: Weighted,
    /// By education.
    profession: Vec<Weighted>,
    postal_codes: Vec<String>,
}

/// A row.
struct Person {
    gender: usize,
    birth_date: i32,
    postal_code: usize,
    town: usize,
    income: i32,
    household_size: i32,
    profession: usize,
    marital_status: usize,
    education: usize,
    children: i32,
    vehicle: usize,
    customer_since: i32,
    segment: usize,
    balance_cents: i128,
}

impl Default for Customer {
    fn default() -> Customer {
        let weights: Vec<f64> = (0..REGIONS.len() * TOWNS_PER_REGION).map(town_weight).collect();
        let towns: Vec<Town> = weights.iter().enumerate().map(|(idx, &w)| town(idx, w)).collect();
        Customer {
            town_names: REGIONS.into_iter().flatten().collect(),
            towns,
            town_weights: Weighted::new(&weights),
            education: Weighted::new(&EDUCATIONS.map(|(_, weight)| weight)),
            profession: (0..EDUCATIONS.len())
                .map(|level| Weighted::new(&PROFESSIONS.map(|(_, weights, _)| weights[level])))
                .collect(),
            postal_codes: (0..80_000).map(|code| format!("{code:05}")).collect(),
        }
    }
}

/// The first town of a region is its largest.
fn town_weight(town_idx: usize) -> f64 {
    let (region, rank) = (town_idx / TOWNS_PER_REGION, town_idx % TOWNS_PER_REGION);
    (10.0 - region as f64) / (rank + 1) as f64
}

/// Each region has a first digit of postal codes, each town a thousand codes to use some of.
fn town(town_idx: usize, weight: f64) -> Town {
    let (region, rank) = (town_idx / TOWNS_PER_REGION, town_idx % TOWNS_PER_REGION);
    Town {
        phone_prefix: format!("0{}{:02}", region + 2, rank * 11),
        first_code: region * 10_000 + 1_000 + rank * 1_400,
        n_codes: 10 + (weight * 20.0) as u32,
    }
}

impl Customer {
    /// The columns of one block.
    pub(super) fn columns(&self, draw: &mut Draw, n_rows: usize) -> Vec<ArrayRef> {
        let people: Vec<Person> = (0..n_rows).map(|_| self.person(draw)).collect();
        let numbers = |get: fn(&Person) -> i32| -> Vec<i32> { people.iter().map(get).collect() };
        let indices =
            |get: fn(&Person) -> usize| -> Vec<usize> { people.iter().map(get).collect() };
        let towns = indices(|person| person.town);
        let prefixes: Vec<&str> =
            self.towns.iter().map(|town| town.phone_prefix.as_str()).collect();
        let balances = people.iter().map(|person| person.balance_cents);
        let balances = Decimal128Array::from_iter_values(balances)
            .with_precision_and_scale(BALANCE_PRECISION, BALANCE_SCALE)
            .expect("a valid precision and scale");
        vec![
            labels(&indices(|person| person.gender), &GENDERS),
            dates(numbers(|person| person.birth_date)),
            labels(&indices(|person| person.postal_code), &self.postal_codes),
            labels(&towns, &self.town_names),
            integers(numbers(|person| person.income)),
            integers(numbers(|person| person.household_size)),
            labels(&indices(|person| person.profession), &PROFESSIONS.map(|(name, _, _)| name)),
            labels(&indices(|person| person.marital_status), &MARITAL_STATUSES),
            labels(&indices(|person| person.education), &EDUCATIONS.map(|(name, _)| name)),
            integers(numbers(|person| person.children)),
            labels(&indices(|person| person.vehicle), &VEHICLES),
            labels(&towns, &prefixes),
            dates(numbers(|person| person.customer_since)),
            labels(&indices(|person| person.segment), &SEGMENTS),
            Arc::new(balances),
        ]
    }

    fn person(&self, draw: &mut Draw) -> Person {
        let gender = match draw.below(1000) {
            0..512 => 0,
            512..997 => 1,
            _ => 2,
        };
        let age = from_quantiles(draw, &AGE_QUANTILES);
        let birth_date = TODAY - (age * DAYS_PER_YEAR) as i32;
        let town = self.town_weights.pick(draw);
        let place = &self.towns[town];
        let postal_code = place.first_code + draw.below(place.n_codes) as usize;
        let education = self.education.pick(draw);
        let profession = self.profession[education].pick(draw);
        let income = draw_income(draw, age, profession);
        let marital_status = draw_marital_status(draw, age);
        let children = draw_children(draw, age, marital_status);
        let household_size = 1
            + i32::from(marital_status == 1)
            + if age < 55.0 { children } else { draw.between(0, children) }
            + i32::from(draw.chance(80));
        let customer_years = draw.unit() * draw.unit() * (age - 17.0).min(30.0);
        let segment = segment_of(income, draw);
        Person {
            gender,
            birth_date,
            postal_code,
            town,
            income,
            household_size,
            profession,
            marital_status,
            education,
            children,
            vehicle: draw_vehicle(draw, income, household_size),
            customer_since: TODAY - (customer_years * DAYS_PER_YEAR) as i32,
            segment,
            balance_cents: draw_balance_cents(draw, income, customer_years),
        }
    }
}

/// Per year, in steps of a hundred.
fn draw_income(draw: &mut Draw, age: f64, profession: usize) -> i32 {
    let by_age = 0.75 + (age.min(55.0) - 18.0) / 37.0 * 0.4 - if age > 66.0 { 0.35 } else { 0.0 };
    let share = from_quantiles(draw, &INCOME_QUANTILES) * PROFESSIONS[profession].2 * by_age;
    (share * 420.0) as i32 * 100
}

fn draw_marital_status(draw: &mut Draw, age: f64) -> usize {
    // Single, married, divorced; the rest is widowed.
    let per_mille: [u32; 3] = match age as i32 {
        ..25 => [930, 65, 5],
        25..35 => [580, 380, 38],
        35..50 => [250, 610, 130],
        50..70 => [110, 650, 180],
        70.. => [60, 560, 110],
    };
    let mut rest = draw.below(1000);
    for (status, share) in per_mille.into_iter().enumerate() {
        if rest < share {
            return status;
        }
        rest -= share;
    }
    3
}

fn draw_children(draw: &mut Draw, age: f64, marital_status: usize) -> i32 {
    let none_per_mille = match (marital_status, age < 30.0) {
        (0, true) => 950,
        (0, false) => 700,
        (_, true) => 450,
        (_, false) => 230,
    };
    if draw.chance(none_per_mille) {
        return 0;
    }
    match draw.below(100) {
        0..42 => 1,
        42..82 => 2,
        82..95 => 3,
        95..99 => 4,
        _ => 5,
    }
}

fn segment_of(income: i32, draw: &mut Draw) -> usize {
    let by_income = match income {
        ..22_000 => 0,
        22_000..55_000 => 1,
        55_000..110_000 => 2,
        110_000.. => 3,
    };
    // One in eight has been moved to the neighbouring segment.
    if draw.chance(125) { [1, 2, 1, 2][by_income] } else { by_income }
}

fn draw_vehicle(draw: &mut Draw, income: i32, household_size: i32) -> usize {
    let weights: [u32; 6] = match (income, household_size) {
        (..20_000, _) => [45, 30, 7, 15, 3, 0],
        (20_000..90_000, ..3) => [17, 14, 6, 45, 15, 3],
        (20_000..90_000, _) => [9, 6, 2, 28, 52, 3],
        (_, ..3) => [8, 7, 5, 25, 20, 35],
        (_, _) => [4, 3, 2, 15, 46, 30],
    };
    let mut rest = draw.below(weights.iter().sum());
    for (vehicle, weight) in weights.into_iter().enumerate() {
        if rest < weight {
            return vehicle;
        }
        rest -= weight;
    }
    unreachable!("the draw is below the sum")
}

/// Savings grow with income and years; one in ten is overdrawn.
fn draw_balance_cents(draw: &mut Draw, income: i32, customer_years: f64) -> i128 {
    if draw.chance(100) {
        return -i128::from(draw.below(250_000));
    }
    let saved = f64::from(income) * draw.unit() * draw.unit() * (0.2 + customer_years / 12.0);
    i128::from((saved * 100.0) as i64) + i128::from(draw.below(50_000))
}

/// The fifteen attributes.
pub(super) fn schema() -> Schema {
    Schema::new(vec![
        field("gender", DataType::Utf8),
        field("birth-date", DataType::Date32),
        field("postal-code", DataType::Utf8),
        field("city", DataType::Utf8),
        field("income", DataType::Int32),
        field("household-size", DataType::Int32),
        field("profession", DataType::Utf8),
        field("marital-status", DataType::Utf8),
        field("education", DataType::Utf8),
        field("children", DataType::Int32),
        field("vehicle", DataType::Utf8),
        field("phone-prefix", DataType::Utf8),
        field("customer-since", DataType::Date32),
        field("segment", DataType::Utf8),
        field("balance", DataType::Decimal128(BALANCE_PRECISION, BALANCE_SCALE)),
    ])
}
