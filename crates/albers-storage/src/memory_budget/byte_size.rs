//! Sizes as people type and read them.
//!
//! `KB`, `MB`, `GB` and `TB` count in thousands, `KiB`, `MiB`, `GiB` and `TiB` in 1024s, both as in
//! DuckDB; the bare letters `K`, `M`, `G` and `T` count in 1024s as in `sort -S`.

/// What a size looks like, for the messages that refuse one.
const ACCEPTED: &str = "give a number of bytes with or without a unit, such as 256MB, 1.5GiB, 512K \
                        or 1000000 (KB, MB, GB, TB: thousands; K, M, G, T, KiB, MiB, GiB, TiB: \
                        1024s)";

/// More digits than this after the point would not fit the arithmetic, and no one types them.
const MAX_FRACTION_DIGITS: usize = 18;

/// Units by name, smallest first.
const DECIMAL_UNITS: [(&str, u64); 5] =
    [("B", 1), ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000)];
const BINARY_UNITS: [(&str, u64); 4] =
    [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// The bytes that a text such as `256MB`, `1.5 GiB`, `512k` or `1000000` stands for.
///
/// A part of a byte is left away. Upper and lower case are the same. The message of a refusal says
/// what is accepted.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let refuse = |why: &str| Err(format!("{why}; {ACCEPTED}"));
    let text = text.trim();
    if text.starts_with('-') {
        return refuse("a size cannot be negative");
    }
    let n_digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(n_digits);
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return refuse("this is not a size"),
        None => (number, ""),
    };
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(fraction) || fraction.len() > MAX_FRACTION_DIGITS {
        return refuse("this is not a size");
    }
    let Some(unit_bytes) = unit_bytes(unit.trim_start()) else {
        return refuse("this is not a size");
    };
    let Ok(n_whole) = whole.parse::<u64>() else {
        return refuse("this size is too large");
    };
    // Neither product overflows: a unit has at most 40 bits, a u64 and the fraction at most 64.
    let n_parts: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().expect("at most 18 digits and nothing else")
    };
    let parts_per_one = 10_u128.pow(u32::try_from(fraction.len()).expect("at most 18"));
    let n_bytes = u128::from(n_whole) * u128::from(unit_bytes)
        + n_parts * u128::from(unit_bytes) / parts_per_one;
    match u64::try_from(n_bytes) {
        Ok(0) => refuse("a size must be above zero"),
        Ok(n_bytes) => Ok(n_bytes),
        Err(_) => refuse("this size is too large"),
    }
}

/// A size for messages: exact in 1024s where that is short, else in thousands to one decimal.
pub fn format_bytes(n_bytes: u64) -> String {
    for (name, unit_bytes) in BINARY_UNITS.into_iter().rev() {
        let is_short = (1..1024).contains(&(n_bytes / unit_bytes));
        // Halves are the only fractions of 1024s that are short.
        if is_short && n_bytes.is_multiple_of(unit_bytes / 2) {
            let half = if n_bytes.is_multiple_of(unit_bytes) { "" } else { ".5" };
            return format!("{}{half} {name}", n_bytes / unit_bytes);
        }
    }
    let (name, unit_bytes) = decimal_unit(n_bytes);
    let n_tenths = (u128::from(n_bytes) * 10 + u128::from(unit_bytes) / 2) / u128::from(unit_bytes);
    if n_tenths % 10 == 0 {
        format!("{} {name}", n_tenths / 10)
    } else {
        format!("{}.{} {name}", n_tenths / 10, n_tenths % 10)
    }
}

/// A short size of at least `n_bytes` as a user would type it: two digits and a unit.
pub(crate) fn advised_bytes(n_bytes: u64) -> String {
    let mut rounded = u128::from(n_bytes.max(DECIMAL_UNITS[1].1));
    let mut step = 1;
    while rounded / step >= 100 {
        step *= 10;
    }
    rounded = rounded.next_multiple_of(step);
    let Ok(rounded) = u64::try_from(rounded) else {
        return n_bytes.to_string();
    };
    // Two digits are exact in tenths of the unit.
    let (name, unit_bytes) = decimal_unit(rounded);
    match rounded % unit_bytes / (unit_bytes / 10) {
        0 => format!("{}{name}", rounded / unit_bytes),
        tenths => format!("{}.{tenths}{name}", rounded / unit_bytes),
    }
}

/// The largest decimal unit that is not above `n_bytes`.
fn decimal_unit(n_bytes: u64) -> (&'static str, u64) {
    let fits = |&(_, unit_bytes): &(&str, u64)| unit_bytes <= n_bytes;
    DECIMAL_UNITS.into_iter().rev().find(fits).unwrap_or(DECIMAL_UNITS[0])
}

fn unit_bytes(name: &str) -> Option<u64> {
    let is_bare = |unit: &str| unit.len() == "KiB".len() && unit[..1].eq_ignore_ascii_case(name);
    DECIMAL_UNITS
        .into_iter()
        .chain(BINARY_UNITS)
        .find(|(unit, _)| unit.eq_ignore_ascii_case(name) || is_bare(unit))
        .map(|(_, unit_bytes)| unit_bytes)
        .or(name.is_empty().then_some(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        for (text, n_bytes) in [
            ("1000000", 1_000_000),
            ("1", 1),
            ("7b", 7),
            ("256MB", 256_000_000),
            ("256mb", 256_000_000),
            ("1.5GiB", 3 << 29),
            (" 1.5 gib ", 3 << 29),
            ("64KiB", 64 << 10),
            ("512k", 512 << 10),
            ("2M", 2 << 20),
            ("3g", 3 << 30),
            ("1T", 1 << 40),
            ("1TB", 1_000_000_000_000),
            ("0.001KB", 1),
            ("1.0009KB", 1_000),
            ("18446744073709551615", u64::MAX),
            ("16777215.999999999TiB", u64::MAX - 1_099),
        ] {
            assert_eq!(parse_bytes(text), Ok(n_bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_with_a_message_that_says_what_is() {
        for (text, why) in [
            ("0", "above zero"),
            ("0.0GB", "above zero"),
            ("0.0001KB", "above zero"),
            ("-1MB", "negative"),
            ("18446744073709551616", "too large"),
            ("16777216TiB", "too large"),
            ("99999999999999999999999TB", "too large"),
            ("", "not a size"),
            ("MB", "not a size"),
            ("1.", "not a size"),
            (".5GB", "not a size"),
            ("1.2.3GB", "not a size"),
            ("1.0000000000000000001GB", "not a size"),
            ("1e9", "not a size"),
            ("+1", "not a size"),
            ("1 G B", "not a size"),
            ("50%", "not a size"),
            ("1PB", "not a size"),
            ("١MB", "not a size"),
            ("1µB", "not a size"),
        ] {
            let message = parse_bytes(text).unwrap_err();
            assert!(message.contains(why) && message.contains("256MB"), "{text}: {message}");
        }
    }

    #[test]
    fn sizes_are_shown_short() {
        for (n_bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_024, "1 KiB"),
            (64 << 10, "64 KiB"),
            (3 << 29, "1.5 GiB"),
            (1_000_000, "1 MB"),
            (1_234_567, "1.2 MB"),
            (256_000_000, "256 MB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(format_bytes(n_bytes), text);
        }
    }

    #[test]
    fn an_advised_size_suffices_and_is_at_most_a_tenth_larger() {
        let mut n_bytes = 1_000_u64;
        while n_bytes < u64::MAX / 4 {
            for n_bytes in [n_bytes - 1, n_bytes, n_bytes + 1] {
                let advised = parse_bytes(&advised_bytes(n_bytes)).unwrap();
                assert!(advised >= n_bytes, "{n_bytes}: {}", advised_bytes(n_bytes));
                assert!(advised <= n_bytes + n_bytes / 10 + 1, "{}", advised_bytes(n_bytes));
                assert!(advised_bytes(n_bytes).len() <= "18000000TB".len());
            }
            n_bytes += n_bytes / 7;
        }
        assert_eq!(advised_bytes(1), "1KB");
        assert_eq!(advised_bytes(95_001), "96KB");
        assert_eq!(advised_bytes(1_200_001), "1.3MB");
        assert_eq!(advised_bytes(991_000), "1MB");
        assert_eq!(parse_bytes(&advised_bytes(u64::MAX)), Ok(u64::MAX));
    }
}
