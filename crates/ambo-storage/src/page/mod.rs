//! The `pages` file: pages, the pool that keeps the used ones in memory, free space, superblocks and blobs.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;

use crate::{
    Error, Result,
    id::{PageNo, PagePtr},
};

mod arena;
mod extents;
mod frame;
pub mod header;
mod memory;
mod page_ref;
mod space;
mod writer;

pub use extents::PageRange;
pub use header::{HEADER_BYTES, PageKind};
pub use page_ref::{OwnedPage, PageRef};
pub use writer::PageWriter;

use memory::MemoryPages;
use space::Space;

/// The name of the file of pages in the database directory.
pub const NAME: &str = "pages";
/// The smallest page.
pub const PAGE_SIZE_MIN: usize = 4 << 10;
/// The largest page.
pub const PAGE_SIZE_MAX: usize = 64 << 10;
/// The page size if nothing else is asked for.
pub const PAGE_SIZE_DEFAULT: usize = 16 << 10;
/// The most units of one page: enough for a page of 64 MiB of the smallest units.
pub const UNITS_MAX: u16 = 1 << 14;

/// What a page is read for: how long the pool should remember it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// One record: the page may be wanted again soon.
    Point,
    /// One page of many in a row: it does not push out what others need.
    Scan,
    /// An upper level of a tree: it is certainly wanted again.
    Inner,
}

/// How a store is laid out and how much memory it may use.
#[derive(Clone, Debug)]
pub struct PageStoreOptions {
    /// Bytes of a page: a power of two from [`PAGE_SIZE_MIN`] to [`PAGE_SIZE_MAX`].
    pub page_size: usize,
    /// Bytes of page contents that may be kept in memory.
    pub cache_bytes: usize,
}

impl Default for PageStoreOptions {
    fn default() -> Self {
        Self { page_size: PAGE_SIZE_DEFAULT, cache_bytes: 256 << 20 }
    }
}

/// Where the pages of a store are.
enum Backing {
    Memory(MemoryPages),
}

/// All pages of a database.
pub struct PageStore {
    backing: Backing,
    page_size: usize,
    space: Mutex<Space>,
    bytes_written: AtomicU64,
}

impl PageStore {
    /// A store without a file: pages are kept in memory until they are freed.
    ///
    /// # Panics
    /// If `page_size` is none that [`PageStoreOptions`] allows, or there is no address space.
    pub fn memory(page_size: usize) -> Arc<Self> {
        memory::check(&PageStoreOptions { page_size, cache_bytes: 0 }).expect("a valid page size");
        let pages = MemoryPages::new(page_size);
        let space = Space::new(reserved_pages(page_size), pages.pages_max());
        Arc::new(Self {
            backing: Backing::Memory(pages),
            page_size,
            space: Mutex::new(space),
            bytes_written: AtomicU64::new(0),
        })
    }

    /// Bytes of a page of one unit.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Pins a page in memory, reading and verifying it if it is not there.
    #[inline]
    pub fn read(&self, ptr: PagePtr, _access: Access) -> Result<PageRef<'_>> {
        match &self.backing {
            Backing::Memory(pages) => pages.read(ptr),
        }
    }

    /// As [`PageStore::read`], for a pin that keeps the store alive.
    pub fn read_owned(self: &Arc<Self>, ptr: PagePtr, access: Access) -> Result<OwnedPage> {
        OwnedPage::new(Arc::clone(self), ptr, access)
    }

    /// Allocates one page of `units` consecutive units, as low in the file as there is room.
    pub fn allocate(&self, units: u16) -> Result<PageNo> {
        assert!(units > 0 && units <= UNITS_MAX);
        let range = self.allocate_run(u64::from(units), u64::from(units))?;
        Ok(range.start)
    }

    /// Allocates a run of at least `least` and at most `wanted` consecutive pages.
    pub fn allocate_run(&self, least: u64, wanted: u64) -> Result<PageRange> {
        let mut space = self.space.lock();
        loop {
            if let Some(range) = space.take(least, wanted) {
                return Ok(range);
            }
            space.grow(least)?;
        }
    }

    /// A writer of pages at consecutive places.
    pub fn writer(self: &Arc<Self>) -> PageWriter {
        PageWriter::new(Arc::clone(self))
    }

    /// Frees pages that nothing refers to and no checkpoint ever did: they may be reused at once.
    pub fn free<T: Into<PageRange>>(&self, ranges: impl IntoIterator<Item = T>) {
        let mut space = self.space.lock();
        for range in ranges {
            let range = range.into();
            let Backing::Memory(pages) = &self.backing;
            if pages.forget(range.start.0, range.pages) {
                space.give_back(range);
            }
        }
    }

    fn write_pages(&self, first: PageNo, units: u16, bytes: &mut [u8]) -> Result<()> {
        let Backing::Memory(pages) = &self.backing;
        let mut number = first;
        for page in bytes.chunks_mut(usize::from(units) * self.page_size) {
            pages.write(number, page);
            number.0 += u64::from(units);
        }
        self.bytes_written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// How many pages at the beginning of the file hold the superblocks.
fn reserved_pages(page_size: usize) -> u64 {
    (8192 / page_size as u64).max(1)
}

#[cfg(test)]
mod tests;
