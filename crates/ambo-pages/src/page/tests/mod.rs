//! Tests of the page layer as a whole.

use ambo_types::id::PageNo;

use super::*;
use crate::io::{Disk, OpenMode, sim::SimDisk};

mod pool;
mod space;

pub(super) const PAGE: usize = 4096;

/// Fills a page with bytes that follow from a seed.
pub(super) fn fill(page: &mut [u8], seed: u64) {
    for (at, word) in page.chunks_mut(8).enumerate() {
        let value = (seed ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word.copy_from_slice(&value.to_le_bytes()[..word.len()]);
    }
    header::set_header(page, PageKind::Leaf, 0);
}

pub(super) fn page(units: usize, seed: u64) -> Vec<u8> {
    let mut page = vec![0; units * PAGE];
    fill(&mut page, seed);
    page
}

pub(super) fn is_page(got: &[u8], seed: u64) -> bool {
    got[HEADER_BYTES..] == page(got.len() / PAGE, seed)[HEADER_BYTES..]
}

pub(super) fn assert_page(store: &PageStore, ptr: PagePtr, seed: u64, access: Access) {
    let got = store.read(ptr, access).unwrap();
    assert_eq!(got.len(), usize::from(ptr.units()) * PAGE);
    assert!(is_page(&got, seed), "{ptr:?} does not hold {seed}");
}

pub(super) fn options(frames: usize) -> PageStoreOptions {
    PageStoreOptions { page_size: PAGE, memory: MemoryBudget::new(frames * PAGE) }
}

pub(super) fn store_on(disk: &SimDisk, frames: usize) -> Arc<PageStore> {
    let file = disk.open(NAME, OpenMode::Create).unwrap();
    PageStore::create(file, &options(frames)).unwrap()
}

pub(super) fn store_in(memory: &Arc<MemoryBudget>) -> Arc<PageStore> {
    let file = SimDisk::new(1).open(NAME, OpenMode::Create).unwrap();
    PageStore::create(file, &PageStoreOptions { page_size: PAGE, memory: memory.clone() }).unwrap()
}

pub(super) fn store(frames: usize) -> Arc<PageStore> {
    store_on(&SimDisk::new(1), frames)
}

/// Writes pages with seeds from 0; every 50th is of several units if `large`.
pub(super) fn write(store: &Arc<PageStore>, count: u64, large: bool) -> Vec<PagePtr> {
    let mut writer = store.writer();
    let units = |seed| if large && seed % 50 == 49 { 3 } else { 1 };
    let ptrs = (0..count).map(|seed| writer.write(&page(units(seed), seed)).unwrap()).collect();
    writer.finish().unwrap();
    ptrs
}

// Keeps away: pages in memory that are lost, mixed up, or cannot be reused.
#[test]
fn pages_in_memory_keep_their_bytes() {
    let store = PageStore::memory(PAGE);
    let ptrs = write(&store, 1000, true);
    for (seed, ptr) in ptrs.iter().enumerate() {
        assert_page(&store, *ptr, seed as u64, Access::Point);
    }
    store.free(ptrs.iter().copied());
    for ptr in ptrs {
        assert!(store.read(ptr, Access::Point).is_err());
    }
    assert_eq!(store.allocate(1).unwrap(), PageNo(2));
}

// Keeps away: memory that is reused while somebody still reads it.
#[test]
fn a_pinned_page_in_memory_is_reused_only_when_unpinned() {
    let store = PageStore::memory(PAGE);
    let ptr = write(&store, 1, false)[0];
    let pin = store.read(ptr, Access::Point).unwrap();
    store.free([ptr]);
    assert_ne!(store.allocate(1).unwrap(), ptr.number());
    assert!(is_page(&pin, 0));
    drop(pin);
    assert_eq!(store.allocate(1).unwrap(), ptr.number());
}

fn assert_free_page_is_refused(result: Result<impl Sized>, number: PageNo) {
    match result.err() {
        Some(Error::Damaged { file, offset, what }) => {
            assert_eq!((file.as_str(), offset), (NAME, number.0 * PAGE as u64));
            assert!(what.contains("not all of it is in use"), "{what}");
        }
        other => panic!("a free page is read: {other:?}"),
    }
}

// Keeps away: a page of a damaged or hostile file that refers to a free page, and panics or shows what was there before; a reader that
// keeps no version, and sees what was written to its page since.
#[test]
fn free_pages_are_not_read() {
    let store = store(8);
    let ptr = write(&store, 1, false)[0];
    assert_page(&store, ptr, 0, Access::Point);
    store.free([ptr]);
    for access in [Access::Point, Access::Scan, Access::Inner] {
        assert_free_page_is_refused(store.read(ptr, access), ptr.number());
    }
    let large = PagePtr::new(ptr.number(), 2);
    assert_free_page_is_refused(store.read(large, Access::Point), ptr.number());
    assert_free_page_is_refused(store.read_owned(ptr, Access::Inner), ptr.number());
}

// Keeps away: the same of several pages at once.
#[test]
fn free_pages_are_not_read_past_the_pool() {
    let store = store(8);
    let ptrs = write(&store, 4, false);
    store.free([ptrs[2]]);
    let read = store.read_direct(ptrs[0].number(), &mut vec![0; 4 * PAGE]);
    assert_free_page_is_refused(read, ptrs[0].number());
}

// Keeps away: a page that somebody brought into the pool after it became free, and before it is written.
#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "is written anew, and in the pool")]
fn pages_in_the_pool_are_not_written() {
    let store = store(8);
    let ptr = write(&store, 1, false)[0];
    assert_page(&store, ptr, 0, Access::Point);
    let _ = store.write_pages(ptr.number(), 1, &mut page(1, 1), false);
}

// Keeps away: a reference whose length or number is nonsense being read out of bounds.
#[test]
fn nonsense_pointers_are_refused() {
    for store in [PageStore::memory(PAGE), store(8)] {
        write(&store, 10, false);
        for raw in
            [0, 2, 1 << 48, u64::MAX, 2 << 48 | 3, 1 << 48 | 999, 0xffff << 48 | 2, (1 << 48) - 1 + (1 << 48)]
        {
            let error = store.read(PagePtr(raw), Access::Point).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{raw:x}: {error}");
        }
    }
}

// Keeps away: pages of a writer that failed, or was dropped, being lost for ever.
#[test]
fn a_dropped_writer_frees_its_pages() {
    for store in [PageStore::memory(PAGE), store(8)] {
        let used = store.stats().used_pages;
        let mut writer = store.writer();
        for seed in 0..600 {
            writer.write(&page(1 + seed as usize % 3, seed)).unwrap();
        }
        assert!(store.stats().used_pages > used + 600);
        drop(writer);
        assert_eq!(store.stats().used_pages, used);
    }
}

// Keeps away: gaps between a writer's pages where there is room in one piece, and tiny writes.
#[test]
fn a_writer_writes_long_runs() {
    let disk = SimDisk::new(3);
    let store = store_on(&disk, 8);
    let mut writer = store.writer();
    (0..1024).for_each(|seed| assert!(writer.write(&page(1, seed)).is_ok()));
    let ranges = writer.finish().unwrap();
    assert_eq!(ranges, [PageRange::new(PageNo(2), 1024)]);
    assert_eq!(store.stats().bytes_written, 1024 * PAGE as u64);
}

// Keeps away: damage in the file that a read does not notice, and errors that do not say where.
#[test]
fn damage_is_reported_with_its_place() {
    let disk = SimDisk::new(4);
    let store = store_on(&disk, 8);
    let ptrs = write(&store, 60, true);
    store.sync().unwrap();
    for (seed, ptr) in ptrs.iter().enumerate() {
        let start = ptr.number().0 * PAGE as u64;
        for at in [0, 4, 5, 6, 8, 16, 100, u64::from(ptr.units()) * PAGE as u64 - 1] {
            let was = disk.contents(NAME).unwrap()[(start + at) as usize];
            disk.corrupt(NAME, start + at, &[was ^ 0x40]).unwrap();
            if let Backing::File(pages) = &store.backing {
                pages.forget((*ptr).into());
            }
            match store.read(*ptr, Access::Point).unwrap_err() {
                Error::Damaged { file, offset, what } => {
                    assert_eq!((file.as_str(), offset), (NAME, start));
                    assert!(what.contains("checksum"), "{what}");
                }
                error => panic!("{error}"),
            }
            disk.corrupt(NAME, start + at, &[was]).unwrap();
            assert_page(&store, *ptr, seed as u64, Access::Point);
        }
    }
}

// Keeps away: a whole page written to another's place, which has a perfect checksum.
#[test]
fn misdirected_pages_are_noticed() {
    let disk = SimDisk::new(4);
    let store = store_on(&disk, 4);
    let ptrs = write(&store, 10, false);
    store.sync().unwrap();
    let bytes = disk.contents(NAME).unwrap();
    let at = ptrs[3].number().0 as usize * PAGE;
    disk.corrupt(NAME, ptrs[9].number().0 * PAGE as u64, &bytes[at..at + PAGE]).unwrap();
    let error = store.read(ptrs[9], Access::Point).unwrap_err().to_string();
    assert!(error.contains("says that it is page 5"), "{error}");
}
