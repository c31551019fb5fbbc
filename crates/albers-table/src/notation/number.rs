//! Numbers with a decimal comma or separators between thousands.
//!
//! ```text
//!   number     sign? whole (mark digits)? exponent?
//!   whole      digits, or one to three digits and groups of three, with one separator throughout:
//!              a space (also one that does not break), an apostrophe, or the mark that is not
//!              the decimal one
//! ```
//!
//! Guarantee: what is read is what this grammar says, or nothing; grouped digits do not begin with a
//! zero.

/// What stands between the whole part of a number and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecimalMark {
    /// `1234.5`, perhaps written `1,234.5`.
    Point,
    /// `1234,5`, perhaps written `1.234,5`.
    Comma,
}

albers_storage::choices!(DecimalMark {
    Point: "point", "1234.5, or 1,234.5 with separators between thousands";
    Comma: "comma", "1234,5, or 1.234,5 with separators between thousands";
});

impl DecimalMark {
    fn byte(self) -> u8 {
        match self {
            DecimalMark::Point => b'.',
            DecimalMark::Comma => b',',
        }
    }

    fn other(self) -> DecimalMark {
        match self {
            DecimalMark::Point => DecimalMark::Comma,
            DecimalMark::Comma => DecimalMark::Point,
        }
    }
}

/// What the text of a number looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberText {
    /// Whether it has neither a fraction nor an exponent.
    pub(crate) is_whole: bool,
    /// Whether it has an exponent.
    pub(crate) has_exponent: bool,
    /// Whether spaces stand between its thousands, as they do in telephone numbers.
    pub(crate) is_spaced: bool,
}

/// Separators that stand between thousands whatever the decimal mark is: apostrophes, and spaces.
const APOSTROPHES: [&[u8]; 2] = [b"'", "\u{2019}".as_bytes()];
const SPACES: [&[u8]; 4] =
    [b" ", "\u{a0}".as_bytes(), "\u{2009}".as_bytes(), "\u{202f}".as_bytes()];
const MINUS: &[u8] = "\u{2212}".as_bytes();

/// Reads a number with this decimal mark and puts it into `plain` as the program writes it.
pub(crate) fn plain_number(
    cell: &[u8],
    mark: DecimalMark,
    plain: &mut Vec<u8>,
) -> Option<NumberText> {
    plain.clear();
    let cell = trimmed(cell);
    let rest = match cell {
        [sign @ (b'-' | b'+'), rest @ ..] => {
            plain.push(*sign);
            rest
        }
        _ => match cell.strip_prefix(MINUS) {
            Some(rest) => {
                plain.push(b'-');
                rest
            }
            None => cell,
        },
    };
    let n_sign = plain.len();
    let (rest, is_spaced) = take_whole(rest, mark, plain)?;
    let n_whole = plain.len() - n_sign;
    let (rest, n_fraction) = match rest.strip_prefix(&[mark.byte()]) {
        Some(rest) => {
            plain.push(b'.');
            let (digits, rest) = split_digits(rest);
            plain.extend_from_slice(digits);
            (rest, Some(digits.len()))
        }
        None => (rest, None),
    };
    if n_whole + n_fraction.unwrap_or(0) == 0 {
        return None;
    }
    let has_exponent = !rest.is_empty();
    if has_exponent {
        take_exponent(rest, plain)?;
    }
    let is_whole = n_fraction.is_none() && !has_exponent;
    Some(NumberText { is_whole, has_exponent, is_spaced })
}

/// A cell without blanks at its ends, also those that do not break.
fn trimmed(cell: &[u8]) -> &[u8] {
    let mut cell = cell.trim_ascii();
    for blank in &SPACES[1..] {
        cell = cell.strip_prefix(*blank).unwrap_or(cell);
        cell = cell.strip_suffix(*blank).unwrap_or(cell);
    }
    cell.trim_ascii()
}

/// Takes the digits before the mark, and whether spaces stood between them.
fn take_whole<'c>(
    cell: &'c [u8],
    mark: DecimalMark,
    plain: &mut Vec<u8>,
) -> Option<(&'c [u8], bool)> {
    let (first, mut rest) = split_digits(cell);
    plain.extend_from_slice(first);
    let Some(separator) = separator_at_start(rest, mark) else { return Some((rest, false)) };
    // A group may not begin with a zero, and the first has at most three digits.
    if !(1..=3).contains(&first.len()) || first[0] == b'0' {
        return None;
    }
    while let Some(after) = rest.strip_prefix(separator) {
        let (digits, after) = split_digits(after);
        if digits.len() != 3 {
            return None;
        }
        plain.extend_from_slice(digits);
        rest = after;
    }
    Some((rest, SPACES.contains(&separator)))
}

fn separator_at_start(rest: &[u8], mark: DecimalMark) -> Option<&'static [u8]> {
    let other: &[u8] = match mark.other() {
        DecimalMark::Point => b".",
        DecimalMark::Comma => b",",
    };
    let mut separators = APOSTROPHES.into_iter().chain(SPACES).chain([other]);
    separators.find(|separator| rest.starts_with(separator))
}

fn take_exponent(rest: &[u8], plain: &mut Vec<u8>) -> Option<()> {
    let [b'e' | b'E', exponent @ ..] = rest else { return None };
    let digits = match exponent {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    let is_exponent = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_exponent.then(|| plain.extend_from_slice(rest))
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let n_digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.split_at(n_digits)
}

/// Whether a plain number would be another if its point stood between thousands: `45.310`.
pub(crate) fn is_undecided_decimal(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    let end = cell.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(cell.len());
    let cell = &cell[..end];
    let digits = match cell {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    match digits.iter().position(|&byte| byte == b'.') {
        Some(at @ 1..=3) => digits[0] != b'0' && digits.len() == at + 4,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(cell: &str, mark: DecimalMark) -> Option<String> {
        let mut plain = Vec::new();
        plain_number(cell.as_bytes(), mark, &mut plain)?;
        Some(String::from_utf8(plain).unwrap())
    }

    #[test]
    fn numbers_are_read_with_their_mark_and_their_separators() {
        use DecimalMark::{Comma, Point};
        for (cell, by_point, by_comma) in [
            ("1234", Some("1234"), Some("1234")),
            ("1.5", Some("1.5"), None),
            ("1,5", None, Some("1.5")),
            ("45.310", Some("45.310"), Some("45310")),
            ("45,310", Some("45310"), Some("45.310")),
            ("1.234,5", None, Some("1234.5")),
            ("1,234.5", Some("1234.5"), None),
            ("1.234.567", None, Some("1234567")),
            ("1,234,567", Some("1234567"), None),
            ("1 234", Some("1234"), Some("1234")),
            ("1\u{202f}234,50", None, Some("1234.50")),
            ("12\u{a0}", Some("12"), Some("12")),
            ("1'234.5", Some("1234.5"), None),
            ("-1.234,5", None, Some("-1234.5")),
            ("\u{2212}7,5", None, Some("-7.5")),
            ("1,5e3", None, Some("1.5e3")),
            ("0.310", Some("0.310"), None),
            ("0,310", None, Some("0.310")),
            ("12.34.567", None, None),
            ("1.23", Some("1.23"), None),
            ("1,2,3", None, None),
            ("1.234.5", None, None),
            ("1 234.567,8", None, None),
            ("1,,234", None, None),
            ("", None, None),
            (",", None, None),
            ("-", None, None),
            ("1.234 EUR", None, None),
            ("1e", None, None),
            ("0.123.456", None, None),
        ] {
            assert_eq!(read(cell, Point).as_deref(), by_point, "{cell} by point");
            assert_eq!(read(cell, Comma).as_deref(), by_comma, "{cell} by comma");
        }
    }

    /// A number written with a mark and a separator, and as the program writes it.
    fn written() -> impl Strategy<Value = (String, String, DecimalMark)> {
        let separators = prop::sample::select(vec!["", ".", ",", " ", "\u{a0}", "'"]);
        let marks = prop::sample::select(vec![DecimalMark::Point, DecimalMark::Comma]);
        let digits = (0u64..10_000_000_000, prop::option::of("[0-9]{1,6}"), any::<bool>());
        (digits, separators, marks).prop_map(|((whole, fraction, negative), separator, mark)| {
            let separator = match separator.as_bytes() {
                [byte] if *byte == mark.byte() => "",
                _ => separator,
            };
            let sign = if negative { "-" } else { "" };
            let mark_text = char::from(mark.byte());
            let fraction = |mark: char| {
                fraction.as_ref().map(|digits| format!("{mark}{digits}")).unwrap_or_default()
            };
            let plain = whole.to_string();
            let mut grouped = String::new();
            for (at, digit) in plain.chars().enumerate() {
                if at > 0 && (plain.len() - at) % 3 == 0 {
                    grouped.push_str(separator);
                }
                grouped.push(digit);
            }
            let shown = format!("{sign}{grouped}{}", fraction(mark_text));
            (shown, format!("{sign}{plain}{}", fraction('.')), mark)
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back((shown, plain, mark) in written()) {
            prop_assert_eq!(read(&shown, mark), Some(plain));
        }

        #[test]
        fn what_is_read_has_the_digits_of_the_cell(cell in "[-+]?[0-9., ']{0,9}(e[0-9]{1,2})?") {
            for mark in [DecimalMark::Point, DecimalMark::Comma] {
                let Some(plain) = read(&cell, mark) else { continue };
                let digits = |text: &str| -> String {
                    text.chars().filter(char::is_ascii_digit).collect()
                };
                prop_assert_eq!(digits(&plain), digits(&cell));
                prop_assert!(plain.parse::<f64>().is_ok());
                // The mark is the last of the two kinds of separators, and occurs once.
                let n_marks = cell.bytes().filter(|&byte| byte == mark.byte()).count();
                prop_assert!(n_marks <= 1 && plain.contains('.') == (n_marks == 1));
            }
        }

        #[test]
        fn decimals_that_can_be_read_in_two_ways_are_those_that_are(cell in "[-+]?[0-9]{0,4}\\.?[0-9]{0,4}") {
            let both = (read(&cell, DecimalMark::Point), read(&cell, DecimalMark::Comma));
            let differ = matches!(&both, (Some(point), Some(comma)) if point != comma);
            prop_assert_eq!(is_undecided_decimal(cell.as_bytes()), differ);
        }
    }
}
