//! A tree written once more, to other pages perhaps, with the long values that its rows refer to.

use std::sync::Arc;

use ambo_pages::page::{PageRange, PageStore};
use ambo_types::{
    Result,
    record::{Record, RecordKind},
};

use super::{BuildOptions, TreeBuilder, TreeMeta};
use crate::CopyBlob;

/// Takes rows in the order of their keys. What was written is freed again unless [`TreeCopy::finish`] succeeds.
pub struct TreeCopy<'a> {
    store: &'a Arc<PageStore>,
    /// Copies long values, if they are not in the store.
    copy_blob: Option<&'a CopyBlob<'a>>,
    builder: Option<TreeBuilder>,
    /// Pages of long values.
    blobs: Vec<PageRange>,
}

impl<'a> TreeCopy<'a> {
    /// A tree in this store.
    pub fn new(
        store: &'a Arc<PageStore>,
        options: BuildOptions,
        copy_blob: Option<&'a CopyBlob<'a>>,
    ) -> Self {
        let builder = Some(TreeBuilder::new(store, options));
        Self { store, copy_blob, builder, blobs: Vec::new() }
    }

    /// Appends a row, or that one is deleted.
    pub fn push(&mut self, key: &[u8], record: Record<'_>) -> Result<()> {
        let builder = self.builder.as_mut().expect("there until it is finished");
        let (RecordKind::Blob, Some(copy_blob)) = (record.kind, self.copy_blob) else {
            return builder.push(key, record);
        };
        let copied = copy_blob(record.bytes)?;
        self.blobs.extend(copied.pages().iter().copied());
        builder.push(key, Record { kind: RecordKind::Blob, bytes: &copied.encode() })
    }

    /// Pages of leaves that are full.
    pub fn leaf_pages(&self) -> u64 {
        self.builder.as_ref().map_or(0, TreeBuilder::leaf_pages)
    }

    /// The tree, and all pages that it has.
    pub fn finish(mut self) -> Result<(TreeMeta, Vec<PageRange>)> {
        let builder = self.builder.take().expect("it is finished once");
        let (meta, mut pages) = builder.finish_with_pages()?;
        let copied: u64 = self.blobs.iter().map(|range| range.pages).sum();
        assert!(copied <= meta.blob_pages, "what was copied is in the tree");
        pages.append(&mut self.blobs);
        Ok((meta, pages))
    }
}

impl Drop for TreeCopy<'_> {
    fn drop(&mut self) {
        if !self.blobs.is_empty() {
            self.store.free(self.blobs.drain(..));
        }
    }
}
