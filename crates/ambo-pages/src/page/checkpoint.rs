//! A checkpoint as the pages see it: which become part of the durable state, and which cease to be.
//!
//! # Steps
//! 1. [`PageStore::begin_checkpoint`] with the pages that the new state refers to for the first time and those that it no longer
//!    refers to. It writes the list of free pages of the new state into pages that were free in the old one.
//! 2. The caller puts [`PendingCheckpoint::free_list`] and [`PendingCheckpoint::file_pages`] into a superblock:
//!    [`PageStore::sync`], [`PageStore::write_superblock`], [`PageStore::sync`]. The first sync makes the pages durable
//!    before anything durable refers to them.
//! 3. [`PendingCheckpoint::commit`]. The retired pages, and those of the old list, are handed to the caller as
//!    [`RetiredPages`], which belong into the old version of what they were part of: they become free when they are dropped
//!    with it, after its last reader.
//!
//! # Crashes
//! | when | what is found |
//! |---|---|
//! | before the superblock is durable | the old state: nothing that it refers to was written to. What was written since is free |
//! | after | the new state: its list names also what old readers still had. Nothing is lost |
//!
//! Invariant: pages that a superblock leads to ⊎ pages that its list names ⊎ superblocks and list = all pages of the file.

use std::sync::Arc;

use ambo_types::{Error, Result, id::PageNo};

use super::{Backing, PageRange, PageStore, Superblock, free_list, free_list::FreeListRoot, reserved_pages};

/// A checkpoint whose list is written and whose superblock is not. Dropped without [`PendingCheckpoint::commit`] or
/// [`PendingCheckpoint::abort`], as when it is unknown what of the superblock is on disk, nothing that it took part in becomes free
/// and no further checkpoint can begin: reopen.
#[must_use = "it must be committed or aborted"]
pub struct PendingCheckpoint {
    store: Arc<PageStore>,
    root: FreeListRoot,
    list: Vec<PageNo>,
    end: u64,
    retired: Vec<PageRange>,
}

impl PageStore {
    /// Begins a checkpoint; see the [module](self). Of `published`, pages that are published already stay so; pages may be
    /// in both lists, and are then retired. One checkpoint at a time.
    ///
    /// # Errors
    /// Nothing has changed then, and the checkpoint may be begun again.
    ///
    /// # Panics
    /// If a page of either list is free, or `retired` names one twice.
    pub fn begin_checkpoint(
        self: &Arc<Self>,
        published: &[PageRange],
        retired: &[PageRange],
    ) -> Result<PendingCheckpoint> {
        let (root, list, end, pages) = self.plan_checkpoint(published, retired)?;
        let pending =
            PendingCheckpoint { store: Arc::clone(self), root, list, end, retired: retired.to_vec() };
        assert_eq!(pages.len(), pending.list.len(), "each page of the list is written");
        for (number, mut page) in pending.list.iter().zip(pages) {
            if let Err(error) = self.write_pages(*number, 1, &mut page, false) {
                pending.abort();
                return Err(error);
            }
        }
        Ok(pending)
    }

    #[allow(clippy::type_complexity, reason = "the parts of one plan, taken apart at once")]
    fn plan_checkpoint(
        &self,
        published: &[PageRange],
        retired: &[PageRange],
    ) -> Result<(FreeListRoot, Vec<PageNo>, u64, Vec<Vec<u8>>)> {
        let mut space = self.space.lock();
        let mut list_pages = 1;
        loop {
            let plan = space.begin(published, retired, list_pages)?;
            if let Some(pages) = free_list::encode(&plan.free, &plan.list, self.page_size) {
                let root = FreeListRoot {
                    first: plan.list[0],
                    list_pages: plan.list.len() as u32,
                    free_pages: plan.free.pages(),
                };
                debug_assert!(plan.list.iter().all(|page| page.0 < plan.end), "the list is in the file");
                debug_assert!(
                    free_list::is_read_from(&plan.free, &plan.list, &pages, self.page_size),
                    "a list is read as it was written"
                );
                space.publish(published, retired, &plan.list);
                return Ok((root, plan.list, plan.end, pages));
            }
            // Taking pages for the list may split runs: a little room avoids a third round.
            let needed = free_list::pages_needed(&plan.free, self.page_size);
            list_pages = (needed + needed / 64).max(list_pages + 1);
            space.drop_list(&plan.list);
        }
    }

    /// Takes over the free list that a superblock names.
    pub(super) fn load_free_list(&self, superblock: &Superblock, file_end: u64) -> Result<()> {
        let Backing::File(pages) = &self.backing else { unreachable!("only files are opened") };
        let reserved = reserved_pages(self.page_size);
        let root = &superblock.free_list;
        let (free, list) =
            free_list::read(root, reserved, superblock.file_pages, self.page_size, |number, page| {
                pages.load(number, page)
            })?;
        self.space.lock().load(&free, list, superblock.file_pages, file_end)
    }

    /// Lets nothing that is free be used until what is returned is dropped: readers in other processes may have it from an older
    /// checkpoint. What the log refers to has been [reserved](PageStore::reserve) before.
    pub fn hold_free(self: &Arc<Self>) -> RetiredPages {
        let batch = self.space.lock().hold_free();
        RetiredPages { store: Arc::clone(self), batch }
    }

    /// Goes on with a later checkpoint of a file that another process writes. What is returned are pages that it has no more: they
    /// belong to whoever still reads an older one. REQUIRES: the other process lets no page be reused that is read here.
    ///
    /// # Errors
    /// [`Error::Damaged`] where that was done all the same, or the list of free pages cannot be read.
    pub fn follow(self: &Arc<Self>, superblock: &Superblock) -> Result<RetiredPages> {
        let Backing::File(pages) = &self.backing else { unreachable!("only files are followed") };
        let reserved = reserved_pages(self.page_size);
        let (root, end) = (&superblock.free_list, superblock.file_pages);
        let (free, list) =
            free_list::read(root, reserved, end, self.page_size, |number, page| pages.load(number, page))?;
        let batch = self.space.lock().follow(&free, list, end)?;
        Ok(RetiredPages { store: Arc::clone(self), batch })
    }

    /// As [`PageStore::open`] of a file that another process goes on to write: its end is what the superblock says.
    pub(super) fn follow_first(&self, superblock: &Superblock) -> Result<()> {
        self.load_free_list(superblock, superblock.file_pages)
    }

    /// The pages that the file is said to have free by its own list, and the list's own: for checking a database.
    pub fn stored_free_list(&self, superblock: &Superblock) -> Result<(Vec<PageRange>, Vec<PageRange>)> {
        let Backing::File(pages) = &self.backing else {
            return Err(Error::Invalid("a store in memory has no stored list of free pages".into()));
        };
        let (free, list) = free_list::read(
            &superblock.free_list,
            reserved_pages(self.page_size),
            superblock.file_pages,
            self.page_size,
            |number, page| pages.load(number, page),
        )?;
        Ok((free.iter().collect(), list))
    }

    /// Frees the pages of a batch, whose owner is gone.
    fn release_batch(&self, batch: u64) {
        let ranges = self.space.lock().batch(batch);
        if let Backing::File(pages) = &self.backing {
            ranges.iter().for_each(|range| pages.forget(*range));
        }
        self.space.lock().release(batch);
    }
}

impl PendingCheckpoint {
    /// For the superblock: where the list of free pages is.
    pub fn free_list(&self) -> FreeListRoot {
        self.root
    }

    /// For the superblock: how many pages the file has.
    pub fn file_pages(&self) -> u64 {
        self.end
    }

    /// REQUIRES: the superblock is durable. Returns the retired pages for their last owner.
    pub fn commit(self) -> RetiredPages {
        let batch = self.store.space.lock().commit(self.retired, &self.list);
        RetiredPages { store: self.store, batch }
    }

    /// REQUIRES: no superblock that names this checkpoint was written, not even in part. All is as before it began.
    pub fn abort(self) {
        self.store.space.lock().abort(&self.list);
    }
}

/// Pages that the durable state no longer refers to, but perhaps readers do: they become free when this is dropped.
pub struct RetiredPages {
    store: Arc<PageStore>,
    batch: u64,
}

impl RetiredPages {
    /// How many there are.
    pub fn pages(&self) -> u64 {
        self.store.space.lock().batch(self.batch).iter().map(|range| range.pages).sum()
    }

    /// Gives some of the pages an owner of their own.
    ///
    /// # Panics
    /// If they are not all among these.
    #[must_use = "they become free when it is dropped"]
    pub fn split(&self, part: &[PageRange]) -> Self {
        let batch = self.store.space.lock().split(self.batch, part);
        Self { store: Arc::clone(&self.store), batch }
    }
}

impl Drop for RetiredPages {
    fn drop(&mut self) {
        self.store.release_batch(self.batch);
    }
}
