//! Values that a release shows, found again in the domain of the table it was made from.
//!
//! A release may show bounds that no row has, `[20, 30)`. Such a bound is exact here too: it is
//! compared with the values that occur, and never rounded so that it would cover more of them.

use super::{Domain, DomainKind};
use crate::code::Code;
use crate::schema::ColumnType;
use crate::value::{self, Decimal, ParseProblem, TickFormat};

/// A value of an ordered domain, whether or not it occurs. Not `Debug`: it is a cell's value.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub enum OrderedValue {
    /// In the ticks of the domain.
    Ticks(i64),
    /// As a number.
    Float(f64),
}

/// The end of an interval that a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The least value.
    Low,
    /// The greatest value.
    High,
}

impl OrderedValue {
    /// The next value inside an interval that leaves this end out.
    pub fn inward(self, end: End) -> OrderedValue {
        match (self, end) {
            (OrderedValue::Ticks(ticks), End::Low) => OrderedValue::Ticks(ticks.saturating_add(1)),
            (OrderedValue::Ticks(ticks), End::High) => OrderedValue::Ticks(ticks.saturating_sub(1)),
            (OrderedValue::Float(float), End::Low) => OrderedValue::Float(float.next_up()),
            (OrderedValue::Float(float), End::High) => OrderedValue::Float(float.next_down()),
        }
    }
}

impl Domain {
    /// Reads the end of an interval. Digits beyond those of the domain are rounded inward.
    ///
    /// # Panics
    /// When the domain is not ordered.
    pub fn bound(&self, text: &str, end: End) -> Result<OrderedValue, ParseProblem> {
        let cell = text.as_bytes();
        let Some(format) = self.tick_format() else {
            assert!(self.is_ordered(), "only ordered domains have bounds");
            return value::parse_float(cell).map(OrderedValue::Float);
        };
        let ticks = match format {
            TickFormat::Date => value::parse_date(cell)?,
            TickFormat::Timestamp { .. } => {
                let nanoseconds = value::parse_nanoseconds(cell)?;
                let microseconds = match end {
                    End::Low => -(-nanoseconds).div_euclid(1_000),
                    End::High => nanoseconds.div_euclid(1_000),
                };
                let beyond = |_| ParseProblem::BeyondI64(ColumnType::Timestamp);
                i64::try_from(microseconds).map_err(beyond)?
            }
            TickFormat::Integer => match value::parse_integer(cell) {
                Ok(ticks) => ticks,
                Err(_) => ticks_at(value::parse_decimal(cell)?, 0, end)
                    .ok_or(ParseProblem::NotA(ColumnType::Integer))?,
            },
            TickFormat::Decimal { scale } => ticks_at(value::parse_decimal(cell)?, scale, end)
                .ok_or(ParseProblem::BeyondI64(ColumnType::Decimal))?,
        };
        Ok(OrderedValue::Ticks(ticks))
    }

    /// The codes between two values, both included; nothing if no value of the table lies there.
    pub fn codes_between(&self, lo: OrderedValue, hi: OrderedValue) -> Option<(Code, Code)> {
        match (&self.kind, lo, hi) {
            (
                DomainKind::Near { min, max, first_code, .. },
                OrderedValue::Ticks(lo),
                OrderedValue::Ticks(hi),
            ) => {
                let (lo, hi) = (lo.max(*min), hi.min(*max));
                if lo > hi {
                    return None;
                }
                let code = |ticks: i64| *first_code + ticks.abs_diff(*min) as u32;
                let codes = (code(lo), code(hi));
                (self.n_distinct_between(codes.0, codes.1) > 0).then_some(codes)
            }
            (DomainKind::Far { scale, first_code }, lo, hi) => {
                let (lo, hi) = scale.codes_between(lo, hi)?;
                Some((*first_code + lo, *first_code + hi))
            }
            _ => None,
        }
    }

    /// The codes between two values, both included, or from the least or to the greatest value of
    /// the table where there is no bound; nothing if no value can lie there. Where values lie near,
    /// its ends need not occur.
    pub fn span_between(
        &self,
        lo: Option<OrderedValue>,
        hi: Option<OrderedValue>,
    ) -> Option<(Code, Code)> {
        let (first, last) = self.code_range();
        match (&self.kind, lo, hi) {
            (DomainKind::Near { min, max, first_code, .. }, lo, hi) => {
                let ticks = |value: Option<OrderedValue>, end: i64| match value {
                    Some(OrderedValue::Ticks(ticks)) => ticks,
                    Some(OrderedValue::Float(_)) | None => end,
                };
                let (lo, hi) = (ticks(lo, *min).max(*min), ticks(hi, *max).min(*max));
                let code = |ticks: i64| *first_code + ticks.abs_diff(*min) as u32;
                (lo <= hi).then(|| (code(lo), code(hi)))
            }
            _ => self.codes_between(lo.or(self.value(first))?, hi.or(self.value(last))?),
        }
    }

    /// How much of the domain's length lies between two values, from 0 to 1.
    pub fn share_between(&self, lo: OrderedValue, hi: OrderedValue) -> f64 {
        match &self.kind {
            DomainKind::Far { scale, .. } => scale.share_between(lo, hi),
            _ => self.codes_between(lo, hi).map_or(0.0, |(lo, hi)| self.interval_loss(lo, hi)),
        }
    }

    /// How many of the domain's steps lie between two values.
    pub fn steps_between(&self, lo: OrderedValue, hi: OrderedValue) -> u64 {
        match &self.kind {
            DomainKind::Far { scale, .. } => scale.steps_between(lo, hi),
            _ => self.codes_between(lo, hi).map_or(0, |(lo, hi)| self.interval_steps(lo, hi)),
        }
    }

    /// The code that is shown for a code at an end of an interval: the nearest one inward that
    /// stands for a value which the column can hold, and which occurs where values lie far apart.
    /// So the interval covers no value beyond its codes.
    pub fn shown_code(&self, code: Code, end: End) -> Code {
        match &self.kind {
            DomainKind::Far { scale, first_code } if code >= *first_code => {
                *first_code + scale.shown_code(code - *first_code, end)
            }
            DomainKind::Near { first_code, .. } if code >= *first_code => {
                let unit = self.grid().unit as u32;
                let steps = match end {
                    End::Low => (code - *first_code).div_ceil(unit),
                    End::High => (code - *first_code) / unit,
                };
                *first_code + steps * unit
            }
            _ => code,
        }
    }

    /// What a region shows at an end with this code, a [`Domain::shown_code`]. Where values lie
    /// near, cuts lie between codes, and the code tells. Where they lie far apart it is the
    /// roundest value between the code's own and its neighbour beyond the end.
    ///
    /// # Panics
    /// When the domain is not ordered, or the code is the missing one.
    pub fn region_end(&self, code: Code, end: End) -> OrderedValue {
        match &self.kind {
            DomainKind::Far { scale, first_code } => {
                scale.region_end(code - *first_code, end, self.grid())
            }
            _ => self.value(code).expect("regions of ordered values end at values"),
        }
    }

    /// Whether a region may show other values at its ends than those of its codes.
    pub fn regions_end_in_gaps(&self) -> bool {
        matches!(self.kind, DomainKind::Far { .. })
    }
}

/// The ticks of a decimal at a scale, rounded inward; nothing if they do not fit in 64 bits.
fn ticks_at(decimal: Decimal, scale: u8, end: End) -> Option<i64> {
    let decimal = decimal.without_trailing_zeros();
    if decimal.scale <= scale {
        return decimal.mantissa_at(scale);
    }
    let unit = 10i64.checked_pow(u32::from(decimal.scale - scale))?;
    Some(match end {
        End::Low => -(-decimal.mantissa).div_euclid(unit),
        End::High => decimal.mantissa.div_euclid(unit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::TextColumnBuilder;
    use crate::coding::{CodingPlan, RawColumn, encode};

    fn domain(column_type: ColumnType, cells: &[&str]) -> Domain {
        let mut builder = TextColumnBuilder::new(column_type);
        cells.iter().for_each(|cell| builder.push(cell.as_bytes()).unwrap());
        let chunks = vec![builder.finish().unwrap()];
        let column = RawColumn { name: "x".to_owned(), column_type, data_type: None, chunks };
        encode(column, CodingPlan::Ordered).unwrap().domain
    }

    fn found(domain: &Domain, lo: &str, hi: &str) -> (Option<(Code, Code)>, f64) {
        let lo = domain.bound(lo, End::Low).unwrap();
        let hi = domain.bound(hi, End::High).unwrap();
        (domain.codes_between(lo, hi), domain.share_between(lo, hi))
    }

    fn codes(lo: u32, hi: u32) -> Option<(Code, Code)> {
        Some((Code::new(lo), Code::new(hi)))
    }

    #[test]
    fn near_bounds_are_cut_to_the_domain() {
        let ages = domain(ColumnType::Integer, &["20", "30", "60"]);
        assert_eq!(found(&ages, "20", "30"), (codes(0, 10), 0.25));
        assert_eq!(found(&ages, "0", "25.5"), (codes(0, 5), 0.125));
        assert_eq!(found(&ages, "31", "59").0, None);
        assert_eq!(found(&ages, "61", "99").0, None);
    }

    #[test]
    fn steps_are_the_share_of_the_length_as_a_whole_number() {
        let far = ["0", "0.25", "1e-9", "0.7", "10"];
        for (kind, cells) in [
            (ColumnType::Integer, &["20", "23", "27", "59", "60"]),
            (ColumnType::Integer, &["-9223372036854775808", "0", "3", "5", "9223372036854775807"]),
            (ColumnType::Float, &far),
        ] {
            let domain = domain(kind, cells);
            for (lo, hi) in cells.iter().flat_map(|lo| cells.map(move |hi| (*lo, hi))) {
                let lo = domain.bound(lo, End::Low).unwrap();
                let hi = domain.bound(hi, End::High).unwrap();
                let share = domain.steps_between(lo, hi) as f64 / domain.n_steps() as f64;
                assert!((share - domain.share_between(lo, hi)).abs() < 1e-18 + 1e-15 * share);
                if let Some((lo_code, hi_code)) = domain.codes_between(lo, hi) {
                    let steps = domain.interval_steps(lo_code, hi_code);
                    assert_eq!(steps, domain.steps_between(lo, hi));
                }
            }
        }
    }

    #[test]
    fn far_bounds_count_what_lies_between_them() {
        let floats = domain(ColumnType::Float, &["0", "1.5", "8", "10"]);
        let (codes, share) = found(&floats, "1", "9");
        let (lo, hi) = codes.unwrap();
        assert_eq!((floats.n_distinct_between(lo, hi), share), (2, 0.8));
        assert_eq!(found(&floats, "-5", "99").1, 1.0);
        assert_eq!(found(&floats, "2", "7").0, None);
        let wide = domain(ColumnType::Integer, &["0", "5000000000", "10000000000"]);
        assert_eq!(found(&wide, "2500000000", "10000000000").1, 0.75);
    }

    #[test]
    fn digits_beyond_those_of_the_domain_are_rounded_inward() {
        let prices = domain(ColumnType::Decimal, &["-1.5", "0.0", "2.5"]);
        assert_eq!(found(&prices, "-1.50", "0").0, codes(0, 15));
        assert_eq!(found(&prices, "-1.51", "-1.49").0, codes(0, 0));
        assert_eq!(found(&prices, "0.01", "2.49").0, None);
    }

    #[test]
    fn an_end_that_is_left_out_moves_inward() {
        let ages = domain(ColumnType::Integer, &["20", "29", "30"]);
        let lo = ages.bound("20", End::Low).unwrap();
        let hi = ages.bound("30", End::High).unwrap();
        assert_eq!(ages.codes_between(lo, hi.inward(End::High)), codes(0, 9));
        assert_eq!(ages.codes_between(lo.inward(End::Low), hi), codes(1, 10));
    }
}
