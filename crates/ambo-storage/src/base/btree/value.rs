//! Values that are too long for a leaf: the tree's use of `page::blob`.

use std::sync::Arc;

use crate::{
    Error, Result,
    id::{PageNo, PagePtr},
    page::{Access, NAME, PageKind, PageRange, PageStore, header},
};

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
    written: Vec<PageRange>,
}

impl Blobs {
    pub(super) fn new(store: &Arc<PageStore>) -> Self {
        Self { store: Arc::clone(store), written: Vec::new() }
    }

    /// Writes a blob.
    pub(super) fn write(&mut self, value: &[u8]) -> Result<Written> {
        let mut writer = self.store.writer();
        let mut page = vec![0; self.store.page_size()];
        for chunk in value.chunks(page.len() - header::HEADER_BYTES) {
            page.fill(0);
            header::set_header(&mut page, PageKind::Blob, 0);
            page[header::HEADER_BYTES..][..chunk.len()].copy_from_slice(chunk);
            writer.write(&page)?;
        }
        let ranges = writer.finish()?;
        let mut encoded = (value.len() as u64).to_le_bytes().to_vec();
        for range in &ranges {
            encoded.extend_from_slice(&range.start.0.to_le_bytes());
            encoded.extend_from_slice(&(range.pages as u32).to_le_bytes());
        }
        let pages = ranges.iter().map(|range| range.pages).sum();
        self.written.extend(ranges);
        Ok(Written { encoded, bytes: value.len() as u64, pages })
    }

    /// Writes a blob with the contents of another.
    pub(super) fn copy(&mut self, reference: &[u8]) -> Result<Written> {
        let value = read_blob(&self.store, reference)?;
        self.write(&value)
    }

    /// The blobs belong to the tree now.
    pub(super) fn keep(&mut self) {
        self.written.clear();
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        self.store.free(std::mem::take(&mut self.written));
    }
}

fn parse(reference: &[u8]) -> Result<(u64, Vec<PageRange>)> {
    let wrong = || Error::damaged(NAME, 0, "not a blob reference");
    let (bytes, rest) = reference.split_first_chunk::<8>().ok_or_else(wrong)?;
    if !rest.len().is_multiple_of(12) {
        return Err(wrong());
    }
    let ranges = rest.chunks_exact(12).map(|chunk| {
        let start = u64::from_le_bytes(chunk[..8].try_into().expect("8 bytes"));
        let pages = u32::from_le_bytes(chunk[8..].try_into().expect("4 bytes"));
        PageRange::new(PageNo(start & 0xffff_ffff_ffff), u64::from(pages))
    });
    Ok((u64::from_le_bytes(*bytes), ranges.collect()))
}

/// Bytes and pages of the blob with this reference.
pub(super) fn blob_size(reference: &[u8]) -> Result<(u64, u64)> {
    let (bytes, ranges) = parse(reference)?;
    Ok((bytes, ranges.iter().map(|range| range.pages).sum()))
}

/// Adds the pages of the blob with this reference.
pub(super) fn add_blob_pages(reference: &[u8], pages: &mut Vec<PageRange>) -> Result<()> {
    pages.extend(parse(reference)?.1);
    Ok(())
}

/// The whole value of a blob.
pub(super) fn read_blob(store: &Arc<PageStore>, reference: &[u8]) -> Result<Vec<u8>> {
    let (bytes, ranges) = parse(reference)?;
    let mut value = Vec::new();
    for range in ranges {
        for number in range.start.0..range.end() {
            let page = store.read(PagePtr::new(PageNo(number), 1), Access::Scan)?;
            value.extend_from_slice(&page[header::HEADER_BYTES..]);
        }
    }
    value.truncate(bytes as usize);
    Ok(value)
}
