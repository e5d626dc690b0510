//! Rows that a scan selects as they were written: stored keys and records, put together from all columns of a group.

use ambo_pages::page::Access;
use ambo_types::Result;

use super::{read::RowColumns, run::Part, schema::ColumnSchema};

/// A row by its stored key and its record.
pub type WholeRow = (Vec<u8>, Vec<u8>);

impl Part {
    /// The rows of a group at `places`, which ascend, whether they are left or not.
    ///
    /// # Errors
    /// A block that cannot be read.
    pub fn rows_at(&self, schema: &ColumnSchema, group: usize, places: &[u32]) -> Result<Vec<WholeRow>> {
        debug_assert!(
            places.is_sorted_by(|one, next| one < next),
            "rows of a group are read in order, each once"
        );
        let mut buffers = schema.buffers();
        let all = RowColumns { first: 0, picked: None };
        self.segment.read_places_into(schema, &mut buffers, all, group, places, Access::Scan)?;
        let values = &buffers[schema.key_columns()..];
        let whole = |row: usize| {
            let (mut key, mut record) = (Vec::new(), Vec::new());
            schema.key_of(&buffers, row, &mut key)?;
            schema.record_of(values, row, &mut record)?;
            Ok((key, record))
        };
        let rows = (0..places.len()).map(whole).collect::<ambo_codec::Result<_>>();
        rows.map_err(|error| self.segment.damaged(0, error))
    }
}
