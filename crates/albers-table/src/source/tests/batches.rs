//! Record batches.

use arrow_array::{BinaryArray, Float64Array};
use arrow_schema::ArrowError;

use super::*;

#[test]
fn batches_of_any_size_are_chunks_of_bounded_size() {
    let batches = vec![numbered(0, 10), numbered(10, 0), numbered(10, 200_000)];
    let source = BatchSource::of(batches.clone(), &ReadOptions::default()).unwrap();
    assert_eq!((source.stamp(), source.n_rows()), (Some(Stamp::Fixed), Some(200_010)));
    for _ in 0..2 {
        let chunks = chunks_of(&source).unwrap();
        let sizes: Vec<usize> = chunks.iter().map(|chunk| chunk.n_rows).collect();
        assert_eq!(sizes, [10, 65_536, 65_536, 65_536, 3_392]);
        assert_eq!(numbers_of(chunks, 0), (0..200_010).collect::<Vec<i64>>());
    }

    let schema = batches[0].schema();
    let batches = Box::new(batches.into_iter().map(Ok));
    let source = BatchSource::once(schema, batches, &ReadOptions::default()).unwrap();
    assert_eq!(source.stamp(), None);
    let chunks = chunks_of(&source).unwrap();
    assert_eq!(numbers_of(chunks, 0), (0..200_010).collect::<Vec<i64>>());
    assert!(matches!(chunks_of(&source), Err(TableError::ReadTwice { .. })));
}

#[test]
fn batches_with_other_columns_and_errors_end_the_scan() {
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let other = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let options = ReadOptions::default();
    for bad in [Ok(other), Err(ArrowError::ParseError("a secret".to_owned()))] {
        let schema = numbered(0, 1).schema();
        let batches = Box::new(vec![Ok(numbered(0, 5)), bad, Ok(numbered(5, 5))].into_iter());
        let source = BatchSource::once(schema, batches, &options).unwrap().named("frame");
        let mut n_rows = 0;
        let outcome = read_as(&source, None, &mut |chunk| n_rows += chunk.n_rows);
        let error = outcome.unwrap_err().to_string();
        assert!(error.starts_with("frame: ") && !error.contains("secret"), "{error}");
        assert_eq!(n_rows, 5);
    }
}

#[test]
fn a_cell_that_does_not_fit_is_told_by_its_row_in_the_table() {
    let floats = |values: Vec<f64>| {
        let column: ArrayRef = Arc::new(Float64Array::from(values));
        RecordBatch::try_from_iter([("x", column)]).unwrap()
    };
    let batches = vec![floats(vec![1.0; 70_000]), floats(vec![2.0, f64::NAN])];
    let source = BatchSource::of(batches, &ReadOptions::default()).unwrap();
    let Err(TableError::Cell { place, .. }) = chunks_of(&source) else { panic!("not a number") };
    assert_eq!(place, "row 70002");
}

#[test]
fn a_type_that_cannot_be_anonymized_is_named() {
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"x"[..]]));
    let batch = RecordBatch::try_from_iter([("blob", bytes)]).unwrap();
    let source = BatchSource::of(vec![batch], &ReadOptions::default()).unwrap();
    assert!(!source.columns()[0].can_be_coded());
    let error = chunks_of(&source).err().unwrap().to_string();
    assert!(error.contains("'blob'") && error.contains("Binary"), "{error}");
    assert!(BatchSource::of(Vec::new(), &ReadOptions::default()).is_err());
}
