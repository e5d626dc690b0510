//! Streaming a value in, of a length that is not known before.

use std::{fmt, io, sync::Arc};

use ambo_codec::record::{Compressor, RecordCodec};
use ambo_types::{Error, Result, record::VALUE_BYTES_MAX};

use super::{BlobRef, CHUNK_BYTES, CHUNK_RAW, pages_writer::PagesWriter};
use crate::page::PageStore;

/// Writes one blob. Until [`BlobWriter::finish`] the pages belong to the writer: dropping it frees them.
pub struct BlobWriter {
    pages: PagesWriter,
    /// Bytes of the value so far.
    bytes: u64,
    chunks: Option<Chunks>,
}

/// The compressing half of a writer.
struct Chunks {
    codec: RecordCodec,
    compressor: Compressor,
    /// The chunk that is being filled.
    raw: Vec<u8>,
    packed: Vec<u8>,
    /// The index so far.
    lens: Vec<u32>,
}

impl BlobWriter {
    /// A writer of a new blob, compressed if there is a codec.
    pub fn new(store: &Arc<PageStore>, codec: Option<RecordCodec>) -> Self {
        let chunks = codec.map(|codec| Chunks {
            codec,
            compressor: Compressor::new(codec, None),
            raw: Vec::new(),
            packed: Vec::new(),
            lens: Vec::new(),
        });
        Self { pages: PagesWriter::new(store), bytes: 0, chunks }
    }

    /// Appends to the value. After an error the writer is of no more use: drop it.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.bytes + bytes.len() as u64 > VALUE_BYTES_MAX {
            return Err(Error::Invalid(format!("a value of more than {VALUE_BYTES_MAX} bytes")));
        }
        self.bytes += bytes.len() as u64;
        let Some(chunks) = &mut self.chunks else { return self.pages.write_all(bytes) };
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK_BYTES - chunks.raw.len()));
            chunks.raw.extend_from_slice(now);
            bytes = later;
            if chunks.raw.len() == CHUNK_BYTES {
                chunks.write(&mut self.pages)?;
            }
        }
        Ok(())
    }

    /// Writes the rest; the blob's pages belong to the caller.
    pub fn finish(mut self) -> Result<BlobRef> {
        let mut codec = None;
        if let Some(chunks) = self.chunks.as_mut().filter(|_| self.bytes > 0) {
            chunks.finish(&mut self.pages)?;
            codec = Some(chunks.codec.number());
            let wanted = self.bytes.div_ceil(CHUNK_BYTES as u64);
            assert_eq!(chunks.lens.len() as u64, wanted, "the index has each chunk");
        }
        let stored = self.pages.bytes();
        assert!(codec.is_some() || stored == self.bytes, "what is not compressed is stored as it is");
        Ok(BlobRef { bytes: self.bytes, stored, codec, extents: self.pages.finish()? })
    }
}

impl Chunks {
    /// Writes the chunk that is there, compressed if that is smaller.
    fn write(&mut self, pages: &mut PagesWriter) -> Result<()> {
        debug_assert!(
            (1..=CHUNK_BYTES).contains(&self.raw.len()),
            "a chunk has bytes, and no more than it may"
        );
        self.packed.clear();
        self.compressor.compress(&self.raw, &mut self.packed);
        let raw = self.packed.len() >= self.raw.len();
        let chunk = if raw { &self.raw } else { &self.packed };
        debug_assert!(chunk.len() <= CHUNK_BYTES, "a chunk does not grow");
        self.lens.push(chunk.len() as u32 | if raw { CHUNK_RAW } else { 0 });
        pages.write_all(chunk)?;
        self.raw.clear();
        Ok(())
    }

    /// Writes the last chunk, and the index.
    fn finish(&mut self, pages: &mut PagesWriter) -> Result<()> {
        if !self.raw.is_empty() {
            self.write(pages)?;
        }
        let index: Vec<u8> = self.lens.iter().flat_map(|len| len.to_le_bytes()).collect();
        pages.write_all(&index)
    }
}

impl io::Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    /// Does nothing: a blob is whole once it is finished.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for BlobWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobWriter").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
