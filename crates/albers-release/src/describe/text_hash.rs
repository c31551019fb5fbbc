//! The hash of a text, without the text.
//!
//! Guarantee: the hash is a function of the bytes alone, in whatever pieces they come and whatever
//! they stand for: a number has the hash of its digits, a day that of its date.
//! Cost: eight bytes at a time; numbers and days are never written out.
//!
//! ```text
//!   pieces   - | 12345678 | . | 05
//!   words    -1234567       8.05       eight bytes, mixed into the state when they are full
//! ```

use albers_table::mix::mix;
use albers_table::value::{Decimal, TickFormat};

/// The hash of the bytes so far.
pub(super) struct TextHash {
    /// Of the words that are full.
    state: u64,
    /// The bytes behind them, the first one lowest.
    word: u64,
    /// How many bits these are: fewer than 64.
    n_word_bits: u32,
}

/// Numbers below have at most seven digits.
const SEVEN_DIGITS: i64 = 10_000_000;

/// Numbers below have at most eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Eight times the digit 0.
const ZEROS: u64 = 0x3030_3030_3030_3030;

const DAY_MICROSECONDS: i64 = 86_400_000_000;

impl TextHash {
    /// Of no bytes yet.
    pub(super) fn new() -> TextHash {
        TextHash { state: 0x510e_527f_ade6_82d1, word: 0, n_word_bits: 0 }
    }

    /// The hash of a whole text.
    pub(super) fn of(text: &str) -> u64 {
        let mut hash = TextHash::new();
        hash.push(text);
        hash.finish()
    }

    /// The hash of the digits of a whole number.
    #[inline]
    pub(super) fn of_integer(number: i64) -> u64 {
        let mut hash = TextHash::new();
        if (0..SEVEN_DIGITS).contains(&number) {
            // One word that is not full.
            let digits = eight_digits(number as u64);
            let n_zeros = (digits.trailing_zeros() / 8).min(7);
            hash.word = (digits + ZEROS) >> (8 * n_zeros);
            hash.n_word_bits = u64::BITS - 8 * n_zeros;
        } else {
            hash.push_ticks(TickFormat::Integer, number);
        }
        hash.finish()
    }

    #[inline]
    pub(super) fn finish(&self) -> u64 {
        // The last byte of a word that is not full tells how full it is.
        mix(self.state ^ self.word ^ u64::from(self.n_word_bits) << 56)
    }

    /// Adds a text.
    pub(super) fn push(&mut self, text: &str) {
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        for word in words {
            self.push_word(u64::from_le_bytes(*word), 8);
        }
        if !rest.is_empty() {
            let last = rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            self.push_word(last, rest.len() as u32);
        }
    }

    /// Adds what a [`TickFormat`] writes for some ticks.
    pub(super) fn push_ticks(&mut self, format: TickFormat, ticks: i64) {
        match format {
            TickFormat::Integer | TickFormat::Decimal { scale: 0 } => {
                self.push_sign(ticks);
                self.push_number(ticks.unsigned_abs());
            }
            TickFormat::Decimal { scale } => {
                let short = Decimal { mantissa: ticks, scale }.without_trailing_zeros();
                self.push_decimal(short.mantissa, short.scale);
            }
            TickFormat::Date => match date_of_days(ticks) {
                Some(date) => self.push_date(date),
                None => self.push(&format.text(ticks)),
            },
            TickFormat::Timestamp { zoned } => {
                let (day, time) =
                    (ticks.div_euclid(DAY_MICROSECONDS), ticks.rem_euclid(DAY_MICROSECONDS));
                match date_of_days(day).filter(|_| time % 1_000_000 == 0) {
                    Some(date) => self.push_time(date, time as u64 / 1_000_000, zoned),
                    None => self.push(&format.text(ticks)),
                }
            }
        }
    }

    /// Adds the digits of a decimal, all of its scale.
    pub(super) fn push_decimal(&mut self, mantissa: i64, scale: u8) {
        let unit = 10u64.pow(u32::from(scale));
        self.push_sign(mantissa);
        self.push_number(mantissa.unsigned_abs() / unit);
        if scale > 0 {
            self.push_word(u64::from(b'.'), 1);
            self.push_padded(mantissa.unsigned_abs() % unit, u32::from(scale));
        }
    }

    fn push_sign(&mut self, ticks: i64) {
        if ticks < 0 {
            self.push_word(u64::from(b'-'), 1);
        }
    }

    /// Adds the digits of a number.
    fn push_number(&mut self, number: u64) {
        if number >= EIGHT_DIGITS {
            self.push_number(number / EIGHT_DIGITS);
            self.push_padded(number % EIGHT_DIGITS, 8);
        } else {
            let n_zeros = (eight_digits(number).trailing_zeros() / 8).min(7);
            self.push_padded(number, 8 - n_zeros);
        }
    }

    /// Adds so many digits of a number that has no more.
    fn push_padded(&mut self, number: u64, n_digits: u32) {
        if n_digits > 8 {
            self.push_padded(number / EIGHT_DIGITS, n_digits - 8);
            self.push_padded(number % EIGHT_DIGITS, 8);
        } else {
            let digits = eight_digits(number) + ZEROS;
            self.push_word(digits >> (8 * (8 - n_digits)), n_digits);
        }
    }

    fn push_date(&mut self, (year, month, day): (u64, u64, u64)) {
        self.push_padded(year, 4);
        self.push_word(u64::from(b'-'), 1);
        self.push_padded(month, 2);
        self.push_word(u64::from(b'-'), 1);
        self.push_padded(day, 2);
    }

    fn push_time(&mut self, date: (u64, u64, u64), second: u64, zoned: bool) {
        self.push_date(date);
        self.push_word(u64::from(b' '), 1);
        self.push_padded(second / 3600, 2);
        self.push_word(u64::from(b':'), 1);
        self.push_padded(second / 60 % 60, 2);
        self.push_word(u64::from(b':'), 1);
        self.push_padded(second % 60, 2);
        if zoned {
            self.push_word(u64::from(b'Z'), 1);
        }
    }

    /// Adds up to eight bytes, the first one lowest.
    #[inline]
    fn push_word(&mut self, bytes: u64, n_bytes: u32) {
        self.word |= bytes << self.n_word_bits;
        let n_bits = self.n_word_bits + 8 * n_bytes;
        if n_bits < u64::BITS {
            self.n_word_bits = n_bits;
            return;
        }
        self.state = mix(self.state ^ self.word);
        // What did not fit; all of it fitted if the word was empty.
        self.word = bytes.checked_shr(u64::BITS - self.n_word_bits).unwrap_or(0);
        self.n_word_bits = n_bits - u64::BITS;
    }
}

/// Year, month and day so many days after 1970-01-01, for years of four digits: the days of
/// the proleptic Gregorian calendar in eras of 400 years that begin in March.
fn date_of_days(days: i64) -> Option<(u64, u64, u64)> {
    const FIRST: i64 = -719_528;
    const LAST: i64 = 2_932_896;
    if !(FIRST..=LAST).contains(&days) {
        return None;
    }
    // Days since the first of March of the year -400, which begins an era.
    let days = (days - FIRST + 146_097 - 60) as u64;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let is_next_year = month >= 10;
    let month = if is_next_year { month - 9 } else { month + 3 };
    let year = (400 * era + year + u64::from(is_next_year)).checked_sub(400)?;
    Some((year, month, day))
}

/// The digits of a number of eight, as numbers, one per byte and the first one lowest.
#[inline]
fn eight_digits(number: u64) -> u64 {
    let fours = number / 10_000 + ((number % 10_000) << 32);
    let hundreds = (fours * 10_486) >> 20 & 0x7f_0000_007f;
    let twos = hundreds + ((fours - 100 * hundreds) << 16);
    let tens = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    tens + ((twos - 10 * tens) << 8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_ticks(format: TickFormat, ticks: i64) -> u64 {
        let mut hash = TextHash::new();
        hash.push_ticks(format, ticks);
        hash.finish()
    }

    fn formats() -> impl Strategy<Value = TickFormat> {
        prop_oneof![
            Just(TickFormat::Integer),
            (0u8..=18).prop_map(|scale| TickFormat::Decimal { scale }),
            Just(TickFormat::Date),
            any::<bool>().prop_map(|zoned| TickFormat::Timestamp { zoned }),
        ]
    }

    /// Small and large numbers, days of the calendar, and times of it in microseconds and seconds.
    fn ticks() -> impl Strategy<Value = i64> {
        prop_oneof![
            -1100i64..1100,
            any::<i64>(),
            (0u32..63, any::<i64>()).prop_map(|(n_bits, ticks)| ticks >> n_bits),
            -4_000_000i64..4_000_000,
            (-400_000_000_000i64..400_000_000_000).prop_map(|second| second * 1_000_000),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn ticks_have_the_hash_of_their_text(format in formats(), ticks in ticks()) {
            prop_assert_eq!(of_ticks(format, ticks), TextHash::of(&format.text(ticks)));
        }

        #[test]
        fn whole_numbers_have_the_hash_of_their_digits(ticks in ticks()) {
            prop_assert_eq!(TextHash::of_integer(ticks), TextHash::of(&ticks.to_string()));
        }

        #[test]
        fn the_hash_does_not_depend_on_the_pieces(
            pieces in prop::collection::vec(".{0,12}", 0..8),
        ) {
            let mut hash = TextHash::new();
            pieces.iter().for_each(|piece| hash.push(piece));
            prop_assert_eq!(hash.finish(), TextHash::of(&pieces.concat()));
        }
    }

    #[test]
    fn every_day_of_the_calendar_has_the_hash_of_its_date() {
        for days in (-4_371_600..2_932_900).step_by(37).chain(-719_600..-719_400).chain(-400..800) {
            let text = TickFormat::Date.text(days);
            assert_eq!(of_ticks(TickFormat::Date, days), TextHash::of(&text), "{text}");
        }
    }

    #[test]
    fn texts_that_end_in_nothing_but_zero_bytes_are_told_apart() {
        let hashes: Vec<u64> = (0..20).map(|n| TextHash::of(&"\0".repeat(n))).collect();
        assert!(hashes.iter().enumerate().all(|(at, hash)| !hashes[..at].contains(hash)));
    }
}
