//! Values that are too long for a leaf: the tree's use of `page::blob`.

use std::sync::Arc;

use crate::{
    Error, Result,
    page::{PageRange, PageStore},
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
    pub(super) fn write(&mut self, _value: &[u8]) -> Result<Written> {
        Err(Error::Invalid("no blobs yet".into()))
    }

    /// Writes a blob with the contents of another.
    pub(super) fn copy(&mut self, _reference: &[u8]) -> Result<Written> {
        Err(Error::Invalid("no blobs yet".into()))
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

/// Bytes and pages of the blob with this reference.
pub(super) fn blob_size(_reference: &[u8]) -> Result<(u64, u64)> {
    Ok((0, 0))
}

/// Adds the pages of the blob with this reference.
pub(super) fn add_blob_pages(_reference: &[u8], _pages: &mut Vec<PageRange>) -> Result<()> {
    Ok(())
}
