//! A segment as its table sees it: with the columns that were added after it was written.
//!
//! Rows of such a segment have the column's default there, or NULL: a constant. Whoever looks at blocks is given a block of that
//! constant, made when it is first asked for; who looks at the directory, what it would say of the block.

use std::sync::{Arc, OnceLock};

use ambo_codec::column::{Block, Goal, Kind, encode};
use ambo_pages::page::Access;
use ambo_scan::{Bounds, buffer::ColumnBuffer};
use ambo_types::{Error, Result};
use parking_lot::Mutex;

use super::{schema::ColumnSchema, segment::Segment};

/// What is known of columns that segments lack, once somebody asked.
#[derive(Debug)]
pub(super) struct Unwritten {
    columns: OnceLock<Box<[Constant]>>,
    count: usize,
}

#[derive(Debug, Default)]
struct Constant {
    bounds: OnceLock<Option<Bounds>>,
    /// A block, and its rows: most groups have the same number.
    block: Mutex<Option<(usize, Arc<[u8]>)>>,
}

impl Unwritten {
    /// Of so many stored columns.
    pub(super) fn of(count: usize) -> Self {
        Self { columns: OnceLock::new(), count }
    }

    fn column(&self, column: usize) -> &Constant {
        let columns = self.columns.get_or_init(|| (0..self.count).map(|_| Constant::default()).collect());
        &columns[column]
    }
}

/// See the module.
#[derive(Clone, Copy)]
pub(super) struct Seen<'s> {
    pub(super) segment: &'s Segment,
    schema: &'s ColumnSchema,
}

impl<'s> Seen<'s> {
    pub(super) fn new(segment: &'s Segment, schema: &'s ColumnSchema) -> Self {
        debug_assert!(
            segment.directory().columns.len() <= schema.types().len(),
            "a segment has no column that its table does not know"
        );
        Self { segment, schema }
    }

    /// How many stored columns there are.
    pub(super) fn columns(&self) -> usize {
        self.schema.types().len()
    }

    /// The kind of a column's values.
    pub(super) fn kind(&self, column: usize) -> Kind {
        Kind::of(self.schema.types()[column])
    }

    /// Rows of a group without a value.
    pub(super) fn nulls(&self, column: usize, group: usize) -> u32 {
        match self.segment.has(column) {
            true => self.segment.entry(column, group).nulls,
            false if self.schema.missing(column).is_null() => {
                self.segment.directory().group(group).len() as u32
            }
            false => 0,
        }
    }

    /// Between what the values of a group lie.
    pub(super) fn bounds(&self, column: usize, group: usize) -> Option<&'s Bounds> {
        if self.segment.has(column) {
            return self.segment.entry(column, group).bounds.as_ref();
        }
        let schema = self.schema;
        let bounds = schema.unwritten().column(column).bounds.get_or_init(|| {
            let (summary, _) = constant(schema, column, 1).ok()?;
            Bounds::of(Kind::of(schema.types()[column]), &summary)
        });
        bounds.as_ref()
    }

    /// A block's bytes, to be parsed by [`Seen::parse`].
    pub(super) fn block(&self, column: usize, group: usize, access: Access) -> Result<Arc<[u8]>> {
        if self.segment.has(column) {
            return self.segment.block(column, group, access);
        }
        let rows = self.segment.directory().group(group).len();
        let mut kept = self.schema.unwritten().column(column).block.lock();
        if let Some((_, block)) = kept.as_ref().filter(|(of, _)| *of == rows) {
            return Ok(block.clone());
        }
        let (_, block) =
            constant(self.schema, column, rows).map_err(|error| Error::Invalid(error.to_string()))?;
        let block: Arc<[u8]> = block.into();
        *kept = Some((rows, block.clone()));
        Ok(block)
    }

    /// The block in `bytes`, which are those of this column and group.
    pub(super) fn parse<'a>(&self, column: usize, group: usize, bytes: &'a [u8]) -> Result<Block<'a>> {
        if self.segment.has(column) {
            return self.segment.parse(column, group, bytes);
        }
        let rows = self.segment.directory().group(group).len();
        Block::parse(bytes, self.kind(column), rows).map_err(|error| self.damaged(column, group, error))
    }

    /// That a block is damaged.
    pub(super) fn damaged(&self, column: usize, group: usize, what: ambo_codec::Error) -> Error {
        let offset = if self.segment.has(column) { self.segment.entry(column, group).offset } else { 0 };
        self.segment.damaged(offset, what)
    }
}

/// A block of what rows have in a column that their segment lacks.
fn constant(
    schema: &ColumnSchema,
    column: usize,
    rows: usize,
) -> ambo_codec::Result<(ambo_codec::column::BlockSummary, Vec<u8>)> {
    let mut buffer = ColumnBuffer::new(schema.types()[column]);
    buffer.push_times(schema.missing(column), rows)?;
    let mut block = Vec::new();
    let summary = encode(buffer.slice(), buffer.validity(), Goal::Speed, &mut block)?;
    debug_assert!(Block::parse(&block, Kind::of(buffer.ty()), rows).is_ok(), "it is read as it was written");
    debug_assert!(
        summary.nulls == if schema.missing(column).is_null() { rows } else { 0 },
        "a constant is NULL in all rows, or in none"
    );
    Ok((summary, block))
}
