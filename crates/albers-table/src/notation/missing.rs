//! Texts that stand for no value where all others of a column are numbers or dates.

/// They are known in small and in capital letters.
/// `#NV` and `#N/D` are what `#N/A` is to spreadsheets in German and in Italian.
const KNOWN: [&str; 12] =
    ["NA", "N/A", "#N/A", "#NV", "#N/D", "NaN", "NULL", "None", "?", "-", ".", "unknown"];

/// Whether a text stands for a missing value in a column that is otherwise typed. In a column of
/// names it is a name: `NA` may be Namibia.
pub(crate) fn is_known_missing(cell: &[u8]) -> bool {
    const LONGEST: usize = "unknown".len();
    let cell = cell.trim_ascii();
    cell.len() <= LONGEST && KNOWN.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(cell))
}

/// Whether a text is one of those that programs write where there is no value, and hardly anybody else:
/// `unknown`, `none`, `?` and signs may be answers.
pub(crate) fn is_written_for_missing(cell: &[u8]) -> bool {
    const WRITTEN: [&str; 7] = ["NA", "N/A", "#N/A", "#NV", "#N/D", "NaN", "NULL"];
    let cell = cell.trim_ascii();
    WRITTEN.iter().any(|known| known.as_bytes() == cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_are_missing_in_any_case_and_nothing_else_is() {
        for text in ["NA", "na", "n/a", " NULL ", "none", "?", "-", ".", "Unknown", "nan"] {
            assert!(is_known_missing(text.as_bytes()), "{text}");
        }
        for text in ["", "0", "--", "nobody", "N", "unknowns", "1"] {
            assert!(!is_known_missing(text.as_bytes()), "{text}");
        }
    }
}
