//! Stored keys of the rows that a morsel selects, and their values.

use super::{buffer::ColumnBuffer, morsel::Morsel, schema::ColumnSchema};
use crate::{Error, Result};

/// Keys one behind the other, in the order of the rows.
#[derive(Debug, Default)]
pub struct RowKeys {
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl RowKeys {
    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }
}

impl Morsel<'_> {
    /// The keys of the selected rows, which ascend.
    pub fn keys(&self, schema: &ColumnSchema) -> Result<RowKeys> {
        self.keys_of(schema, &self.selected_rows())
    }

    /// The keys of the first and the last selected row. REQUIRES: one is selected, as in each morsel of a scan.
    pub fn end_keys(&self, schema: &ColumnSchema) -> Result<RowKeys> {
        let first = self.mask().iter().next().expect("a row is selected") as u32;
        let words = self.mask().words();
        let (word, bits) = (0..words.len())
            .rev()
            .map(|word| (word, words[word]))
            .find(|(_, bits)| *bits != 0)
            .expect("a row is selected");
        let last = word as u32 * 64 + 63 - bits.leading_zeros();
        self.keys_of(schema, &[first, last])
    }

    fn keys_of(&self, schema: &ColumnSchema, rows: &[u32]) -> Result<RowKeys> {
        let columns = 0..schema.key_columns();
        let buffers =
            columns.map(|column| self.buffer_of(schema, column, rows)).collect::<Result<Vec<_>>>()?;
        let mut keys = RowKeys::default();
        for row in 0..rows.len() {
            schema
                .key_of(&buffers, row, &mut keys.bytes)
                .map_err(|error| Error::Invalid(format!("a key that cannot be read: {error}")))?;
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }

    /// Values of the selected rows in the column at a place of the projection.
    pub fn buffer(&self, schema: &ColumnSchema, place: usize) -> Result<ColumnBuffer> {
        self.buffer_of(schema, self.projection()[place], &self.selected_rows())
    }

    fn selected_rows(&self) -> Vec<u32> {
        self.mask().iter().map(|row| row as u32).collect()
    }

    fn buffer_of(&self, schema: &ColumnSchema, column: usize, rows: &[u32]) -> Result<ColumnBuffer> {
        let mut buffer = ColumnBuffer::new(schema.types()[column]);
        let block = self.stored(column)?;
        let appended = match rows.len() == self.rows() {
            true => buffer.append_block(&block, 0..rows.len()),
            false => buffer.append_places(&block, rows),
        };
        appended.map_err(|error| self.wrong(column, error))?;
        Ok(buffer)
    }
}
