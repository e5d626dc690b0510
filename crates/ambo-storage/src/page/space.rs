//! Which pages are free.

use super::extents::{Extents, PageRange};
use crate::{Error, Result, id::PageNo};

/// The free pages of a store.
pub(super) struct Space {
    free: Extents,
    end: u64,
    pages_max: u64,
}

impl Space {
    pub(super) fn new(reserved: u64, pages_max: u64) -> Self {
        Self { free: Extents::searchable(), end: reserved, pages_max }
    }

    pub(super) fn take(&mut self, least: u64, wanted: u64) -> Option<PageRange> {
        self.free.take_run(least.max(wanted / 4), wanted).or_else(|| self.free.take_run(least, wanted))
    }

    pub(super) fn grow(&mut self, least: u64) -> Result<()> {
        let step = (self.end / 8).clamp(64, 4096).max(least).min(self.pages_max - self.end);
        if step < least {
            return Err(Error::DiskFull("growing the pages in memory".into()));
        }
        self.free.insert(PageRange::new(PageNo(self.end), step));
        self.end += step;
        Ok(())
    }

    pub(super) fn give_back(&mut self, range: PageRange) {
        assert_eq!(self.free.insert(range), range.pages, "{range:?} was free already");
    }
}
