//! The order of chunks, on which releases depend, and how often files are opened.

use albers_storage::input::OpenCount;

use super::*;

#[test]
fn parquet_comes_in_four_lanes_of_row_groups_and_text_in_file_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    // Six row groups: four lanes begin with the first four, and whoever ends first goes on.
    let sizes = [40_000, 20_000, 10, 16_384, 5, 30_000];
    let mut first = 0;
    let batches: Vec<RecordBatch> = sizes
        .iter()
        .map(|&n_rows| {
            let batch = numbered(first, n_rows);
            first += n_rows;
            batch
        })
        .collect();
    write_table(&path, &batches);
    let source = open(&path);
    let expected = [
        (0, 16_384),
        (40_000, 16_384),
        (60_000, 10),
        (60_010, 16_384),
        (16_384, 16_384),
        (56_384, 3_616),
        (32_768, 7_232),
        (76_394, 5),
        (76_399, 16_384),
        (92_783, 13_616),
    ];
    for n_threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let chunks = pool.install(|| chunks_of(&source)).unwrap();
        let found: Vec<_> =
            chunks.iter().map(|chunk| (chunk.first_row.get(), chunk.n_rows)).collect();
        assert_eq!(found, expected);
        assert_eq!(numbers_of(chunks, 0), (0..first).collect::<Vec<i64>>());
    }
    assert_eq!(source.n_rows(), Some(first as u64));
}

#[test]
fn a_file_is_opened_once_for_its_header_its_types_and_two_scans() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.tsv", "t.parquet"] {
        let path = folder.path().join(name);
        write_table(&path, &[numbered(0, 20_000), numbered(20_000, 1_000)]);
        let n_bytes = std::fs::metadata(&path).unwrap().len();
        let opens = OpenCount::of(&path);
        let source = open(&path);
        for n_scans in 1..=2 {
            let chunks = chunks_of(&source).unwrap();
            assert_eq!(numbers_of(chunks, 0), (0..21_000).collect::<Vec<i64>>(), "{name}");
            let is_text = !name.ends_with("parquet");
            assert!(source.read_bytes() >= n_bytes * if is_text { n_scans } else { 0 }, "{name}");
        }
        assert!(source.read_bytes() > 0);
        assert_eq!(opens.n_opens(), 1, "{name}");
    }
}

#[test]
fn a_damaged_row_group_ends_the_scan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let batches: Vec<RecordBatch> = (0..8).map(|at| numbered(at * 20_000, 20_000)).collect();
    write_table(&path, &batches);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 10_000].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let source = open(&path);
    let requests = requests_of(&source, None);
    let types = source.types(&requests).unwrap();
    let mut scan = source.scan(&requests, &types).unwrap();
    let fault = loop {
        match scan.next_round() {
            Ok(chunks) => assert!(!chunks.is_empty(), "the damage is not seen"),
            Err(fault) => break fault,
        }
    };
    assert!(fault.to_string().contains("damaged"), "{fault}");
    assert!(scan.next_round().unwrap().is_empty(), "nothing follows a fault");
}

#[test]
fn a_watch_that_breaks_cancels_the_scan() {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicU64, Ordering};

    use albers_storage::StorageError;
    use albers_storage::watch::{Phase, Watch};

    struct Impatient(AtomicU64);
    impl Watch for Impatient {
        fn phase(&self, _phase: Phase, _n_rows: Option<u64>) {}

        fn advance(&self, n_rows: u64) -> ControlFlow<()> {
            match self.0.fetch_add(n_rows, Ordering::Relaxed) > 100_000 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }

    let batches: Vec<RecordBatch> = (0..50).map(|at| numbered(at * 20_000, 20_000)).collect();
    let source = BatchSource::of(batches, &ReadOptions::default()).unwrap();
    let requests = requests_of(&source, None);
    let types = source.types(&requests).unwrap();
    let mut scan = source.scan(&requests, &types).unwrap();
    let watch = Impatient(AtomicU64::new(0));
    let outcome = for_each_chunk(&mut *scan, &watch, &Ok, &mut |_| Ok(()));
    assert!(matches!(outcome, Err(TableError::Storage(StorageError::Cancelled))));
    assert!(watch.0.load(Ordering::Relaxed) < 1_000_000);
}

#[test]
fn what_a_map_finds_wrong_comes_before_what_the_scan_finds_later() {
    struct Broken(u64);
    impl Scan for Broken {
        fn next_round(&mut self) -> Result<Vec<SourceChunk>> {
            self.0 += 1;
            let chunk = |first_row| SourceChunk {
                first_row: RowId::new(first_row),
                n_rows: 1,
                coded: Vec::new(),
                carried: Vec::new(),
            };
            match self.0 {
                1 => Ok(vec![chunk(0), chunk(1)]),
                _ => Err(table_error("t", "later", "")),
            }
        }
    }
    let map = |chunk: SourceChunk| match chunk.first_row {
        RowId::FIRST => Ok(chunk.first_row),
        _ => Err(table_error("t", "sooner", "")),
    };
    let mut seen = Vec::new();
    let outcome = for_each_chunk(&mut Broken(0), &Silent, &map, &mut |row| {
        seen.push(row);
        Ok(())
    });
    assert!(outcome.unwrap_err().to_string().contains("sooner"));
    assert_eq!(seen, [RowId::FIRST]);
}
