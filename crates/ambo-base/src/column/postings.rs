//! Postings: of one column of a segment, which rows have each of its values. A bitmap index answers by them.
//!
//! They follow from the blocks of the column, are made when a scan first asks for them, and are kept in the cache of blocks, in this form,
//! until others need the room. They are never in a file. Integers are little-endian, values are in the form of bounds, whose bytes compare
//! as the values do:
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | count | 4 | of values; all `FF`: too many, and nothing follows |
//! | ends | 8 each | where the value and where its bitmap ends, from here on; in the order of the values |
//! | values and bitmaps | any | each a value, then its rows as an encoded bitmap (`docs/formats/bitmaps.md`) |
//!
//! Of three rows `2, NULL, 2` of a column of 8-bit integers: `01 00 00 00 | 01 00 00 00, n 00 00 00 | 82`, and the bitmap of the rows 0 and
//! 2, which ends at `n`.

use std::{collections::HashMap, sync::Arc};

use ambo_codec::{
    Type, Value, ValueRef,
    bitmap::{Bitmap, BitmapRef, Positions},
    column::{Block, Compare, Kind},
};
use ambo_pages::page::Access;
use ambo_types::Result;
use rapidhash::fast::RandomState;

use super::segment::{CachedPart, Segment};
use ambo_scan::{
    bounds,
    buffer::ColumnBuffer,
    {Filter, Test},
};

/// A column with more values in a segment has no postings there: its bitmaps would be larger than its blocks.
const VALUES_MAX: usize = 1 << 10;
/// The same holds for values that take more bytes than this.
const VALUE_BYTES_MAX: usize = 1 << 24;
const TOO_MANY: u32 = u32::MAX;
const ENDS_BYTES: usize = 8;

/// The values that a filter asks for, as postings have them; none if it asks something else, or for values that are none of the column's.
pub(super) fn wanted(filter: &Filter, ty: Type) -> Option<Vec<Vec<u8>>> {
    let key = |value: &Value| {
        let is_value = !value.is_null() && value.as_ref().is_of(ty);
        is_value.then(|| bounds::key(Kind::of(ty), bounds::physical(value.as_ref())))?
    };
    match &filter.test {
        Test::Compare(Compare::Equal, value) => key(value).map(|key| vec![key]),
        Test::In(values) => values.iter().filter(|value| !value.is_null()).map(key).collect(),
        _ => None,
    }
}

impl Segment {
    /// The rows that have one of these values in a column; none if it has too many values for postings, or was added after the segment
    /// was written: its bounds say it all then.
    pub(super) fn rows_with(&self, column: usize, values: &[Vec<u8>]) -> Result<Option<Bitmap>> {
        if !self.has(column) {
            return Ok(None);
        }
        let bytes = self.postings(column)?;
        let postings = Postings::parse(&bytes);
        let Some(postings) = postings else { return Ok(None) };
        let mut rows = Vec::new();
        for value in values {
            if let Some(bitmap) = postings.find(value) {
                rows.push(BitmapRef::parse(bitmap).map_err(|error| self.damaged(0, error))?);
            }
        }
        Ok(Some(Bitmap::union(&rows)))
    }

    /// Whether the postings of a column are made and kept.
    pub(super) fn has_postings(&self, column: usize) -> bool {
        self.has_kept(CachedPart::Postings(column))
    }

    fn postings(&self, column: usize) -> Result<Arc<[u8]>> {
        self.keep_or(CachedPart::Postings(column), Access::Point, || self.make_postings(column))
    }

    fn make_postings(&self, column: usize) -> Result<Arc<[u8]>> {
        let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut rows: Vec<Vec<u64>> = Vec::new();
        let directory = self.directory();
        for group in 0..directory.groups() {
            let bytes = self.block(column, group, Access::Scan)?;
            let block = self.parse(column, group, &bytes)?;
            let wrong = |error| self.damaged(self.entry(column, group).offset, error);
            let first = u64::from(directory.group(group).start);
            let codes = Codes::of(&block, directory.columns[column].ty).map_err(wrong)?;
            debug_assert_eq!(codes.rows.len(), block.rows(), "each row of the block has a number");
            let valid = block.validity();
            // The number of each of the block's values among those of the segment.
            let mut known = vec![None; codes.values.len()];
            for (row, code) in codes.rows.into_iter().enumerate() {
                if !valid.get(row) {
                    continue;
                }
                let number = match known[code as usize] {
                    Some(number) => number,
                    None => {
                        let next = numbers.len();
                        *known[code as usize]
                            .insert(*numbers.entry(codes.values[code as usize].clone()).or_insert(next))
                    }
                };
                if number == rows.len() {
                    if number == VALUES_MAX {
                        return Ok(TOO_MANY.to_le_bytes()[..].into());
                    }
                    rows.push(Vec::new());
                }
                rows[number].push(first + row as u64);
            }
        }
        let mut values: Vec<_> = numbers.into_iter().collect();
        values.sort_unstable();
        debug_assert_eq!(values.len(), rows.len(), "each value has its rows");
        if values.iter().map(|(value, _)| value.len()).sum::<usize>() > VALUE_BYTES_MAX {
            return Ok(TOO_MANY.to_le_bytes()[..].into());
        }
        let mut out = (values.len() as u32).to_le_bytes().to_vec();
        let mut body = Vec::new();
        for (value, number) in values {
            body.extend_from_slice(&value);
            out.extend_from_slice(&(body.len() as u32).to_le_bytes());
            let rows = std::mem::take(&mut rows[number]);
            Bitmap::from_sorted(rows).expect("rows ascend").encode(&mut body);
            out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        }
        out.extend_from_slice(&body);
        debug_assert!(Postings::parse(&out).is_some_and(|made| made.ends.len() <= VALUES_MAX));
        Ok(out.into())
    }
}

/// The values of a block and which of them each row has; NULLs have any, if there is one.
struct Codes {
    values: Vec<Vec<u8>>,
    rows: Vec<u32>,
}

impl Codes {
    fn of(block: &Block<'_>, ty: Type) -> ambo_codec::Result<Self> {
        let kind = block.kind();
        let key = |value: ValueRef<'_>| bounds::key(kind, bounds::physical(value)).unwrap_or_default();
        if let Some(codes) = block.codes() {
            let mut numbers = vec![0u16; block.rows()];
            codes.decode(0..block.rows(), &mut numbers);
            let values: Vec<_> = codes.entries().iter().map(|value| key(value.as_ref())).collect();
            // A damaged block may have numbers without an entry.
            if numbers.iter().all(|number| usize::from(*number) < values.len()) {
                return Ok(Self { values, rows: numbers.into_iter().map(u32::from).collect() });
            }
        }
        if let Some(codes) = block.text().and_then(|text| text.codes()) {
            let entries = codes.entries()?;
            // A dictionary that blocks share may have many more entries than this block needs.
            if entries.len() <= block.rows() {
                let mut rows = Vec::new();
                codes.read(0..block.rows(), &mut rows)?;
                let values: Vec<_> = entries.iter().map(<[u8]>::to_vec).collect();
                if rows.iter().all(|number| (*number as usize) < values.len()) {
                    return Ok(Self { values, rows });
                }
            }
        }
        let mut buffer = ColumnBuffer::new(ty);
        buffer.append_block(block, 0..block.rows())?;
        let mut numbers: HashMap<ValueRef<'_>, u32, RandomState> = HashMap::default();
        let mut codes = Self { values: Vec::new(), rows: Vec::with_capacity(block.rows()) };
        for row in 0..block.rows() {
            let value = if buffer.is_valid(row) { buffer.get(row)? } else { ValueRef::Null };
            let next = numbers.len() as u32;
            let number = *numbers.entry(value).or_insert_with(|| {
                codes.values.push(key(value));
                next
            });
            codes.rows.push(number);
        }
        Ok(codes)
    }
}

/// Postings as they are in memory.
struct Postings<'a> {
    ends: &'a [[u8; ENDS_BYTES]],
    body: &'a [u8],
}

impl<'a> Postings<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk()?;
        let count = u32::from_le_bytes(*count);
        if count == TOO_MANY {
            return None;
        }
        let (ends, body) = rest.split_at_checked(count as usize * ENDS_BYTES)?;
        let (ends, _) = ends.as_chunks();
        Some(Self { ends, body })
    }

    /// Where the value of that number begins, and where it and its bitmap end.
    fn place(&self, number: usize) -> (usize, usize, usize) {
        let ends = |number: usize| {
            let [a, b, c, d, e, f, g, h] = self.ends[number];
            (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]) as usize)
        };
        let start = number.checked_sub(1).map_or(0, |before| ends(before).1);
        let (value, bitmap) = ends(number);
        debug_assert!(start <= value && value <= bitmap, "a value lies behind the bitmap before it");
        (start, value, bitmap)
    }

    /// The bitmap of a value.
    fn find(&self, value: &[u8]) -> Option<&'a [u8]> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = (low + high) / 2;
            let (start, end, rows) = self.place(middle);
            match self.body[start..end].cmp(value) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(&self.body[end..rows]),
            }
        }
        None
    }
}
