//! What does not fit of a hierarchy file, all of it at once, by counts and lines.
//!
//! Guarantee: no label and no value is told.

use rustc_hash::{FxHashMap, FxHashSet};

use super::records::Record;
use super::{Column, Place, canonical, gather, header_and_rows, refusal};
use crate::schema::ColumnType;
use crate::{Result, TableError};

/// A hierarchy file beside the column that it is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileInspection {
    /// Lines that stand for a value.
    pub n_lines: u64,
    /// Labels of a line, the value among them.
    pub n_levels: usize,
    /// Distinct values of the column.
    pub n_values: u64,
    /// The places of those of them that no line stands for.
    pub values_without_line: Vec<usize>,
    /// Lines whose value the column does not have.
    pub lines_without_value: Vec<u64>,
    /// What makes it no hierarchy, with the line.
    pub problems: Vec<(Option<u64>, String)>,
}

/// Looks at a file line by line; what stops reading it at all is an error.
pub(in crate::hierarchy) fn inspect(
    bytes: &[u8],
    place: &Place,
    column_type: ColumnType,
    values: &[String],
) -> Result<FileInspection> {
    let column = Column::new(place.column, column_type, values);
    let records = header_and_rows(bytes, place, &column)?;
    let mut found = FileInspection {
        n_lines: records.len() as u64,
        n_levels: records.first().map_or(0, |record| record.fields.len()),
        n_values: values.len() as u64,
        ..FileInspection::default()
    };
    let mut leaves = FxHashSet::default();
    let mut parents = Parents::default();
    for record in &records {
        let Record { line, fields, .. } = record;
        if let Some(problem) = malformed(fields, found.n_levels) {
            found.problems.push((Some(*line), problem));
            continue;
        }
        match canonical(column_type, &fields[0]) {
            None => {
                let problem = format!("the leaf is not of the column's type, {column_type}");
                found.problems.push((Some(*line), problem));
            }
            Some(leaf) => {
                if !column.values.contains(leaf.as_str()) {
                    found.lines_without_value.push(*line);
                }
                leaves.insert(leaf);
            }
        }
        found.problems.extend(parents.conflict(record).map(|problem| (Some(*line), problem)));
    }
    let has_line = |value: &String| leaves.contains(value.as_str());
    found.values_without_line = (0..values.len()).filter(|&at| !has_line(&values[at])).collect();
    if found.problems.is_empty() {
        found.problems.extend(left_over(&records, place, column_type)?);
    }
    Ok(found)
}

/// What only the whole tells: a label with two meanings.
fn left_over(
    records: &[Record],
    place: &Place,
    column_type: ColumnType,
) -> Result<Option<(Option<u64>, String)>> {
    let built = gather(records, place, column_type)
        .and_then(|builder| builder.finish().map_err(|conflict| refusal(conflict, place)));
    match built {
        Ok(_) => Ok(None),
        Err(TableError::Hierarchy { line, problem, .. }) => Ok(Some((line, problem))),
        Err(other) => Err(other),
    }
}

/// What is wrong with the fields of a line by themselves.
fn malformed<S: AsRef<str>>(fields: &[S], n_levels: usize) -> Option<String> {
    if fields.len() != n_levels {
        return Some(format!("expected {n_levels} levels, found {}", fields.len()));
    }
    let empty = fields.iter().position(|field| field.as_ref().is_empty())?;
    Some(format!("the label of level {empty} is empty"))
}

/// What stood above each label when it first came.
#[derive(Default)]
struct Parents {
    /// By level and label: what stood above, and the line.
    above: FxHashMap<(usize, String), (String, u64)>,
}

impl Parents {
    /// Why a line does not nest with the lines before it.
    fn conflict(&mut self, record: &Record) -> Option<String> {
        let Record { line, fields, .. } = record;
        for (level, pair) in fields.windows(2).enumerate() {
            let label = (level, pair[0].to_string());
            let known = self.above.entry(label).or_insert_with(|| (pair[1].to_string(), *line));
            if known.0 != pair[1] {
                let (first_line, above) = (known.1, level + 1);
                return Some(match level {
                    0 => format!("the leaf of line {first_line} comes again with other labels"),
                    _ => format!(
                        "the label of level {level} stands under another label of level {above} than \
                         in line {first_line}"
                    ),
                });
            }
        }
        None
    }
}
