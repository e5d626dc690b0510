//! Streaming bytes into pages, as many as come.

use std::sync::Arc;

use ambo_types::{Result, id::PageNo};

use super::payload_bytes;
use crate::page::{HEADER_BYTES, PageKind, PageRange, PageStore, header};

/// Bytes of the first extent that is asked for, and of the largest; each is twice the one before.
const EXTENT_BYTES_MIN: u64 = 1 << 20;
const EXTENT_BYTES_MAX: u64 = 64 << 20;
/// The most bytes that are written at once.
const BATCH_BYTES: usize = 1 << 20;

/// Writes the pages of one blob. Until [`PagesWriter::finish`] they belong to the writer: dropping it frees them.
pub(super) struct PagesWriter {
    store: Arc<PageStore>,
    bytes: u64,
    /// Pages written, and pages in `batch`.
    extents: Vec<PageRange>,
    /// Pages allocated and not yet used.
    run: PageRange,
    next_extent_bytes: u64,
    /// Pages filled, or being filled, and not yet written.
    batch: Vec<u8>,
    /// The number of the first page of the batch.
    first: PageNo,
    /// Room in the last page of the batch.
    room: usize,
    failed: bool,
}

impl PagesWriter {
    /// A writer of new pages.
    pub(super) fn new(store: &Arc<PageStore>) -> Self {
        Self {
            store: Arc::clone(store),
            bytes: 0,
            extents: Vec::new(),
            run: PageRange::new(PageNo(0), 0),
            next_extent_bytes: EXTENT_BYTES_MIN,
            batch: Vec::new(),
            first: PageNo(0),
            room: 0,
            failed: false,
        }
    }

    /// Appends bytes. After an error the writer is of no more use: drop it.
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        assert!(!self.failed, "the writer is used after an error");
        let result = self.append(bytes);
        self.failed = result.is_err();
        result
    }

    fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.room == 0 {
                self.next_page()?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(self.room));
            let at = self.batch.len() - self.room;
            self.batch[at..at + now.len()].copy_from_slice(now);
            self.room -= now.len();
            self.bytes += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Begins a page, in the batch or in a new one.
    fn next_page(&mut self) -> Result<()> {
        let page_size = self.store.page_size();
        if self.run.pages == 0 || self.batch.len() + page_size > BATCH_BYTES {
            self.flush()?;
        }
        if self.run.pages == 0 {
            let wanted = self.next_extent_bytes / page_size as u64;
            self.run = self.store.allocate_run(1, wanted)?;
            self.next_extent_bytes = (self.next_extent_bytes * 2).min(EXTENT_BYTES_MAX);
        }
        let number = self.run.start;
        self.run = PageRange::new(PageNo(number.0 + 1), self.run.pages - 1);
        match self.extents.last_mut() {
            Some(last) if last.end() == number.0 => last.pages += 1,
            _ => self.extents.push(PageRange::new(number, 1)),
        }
        if self.batch.is_empty() {
            self.first = number;
        }
        let start = self.batch.len();
        self.batch.resize(start + page_size, 0);
        header::set_header(&mut self.batch[start..], PageKind::Blob, 0);
        self.room = payload_bytes(&self.store);
        debug_assert_eq!(self.room, page_size - HEADER_BYTES, "a page has room behind its header");
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.batch.is_empty() {
            let pages = (self.batch.len() / self.store.page_size()) as u64;
            debug_assert_eq!(
                self.extents.last().map(|extent| extent.end()),
                Some(self.first.0 + pages),
                "what is written at once lies together, up to the last page"
            );
            self.store.write_pages(self.first, 1, &mut self.batch, false)?;
            self.batch.clear();
        }
        Ok(())
    }

    /// Bytes so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the rest. The pages belong to the caller, what was allocated beyond them is free again.
    pub(super) fn finish(mut self) -> Result<Vec<PageRange>> {
        assert!(!self.failed, "the writer is used after an error");
        self.flush()?;
        let pages = self.extents.iter().map(|extent| extent.pages).sum::<u64>();
        let needed = self.bytes.div_ceil(payload_bytes(&self.store) as u64);
        assert_eq!(pages, needed, "a blob has the pages that its bytes need");
        Ok(std::mem::take(&mut self.extents))
    }
}

impl Drop for PagesWriter {
    fn drop(&mut self) {
        if self.run.pages > 0 {
            self.store.free([self.run]);
        }
        self.store.free(std::mem::take(&mut self.extents));
    }
}
