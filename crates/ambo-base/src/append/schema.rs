//! What the records of a table are made of.

use ambo_codec::{Type, column::Kind};
use ambo_types::{RecordWidth, TableDefinition};

use super::layout::{Layout, Part};

/// A page has so many bytes of records at most, unless one record has more …
const PAGE_BYTES: usize = 1 << 20;
/// … and so many records.
const PAGE_ROWS: usize = 8 << 10;

/// See the module.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct RecordSchema {
    layout: Layout,
    width: RecordWidth,
}

impl RecordSchema {
    /// Of stored columns of these types, some of which were dropped, and some of which are never NULL. None if the storage of the table
    /// has no records.
    pub(crate) fn of(
        definition: &TableDefinition,
        types: &[Type],
        dropped: &[usize],
        required: &[usize],
        keys: usize,
    ) -> Option<Self> {
        if !definition.storage.traits().records {
            return None;
        }
        let is_number = |column: usize| column == 0 && keys == 1 && definition.key.is_empty();
        let part = |(column, ty): (usize, &Type)| match column {
            _ if dropped.contains(&column) => Part::Absent,
            _ if is_number(column) => Part::Number,
            _ => Part::Value(Kind::of(*ty)),
        };
        let parts: Vec<_> = types.iter().enumerate().map(part).collect();
        let nullable = (keys..types.len())
            .filter(|column| parts[*column] != Part::Absent && !required.contains(column))
            .collect();
        let width = definition.records.width;
        Some(Self { layout: Layout::new(&parts, nullable, width), width })
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn width(&self) -> RecordWidth {
        self.width
    }

    /// How many records a page has: a power of two.
    pub(crate) fn page_rows(&self) -> usize {
        let rows = (PAGE_BYTES / self.layout.width).clamp(1, PAGE_ROWS);
        1 << rows.ilog2()
    }
}
