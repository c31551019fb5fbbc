use std::io::Write as _;
use std::path::Path;

use albers_classes::Attribute;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::region::span;
use albers_classes::space::Shown;
use albers_partition::split::cut::{Cut, Turn};
use albers_storage::digest::digest_of;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::output::OutputFile;
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{ChunkSurvey, CodingPlan, ColumnSurvey, Look};
use albers_table::row::RowId;
use albers_table::sink::name_all;
use proptest::prelude::*;

use super::items::{Item, StoredCut, StoredTurn};
use super::*;

/// Ages from 20 to 59.
fn ages() -> Coding {
    let mut cells = TextColumnBuilder::new(ColumnType::Integer);
    for age in 20..60 {
        cells.push(age.to_string().as_bytes()).unwrap();
    }
    let mut survey = ColumnSurvey::new("age", Look::Ends);
    survey.add(ChunkSurvey::of(&cells.finish().map_err(|_| "ages").unwrap(), Look::Ends)).unwrap();
    let coder = survey.finish(ColumnType::Integer, None, CodingPlan::Ordered).unwrap();
    Coding::new(vec![coder.coding().clone()])
}

fn head() -> Head {
    Head {
        job: "k = 2\n".to_owned(),
        hierarchies: Vec::new(),
        columns: vec!["age".to_owned()],
        types: vec![ColumnType::Integer],
        coding: coding_bytes(&ages()).unwrap(),
        has_regions: true,
        n_rows: 40,
        key: 7,
    }
}

/// A part that is one leaf: the way to it, and its least and greatest code.
type OneLeaf = (Vec<(Cut, bool)>, (u32, u32));

/// Three leaves: up to 30, from 31 to 50, and the rest.
fn leaves() -> [OneLeaf; 3] {
    let (young, middle) = (Cut::new(0, 0, 10), Cut::new(0, 11, 30));
    [
        (vec![(young, true)], (0, 10)),
        (vec![(young, false), (middle, true)], (11, 30)),
        (vec![(young, false), (middle, false)], (31, 39)),
    ]
}

fn write(path: &Path, parts: &[OneLeaf]) {
    let printer = RowPrinter { key: 7, n_subject_facts: 0 };
    let file = OutputFile::create(path).unwrap();
    let mut writer = ModelWriter::begin(file, &head(), printer).unwrap();
    let domain = ages().columns()[0].domain().clone();
    let (shown, level, weight, preferred) = (Shown::Interval, None, 1.0, false);
    let shape = LeafShape::of(&[Attribute { domain, shown, level, weight, preferred }]);
    let layout = RowLayout::new(&[39], &[], false);
    for (way, (lo, hi)) in parts {
        let mut rows = RowBlock::default();
        for code in *lo..=*hi {
            rows.push(&layout, RowId::new(u64::from(code)), [code].into_iter(), &[]);
        }
        let mut codes = shape.nothing();
        codes.add(&layout, &rows, &(0..rows.n_rows()), None);
        let way: Vec<Turn> = way.iter().map(|&(cut, is_inside)| Turn { cut, is_inside }).collect();
        writer.add_leaf(&way, Some(&vec![span(*lo, *hi)]), &codes).unwrap();
    }
    name_all(vec![writer.finish(5).unwrap()]).unwrap();
}

fn read(path: &Path) -> Result<Model> {
    let budget = MemoryBudget::new(1 << 20);
    ModelFile::open(path, 1 << 20)?.read_tree(Keep::Cells, &budget)
}

#[test]
fn parts_make_the_same_tree_in_whatever_order_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let [a, b, c] = [0, 1, 2].map(|place| leaves()[place].clone());
    let orders =
        [[&a, &b, &c], [&a, &c, &b], [&b, &a, &c], [&b, &c, &a], [&c, &a, &b], [&c, &b, &a]];
    for order in orders {
        write(&path, &order.map(Clone::clone));
        let model = read(&path).unwrap();
        let all: Vec<u32> = (0..40).collect();
        let found = model.tree(&[]).unwrap().leaves_of(&all, 1);
        let expected: Vec<u32> =
            (0..40).map(|age| u32::from(age > 10) + u32::from(age > 30)).collect();
        assert_eq!(found, expected);
        assert_eq!(model.weights, [11, 20, 9]);
        assert_eq!(model.region(1, &[]), Some(vec![span(11, 30)]));
        let mut codes = Vec::new();
        model.for_each_cell(2, &mut |own, _| codes.extend_from_slice(own));
        assert_eq!(codes, [31, 39]);
        assert_eq!(model.fingerprint, Fingerprint { key: 7, sum: 5, n_rows: 40 });
    }
}

#[test]
fn a_tree_that_lacks_a_side_or_has_one_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let [a, b, c] = leaves();
    for parts in [vec![a.clone(), b.clone()], vec![a.clone(), b, c.clone(), c], vec![]] {
        write(&path, &parts);
        let refused = read(&path).err().unwrap().to_string();
        assert!(refused.contains("is damaged"), "{refused}");
    }
    write(&path, &[a]);
    assert!(read(&path).is_err(), "a cut has two sides");
}

#[test]
fn a_tree_that_does_not_fit_in_memory_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    write(&path, &leaves());
    let file = ModelFile::open(&path, 1 << 20).unwrap();
    let refused = file.read_tree(Keep::Cells, &MemoryBudget::new(100)).err().unwrap();
    assert_eq!(refused.kind(), crate::ErrorKind::Memory);
    let refused = ModelFile::open(&path, 100).err().unwrap();
    assert_eq!(refused.kind(), crate::ErrorKind::Memory, "its values take memory too");
}

/// A file with the checksum that its bytes ask for, whatever they are.
fn write_frames(path: &Path, head: &[u8], frames: &[Vec<u8>]) {
    let mut bytes = [MAGIC, &VERSION.to_le_bytes()[..]].concat();
    bytes.extend((head.len() as u64).to_le_bytes());
    bytes.extend(head);
    for frame in frames {
        bytes.extend((frame.len() as u32).to_le_bytes());
        bytes.extend(frame);
    }
    bytes.extend(0u32.to_le_bytes());
    let digest = digest_of(&bytes[..]).unwrap();
    bytes.extend(digest.as_bytes());
    std::fs::File::create(path).unwrap().write_all(&bytes).unwrap();
}

fn any_cut() -> impl Strategy<Value = StoredCut> {
    let code = prop_oneof![0..45u32, any::<u32>()];
    (0..2u32, code.clone(), code).prop_map(|(axis, lo, hi)| StoredCut { axis, lo, hi })
}

fn any_item() -> impl Strategy<Value = Item> {
    let turn =
        (any_cut(), any::<bool>()).prop_map(|(cut, is_inside)| StoredTurn { cut, is_inside });
    let turns = (0..3u32, prop::collection::vec(turn, 0..3));
    let number = prop_oneof![0..4u32, 0..45u32, any::<u32>()];
    prop_oneof![
        turns.prop_map(|(n_shared, turns)| Item::Turns { n_shared, turns }),
        any_cut().prop_map(Item::Cut),
        prop::collection::vec(number, 0..6).prop_map(|shown| Item::Leaf { n_rows: 1, shown }),
        Just(Item::Leaf { n_rows: 1, shown: vec![2, 0, 39, 0, 39] }),
        (0..4u64).prop_map(|n_leaves| Item::End { n_leaves, sum: 0 }),
    ]
}

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(64))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_bytes_have_the_right_checksum_are_refused_or_read_and_never_panic(
        head_bytes in prop_oneof![
            2 => Just(postcard::to_stdvec(&head()).unwrap()),
            1 => prop::collection::vec(any::<u8>(), 0..200),
        ],
        items in prop::collection::vec(any_item(), 0..12),
        noise in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let frame: Vec<u8> =
            items.iter().flat_map(|item| postcard::to_stdvec(item).unwrap()).collect();
        for frames in [vec![frame.clone()], vec![frame, noise]] {
            write_frames(&path, &head_bytes, &frames);
            if let Ok(model) = read(&path) {
                let tree = model.tree(&[]).unwrap();
                let codes: Vec<u32> = (0..40).collect();
                prop_assert!(tree.leaves_of(&codes, 1).iter().all(|&leaf| (leaf as usize) < model.n_leaves()));
            }
        }
    }
}
