//! Which pages are free, which are in use and not yet in a checkpoint, and which wait to become free.
//!
//! # States of a page
//! ```text
//!             take                    begin (published)            commit
//!   free ───────────► unpublished ─────────────────────► publishing ──────► published
//!    ▲  give_back          │                                                    │ begin (retired)
//!    ├─────────────────────┘                                                    ▼
//!    │                      both the flip is durable and the owner is gone   retiring
//!    └──────────────────────────────────────────────────────────────────────────┘
//! ```
//! "Published" is not kept: it is what remains. The list of a checkpoint names every page that is free *in the state that
//! the checkpoint describes*: the free, the unpublished that it does not publish, and the retired, whoever still reads them:
//! after a crash nobody does. So a crash at any moment leaves a list that fits its checkpoint, and loses no page.
//!
//! # Thread safety
//! One mutex, owned by the store, is held for each change and for the system calls that go with it (growing, cutting and
//! punching the file), never during reads and writes of pages.

use std::{collections::BTreeMap, sync::Arc};

use ambo_types::{Error, Result, id::PageNo};

use super::{
    NAME,
    extents::{Extents, PageRange, are_disjoint},
};
use crate::io::File;

/// The file grows by an eighth, but at least and at most by so much.
const GROW_BYTES_MIN: u64 = 1 << 20;
const GROW_BYTES_MAX: u64 = 64 << 20;
const GROW_SHARE: u64 = 8;

/// The state of all pages.
pub(super) struct Space {
    /// Pages before this hold the superblocks.
    reserved: u64,
    /// The number of the page after the last.
    end: u64,
    pages_max: u64,
    page_size: u64,
    file: Option<Arc<dyn File>>,
    free: Extents,
    /// In use, in no checkpoint.
    unpublished: Extents,
    /// In use, becoming part of the checkpoint that is being written.
    publishing: Option<Vec<PageRange>>,
    /// Parts of an earlier checkpoint that wait for their owner to go, by batch.
    retired: BTreeMap<u64, Vec<PageRange>>,
    next_batch: u64,
    /// The pages of the list in the last checkpoint.
    list: Vec<PageRange>,
    /// Free runs that are holes in the file already.
    punched: Extents,
    /// Freed in memory while still pinned.
    pub(super) lingering: Vec<PageRange>,
}

/// What a list of free pages has to name, and where it is to be written.
pub(super) struct ListPlan {
    pub(super) free: Extents,
    pub(super) list: Vec<PageNo>,
    pub(super) end: u64,
}

/// Who has the pages of a store, but for those that are in its last checkpoint.
#[derive(Clone, Debug)]
pub struct PageOwners {
    /// The number of the page after the last.
    pub end: u64,
    /// Nobody.
    pub free: Vec<PageRange>,
    /// Who writes them, and memtables that refer to them.
    pub unpublished: Extents,
    /// Readers of older versions, and of memory that was freed meanwhile.
    pub waiting: Vec<PageRange>,
    /// The list of free pages in the last checkpoint.
    pub list: Vec<PageRange>,
}

impl Space {
    /// A space in which only the superblocks' pages are taken, and the file ends after them.
    pub(super) fn new(reserved: u64, pages_max: u64, page_size: usize, file: Option<Arc<dyn File>>) -> Self {
        Self {
            reserved,
            end: reserved,
            pages_max,
            page_size: page_size as u64,
            file,
            free: Extents::searchable(),
            unpublished: Extents::new(),
            publishing: None,
            retired: BTreeMap::new(),
            next_batch: 0,
            list: Vec::new(),
            punched: Extents::new(),
            lingering: Vec::new(),
        }
    }

    /// Takes over the state of a checkpoint: its free pages, the pages of its list, and the file's end.
    pub(super) fn load(
        &mut self,
        free: &Extents,
        list: Vec<PageRange>,
        checkpoint_end: u64,
        file_end: u64,
    ) -> Result<()> {
        for range in free.iter() {
            self.free.insert(range);
        }
        self.list = list;
        if file_end < checkpoint_end {
            // Only a tail that is wholly free is ever cut.
            let cut = PageRange::new(PageNo(file_end), checkpoint_end - file_end);
            if !self.free.contains(cut) {
                let what = format!("the file ends here, and pages up to {checkpoint_end} are in use");
                return Err(Error::damaged(NAME, file_end * self.page_size, what));
            }
            self.free.remove(cut);
        } else {
            self.free.insert(PageRange::new(PageNo(checkpoint_end), file_end - checkpoint_end));
        }
        self.end = file_end;
        Ok(())
    }

    /// Takes a run of at least `least` and at most `wanted` pages, growing the file if it must.
    pub(super) fn take(&mut self, least: u64, wanted: u64) -> Result<PageRange> {
        let found = self.free.take_run(least.max(wanted / 4), wanted);
        let found = found.or_else(|| self.free.take_run(least, wanted));
        let range = match found {
            Some(range) => range,
            None => {
                self.grow(least, wanted)?;
                self.free.take_run(least, wanted).expect("the file has just grown by as much")
            }
        };
        assert!(
            range.start.0 >= self.reserved && range.end() <= self.end,
            "{range:?} is taken, and not in the file"
        );
        self.unpublished.insert(range);
        self.punched.remove(range);
        Ok(range)
    }

    fn grow(&mut self, least: u64, wanted: u64) -> Result<()> {
        let tail = self.free.last().filter(|run| run.end() == self.end).map_or(0, |run| run.pages);
        let least = least.saturating_sub(tail);
        let step =
            (self.end * self.page_size / GROW_SHARE).clamp(GROW_BYTES_MIN, GROW_BYTES_MAX) / self.page_size;
        let steps = [step.max(wanted), wanted.max(least), least];
        let mut result = Err(Error::DiskFull(format!("growing {NAME} beyond {} pages", self.pages_max)));
        for pages in steps {
            if pages > self.pages_max - self.end {
                continue;
            }
            result = self.allocate(pages);
            if !matches!(result, Err(Error::DiskFull(_))) {
                break;
            }
        }
        result
    }

    fn allocate(&mut self, pages: u64) -> Result<()> {
        if let Some(file) = &self.file {
            let (offset, len) = (self.end * self.page_size, pages * self.page_size);
            file.allocate(offset, len)
                .map_err(|error| Error::io(format!("growing {NAME} by {len} bytes at {offset}"), error))?;
        }
        let new = self.free.insert(PageRange::new(PageNo(self.end), pages));
        debug_assert_eq!(new, pages, "no page behind the end is free");
        self.end += pages;
        Ok(())
    }

    /// Makes unpublished pages free.
    pub(super) fn give_back(&mut self, range: PageRange) {
        let removed = self.unpublished.remove(range);
        assert_eq!(
            removed, range.pages,
            "{range:?} is freed, and not all of it is in use outside a checkpoint"
        );
        assert_eq!(self.free.insert(range), range.pages, "{range:?} was in use and free at once");
    }

    /// Takes certain pages, which must be free, or reserved already.
    pub(super) fn reserve(&mut self, range: PageRange) -> Result<()> {
        let known = range.end() <= self.end
            && self
                .free
                .intersection(range)
                .iter()
                .chain(&self.unpublished.intersection(range))
                .map(|r| r.pages)
                .sum::<u64>()
                == range.pages;
        if !known {
            let what = format!("{range:?} is referred to by the log, and not all of it is free");
            return Err(Error::damaged(NAME, range.start.0.saturating_mul(self.page_size), what));
        }
        self.free.remove(range);
        self.punched.remove(range);
        self.unpublished.insert(range);
        Ok(())
    }

    /// Begins a checkpoint that publishes and retires these pages, with `list_pages` pages for its list.
    pub(super) fn begin(
        &mut self,
        published: &[PageRange],
        retired: &[PageRange],
        list_pages: u64,
    ) -> Result<ListPlan> {
        if self.publishing.is_some() {
            return Err(Error::Poisoned("an earlier checkpoint was neither completed nor undone".into()));
        }
        let mut list = Vec::new();
        for _ in 0..list_pages {
            match self.take(1, 1) {
                Ok(range) => list.push(range.start),
                Err(error) => {
                    self.drop_list(&list);
                    return Err(error);
                }
            }
        }
        let mut unpublished = self.unpublished.clone();
        for range in published {
            self.assert_in_use(*range);
            unpublished.remove(*range);
        }
        let mut free = self.free.plain();
        let waiting = self.retired.values().flatten().copied();
        for range in unpublished.iter().chain(waiting).chain(self.list.iter().copied()) {
            free.insert(range);
        }
        for range in retired {
            self.assert_in_use(*range);
            free.insert(*range);
        }
        for number in &list {
            free.remove(PageRange::new(*number, 1));
        }
        Ok(ListPlan { free, list, end: self.end })
    }

    /// From here on the pages may not be freed in passing: they may be part of a checkpoint.
    pub(super) fn publish(&mut self, published: &[PageRange], retired: &[PageRange], list: &[PageNo]) {
        assert!(self.publishing.is_none(), "one checkpoint at a time is written");
        let list = list.iter().map(|number| PageRange::new(*number, 1));
        let taken: Vec<PageRange> = published.iter().chain(retired).copied().chain(list).collect();
        let publishing = taken.iter().flat_map(|range| self.unpublished.intersection(*range)).collect();
        for range in taken {
            self.unpublished.remove(range);
        }
        self.publishing = Some(publishing);
    }

    /// The superblock never named the checkpoint: all is as before it began.
    pub(super) fn abort(&mut self, list: &[PageNo]) {
        for range in self.publishing.take().expect("a checkpoint has begun") {
            self.unpublished.insert(range);
        }
        self.drop_list(list);
        debug_assert!(self.is_apart(), "a page has one state");
    }

    /// The superblock that names the checkpoint is durable. Returns the batch of the retired pages, those of the old list among them.
    pub(super) fn commit(&mut self, mut retired: Vec<PageRange>, list: &[PageNo]) -> u64 {
        self.publishing.take().expect("a checkpoint has begun");
        let list = list.iter().map(|number| PageRange::new(*number, 1)).collect();
        retired.extend(std::mem::replace(&mut self.list, list));
        self.next_batch += 1;
        self.retired.insert(self.next_batch, retired);
        debug_assert!(self.is_apart(), "a page has one state");
        self.next_batch
    }

    /// Whether no page is in two states; for assertions.
    fn is_apart(&self) -> bool {
        let used = self.unpublished.iter().chain(self.publishing.iter().flatten().copied());
        let known = self.list.iter().chain(self.retired.values().flatten()).copied();
        are_disjoint(&self.free.iter().chain(used).chain(known).collect::<Vec<_>>())
    }

    /// Makes a batch of all that is free: readers of older checkpoints may have it. Returns its number.
    pub(super) fn hold_free(&mut self) -> u64 {
        debug_assert!(self.punched.pages() == 0, "nothing was given back since it was opened");
        let held = std::mem::replace(&mut self.free, Extents::searchable());
        self.next_batch += 1;
        self.retired.insert(self.next_batch, held.iter().collect());
        self.next_batch
    }

    /// Takes over what another process has made of the file since: which pages are free, those of the list, and the end. Returns the
    /// batch of the pages that ceased to be in use: whoever reads what was before has them.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a page was reused that is still read here.
    pub(super) fn follow(&mut self, free: &Extents, list: Vec<PageRange>, end: u64) -> Result<u64> {
        let mut now = free.plain();
        if end < self.end {
            // What was cut was free, and is read by nobody.
            now.insert(PageRange::new(PageNo(end), self.end - end));
        }
        if let Some(reused) = self.retired.values().flatten().find(|range| !now.contains(**range)) {
            let what = format!("{reused:?} was written anew while this reader holds it");
            return Err(Error::damaged(NAME, reused.start.0 * self.page_size, what));
        }
        let mut retired = now.clone();
        for range in self.retired.values().flatten() {
            retired.remove(*range);
        }
        let mut kept = Extents::searchable();
        for part in self.free.iter().flat_map(|range| now.intersection(range)) {
            kept.insert(part);
            retired.remove(part);
        }
        if end > self.end {
            // What is new and free has never been read.
            let grown = PageRange::new(PageNo(self.end), end - self.end);
            for part in retired.intersection(grown) {
                kept.insert(part);
                retired.remove(part);
            }
        }
        (self.free, self.list, self.end) = (kept, list, self.end.max(end));
        self.next_batch += 1;
        self.retired.insert(self.next_batch, retired.iter().collect());
        debug_assert!(self.is_apart(), "a page has one state");
        Ok(self.next_batch)
    }

    /// The pages of a batch, whose owner is gone; follow with [`Space::release`].
    pub(super) fn batch(&self, batch: u64) -> Vec<PageRange> {
        self.retired.get(&batch).cloned().unwrap_or_default()
    }

    /// Makes some pages of a batch a batch of their own.
    pub(super) fn split(&mut self, batch: u64, part: &[PageRange]) -> u64 {
        let whole = self.retired.get_mut(&batch).expect("its owner is there");
        let mut rest: Extents = whole.iter().copied().collect();
        for range in part {
            assert_eq!(rest.remove(*range), range.pages, "{range:?} is not in the batch");
        }
        *whole = rest.iter().collect();
        self.next_batch += 1;
        self.retired.insert(self.next_batch, part.to_vec());
        self.next_batch
    }

    /// Makes the pages of a batch free.
    pub(super) fn release(&mut self, batch: u64) {
        for range in self.retired.remove(&batch).into_iter().flatten() {
            assert_eq!(self.free.insert(range), range.pages, "{range:?} was retired and free at once");
        }
    }

    /// Drops the pages of a list that will not be used.
    pub(super) fn drop_list(&mut self, list: &[PageNo]) {
        list.iter().for_each(|number| self.give_back(PageRange::new(*number, 1)));
    }

    /// Cuts the file where its end is free; returns the pages cut. `discard` is told the range in a store without a file.
    pub(super) fn truncate(&mut self, discard: impl FnOnce(PageRange)) -> Result<u64> {
        let Some(tail) = self.free.last().filter(|run| run.end() == self.end) else {
            self.cut_torn_page()?;
            return Ok(0);
        };
        match &self.file {
            Some(file) => cut(&**file, tail.start.0 * self.page_size)?,
            None => discard(tail),
        }
        self.free.remove(tail);
        self.punched.remove(tail);
        self.end = tail.start.0;
        Ok(tail.pages)
    }

    /// Cuts what a crash left of a page behind the last: no whole page, so it is not counted as free.
    fn cut_torn_page(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let end = self.end * self.page_size;
        let len = file.len().map_err(|error| Error::io(format!("asking for the length of {NAME}"), error))?;
        if len > end { cut(&**file, end) } else { Ok(()) }
    }

    /// Makes holes of free runs of at least `pages_min` pages that are not holes yet; returns the pages given back.
    pub(super) fn punch(&mut self, pages_min: u64, mut discard: impl FnMut(PageRange)) -> Result<u64> {
        let runs = self.free.iter().filter(|run| run.pages >= pages_min && !self.punched.contains(*run));
        let mut punched = 0;
        for run in runs.collect::<Vec<_>>() {
            match &self.file {
                Some(file) => {
                    let (offset, len) = (run.start.0 * self.page_size, run.pages * self.page_size);
                    file.punch_hole(offset, len).map_err(|error| {
                        Error::io(format!("freeing {len} bytes at {offset} of {NAME}"), error)
                    })?;
                }
                None => discard(run),
            }
            punched += self.punched.insert(run);
        }
        Ok(punched)
    }

    /// The number of the page after the last.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// How many pages may be taken at once.
    pub(super) fn free_pages(&self) -> u64 {
        self.free.pages()
    }

    /// How many of them are not holes in the file.
    pub(super) fn idle_pages(&self) -> u64 {
        debug_assert!(self.punched.pages() <= self.free.pages(), "holes are free");
        self.free.pages() - self.punched.pages()
    }

    /// Whether a page of a range may be taken by anybody.
    pub(super) fn is_free(&self, range: PageRange) -> bool {
        !self.free.intersection(range).is_empty()
    }

    /// Whether all pages of a range were taken, and are in no checkpoint yet; for assertions.
    pub(super) fn is_in_writing(&self, range: PageRange) -> bool {
        let publishing: Extents = self.publishing.iter().flatten().copied().collect();
        let taken = self.unpublished.intersection(range).into_iter().chain(publishing.intersection(range));
        taken.map(|part| part.pages).sum::<u64>() == range.pages
    }
    /// Who has the pages.
    pub(super) fn owners(&self) -> PageOwners {
        let publishing = self.publishing.iter().flatten().copied();
        let mut unpublished: Extents = self.unpublished.iter().chain(publishing).collect();
        for range in &self.lingering {
            unpublished.remove(*range);
        }
        PageOwners {
            end: self.end,
            free: self.free.iter().collect(),
            unpublished,
            waiting: self.retired.values().flatten().chain(&self.lingering).copied().collect(),
            list: self.list.clone(),
        }
    }

    /// Takes free pages for nobody.
    #[cfg(any(test, feature = "faults"))]
    pub(super) fn lose(&mut self) -> PageRange {
        self.free.take_run(1, 1).expect("a free page")
    }

    fn assert_in_use(&self, range: PageRange) {
        assert!(range.start.0 >= self.reserved && range.end() <= self.end, "{range:?} is not in the file");
        assert!(self.free.intersection(range).is_empty(), "{range:?} is named by a checkpoint and free");
    }
}

fn cut(file: &dyn File, len: u64) -> Result<()> {
    file.set_len(len).map_err(|error| Error::io(format!("cutting {NAME} to {len} bytes"), error))
}
