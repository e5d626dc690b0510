//! Which columns a segment stores, and how rows become columns and columns rows.
//!
//! The stored columns are those of the key, in key order (the number that ends a hidden key or one with duplicates among
//! them), and then those of the row, in row order. So a segment needs nothing but its own columns to give
//! back a row's key and record.

use ambo_codec::{KeySpec, RowSpec, Type, ValueRef};

use super::buffer::ColumnBuffer;
use crate::{Error, Result, catalog::TableDefinition};

/// The stored columns of a table.
#[derive(Debug, PartialEq)]
pub struct ColumnSchema {
    keys: KeySpec,
    rows: RowSpec,
    /// The types of all stored columns.
    types: Vec<Type>,
    /// Where each column of the table is stored.
    places: Vec<usize>,
    /// Whether a record is the one value column as it is.
    raw: bool,
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
        let row_columns = definition.row_columns();
        let of_row = row_columns.iter().map(|&index| definition.columns[index].kind);
        let key_len = keys.columns().len();
        let mut places = vec![0; definition.columns.len()];
        for (place, &index) in definition.key.iter().enumerate() {
            places[index] = place;
        }
        for (place, &index) in row_columns.iter().enumerate() {
            places[index] = key_len + place;
        }
        Ok(Self { types: of_key.chain(of_row).collect(), places, raw: definition.is_raw(), keys, rows })
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

    /// How keys are encoded.
    pub fn keys(&self) -> &KeySpec {
        &self.keys
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
        let mut scratch = Vec::new();
        let mut values = Vec::with_capacity(self.types.len());
        self.values(key, record, &mut scratch, &mut values)
            .map_err(|error| Error::Invalid(format!("a row that its table's columns cannot hold: {error}")))
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
        Ok(())
    }

    /// Appends a row to the buffers of all columns.
    pub fn push(&self, key: &[u8], record: &[u8], buffers: &mut [ColumnBuffer]) -> ambo_codec::Result<()> {
        let mut scratch = Vec::new();
        let mut values = Vec::with_capacity(self.types.len());
        self.values(key, record, &mut scratch, &mut values)?;
        for (buffer, value) in buffers.iter_mut().zip(values) {
            buffer.push(value)?;
        }
        Ok(())
    }

    /// Appends a row's values of some stored columns, by their places, to their buffers.
    pub fn push_some(
        &self,
        key: &[u8],
        record: &[u8],
        buffers: &mut [(usize, ColumnBuffer)],
    ) -> ambo_codec::Result<()> {
        let mut scratch = Vec::new();
        let mut values = Vec::with_capacity(self.types.len());
        self.values(key, record, &mut scratch, &mut values)?;
        buffers.iter_mut().try_for_each(|(column, buffer)| buffer.push(values[*column]))
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
        let values: Vec<_> =
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
        let values: Vec<_> =
            row_buffers.iter().map(|column| column.get(index)).collect::<ambo_codec::Result<_>>()?;
        self.rows.encode(&values, out)
    }
}
