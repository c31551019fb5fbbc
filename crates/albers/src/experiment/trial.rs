//! A made-up table, what is asked of it, and what is published.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use albers_classes::ClassId;
use albers_generate::{Generator, Kind, Options};
use albers_storage::choice::Choice as _;
use albers_storage::watch::Silent;
use albers_table::hierarchy::{HierarchyRows, HierarchySpec};
use albers_table::schema::Role;
use albers_table::sink::{BatchSink, Sink};
use albers_table::source::{BatchSource, ReadOptions};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array as _, ArrayRef, Int64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};

use crate::anonymize::anonymize;
use crate::error::Result;
use crate::finding::{Acceptance, FindingName};
use crate::job::{ByteSize, Job, Method};
use crate::lattice::{LatticeReport, LatticeRequest, lattice};
use crate::report::Report;

/// The memory of a search, enough for all frequency sets of the tables that are searched.
const SEARCH_BYTES: u64 = 4 << 30;

/// A made-up table.
pub(super) struct Table {
    kind: Kind,
    options: Options,
    rows: Rows,
}

/// Rows in memory: those of a table, or those that are published.
pub(super) struct Rows(pub(super) Vec<RecordBatch>);

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
        // Ages are numbers where papers cut.
        for (name, rows) in albers_generate::hierarchies(self.kind, &self.options) {
            if quasi.contains(&name) && name != "age" {
                add_hierarchy(&mut job, name, rows.iter());
            }
        }
        Ok(job)
    }

    /// A job for a search of the lattice of these quasi-identifiers, all with the hierarchies of
    /// the values that they have.
    pub(super) fn search_job(&self, k: u64, quasi: &[&str]) -> Result<Job> {
        let mut job = self.job(k, &[])?;
        for name in quasi {
            job.set_role(name, Role::Quasi)?;
        }
        for (name, rows) in albers_generate::hierarchies(self.kind, &self.options) {
            if quasi.contains(&name) {
                let known = self.rows.texts(name);
                add_hierarchy(&mut job, name, rows.iter().filter(|row| known.contains(&row[0])));
            }
        }
        // Where memory is short other sets are computed: it must not follow from the machine.
        job.memory = Some(ByteSize(SEARCH_BYTES));
        Ok(job)
    }

    /// The same table with whole numbers for names: their ranks.
    pub(super) fn ranked(self, names: &[&str]) -> Table {
        let mut rows = self.rows;
        for name in names {
            rows = rows.ranked(name);
        }
        Table { rows, ..self }
    }

    /// The same table with a running number in front of each row.
    pub(super) fn numbered(self, name: &str) -> Table {
        Table { rows: self.rows.numbered(name), ..self }
    }

    /// So many of its rows from one on, as a table.
    pub(super) fn stretch(&self, start: usize, n_rows: usize) -> Table {
        let rows = self.rows.stretch(start, n_rows);
        Table { kind: self.kind, options: self.options.clone(), rows }
    }

    /// The table as a source.
    pub(super) fn source(&self) -> Result<BatchSource> {
        self.rows.source()
    }

    /// What the owner is told of all releases of a job.
    pub(super) fn report(&self, job: &Job) -> Result<Report> {
        let source = self.source()?;
        let sinks = (0..=job.also_k.len()).map(|_| Box::new(BatchSink::new().0) as Box<dyn Sink>);
        anonymize(job, &source, sinks.collect(), &Silent)
    }

    /// What a search of its lattice comes to.
    pub(super) fn lattice(&self, job: &Job) -> Result<LatticeReport> {
        lattice(job, &self.source()?, LatticeRequest::default(), &Silent)
    }

    /// What a job publishes of the table.
    pub(super) fn release(&self, job: &Job) -> Result<Rows> {
        let mut releases = self.releases(job)?;
        Ok(releases.swap_remove(0))
    }

    /// All that a job publishes of the table, the release of its k first.
    pub(super) fn releases(&self, job: &Job) -> Result<Vec<Rows>> {
        let source = self.source()?;
        let sinks = (0..=job.also_k.len()).map(|_| BatchSink::new());
        let (sinks, collected): (Vec<_>, Vec<_>) =
            sinks.map(|(sink, collected)| (Box::new(sink) as Box<dyn Sink>, collected)).unzip();
        anonymize(job, &source, sinks, &Silent)?;
        Ok(collected.iter().map(|own| Rows(own.take())).collect())
    }
}

impl Rows {
    /// The rows as a source.
    pub(super) fn source(&self) -> Result<BatchSource> {
        Ok(BatchSource::of(self.0.clone(), &ReadOptions::default())?)
    }

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

    /// The different values of a column, as texts.
    fn texts(&self, name: &str) -> BTreeSet<String> {
        let texts = |column: ArrayRef| -> BTreeSet<String> {
            let texts = column.as_string::<i32>().iter();
            texts.map(|text| text.unwrap_or_default().to_owned()).collect()
        };
        self.columns(name, &DataType::Utf8).flat_map(texts).collect()
    }

    /// The same rows with the ranks of the names of a column, if it has names.
    fn ranked(self, name: &str) -> Rows {
        let is_text = |batch: &RecordBatch| {
            batch.column_by_name(name).is_some_and(|own| own.data_type() == &DataType::Utf8)
        };
        if !self.0.iter().all(is_text) {
            return self;
        }
        let texts = |column: &ArrayRef| -> Vec<String> {
            let texts = column.as_string::<i32>().iter();
            texts.map(|text| text.unwrap_or_default().to_owned()).collect()
        };
        let known: Vec<String> = self.texts(name).into_iter().collect();
        let ranked = |batch: RecordBatch| {
            let place = batch.schema().index_of(name).expect("an experiment knows its columns");
            let ranks = texts(batch.column(place)).into_iter();
            let ranks = ranks.map(|text| known.partition_point(|own| *own < text) as i64);
            let mut columns = batch.columns().to_vec();
            columns[place] = Arc::new(Int64Array::from_iter_values(ranks));
            let mut fields = batch.schema().fields().to_vec();
            fields[place] = Arc::new(Field::new(name, DataType::Int64, false));
            RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
                .expect("as many rows as before")
        };
        Rows(self.0.into_iter().map(ranked).collect())
    }

    /// The same rows with a running number in front.
    fn numbered(self, name: &str) -> Rows {
        let mut next = 0;
        let numbered = |batch: RecordBatch| {
            let end = next + batch.num_rows() as i64;
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(next..end));
            next = end;
            let mut columns = batch.columns().to_vec();
            columns.insert(0, numbers);
            let mut fields = batch.schema().fields().to_vec();
            fields.insert(0, Arc::new(Field::new(name, DataType::Int64, false)));
            RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
                .expect("as many numbers as rows")
        };
        Rows(self.0.into_iter().map(numbered).collect())
    }

    /// So many rows from one on.
    fn stretch(&self, start: usize, n_rows: usize) -> Rows {
        let end = start + n_rows;
        let mut first = 0;
        let mut found = Vec::new();
        for batch in &self.0 {
            let next = first + batch.num_rows();
            let (from, to) = (start.max(first), end.min(next));
            if from < to {
                found.push(batch.slice(from - first, to - from));
            }
            first = next;
        }
        Rows(found)
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

    /// A column of whole numbers or days, counted from the least.
    pub(super) fn codes(&self, name: &str) -> Vec<u32> {
        let columns = self.columns(name, &DataType::Int64);
        let values = |column: ArrayRef| column.as_primitive::<Int64Type>().values().to_vec();
        let values: Vec<i64> = columns.flat_map(values).collect();
        let least = values.iter().copied().min().unwrap_or(0);
        values.iter().map(|value| (value - least) as u32).collect()
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

fn add_hierarchy<'h>(job: &mut Job, name: &str, rows: impl Iterator<Item = &'h Vec<String>>) {
    let text: String = rows.map(|row| row.join(",") + "\n").collect();
    let rows = HierarchyRows::of_text(name, &text);
    job.column(name).hierarchy = Some(HierarchySpec::Rows(Arc::new(rows)));
}

fn cast_to(column: &ArrayRef, data_type: &DataType) -> ArrayRef {
    cast(column, data_type)
        .expect("numbers and labels can be shown as texts, and numbers as floats")
}
