//! How long a durable batch of few rows takes in an index, beside the bare engine that commits the
//! same bytes.
//!
//! Usage: living_inserts FOLDER [ROWS]     (a folder on the disk that counts; 10,000 rows)

#![expect(clippy::print_stdout, reason = "it is all that the program is for")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use albers::generate::{Generator, Kind, Options};
use albers::source::{BatchSource, ReadOptions};
use albers::{ColumnType, Index, Job, Role, Silent};
use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use redb::{Database, TableDefinition};

const QUASI: [&str; 8] =
    ["zipcode", "order-date", "gender", "style", "price", "quantity", "cost", "shipment"];

/// Rows that the index has before.
const N_BEFORE: u64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder")?;
    let n_rows: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let folder = tempfile::tempdir_in(Path::new(&folder))?;
    for batch_rows in [1, 100] {
        let of_index = folder.path().join(format!("index{batch_rows}"));
        let (index_ms, n_bytes) = index(&of_index, n_rows, batch_rows)?;
        let engine_ms =
            engine(&folder.path().join(format!("bare{batch_rows}")), index_ms.len(), n_bytes)?;
        say(&format!("index, batches of {batch_rows}"), batch_rows, &index_ms);
        say(&format!("engine, {n_bytes} bytes each"), batch_rows, &engine_ms);
        let ratio = index_ms.iter().sum::<f64>() / engine_ms.iter().sum::<f64>();
        println!("index / engine: {ratio:.2}");
    }
    Ok(())
}

fn say(what: &str, batch_rows: usize, milliseconds: &[f64]) {
    let mut sorted = milliseconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    let seconds: f64 = sorted.iter().sum::<f64>() / 1e3;
    let rate = (sorted.len() * batch_rows) as f64 / seconds;
    println!("{what}: {rate:.0} rows/s, p50 {:.2} ms, p99 {:.2} ms", at(0.5), at(0.99));
}

/// The times of all batches, and about how many bytes each commits.
fn index(
    folder: &Path,
    n_rows: usize,
    batch_rows: usize,
) -> Result<(Vec<f64>, usize), Box<dyn Error>> {
    let mut job = Job { k: Some(10), ..Job::default() };
    for name in QUASI {
        job.set_role(name, Role::Quasi)?;
    }
    // Names that come for the first time would make every batch a change of all codes.
    job.column("zipcode").column_type = Some(ColumnType::Integer);
    let mut index = Index::create(folder, &job, "id")?;
    let generator =
        Generator::new(Kind::LandsEnd, N_BEFORE + n_rows as u64, 1, Options::default())?;
    let batches: Vec<RecordBatch> = generator.into_batches().collect();
    let all = with_key(&arrow_select::concat::concat_batches(&batches[0].schema(), &batches)?)?;
    index.insert(&source(all.slice(0, N_BEFORE as usize))?, &Silent)?;
    let mut milliseconds = Vec::new();
    for start in (0..n_rows).step_by(batch_rows) {
        let batch = all.slice(N_BEFORE as usize + start, batch_rows.min(n_rows - start));
        let source = source(batch)?;
        let begin = Instant::now();
        index.insert(&source, &Silent)?;
        milliseconds.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    // A row as it is packed, with its key, its hash and its record.
    const ROW_BYTES: usize = 80;
    Ok((milliseconds, batch_rows * ROW_BYTES))
}

fn source(batch: RecordBatch) -> Result<BatchSource, Box<dyn Error>> {
    Ok(BatchSource::of(vec![batch], &ReadOptions::default())?)
}

fn with_key(rows: &RecordBatch) -> Result<RecordBatch, Box<dyn Error>> {
    let mut fields = vec![Arc::new(Field::new("id", DataType::Int64, false))];
    fields.extend(rows.schema().fields().iter().cloned());
    let ids = Int64Array::from_iter_values(0..rows.num_rows() as i64);
    let mut columns: Vec<arrow_array::ArrayRef> = vec![Arc::new(ids)];
    columns.extend(rows.columns().iter().cloned());
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// The same number of durable commits of as many bytes by the engine alone.
fn engine(path: &Path, n_commits: usize, n_bytes: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");
    let database = Database::create(path)?;
    let n_records = n_bytes.div_ceil(80);
    let mut milliseconds = Vec::new();
    for commit in 0..n_commits {
        let begin = Instant::now();
        let changes = database.begin_write()?;
        {
            let mut table = changes.open_table(TABLE)?;
            for record in 0..n_records {
                let number = (commit * n_records + record) as u128;
                let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
                table.insert(&key.to_be_bytes()[..], &[7u8; 64][..])?;
            }
        }
        changes.commit()?;
        milliseconds.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok(milliseconds)
}
