//! Spreadsheets: LibreOffice, Excel and others.

use super::{Asked, Kind, is_json};
use crate::report::codebook::Codebook;

/// What is said of spreadsheets.
pub(super) fn text(codebook: &Codebook, asked: &[Asked<'_>]) -> String {
    let title = "\n### Spreadsheets\n\n";
    let Some(delimiter) = &codebook.delimiter else {
        let format = if is_json(codebook) { "JSON Lines" } else { "Parquet" };
        return format!(
            "{title}Spreadsheets do not read {format}. DuckDB makes a file that they read: `COPY \
             release TO \
             'release.csv';`\n"
        );
    };
    let delimiter = match delimiter.as_str() {
        "\t" => "tab",
        "," => "comma",
        ";" => "semicolon",
        other => other,
    };
    let mut text = format!(
        "{title}Import the file as text with the delimiter {delimiter}, and say that all columns \
         are \
         text: codes keep their zeros then.\n"
    );
    let columns = || {
        let shown = codebook.columns.iter();
        shown.flat_map(|own| own.shown_in.iter().chain(&own.mean).map(String::as_str))
    };
    let n_columns = columns().count();
    let interval = asked.iter().find_map(|own| match &own.kind {
        Kind::Interval(example) if own.column.is_number() => Some((own.column, example)),
        _ => None,
    });
    if let Some((column, example)) = interval {
        let at = columns().position(|own| own == column.name).unwrap_or(0);
        let (cell, [bare, from, to]) =
            (letters(at), [0, 1, 2].map(|next| letters(n_columns + next)));
        let name = column.name.replace(['\n', '\r', '`'], " ");
        text.push_str(&format!(
            "In the row of the first person, these three formulas give the ends of {name}; copy \
             them down. The fourth counts the rows that may lie between {low} and {high}.\n\n\
             ```text\n\
             {bare}2: =SUBSTITUTE(SUBSTITUTE(SUBSTITUTE(SUBSTITUTE(SUBSTITUTE({cell}2,\
             \"{{, \",\"\"),\"}}\",\"\"),\"[\",\"\"),\"]\",\"\"),CHAR(34),\"\")\n\
             {from}2: =VALUE(IFERROR(LEFT({bare}2,FIND(\", \",{bare}2)-1),{bare}2))\n\
             {to}2: =VALUE(IFERROR(MID({bare}2,FIND(\", \",{bare}2)+2,99),{bare}2))\n\
             {count}2: =COUNTIFS({from}:{from},\"<={high}\",{to}:{to},\">={low}\")\n```\n",
            low = example.low,
            high = example.high,
            count = letters(n_columns + 3),
        ));
    }
    text
}

/// The letters of a column of a spreadsheet, A for 0.
fn letters(mut at: usize) -> String {
    let mut letters = String::new();
    loop {
        letters.insert(0, char::from(b'A' + (at % 26) as u8));
        match at / 26 {
            0 => return letters,
            above => at = above - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::letters;

    #[test]
    fn columns_have_the_letters_of_spreadsheets() {
        let told: Vec<String> = [0, 25, 26, 51, 52, 701, 702].map(letters).to_vec();
        assert_eq!(told, ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }
}
