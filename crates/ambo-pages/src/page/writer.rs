//! Writing many pages: numbers in ascending runs, one large write a run.

use std::sync::Arc;

use ambo_types::{
    Result,
    id::{PageNo, PagePtr},
};

use super::{PageRange, PageStore, UNITS_MAX, are_disjoint};

/// The most bytes that are written at once.
const BATCH_BYTES: usize = 1 << 20;

/// Writes pages one after the other. Until [`PageWriter::finish`] the pages belong to the writer: dropping it, as after
/// an error, frees them all. A page can be read once it is flushed.
pub struct PageWriter {
    store: Arc<PageStore>,
    /// Pages allocated and not yet used.
    run: PageRange,
    /// Pages filled and not yet written: `bytes` begin at this page, in pages of `units`.
    first: PageNo,
    units: u16,
    bytes: Vec<u8>,
    /// All pages given out by this writer.
    written: Vec<PageRange>,
    keep: bool,
}

impl PageWriter {
    pub(super) fn new(store: Arc<PageStore>) -> Self {
        let run = PageRange::new(PageNo(0), 0);
        Self { store, run, first: PageNo(0), units: 1, bytes: Vec::new(), written: Vec::new(), keep: true }
    }

    /// Whether the pages stay in the pool as far as it has room; else they are read from the file when they are wanted.
    #[must_use]
    pub fn keep_in_cache(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    /// Adds a page of one or more whole units; number and checksum are filled in.
    pub fn write(&mut self, page: &[u8]) -> Result<PagePtr> {
        let size = self.store.page_size();
        assert!(
            !page.is_empty()
                && page.len().is_multiple_of(size)
                && page.len() / size <= usize::from(UNITS_MAX)
        );
        let units = (page.len() / size) as u16;
        if self.run.pages < u64::from(units)
            || self.units != units
            || self.bytes.len() + page.len() > BATCH_BYTES
        {
            self.flush()?;
        }
        if self.run.pages < u64::from(units) {
            self.next_run(units)?;
        }
        if self.bytes.is_empty() {
            (self.first, self.units) = (self.run.start, units);
        }
        let number = self.run.start;
        self.run = PageRange::new(PageNo(number.0 + u64::from(units)), self.run.pages - u64::from(units));
        self.bytes.extend_from_slice(page);
        match self.written.last_mut() {
            Some(last) if last.end() == number.0 => last.pages += u64::from(units),
            _ => self.written.push(PageRange::new(number, u64::from(units))),
        }
        Ok(PagePtr::new(number, units))
    }

    /// Writes what is batched, so that all pages given to this writer can be read.
    pub fn flush(&mut self) -> Result<()> {
        if !self.bytes.is_empty() {
            debug_assert!(
                self.bytes.len().is_multiple_of(usize::from(self.units) * self.store.page_size()),
                "whole pages are written"
            );
            self.store.write_pages(self.first, self.units, &mut self.bytes, self.keep)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Writes the rest and gives the pages to the caller: all ranges that were written, each page once.
    pub fn finish(mut self) -> Result<Vec<PageRange>> {
        self.flush()?;
        debug_assert!(are_disjoint(&self.written), "a page is written once");
        Ok(std::mem::take(&mut self.written))
    }

    fn next_run(&mut self, units: u16) -> Result<()> {
        debug_assert!(self.bytes.is_empty(), "pages are written before others are taken");
        self.give_back_run();
        let wanted = (BATCH_BYTES / self.store.page_size()) as u64;
        self.run = self.store.allocate_run(u64::from(units), wanted.max(u64::from(units)))?;
        Ok(())
    }

    fn give_back_run(&mut self) {
        if self.run.pages > 0 {
            self.store.free([self.run]);
            self.run.pages = 0;
        }
    }
}

impl Drop for PageWriter {
    fn drop(&mut self) {
        self.give_back_run();
        self.store.free(std::mem::take(&mut self.written));
    }
}
