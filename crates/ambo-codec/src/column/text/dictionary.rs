//! Dictionaries: each of the different strings once, in ascending order, and for each row the number of its string.
//! The order of the numbers is that of the strings, so comparisons with a constant become comparisons of numbers.
//!
//! # Format of a block with a dictionary of its own
//! | part | size | meaning |
//! |---|---|---|
//! | count | varint | different strings |
//! | length | varint | bytes of the next part |
//! | entries | length | the different strings, as a text block that is no dictionary |
//! | width | 1 | bits of a code |
//! | codes | packed | the number of each row's string, see [`crate::column::bits`] |
//!
//! # Format of a block over the shared dictionary
//! | part | size | meaning |
//! |---|---|---|
//! | lowest | varint | the lowest code |
//! | width | 1 | bits of a code |
//! | codes | packed | the number of each row's string in the shared dictionary, less the lowest; packed as above |

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use super::{BytesView, SharedTable, TextBlock, copy::SLACK, reader::Reader, strings::Strings};
use crate::{
    Error, Result,
    column::{
        VECTOR,
        bits::{Packed, packed_len},
    },
};

/// Where the different strings are.
#[derive(Clone, Debug)]
enum Entries<'a> {
    /// In the block; decoded when first needed.
    Own(Box<TextBlock<'a>>, OnceLock<Strings>),
    /// In the shared table.
    Shared(Arc<Strings>),
}

#[derive(Clone, Debug)]
pub(super) struct Dictionary<'a> {
    entries: Entries<'a>,
    lowest: u32,
    codes: Packed<'a>,
}

fn foreign() -> Error {
    Error::malformed(0, "a code is in no dictionary")
}

/// The width and the codes.
fn codes<'a>(reader: &mut Reader<'a>, rows: usize) -> Result<Packed<'a>> {
    let width = u32::from(reader.byte()?);
    if width > u32::BITS {
        return Err(reader.damaged("a width of more than 32 bits"));
    }
    Packed::parse(reader.take(packed_len(rows, width))?, width, rows)
}

impl<'a> Dictionary<'a> {
    /// Reads a block with a dictionary of its own; `entries` reads that.
    pub(super) fn parse(
        reader: &mut Reader<'a>,
        rows: usize,
        decoded: usize,
        entries: impl FnOnce(&'a [u8], usize) -> Result<TextBlock<'a>>,
    ) -> Result<Self> {
        let (count, len) = (reader.length()?, reader.length()?);
        let block = entries(reader.take(len)?, count)?;
        if decoded > rows.saturating_mul(block.decoded_len()) {
            return Err(reader.damaged("more bytes than the entries can stand for"));
        }
        let codes = codes(reader, rows)?;
        Ok(Self { entries: Entries::Own(Box::new(block), OnceLock::new()), lowest: 0, codes })
    }

    /// Reads a block over the shared dictionary.
    pub(super) fn parse_shared(
        reader: &mut Reader<'a>,
        rows: usize,
        shared: Option<&SharedTable>,
    ) -> Result<Self> {
        let Some(strings) = shared.and_then(SharedTable::dictionary) else {
            return Err(reader.damaged("a block needs the shared dictionary"));
        };
        let lowest = reader.length()? as u32;
        let codes = codes(reader, rows)?;
        Ok(Self { entries: Entries::Shared(Arc::clone(strings)), lowest, codes })
    }

    /// The different strings, in ascending order.
    pub(super) fn entries(&self) -> Result<&Strings> {
        let (block, decoded) = match &self.entries {
            Entries::Shared(strings) => return Ok(strings),
            Entries::Own(block, decoded) => (block, decoded),
        };
        if let Some(strings) = decoded.get() {
            return Ok(strings);
        }
        let strings = block.to_strings()?;
        Ok(decoded.get_or_init(|| strings))
    }

    pub(super) fn is_shared(&self) -> bool {
        matches!(self.entries, Entries::Shared(_))
    }

    /// The code of `row`.
    #[inline]
    pub(super) fn code(&self, row: usize) -> u32 {
        self.lowest.wrapping_add(self.codes.get(row) as u32)
    }

    /// Asks for the memory of a row's code.
    pub(super) fn prefetch(&self, row: usize) {
        self.codes.prefetch(row);
    }

    /// Puts the codes of `rows` into `codes`, in place of what was there.
    pub(super) fn codes(&self, rows: Range<usize>, codes: &mut Vec<u32>) {
        codes.clear();
        codes.resize(rows.len(), 0);
        self.codes.unpack(rows, codes);
        if self.lowest > 0 {
            codes.iter_mut().for_each(|code| *code = code.wrapping_add(self.lowest));
        }
    }

    /// Appends the strings of `rows`, `decoded` bytes at most. What it appended before an error stays.
    pub(super) fn decode(
        &self,
        rows: Range<usize>,
        decoded: usize,
        offsets: &mut Vec<u32>,
        data: &mut Vec<u8>,
    ) -> Result<()> {
        let strings = self.entries()?;
        let (first, base) = (offsets.len(), data.len());
        let room = strings.room(rows.len(), decoded);
        offsets.resize(first + rows.len(), 0);
        data.resize(base + room + SLACK, 0);
        let (mut ends, mut at) = (&mut offsets[first..], base);
        let mut codes = [0u32; VECTOR];
        let mut row = rows.start;
        while row < rows.end {
            // Whole vectors are unpacked fastest, and their codes stay in the nearest cache.
            let end = rows.end.min((row / VECTOR + 1) * VECTOR);
            let codes = &mut codes[..end - row];
            self.codes.unpack(row..end, codes);
            if self.lowest > 0 {
                codes.iter_mut().for_each(|code| *code = code.wrapping_add(self.lowest));
            }
            let (vector, rest) = ends.split_at_mut(codes.len());
            at = strings.put(codes, vector, data, at).ok_or_else(foreign)?;
            (ends, row) = (rest, end);
        }
        data.truncate(at);
        Ok(())
    }

    /// Appends the strings of these codes.
    pub(super) fn pick(&self, codes: &[u32], offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        self.entries()?.pick(codes, super::DECODED_MAX, offsets, data).ok_or_else(foreign)
    }

    /// Appends string `row`.
    pub(super) fn append(&self, row: usize, data: &mut Vec<u8>) -> Result<()> {
        let code = self.code(row) as usize;
        if let Entries::Own(block, decoded) = &self.entries
            && decoded.get().is_none()
        {
            return if code < block.len() { block.get(code, data) } else { Err(foreign()) };
        }
        let strings = self.entries()?;
        if code >= strings.len() {
            return Err(foreign());
        }
        data.extend_from_slice(strings.view().get(code));
        Ok(())
    }
}

/// The codes of a dictionary block: for grouping and joining without decoding.
#[derive(Clone, Copy, Debug)]
pub struct TextCodes<'b> {
    dictionary: &'b Dictionary<'b>,
}

impl<'b> TextCodes<'b> {
    pub(super) fn new(dictionary: &'b Dictionary<'b>) -> Self {
        Self { dictionary }
    }

    /// Whether the codes are those of the shared table's dictionary, the same for all blocks over it.
    pub fn is_shared(&self) -> bool {
        self.dictionary.is_shared()
    }

    /// The different strings in ascending order; a code is an index into them.
    ///
    /// # Errors
    /// Bytes that no encoder wrote.
    pub fn entries(&self) -> Result<BytesView<'b>> {
        Ok(self.dictionary.entries()?.view())
    }

    /// Puts the codes of `rows` into `codes`, in place of what was there.
    ///
    /// # Errors
    /// A code without an entry.
    ///
    /// # Panics
    /// When `rows` reaches behind the block.
    pub fn read(&self, rows: Range<usize>, codes: &mut Vec<u32>) -> Result<()> {
        self.dictionary.codes(rows, codes);
        self.check(codes)
    }

    /// Puts the codes of `rows`, which may be in any order, into `codes`, in place of what was there.
    ///
    /// # Errors
    /// A code without an entry.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn gather(&self, rows: &[u32], codes: &mut Vec<u32>) -> Result<()> {
        codes.clear();
        codes.extend(rows.iter().map(|row| self.dictionary.code(*row as usize)));
        self.check(codes)
    }

    fn check(&self, codes: &[u32]) -> Result<()> {
        let count = self.dictionary.entries()?.len();
        if codes.iter().any(|code| *code as usize >= count) { Err(foreign()) } else { Ok(()) }
    }
}
