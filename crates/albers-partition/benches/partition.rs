//! The partitioning step alone, on agrawal points: `cargo bench -p albers-partition`.

#![allow(missing_docs, reason = "the benchmark macros make undocumented items")]

use std::hint::black_box;

use albers_classes::points::Points;
use albers_classes::space::{Axis, Shown, Space};
use albers_generate::{Generator, Kind, Options};
use albers_partition::grain::Grain;
use albers_partition::mondrian::{Plan, partition};
use albers_partition::split::Policy;
use albers_privacy::Facts;
use albers_privacy::Requirement;
use albers_storage::watch::Silent;
use albers_table::chunk::{ColumnChunk, TickUnit, narrow_ticks};
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::domain::Domain;
use albers_table::schema::ColumnType;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// The codes of an agrawal table, and what they mean.
fn agrawal(n_rows: u64) -> (Vec<Vec<Vec<u32>>>, Vec<Domain>) {
    let generator = Generator::new(Kind::Agrawal, n_rows, 0, Options::default())
        .expect("agrawal takes the default options");
    let names: Vec<String> =
        generator.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut chunks: Vec<Vec<ColumnChunk>> = vec![Vec::new(); names.len()];
    for batch in generator.into_batches() {
        for (column, chunks) in batch.columns().iter().zip(&mut chunks) {
            let values = column.as_primitive::<Int32Type>().values();
            let ticks = values.iter().map(|&value| i64::from(value)).collect();
            let cells = narrow_ticks(ticks, &[], TickUnit::Integer);
            chunks.push(ColumnChunk { cells, missing: Vec::new() });
        }
    }
    let column_type = ColumnType::Integer;
    let coded = names.into_iter().zip(chunks).map(|(name, chunks)| {
        let raw = RawColumn { name, column_type, data_type: None, chunks };
        encode(raw, CodingPlan::Ordered).expect("integers are ordered")
    });
    coded.map(|column| (column.codes, column.domain)).unzip()
}

fn bench_partition(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("partition");
    group.sample_size(10);
    for n_rows in [100_000, 1_000_000] {
        let (codes, domains) = agrawal(n_rows);
        let axes = domains.iter().map(|domain| Axis::new(domain, Shown::Interval, 1.0, false));
        let space = Space { axes: axes.collect() };
        let requirement =
            Requirement::new(10, false, Vec::new(), Vec::new()).expect("k = 10 is a requirement");
        let facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
        group.throughput(Throughput::Elements(n_rows));
        for (name, policy) in [("compact", Policy::Compact), ("median", Policy::Median)] {
            let plan = Plan {
                space: &space,
                requirement: &requirement,
                facts: &facts,
                policy,
                keep_regions: false,
                workload: None,
                labels_apart: false,
                is_exact: false,
                trust: None,
                portfolio: None,
                grain: Grain::default(),
                seed: 0,
            };
            group.bench_function(BenchmarkId::new(name, n_rows), |bencher| {
                bencher.iter_batched(
                    || Points::new(codes.clone()),
                    |points| black_box(partition(points, None, &plan, &Silent)),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bench_partition);
criterion_main!(benches);
