//! Sales of a mail-order house: eight attributes with the distinct counts of the real table.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, figure 9.
//! Departures: the values and their skew are ours; only names, distinct counts and the shapes of
//! the hierarchies are the paper's.
//! Guarantee: no column ever has more distinct values than figure 9 says, and a table of the
//! default size has all of them.
//!
//! ```text
//!   style ──► price ──► cost            order-date ──► shipment
//!     └─────► gender                    zipcode, quantity: on their own
//! ```

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Schema};
use jiff::civil;

use super::draw::{Draw, Weighted, dates, field, integers, labels, scattered};
use super::{HierarchyRows, rounded_digits, suppression};

const N_ZIPCODES: usize = 31_953;
const N_DATES: usize = 320;
const N_STYLES: usize = 1_509;
const N_PRICES: usize = 346;
const N_COSTS: usize = 1_412;

/// 2002-01-15; the last of the dates is 2002-11-30.
const FIRST_DAY: i32 = 11_702;

const GENDERS: [&str; 2] = ["female", "male"];
const SHIPMENTS: [&str; 2] = ["standard", "express"];

/// What the styles are, with the share of women among the buyers, in a thousand.
const GARMENTS: [(&str, u32); 9] = [
    ("blouse", 930),
    ("dress", 950),
    ("jacket", 520),
    ("luggage", 480),
    ("pants", 500),
    ("shirt", 330),
    ("shoe", 550),
    ("sweater", 580),
    ("swimwear", 800),
];

/// The weights and the catalogue.
pub(super) struct LandsEnd {
    zipcodes: Vec<String>,
    zipcode_weights: Weighted,
    date_weights: Weighted,
    style_weights: Weighted,
    styles: Vec<Style>,
    style_names: Vec<String>,
}

/// What the catalogue says about a style.
struct Style {
    garment: usize,
    /// The index of the regular price.
    price_idx: i32,
    /// Cost as a share of the price, in a thousand.
    cost_share: i32,
}

impl Default for LandsEnd {
    fn default() -> LandsEnd {
        let (styles, style_names) = catalogue();
        LandsEnd {
            zipcodes: zipcodes(),
            zipcode_weights: Weighted::skewed(N_ZIPCODES),
            date_weights: Weighted::new(&date_weights()),
            style_weights: Weighted::skewed(N_STYLES),
            styles,
            style_names,
        }
    }
}

impl LandsEnd {
    /// The columns of one block.
    pub(super) fn columns(&self, draw: &mut Draw, n_rows: usize) -> Vec<ArrayRef> {
        let empty = || Vec::with_capacity(n_rows);
        let (mut zipcode, mut gender, mut style, mut shipment) =
            (empty(), empty(), empty(), empty());
        let integer = || Vec::with_capacity(n_rows);
        let (mut day, mut price, mut cost) = (integer(), integer(), integer());
        for _ in 0..n_rows {
            zipcode.push(self.zipcode_weights.pick(draw));
            let day_idx = self.date_weights.pick(draw);
            day.push(FIRST_DAY + day_idx as i32);
            let style_idx = self.style_weights.pick(draw);
            style.push(style_idx);
            let bought = &self.styles[style_idx];
            gender.push(usize::from(!draw.chance(GARMENTS[bought.garment].1)));
            let paid = price_of(draw_price_idx(draw, bought));
            price.push(paid);
            cost.push(draw_cost(draw, bought, paid));
            let express_per_mille = if day_idx >= N_DATES - 21 { 240 } else { 90 };
            shipment.push(usize::from(draw.chance(express_per_mille)));
        }
        vec![
            labels(&zipcode, &self.zipcodes),
            dates(day),
            labels(&gender, &GENDERS),
            labels(&style, &self.style_names),
            integers(price),
            integers(vec![1; n_rows]),
            integers(cost),
            labels(&shipment, &SHIPMENTS),
        ]
    }
}

/// Most pay the regular price, some less, few a little more.
fn draw_price_idx(draw: &mut Draw, style: &Style) -> i32 {
    let change = match draw.below(10) {
        0..=5 => 0,
        6..=8 => -draw.between(1, 20),
        _ => draw.between(1, 4),
    };
    (style.price_idx + change).clamp(0, N_PRICES as i32 - 1)
}

/// The style's share of the price, give or take; a multiple of four cents.
fn draw_cost(draw: &mut Draw, style: &Style, price: i32) -> i32 {
    let share = (style.cost_share + draw.around_zero(120)).clamp(400, 800);
    let cost_idx = (price * share / 1000 - cost_of(0)) / 4;
    cost_of(cost_idx.clamp(0, N_COSTS as i32 - 1))
}

/// In cents: 5.00, 5.50, 5.95, 5.98, 6.00, … 91.50.
fn price_of(price_idx: i32) -> i32 {
    const ENDINGS: [i32; 4] = [0, 50, 95, 98];
    500 + price_idx / 4 * 100 + ENDINGS[price_idx as usize % 4]
}

/// In cents: 2.00, 2.04, … 58.44.
fn cost_of(cost_idx: i32) -> i32 {
    200 + 4 * cost_idx
}

/// Codes from 00501 to 99949, about every third number.
fn zipcodes() -> Vec<String> {
    (0..N_ZIPCODES).map(|idx| format!("{:05}", 501 + idx * 99_452 / N_ZIPCODES)).collect()
}

/// A quiet spring, a busy autumn, and few orders on Sundays.
fn date_weights() -> Vec<f64> {
    let weight = |idx: usize| {
        let season = 1.0 + 2.0 * (idx as f64 / N_DATES as f64 - 0.35).max(0.0);
        // 2002-01-15 was a Tuesday.
        if (idx + 2).is_multiple_of(7) { season * 0.3 } else { season }
    };
    (0..N_DATES).map(weight).collect()
}

/// Styles are named by their garment and numbered through; cheap ones are more frequent than dear
/// ones, and every price is the regular price of some style.
fn catalogue() -> (Vec<Style>, Vec<String>) {
    let style = |(idx, price_rank): (usize, usize)| {
        let place = (price_rank as f64 + 0.5) / N_STYLES as f64;
        Style {
            garment: idx * GARMENTS.len() / N_STYLES,
            price_idx: (N_PRICES as f64 * place * place.sqrt()) as i32,
            cost_share: 500 + (price_rank * 37 % 201) as i32,
        }
    };
    let styles: Vec<Style> = scattered(N_STYLES).into_iter().enumerate().map(style).collect();
    let names = styles
        .iter()
        .enumerate()
        .map(|(idx, style)| format!("{}-{:04}", GARMENTS[style.garment].0, idx + 1))
        .collect();
    (styles, names)
}

/// The eight attributes.
pub(super) fn schema() -> Schema {
    Schema::new(vec![
        field("zipcode", DataType::Utf8),
        field("order-date", DataType::Date32),
        field("gender", DataType::Utf8),
        field("style", DataType::Utf8),
        field("price", DataType::Int32),
        field("quantity", DataType::Int32),
        field("cost", DataType::Int32),
        field("shipment", DataType::Utf8),
    ])
}

/// Figure 9: round each digit, a taxonomy of days, months and quarters, else suppression.
pub(super) fn hierarchies() -> Vec<(&'static str, HierarchyRows)> {
    let number = |text: String| {
        let number = text.parse().expect("a code is made of digits");
        (text, number)
    };
    let cents = |cents: i32| number(cents.to_string());
    vec![
        ("zipcode", rounded_digits(zipcodes().into_iter().map(number), 5)),
        ("order-date", (0..N_DATES as i32).map(|idx| day_levels(FIRST_DAY + idx)).collect()),
        ("gender", suppression(GENDERS)),
        ("style", suppression(catalogue().1)),
        ("price", rounded_digits((0..N_PRICES as i32).map(|idx| cents(price_of(idx))), 4)),
        ("quantity", suppression([1])),
        ("cost", rounded_digits((0..N_COSTS as i32).map(|idx| cents(cost_of(idx))), 4)),
        ("shipment", suppression(SHIPMENTS)),
    ]
}

fn day_levels(days: i32) -> Vec<String> {
    let day = civil::date(1970, 1, 1) + jiff::Span::new().days(days);
    let quarter = (day.month() - 1) / 3 + 1;
    vec![
        day.to_string(),
        format!("{}-{:02}", day.year(), day.month()),
        format!("{}-Q{quarter}", day.year()),
        "*".to_owned(),
    ]
}
