//! Diversities written as text: `distinct:3`, `entropy:3`, `recursive:2,3`, or just `3`; and rules as
//! a requirement describes them.

use std::str::FromStr;

use crate::criterion::Criterion;
use crate::error::PrivacyError;

/// Reads a diversity and checks its parameters. A bare number means distinct diversity.
///
/// # Errors
/// When the text has none of the forms, or a parameter is out of range.
pub fn parse_diversity(text: &str) -> Result<Criterion, PrivacyError> {
    let text = text.trim();
    let (kind, parameters) = text.split_once(':').unwrap_or(("distinct", text));
    let criterion = match kind.trim().to_ascii_lowercase().as_str() {
        "distinct" => Criterion::DistinctLDiversity { l: number(text, parameters)? },
        "entropy" => Criterion::EntropyLDiversity { l: number(text, parameters)? },
        "recursive" => {
            let (c, l) = parameters
                .split_once(',')
                .ok_or_else(|| syntax(text, "recursive takes two numbers, c and l".into()))?;
            Criterion::RecursiveDiversity { c: number(text, c)?, l: number(text, l)? }
        }
        kind => return Err(syntax(text, format!("'{kind}' is not a kind of diversity"))),
    };
    criterion.check()?;
    Ok(criterion)
}

/// Reads a rule as a requirement describes it, such as `distinct 3-diversity` or `0.2-closeness`;
/// nothing if it is none, or a parameter is out of range.
pub fn parse_description(text: &str) -> Option<Criterion> {
    let between = |before: &str, after: &str| -> Option<&str> {
        text.strip_prefix(before)?.strip_suffix(after)
    };
    let criterion = if let Some(l) = between("distinct ", "-diversity") {
        Criterion::DistinctLDiversity { l: l.parse().ok()? }
    } else if let Some(l) = between("entropy ", "-diversity") {
        Criterion::EntropyLDiversity { l: l.parse().ok()? }
    } else if let Some(both) = between("recursive (", ")-diversity") {
        let (c, l) = both.split_once(", ")?;
        Criterion::RecursiveDiversity { c: c.parse().ok()?, l: l.parse().ok()? }
    } else if let Some(t) = between("", "-closeness") {
        Criterion::TCloseness { t: t.parse().ok()? }
    } else if let Some(alpha) = between("largest share ", "") {
        Criterion::AlphaK { alpha: alpha.parse().ok()? }
    } else {
        Criterion::Variance { minimum: between("least variance ", "")?.parse().ok()? }
    };
    criterion.check().is_ok().then_some(criterion)
}

fn number<N: FromStr>(text: &str, part: &str) -> Result<N, PrivacyError> {
    let part = part.trim();
    part.parse().map_err(|_| match part.parse::<f64>() {
        Ok(_) => syntax(text, format!("'{part}' is not a whole number from 1 up")),
        Err(_) => syntax(text, format!("'{part}' is not a number")),
    })
}

fn syntax(text: &str, problem: String) -> PrivacyError {
    PrivacyError::Syntax { text: text.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let read = |text: &str| parse_diversity(text).unwrap();
        assert_eq!(read("3"), Criterion::DistinctLDiversity { l: 3 });
        assert_eq!(read("distinct:3"), Criterion::DistinctLDiversity { l: 3 });
        assert_eq!(read(" Entropy: 2.5 "), Criterion::EntropyLDiversity { l: 2.5 });
        assert_eq!(read("recursive:0.5, 3"), Criterion::RecursiveDiversity { c: 0.5, l: 3 });
    }

    #[test]
    fn a_rule_is_read_back_from_its_description() {
        for criterion in [
            Criterion::DistinctLDiversity { l: 3 },
            Criterion::EntropyLDiversity { l: 2.5 },
            Criterion::RecursiveDiversity { c: 0.5, l: 3 },
            Criterion::TCloseness { t: 0.15 },
            Criterion::AlphaK { alpha: 0.75 },
            Criterion::Variance { minimum: 100.0 },
        ] {
            assert_eq!(parse_description(&criterion.to_string()), Some(criterion));
        }
        for text in ["", "distinct -diversity", "2-closeness", "largest share", "3"] {
            assert_eq!(parse_description(text), None, "{text}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong_and_what_to_write() {
        for (text, problem) in [
            ("", "'' is not a number"),
            ("three", "'three' is not a number"),
            ("2.5", "'2.5' is not a whole number"),
            ("distinct:-1", "'-1' is not a whole number"),
            ("recursive:2", "two numbers"),
            ("recursive:2,3,4", "'3,4' is not a number"),
            ("shannon:2", "'shannon' is not a kind"),
        ] {
            let message = parse_diversity(text).unwrap_err().to_string();
            assert!(message.contains(problem), "{message}");
            assert!(message.contains("hint: write distinct:3"), "{message}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for text in ["0", "distinct:0", "entropy:0.9", "entropy:inf", "recursive:0,3"] {
            let message = parse_diversity(text).unwrap_err().to_string();
            assert!(message.contains("hint"), "{message}");
        }
    }
}
