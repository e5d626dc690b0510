//! Values that are too long for a leaf: the tree's use of [`page::blob`](ambo_pages::page::blob).

use std::sync::Arc;

use ambo_codec::record::RecordCodec;
use ambo_pages::page::{BlobReader, BlobRef, BlobWriter, NAME, PageRange, PageStore};
use ambo_types::{Error, Result, record::RecordKind};

use super::{leaf::Stored, packed};

/// How much of a blob is copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// A blob that was written.
pub(super) struct Written {
    /// The stored form of its reference.
    pub encoded: Vec<u8>,
    pub bytes: u64,
    pub pages: u64,
}

/// Writes blobs; frees them again when dropped before [`Blobs::keep`].
pub(super) struct Blobs {
    store: Arc<PageStore>,
    codec: Option<RecordCodec>,
    written: Vec<PageRange>,
}

impl Blobs {
    /// Blobs of this store, compressed with the codec if there is one.
    pub(super) fn new(store: &Arc<PageStore>, codec: Option<RecordCodec>) -> Self {
        Self { store: Arc::clone(store), codec, written: Vec::new() }
    }

    /// Writes a blob.
    pub(super) fn write(&mut self, value: &[u8]) -> Result<Written> {
        let mut writer = BlobWriter::new(&self.store, self.codec);
        writer.write_all(value)?;
        self.finish(writer)
    }

    /// Writes a blob with the contents of another.
    pub(super) fn copy(&mut self, reference: &[u8]) -> Result<Written> {
        let mut reader = BlobReader::new(&self.store, decode(reference)?)?;
        let mut writer = BlobWriter::new(&self.store, self.codec);
        let mut buffer = vec![0; COPY_BYTES.min(usize::try_from(reader.len()).unwrap_or(COPY_BYTES))];
        let mut offset = 0;
        while offset < reader.len() {
            let read = reader.read_at(offset, &mut buffer)?;
            assert!(read > 0, "there is more of it");
            writer.write_all(&buffer[..read])?;
            offset += read as u64;
        }
        let copy = self.finish(writer)?;
        assert_eq!(copy.bytes, reader.len(), "a copy is as long as what it is of");
        Ok(copy)
    }

    fn finish(&mut self, writer: BlobWriter) -> Result<Written> {
        let blob = writer.finish()?;
        self.written.extend_from_slice(blob.pages());
        let encoded = blob.encode();
        debug_assert_eq!(BlobRef::decode(&encoded).as_ref(), Some(&blob));
        Ok(Written { encoded, bytes: blob.bytes(), pages: page_count(&blob) })
    }

    /// The blobs belong to the tree now: their pages.
    pub(super) fn keep(&mut self) -> Vec<PageRange> {
        std::mem::take(&mut self.written)
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        self.store.free(std::mem::take(&mut self.written));
    }
}

fn decode(reference: &[u8]) -> Result<BlobRef> {
    BlobRef::decode(reference).ok_or_else(|| Error::damaged(NAME, 0, "a record is no reference to a blob"))
}

fn page_count(blob: &BlobRef) -> u64 {
    blob.pages().iter().fold(0, |sum, range| sum.saturating_add(range.pages))
}

/// Bytes of a value, and pages of its blob if it is one, by what is stored of it.
pub(super) fn sizes(stored: Stored, bytes: &[u8]) -> Result<(u64, u64)> {
    match stored {
        Stored::Plain(RecordKind::Blob) => blob_size(bytes),
        Stored::Plain(RecordKind::Inline | RecordKind::Tombstone) => Ok((bytes.len() as u64, 0)),
        Stored::Packed => match packed::unpacked_len(bytes) {
            Ok(len) => Ok((len as u64, 0)),
            Err(what) => Err(Error::damaged(NAME, 0, what)),
        },
    }
}

/// Bytes and pages of the blob with this reference.
pub(super) fn blob_size(reference: &[u8]) -> Result<(u64, u64)> {
    let blob = decode(reference)?;
    Ok((blob.bytes(), page_count(&blob)))
}

/// Adds the pages of the blob with this reference.
pub(super) fn add_blob_pages(reference: &[u8], pages: &mut Vec<PageRange>) -> Result<()> {
    pages.extend_from_slice(decode(reference)?.pages());
    Ok(())
}

/// The whole value of a blob.
#[cfg(test)]
pub(super) fn read_blob(store: &Arc<PageStore>, reference: &[u8]) -> Result<Vec<u8>> {
    BlobReader::new(store, decode(reference)?)?.read_all()
}
