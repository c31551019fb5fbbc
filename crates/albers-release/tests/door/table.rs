//! Tables, and ways to bring their rows to the door.

use std::path::Path;
use std::sync::Arc;

use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_classes::points::Points;
use albers_classes::region::span;
use albers_classes::space::Shown;
use albers_classes::{Attribute, ClassId, Span};
use albers_privacy::{
    ClassSummary, Criterion, Facts, GroundDistance, Requirement, SensitiveColumn,
};
use albers_release::door::{ClassSizes, LeafClasses, LeafRows, PackedRows, TableRows};
use albers_release::publish::{
    CarriedColumn, CarriedSurvey, FeatureColumn, OutputColumn, Payload, Typing, Values,
};
use albers_release::{Door, DoorPlan, Passed, ReleaseError, RowStore};
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use albers_storage::watch::{Silent, Watch};
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;
use albers_table::row::{RowId, RowIdx};
use albers_table::schema::ColumnType;
use albers_table::sink::{FileSink, Sink};
use arrow_array::{ArrayRef, StringArray};

/// Values of the secret.
const N_SECRETS: u32 = 4;

/// An attribute and the codes of its cells; an empty cell is missing.
pub fn attribute(
    name: &str,
    column_type: ColumnType,
    shown: Shown,
    cells: &[&str],
) -> (Attribute, Vec<u32>) {
    let mut builder = TextColumnBuilder::new(column_type);
    for cell in cells {
        if cell.is_empty() {
            builder.push_missing();
        } else {
            builder.push(cell.as_bytes()).expect("a value of the type");
        }
    }
    let chunks = vec![builder.finish().expect("a column")];
    let column = RawColumn { name: name.to_owned(), column_type, data_type: None, chunks };
    let prefix = HierarchySpec::Prefix;
    let coding = match shown {
        Shown::Interval => CodingPlan::Ordered,
        Shown::Set => CodingPlan::Categories { hierarchy: None, by_frequency: true },
        Shown::Label => CodingPlan::Categories { hierarchy: Some(&prefix), by_frequency: true },
    };
    let coded = encode(column, coding).expect("codes");
    let attribute =
        Attribute { domain: coded.domain, shown, level: None, weight: 1.0, preferred: false };
    (attribute, coded.codes.concat())
}

/// A table: quasi-identifiers, one secret, and a note that leaves as it came.
pub struct Table {
    pub attributes: Vec<Attribute>,
    /// Attribute by attribute.
    pub columns: Vec<Vec<u32>>,
    pub secrets: Vec<u32>,
    pub notes: Vec<String>,
}

impl Table {
    /// A table of ages.
    pub fn of_ages(ages: &[&str], secrets: &[u32]) -> Table {
        let (attribute, codes) = attribute("age", ColumnType::Integer, Shown::Interval, ages);
        Table::new(vec![(attribute, codes)], secrets)
    }

    /// A table of these attributes; the notes are all different.
    pub fn new(columns: Vec<(Attribute, Vec<u32>)>, secrets: &[u32]) -> Table {
        let (attributes, columns) = columns.into_iter().unzip();
        let notes = (0..secrets.len()).map(|row| format!("note {row}")).collect();
        Table { attributes, columns, secrets: secrets.to_vec(), notes }
    }

    /// A table of so many rows with an interval that misses some values, a label and a set; notes
    /// are repeated.
    pub fn mixed(n_rows: u64) -> Table {
        let cells = |salt: u64, cell: &dyn Fn(u64) -> String| -> Vec<String> {
            (0..n_rows).map(|row| cell(draw(row << 8 | salt))).collect()
        };
        let age = |drawn: u64| match drawn % 17 {
            0 => String::new(),
            _ => (18 + drawn % 60).to_string(),
        };
        let ages = cells(1, &age);
        let zips = cells(2, &|drawn| format!("5{:03}", drawn % 300));
        let jobs = cells(3, &|drawn| ["a", "b", "c, d", "e", ""][drawn as usize % 5].to_owned());
        let column = |name, column_type, shown, cells: &[String]| {
            let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
            attribute(name, column_type, shown, &cells)
        };
        let columns = vec![
            column("age", ColumnType::Integer, Shown::Interval, &ages),
            column("zip", ColumnType::Code, Shown::Label, &zips),
            column("job", ColumnType::Text, Shown::Set, &jobs),
        ];
        let secrets: Vec<u32> = (0..n_rows).map(|row| draw(row << 8 | 4) as u32 % 4).collect();
        let mut table = Table::new(columns, &secrets);
        table.notes = cells(5, &|drawn| format!("n{}", drawn % 50));
        table
    }

    /// Classes of neighbours, so many rows each; the last has the rest.
    pub fn neighbours(&self, n_class_rows: usize) -> Vec<Vec<u32>> {
        let mut rows: Vec<u32> = (0..self.n_rows() as u32).collect();
        rows.sort_by_key(|&row| {
            let mut codes = self.codes(row);
            codes.reverse();
            (codes, row)
        });
        let mut classes: Vec<Vec<u32>> = rows.chunks(n_class_rows).map(<[u32]>::to_vec).collect();
        if classes.len() > 1 && classes[classes.len() - 1].len() < n_class_rows {
            let rest = classes.pop().expect("the last");
            classes.last_mut().expect("the one before").extend(rest);
        }
        classes
    }

    pub fn n_rows(&self) -> usize {
        self.secrets.len()
    }

    pub fn codes(&self, row: u32) -> Vec<u32> {
        self.columns.iter().map(|column| column[row as usize]).collect()
    }

    /// A requirement, bound to the whole table.
    pub fn requirement(&self, k: u64, criteria: &[Criterion]) -> Requirement {
        let secret = SensitiveColumn {
            name: "secret".to_owned(),
            n_values: N_SECRETS,
            distance: GroundDistance::Equal,
            numbers: None,
        };
        let rules = criteria.iter().map(|criterion| (0, *criterion)).collect();
        let mut requirement = Requirement::new(k, false, vec![secret], rules).expect("valid");
        let mut whole = ClassSummary::new(requirement.shape());
        self.secrets.iter().for_each(|&secret| whole.add(0, &[secret]));
        requirement.bind(&whole);
        requirement
    }

    fn fingerprint(&self) -> u64 {
        let columns = self.columns.iter().map(|column| vec![column.clone()]).collect();
        Points::new(columns).fingerprint()
    }

    fn facts(&self) -> Facts {
        Facts { subjects: Vec::new(), sensitive: self.secrets.clone(), n_sensitive: 1 }
    }

    fn note_cells(&self) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(&self.notes))
    }

    /// The rows of some classes with their codes.
    pub fn classes(&self, classes: &[&[u32]]) -> Vec<Vec<Row>> {
        let row = |&row: &u32| Row { id: row, codes: self.codes(row) };
        classes.iter().map(|rows| rows.iter().map(row).collect()).collect()
    }
}

/// A row as a method hands it over, perhaps wrongly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub id: u32,
    pub codes: Vec<u32>,
}

/// Classes as blocks of rows told by number.
pub fn groups_of(n_attributes: usize, blocks: &[Vec<Vec<Row>>]) -> Groups {
    let block_of = |classes: &Vec<Vec<Row>>| {
        let mut block = ClassBlock::default();
        for row in classes.iter().flatten() {
            block.row_idxs.push(RowIdx::new(row.id));
            block.codes.extend_from_slice(&row.codes);
        }
        let mut end = 0;
        for class in classes {
            end += class.len() as u32;
            block.class_ends.push(end);
        }
        block
    };
    Groups::of_all(n_attributes, blocks.iter().map(block_of).collect())
}

/// How rows go through the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Memory,
    /// By buckets, with so much memory.
    Buckets(usize),
}

/// In memory, and with next to no memory.
pub const WAYS: [Way; 2] = [Way::Memory, Way::Buckets(1 << 16)];

/// A job of the door.
pub struct Case<'t> {
    pub table: &'t Table,
    pub way: Way,
    pub requirements: Vec<Requirement>,
    pub columns: Vec<OutputColumn>,
    pub features: Vec<FeatureColumn>,
    pub values: Values,
    pub show_regions: bool,
    pub is_nested: bool,
    pub max_left_out: u64,
    /// The ending of the files.
    pub ending: &'static str,
}

/// What came out.
#[derive(Debug)]
pub struct Outcome {
    /// The text of each release.
    pub texts: Vec<String>,
    /// Its bytes.
    pub files: Vec<Vec<u8>>,
    pub classes: Vec<ClassSizes>,
    pub n_left_out: u64,
    /// What the requirements are now.
    pub requirements: Vec<Requirement>,
    /// The parts of each release that were measured: classes, giants, rows left out.
    pub n_parts: Vec<[usize; 3]>,
    /// Checking and writing.
    pub seconds: f64,
    pub spilled_bytes: u64,
}

impl Outcome {
    /// The lines of the first release, without the header.
    pub fn lines(&self) -> Vec<&str> {
        self.texts[0].lines().skip(1).collect()
    }
}

impl<'t> Case<'t> {
    pub fn new(table: &'t Table, way: Way, requirements: Vec<Requirement>) -> Case<'t> {
        let attributes = (0..table.attributes.len()).map(OutputColumn::Attribute);
        Case {
            table,
            way,
            requirements,
            columns: attributes.chain([OutputColumn::Carried(0)]).collect(),
            features: Vec::new(),
            values: Values::Interval,
            show_regions: false,
            is_nested: false,
            max_left_out: 0,
            ending: "csv",
        }
    }

    /// One release whose classes must have k rows.
    pub fn of_k(table: &'t Table, way: Way, k: u64) -> Case<'t> {
        Case::new(table, way, vec![table.requirement(k, &[])])
    }

    /// Brings these classes through the door, each a leaf.
    pub fn pass_classes(&self, classes: &[Vec<Row>]) -> Result<Outcome, ReleaseError> {
        self.pass(&Silent, |door, packer| {
            let leaves = packer.leaves(classes);
            door.admit_leaves(leaves.rows(packer), &vec![LeafClasses::default(); door.n_releases()])
        })
    }

    /// Brings through the door what is admitted, and writes it to files that are gone afterwards.
    pub fn pass(
        &self,
        watch: &dyn Watch,
        admit: impl FnOnce(&mut Door<'_>, &Packer<'_>) -> Result<(), ReleaseError>,
    ) -> Result<Outcome, ReleaseError> {
        let folder = tempfile::tempdir().expect("a folder");
        let outcome = self.pass_to(folder.path(), watch, admit);
        if outcome.is_err() {
            let left = std::fs::read_dir(folder.path()).expect("it is there").count();
            assert_eq!(left, 0, "a door that refuses leaves nothing behind");
        }
        outcome
    }

    fn pass_to(
        &self,
        folder: &Path,
        watch: &dyn Watch,
        admit: impl FnOnce(&mut Door<'_>, &Packer<'_>) -> Result<(), ReleaseError>,
    ) -> Result<Outcome, ReleaseError> {
        let table = self.table;
        let spill_folder = tempfile::tempdir().expect("a folder");
        let budget = MemoryBudget::new(match self.way {
            Way::Memory => 1 << 20,
            Way::Buckets(budget_bytes) => budget_bytes,
        });
        let store = SpillStore::in_folder(spill_folder.path(), budget.clone());
        // Nothing stays in memory that could go to the store.
        let store = store.with_room(budget.limit_bytes());
        let facts = table.facts();
        let sensitive = [table.secrets.clone()];
        let note = "note".to_owned();
        let typing = match self.ending {
            "parquet" => Typing::ByCells(None),
            _ => Typing::AsRead,
        };
        let carried = [CarriedColumn::new(note, typing, vec![table.note_cells()])];
        let survey = CarriedSurvey::of(&table.note_cells(), typing);
        let payload = Payload::new(vec![survey.finish("note")])?;
        let greatest = |column: &Vec<u32>| column.iter().copied().max().unwrap_or(0);
        let greatest: Vec<u32> = table.columns.iter().map(greatest).collect();
        let layout = RowLayout::new(&greatest, &[N_SECRETS - 1], true);
        let fact_columns = FactColumns { ruled: vec![0], ..FactColumns::default() };
        let packed = PackedRows {
            layout: &layout,
            facts: &fact_columns,
            sensitive_facts: &[0],
            payload: &payload,
            payload_bytes: table.notes.iter().map(String::len).sum(),
            budget: &budget,
            store: &store,
        };
        let in_memory = TableRows { facts: &facts, sensitive: &sensitive, carried: &carried };
        let plan = DoorPlan {
            attributes: &table.attributes,
            columns: &self.columns,
            features: &self.features,
            values: self.values,
            delimiter: None,
            seed: 3,
            show_regions: self.show_regions,
            ends_in_gaps: self.show_regions,
            is_nested: self.is_nested,
            n_rows: table.n_rows() as u64,
            n_missing: None,
            fingerprint: table.fingerprint(),
            max_left_out: self.max_left_out,
            may_be_empty: false,
            rows: match self.way {
                Way::Memory => RowStore::Memory(in_memory),
                Way::Buckets(_) => RowStore::Packed(packed),
            },
        };
        let mut door = Door::open(&plan, self.requirements.clone(), watch)?;
        let payload_rows = payload.encode(&[table.note_cells()])?;
        let payload_of = |row: u32| payload_rows.row(row as usize).data().to_vec();
        let packer = Packer { table, layout: &layout, store: &store, payload_of: &payload_of };
        admit(&mut door, &packer)?;
        let outcome = self.close(door, folder)?;
        Ok(Outcome { spilled_bytes: store.written_bytes(), ..outcome })
    }

    fn close(&self, door: Door<'_>, folder: &Path) -> Result<Outcome, ReleaseError> {
        let path = |release: usize| folder.join(format!("{release}.{}", self.ending));
        let paths: Vec<_> = (0..door.n_releases()).map(path).collect();
        let sink = |path: &std::path::PathBuf| -> Box<dyn Sink> {
            Box::new(FileSink::new(path, None, None).expect("a name of a file"))
        };
        let mut n_parts = vec![[0; 3]; door.n_releases()];
        let mut n_rows_to_come = 0;
        let mut measure = |release: usize, passed: &Passed<'_, '_>| {
            let part = match passed {
                Passed::GiantRows(rows) => {
                    n_rows_to_come -= rows.codes.len() / rows.class.describers.len();
                    return;
                }
                Passed::Classes(_) => 0,
                Passed::Giant(giant) => {
                    n_rows_to_come += giant.n_rows as usize;
                    1
                }
                Passed::LeftOut(_) => 2,
            };
            n_parts[release][part] += 1;
        };
        let passages = door.close(paths.iter().map(sink).collect(), &mut measure)?;
        assert_eq!(n_rows_to_come, 0, "all rows of giants are measured");
        assert!(paths.iter().all(|path| !path.exists()), "nothing appears before it is named");
        let mut outcome = Outcome {
            texts: Vec::new(),
            files: Vec::new(),
            classes: passages.iter().map(|passage| passage.classes).collect(),
            n_left_out: passages[0].n_left_out,
            requirements: passages.iter().map(|passage| passage.requirement.clone()).collect(),
            n_parts,
            seconds: passages.iter().map(|own| own.verify_seconds + own.write_seconds).sum(),
            spilled_bytes: 0,
        };
        for (passage, path) in passages.into_iter().zip(&paths) {
            albers_table::sink::name_all(vec![passage.seal()?])?;
            let bytes = std::fs::read(path).expect("the release is there");
            outcome.texts.push(String::from_utf8_lossy(&bytes).into_owned());
            outcome.files.push(bytes);
        }
        Ok(outcome)
    }
}

/// Packs rows of a table.
pub struct Packer<'p> {
    pub table: &'p Table,
    pub layout: &'p RowLayout,
    pub store: &'p SpillStore,
    payload_of: &'p dyn Fn(u32) -> Vec<u8>,
}

/// Leaves with their rows.
pub struct Leaves {
    pub rows: RowBlock,
    order: Vec<u32>,
    ends: Vec<u32>,
    boxes: Vec<Span>,
    pub regions: Option<Vec<Span>>,
}

impl Packer<'_> {
    /// Some rows with their facts and notes.
    pub fn pack<'r>(&self, rows: impl Iterator<Item = &'r Row>) -> RowBlock {
        let mut block = RowBlock::default();
        for row in rows {
            let values = row.codes.iter().copied().chain([self.table.secrets[row.id as usize]]);
            block.push(self.layout, RowId::new(row.id.into()), values, &(self.payload_of)(row.id));
        }
        block
    }

    /// Leaves of these rows, with the boxes that they really have.
    pub fn leaves(&self, leaves: &[Vec<Row>]) -> Leaves {
        let n_attributes = self.layout.n_attributes();
        let mut boxes = Vec::new();
        let mut ends = Vec::new();
        let mut n_rows = 0;
        for leaf in leaves {
            n_rows += leaf.len() as u32;
            ends.push(n_rows);
            boxes.extend((0..n_attributes).map(|attribute| {
                let codes = leaf.iter().map(|row| row.codes[attribute]);
                span(codes.clone().min().unwrap_or(0), codes.max().unwrap_or(0))
            }));
        }
        let rows = self.pack(leaves.iter().flatten());
        Leaves { rows, order: (0..n_rows).collect(), ends, boxes, regions: None }
    }
}

impl Leaves {
    pub fn rows<'s>(&'s self, packer: &'s Packer<'_>) -> LeafRows<'s> {
        LeafRows {
            layout: packer.layout,
            rows: &self.rows,
            order: &self.order,
            ends: &self.ends,
            boxes: &self.boxes,
            regions: self.regions.as_deref(),
        }
    }
}

/// Leaves in classes of these numbers.
pub fn leaf_classes(of_leaf: &[u32]) -> LeafClasses {
    LeafClasses::from(Some(of_leaf.iter().map(|&class| ClassId::new(class)).collect()))
}

/// A number that looks random.
pub fn draw(seed: u64) -> u64 {
    albers_table::mix::mix(seed)
}

/// A number that tells texts apart.
pub fn text_hash(text: &str) -> u64 {
    text.bytes().fold(0, |hash, byte| draw(hash ^ u64::from(byte)))
}
