//! Searching a key in a part.

use std::{cmp::Ordering, ops::Range};

use ambo_codec::{
    Value,
    column::{Block, VECTOR},
};

use super::{buffer::ColumnBuffer, run::Part, schema::ColumnSchema};
use crate::{Result, page::Access};

/// Where a key is among the rows of a part, left or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// It is the key of this row.
    At(u32),
    /// It is nobody's key, and less than that of this row and all behind it, which may be none.
    Before(u32),
}

/// A key that is looked for.
pub(super) struct Probe<'k> {
    pub(super) key: &'k [u8],
    /// Its values, which compare quicker than keys are made; none if it is the beginning of a key.
    values: Vec<Value>,
}

impl<'k> Probe<'k> {
    /// The key as its bytes, and by its values if it is a whole one.
    pub(super) fn new(schema: &ColumnSchema, key: &'k [u8]) -> Self {
        Self { key, values: schema.keys().decode(key).unwrap_or_default() }
    }
}

/// The keys of rows that follow each other, decoded: where the last search ended. Searches for keys in order often end in the same
/// rows.
pub(super) struct Window {
    buffers: Vec<ColumnBuffer>,
    /// The segment and the rows; none before the first search.
    of: Option<(u64, Range<u32>)>,
    key: Vec<u8>,
}

impl Window {
    /// Nothing decoded yet.
    pub(super) fn new(schema: &ColumnSchema) -> Self {
        let mut buffers = schema.buffers();
        buffers.truncate(schema.key_columns());
        Self { buffers, of: None, key: Vec::new() }
    }

    /// Decodes rows of a group of blocks in the place of others.
    fn load(&mut self, blocks: &[Block<'_>], rows: Range<usize>) -> ambo_codec::Result<()> {
        self.of = None;
        for (buffer, block) in self.buffers.iter_mut().zip(blocks) {
            buffer.clear();
            buffer.append_block(block, rows.clone())?;
        }
        Ok(())
    }

    /// How the key of a decoded row compares with `probe`.
    fn compare(
        &mut self,
        schema: &ColumnSchema,
        row: usize,
        probe: &Probe<'_>,
    ) -> ambo_codec::Result<Ordering> {
        if !probe.values.is_empty() {
            for (buffer, value) in self.buffers.iter().zip(&probe.values) {
                match buffer.get(row)?.compare(value.as_ref()) {
                    Ordering::Equal => {}
                    other => return Ok(other),
                }
            }
            return Ok(Ordering::Equal);
        }
        self.key.clear();
        schema.key_of(&self.buffers, row, &mut self.key)?;
        Ok(self.key.as_slice().cmp(probe.key))
    }

    /// The place of `probe` among the decoded rows.
    fn place(
        &mut self,
        schema: &ColumnSchema,
        probe: &Probe<'_>,
    ) -> ambo_codec::Result<Result<usize, usize>> {
        let (mut low, mut high) = (0, self.buffers[0].len());
        while low < high {
            let middle = (low + high) / 2;
            match self.compare(schema, middle, probe)? {
                Ordering::Equal => return Ok(Ok(middle)),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        Ok(Err(low))
    }

    /// Decodes the vector of a group in which `probe` is or would be. The first key of the group is not greater. The keys at the beginnings of
    /// vectors, which any encoding gives at once, tell the vector.
    fn enter(
        &mut self,
        schema: &ColumnSchema,
        blocks: &[Block<'_>],
        rows: usize,
        probe: &Probe<'_>,
    ) -> ambo_codec::Result<Range<usize>> {
        let (mut low, mut high) = (0, rows.div_ceil(VECTOR) - 1);
        while low < high {
            let middle = (low + high).div_ceil(2);
            self.load(blocks, middle * VECTOR..middle * VECTOR + 1)?;
            match self.compare(schema, 0, probe)? {
                Ordering::Equal | Ordering::Less => low = middle,
                Ordering::Greater => high = middle - 1,
            }
        }
        let vector = low * VECTOR..rows.min((low + 1) * VECTOR);
        self.load(blocks, vector.clone())?;
        Ok(vector)
    }
}

impl Part {
    /// Where a key is, or would be. The search begins in `window` and leaves it where it ends.
    pub(super) fn search(
        &self,
        schema: &ColumnSchema,
        probe: &Probe<'_>,
        window: &mut Window,
    ) -> Result<Found> {
        let key = probe.key;
        let segment = &*self.segment;
        let wrong = |error| segment.damaged(segment.entry(0, 0).offset, error);
        if let Some((of, rows)) = window.of.clone()
            && of == segment.id()
            && window.compare(schema, 0, probe).map_err(wrong)?.is_le()
            && window.compare(schema, rows.len() - 1, probe).map_err(wrong)?.is_ge()
        {
            return Ok(found(rows.start, window.place(schema, probe).map_err(wrong)?));
        }
        let directory = segment.directory();
        let Some(group) = directory.group_for(key) else { return Ok(Found::Before(0)) };
        match key.cmp(directory.last_key()) {
            Ordering::Greater => return Ok(Found::Before(self.rows())),
            Ordering::Equal => return Ok(Found::At(self.rows() - 1)),
            Ordering::Less => {}
        }
        let rows = directory.group(group);
        let read = (0..schema.key_columns()).map(|column| segment.block(column, group, Access::Point));
        let bytes = read.collect::<Result<Vec<_>>>()?;
        let parse = |(column, bytes): (usize, _)| segment.parse(column, group, bytes);
        let blocks = bytes.iter().map(|bytes| &**bytes).enumerate().map(parse).collect::<Result<Vec<_>>>()?;
        let vector = window.enter(schema, &blocks, rows.len(), probe).map_err(wrong)?;
        let start = rows.start + vector.start as u32;
        window.of = Some((segment.id(), start..start + vector.len() as u32));
        Ok(found(start, window.place(schema, probe).map_err(wrong)?))
    }
}

fn found(start: u32, place: Result<usize, usize>) -> Found {
    match place {
        Ok(row) => Found::At(start + row as u32),
        Err(row) => Found::Before(start + row as u32),
    }
}
