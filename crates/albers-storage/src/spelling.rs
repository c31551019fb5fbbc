//! Names that were meant by names that are not there.

use strsim::{damerau_levenshtein, jaro_winkler};

/// Longer lists of names tell nobody anything.
const MOST_LISTED: usize = 10;

/// So alike are two names of which one is cut short or has letters in another order.
const ALIKE: f64 = 0.9;

/// The names that a word may have been meant for, the nearest first, at most three. A name that
/// differs only in case, spaces and marks between words is meant for sure, and the only one.
pub fn near<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let meant = bare(word);
    let far = (meant.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<(usize, f64, &str)> = Vec::new();
    for name in names {
        let own = bare(name);
        let (distance, alike) = (damerau_levenshtein(&meant, &own), jaro_winkler(&meant, &own));
        if distance <= far || alike >= ALIKE {
            found.push((distance, alike, name));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    if found.first().is_some_and(|&(distance, ..)| distance == 0) {
        found.retain(|&(distance, ..)| distance == 0);
    }
    found.into_iter().take(3).map(|(_, _, name)| name).collect()
}

/// `did you mean 'age'?`, if some name is near.
pub fn question<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let near: Vec<String> = near(word, names).iter().map(|name| format!("'{name}'")).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

/// What to do about a column that is not there: those that are near, and the first of all.
pub fn columns_hint(word: &str, names: &[&str]) -> String {
    let listed = format!("the columns are {}", listed(names));
    match question(word, names.iter().copied()) {
        Some(question) => format!("{question} {listed}"),
        None => listed,
    }
}

/// Some names, and how many more there are.
pub fn listed(names: &[&str]) -> String {
    let first = names[..names.len().min(MOST_LISTED)].join(", ");
    match names.len().saturating_sub(MOST_LISTED) {
        0 => first,
        n_more => format!("{first} and {n_more} more"),
    }
}

/// A name without case, spaces and marks between words.
fn bare(name: &str) -> String {
    let kept = name.chars().filter(|symbol| !symbol.is_whitespace() && !"_-.".contains(*symbol));
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&str; 6] = ["name", "age", "sex", "Postal Code", "stay-days", "diagnosis"];

    #[test]
    fn slips_of_the_pen_find_what_was_meant() {
        let meant = |word| near(word, COLUMNS);
        assert_eq!(meant("aeg"), ["age"]);
        assert_eq!(meant("agee"), ["age"]);
        assert_eq!(meant("stay-dyas"), ["stay-days"]);
        assert_eq!(meant("diagnos"), ["diagnosis"]);
        assert!(meant("income").is_empty());
        assert!(meant("zip").is_empty());
    }

    #[test]
    fn case_and_marks_between_words_decide_alone() {
        assert_eq!(near("postal_code", COLUMNS), ["Postal Code"]);
        assert_eq!(near("STAYDAYS", COLUMNS), ["stay-days"]);
        assert_eq!(near("AGE", ["age", "agt", "Age"]), ["age", "Age"]);
    }

    #[test]
    fn long_lists_are_cut_short() {
        let names: Vec<String> = (1..=12).map(|n| format!("column{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(listed(&names).ends_with("column10 and 2 more"));
        assert!(listed(&names[..10]).ends_with("column10"));
        assert_eq!(columns_hint("nope", &["a"]), "the columns are a");
        assert_eq!(columns_hint("agee", &["age"]), "did you mean 'age'? the columns are age");
    }
}
