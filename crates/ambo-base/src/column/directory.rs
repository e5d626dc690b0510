//! What a segment's end says of its blocks: where each is, and between which values its own lie.
//!
//! # Format
//! A segment file is a header, the blocks, the directory and a trailer. Integers are little-endian, *varint* is LEB128.
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | header | 8 | magic `ambo seg` |
//! | | 4 | version = 1 |
//! | | 4 | zero |
//! | | 8 | the segment's id |
//! | | 16 | the database's id |
//! | | 4 | zero |
//! | | 4 | CRC32C of the 44 bytes before it |
//! | blocks | any | column by column: the column's text table, if it has one, then its blocks in the order of their rows |
//! | directory | any | below |
//! | trailer | 4 | length of the directory |
//! | | 4 | its CRC32C |
//! | | 4 | version = 1 |
//! | | 4 | zero |
//! | | 8 | the segment's id |
//! | | 4 | CRC32C of the 24 bytes before it |
//! | | 4 | magic `gbma` |
//!
//! The directory:
//!
//! | part | encoding |
//! |---|---|
//! | rows of the groups | varint count of groups, then a varint each: at most 65,536 |
//! | types of the columns | varint count, then each as [`Type::encode`] writes it |
//! | for each column | varint length of its text table, 0 if it has none; then, if it has one, its CRC32C |
//! | for each column and group | [`BlockEntry`]: varint length; CRC32C; varint NULLs; then its bounds |
//! | bounds | u8: 0 none (all rows are NULL, or not known), 1 exact, 2 not all of them are values of the block; then least and greatest, each a varint length and bytes |
//! | fences | for each group its first key, then the last key of all, each a varint length and bytes |
//!
//! Bounds are keys of one column (`docs/formats/keys.md`): their bytes compare as the values do. Those of text longer than
//! 32 bytes are cut, the greatest then rounded up; when it cannot be, all of its bytes are `FF`, and it bounds nothing.
//!
//! A *group* is a range of rows, the same in all columns; a *block* is one column of one group.

use std::ops::Range;

use ambo_codec::{Type, varint};
use ambo_pages::checksum::crc32c;
use ambo_scan::Bounds;

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 48;
/// Bytes of the trailer.
pub(super) const TRAILER_BYTES: usize = 32;
const HEADER_MAGIC: [u8; 8] = *b"ambo seg";
/// How the file of a segment ends.
pub(super) const SEGMENT_END: [u8; 4] = *b"gbma";
/// How that of an extent ends ([`crate::append`]).
pub(super) const EXTENT_END: [u8; 4] = *b"xbma";
const VERSION: u32 = 1;
const HEADER_CRC_AT: usize = 44;
const TRAILER_CRC_AT: usize = 24;
/// The most rows of a segment.
pub const SEGMENT_ROWS_MAX: usize = 1 << 20;
/// The most rows of a group.
pub(super) const GROUP_ROWS_MAX: usize = ambo_codec::column::BLOCK_ROWS_MAX;
/// The most groups of a segment: no group is empty.
const GROUPS_MAX: usize = SEGMENT_ROWS_MAX;

const _: () = assert!(HEADER_CRC_AT + 4 == HEADER_BYTES && TRAILER_CRC_AT + 8 == TRAILER_BYTES);

/// A result of decoding; the error says what is wrong.
type Found<T> = Result<T, &'static str>;

/// The header of a segment.
pub(super) fn header(segment: u64, database: u128) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&HEADER_MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..24].copy_from_slice(&segment.to_le_bytes());
    bytes[24..40].copy_from_slice(&database.to_le_bytes());
    let crc = crc32c(&bytes[..HEADER_CRC_AT]);
    bytes[HEADER_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// That this is the header of that segment.
pub(super) fn check_header(bytes: &[u8; HEADER_BYTES], segment: u64, database: u128) -> Found<()> {
    if bytes[..8] != HEADER_MAGIC {
        return Err("it does not begin as a segment does");
    }
    if u32_at(bytes, HEADER_CRC_AT) != crc32c(&bytes[..HEADER_CRC_AT]) {
        return Err("the checksum of the header is wrong");
    }
    match *bytes == header(segment, database) {
        true => Ok(()),
        false if u32_at(bytes, 8) != VERSION => {
            Err("the segment has a format that this program does not know; a later program wrote it")
        }
        false => Err("the segment of another database, or another segment"),
    }
}

/// The trailer behind a directory.
pub(super) fn trailer(magic: [u8; 4], segment: u64, directory: &[u8]) -> [u8; TRAILER_BYTES] {
    let mut bytes = [0; TRAILER_BYTES];
    bytes[..4].copy_from_slice(&(directory.len() as u32).to_le_bytes());
    bytes[4..8].copy_from_slice(&crc32c(directory).to_le_bytes());
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..24].copy_from_slice(&segment.to_le_bytes());
    let crc = crc32c(&bytes[..TRAILER_CRC_AT]);
    bytes[TRAILER_CRC_AT..TRAILER_CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
    bytes[TRAILER_CRC_AT + 4..].copy_from_slice(&magic);
    debug_assert!(read_trailer(&bytes, magic, segment).is_ok_and(|(len, _)| len as usize == directory.len()));
    bytes
}

/// Length and checksum of the directory before this trailer.
pub(super) fn read_trailer(bytes: &[u8; TRAILER_BYTES], magic: [u8; 4], segment: u64) -> Found<(u32, u32)> {
    if bytes[TRAILER_CRC_AT + 4..] != magic {
        return Err(match magic {
            EXTENT_END => "it does not end as an extent does",
            _ => "it does not end as a segment does",
        });
    }
    if u32_at(bytes, TRAILER_CRC_AT) != crc32c(&bytes[..TRAILER_CRC_AT]) {
        return Err("the checksum of the trailer is wrong");
    }
    if u32_at(bytes, 8) != VERSION {
        return Err("the segment has a format that this program does not know; a later program wrote it");
    }
    if bytes[16..24] != segment.to_le_bytes() {
        return Err("the end of another segment");
    }
    Ok((u32_at(bytes, 0), u32_at(bytes, 4)))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

/// Where a block is, and what is known of it without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// CRC32C of the bytes.
    pub crc: u32,
    /// Rows without a value.
    pub nulls: u32,
    /// Bounds of the values; none if there is no value, or they are not known.
    pub bounds: Option<Bounds>,
}

/// The text table of a column chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableEntry {
    pub offset: u64,
    pub len: u32,
    pub crc: u32,
}

/// One column of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnEntry {
    /// The type of its values.
    pub ty: Type,
    pub(super) table: Option<TableEntry>,
    /// A block for each group.
    pub blocks: Vec<BlockEntry>,
}

impl ColumnEntry {
    /// Whether it has a text table.
    pub(crate) fn has_table(&self) -> bool {
        self.table.is_some()
    }

    /// Bytes of its blocks and its text table.
    pub(super) fn stored_bytes(&self) -> u64 {
        let blocks = self.blocks.iter().map(|block| u64::from(block.len)).sum::<u64>();
        blocks + self.table.map_or(0, |table| u64::from(table.len))
    }
}

/// The directory of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The first row of each group, and the number of all rows.
    starts: Vec<u32>,
    /// The columns, as stored.
    pub columns: Vec<ColumnEntry>,
    /// The first key of each group, then the last key of all.
    fences: Vec<Box<[u8]>>,
}

impl Directory {
    /// REQUIRES: what the format says of its parts.
    pub(super) fn new(group_rows: &[u32], columns: Vec<ColumnEntry>, fences: Vec<Box<[u8]>>) -> Self {
        let groups = group_rows.len();
        assert!(groups > 0 && fences.len() == groups + 1, "a fence for each group, and the last key");
        assert!(
            columns.iter().all(|column| column.blocks.len() == groups),
            "each column has a block of each group"
        );
        assert!(group_rows.iter().all(|rows| (1..=GROUP_ROWS_MAX).contains(&(*rows as usize))));
        let mut starts = vec![0];
        for rows in group_rows {
            starts.push(starts.last().expect("there is one") + rows);
        }
        let directory = Self { starts, columns, fences };
        assert!(directory.rows() as usize <= SEGMENT_ROWS_MAX);
        directory
    }

    /// All rows.
    pub fn rows(&self) -> u32 {
        *self.starts.last().expect("there is one")
    }

    /// How many groups.
    pub fn groups(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of a group.
    pub fn group(&self, group: usize) -> Range<u32> {
        self.starts[group]..self.starts[group + 1]
    }

    /// The group of a row.
    pub fn group_of(&self, row: u32) -> usize {
        debug_assert!(row < self.rows(), "row {row} is one of the segment's");
        self.starts.partition_point(|start| *start <= row) - 1
    }

    /// The first key.
    pub fn first_key(&self) -> &[u8] {
        &self.fences[0]
    }

    /// The last key.
    pub fn last_key(&self) -> &[u8] {
        self.fences.last().expect("there is a group")
    }

    /// The last group that begins at or before `key`; none if `key` is before all.
    pub fn group_for(&self, key: &[u8]) -> Option<usize> {
        self.fences[..self.groups()].partition_point(|fence| &**fence <= key).checked_sub(1)
    }

    /// The first key of a group.
    pub(super) fn fence(&self, group: usize) -> &[u8] {
        &self.fences[group]
    }

    /// The directory's bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        varint::encode(self.groups() as u64, &mut out);
        self.starts.windows(2).for_each(|ends| varint::encode(u64::from(ends[1] - ends[0]), &mut out));
        varint::encode(self.columns.len() as u64, &mut out);
        self.columns.iter().for_each(|column| column.ty.encode(&mut out));
        for column in &self.columns {
            varint::encode(column.table.map_or(0, |table| u64::from(table.len)), &mut out);
            if let Some(table) = column.table {
                out.extend_from_slice(&table.crc.to_le_bytes());
            }
        }
        self.columns.iter().flat_map(|column| &column.blocks).for_each(|block| block.encode(&mut out));
        self.fences.iter().for_each(|fence| put_bytes(fence, &mut out));
        out
    }

    /// The directory in `bytes`. `end` is where the blocks end.
    pub(super) fn decode(bytes: &[u8], end: u64) -> Found<Self> {
        Self::decode_from(bytes, HEADER_BYTES as u64, end)
    }

    /// The same where the blocks begin at `start`.
    pub(crate) fn decode_from(mut bytes: &[u8], start: u64, end: u64) -> Found<Self> {
        let bytes = &mut bytes;
        let groups = count(bytes, GROUPS_MAX)?;
        if groups == 0 {
            return Err("a segment without rows");
        }
        let mut starts = vec![0u32];
        for _ in 0..groups {
            let rows = count(bytes, GROUP_ROWS_MAX)?;
            let last = starts[starts.len() - 1] as usize + rows;
            if rows == 0 || last > SEGMENT_ROWS_MAX {
                return Err("a group without rows, or too many rows");
            }
            starts.push(last as u32);
        }
        // Each column has a byte at least.
        let columns = count(bytes, bytes.len())?;
        let mut types = Vec::with_capacity(columns);
        for _ in 0..columns {
            let (ty, len) = Type::decode(bytes).map_err(|_| "the type of a column")?;
            *bytes = &bytes[len..];
            types.push(ty);
        }
        let tables = types.iter().map(|_| take_table(bytes)).collect::<Found<Vec<_>>>()?;
        let mut offset = start;
        let mut entries = Vec::with_capacity(columns);
        for (ty, table) in types.into_iter().zip(tables) {
            let table = table.map(|(len, crc)| TableEntry { offset, len, crc });
            offset += table.map_or(0, |table| u64::from(table.len));
            let mut blocks = Vec::new();
            for group in 0..groups {
                let block = BlockEntry::take(bytes, offset, starts[group + 1] - starts[group])?;
                offset += u64::from(block.len);
                blocks.push(block);
            }
            entries.push(ColumnEntry { ty, table, blocks });
        }
        if offset != end {
            return Err("the blocks end where the directory does not begin");
        }
        let fences =
            (0..=groups).map(|_| take_bytes(bytes).map(Into::into)).collect::<Found<Vec<Box<[u8]>>>>()?;
        if !fences[..groups].is_sorted_by(|a, b| a < b) || fences[groups] < fences[groups - 1] {
            return Err("fences out of order");
        }
        if !bytes.is_empty() {
            return Err("bytes behind the directory");
        }
        Ok(Self { starts, columns: entries, fences })
    }

    /// Bytes of memory that it takes, about.
    pub fn memory(&self) -> usize {
        let bounds = |block: &BlockEntry| {
            size_of::<BlockEntry>() + block.bounds.as_ref().map_or(0, |b| b.low.len() + b.high.len())
        };
        let columns = self.columns.iter().flat_map(|column| &column.blocks).map(bounds).sum::<usize>();
        columns + self.fences.iter().map(|fence| fence.len() + 16).sum::<usize>() + self.starts.len() * 4
    }
}

const NO_BOUNDS: u8 = 0;
const EXACT_BOUNDS: u8 = 1;
const CUT_BOUNDS: u8 = 2;

impl BlockEntry {
    fn encode(&self, out: &mut Vec<u8>) {
        varint::encode(u64::from(self.len), out);
        out.extend_from_slice(&self.crc.to_le_bytes());
        varint::encode(u64::from(self.nulls), out);
        match &self.bounds {
            None => out.push(NO_BOUNDS),
            Some(bounds) => {
                out.push(if bounds.exact { EXACT_BOUNDS } else { CUT_BOUNDS });
                put_bytes(&bounds.low, out);
                put_bytes(&bounds.high, out);
            }
        }
    }

    fn take(bytes: &mut &[u8], offset: u64, rows: u32) -> Found<Self> {
        let len = take_u32(bytes)?;
        let crc = take_crc(bytes)?;
        let nulls = take_u32(bytes)?;
        let (&kind, rest) = bytes.split_first().ok_or("a directory that is cut off")?;
        *bytes = rest;
        let bounds = match kind {
            NO_BOUNDS => None,
            EXACT_BOUNDS | CUT_BOUNDS => Some(Bounds {
                low: take_bytes(bytes)?.into(),
                high: take_bytes(bytes)?.into(),
                exact: kind == EXACT_BOUNDS,
            }),
            _ => return Err("bounds of an unknown kind"),
        };
        if nulls > rows || bounds.is_some() && nulls == rows {
            return Err("more NULLs than rows, or bounds of nothing");
        }
        Ok(Self { offset, len, crc, nulls, bounds })
    }
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    varint::encode(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Found<&'a [u8]> {
    let len = count(bytes, bytes.len())?;
    let (taken, rest) = bytes.split_at_checked(len).ok_or("a directory that is cut off")?;
    *bytes = rest;
    Ok(taken)
}

fn take_crc(bytes: &mut &[u8]) -> Found<u32> {
    let (crc, rest) = bytes.split_first_chunk().ok_or("a directory that is cut off")?;
    *bytes = rest;
    Ok(u32::from_le_bytes(*crc))
}

fn take_u32(bytes: &mut &[u8]) -> Found<u32> {
    u32::try_from(varint::take(bytes).ok_or("a directory that is cut off")?)
        .map_err(|_| "a length beyond 4 GiB")
}

fn take_table(bytes: &mut &[u8]) -> Found<Option<(u32, u32)>> {
    match take_u32(bytes)? {
        0 => Ok(None),
        len => Ok(Some((len, take_crc(bytes)?))),
    }
}

fn count(bytes: &mut &[u8], most: usize) -> Found<usize> {
    let count = varint::take(bytes).ok_or("a directory that is cut off")?;
    usize::try_from(count).ok().filter(|count| *count <= most).ok_or("a count that cannot be")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Directory {
        let block = |offset, len, nulls, bounds| BlockEntry { offset, len, crc: 7, nulls, bounds };
        let bounds =
            |low: &[u8], high: &[u8], exact| Some(Bounds { low: low.into(), high: high.into(), exact });
        let numbers = vec![
            block(48, 9, 0, bounds(&[0x80, 0, 0, 1], &[0x80, 0, 0, 2], true)),
            block(57, 8, 0, bounds(&[0x80, 0, 0, 5], &[0x80, 0, 0, 5], true)),
        ];
        let texts = vec![block(71, 20, 1, bounds(b"a", b"a", false)), block(91, 8, 1, None)];
        let columns = vec![
            ColumnEntry { ty: Type::I32, table: None, blocks: numbers },
            ColumnEntry {
                ty: Type::Utf8,
                table: Some(TableEntry { offset: 65, len: 6, crc: 9 }),
                blocks: texts,
            },
        ];
        let fences = [&[0x80, 0, 0, 1][..], &[0x80, 0, 0, 5], &[0x80, 0, 0, 5]];
        Directory::new(&[2, 1], columns, fences.map(Into::into).into())
    }

    /// Keeps away: a directory that is read other than it was written, or other than documented.
    #[test]
    fn the_worked_example() {
        let bytes = example().encode();
        let expected = [
            &[2, 2, 1, 2, 4, 16, 0, 6, 9, 0, 0, 0][..],
            &[9, 7, 0, 0, 0, 0, 1, 4, 0x80, 0, 0, 1, 4, 0x80, 0, 0, 2],
            &[8, 7, 0, 0, 0, 0, 1, 4, 0x80, 0, 0, 5, 4, 0x80, 0, 0, 5],
            &[20, 7, 0, 0, 0, 1, 2, 1, b'a', 1, b'a'],
            &[8, 7, 0, 0, 0, 1, 0],
            &[4, 0x80, 0, 0, 1, 4, 0x80, 0, 0, 5, 4, 0x80, 0, 0, 5],
        ];
        assert_eq!(bytes, expected.concat());
        assert_eq!(Directory::decode(&bytes, 99), Ok(example()));
        assert!(Directory::decode(&bytes, 98).is_err());
    }

    /// Keeps away: rows that are looked for in the wrong group.
    #[test]
    fn groups_are_found() {
        let directory = example();
        assert_eq!((directory.rows(), directory.groups()), (3, 2));
        assert_eq!([0, 1, 2].map(|row| directory.group_of(row)), [0, 0, 1]);
        assert_eq!(directory.group_for(&[0x80, 0, 0, 0]), None);
        assert_eq!(directory.group_for(&[0x80, 0, 0, 4]), Some(0));
        assert_eq!(directory.group_for(&[0x80, 0, 0, 5]), Some(1));
        assert_eq!(directory.group_for(&[0xff]), Some(1));
    }

    /// Keeps away: panics and endless allocation on damaged or hostile directories, headers and trailers.
    #[test]
    fn damage_is_found_or_harmless() {
        let bytes = example().encode();
        for cut in 0..bytes.len() {
            assert!(Directory::decode(&bytes[..cut], 99).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                let _ = Directory::decode(&damaged, 99);
            }
        }
        let header = header(3, 4);
        assert_eq!(check_header(&header, 3, 4), Ok(()));
        assert!(check_header(&header, 3, 5).is_err() && check_header(&header, 2, 4).is_err());
        let trailer = trailer(SEGMENT_END, 3, &bytes);
        assert_eq!(read_trailer(&trailer, SEGMENT_END, 3), Ok((bytes.len() as u32, crc32c(&bytes))));
        assert_eq!(read_trailer(&trailer, SEGMENT_END, 2), Err("the end of another segment"));
        for at in 0..TRAILER_BYTES {
            let mut damaged = trailer;
            damaged[at] ^= 4;
            assert!(read_trailer(&damaged, SEGMENT_END, 3).is_err(), "byte {at} of the trailer");
        }
    }
}
