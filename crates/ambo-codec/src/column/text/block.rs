//! A text block, read where it is.

use std::ops::Range;

use super::{
    BLOCK_ROWS_MAX, DECODED_MAX, SharedTable, TextEncoding,
    bounds::Bounds,
    compressed::Compressed,
    dictionary::{Dictionary, TextCodes},
    front::Front,
    fsst::Fsst,
    positional::Positional,
    reader::Reader,
    strings::Strings,
};
use crate::{Error, Result};

/// Where a block stands. Blocks in blocks have fewer encodings, so their depth is bounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nesting {
    /// A column's rows.
    Column,
    /// The entries of a dictionary: no dictionary.
    Entries,
    /// The suffixes of front-coded strings: raw or FSST.
    Suffixes,
}

impl Nesting {
    /// Whether a block here may have this encoding.
    pub(super) fn allows(self, encoding: TextEncoding) -> bool {
        use TextEncoding::*;
        match self {
            Self::Column => true,
            Self::Entries => !matches!(encoding, Dictionary | SharedDictionary),
            Self::Suffixes => matches!(encoding, Raw | Fsst),
        }
    }
}

/// The parts of a block by its encoding.
#[derive(Clone, Debug)]
pub(super) enum Body<'a> {
    Constant(&'a [u8]),
    Dictionary(Dictionary<'a>),
    Raw(Bounds<'a>, &'a [u8]),
    Fsst(Fsst<'a>),
    Front(Front<'a>),
    Positional(Positional<'a>),
    /// It is rare, and twice as large as the others.
    Compressed(Box<Compressed<'a>>),
}

/// Byte strings, encoded. Made by [`TextBlock::parse`], which checks the parts' sizes; what is wrong inside them is
/// found when they are decoded.
///
/// A method that fails leaves what it appends to as it was.
#[derive(Clone, Debug)]
pub struct TextBlock<'a> {
    rows: usize,
    decoded: usize,
    encoding: TextEncoding,
    pub(super) body: Body<'a>,
}

impl<'a> TextBlock<'a> {
    /// Finds the parts of a block of `rows` strings. `shared` is the table that it was encoded with, if one was.
    ///
    /// # Errors
    /// Bytes that no encoder wrote.
    pub fn parse(bytes: &'a [u8], rows: usize, shared: Option<&SharedTable>) -> Result<Self> {
        Self::parse_at(bytes, rows, shared, Nesting::Column)
    }

    pub(super) fn parse_at(
        bytes: &'a [u8],
        rows: usize,
        shared: Option<&SharedTable>,
        place: Nesting,
    ) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        if rows > BLOCK_ROWS_MAX {
            return Err(reader.damaged("a block has too many rows"));
        }
        let encoding = TextEncoding::from_u8(reader.byte()?)
            .filter(|encoding| place.allows(*encoding))
            .ok_or(reader.damaged("unknown encoding of text"))?;
        let decoded = reader.length()?;
        let nested = |bytes, rows, place| Self::parse_at(bytes, rows, shared, place);
        let body = match encoding {
            TextEncoding::Constant => {
                let string = reader.rest();
                if string.len() * rows != decoded {
                    return Err(reader.damaged("the size of the strings is wrong"));
                }
                Body::Constant(string)
            }
            TextEncoding::Dictionary => {
                Body::Dictionary(Dictionary::parse(&mut reader, rows, decoded, |bytes, count| {
                    nested(bytes, count, Nesting::Entries)
                })?)
            }
            TextEncoding::SharedDictionary => {
                Body::Dictionary(Dictionary::parse_shared(&mut reader, rows, shared)?)
            }
            TextEncoding::Raw => {
                let bounds = Bounds::parse(&mut reader, rows)?;
                if bounds.total() != decoded {
                    return Err(reader.damaged("the size of the strings is wrong"));
                }
                Body::Raw(bounds, reader.take(decoded)?)
            }
            TextEncoding::Fsst => Body::Fsst(Fsst::parse(&mut reader, rows, decoded, shared)?),
            TextEncoding::Front => Body::Front(Front::parse(&mut reader, rows, decoded, |bytes| {
                nested(bytes, rows, Nesting::Suffixes)
            })?),
            TextEncoding::Positional => Body::Positional(Positional::parse(&mut reader, rows, decoded)?),
            TextEncoding::Compressed => {
                Body::Compressed(Box::new(Compressed::parse(&mut reader, rows, decoded)?))
            }
        };
        reader.end()?;
        Ok(Self { rows, decoded, encoding, body })
    }

    /// How many strings.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// How the strings are encoded.
    pub fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// The bytes of all strings, at most 2^31 - 1. A block with a dictionary, or of one string, may state any such
    /// size; other encodings no more than their bytes can stand for. Callers with less memory check it first.
    pub fn decoded_len(&self) -> usize {
        self.decoded
    }

    /// Appends the strings of `rows` in Arrow's layout: their bytes to `data`, where each ends in `data` to `offsets`. Into
    /// empty `offsets` it first puts where the first string begins.
    ///
    /// # Errors
    /// Bytes that no encoder wrote; [`Error::Invalid`] when `data` would grow beyond 2^31 - 1 bytes.
    ///
    /// # Panics
    /// When `rows` reaches behind the block.
    pub fn decode(&self, rows: Range<usize>, offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        self.appending(offsets, data, |offsets, data| {
            let base = data.len();
            offsets.reserve(rows.len());
            self.decode_body(rows.clone(), offsets, data)?;
            let len = data.len() - base;
            if len > self.decoded || rows.len() == self.rows && len != self.decoded {
                return Err(Error::malformed(1, "the size of the strings is wrong"));
            }
            Ok(())
        })
    }

    /// Runs `append`, and when it fails takes back what it appended.
    fn appending(
        &self,
        offsets: &mut Vec<u32>,
        data: &mut Vec<u8>,
        append: impl FnOnce(&mut Vec<u32>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let before = (offsets.len(), data.len());
        if offsets.is_empty() {
            offsets.push(data.len() as u32);
        }
        let mut result = append(offsets, data);
        if result.is_ok() && data.len() > DECODED_MAX {
            result = Err(Error::invalid("strings of more than 2^31 - 1 bytes in one array"));
        }
        if result.is_err() {
            offsets.truncate(before.0);
            data.truncate(before.1);
        }
        result
    }

    fn decode_body(&self, rows: Range<usize>, offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        match &self.body {
            Body::Constant(string) => {
                data.reserve(rows.len() * string.len());
                for _ in rows {
                    data.extend_from_slice(string);
                    offsets.push(data.len() as u32);
                }
                Ok(())
            }
            Body::Raw(bounds, bytes) => {
                let base = data.len();
                let start = bounds.start(rows.start)?;
                let mut end = start;
                bounds.each(rows, |_, bounds| {
                    end = bounds.end;
                    offsets.push((base + end - start) as u32);
                })?;
                data.extend_from_slice(&bytes[start..end]);
                Ok(())
            }
            Body::Dictionary(dictionary) => dictionary.decode(rows, self.decoded, offsets, data),
            Body::Fsst(fsst) => fsst.decode(rows, offsets, data),
            Body::Front(front) => front.decode(rows, self.decoded, offsets, data),
            Body::Positional(positional) => positional.decode(rows, offsets, data),
            Body::Compressed(compressed) => compressed.decode(rows, offsets, data),
        }
    }

    /// All strings, owned.
    pub(super) fn to_strings(&self) -> Result<Strings> {
        let (mut offsets, mut data) = (Vec::new(), Vec::new());
        self.decode(0..self.rows, &mut offsets, &mut data)?;
        Ok(Strings::new(offsets, data))
    }

    /// String `row` where it is stored as it is: in blocks that are raw or of one string.
    ///
    /// # Errors
    /// Bytes that no encoder wrote.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn borrow(&self, row: usize) -> Result<Option<&'a [u8]>> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        match &self.body {
            Body::Constant(string) => Ok(Some(string)),
            Body::Raw(bounds, bytes) => Ok(Some(&bytes[bounds.get(row)?])),
            _ => Ok(None),
        }
    }

    /// Appends string `row` to `data`.
    ///
    /// # Errors
    /// Bytes that no encoder wrote.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn get(&self, row: usize, data: &mut Vec<u8>) -> Result<()> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let before = data.len();
        let result = self.append(row, data);
        if result.is_err() {
            data.truncate(before);
        }
        result
    }

    /// Asks for the memory in which it stands where string `row` is.
    pub(crate) fn prefetch(&self, row: usize) {
        match &self.body {
            Body::Dictionary(dictionary) => dictionary.prefetch(row),
            Body::Raw(bounds, _) => bounds.prefetch(row),
            Body::Fsst(fsst) => fsst.prefetch(row),
            Body::Constant(_) | Body::Front(_) | Body::Positional(_) | Body::Compressed(_) => {}
        }
    }

    fn append(&self, row: usize, data: &mut Vec<u8>) -> Result<()> {
        match &self.body {
            Body::Constant(string) => data.extend_from_slice(string),
            Body::Raw(bounds, bytes) => data.extend_from_slice(&bytes[bounds.get(row)?]),
            Body::Dictionary(dictionary) => dictionary.append(row, data)?,
            Body::Fsst(fsst) => fsst.append(row, data)?,
            Body::Front(front) => front.append(row, self.decoded, data)?,
            Body::Positional(positional) => positional.append(row, data)?,
            Body::Compressed(compressed) => compressed.append(row, data)?,
        }
        Ok(())
    }

    /// Appends the strings of `rows`, which may be in any order, as [`TextBlock::decode`] does. Fastest in ascending order.
    ///
    /// # Errors
    /// As [`TextBlock::decode`].
    ///
    /// # Panics
    /// When there is no such row.
    pub fn gather(&self, rows: &[u32], offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        assert!(rows.iter().all(|row| (*row as usize) < self.rows), "a row of {}", self.rows);
        self.appending(offsets, data, |offsets, data| match &self.body {
            Body::Dictionary(dictionary) => {
                let codes: Vec<u32> = rows.iter().map(|row| dictionary.code(*row as usize)).collect();
                dictionary.pick(&codes, offsets, data)
            }
            Body::Compressed(compressed) => compressed.gather(rows, offsets, data),
            _ => rows.iter().try_for_each(|row| {
                self.append(*row as usize, data)?;
                if data.len() > DECODED_MAX {
                    return Err(Error::invalid("strings of more than 2^31 - 1 bytes in one array"));
                }
                offsets.push(data.len() as u32);
                Ok(())
            }),
        })
    }

    /// The smallest and the largest string; `None` when there is no row.
    ///
    /// # Errors
    /// Bytes that no encoder wrote.
    pub fn min_max(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let ends = |first: &[u8], last: &[u8]| Ok(Some((first.to_vec(), last.to_vec())));
        match &self.body {
            Body::Constant(string) => ends(string, string),
            Body::Dictionary(dictionary) => {
                let mut codes = Vec::new();
                dictionary.codes(0..self.rows, &mut codes);
                let (low, high) = (codes.iter().min(), codes.iter().max());
                let (low, high) = low.zip(high).expect("there is a row");
                let entries = dictionary.entries()?;
                if *high as usize >= entries.len() {
                    return Err(Error::malformed(0, "a code is in no dictionary"));
                }
                ends(entries.view().get(*low as usize), entries.view().get(*high as usize))
            }
            _ => {
                let strings = self.to_strings()?;
                let (low, high) = (strings.view().iter().min(), strings.view().iter().max());
                let (low, high) = low.zip(high).expect("there is a row");
                ends(low, high)
            }
        }
    }

    /// The one string that all rows have, in a block of that encoding.
    pub fn constant(&self) -> Option<&'a [u8]> {
        if let Body::Constant(string) = &self.body { Some(string) } else { None }
    }

    /// The rows' codes, in a block with a dictionary.
    pub fn codes(&self) -> Option<TextCodes<'_>> {
        if let Body::Dictionary(dictionary) = &self.body { Some(TextCodes::new(dictionary)) } else { None }
    }
}
