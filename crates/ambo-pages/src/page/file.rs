//! Pages in a file: read and verified into the pool, written from batches.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use ambo_types::{
    Error, Result,
    id::{PageNo, PagePtr},
};

use super::{Access, NAME, PageRange, PageRef, header, pool::Pool, table};
use crate::{budget::MemoryBudget, io::File};

/// Writes of so many bytes are begun at once; the system gathers smaller ones.
const WRITEBACK_BYTES_MIN: usize = 256 << 10;

/// The file and the pool before it.
pub(super) struct FilePages {
    pub(super) file: Arc<dyn File>,
    pub(super) pool: Pool,
    page_size: usize,
    bytes_read: AtomicU64,
}

impl FilePages {
    pub(super) fn new(file: Arc<dyn File>, memory: Arc<MemoryBudget>, page_size: usize) -> Result<Self> {
        let limit = memory.limit();
        let pool = Pool::new(memory, page_size)
            .map_err(|error| Error::io(format!("reserving {limit} bytes of memory for pages"), error))?;
        Ok(Self { file, pool, page_size, bytes_read: AtomicU64::new(0) })
    }

    /// Pins a page; `check` may refuse it before it is read from the file.
    #[inline]
    pub(super) fn read(
        &self,
        ptr: PagePtr,
        access: Access,
        check: impl Fn() -> Result<()>,
    ) -> Result<PageRef<'_>> {
        self.pool.read(ptr, access, |page| {
            check()?;
            self.load(ptr.number(), page)
        })
    }

    /// Reads consecutive pages of one unit past the pool, and verifies each.
    pub(super) fn read_direct(&self, first: PageNo, pages: &mut [u8]) -> Result<()> {
        self.read_bytes(first, pages)?;
        for (number, page) in (first.0..).zip(pages.chunks(self.page_size)) {
            self.verify(PageNo(number), page)?;
        }
        Ok(())
    }

    /// Reads one page of however many units, and verifies it.
    pub(super) fn load(&self, number: PageNo, page: &mut [u8]) -> Result<()> {
        self.read_bytes(number, page)?;
        self.verify(number, page)
    }

    fn read_bytes(&self, first: PageNo, bytes: &mut [u8]) -> Result<()> {
        let offset = self.offset(first)?;
        self.file.read_at(bytes, offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                Error::damaged(NAME, offset, format!("page {first} lies beyond the end of the file"))
            }
            std::io::ErrorKind::InvalidData => Error::damaged(NAME, offset, error.to_string()),
            _ => Error::io(format!("reading {} bytes at {offset} of {NAME}", bytes.len()), error),
        })?;
        self.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn verify(&self, number: PageNo, page: &[u8]) -> Result<()> {
        header::verify(page, number)
            .map_err(|what| Error::damaged(NAME, number.0 * self.page_size as u64, what))
    }

    /// Writes consecutive pages of `units` units each, whose checksums and numbers it fills in. Those of one unit stay in the pool
    /// where there is room; nothing does if the write fails.
    pub(super) fn write(&self, first: PageNo, units: u16, bytes: &mut [u8], keep: bool) -> Result<()> {
        let range = PageRange::new(first, (bytes.len() / self.page_size) as u64);
        // Who read it since it became free would go on to show what was there before.
        debug_assert!(!self.pool.has_any(range), "{range:?} is written anew, and in the pool");
        self.forget(range);
        let page_len = usize::from(units) * self.page_size;
        assert!(bytes.len().is_multiple_of(page_len), "whole pages are written");
        for (at, page) in bytes.chunks_mut(page_len).enumerate() {
            let number = PageNo(first.0 + at as u64 * u64::from(units));
            header::seal(page, number);
            debug_assert_eq!(header::verify(page, number), Ok(()), "a page that is written can be read");
        }
        let offset = self.offset(first)?;
        self.file.write_at(bytes, offset).map_err(|error| {
            Error::io(format!("writing {} bytes at {offset} of {NAME}", bytes.len()), error)
        })?;
        if bytes.len() >= WRITEBACK_BYTES_MIN {
            self.file.start_writeback(offset, bytes.len() as u64);
        }
        if keep && units == 1 {
            (first.0..)
                .zip(bytes.chunks(page_len))
                .for_each(|(number, page)| self.pool.install(number, page));
        }
        Ok(())
    }

    /// Drops pages from the pool.
    pub(super) fn forget(&self, range: PageRange) {
        (range.start.0..range.end()).for_each(|number| self.pool.forget(number));
        self.pool.forget_large(range.start.0, range.pages);
    }

    /// Bytes that the file occupies on the device.
    pub(super) fn allocated_len(&self) -> Result<u64> {
        self.file.allocated_len().map_err(|error| Error::io(format!("measuring {NAME}"), error))
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    fn offset(&self, number: PageNo) -> Result<u64> {
        if number.0 >= table::PAGES_MAX {
            let what = format!("there is no page {number}: a file has {} pages at most", table::PAGES_MAX);
            return Err(Error::damaged(NAME, number.0.saturating_mul(self.page_size as u64), what));
        }
        Ok(number.0 * self.page_size as u64)
    }
}
