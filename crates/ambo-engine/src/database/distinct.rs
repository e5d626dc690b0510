//! The different values of a column, by an order in which equal ones stand together: that of an index, or of the table itself.

use ambo_codec::{KeySpec, Value as Datum, successor};
use ambo_types::{Error, IndexKind, Result, id::TableId};

use super::{
    cursor::Seek,
    indexes::find_index,
    snapshot::{Cursor, Snapshot},
};

/// So many entries of one value are stepped over before the next value is sought.
const STEPS_MAX: usize = 8;

/// The different values of a column, ascending, NULL first.
pub struct DistinctScan {
    cursor: Cursor,
    /// Of the keys, whose first column it is.
    spec: KeySpec,
    /// The bytes of the value that the cursor is at.
    value: Option<Vec<u8>>,
    name: String,
}

impl Snapshot {
    /// The different values of a column (its place in the definition); None if nothing is in its order: it is neither the first of
    /// several columns of the key, nor the first of an ordered index that is not unique.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the snapshot has no such table.
    pub fn distinct_values(&self, table: TableId, column: usize) -> Result<Option<DistinctScan>> {
        let catalog = self.catalog();
        let definition = catalog.table(table).ok_or_else(|| Error::NotFound(format!("table {table}")))?;
        let is_by_rows = !definition.storage.traits().by_column;
        if is_by_rows && definition.key.len() > 1 && definition.key[0] == column {
            let spec = definition.key_spec().map_err(|error| Error::Invalid(error.to_string()))?;
            let name = format!("key of \"{}\"", definition.name);
            return Ok(Some(DistinctScan { cursor: self.cursor(table)?, spec, value: None, name }));
        }
        if definition.expires() {
            // Entries of an index stay as long as their rows are stored, expired or not.
            return Ok(None);
        }
        let in_order = catalog.indexes_of(table).find(|(_, index)| {
            let of = index.index.as_ref();
            of.is_some_and(|of| {
                of.ready && !of.unique && of.kind == IndexKind::Ordered && of.columns[0] == column
            })
        });
        let Some((id, _)) = in_order else { return Ok(None) };
        let index = find_index(self.version(), id)?;
        let name = format!("index \"{}\"", index.format.name());
        let (cursor, spec) = (self.cursor(id)?, index.format.key_spec().clone());
        Ok(Some(DistinctScan { cursor, spec, value: None, name }))
    }
}

impl DistinctScan {
    /// In whose order the values stand, in words.
    pub fn path(&self) -> &str {
        &self.name
    }

    /// The next value; None behind the last.
    pub fn next_value(&mut self) -> Result<Option<Datum>> {
        if !self.advance()? {
            return Ok(None);
        }
        let key = self.cursor.key();
        let damaged = |error| Error::Invalid(format!("{}: a key that cannot be read: {error}", self.name));
        let length = self.spec.prefix_len(key, 1).map_err(damaged)?;
        let value = self.spec.decode(key).map_err(damaged)?.swap_remove(0);
        self.value = Some(key[..length].to_vec());
        Ok(Some(value))
    }

    /// Goes to the first key of the next value.
    fn advance(&mut self) -> Result<bool> {
        let Some(value) = &self.value else { return self.cursor.seek(Seek::First) };
        for _ in 0..STEPS_MAX {
            if !self.cursor.is_valid() || !self.cursor.next()? {
                return Ok(false);
            }
            if !self.cursor.key().starts_with(value) {
                return Ok(true);
            }
        }
        match successor(value) {
            Some(next) => self.cursor.seek(Seek::Ge(&next)),
            None => Ok(false),
        }
    }
}
