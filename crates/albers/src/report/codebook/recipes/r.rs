//! R, without packages where the release is text.

use super::{ANY, Asked, ENDS, Kind, all_quoted, is_json, labels_of, level, quoted, typed};
use crate::report::codebook::{Codebook, CodebookColumn};

/// The recipe.
pub(super) fn code(codebook: &Codebook, asked: &[Asked<'_>]) -> String {
    let file = quoted(&codebook.release);
    let mut lines = Vec::new();
    match &codebook.delimiter {
        None if is_json(codebook) => {
            lines.push("# install.packages(\"jsonlite\")".to_owned());
            let open = if codebook.release.ends_with(".gz") { "gzfile" } else { "file" };
            lines.push(format!("release <- jsonlite::stream_in({open}({file}), verbose = FALSE)"));
            lines.extend(types(codebook));
        }
        None => {
            lines.push("# install.packages(\"arrow\")".to_owned());
            lines.push(format!("release <- as.data.frame(arrow::read_parquet({file}))"));
        }
        Some(delimiter) => {
            lines.push("# Text at first, so that codes keep their zeros.".to_owned());
            lines.push(format!(
                "release <- read.csv({file}, sep = {}, colClasses = \"character\", na.strings = \
                 \"\",\n\
                 \x20                   check.names = FALSE, encoding = \"UTF-8\")",
                quoted(delimiter)
            ));
            lines.extend(types(codebook));
        }
    }
    lines.extend(intervals(asked));
    if asked.iter().any(|own| matches!(own.kind, Kind::Set(_))) {
        lines.extend(sets());
    }
    for own in asked {
        lines.extend([
            String::new(),
            format!("# {}", own.words()),
            format!("print(sum({}, na.rm = TRUE))", condition(own, false)),
        ]);
    }
    let conditions: Vec<String> = asked.iter().map(|own| condition(own, true)).collect();
    if let Some(level) = level(codebook).map(quoted).filter(|_| !conditions.is_empty()) {
        lines.extend([
            String::new(),
            "# The class of one person: of the rows around the person's values, those of the \
             greatest level."
                .to_owned(),
            format!("around <- release[which({}), ]", conditions.join("\n                 & ")),
            format!("print(sum(around[[{level}]] == max(-1, around[[{level}]])))"),
        ]);
    }
    lines.join("\n") + "\n"
}

fn types(codebook: &Codebook) -> Vec<String> {
    let (numbers, times) = typed(codebook);
    let each = |names: Vec<&str>, to: &str| {
        let names = (!names.is_empty()).then(|| all_quoted(names.into_iter()))?;
        Some(format!("for (name in c({names})) release[[name]] <- {to}(release[[name]])"))
    };
    each(numbers, "as.numeric").into_iter().chain(each(times, "as.POSIXct")).collect()
}

fn reader(column: &CodebookColumn) -> &'static str {
    if column.is_time() { "as.POSIXct" } else { "as.numeric" }
}

fn value(column: &CodebookColumn, text: &str) -> String {
    if column.is_time() { format!("as.POSIXct({})", quoted(text)) } else { text.to_owned() }
}

fn intervals(asked: &[Asked<'_>]) -> Vec<String> {
    let is_own = |own: &&Asked<'_>| matches!(own.kind, Kind::Interval(_));
    let own: Vec<&Asked<'_>> = asked.iter().filter(is_own).collect();
    if own.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        String::new(),
        "# [48, 62] becomes two columns: 48 ends in _from, 62 in _to.".to_owned(),
        format!("ends <- {}", quoted(ENDS)),
    ];
    for asked in own {
        let (name, reader) = (&asked.column.name, reader(asked.column));
        let (from, to) = (quoted(&format!("{name}_from")), quoted(&format!("{name}_to")));
        let cells = format!("release[[{}]]", quoted(name));
        lines.extend([
            format!("cells <- {cells}"),
            format!("cells[cells %in% c({})] <- NA", all_quoted(ANY.into_iter())),
            format!("release[[{from}]] <- {reader}(sub(ends, \"\\\\1\", cells, perl = TRUE))"),
            "last <- sub(ends, \"\\\\2\", cells, perl = TRUE)".to_owned(),
            "last[which(last == \"\")] <- sub(ends, \"\\\\1\", cells, perl = TRUE)[which(last \
             == \"\")]"
                .to_owned(),
            format!("release[[{to}]] <- {reader}(last)"),
        ]);
    }
    lines
}

fn sets() -> Vec<String> {
    let lines = [
        "",
        "# {a, \"b, c\"} becomes c(\"a\", \"b, c\"); the missing value is \"\".",
        "members <- function(cell) {",
        "  if (is.na(cell)) return(\"\")",
        "  if (!grepl('^[{\"]', cell)) return(cell)",
        "  inner <- sub(\"^[{](.*)[}]$\", \"\\\\1\", cell)",
        "  scan(text = inner, what = \"\", sep = \",\", quote = '\"', strip.white = TRUE, quiet \
         = TRUE)",
        "}",
    ];
    lines.map(str::to_owned).to_vec()
}

fn condition(asked: &Asked<'_>, is_point: bool) -> String {
    let column = asked.column;
    let cells = format!("release[[{}]]", quoted(&column.name));
    let window = |from: &str, to: &str, low: &str, high: &str| {
        let high = if is_point { low } else { high };
        let (low, high) = (value(column, low), value(column, high));
        format!("release[[{}]] <= {high} & release[[{}]] >= {low}", quoted(from), quoted(to))
    };
    match &asked.kind {
        Kind::Interval(example) => {
            let (from, to) = (format!("{}_from", column.name), format!("{}_to", column.name));
            let inside = window(&from, &to, &example.low, &example.high);
            format!("({cells} %in% c({}) | ({inside}))", all_quoted(ANY.into_iter()))
        }
        Kind::Bounds(example) => {
            let (min, max) = (&column.shown_in[0], &column.shown_in[1]);
            format!("({})", window(min, max, &example.low, &example.high))
        }
        Kind::Set(member) => {
            format!("sapply({cells}, function(cell) {} %in% members(cell))", quoted(member))
        }
        Kind::Label(path) => {
            let labels = all_quoted(labels_of(path).into_iter());
            format!("({} %in% c({labels}))", plain(column, &cells))
        }
        Kind::Prefix(own) => {
            let (plain, own) = (plain(column, &cells), quoted(own));
            format!(
                "({plain} %in% {own} | (endsWith({plain}, \"*\") & startsWith({own}, \
                 sub(\"[*]$\", \"\", {plain}))))"
            )
        }
        Kind::Year(year) => {
            let plain = plain(column, &cells);
            format!("(startsWith({plain}, {}) | {plain} %in% \"*\")", quoted(year))
        }
    }
}

/// The labels of a column, without the missing value beside them.
fn plain(column: &CodebookColumn, cells: &str) -> String {
    match column.missing {
        true => format!("sub('^[{{], \"?(.*?)\"?[}}]$', \"\\\\1\", {cells}, perl = TRUE)"),
        false => cells.to_owned(),
    }
}
