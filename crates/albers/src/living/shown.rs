//! The table of an index as a release shows it.

use albers_classes::Attribute;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_release::publish::{CarriedSurvey, OutputColumn, Payload, Typing};
use albers_table::TableError;
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{ColumnRequest, RequestedTypes, Scan, Source, SourceColumn, Stamp};
use arrow_array::ArrayRef;

use super::catalogue::damaged;
use super::grouped::Grouping;
use super::parts::number_of;
use super::release::Releasing;
use super::stored_table::{Schema, split_payload};
use crate::context::Story;
use crate::error::Result;
use crate::plan::Plan;
use crate::report::Note;
use crate::rows::attribute_of;

/// What a release asks of the source of its rows beside the rows, which lie in parts.
pub(super) struct StoredSource<'s> {
    pub(super) name: &'s str,
    pub(super) schema: &'s Schema,
}

impl Source for StoredSource<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.schema.columns
    }

    fn delimiter(&self) -> Option<u8> {
        self.schema.delimiter
    }

    fn stamp(&self) -> Option<Stamp> {
        None
    }

    fn types(&self, _: &[ColumnRequest]) -> albers_table::Result<RequestedTypes> {
        Err(self.refused())
    }

    fn scan<'s>(
        &'s self,
        _: &'s [ColumnRequest],
        _: &'s RequestedTypes,
    ) -> albers_table::Result<Box<dyn Scan + 's>> {
        Err(self.refused())
    }

    fn read_bytes(&self) -> u64 {
        0
    }
}

impl StoredSource<'_> {
    fn refused(&self) -> TableError {
        TableError::File {
            table: self.name.to_owned(),
            problem: "an index is not read as a table".to_owned(),
            hint: "release it".into(),
        }
    }
}

/// The columns of a release, and how rows come to its door.
pub(super) struct ShownTable {
    pub(super) attributes: Vec<Attribute>,
    pub(super) columns: Vec<OutputColumn>,
    column_types: Vec<(String, ColumnType)>,
    pub(super) layout: RowLayout,
    /// What leaves as it came.
    pub(super) payload: Payload,
    /// About how much of it there is.
    pub(super) payload_bytes: usize,
    /// The place of the key among the carried columns, where it is published.
    key_place: Option<usize>,
}

impl ShownTable {
    /// Of a release of all rows that do not wait; `keep_key` is the key, if it is published.
    pub(super) fn of(
        releasing: &Releasing<'_>,
        plan: &Plan,
        (keep_key, typed_output): (Option<&str>, bool),
        grouping: Option<&Grouping>,
    ) -> Result<ShownTable> {
        let tabled = releasing.state.tabled()?;
        let known = &tabled.schema.known;
        let mut n_missing = vec![0; tabled.schema.n_attributes()];
        for part in releasing.state.catalogue.parts.values() {
            n_missing.iter_mut().zip(&part.n_missing).for_each(|(sum, own)| *sum += own);
        }
        let waiting = grouping.map_or(&[][..], |own| own.waiting_missing());
        n_missing.iter_mut().zip(waiting).for_each(|(sum, own)| *sum -= own);
        let mut domains = tabled.coding.quasi_domains().zip(n_missing);
        let (mut attributes, mut columns, mut column_types) = (Vec::new(), Vec::new(), Vec::new());
        let (mut n_carried, mut key_place) = (0, None);
        for planned in &plan.columns {
            let place = known.planned.iter().position(|own| own.name == planned.name);
            let kind = place.map_or(ColumnType::Text, |place| known.types.column_types[place]);
            column_types.push((planned.name.clone(), kind));
            match planned.role {
                Role::Quasi => {
                    let (domain, n_missing) = domains.next().expect("every attribute has a domain");
                    let domain = domain.clone().with_missing(n_missing);
                    let shown = place.map(|place| known.shown[place]).expect("it is stored");
                    columns.push(OutputColumn::Attribute(attributes.len()));
                    attributes.push(attribute_of(planned, domain, shown));
                }
                Role::Sensitive | Role::Keep => {
                    columns.push(OutputColumn::Carried(n_carried));
                    if keep_key == Some(planned.name.as_str()) && place.is_none() {
                        key_place = Some(n_carried);
                    }
                    n_carried += 1;
                }
                Role::Identifier | Role::Subject => {}
            }
        }
        let has_payload = n_carried > 0;
        let (payload, payload_bytes) = match has_payload {
            true => carried_payload(releasing, (key_place, typed_output), grouping)?,
            false => (Payload::new(Vec::new())?, 0),
        };
        let layout = tabled.layout().with_payload(has_payload);
        Ok(ShownTable {
            attributes,
            columns,
            column_types,
            layout,
            payload,
            payload_bytes,
            key_place,
        })
    }

    /// What there is to tell of the way to the classes.
    pub(super) fn story(&self, notes: Vec<Note>, may_overlap: bool) -> Story<'_> {
        Story {
            attributes: &self.attributes,
            column_types: &self.column_types,
            may_overlap,
            has_history: true,
            tops: None,
            chosen: None,
            passes: None,
            generalization: None,
            notes,
            ncp_before: None,
            n_given_notes: 0,
        }
    }

    /// Stored rows as they come to the door: without their keys, unless these are published.
    pub(super) fn without_keys(&self, rows: &RowBlock, schema: &Schema) -> Result<RowBlock> {
        if self.payload.is_empty() {
            return Ok(rows.without_payloads());
        }
        if self.key_place.is_some() {
            let columns = carried_columns(schema, self.key_place, rows)?;
            let encoded = self.payload.encode(&columns)?;
            let mut row = 0;
            return Ok(rows.with_payloads(|_, out| {
                out.extend_from_slice(encoded.row(row).data());
                row += 1;
            }));
        }
        Ok(rows.with_payloads(|payload, out| {
            out.extend_from_slice(split_payload(payload).map_or(&[][..], |(_, carried)| carried));
        }))
    }
}

/// The cells of carried columns of some stored rows, with the key at its place if it is published.
fn carried_columns(
    schema: &Schema,
    key_place: Option<usize>,
    rows: &RowBlock,
) -> Result<Vec<ArrayRef>> {
    let payloads: Option<Vec<(&[u8], &[u8])>> =
        (0..rows.n_rows()).map(|row| split_payload(rows.payload(row))).collect();
    let payloads = payloads.ok_or_else(|| damaged("what a row carries cannot be read"))?;
    let carried = payloads.iter().map(|(_, carried)| *carried);
    let mut columns = schema.carried.decode_arrays(carried)?;
    if let Some(place) = key_place {
        let mut key = schema.key.decode_arrays(payloads.iter().map(|(key, _)| *key))?;
        columns.insert(place, key.remove(0));
    }
    Ok(columns)
}

/// The columns that leave as they came, when all of their cells have been seen, and about how many
/// bytes they have.
fn carried_payload(
    releasing: &Releasing<'_>,
    (key_place, typed_output): (Option<usize>, bool),
    grouping: Option<&Grouping>,
) -> Result<(Payload, usize)> {
    let tabled = releasing.state.tabled()?;
    let known = &tabled.schema.known;
    let carried = known.requests.iter().enumerate().filter(|(_, request)| request.carried);
    let mut columns: Vec<(String, _)> = carried
        .map(|(column, own)| (own.name.clone(), known.typing(column, typed_output)))
        .collect();
    if let Some(place) = key_place {
        let typing = match tabled.schema.delimiter {
            Some(_) if typed_output => Typing::ByCells(None),
            _ => Typing::AsRead,
        };
        columns.insert(place, (releasing.state.catalogue.key.clone(), typing));
    }
    let mut surveys: Vec<CarriedSurvey> =
        columns.iter().map(|(_, typing)| CarriedSurvey::nothing(*typing)).collect();
    let stored = releasing.rows()?;
    let layout = tabled.layout();
    let mut n_bytes = 0;
    for part in releasing.state.directory.parts() {
        let part = stored.part(part)?;
        let rows = match grouping.filter(|own| own.n_waiting() > 0) {
            None => part.rows().clone(),
            Some(grouping) => {
                let mut published = RowBlock::default();
                for row in 0..part.n_rows() {
                    if !grouping.waits(number_of(layout, part.rows(), row)) {
                        published.extend_row(layout, part.rows(), row);
                    }
                }
                published
            }
        };
        n_bytes += (0..rows.n_rows()).map(|row| rows.payload(row).len()).sum::<usize>();
        let cells = carried_columns(&tabled.schema, key_place, &rows)?;
        for ((survey, cells), (_, typing)) in surveys.iter_mut().zip(&cells).zip(&columns) {
            survey.add(&CarriedSurvey::of(cells, *typing));
        }
    }
    let fields = columns.iter().zip(surveys).map(|((name, _), survey)| survey.finish(name));
    Ok((Payload::new(fields.collect())?, n_bytes))
}
