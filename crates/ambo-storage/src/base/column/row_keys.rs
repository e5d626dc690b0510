//! Stored keys of the rows that a morsel selects.

use super::{morsel::Morsel, schema::ColumnSchema};
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
        let rows: Vec<u32> = self.mask().iter().map(|row| row as u32).collect();
        self.keys_of(schema, &rows)
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
        let mut buffers = schema.buffers();
        buffers.truncate(schema.key_columns());
        for (column, buffer) in buffers.iter_mut().enumerate() {
            let block = self.stored(column)?;
            buffer.append_places(&block, rows).map_err(|error| self.wrong(column, error))?;
        }
        let mut keys = RowKeys::default();
        for row in 0..rows.len() {
            schema
                .key_of(&buffers, row, &mut keys.bytes)
                .map_err(|error| Error::Invalid(format!("a key that cannot be read: {error}")))?;
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }
}
