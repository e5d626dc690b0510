//! The `pages` file: pages, the pool that keeps the used ones in memory, free space, superblocks and blobs.

use std::{
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use ambo_types::{
    Error, Result,
    id::{PageNo, PagePtr},
};
use parking_lot::Mutex;

use crate::{
    budget::{Cache, Giver, MemoryBudget},
    io::File,
    readers::Reader,
};

mod arena;
pub mod blob;
pub mod checkpoint;
mod counter;
mod dictionaries;
mod extents;
mod file;
mod frame;
mod free_list;
pub mod header;
mod image;
mod memory;
mod page_ref;
mod pool;
mod space;
pub mod superblock;
mod table;
mod writer;

pub use blob::{BlobReader, BlobRef, BlobWriter};
pub use checkpoint::{PendingCheckpoint, RetiredPages};
pub use dictionaries::Dictionaries;
pub use extents::Extents;
pub use extents::PageRange;
pub use extents::are_disjoint;
pub use free_list::FreeListRoot;
pub use header::{HEADER_BYTES, PageKind};
pub use image::PagesImage;
pub use page_ref::{HotPage, OwnedPage, PageRef};
pub use space::PageOwners;
pub use superblock::Superblock;
pub use writer::PageWriter;

use file::FilePages;
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
    /// Where memory for pages comes from.
    pub memory: Arc<MemoryBudget>,
}

impl Default for PageStoreOptions {
    fn default() -> Self {
        Self { page_size: PAGE_SIZE_DEFAULT, memory: MemoryBudget::new(256 << 20) }
    }
}

/// Figures of a store since it was opened, and its sizes now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageStats {
    /// Reads that found their page in memory. With many threads an estimate.
    pub hits: u64,
    /// Reads that went to the file.
    pub misses: u64,
    /// Of these, those that found every frame of the pool pinned and had to use memory beyond the budget.
    pub overflows: u64,
    /// Bytes of memory for pages, whether or not they hold one now.
    pub resident_bytes: u64,
    /// Bytes read from the file.
    pub bytes_read: u64,
    /// Bytes of pages written.
    pub bytes_written: u64,
    /// Pages of the file, superblocks included.
    pub file_pages: u64,
    /// Of these, pages that may be allocated at once.
    pub free_pages: u64,
    /// Of these, all others: with contents, or waiting for a checkpoint or a reader.
    pub used_pages: u64,
}

/// Where the pages of a store are.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one a database, and a box would cost every read a step"
)]
enum Backing {
    Memory(MemoryPages),
    File(FilePages),
}

/// All pages of a database, in a file behind a buffer pool, or in memory.
///
/// # Who owns a page
/// A page is allocated by a [`PageWriter`] or [`BlobWriter`], which frees it again when it is dropped without
/// `finish`. Afterwards its ranges belong to the caller, who either frees them, or names them as published in the next
/// [`PageStore::begin_checkpoint`] that refers to them. Once published they only become free by being named as retired in
/// a later checkpoint. What is allocated, and neither freed nor published, is free again after the store is reopened, except for
/// what [`PageStore::reserve`] is told.
pub struct PageStore {
    backing: Backing,
    page_size: usize,
    space: Mutex<Space>,
    bytes_written: AtomicU64,
    /// Bytes pinned by [`HotPage`]s, and how many there may be.
    hot_bytes: AtomicU64,
    hot_bytes_max: u64,
    dictionaries: Dictionaries,
    /// What the pages are held by, if another process writes the file.
    holder: OnceLock<Arc<Reader>>,
}

impl PageStore {
    /// The dictionaries that records in this store's pages are compressed with.
    pub fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    /// A store in a new, empty file. It can be opened again once a [`Superblock`] is durable in it.
    pub fn create(file: Arc<dyn File>, options: &PageStoreOptions) -> Result<Arc<Self>> {
        check_page_size(options.page_size)?;
        let reserved = reserved_pages(options.page_size);
        let len = reserved * options.page_size as u64;
        file.set_len(len).map_err(|error| Error::io(format!("extending {NAME} to {len} bytes"), error))?;
        let space = Space::new(reserved, table::PAGES_MAX, options.page_size, Some(Arc::clone(&file)));
        Self::with_file(file, options, space)
    }

    /// The store in a file as `superblock` describes it; the page size is the superblock's. Reads the free list.
    pub fn open(
        file: Arc<dyn File>,
        options: &PageStoreOptions,
        superblock: &Superblock,
    ) -> Result<Arc<Self>> {
        let options = PageStoreOptions { page_size: superblock.page_size as usize, ..options.clone() };
        check_page_size(options.page_size)?;
        let reserved = reserved_pages(options.page_size);
        let len = file.len().map_err(|error| Error::io(format!("asking for the length of {NAME}"), error))?;
        let space = Space::new(reserved, table::PAGES_MAX, options.page_size, Some(Arc::clone(&file)));
        let store = Self::with_file(file, &options, space)?;
        store.load_free_list(superblock, len / options.page_size as u64)?;
        Ok(store)
    }

    /// As [`PageStore::open`], of a file that another process goes on to write. Nothing is written here. The pages are held as long as the
    /// store lives: whoever reads some has it.
    pub fn open_beside(
        file: Arc<dyn File>,
        options: &PageStoreOptions,
        superblock: &Superblock,
        holder: Arc<Reader>,
    ) -> Result<Arc<Self>> {
        let options = PageStoreOptions { page_size: superblock.page_size as usize, ..options.clone() };
        check_page_size(options.page_size)?;
        let reserved = reserved_pages(options.page_size);
        let space = Space::new(reserved, table::PAGES_MAX, options.page_size, None);
        let store = Self::with_file(file, &options, space)?;
        store.follow_first(superblock)?;
        store.holder.set(holder).expect("a store is opened once");
        Ok(store)
    }

    fn with_file(file: Arc<dyn File>, options: &PageStoreOptions, space: Space) -> Result<Arc<Self>> {
        let memory = &options.memory;
        let pages = FilePages::new(file, memory.clone(), options.page_size)?;
        let store = Arc::new(Self {
            backing: Backing::File(pages),
            page_size: options.page_size,
            space: Mutex::new(space),
            bytes_written: AtomicU64::new(0),
            hot_bytes: AtomicU64::new(0),
            hot_bytes_max: (memory.limit() / HOT_SHARE) as u64,
            dictionaries: Dictionaries::default(),
            holder: OnceLock::new(),
        });
        let giver: Weak<Self> = Arc::downgrade(&store);
        memory.register(Cache::Pages, giver);
        Ok(store)
    }

    /// A store without a file: pages are kept in memory until they are freed.
    ///
    /// # Panics
    /// If `page_size` is none that [`PageStoreOptions`] allows, or there is no address space.
    pub fn memory(page_size: usize) -> Arc<Self> {
        check_page_size(page_size).expect("a valid page size");
        let pages = MemoryPages::new(page_size);
        let space = Space::new(reserved_pages(page_size), pages.pages_max(), page_size, None);
        Arc::new(Self {
            backing: Backing::Memory(pages),
            page_size,
            space: Mutex::new(space),
            bytes_written: AtomicU64::new(0),
            hot_bytes: AtomicU64::new(0),
            hot_bytes_max: u64::MAX,
            dictionaries: Dictionaries::default(),
            holder: OnceLock::new(),
        })
    }

    /// Bytes of a page of one unit.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Whether the pages are in memory only.
    pub fn is_memory(&self) -> bool {
        matches!(self.backing, Backing::Memory(_))
    }

    /// Pins a page in memory, reading and verifying it if it is not there.
    ///
    /// A pointer that leads to no sound page, or to a free one, is [`Error::Damaged`]: it was read from somewhere. Freed pages leave the
    /// pool, so to look at what comes from the file is enough. With assertions every read is looked at: whoever reads a free page
    /// may be one of ours that does not keep the version that has it.
    #[inline]
    pub fn read(&self, ptr: PagePtr, access: Access) -> Result<PageRef<'_>> {
        match &self.backing {
            Backing::File(pages) => {
                if ptr.units() == 0 || ptr.units() > UNITS_MAX {
                    return Err(no_page(ptr));
                }
                if cfg!(debug_assertions) {
                    self.check_in_use(ptr.into())?;
                }
                pages.read(ptr, access, || self.check_in_use(ptr.into()))
            }
            Backing::Memory(pages) => pages.read(ptr),
        }
    }

    /// As [`PageStore::read`], for a pin that keeps the store alive.
    pub fn read_owned(self: &Arc<Self>, ptr: PagePtr, access: Access) -> Result<OwnedPage> {
        OwnedPage::new(Arc::clone(self), ptr, access)
    }

    /// Pins a page for as long as its owner likes, as the upper pages of a tree while the tree lives: reached without touching
    /// a shared counter. `None` once such pins hold a thirty-second of the budget.
    pub fn read_hot(self: &Arc<Self>, ptr: PagePtr) -> Result<Option<HotPage>> {
        let bytes = u64::from(ptr.units()) * self.page_size as u64;
        let room = |had: u64| had.checked_add(bytes).filter(|sum| *sum <= self.hot_bytes_max);
        if self.hot_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_err() {
            return Ok(None);
        }
        let page = self.read_owned(ptr, Access::Inner);
        if page.is_err() {
            self.release_hot(bytes);
        }
        page.map(|page| Some(HotPage::new(page, bytes)))
    }

    /// Whether a page of a range is free.
    pub fn is_free(&self, range: PageRange) -> bool {
        self.space.lock().is_free(range)
    }

    fn check_in_use(&self, range: PageRange) -> Result<()> {
        if self.is_free(range) {
            return Err(free_page(range, self.page_size));
        }
        Ok(())
    }

    /// Who has the pages.
    pub fn owners(&self) -> PageOwners {
        self.space.lock().owners()
    }

    /// Takes a free page for nobody: for tests of what finds such pages.
    #[cfg(any(test, feature = "faults"))]
    pub fn lose_page(&self) -> PageRange {
        self.space.lock().lose()
    }

    fn release_hot(&self, bytes: u64) {
        let had = self.hot_bytes.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(had >= bytes, "{bytes} of {had} bytes are let go");
    }

    /// Allocates one page of `units` consecutive units, as low in the file as there is room.
    pub fn allocate(&self, units: u16) -> Result<PageNo> {
        assert!(units > 0 && units <= UNITS_MAX, "a page has {units} units");
        let range = self.allocate_run(u64::from(units), u64::from(units))?;
        Ok(range.start)
    }

    /// Allocates a run of at least `least` and at most `wanted` consecutive pages: a low one that is not much shorter than
    /// wanted, or else any; the file grows only if there is none.
    pub fn allocate_run(&self, least: u64, wanted: u64) -> Result<PageRange> {
        assert!(least > 0 && least <= wanted, "pages are asked for, {least} to {wanted}");
        let mut space = self.space.lock();
        for range in std::mem::take(&mut space.lingering) {
            self.free_in(&mut space, range);
        }
        space.take(least, wanted)
    }

    /// A writer of pages at consecutive places.
    pub fn writer(self: &Arc<Self>) -> PageWriter {
        PageWriter::new(Arc::clone(self))
    }

    /// Frees pages that nothing refers to any more and no checkpoint ever did: they may be reused at once.
    ///
    /// # Panics
    /// If a page is free already, or part of a checkpoint: those are retired, see [`PageStore::begin_checkpoint`].
    pub fn free<T: Into<PageRange>>(&self, ranges: impl IntoIterator<Item = T>) {
        for range in ranges {
            let range = range.into();
            if let Backing::File(pages) = &self.backing {
                pages.forget(range);
            }
            self.free_in(&mut self.space.lock(), range);
        }
    }

    fn free_in(&self, space: &mut Space, range: PageRange) {
        match &self.backing {
            Backing::Memory(pages) if !pages.forget(range.start.0, range.pages) => {
                space.lingering.push(range)
            }
            _ => space.give_back(range),
        }
    }

    /// Takes certain pages that are free, or reserved already: what the log refers to and no checkpoint does.
    /// Before the first allocation after [`PageStore::open`].
    pub fn reserve<T: Into<PageRange>>(&self, ranges: impl IntoIterator<Item = T>) -> Result<()> {
        let mut space = self.space.lock();
        ranges.into_iter().try_for_each(|range| space.reserve(range.into()))
    }

    /// Cuts the file where its end is free; returns how many pages it lost.
    pub fn truncate_tail(&self) -> Result<u64> {
        self.space.lock().truncate(|range| self.discard(range))
    }

    /// Bytes that the file occupies on the device; of a store in memory, those of its pages.
    pub fn file_bytes(&self) -> Result<u64> {
        match &self.backing {
            Backing::Memory(_) => Ok(self.stats().used_pages * self.page_size as u64),
            Backing::File(pages) => pages.allocated_len(),
        }
    }

    /// Bytes of the device that free pages occupy.
    pub fn idle_bytes(&self) -> u64 {
        self.space.lock().idle_pages() * self.page_size as u64
    }

    /// Gives the space of free runs of at least `pages_min` pages back to the file system; returns how many pages that were not
    /// given back before.
    pub fn punch_free(&self, pages_min: u64) -> Result<u64> {
        self.space.lock().punch(pages_min, |range| self.discard(range))
    }

    fn discard(&self, range: PageRange) {
        if let Backing::Memory(pages) = &self.backing {
            // SAFETY: the range is free, and the caller holds the lock under which it would be allocated.
            unsafe { pages.discard(range.start.0, range.pages) };
        }
    }

    /// Makes all written pages, and the superblock, durable.
    pub fn sync(&self) -> Result<()> {
        match &self.backing {
            Backing::Memory(_) => Ok(()),
            Backing::File(pages) => {
                pages.file.sync().map_err(|error| Error::io(format!("syncing {NAME}"), error))
            }
        }
    }

    /// Writes a superblock into the file; durable after [`PageStore::sync`]. Nothing to do in memory.
    pub fn write_superblock(&self, superblock: &Superblock) -> Result<()> {
        match &self.backing {
            Backing::Memory(_) => Ok(()),
            Backing::File(pages) => superblock.write(&*pages.file),
        }
    }

    /// Figures and sizes.
    pub fn stats(&self) -> PageStats {
        let (end, free) = {
            let space = self.space.lock();
            (space.end(), space.free_pages())
        };
        debug_assert!(free <= end, "free pages are pages of the file");
        let sizes = PageStats {
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
            file_pages: end,
            free_pages: free,
            used_pages: end - free,
            ..PageStats::default()
        };
        match &self.backing {
            Backing::Memory(_) => PageStats { resident_bytes: (end - free) * self.page_size as u64, ..sizes },
            Backing::File(pages) => PageStats {
                hits: pages.pool.hits.get(),
                misses: pages.pool.misses.get(),
                overflows: pages.pool.overflows.get(),
                resident_bytes: pages.pool.resident_bytes() as u64,
                bytes_read: pages.bytes_read(),
                ..sizes
            },
        }
    }

    /// Writes consecutive pages of `units` units each; `keep` says that they will be read soon.
    fn write_pages(&self, first: PageNo, units: u16, bytes: &mut [u8], keep: bool) -> Result<()> {
        debug_assert!(
            self.space.lock().is_in_writing(PageRange::new(first, (bytes.len() / self.page_size) as u64)),
            "page {first} is written by who has taken it"
        );
        match &self.backing {
            Backing::Memory(pages) => pages.write(first, units, bytes),
            Backing::File(pages) => pages.write(first, units, bytes, keep)?,
        }
        self.bytes_written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Copies consecutive pages of one unit, verified, without a trace in the pool.
    fn read_direct(&self, first: PageNo, pages: &mut [u8]) -> Result<()> {
        match &self.backing {
            Backing::File(file) => {
                self.check_in_use(PageRange::new(first, (pages.len() / self.page_size) as u64))?;
                file.read_direct(first, pages)
            }
            Backing::Memory(memory) => {
                for (number, page) in (first.0..).zip(pages.chunks_mut(self.page_size)) {
                    page.copy_from_slice(&memory.read(PagePtr::new(PageNo(number), 1))?);
                }
                Ok(())
            }
        }
    }
}

impl Giver for PageStore {
    fn give(&self, bytes: usize) {
        if let Backing::File(pages) = &self.backing {
            pages.pool.give(bytes);
        }
    }

    fn give_spare(&self, bytes: usize) {
        if let Backing::File(pages) = &self.backing {
            pages.pool.give_spare(bytes);
        }
    }
}

impl fmt::Debug for PageStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStore").field("page_size", &self.page_size).field("stats", &self.stats()).finish()
    }
}

/// The part of the budget that may be pinned for long: half of what is the pool's for certain.
const HOT_SHARE: usize = 32;

/// How many pages at the beginning of the file hold the superblocks.
pub fn reserved_pages(page_size: usize) -> u64 {
    superblock::RESERVED_BYTES.div_ceil(page_size) as u64
}

fn check_page_size(size: usize) -> Result<()> {
    if !size.is_power_of_two() || !(PAGE_SIZE_MIN..=PAGE_SIZE_MAX).contains(&size) {
        return Err(Error::Invalid(format!(
            "page size {size}: a power of two from 4 KiB to 64 KiB is needed"
        )));
    }
    Ok(())
}

#[cold]
fn no_page(ptr: PagePtr) -> Error {
    Error::damaged(NAME, ptr.number().0, format!("something refers to {ptr:?}, which cannot be a page"))
}

#[cold]
fn free_page(range: PageRange, page_size: usize) -> Error {
    let offset = range.start.0.saturating_mul(page_size as u64);
    Error::damaged(NAME, offset, format!("something refers to {range:?}, and not all of it is in use"))
}

#[cfg(test)]
mod tests;
