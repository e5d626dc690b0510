//! Searching a key in a part.

use std::{cmp::Ordering, ops::Range, sync::Arc};

use ambo_codec::{
    Value,
    column::{Block, VECTOR},
};
use ambo_pages::page::Access;
use ambo_types::Result;
use smallvec::SmallVec;

use super::{key_filter::KnownFilter, run::Part, schema::ColumnSchema, segment::Segment};
use ambo_scan::buffer::{ColumnBuffer, Values};

/// Most keys have no more columns: these need no allocation.
const KEY_COLUMNS: usize = 2;

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
    values: SmallVec<[Value; KEY_COLUMNS]>,
}

impl<'k> Probe<'k> {
    /// The key as its bytes, and by its values if it is a whole one.
    pub(super) fn new(schema: &ColumnSchema, key: &'k [u8]) -> Self {
        let mut values = SmallVec::new();
        if schema.keys().visit(key, &mut Vec::new(), |value| values.push(value.to_value())).is_err() {
            values.clear();
        }
        Self { key, values }
    }
}

/// Where the last search ended. Searches for keys in order often end in the same group, and in the same rows.
pub(super) struct Window {
    /// The group that was entered last; none before the first search.
    group: Option<Entered>,
    /// The keys at the beginnings of the group's vectors, once the group was searched twice.
    starts: Vec<ColumnBuffer>,
    /// The keys of one of its vectors.
    buffers: Vec<ColumnBuffer>,
    /// Which vector that is.
    vector: Option<usize>,
    key: Vec<u8>,
    pub(super) filter: KnownFilter,
}

/// A group of a segment, and the blocks of its keys.
struct Entered {
    segment: u64,
    group: usize,
    bytes: SmallVec<[Arc<[u8]>; KEY_COLUMNS]>,
}

impl Window {
    /// Nothing decoded yet.
    pub(super) fn new(schema: &ColumnSchema) -> Self {
        let mut buffers = schema.buffers();
        buffers.truncate(schema.key_columns());
        let filter = KnownFilter::default();
        Self { group: None, starts: buffers.clone(), buffers, vector: None, key: Vec::new(), filter }
    }

    /// Forgets where the last search ended.
    pub(super) fn forget(&mut self) {
        (self.group, self.vector, self.filter) = (None, None, KnownFilter::default());
    }

    /// Bytes of memory that it takes, about.
    pub(super) fn memory(&self) -> usize {
        self.starts.iter().chain(&self.buffers).map(ColumnBuffer::memory).sum::<usize>() + self.key.capacity()
    }

    /// The group in which `key` is or would be, if it is the one that was entered last.
    pub(super) fn stays(&self, segment: &Segment, key: &[u8]) -> Option<usize> {
        let entered = self.group.as_ref().filter(|entered| entered.segment == segment.id())?;
        let (directory, group) = (segment.directory(), entered.group);
        let ends = group + 1 == directory.groups() || key < directory.fence(group + 1);
        (directory.fence(group) <= key && ends).then_some(group)
    }

    /// Reads the blocks of a group's keys.
    pub(super) fn enter(&mut self, schema: &ColumnSchema, segment: &Segment, group: usize) -> Result<()> {
        (self.group, self.vector) = (None, None);
        debug_assert!(group < segment.directory().groups(), "a group of the segment");
        self.starts.iter_mut().for_each(ColumnBuffer::clear);
        let read = (0..schema.key_columns()).map(|column| segment.block(column, group, Access::Point));
        let bytes = read.collect::<Result<_>>()?;
        self.group = Some(Entered { segment: segment.id(), group, bytes });
        Ok(())
    }

    /// The place of `probe` among decoded keys.
    fn place(
        of: &[ColumnBuffer],
        key: &mut Vec<u8>,
        schema: &ColumnSchema,
        probe: &Probe<'_>,
    ) -> ambo_codec::Result<Result<usize, usize>> {
        let mut rows = 0..of[0].len();
        debug_assert!(
            of.iter().all(|buffer| buffer.len() == rows.len()),
            "columns of a key have the same rows"
        );
        if !probe.values.is_empty() {
            // Of the rows that are equal in the columns before, those that are in the next one, too.
            for (buffer, value) in of.iter().zip(&probe.values) {
                rows = equal_range(buffer, rows, value)?;
                if rows.is_empty() {
                    return Ok(Err(rows.start));
                }
            }
            return Ok(Ok(rows.start));
        }
        while !rows.is_empty() {
            let middle = rows.start.midpoint(rows.end);
            key.clear();
            schema.key_of(of, middle, key)?;
            match key.as_slice().cmp(probe.key) {
                Ordering::Equal => return Ok(Ok(middle)),
                Ordering::Less => rows.start = middle + 1,
                Ordering::Greater => rows.end = middle,
            }
        }
        Ok(Err(rows.start))
    }

    /// Where `probe` is among the keys of the vector that is decoded; none if it may be in another.
    fn place_inside(
        &mut self,
        schema: &ColumnSchema,
        probe: &Probe<'_>,
    ) -> ambo_codec::Result<Option<Result<usize, usize>>> {
        let Some(vector) = self.vector else { return Ok(None) };
        let start = vector * VECTOR;
        let rows = self.buffers[0].len();
        Ok(match Self::place(&self.buffers, &mut self.key, schema, probe)? {
            Ok(row) => Some(Ok(start + row)),
            Err(row) if row > 0 && row < rows => Some(Err(start + row)),
            // At the edges the neighbours would have to be asked.
            Err(_) => None,
        })
    }

    /// Decodes the vector of the group in which `probe` is or would be. The first key of the group is not greater. The keys at the
    /// beginnings of vectors, which any encoding gives at once, tell the vector.
    fn load_vector(
        &mut self,
        schema: &ColumnSchema,
        blocks: &[Block<'_>],
        rows: usize,
        probe: &Probe<'_>,
        again: bool,
    ) -> ambo_codec::Result<()> {
        let vectors = rows.div_ceil(VECTOR);
        let vector = match again {
            true => self.vector_of(schema, blocks, vectors, probe)?,
            false => self.vector_of_once(schema, blocks, vectors, probe)?,
        };
        debug_assert!(vector < vectors, "a vector of the group");
        self.vector = None;
        for (buffer, block) in self.buffers.iter_mut().zip(blocks) {
            buffer.clear();
            buffer.append_block(block, vector * VECTOR..rows.min((vector + 1) * VECTOR))?;
        }
        self.vector = Some(vector);
        Ok(())
    }

    /// The vector of a key, of a group that is searched more than once: all beginnings are read.
    fn vector_of(
        &mut self,
        schema: &ColumnSchema,
        blocks: &[Block<'_>],
        vectors: usize,
        probe: &Probe<'_>,
    ) -> ambo_codec::Result<usize> {
        if self.starts[0].is_empty() {
            for (buffer, block) in self.starts.iter_mut().zip(blocks) {
                (0..vectors).try_for_each(|vector| {
                    buffer.append_block(block, vector * VECTOR..vector * VECTOR + 1)
                })?;
            }
        }
        Ok(match Self::place(&self.starts, &mut self.key, schema, probe)? {
            Ok(vector) => vector,
            Err(next) => next.saturating_sub(1),
        })
    }

    /// As [`Window::vector_of`], reading a beginning only where it is looked at.
    fn vector_of_once(
        &mut self,
        schema: &ColumnSchema,
        blocks: &[Block<'_>],
        vectors: usize,
        probe: &Probe<'_>,
    ) -> ambo_codec::Result<usize> {
        let (mut low, mut high) = (0, vectors - 1);
        while low < high {
            let middle = (low + high).div_ceil(2);
            for (buffer, block) in self.buffers.iter_mut().zip(blocks) {
                buffer.clear();
                buffer.append_block(block, middle * VECTOR..middle * VECTOR + 1)?;
            }
            match Self::place(&self.buffers, &mut self.key, schema, probe)? {
                Ok(_) | Err(1..) => low = middle,
                Err(0) => high = middle - 1,
            }
        }
        Ok(low)
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
        let directory = segment.directory();
        let stays = window.stays(segment, key);
        if let Some(group) = stays
            && let Some(place) = window.place_inside(schema, probe).map_err(wrong)?
        {
            return Ok(found_from(directory.group(group).start, place));
        }
        let group = match stays {
            Some(group) => group,
            None => {
                let Some(group) = directory.group_for(key) else { return Ok(Found::Before(0)) };
                group
            }
        };
        match key.cmp(directory.last_key()) {
            Ordering::Greater => return Ok(Found::Before(self.rows())),
            Ordering::Equal => return Ok(Found::At(self.rows() - 1)),
            Ordering::Less => {}
        }
        if stays.is_none() {
            window.enter(schema, segment, group)?;
        }
        let mut place = None;
        let decodes = stays.is_some();
        self.search_group(schema, &[probe], decodes, window, |_, found| place = Some(found))?;
        Ok(place.expect("one key is at one place"))
    }

    /// Where keys are, or would be, that ascend and are all of the group in which `window` is. `decodes`: decoded keys are of use for
    /// others.
    pub(super) fn search_group(
        &self,
        schema: &ColumnSchema,
        probes: &[&Probe<'_>],
        decodes: bool,
        window: &mut Window,
        mut found: impl FnMut(usize, Found),
    ) -> Result<()> {
        let segment = &*self.segment;
        let wrong = |error| segment.damaged(segment.entry(0, 0).offset, error);
        debug_assert!(probes.is_sorted_by_key(|probe| probe.key), "keys that are sought together ascend");
        let entered = window.group.take().expect("a group was entered");
        debug_assert_eq!(entered.segment, segment.id(), "the group is one of this part");
        let group = entered.group;
        let rows = segment.directory().group(group);
        let parse = |(column, bytes): (usize, _)| segment.parse(column, group, bytes);
        let bytes = entered.bytes.iter().map(|bytes| &**bytes);
        let blocks = bytes.enumerate().map(parse).collect::<Result<SmallVec<[_; KEY_COLUMNS]>>>()?;
        // Decoding is for nothing where keys are found as quickly without.
        let decodes = decodes && !blocks.iter().all(Block::ascends_evenly);
        for (nth, probe) in probes.iter().enumerate() {
            let known = window.place_inside(schema, probe).map_err(wrong)?;
            let known = known.or_else(|| if decodes { None } else { place_in(&blocks, rows.len(), probe) });
            let place = match known {
                Some(place) => place,
                None => {
                    window.load_vector(schema, &blocks, rows.len(), probe, decodes).map_err(wrong)?;
                    let start = window.vector.map_or(0, |vector| vector * VECTOR);
                    let place =
                        Window::place(&window.buffers, &mut window.key, schema, probe).map_err(wrong)?;
                    place.map(|row| start + row).map_err(|row| start + row)
                }
            };
            debug_assert!(
                place.is_ok_and(|row| row < rows.len()) || place.is_err_and(|row| row <= rows.len())
            );
            found(nth, found_from(rows.start, place));
        }
        drop(blocks);
        window.group = Some(entered);
        Ok(())
    }
}

/// The place of `probe` among the keys in `blocks`, if they can be searched as they are.
fn place_in(
    blocks: &[Block<'_>],
    rows: usize,
    probe: &Probe<'_>,
) -> Option<std::result::Result<usize, usize>> {
    let mut rows = 0..rows;
    for (block, value) in blocks.iter().zip(&probe.values) {
        rows = block.equal_range(rows, value.as_ref())?;
        if rows.is_empty() {
            return Some(Err(rows.start));
        }
    }
    (!probe.values.is_empty()).then_some(Ok(rows.start))
}

/// Those of `rows`, which ascend, whose value is `value`; an empty range where they would be if there are none.
fn equal_range(column: &ColumnBuffer, rows: Range<usize>, value: &Value) -> ambo_codec::Result<Range<usize>> {
    if column.nulls() == 0 {
        match (column.values(), value) {
            (
                Values::I64(values),
                Value::I64(value)
                | Value::Timestamp(value)
                | Value::TimestampTz(value)
                | Value::Time64(value),
            ) => {
                return Ok(equal_in(values, rows, *value));
            }
            (Values::I32(values), Value::I32(value) | Value::Date32(value)) => {
                return Ok(equal_in(values, rows, *value));
            }
            (Values::U64(values), Value::U64(value)) => return Ok(equal_in(values, rows, *value)),
            (Values::U32(values), Value::U32(value)) => return Ok(equal_in(values, rows, *value)),
            _ => {}
        }
    }
    let bound = |from: usize, is_before: fn(Ordering) -> bool| -> ambo_codec::Result<usize> {
        let (mut low, mut high) = (from, rows.end);
        while low < high {
            let middle = low.midpoint(high);
            match is_before(column.get(middle)?.compare(value.as_ref())) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    };
    let start = bound(rows.start, Ordering::is_lt)?;
    Ok(start..bound(start, Ordering::is_le)?)
}

/// Those of `rows`, which ascend, whose value is `value`. Few are: they are looked for from the first on, in steps that double.
fn equal_in<T: Ord + Copy>(values: &[T], rows: Range<usize>, value: T) -> Range<usize> {
    let start = rows.start + values[rows.clone()].partition_point(|other| *other < value);
    let mut step = 1;
    while start + step < rows.end && values[start + step] == value {
        step *= 2;
    }
    let last = &values[start..rows.end.min(start + step)];
    start..start + last.partition_point(|other| *other <= value)
}

/// The place in a group whose first row is `start`, as one in the segment.
fn found_from(start: u32, place: Result<usize, usize>) -> Found {
    match place {
        Ok(row) => Found::At(start + row as u32),
        Err(row) => Found::Before(start + row as u32),
    }
}
