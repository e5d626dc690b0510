//! The pages of a checkpoint as a file of their own: for copies of a database that is in use.
//!
//! An image has what the superblock leads to, and nothing else: free pages are holes in it. So it is a database that was closed in order,
//! provided that nothing before the checkpoint is in the log alone.
//!
//! # Who keeps the pages
//! The list of free pages is replaced with the next checkpoint, so it is read at once. All other pages are kept by whoever makes the image,
//! who has a version that reaches them, until it is written.

use std::sync::Arc;

use ambo_types::{Error, Result, id::PageNo};

use super::{Backing, Extents, NAME, PageRange, PageStore, Superblock, reserved_pages};
use crate::io::{File, read_failed};

/// So many bytes are copied, and then on their way to the device, before the next: a sync at the end has little to do.
const STEP_BYTES: u64 = 8 << 20;

/// The pages of a checkpoint, to be written to another file.
pub struct PagesImage {
    superblock: Superblock,
    file: Arc<dyn File>,
    /// Without superblocks, free pages and their list.
    pages: Extents,
    /// The pages of the list of free pages, as they are.
    list: Vec<(PageNo, Vec<u8>)>,
}

impl PagesImage {
    /// The pages of the last checkpoint, whose superblock is given. REQUIRES: no other checkpoint is begun meanwhile.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a store without a file, [`Error::Damaged`] if its list of free pages cannot be read.
    pub fn new(store: &PageStore, superblock: &Superblock) -> Result<Self> {
        let Backing::File(stored) = &store.backing else {
            return Err(Error::Invalid("pages in memory have no file that could be copied".into()));
        };
        let (free, of_list) = store.stored_free_list(superblock)?;
        let reserved = reserved_pages(store.page_size);
        let rest = superblock.file_pages.saturating_sub(reserved);
        let mut pages: Extents = [PageRange::new(PageNo(reserved), rest)].into_iter().collect();
        for range in free.iter().chain(&of_list) {
            pages.remove(*range);
        }
        let known = free.iter().chain(&of_list).map(|range| range.pages).sum::<u64>();
        debug_assert_eq!(pages.pages() + known, rest, "a page is in use, free, or of the list");
        let mut list = Vec::new();
        for number in of_list.iter().flat_map(|range| range.start.0..range.end()).map(PageNo) {
            let mut page = vec![0; store.page_size];
            stored.load(number, &mut page)?;
            list.push((number, page));
        }
        Ok(Self { superblock: superblock.clone(), file: Arc::clone(&stored.file), pages, list })
    }

    /// Bytes of the pages that it has.
    pub fn bytes(&self) -> u64 {
        (self.pages.pages() + self.list.len() as u64) * u64::from(self.superblock.page_size)
    }

    /// The superblock of the checkpoint.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Bytes of the file that the image is, free pages with it.
    pub fn file_bytes(&self) -> u64 {
        self.superblock.file_pages * u64::from(self.superblock.page_size)
    }

    /// Fills `buffer`, which is of whole pages, with the image's bytes from `offset` on. False if nothing is there: all is zero.
    /// REQUIRES: the range is within the image.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<bool> {
        let page_size = u64::from(self.superblock.page_size);
        let end = offset + buffer.len() as u64;
        assert!(offset.is_multiple_of(page_size) && end.is_multiple_of(page_size), "whole pages are read");
        assert!(end <= self.file_bytes(), "an image is not read beyond its end");
        let wanted = PageRange::new(PageNo(offset / page_size), (end - offset) / page_size);
        buffer.fill(0);
        let mut is_filled = false;
        for range in self.pages.intersection(wanted) {
            let (from, to) = (range.start.0 * page_size, range.end() * page_size);
            let part = &mut buffer[(from - offset) as usize..(to - offset) as usize];
            self.file.read_at(part, from).map_err(|error| read_failed(NAME, from, error))?;
            is_filled = true;
        }
        let of_list = self.list.iter().map(|(number, page)| (number.0 * page_size, &page[..]));
        let superblocks = self.superblocks().map(|superblock| (superblock.offset(), superblock.encode()));
        let superblocks: Vec<_> = superblocks.collect();
        let reserved = superblocks.iter().map(|(at, bytes)| (*at, &bytes[..]));
        for (at, bytes) in of_list.chain(reserved).filter(|(at, _)| (offset..end).contains(at)) {
            let at = (at - offset) as usize;
            buffer[at..at + bytes.len()].copy_from_slice(bytes);
            is_filled = true;
        }
        Ok(is_filled)
    }

    /// Writes the image to a new, empty file, durably.
    pub fn write_to(&self, target: &dyn File) -> Result<()> {
        let page_size = u64::from(self.superblock.page_size);
        let failed = |error| Error::io(format!("copying {NAME}"), error);
        target.set_len(self.superblock.file_pages * page_size).map_err(failed)?;
        for range in self.pages.iter() {
            let (mut at, end) = (range.start.0 * page_size, range.end() * page_size);
            while at < end {
                let len = (end - at).min(STEP_BYTES);
                target.copy_from(&*self.file, at, len).map_err(failed)?;
                target.start_writeback(at, len);
                at += len;
            }
        }
        for (number, page) in &self.list {
            target.write_at(page, number.0 * page_size).map_err(failed)?;
        }
        self.write_superblocks(target)?;
        target.sync().map_err(failed)
    }

    /// Both say the same, so that the loss of one is none.
    fn superblocks(&self) -> impl Iterator<Item = Superblock> {
        let before = (self.superblock.sequence > 1)
            .then(|| Superblock { sequence: self.superblock.sequence - 1, ..self.superblock.clone() });
        before.into_iter().chain([self.superblock.clone()])
    }

    fn write_superblocks(&self, target: &dyn File) -> Result<()> {
        self.superblocks().try_for_each(|superblock| superblock.write(target))
    }
}

#[cfg(test)]
mod tests {
    use ambo_types::id::{Lsn, Timestamp};

    use super::*;
    use crate::{
        io::{Disk, OpenMode, sim::SimDisk},
        page::{FreeListRoot, PageKind, PageStoreOptions, header},
    };

    fn page(kind: PageKind, size: usize) -> Vec<u8> {
        let mut page = vec![0; size];
        header::set_header(&mut page, kind, 0);
        page
    }

    fn superblock(pages: u64, free_list: FreeListRoot) -> Superblock {
        Superblock {
            page_size: 4096,
            database_id: 7,
            sequence: 2,
            timestamp: Timestamp(5),
            log_from: Lsn(0),
            file_pages: pages,
            free_list,
            catalog: Vec::new(),
            other: Vec::new(),
        }
    }

    /// Keeps away: an image that lacks a page in use, has free pages, or cannot be opened.
    #[test]
    fn an_image_is_a_checkpoint_of_its_own() {
        let disk = SimDisk::new(3);
        let file = disk.open(NAME, OpenMode::Create).unwrap();
        let options = PageStoreOptions { page_size: 4096, ..PageStoreOptions::default() };
        let store = PageStore::create(file, &options).unwrap();
        let range = store.allocate_run(6, 6).unwrap();
        for number in range.start.0..range.end() {
            store.write_pages(PageNo(number), 1, &mut page(PageKind::Leaf, 4096), false).unwrap();
        }
        let (kept, freed) = (PageRange::new(range.start, 4), PageRange::new(PageNo(range.start.0 + 4), 2));
        store.free([freed]);
        let pending = store.begin_checkpoint(&[kept], &[]).unwrap();
        let superblock = superblock(pending.file_pages(), pending.free_list());
        store.sync().unwrap();
        store.write_superblock(&superblock).unwrap();
        store.sync().unwrap();
        drop(pending.commit());

        let image = PagesImage::new(&store, &superblock).unwrap();
        let copy = disk.open("copy", OpenMode::Create).unwrap();
        image.write_to(&*copy).unwrap();
        let mut read = vec![1; image.file_bytes() as usize];
        for (index, part) in read.chunks_mut(3 * 4096).enumerate() {
            let is_filled = image.read_at(part, index as u64 * 3 * 4096).unwrap();
            assert_eq!(is_filled, part.iter().any(|byte| *byte != 0));
        }
        disk.sync_directory().unwrap();
        let disk = disk.crash();
        let copy = disk.open("copy", OpenMode::ReadWrite).unwrap();
        let opened = Superblock::open(&*copy).unwrap();
        assert_eq!((opened.superblock, opened.other), (superblock.clone(), None));
        let store = PageStore::open(copy, &options, &superblock).unwrap();
        for number in kept.start.0..kept.end() {
            let Backing::File(pages) = &store.backing else { unreachable!("it is in a file") };
            pages.load(PageNo(number), &mut page(PageKind::Leaf, 4096)).unwrap();
        }
        let there = disk.contents("copy").unwrap();
        assert!(read == there, "what is read of an image is what it writes");
        let free = store.stored_free_list(&superblock).unwrap().0;
        for range in free {
            let bytes = &there[range.start.0 as usize * 4096..range.end() as usize * 4096];
            assert!(bytes.iter().all(|byte| *byte == 0), "a free page was copied");
        }
    }
}
