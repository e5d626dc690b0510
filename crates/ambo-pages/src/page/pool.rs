//! The buffer pool: the pages in use, in frames, found without a lock.
//!
//! A hit is one load from the page table, one atomic addition to the frame's state, and one comparison. A miss claims the
//! page's slot in the table, so that one thread reads and all others wait for it.
//!
//! # Eviction
//! A clock hand goes over the frames. A frame that was used since ([`Access`] says how much that counts) is passed over
//! and loses a chance; one without chances and pins is taken. A scan's pages get no chance, and beyond a small number of
//! frames a scan takes the frames that it filled itself, so that neither its pages nor the turns of the hand that it causes push
//! out what others use.
//!
//! # Memory
//! There is address space for as many frames as the [budget](MemoryBudget) allows in all. A frame that is in use is charged to the budget;
//! who needs one more takes it from there, or, if the pool has its share, from another page. Frames are given back when another cache needs
//! the memory (`give`). A page that is thrown out leaves a mark in the table, by which the budget learns, if it is missed, how much more
//! memory would have kept it.
//!
//! # Thread safety
//! The rules of [`frame`](super::frame) govern the bytes. Beyond them:
//!
//! 1. A table entry leads to a frame as a hint: the frame's own page word decides, after the pin.
//! 2. Only who changed an entry from absent to loading sets it to a frame; nobody else changes a loading entry.
//! 3. Who takes a page out of a frame changes the table only if it still leads to that frame.
//! 4. Locks (`empty`, `scanned`, `large`, `fresh`) are leaves: none is taken while another is held. `giving` is taken before them.
//! 5. A frame without memory is claimed, by the pool, until it gets memory again. Frames that were never used are claimed before others
//!    learn of them.

use std::{
    collections::{BTreeMap, VecDeque},
    io, ptr, slice,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread::yield_now,
    time::Duration,
};

use ambo_types::{Result, id::PagePtr};
use parking_lot::{Condvar, Mutex};

use super::{
    Access, PageRange, PageRef,
    counter::Counter,
    frame::{Evict, Frame, Frames, NO_PAGE},
    table::{Entry, FRAMES_MAX, Mark, PageTable, Slot},
};
use crate::budget::{Cache, Kind, MemoryBudget};

mod give;

/// The part of the budget for pages of several units, which have memory of their own.
const LARGE_SHARE: usize = 16;
/// The fewest frames of a pool.
const FRAMES_MIN: usize = 4;
/// The most frames that scans fill before they take their own again.
const SCAN_FRAMES_MAX: usize = 256;
/// How long a thread that waits for another's read spins, then yields, before it sleeps.
const SPINS: u32 = 64;
const YIELDS: u32 = 64;
/// Places to sleep at, by page number.
const BEDS: usize = 16;

#[derive(Default)]
struct Bed {
    lock: Mutex<()>,
    wake: Condvar,
}

/// Pages of several units, in the order in which they came.
#[derive(Default)]
struct Large {
    pages: BTreeMap<PagePtr, Arc<[u8]>>,
    order: VecDeque<PagePtr>,
    bytes: usize,
}

/// Frames without memory: those that gave it back, and all from `unused` on.
#[derive(Default)]
struct Without {
    given: Vec<u32>,
    unused: u32,
}

/// The pool.
pub(super) struct Pool {
    frames: Frames,
    table: PageTable,
    page_size: usize,
    memory: Arc<MemoryBudget>,
    /// Frames that have no memory.
    fresh: Mutex<Without>,
    /// How many frames were ever used.
    seen: AtomicU32,
    /// How many frames have memory.
    held: AtomicU32,
    /// Where memory was given back last.
    giving: Mutex<u32>,
    /// How many pages were thrown out by the clock, and by scans.
    gone: [AtomicU32; 2],
    /// Frames that were used and hold no page any more.
    empty: Mutex<Vec<u32>>,
    hand: AtomicU32,
    /// Frames filled by scans, oldest first, with the page that each got.
    scanned: Mutex<VecDeque<(u32, u64)>>,
    large: Mutex<Large>,
    large_bytes_max: usize,
    beds: [Bed; BEDS],
    pub(super) hits: Counter,
    pub(super) misses: Counter,
    /// Misses that found every frame pinned.
    pub(super) overflows: Counter,
}

impl Pool {
    /// A pool that holds as many pages as the budget gives it.
    pub(super) fn new(memory: Arc<MemoryBudget>, page_size: usize) -> io::Result<Self> {
        let count = (memory.limit() / page_size).clamp(FRAMES_MIN, FRAMES_MAX as usize);
        memory.note_pages(page_size, FRAMES_MIN * page_size);
        Ok(Self {
            frames: Frames::new(count as u32, page_size)?,
            table: PageTable::new(),
            page_size,
            fresh: Mutex::default(),
            seen: AtomicU32::new(0),
            held: AtomicU32::new(0),
            giving: Mutex::default(),
            gone: Default::default(),
            empty: Mutex::default(),
            hand: AtomicU32::new(0),
            scanned: Mutex::default(),
            large: Mutex::default(),
            large_bytes_max: memory.limit() / LARGE_SHARE,
            memory,
            beds: Default::default(),
            hits: Counter::default(),
            misses: Counter::default(),
            overflows: Counter::default(),
        })
    }

    /// Pins a page, calling `load` for its bytes if it is not in memory.
    #[inline]
    pub(super) fn read(
        &self,
        ptr: PagePtr,
        access: Access,
        load: impl Fn(&mut [u8]) -> Result<()>,
    ) -> Result<PageRef<'_>> {
        if ptr.units() == 1
            && let Some(slot) = self.table.find(ptr.number().0)
            && let Entry::Frame(index) = slot.get()
        {
            let frame = self.frames.frame(index);
            // The pin waits for its cache line, and as a locked operation holds up all later loads: have the page's first
            // line, which the caller wants next, on its way meanwhile.
            self.frames.prefetch(index);
            if frame.try_pin(ptr.number().0, chances(access)) {
                self.hits.add(1);
                return Ok(self.pinned(frame, index));
            }
        }
        self.read_slow(ptr, access, &load)
    }

    #[inline]
    fn pinned<'a>(&'a self, frame: &'a Frame, index: u32) -> PageRef<'a> {
        // SAFETY: the caller holds a pin and hands it over: the bytes are not written until it is dropped, and were
        // initialised (the arena is zeroed memory). The mapping lives as long as `self`.
        unsafe { PageRef::pinned(frame, self.frames.bytes(index, 1), self.page_size) }
    }

    #[cold]
    fn read_slow(
        &self,
        ptr: PagePtr,
        access: Access,
        load: &dyn Fn(&mut [u8]) -> Result<()>,
    ) -> Result<PageRef<'_>> {
        if ptr.units() > 1 {
            return self.read_large(ptr, load);
        }
        let number = ptr.number().0;
        let Some(slot) = self.table.slot(number) else {
            return self.read_apart(load);
        };
        loop {
            match slot.get() {
                absent @ (Entry::Absent | Entry::Gone(_)) => {
                    if slot.change(absent, Entry::Loading) {
                        self.misses.add(1);
                        self.note_missed(absent);
                        return self.load(slot, number, access, load);
                    }
                }
                Entry::Loading => self.wait(slot, number),
                Entry::Frame(index) => {
                    let frame = self.frames.frame(index);
                    if frame.try_pin(number, chances(access)) {
                        self.hits.add(1);
                        return Ok(self.pinned(frame, index));
                    }
                    // The frame is being given to another page; its new owner corrects the entry at once.
                    yield_now();
                }
            }
        }
    }

    /// Tells the budget of a page that is read again.
    fn note_missed(&self, entry: Entry) {
        let Entry::Gone(mark) = entry else { return };
        let distance = mark.until(self.mark(mark.by_scan())) as usize * self.page_size;
        self.memory.missed(Cache::Pages, distance, self.page_size);
    }

    fn mark(&self, by_scan: bool) -> Mark {
        Mark::new(by_scan, self.gone[usize::from(by_scan)].load(Ordering::Relaxed))
    }

    /// Reads a page whose slot the caller set to loading.
    fn load(
        &self,
        slot: &Slot,
        number: u64,
        access: Access,
        load: &dyn Fn(&mut [u8]) -> Result<()>,
    ) -> Result<PageRef<'_>> {
        // However this ends, also by a panic of `load`, the waiters must go on.
        let mut loading = Loading { pool: self, slot, number, entry: Entry::Absent };
        let Some(index) = self.claim(access) else {
            drop(loading);
            self.overflows.add(1);
            return self.read_apart(load);
        };
        let frame = self.frames.frame(index);
        // SAFETY: the frame is claimed by this thread, so nobody else reads or writes its bytes; they are initialised.
        let bytes = unsafe { slice::from_raw_parts_mut(self.frames.bytes(index, 1), self.page_size) };
        if let Err(error) = load(bytes) {
            self.release(index);
            return Err(error);
        }
        frame.publish(number, 1, chances(access));
        loading.entry = Entry::Frame(index);
        drop(loading);
        if access == Access::Scan {
            let mut scanned = self.scanned.lock();
            scanned.push_back((index, number));
            if scanned.len() > self.scan_frames() {
                scanned.pop_front();
            }
        }
        Ok(self.pinned(frame, index))
    }

    /// Reads a page into memory of its own that goes with the reference.
    fn read_apart(&self, load: &dyn Fn(&mut [u8]) -> Result<()>) -> Result<PageRef<'_>> {
        let mut page = zeroed(self.page_size);
        load(Arc::get_mut(&mut page).expect("nobody else has it yet"))?;
        Ok(PageRef::heap(page))
    }

    fn read_large(&self, ptr: PagePtr, load: &dyn Fn(&mut [u8]) -> Result<()>) -> Result<PageRef<'_>> {
        if let Some(page) = self.large.lock().pages.get(&ptr) {
            self.hits.add(1);
            return Ok(PageRef::heap(Arc::clone(page)));
        }
        self.misses.add(1);
        let mut page = zeroed(usize::from(ptr.units()) * self.page_size);
        load(Arc::get_mut(&mut page).expect("nobody else has it yet"))?;
        self.keep_large(ptr, &page);
        Ok(PageRef::heap(page))
    }

    fn keep_large(&self, ptr: PagePtr, page: &Arc<[u8]>) {
        if page.len() > self.large_bytes_max {
            return;
        }
        let had = self.large.lock().trim(self.large_bytes_max - page.len());
        self.memory.release(Kind::Pages, had);
        if self.memory.reserve(Kind::Pages, page.len()) && !self.large.lock().add(ptr, page) {
            self.memory.release(Kind::Pages, page.len());
        }
    }

    /// Waits a while for another thread's read.
    fn wait(&self, slot: &Slot, number: u64) {
        for turn in 0..SPINS + YIELDS {
            if slot.get() != Entry::Loading {
                return;
            }
            if turn < SPINS { std::hint::spin_loop() } else { yield_now() }
        }
        let bed = &self.beds[number as usize % BEDS];
        let mut guard = bed.lock.lock();
        while slot.get() == Entry::Loading {
            // The limit is for safety only: who ends a read takes the lock and wakes all.
            bed.wake.wait_for(&mut guard, Duration::from_millis(10));
        }
    }

    /// A frame for the caller alone, holding no page; `None` if all are pinned.
    fn claim(&self, access: Access) -> Option<u32> {
        self.claim_empty()
            .or_else(|| self.claim_more())
            .or_else(|| if access == Access::Scan { self.claim_scanned() } else { None })
            .or_else(|| self.claim_by_clock())
    }

    /// The next frame that was not used lately.
    fn claim_by_clock(&self) -> Option<u32> {
        let count = self.seen.load(Ordering::Acquire);
        let mut busy = 0;
        // Seven chances at most, and one more round for those that get chances meanwhile.
        for _ in 0..u64::from(count) * 9 {
            let index = self.hand.fetch_add(1, Ordering::Relaxed) % count;
            match self.frames.frame(index).try_evict() {
                Evict::Claimed => {
                    self.vacate(index, false);
                    return Some(index);
                }
                Evict::Passed => busy = 0,
                Evict::Busy => busy += 1,
            }
            if busy > count {
                break;
            }
        }
        None
    }

    /// A frame that has memory and holds nothing.
    fn claim_empty(&self) -> Option<u32> {
        loop {
            let index = self.empty.lock().pop()?;
            // A reader that followed an old entry may hold a pin for a moment, and the clock may have been first.
            // Then the frame is left to the clock.
            let frame = self.frames.frame(index);
            if frame.page() == NO_PAGE && frame.try_claim() {
                self.vacate(index, false);
                return Some(index);
            }
        }
    }

    /// A frame more, for which the budget has memory, or gets it from others.
    fn claim_more(&self) -> Option<u32> {
        if (self.held.load(Ordering::Relaxed) as usize) < FRAMES_MIN {
            self.memory.force(Kind::Pages, self.page_size);
        } else if !self.memory.reserve(Kind::Pages, self.page_size) {
            return None;
        }
        self.claim_charged()
    }

    /// A frame without memory, which the caller has charged to the budget.
    fn claim_charged(&self) -> Option<u32> {
        debug_assert!(self.memory.used(Kind::Pages) >= self.page_size, "memory is taken before a frame");
        let index = self.without_memory();
        match index {
            Some(_) => drop(self.held.fetch_add(1, Ordering::Relaxed)),
            None => self.memory.release(Kind::Pages, self.page_size),
        }
        index
    }

    fn without_memory(&self) -> Option<u32> {
        let mut without = self.fresh.lock();
        if let Some(index) = without.given.pop() {
            return Some(index);
        }
        let index = without.unused;
        if index == self.frames.count() {
            return None;
        }
        let claimed = self.frames.frame(index).try_claim();
        assert!(claimed, "nobody knows of frame {index} yet");
        without.unused += 1;
        self.seen.store(without.unused, Ordering::Release);
        Some(index)
    }

    /// The oldest frame that a scan filled, if scans have their share and nobody else took to the page.
    fn claim_scanned(&self) -> Option<u32> {
        loop {
            let (index, page) = {
                let mut scanned = self.scanned.lock();
                if scanned.len() < self.scan_frames() {
                    return None;
                }
                scanned.pop_front()?
            };
            let frame = self.frames.frame(index);
            if frame.page() == page && matches!(frame.try_evict(), Evict::Claimed) {
                self.vacate(index, true);
                return Some(index);
            }
        }
    }

    /// How many frames scans fill before they take their own again.
    fn scan_frames(&self) -> usize {
        (self.held.load(Ordering::Relaxed) as usize / 8).clamp(1, SCAN_FRAMES_MAX)
    }

    /// Takes the page out of a claimed frame.
    fn vacate(&self, index: u32, by_scan: bool) {
        let page = self.frames.frame(index).take_page();
        if page != NO_PAGE
            && let Some(slot) = self.table.find(page)
            && slot.change(Entry::Frame(index), Entry::Gone(self.mark(by_scan)))
        {
            self.gone[usize::from(by_scan)].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Gives a claimed frame back, empty.
    fn release(&self, index: u32) {
        self.frames.frame(index).publish(NO_PAGE, 0, 0);
        self.empty.lock().push(index);
    }

    /// Keeps a page that was just written, if there is room for it. REQUIRES: nobody can know of the page yet.
    pub(super) fn install(&self, number: u64, page: &[u8]) {
        assert_eq!(page.len(), self.page_size, "a frame holds one page");
        let Some(slot) = self.table.slot(number) else { return };
        if slot.get() != Entry::Absent {
            return;
        }
        let more = || if self.memory.take(Kind::Pages, self.page_size) { self.claim_charged() } else { None };
        let Some(index) = self.claim_empty().or_else(more) else { return };
        if !slot.change(Entry::Absent, Entry::Loading) {
            return self.release(index);
        }
        // SAFETY: the frame is claimed by this thread and as long as a page, which was checked.
        unsafe { ptr::copy_nonoverlapping(page.as_ptr(), self.frames.bytes(index, 1), self.page_size) };
        self.show(Loading { pool: self, slot, number, entry: Entry::Frame(index) }, index, 0);
    }

    /// Ends the claim of a frame that has the bytes of a page, and the loading of the page.
    ///
    /// The frame is pinned until the entry leads to it: were it taken for another page before, nobody would change that entry again, and
    /// readers of the page would wait for ever.
    fn show(&self, loading: Loading<'_>, index: u32, chances: u32) {
        let frame = self.frames.frame(index);
        frame.publish(loading.number, 1, chances);
        drop(loading);
        frame.unpin();
    }

    /// Whether a page of a range is in memory, or about to be.
    pub(super) fn has_any(&self, range: PageRange) -> bool {
        let is_there = |number| {
            let entry = self.table.find(number).map(Slot::get);
            matches!(entry, Some(Entry::Frame(_) | Entry::Loading))
        };
        let numbers = range.start.0..range.end();
        numbers.clone().any(is_there)
            || self.large.lock().pages.keys().any(|ptr| numbers.contains(&ptr.number().0))
    }

    /// Forgets a page of one unit. A reader that has it pinned keeps its bytes.
    pub(super) fn forget(&self, number: u64) {
        let Some(slot) = self.table.find(number) else { return };
        loop {
            match slot.get() {
                Entry::Absent => return,
                // Who has this number next is another page.
                gone @ Entry::Gone(_) => {
                    if slot.change(gone, Entry::Absent) {
                        return;
                    }
                }
                Entry::Loading => self.wait(slot, number),
                Entry::Frame(index) => {
                    if slot.change(Entry::Frame(index), Entry::Absent) {
                        return self.empty_frame(index, number);
                    }
                }
            }
        }
    }

    /// Empties a frame if it holds page `number`; if it is pinned, it only loses its name, and the clock takes it later.
    fn empty_frame(&self, index: u32, number: u64) {
        let frame = self.frames.frame(index);
        if frame.page() != number || frame.lose_page_if_pinned(number) {
            return;
        }
        if !frame.try_claim() {
            return;
        }
        if frame.page() == number {
            frame.take_page();
            self.release(index);
        } else {
            // The frame went to another page since; that one stays where it is.
            frame.publish(frame.page(), 0, 0);
        }
    }

    /// Forgets all pages of several units that begin in a range.
    pub(super) fn forget_large(&self, first: u64, pages: u64) {
        let bytes = self.large.lock().forget(first, pages);
        self.memory.release(Kind::Pages, bytes);
    }

    /// Bytes of memory for pages, whether or not they hold one now.
    pub(super) fn resident_bytes(&self) -> usize {
        self.held.load(Ordering::Relaxed) as usize * self.page_size + self.large.lock().bytes
    }

    /// Asserts that no page is pinned.
    #[cfg(test)]
    pub(super) fn assert_unpinned(&self) {
        for index in 0..self.frames.count() {
            assert!(!self.frames.frame(index).is_pinned(), "frame {index} is still pinned");
        }
    }
}

impl Large {
    /// Whether it was not there.
    fn add(&mut self, ptr: PagePtr, page: &Arc<[u8]>) -> bool {
        if self.pages.contains_key(&ptr) {
            return false;
        }
        self.pages.insert(ptr, Arc::clone(page));
        self.order.push_back(ptr);
        self.bytes += page.len();
        true
    }

    /// Throws out the oldest until at most so many bytes are left; returns how many went.
    fn trim(&mut self, bytes_max: usize) -> usize {
        let had = self.bytes;
        while self.bytes > bytes_max {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.pages.remove(&oldest).map_or(0, |page| page.len());
        }
        had - self.bytes
    }

    /// Returns how many bytes went.
    fn forget(&mut self, first: u64, pages: u64) -> usize {
        if self.pages.is_empty() {
            return 0;
        }
        let had = self.bytes;
        let gone = |ptr: &PagePtr| (first..first + pages).contains(&ptr.number().0);
        self.order.retain(|ptr| !gone(ptr));
        self.pages.retain(|ptr, _| !gone(ptr));
        self.bytes = self.pages.values().map(|page| page.len()).sum();
        had - self.bytes
    }
}

/// A slot that this thread set to loading; when dropped, it gets its entry and the waiters are woken.
struct Loading<'a> {
    pool: &'a Pool,
    slot: &'a Slot,
    number: u64,
    entry: Entry,
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.slot.set(self.entry);
        let bed = &self.pool.beds[self.number as usize % BEDS];
        drop(bed.lock.lock());
        bed.wake.notify_all();
    }
}

fn zeroed(len: usize) -> Arc<[u8]> {
    std::iter::repeat_n(0, len).collect()
}

/// How many turns of the clock's hand a page survives after this access.
#[inline]
fn chances(access: Access) -> u32 {
    match access {
        Access::Scan => 0,
        Access::Point => 1,
        Access::Inner => 3,
    }
}
