//! A tree written once more, to other pages perhaps, with the long values that its rows refer to.

use std::sync::Arc;

use ambo_codec::record::RecordCodec;

use super::{blobs::copy_blob, engine::Engine, version::DatabaseVersion};
use crate::{
    Result,
    base::btree::{BuildOptions, TreeBuilder, TreeMeta},
    id::TableId,
    page::{PageRange, PageStore},
    record::{Record, RecordKind},
};

/// Takes rows in the order of their keys. What was written is freed again unless [`TreeCopy::finish`] succeeds.
pub(super) struct TreeCopy<'a> {
    table: TableId,
    from: &'a Arc<PageStore>,
    to: &'a Arc<PageStore>,
    codec: Option<RecordCodec>,
    builder: Option<TreeBuilder>,
    /// Pages of long values.
    blobs: Vec<PageRange>,
}

impl<'a> TreeCopy<'a> {
    /// A tree of a table, compressed as `version` says.
    pub(super) fn new(
        version: &DatabaseVersion,
        table: TableId,
        from: &'a Arc<PageStore>,
        to: &'a Arc<PageStore>,
    ) -> Self {
        let mut options = BuildOptions { keep_in_cache: to.is_memory(), ..version.build_options(table, to) };
        if let Some(records) = &mut options.records
            && !Arc::ptr_eq(from, to)
        {
            // A dictionary that this store knew before is none that the catalog goes on to keep.
            records.dictionary = None;
        }
        let builder = Some(TreeBuilder::new(to, options));
        Self { table, from, to, codec: version.blob_codec(table), builder, blobs: Vec::new() }
    }

    /// Appends a row, or that one is deleted.
    pub(super) fn push(&mut self, key: &[u8], record: Record<'_>) -> Result<()> {
        let builder = self.builder.as_mut().expect("there until it is finished");
        if record.kind != RecordKind::Blob || Arc::ptr_eq(self.from, self.to) {
            return builder.push(key, record);
        }
        let blob = Engine::decode_blob(record.bytes, self.table)?;
        let copied = copy_blob(self.from, self.to, self.codec, &blob)?;
        self.blobs.extend(copied.pages().iter().copied());
        builder.push(key, Record { kind: RecordKind::Blob, bytes: &copied.encode() })
    }

    /// The tree, and all pages that it has.
    pub(super) fn finish(mut self) -> Result<(TreeMeta, Vec<PageRange>)> {
        let builder = self.builder.take().expect("it is finished once");
        let (meta, mut pages) = builder.finish_with_pages()?;
        pages.append(&mut self.blobs);
        Ok((meta, pages))
    }
}

impl Drop for TreeCopy<'_> {
    fn drop(&mut self) {
        if !self.blobs.is_empty() {
            self.to.free(self.blobs.drain(..));
        }
    }
}
