//! Stored keys of the rows that a morsel selects, and their values.

use ambo_types::{Error, Result};

use super::schema::ColumnSchema;
use ambo_scan::Morsel;

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

    /// The keys of the rows that a morsel selects, which ascend.
    pub fn of(morsel: &Morsel<'_>, schema: &ColumnSchema) -> Result<Self> {
        Self::of_rows(morsel, schema, &morsel.selected_rows())
    }

    /// The keys of the first and the last row that a morsel selects. REQUIRES: one is selected, as in each morsel of a scan.
    pub fn ends_of(morsel: &Morsel<'_>, schema: &ColumnSchema) -> Result<Self> {
        let first = morsel.mask().iter().next().expect("a row is selected") as u32;
        let words = morsel.mask().words();
        let (word, bits) = (0..words.len())
            .rev()
            .map(|word| (word, words[word]))
            .find(|(_, bits)| *bits != 0)
            .expect("a row is selected");
        let last = word as u32 * 64 + 63 - bits.leading_zeros();
        debug_assert!(first <= last && (last as usize) < morsel.rows(), "rows of the group");
        let rows = if first == last { &[first][..] } else { &[first, last] };
        let mut keys = Self::of_rows(morsel, schema, rows)?;
        if first == last {
            keys.bytes.extend_from_within(..);
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }

    fn of_rows(morsel: &Morsel<'_>, schema: &ColumnSchema, rows: &[u32]) -> Result<Self> {
        let buffer = |column: usize| morsel.buffer(column, schema.types()[column], rows);
        let buffers = (0..schema.key_columns()).map(buffer).collect::<Result<Vec<_>>>()?;
        let mut keys = Self::default();
        for row in 0..rows.len() {
            schema
                .key_of(&buffers, row, &mut keys.bytes)
                .map_err(|error| Error::Invalid(format!("a key that cannot be read: {error}")))?;
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }
}
