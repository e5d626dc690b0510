//! What the end of an extent says of its records.
//!
//! # Format
//! An extent is a file of records, and what is behind them. Integers are little-endian, *varint* is LEB128.
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | records | rows × width | record `i` is at `i × width` |
//! | heaps | any | texts: column by column, of each a heap for each page |
//! | head | any | below |
//! | directory | any | that of a segment ([`crate::column::directory`]): rows of the pages, types, NULLs and bounds; what it says of the bytes of a block is said of heaps, and of other columns it is 0 |
//! | trailer | 32 | that of a segment, with the magic `xbma`; its directory begins with the head |
//!
//! A *page* is a range of records, what is read and verified together. A *heap* has the texts of a column that the records of a page
//! have, each once: how many, u32; where each ends in what follows, u32 each; their bytes. A record has the number of its text.
//!
//! The head:
//!
//! | part | encoding |
//! |---|---|
//! | database | u128: the database's id |
//! | rows | varint |
//! | width | varint: bytes of a record |
//! | fields | varint count of columns; each: u8 0 all NULL; 1 a value, 2 the number of a text, each then varint offset in the record; 3 the number of the row |
//! | null bits | varint count; then a varint column each: that of bit 0 of the first null byte, and so on; varint offset of the null bytes |
//! | numbers | only with a field 3: varint count of runs; each: varint, how far its first number is from the last of the run before; varint count of its numbers |
//! | checksums | varint count of pages; CRC32C of the records of each |
//!
//! Example: two records of a table `(a u32 not null, b u16)` without a key, with the numbers 7 and 8, tight: 16 bytes of the database,
//! `02 08 03 03 01 00 01 04 01 02 06 01 07 02 01` and the checksum of one page.

use ambo_codec::{column::Kind, varint};

use super::{
    layout::{Field, Layout, WIDTH_MAX},
    numbers::Numbers,
};
use crate::column::directory::Directory;

const ABSENT: u8 = 0;
const VALUE: u8 = 1;
const TEXT: u8 = 2;
const NUMBER: u8 = 3;

/// What is behind the records of an extent, but for the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) layout: Layout,
    /// The numbers of rows, if they are the key.
    pub(crate) numbers: Option<Numbers>,
    /// A checksum for each page.
    pub(crate) crcs: Vec<u32>,
    pub(crate) rows: u32,
}

/// What is wrong with bytes.
type Found<T> = Result<T, &'static str>;

const CUT: &str = "the head of an extent that is cut off";

impl Head {
    /// Where the heaps begin.
    pub(crate) fn records_end(&self) -> u64 {
        u64::from(self.rows) * self.layout.width as u64
    }

    /// Its bytes.
    pub(crate) fn encode(&self, database: u128) -> Vec<u8> {
        let mut out = database.to_le_bytes().to_vec();
        let layout = &self.layout;
        varint::encode(u64::from(self.rows), &mut out);
        varint::encode(layout.width as u64, &mut out);
        varint::encode(layout.fields.len() as u64, &mut out);
        for field in &layout.fields {
            out.push(match field {
                Field::Absent => ABSENT,
                Field::At(_) => VALUE,
                Field::Text(_) => TEXT,
                Field::Number => NUMBER,
            });
            if let Some(offset) = field.offset() {
                varint::encode(offset as u64, &mut out);
            }
        }
        varint::encode(layout.nullable.len() as u64, &mut out);
        layout.nullable.iter().for_each(|column| varint::encode(*column as u64, &mut out));
        varint::encode(layout.nulls_at as u64, &mut out);
        if let Some(numbers) = &self.numbers {
            numbers.encode(&mut out);
        }
        varint::encode(self.crcs.len() as u64, &mut out);
        self.crcs.iter().for_each(|crc| out.extend_from_slice(&crc.to_le_bytes()));
        out
    }

    /// The head and the directory in `bytes`, those in front of the trailer of an extent of `database`. `end` is where the heaps end.
    pub(crate) fn decode(mut bytes: &[u8], database: u128, end: u64) -> Found<(Self, Directory)> {
        let bytes = &mut bytes;
        let (of, rest) = bytes.split_first_chunk().ok_or(CUT)?;
        *bytes = rest;
        if u128::from_le_bytes(*of) != database {
            return Err("the extent of another database");
        }
        let rows = u32::try_from(number(bytes)?).map_err(|_| "more records than an extent has")?;
        let layout = Self::take_layout(bytes)?;
        let numbered = layout.fields.contains(&Field::Number);
        let numbers = if numbered { Some(Numbers::take(bytes)?) } else { None };
        if numbers.as_ref().is_some_and(|numbers| numbers.count() != rows) {
            return Err("another count of numbers than of records");
        }
        let crcs = (0..limited(bytes, bytes.len() / 4)?)
            .map(|_| {
                let (crc, rest) = bytes.split_first_chunk().ok_or(CUT)?;
                *bytes = rest;
                Ok(u32::from_le_bytes(*crc))
            })
            .collect::<Found<Vec<_>>>()?;
        let head = Self { layout, numbers, crcs, rows };
        let start = head.records_end();
        if start > end {
            return Err("records that end behind their extent");
        }
        let mut directory = Directory::decode_from(bytes, start, end)?;
        if directory.groups() != head.crcs.len() || directory.rows() != rows {
            return Err("another count of pages or records than in the directory");
        }
        let kinds: Vec<_> = directory.columns.iter().map(|column| Kind::of(column.ty)).collect();
        head.layout.check(&kinds)?;
        head.fill(&mut directory)?;
        Ok((head, directory))
    }

    /// Says of each block that is no heap where it begins among the records, and the bytes of its values there.
    ///
    /// # Errors
    /// A heap of a column that has none.
    pub(crate) fn fill(&self, directory: &mut Directory) -> Found<()> {
        let pages: Vec<_> = (0..directory.groups()).map(|group| directory.group(group)).collect();
        for (column, field) in directory.columns.iter_mut().zip(&self.layout.fields) {
            if column.has_table() {
                return Err("a table of texts, which no extent has");
            }
            if matches!(field, Field::Text(_)) {
                continue;
            }
            let bytes = field.bytes(Kind::of(column.ty));
            for (block, page) in column.blocks.iter_mut().zip(&pages) {
                if (block.len, block.crc) != (0, 0) {
                    return Err("a heap of a column that has none");
                }
                block.len = page.len() as u32 * bytes as u32;
                block.offset = u64::from(page.start) * self.layout.width as u64;
            }
        }
        Ok(())
    }

    fn take_layout(bytes: &mut &[u8]) -> Found<Layout> {
        let width = limited(bytes, WIDTH_MAX)?;
        // Each field has a byte at least.
        let mut fields = Vec::new();
        for _ in 0..limited(bytes, bytes.len())? {
            let (kind, rest) = bytes.split_first().ok_or(CUT)?;
            *bytes = rest;
            fields.push(match *kind {
                ABSENT => Field::Absent,
                VALUE => Field::At(limited(bytes, WIDTH_MAX)?),
                TEXT => Field::Text(limited(bytes, WIDTH_MAX)?),
                NUMBER => Field::Number,
                _ => return Err("an unknown kind of a field"),
            });
        }
        let nullable = (0..limited(bytes, fields.len())?)
            .map(|_| limited(bytes, fields.len()))
            .collect::<Found<Vec<_>>>()?;
        let nulls_at = limited(bytes, WIDTH_MAX)?;
        Ok(Layout { width, fields, nullable, nulls_at })
    }
}

fn number(bytes: &mut &[u8]) -> Found<u64> {
    varint::take(bytes).ok_or(CUT)
}

fn limited(bytes: &mut &[u8], max: usize) -> Found<usize> {
    usize::try_from(number(bytes)?)
        .ok()
        .filter(|number| *number <= max)
        .ok_or("a number that is too great in the head of an extent")
}
