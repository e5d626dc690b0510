//! Values that are stored out of line, in pages of their own, of any length up to 4 GiB.
//!
//! A blob is a sequence of extents, runs of consecutive pages of kind 3. Each page has the usual header and
//! `page size − 16` bytes of the value; the last page is filled with zeros. The reference to it is what a table keeps:
//!
//! | size | meaning |
//! |---|---|
//! | LEB128 | bytes of the value |
//! | LEB128 | number of extents |
//! | for each extent: LEB128 | number of its first page |
//! | LEB128 | pages |
//! | compressed only: 1 | the codec's number ([`ambo_codec::record::RecordCodec`]) |
//! | LEB128 | bytes that are stored |
//!
//! A value of 40,000 bytes in 16 KiB pages 7, 8 and 300: `c0 b8 02  02  07 02  ac 02 01`. If LZ4 makes 20,000 of it, in pages 7
//! and 8: `c0 b8 02  01  07 02  03  a0 9c 01`.
//!
//! What is stored of a compressed value is its chunks of 128 KiB (the last may be shorter), one after the other, and then an
//! index: for each chunk its stored length as a u32, with bit 31 set where the chunk is stored as it is. So a part of a
//! value is read without what is before it.

use ambo_codec::varint;
use ambo_types::{Error, Result, id::PageNo, record::VALUE_BYTES_MAX};

use super::{HEADER_BYTES, NAME, PageKind, PageRange, PageStore, header, table::PAGES_MAX};

mod pages_reader;
mod pages_writer;
mod reader;
mod writer;

pub use reader::BlobReader;
pub use writer::BlobWriter;

/// Bytes of a value that are compressed together.
const CHUNK_BYTES: usize = 128 << 10;
/// In the index: the chunk is stored as it is.
const CHUNK_RAW: u32 = 1 << 31;
const _: () = assert!(CHUNK_BYTES < CHUNK_RAW as usize);

/// Where a blob is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlobRef {
    /// Bytes of the value.
    bytes: u64,
    /// Bytes in the pages.
    stored: u64,
    /// The number of the codec, if it is compressed.
    codec: Option<u8>,
    extents: Vec<PageRange>,
}

impl BlobRef {
    /// Bytes of the value.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of the codec, if the value is compressed.
    pub fn codec(&self) -> Option<u8> {
        self.codec
    }

    /// The pages of the blob, each once: for freeing, publishing, retiring and reserving them.
    pub fn pages(&self) -> &[PageRange] {
        &self.extents
    }

    /// The encoding.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        varint::encode(self.bytes, &mut out);
        varint::encode(self.extents.len() as u64, &mut out);
        for extent in &self.extents {
            varint::encode(extent.start.0, &mut out);
            varint::encode(extent.pages, &mut out);
        }
        if let Some(codec) = self.codec {
            out.push(codec);
            varint::encode(self.stored, &mut out);
        }
        out
    }

    /// The inverse of [`BlobRef::encode`], for bytes from anywhere; `None` if they are no reference.
    ///
    /// What holds afterwards: all pages can exist, and are as many as a value of that length takes with *some* page size;
    /// [`BlobReader::new`] checks the number with the right one.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let len = varint::take(&mut bytes).filter(|len| *len <= VALUE_BYTES_MAX)?;
        let count = varint::take(&mut bytes)?;
        // Two bytes an extent at least: a count that cannot be does not get to allocate.
        if count > bytes.len() as u64 / 2 {
            return None;
        }
        let mut extents = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let start = varint::take(&mut bytes).filter(|start| (1..PAGES_MAX).contains(start))?;
            let pages = varint::take(&mut bytes).filter(|pages| (1..=PAGES_MAX - start).contains(pages))?;
            extents.push(PageRange::new(PageNo(start), pages));
        }
        let (mut codec, mut stored) = (None, len);
        if let Some((&number, mut rest)) = bytes.split_first() {
            (codec, stored) = (Some(number), varint::take(&mut rest).filter(|stored| *stored > 0)?);
            bytes = rest;
        }
        let whole = bytes.is_empty() && (len == 0) == extents.is_empty() && codec != Some(0);
        whole.then_some(Self { bytes: len, stored, codec, extents })
    }

    /// Checks that the blob has the pages that its length needs.
    fn check(&self, store: &PageStore) -> Result<()> {
        let needed = self.stored.div_ceil(payload_bytes(store) as u64);
        let pages = self.extents.iter().try_fold(0u64, |sum, extent| sum.checked_add(extent.pages));
        if pages != Some(needed) {
            let first = self.extents.first().map_or(0, |extent| extent.start.0);
            let what = format!("{} bytes of a blob need {needed} pages and have {pages:?}", self.stored);
            return Err(Error::damaged(NAME, first * store.page_size() as u64, what));
        }
        Ok(())
    }
}

/// Bytes of a value in one page.
fn payload_bytes(store: &PageStore) -> usize {
    store.page_size() - HEADER_BYTES
}

/// Checks that a verified page is of a blob.
fn check_kind(page: &[u8], number: u64, page_size: usize) -> Result<()> {
    match header::kind(page) {
        Some(PageKind::Blob) => Ok(()),
        other => {
            let what = format!("page {number} should be of a blob and is {other:?}");
            Err(Error::damaged(NAME, number * page_size as u64, what))
        }
    }
}

#[cfg(test)]
mod tests;
