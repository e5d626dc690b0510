//! Reading a value, at any position.

use std::{
    io::{self, Read, Seek, SeekFrom},
    sync::Arc,
};

use ambo_codec::record::RecordCodec;
use ambo_types::{Error, Result};

use super::{BlobRef, CHUNK_BYTES, CHUNK_RAW, pages_reader::PagesReader};
use crate::page::{NAME, PageStore};

/// Reads one blob. REQUIRES: the blob's pages are not freed meanwhile; whoever hands out readers keeps the version that
/// refers to the blob.
pub struct BlobReader {
    pages: PagesReader,
    bytes: u64,
    position: u64,
    chunks: Option<Chunks>,
}

/// The decompressing half of a reader.
struct Chunks {
    codec: RecordCodec,
    /// Where each chunk begins among the stored bytes, and where the last ends.
    starts: Vec<u64>,
    /// Whether a chunk is stored as it is.
    raw: Vec<bool>,
    packed: Vec<u8>,
    /// The chunk that was read last, and its number.
    chunk: Vec<u8>,
    number: Option<usize>,
}

impl BlobReader {
    /// A reader at the beginning of a blob. Of a compressed one it reads the index.
    pub fn new(store: &Arc<PageStore>, blob: BlobRef) -> Result<Self> {
        let (bytes, stored, codec) = (blob.bytes, blob.stored, blob.codec);
        let mut pages = PagesReader::new(store, blob)?;
        let chunks = codec.map(|codec| Chunks::load(&mut pages, codec, bytes, stored)).transpose()?;
        Ok(Self { pages, bytes, position: 0, chunks })
    }

    /// Bytes of the value.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether the value has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Reads from `offset` into `out`, as much as there is: less than asked for only at the end of the value.
    pub fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let Some(chunks) = &mut self.chunks else { return self.pages.read_at(offset, out) };
        let left = self.bytes.saturating_sub(offset);
        let len = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let (number, within) = ((at / CHUNK_BYTES as u64) as usize, (at % CHUNK_BYTES as u64) as usize);
            let chunk = chunks.read(&mut self.pages, number, self.bytes)?;
            let now = (len - done).min(chunk.len() - within);
            out[done..done + now].copy_from_slice(&chunk[within..within + now]);
            done += now;
        }
        Ok(len)
    }

    /// Reads the whole value.
    pub fn read_all(&mut self) -> Result<Vec<u8>> {
        let mut value = vec![0; usize::try_from(self.bytes).expect("at most 4 GiB on a 64-bit machine")];
        let read = self.read_at(0, &mut value)?;
        debug_assert_eq!(read, value.len(), "a value is read whole");
        Ok(value)
    }
}

impl Chunks {
    /// Reads the index and checks that it covers what is stored.
    fn load(pages: &mut PagesReader, codec: u8, bytes: u64, stored: u64) -> Result<Self> {
        let codec = RecordCodec::from_parts(codec, 0)
            .ok_or_else(|| damaged("is compressed with an unknown codec"))?;
        let count = bytes.div_ceil(CHUNK_BYTES as u64) as usize;
        let Some(index_at) = stored.checked_sub(count as u64 * 4) else {
            return Err(damaged("is shorter than its index"));
        };
        let mut index = vec![0; count * 4];
        pages.read_at(index_at, &mut index)?;
        let mut starts = vec![0];
        let mut raw = Vec::with_capacity(count);
        let mut end = 0u64;
        for entry in index.chunks_exact(4) {
            let entry = entry.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let len = entry & !CHUNK_RAW;
            if len as usize > CHUNK_BYTES {
                return Err(damaged("has a chunk that is too long"));
            }
            end += u64::from(len);
            starts.push(end);
            raw.push(entry & CHUNK_RAW != 0);
        }
        if end != index_at {
            return Err(damaged("has an index that contradicts its length"));
        }
        Ok(Self { codec, starts, raw, packed: Vec::new(), chunk: Vec::new(), number: None })
    }

    /// Chunk `number` of a value of `bytes` bytes.
    fn read(&mut self, pages: &mut PagesReader, number: usize, bytes: u64) -> Result<&[u8]> {
        if self.number != Some(number) {
            self.number = None;
            let raw_len = (bytes - (number * CHUNK_BYTES) as u64).min(CHUNK_BYTES as u64) as usize;
            let (start, end) = (self.starts[number], self.starts[number + 1]);
            self.packed.resize((end - start) as usize, 0);
            pages.read_at(start, &mut self.packed)?;
            self.chunk.clear();
            if self.raw[number] {
                std::mem::swap(&mut self.chunk, &mut self.packed);
            } else {
                let unpacked = self.codec.decompress_into(None, &self.packed, raw_len, &mut self.chunk);
                unpacked.map_err(|damage| damaged(damage.0))?;
            }
            if self.chunk.len() != raw_len {
                return Err(damaged("has a chunk of another length than it should have"));
            }
            self.number = Some(number);
        }
        Ok(&self.chunk)
    }
}

#[cold]
fn damaged(what: &str) -> Error {
    Error::damaged(NAME, 0, format!("a compressed blob {what}"))
}

impl Read for BlobReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.read_at(self.position, out).map_err(io::Error::other)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for BlobReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.bytes.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position =
            target.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "seek before byte 0"))?;
        Ok(self.position)
    }
}
