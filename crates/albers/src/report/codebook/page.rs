//! The codebook for people, as Markdown.

use super::{Codebook, CodebookColumn, CodebookHierarchy, Example, recipes};

/// Rows of a hierarchy file up to which they are listed for people too.
const MAX_LISTED: usize = 30;

/// The text of the page.
pub(super) fn text(codebook: &Codebook, examples: &[Option<Example>]) -> String {
    let mut text =
        format!("# How to read {}\n\n{}\n", code(&codebook.release), introduction(codebook));
    text.push_str("\n## Columns\n\n| column | type | shown as | how it is read |\n");
    text.push_str("| --- | --- | --- | --- |\n");
    for column in &codebook.columns {
        let columns: Vec<String> =
            column.shown_in.iter().chain(&column.mean).map(|own| code(own)).collect();
        let shown = match column.role.as_str() {
            "quasi" => column.shown.clone(),
            _ if column.shown == "depth" => "level".to_owned(),
            role => format!("{}, {role}", column.shown),
        };
        text.push_str(&format!(
            "| {} | {} | {shown} | {} |\n",
            columns.join(", "),
            column.column_type,
            in_table(&column.reads)
        ));
    }
    if !codebook.dropped.is_empty() {
        let names: Vec<String> = codebook.dropped.iter().map(|own| code(own)).collect();
        text.push_str(&format!("\nLeft out of the release on purpose: {}.\n", names.join(", ")));
    }
    codebook.columns.iter().for_each(|column| text.push_str(&hierarchy(column)));
    list(&mut text, "What is promised", &codebook.promised);
    list(&mut text, "What is not promised", &codebook.not_promised);
    text.push_str(&recipes::text(codebook, examples));
    text
}

fn introduction(codebook: &Codebook) -> String {
    let quasi: Vec<String> = codebook
        .columns
        .iter()
        .filter(|own| own.role == "quasi")
        .map(|own| code(&own.name))
        .collect();
    format!(
        "This table tells of people without telling who they are. Values of {} are made coarser: \
         rows that show the same there are a class, and which row of a class is whose cannot be \
         told by them. {} says the same for programs.",
        quasi.join(", "),
        code(&format!("{}.codebook.json", codebook.release))
    )
}

/// The rows of a hierarchy file, where they are few.
fn hierarchy(column: &CodebookColumn) -> String {
    let Some(CodebookHierarchy::File { rows }) = &column.hierarchy else { return String::new() };
    if rows.len() > MAX_LISTED {
        return String::new();
    }
    let mut text = format!("\nValues and labels of {}:\n\n", code(&column.name));
    for (place, row) in rows.iter().enumerate() {
        let labels: Vec<String> = row.iter().map(|own| code(own)).collect();
        text.push_str(&format!("{}. {}\n", place + 1, labels.join(" < ")));
    }
    text
}

fn list(text: &mut String, title: &str, sentences: &[String]) {
    text.push_str(&format!("\n## {title}\n\n"));
    sentences.iter().for_each(|sentence| text.push_str(&format!("- {sentence}\n")));
}

/// A name as it is, in a line of text or a table.
fn code(name: &str) -> String {
    let name = in_table(name).replace(['\n', '\r'], " ");
    match name.contains('`') {
        true => format!("`` {name} ``"),
        false => format!("`{name}`"),
    }
}

/// A text between the bars of a table.
fn in_table(text: &str) -> String {
    text.replace('|', "\\|")
}
