//! Which columns a segment stores, and how rows become columns and columns rows.
//!
//! The stored columns are those of the key, in key order (the number that ends a hidden key or one with duplicates among
//! them), and then the slots of the row, in row order, those of dropped columns among them. So a segment needs nothing but its own columns
//! to give back a row's key and record.
//!
//! A segment that was written before columns were added ends before them; what its rows have there is known from the schema
//! ([`super::seen`]). Dropped columns are read as NULL and written as NULL, which takes a few bytes a group: so all segments of a table
//! have the same columns at the same places.

use std::sync::Arc;

use ambo_codec::{KeySpec, RowSpec, Type, ValueRef};
use ambo_types::{Error, Result, TableDefinition, id::TableId};
use smallvec::SmallVec;

use super::{posting::IndexSpec, seen::Unwritten};
use crate::append::RecordSchema;
use ambo_scan::buffer::ColumnBuffer;

/// The stored columns of a table.
#[derive(Debug)]
pub struct ColumnSchema {
    keys: KeySpec,
    rows: RowSpec,
    /// The types of all stored columns.
    types: Vec<Type>,
    /// Where each column of the table is stored.
    places: Vec<usize>,
    /// Stored columns that were dropped.
    dropped: Vec<usize>,
    /// Stored columns that are never NULL.
    required: Vec<usize>,
    /// Whether a record is the one value column as it is.
    raw: bool,
    /// What records are made of, if rows are stored as these.
    records: Option<Arc<RecordSchema>>,
    /// What is known of columns that a segment lacks.
    unwritten: Unwritten,
    /// The indexes whose postings are in files beside segments.
    indexed: Vec<IndexSpec>,
}

/// The same columns at the same places.
impl PartialEq for ColumnSchema {
    fn eq(&self, other: &Self) -> bool {
        let parts = |schema: &Self| (schema.places.clone(), schema.dropped.clone(), schema.required.clone());
        self.keys == other.keys
            && self.rows == other.rows
            && self.raw == other.raw
            && self.records == other.records
            && self.indexed == other.indexed
            && parts(self) == parts(other)
    }
}

impl ColumnSchema {
    /// The schema of a validated definition.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a definition that was not validated.
    pub fn new(definition: &TableDefinition) -> Result<Self> {
        let invalid = |error: ambo_codec::Error| Error::Invalid(error.to_string());
        let keys = definition.key_spec().map_err(invalid)?;
        let rows = definition.row_spec().map_err(invalid)?;
        let of_key = keys.columns().iter().map(|column| column.ty);
        let slots = definition.slots();
        let of_row = slots.iter().map(|slot| slot.kind);
        let key_len = keys.columns().len();
        let mut places = vec![0; definition.columns.len()];
        for (place, &index) in definition.key.iter().enumerate() {
            places[index] = place;
        }
        let mut dropped = Vec::new();
        for (place, slot) in (key_len..).zip(&slots) {
            match slot.column {
                Some(index) => places[index] = place,
                None => dropped.push(place),
            }
        }
        let live = definition.columns.iter().zip(&places);
        let required = live.filter(|(column, _)| !column.nullable).map(|(_, place)| *place);
        let mut required: Vec<_> = required.collect();
        required.sort_unstable();
        let types: Vec<_> = of_key.chain(of_row).collect();
        debug_assert!(are_places(&places, types.len()), "each column has a place of its own");
        let records = RecordSchema::of(definition, &types, &dropped, &required, key_len);
        Ok(Self {
            unwritten: Unwritten::of(types.len()),
            indexed: Vec::new(),
            records: records.map(Arc::new),
            raw: definition.is_raw(),
            types,
            places,
            dropped,
            required,
            keys,
            rows,
        })
    }

    /// The columns of the key alone, for keys without their rows.
    pub fn key_only(&self) -> Self {
        let count = self.key_columns();
        Self {
            keys: self.keys.clone(),
            rows: RowSpec::new(Vec::new()).expect("no default that might not fit"),
            types: self.types[..count].to_vec(),
            places: Vec::new(),
            dropped: Vec::new(),
            required: (0..count).collect(),
            raw: false,
            records: None,
            unwritten: Unwritten::of(count),
            indexed: Vec::new(),
        }
    }

    /// The same, and NULL is refused in these slots of the row, too.
    #[must_use]
    pub fn requiring(mut self, slots: &[usize]) -> Self {
        let first = self.key_columns();
        let more = slots.iter().map(|slot| first + slot).filter(|place| !self.dropped.contains(place));
        self.required.extend(more);
        self.required.sort_unstable();
        self.required.dedup();
        self
    }

    /// The same, with these indexes whose postings are in files: id, columns of the table, and whether a row stands under each of them.
    #[must_use]
    pub fn indexing<'i>(mut self, indexes: impl Iterator<Item = (TableId, &'i [usize], bool)>) -> Self {
        let place = |column: &usize| self.places[*column];
        let spec = |(id, columns, any): (TableId, &'i [usize], bool)| {
            let columns = columns.iter().map(place).collect();
            IndexSpec { id, columns, any }
        };
        self.indexed = indexes.map(spec).collect();
        self
    }

    /// The indexes whose postings are in files beside segments.
    pub fn indexed(&self) -> &[IndexSpec] {
        &self.indexed
    }

    /// Whether rows that this schema takes may have NULL where `other`, a later one, refuses it.
    pub fn is_laxer_than(&self, other: &Self) -> bool {
        let laxer = |place: &usize| *place < self.types.len() && !self.required.contains(place);
        other.required.iter().any(laxer)
    }

    /// Whether rows are stored as records, in extents.
    pub fn has_records(&self) -> bool {
        self.records.is_some()
    }

    /// What records are made of, if rows are stored as these.
    pub(super) fn records(&self) -> Option<&Arc<RecordSchema>> {
        self.records.as_ref()
    }

    /// The types of the stored columns.
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// How many of the stored columns are the key's; they are the first.
    pub fn key_columns(&self) -> usize {
        self.keys.columns().len()
    }

    /// The stored column of a column of the table.
    pub fn place(&self, column: usize) -> usize {
        self.places[column]
    }

    /// Whether a stored column was dropped.
    pub(super) fn is_dropped(&self, column: usize) -> bool {
        !self.dropped.is_empty() && self.dropped.contains(&column)
    }

    /// Gives dropped columns a NULL for each of `rows` rows.
    ///
    /// # Errors
    /// None: NULL is of every type.
    pub fn fill_dropped(&self, buffers: &mut [ColumnBuffer], rows: usize) -> ambo_codec::Result<()> {
        self.dropped.iter().try_for_each(|&column| buffers[column].push_times(ValueRef::Null, rows))
    }

    /// What rows have in a stored column that their segment lacks, or that was dropped.
    pub(super) fn missing(&self, column: usize) -> ValueRef<'_> {
        match column.checked_sub(self.key_columns()) {
            Some(slot) if !self.is_dropped(column) => self.rows.missing(slot).unwrap_or(ValueRef::Null),
            _ => ValueRef::Null,
        }
    }

    pub(super) fn unwritten(&self) -> &Unwritten {
        &self.unwritten
    }

    /// Whether a segment with columns of these types may be one of the table: it may lack those that were added last.
    pub(super) fn takes(&self, types: impl ExactSizeIterator<Item = Type>) -> bool {
        let fits = types.len() >= self.key_columns() && types.len() <= self.types.len();
        fits && types.zip(&self.types).all(|(there, own)| there == *own)
    }

    /// How keys are encoded.
    pub fn keys(&self) -> &KeySpec {
        &self.keys
    }

    /// How records are encoded, unless they are raw.
    pub(super) fn rows(&self) -> &RowSpec {
        &self.rows
    }

    /// Whether a record is the one value column as it is.
    pub(super) fn is_raw(&self) -> bool {
        self.raw
    }

    /// Buffers for the stored columns.
    pub fn buffers(&self) -> Vec<ColumnBuffer> {
        self.types.iter().map(|ty| ColumnBuffer::new(*ty)).collect()
    }

    /// That a key and a record can be stored here: they are values of the table's columns.
    ///
    /// # Errors
    /// [`Error::Invalid`] that says what is wrong.
    pub fn check(&self, key: &[u8], record: &[u8]) -> Result<()> {
        let wrong =
            |what: String| Error::Invalid(format!("a row that its table's columns cannot hold: {what}"));
        let missing = self.missing_value(key, record).map_err(|error| wrong(error.to_string()))?;
        if !self.raw && RowSpec::stored_count(record).is_ok_and(|fields| fields > self.rows.columns().len()) {
            return Err(wrong("it has more fields than there are columns".into()));
        }
        match missing {
            None => Ok(()),
            Some(column) => Err(wrong(format!("NULL in stored column {column}, which is NOT NULL"))),
        }
    }

    /// The first column that is NULL and must not be, of a row all of which is looked at.
    fn missing_value(&self, key: &[u8], record: &[u8]) -> ambo_codec::Result<Option<usize>> {
        let (mut missing, mut column) = (None, 0);
        let mut note = |value: ValueRef<'_>| {
            if value.is_null() && missing.is_none() && self.required.contains(&column) {
                missing = Some(column);
            }
            column += 1;
        };
        self.keys.visit(key, &mut Vec::new(), &mut note)?;
        if !self.raw {
            self.rows.fields(record)?.try_for_each(|value| value.map(&mut note))?;
        }
        Ok(missing)
    }

    /// Appends the values of a row, as stored, to `out`.
    fn values<'a>(
        &'a self,
        key: &'a [u8],
        record: &'a [u8],
        scratch: &'a mut Vec<u8>,
        out: &mut Vec<ValueRef<'a>>,
    ) -> ambo_codec::Result<()> {
        self.keys.decode_refs(key, scratch, out)?;
        match self.raw {
            true => out.push(ValueRef::Binary(record)),
            false => self.rows.decode(record, out)?,
        }
        self.dropped.iter().for_each(|&column| out[column] = ValueRef::Null);
        Ok(())
    }

    /// Appends a row to the buffers of all columns.
    pub fn push(&self, key: &[u8], record: &[u8], buffers: &mut [ColumnBuffer]) -> ambo_codec::Result<()> {
        let mut scratch = Vec::new();
        let mut values = Vec::with_capacity(self.types.len());
        self.values(key, record, &mut scratch, &mut values)?;
        assert_eq!(
            (values.len(), buffers.len()),
            (self.types.len(), self.types.len()),
            "a value for each column"
        );
        for (buffer, value) in buffers.iter_mut().zip(values) {
            buffer.push(value)?;
        }
        Ok(())
    }

    /// Appends a key to the buffers of its columns.
    pub fn push_key(&self, key: &[u8], buffers: &mut [ColumnBuffer]) -> ambo_codec::Result<()> {
        let mut scratch = Vec::new();
        let mut values = Vec::with_capacity(self.key_columns());
        self.keys.decode_refs(key, &mut scratch, &mut values)?;
        assert!(values.len() == self.key_columns() && buffers.len() >= values.len());
        buffers.iter_mut().zip(values).try_for_each(|(buffer, value)| buffer.push(value))
    }

    /// Appends the key of row `index` of the key's buffers.
    pub(super) fn key_of(
        &self,
        buffers: &[ColumnBuffer],
        index: usize,
        out: &mut Vec<u8>,
    ) -> ambo_codec::Result<()> {
        let columns = &buffers[..self.key_columns()];
        if let [column] = columns {
            return self.keys.encode(&[column.get(index)?], out);
        }
        let values: SmallVec<[_; 4]> =
            columns.iter().map(|column| column.get(index)).collect::<ambo_codec::Result<_>>()?;
        self.keys.encode(&values, out)
    }

    /// Appends the record of row `index` of the buffers, which are those of the row's columns only.
    pub(super) fn record_of(
        &self,
        row_buffers: &[ColumnBuffer],
        index: usize,
        out: &mut Vec<u8>,
    ) -> ambo_codec::Result<()> {
        if self.raw {
            if let ValueRef::Binary(bytes) = row_buffers[0].get(index)? {
                out.extend_from_slice(bytes);
            }
            return Ok(());
        }
        debug_assert_eq!(row_buffers.len(), self.types.len() - self.key_columns(), "all columns of the row");
        let mut values: SmallVec<[_; 16]> = SmallVec::new();
        for column in row_buffers {
            values.push(column.get(index)?);
        }
        self.rows.encode(&values, out)
    }
}

/// Whether each of these is a place of its own, of so many; for assertions.
fn are_places(places: &[usize], count: usize) -> bool {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    sorted.is_sorted_by(|one, other| one < other) && sorted.last().is_none_or(|last| *last < count)
}
