//! Strings in sub-blocks, each compressed as one run of bytes by a general compressor. One string is had by
//! decompressing one sub-block.
//!
//! # Format
//! | part | size | meaning |
//! |---|---|---|
//! | compressor | 1 | 1: LZ4 block; 2: Zstandard frame |
//! | shift | 1 | a sub-block has 2^shift strings, the last one what is left; 0 to 16 |
//! | bounds | | of the strings, see [`super::bounds`] |
//! | bounds | | of the compressed sub-blocks |
//! | sub-blocks | second bounds' total | |

use std::{cell::RefCell, ops::Range};

use super::{bounds, bounds::Bounds, reader::Reader, BytesView};
use crate::{Error, Result};

/// A general compressor. The numbers are on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compressor {
    Lz4 = 1,
    Zstd = 2,
}

/// Zstandard's level: what is compressed here is read often and written once.
const ZSTD_LEVEL: i32 = 9;
const SHIFT_MAX: u8 = 16;

impl Compressor {
    /// The bytes of a sub-block, about: the larger, the smaller all and the slower one string.
    fn sub_block_len(self) -> usize {
        match self {
            Self::Lz4 => 32 << 10,
            Self::Zstd => 64 << 10,
        }
    }

    /// The most bytes that `compressed` bytes can stand for. LZ4 adds 255 bytes a byte, Zstandard 128 KiB a block
    /// of at least 4.
    fn expansion_max(self, compressed: usize) -> usize {
        match self {
            Self::Lz4 => compressed.saturating_mul(255),
            Self::Zstd => compressed.saturating_mul(32 << 10),
        }
    }

    /// `bytes` compressed.
    pub(super) fn compress(self, bytes: &[u8]) -> Result<Vec<u8>> {
        match self {
            Self::Lz4 => Ok(lz4_flex::block::compress(bytes)),
            Self::Zstd => zstd::bulk::compress(bytes, ZSTD_LEVEL)
                .map_err(|error| Error::invalid(format!("zstd: {error}"))),
        }
    }

    /// Decompresses into all of `out`.
    fn decompress(self, bytes: &[u8], out: &mut [u8]) -> Result<()> {
        thread_local! {
            /// Making one costs more than decompressing a sub-block.
            static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
        }
        let len = match self {
            Self::Lz4 => lz4_flex::block::decompress_into(bytes, out).ok(),
            Self::Zstd => ZSTD.with_borrow_mut(|zstd| {
                if zstd.is_none() {
                    *zstd = zstd::bulk::Decompressor::new().ok();
                }
                zstd.as_mut()?.decompress_to_buffer(bytes, out).ok()
            }),
        };
        if len == Some(out.len()) { Ok(()) } else { Err(Error::malformed(0, "a sub-block cannot be decompressed")) }
    }
}

/// Appends `strings` in sub-blocks.
pub(super) fn encode(strings: &BytesView<'_>, compressor: Compressor, out: &mut Vec<u8>) -> Result<()> {
    let rows = strings.len();
    let (offsets, data) = (strings.offsets(), strings.data());
    let total = (offsets[rows] - offsets[0]) as usize;
    let shift = (0..SHIFT_MAX)
        .find(|shift| (total << shift) / rows.max(1) * 2 > compressor.sub_block_len())
        .unwrap_or(SHIFT_MAX);
    let sub_blocks = (0..rows).step_by(1 << shift).map(|first| {
        let end = (first + (1 << shift)).min(rows);
        let bytes = &data[offsets[first] as usize..offsets[end] as usize];
        compressor.compress(bytes)
    });
    let sub_blocks: Vec<Vec<u8>> = sub_blocks.collect::<Result<_>>()?;
    out.extend([compressor as u8, shift]);
    bounds::encode(strings.iter().map(|string| string.len() as u32), out);
    bounds::encode(sub_blocks.iter().map(|bytes| bytes.len() as u32), out);
    sub_blocks.iter().for_each(|bytes| out.extend_from_slice(bytes));
    Ok(())
}

#[derive(Clone, Debug)]
pub(super) struct Compressed<'a> {
    compressor: Compressor,
    shift: u8,
    rows: usize,
    strings: Bounds<'a>,
    sub_blocks: Bounds<'a>,
    bytes: &'a [u8],
}

impl<'a> Compressed<'a> {
    pub(super) fn parse(reader: &mut Reader<'a>, rows: usize, decoded: usize) -> Result<Self> {
        let compressor = match reader.byte()? {
            1 => Compressor::Lz4,
            2 => Compressor::Zstd,
            _ => return Err(reader.damaged("unknown compressor")),
        };
        let shift = reader.byte()?;
        if shift > SHIFT_MAX {
            return Err(reader.damaged("a sub-block has too many strings"));
        }
        let strings = Bounds::parse(reader, rows)?;
        let sub_blocks = Bounds::parse(reader, rows.div_ceil(1 << shift))?;
        let bytes = reader.take(sub_blocks.total())?;
        if strings.total() != decoded || decoded > compressor.expansion_max(bytes.len()) {
            return Err(reader.damaged("the size of the strings is wrong"));
        }
        Ok(Self { compressor, shift, rows, strings, sub_blocks, bytes })
    }

    /// The sub-block of string `row`.
    pub(super) fn sub_block_of(&self, row: usize) -> usize {
        row >> self.shift
    }

    /// Appends the bytes of sub-block `index` and returns where its first string begins in all strings.
    pub(super) fn decompress(&self, index: usize, data: &mut Vec<u8>) -> Result<usize> {
        let first = index << self.shift;
        let start = self.strings.start(first)?;
        let end = self.strings.start((first + (1 << self.shift)).min(self.rows))?;
        let compressed = &self.bytes[self.sub_blocks.get(index)?];
        let len = end.checked_sub(start).filter(|len| *len <= self.compressor.expansion_max(compressed.len()));
        let len = len.ok_or(Error::malformed(0, "the size of a sub-block is wrong"))?;
        let at = data.len();
        data.resize(at + len, 0);
        self.compressor.decompress(compressed, &mut data[at..])?;
        Ok(start)
    }

    /// Where string `row` lies in all strings.
    pub(super) fn bounds(&self, row: usize) -> Result<Range<usize>> {
        self.strings.get(row)
    }

    /// Appends the strings of `rows`.
    pub(super) fn decode(&self, rows: Range<usize>, offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let base = data.len();
        let (start, end) = (self.strings.start(rows.start)?, self.strings.start(rows.end)?);
        let mut first = None;
        for index in self.sub_block_of(rows.start)..=self.sub_block_of(rows.end - 1) {
            let at = self.decompress(index, data)?;
            first.get_or_insert(at);
        }
        let first = first.expect("there is a sub-block");
        let outside = Error::malformed(0, "a string lies outside its sub-block");
        let (Some(cut), Some(len)) = (start.checked_sub(first), end.checked_sub(start)) else {
            return Err(outside);
        };
        if base + cut + len > data.len() {
            return Err(outside);
        }
        data.copy_within(base + cut..base + cut + len, base);
        data.truncate(base + len);
        self.strings.each(rows, |_, bounds| offsets.push((base + bounds.end - start) as u32))?;
        if offsets.last().is_some_and(|last| *last as usize != base + len) {
            return Err(outside);
        }
        Ok(())
    }

    /// Appends the strings of `rows`. A sub-block is decompressed once for rows of it that follow each other.
    pub(super) fn gather(&self, rows: &[u32], offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        let mut current = None;
        let mut bytes = Vec::new();
        for row in rows {
            let row = *row as usize;
            let index = self.sub_block_of(row);
            let first = match current {
                Some((known, first)) if known == index => first,
                _ => {
                    bytes.clear();
                    self.decompress(index, &mut bytes)?
                }
            };
            current = Some((index, first));
            let bounds = self.bounds(row)?;
            let string = bounds.start.checked_sub(first).and_then(|start| bytes.get(start..bounds.end - first));
            let string = string.ok_or(Error::malformed(0, "a string lies outside its sub-block"))?;
            data.extend_from_slice(string);
            if data.len() > super::DECODED_MAX {
                return Err(Error::invalid("strings of more than 2^31 - 1 bytes in one array"));
            }
            offsets.push(data.len() as u32);
        }
        Ok(())
    }

    /// Appends string `row`.
    pub(super) fn append(&self, row: usize, data: &mut Vec<u8>) -> Result<()> {
        self.decode(row..row + 1, &mut Vec::new(), data)
    }
}
