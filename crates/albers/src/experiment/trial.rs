//! A made-up table, what is asked of it, and what is published.

use std::collections::BTreeMap;
use std::sync::Arc;

use albers_classes::ClassId;
use albers_generate::{Generator, Kind, Options};
use albers_storage::choice::Choice as _;
use albers_storage::watch::Silent;
use albers_table::hierarchy::{HierarchyRows, HierarchySpec};
use albers_table::schema::Role;
use albers_table::sink::BatchSink;
use albers_table::source::{BatchSource, ReadOptions};
use arrow_array::cast::AsArray as _;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::anonymize::anonymize;
use crate::error::Result;
use crate::finding::{Acceptance, FindingName};
use crate::job::{Job, Method};

/// A made-up table.
pub(super) struct Table {
    kind: Kind,
    options: Options,
    rows: Rows,
}

/// Rows in memory: those of a table, or those that are published.
pub(super) struct Rows(Vec<RecordBatch>);

impl Table {
    /// The table of a seed.
    pub(super) fn generate(kind: Kind, n_rows: u64, seed: u64, options: &Options) -> Result<Table> {
        let generator = Generator::new(kind, n_rows, seed, options.clone())?;
        let rows = Rows(generator.into_batches().collect());
        Ok(Table { kind, options: options.clone(), rows })
    }

    /// Its rows.
    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// A job for the table: these quasi-identifiers, labels with their hierarchies. What findings
    /// would stop is accepted, since there are no people in the table.
    pub(super) fn job(&self, k: u64, quasi: &[&str]) -> Result<Job> {
        let accept = FindingName::ALL.iter().map(|&name| Acceptance { name, column: None });
        let mut job = Job {
            k: Some(k),
            method: Some(Method::Mondrian),
            accept: accept.collect(),
            ..Job::default()
        };
        for name in quasi {
            job.set_role(name, Role::Quasi)?;
        }
        for (name, rows) in albers_generate::hierarchies(self.kind, &self.options) {
            // Ages are numbers in the papers.
            if quasi.contains(&name) && name != "age" {
                let text: String = rows.iter().map(|row| row.join(",") + "\n").collect();
                let rows = HierarchyRows::of_text(name, &text);
                job.column(name).hierarchy = Some(HierarchySpec::Rows(Arc::new(rows)));
            }
        }
        Ok(job)
    }

    /// What a job publishes of the table.
    pub(super) fn release(&self, job: &Job) -> Result<Rows> {
        let source = BatchSource::of(self.rows.0.clone(), &ReadOptions::default())?;
        let (sink, collected) = BatchSink::new();
        anonymize(job, &source, vec![Box::new(sink)], &Silent)?;
        Ok(Rows(collected.take()))
    }
}

impl Rows {
    /// The number of each row's class: rows that show the same in all columns but one.
    pub(super) fn classes(&self, but: &str) -> Vec<ClassId> {
        let mut numbers: BTreeMap<Vec<String>, ClassId> = BTreeMap::new();
        let mut classes = Vec::new();
        for batch in &self.0 {
            let columns: Vec<ArrayRef> = batch
                .schema()
                .fields()
                .iter()
                .zip(batch.columns())
                .filter(|(field, _)| field.name() != but)
                .map(|(_, column)| cast_to(column, &DataType::Utf8))
                .collect();
            for row_idx in 0..batch.num_rows() {
                let texts = columns.iter().map(|column| column.as_string::<i32>().value(row_idx));
                let next = ClassId::of_index(numbers.len());
                classes.push(*numbers.entry(texts.map(str::to_owned).collect()).or_insert(next));
            }
        }
        classes
    }

    /// A column of labels, as numbers that tell them apart.
    pub(super) fn labels(&self, name: &str) -> Vec<Option<u32>> {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut labels = Vec::new();
        for column in self.columns(name, &DataType::Utf8) {
            for text in column.as_string::<i32>() {
                let next = numbers.len() as u32;
                labels.push(text.map(|text| *numbers.entry(text.to_owned()).or_insert(next)));
            }
        }
        labels
    }

    /// A column of numbers.
    pub(super) fn numbers(&self, name: &str) -> Vec<f64> {
        let columns = self.columns(name, &DataType::Float64);
        let values = |column: ArrayRef| column.as_primitive::<Float64Type>().values().to_vec();
        columns.flat_map(values).collect()
    }

    fn columns(&self, name: &str, data_type: &DataType) -> impl Iterator<Item = ArrayRef> {
        self.0.iter().map(move |batch| {
            let column = batch.column_by_name(name).expect("an experiment knows its columns");
            cast_to(column, data_type)
        })
    }
}

fn cast_to(column: &ArrayRef, data_type: &DataType) -> ArrayRef {
    cast(column, data_type)
        .expect("numbers and labels can be shown as texts, and numbers as floats")
}
