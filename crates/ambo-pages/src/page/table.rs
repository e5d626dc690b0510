//! From a page number to the frame that holds the page: a flat array that grows in chunks.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};

/// Entries of a chunk.
const CHUNK: usize = 1 << 16;
/// Chunks of a table.
const CHUNKS: usize = 1 << 14;
/// The most pages of a file: 16 TiB of 16 KiB each.
pub(super) const PAGES_MAX: u64 = (CHUNK * CHUNKS) as u64;

/// Entry: the page is in no frame.
const ABSENT: u32 = 0;
/// Entry: one thread is reading the page from the file.
const LOADING: u32 = u32::MAX;
/// Entries from here on are of pages that were in a frame; those before lead to frames.
const GONE: u32 = 1 << 31;
/// How many pages that were thrown out are told apart, each way.
const PAGES_COUNTED: u32 = (1 << 30) - 1;
/// The most frames.
pub(super) const FRAMES_MAX: u32 = GONE - 1;

/// What the table says of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// It is in no frame.
    Absent,
    /// It is in no frame any more. The mark says since when.
    Gone(Mark),
    /// One thread is reading it from the file; it will change the entry soon.
    Loading,
    /// It is, or was a moment ago, in this frame; the frame itself knows for certain.
    Frame(u32),
}

/// When a page was thrown out: how many pages had been before, by the clock or by scans. Marks come again after a thousand million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark(u32);

impl Mark {
    pub(super) fn new(by_scan: bool, pages: u32) -> Self {
        Self(pages % PAGES_COUNTED * 2 + u32::from(by_scan))
    }

    /// Whether a scan took the page's frame for the next of its own.
    pub(super) fn by_scan(self) -> bool {
        self.0 % 2 == 1
    }

    /// How many pages were thrown out in the same way until `now`.
    pub(super) fn until(self, now: Self) -> u32 {
        (now.0 / 2 + PAGES_COUNTED - self.0 / 2) % PAGES_COUNTED
    }
}

/// One page's place in the table.
#[repr(transparent)]
pub(super) struct Slot(AtomicU32);

impl Slot {
    #[inline]
    pub(super) fn get(&self) -> Entry {
        match self.0.load(Ordering::Acquire) {
            ABSENT => Entry::Absent,
            LOADING => Entry::Loading,
            gone if gone >= GONE => Entry::Gone(Mark(gone - GONE)),
            frame => Entry::Frame(frame - 1),
        }
    }

    /// Sets the entry, whatever it was. Only for whoever changed it to [`Entry::Loading`].
    pub(super) fn set(&self, entry: Entry) {
        debug_assert_eq!(self.get(), Entry::Loading, "who loads a page says what became of it");
        self.0.store(raw(entry), Ordering::Release);
    }

    /// Changes the entry if it is what the caller believes.
    pub(super) fn change(&self, from: Entry, to: Entry) -> bool {
        self.0.compare_exchange(raw(from), raw(to), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

fn raw(entry: Entry) -> u32 {
    debug_assert!(
        match entry {
            Entry::Gone(Mark(mark)) => mark < LOADING - GONE,
            Entry::Frame(frame) => frame < FRAMES_MAX,
            Entry::Absent | Entry::Loading => true,
        },
        "entries are told apart: {entry:?}"
    );
    match entry {
        Entry::Absent => ABSENT,
        Entry::Gone(Mark(mark)) => GONE + mark,
        Entry::Loading => LOADING,
        Entry::Frame(frame) => frame + 1,
    }
}

/// A slot for every page number below [`PAGES_MAX`].
pub(super) struct PageTable {
    chunks: Box<[OnceLock<Box<[Slot]>>]>,
}

impl PageTable {
    pub(super) fn new() -> Self {
        Self { chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect() }
    }

    /// The slot of a page if its chunk exists: without one, the page is in no frame.
    #[inline]
    pub(super) fn find(&self, number: u64) -> Option<&Slot> {
        let chunk = self.chunks.get((number / CHUNK as u64) as usize)?.get()?;
        Some(&chunk[number as usize % CHUNK])
    }

    /// The slot of a page; `None` if there can be no page of that number.
    pub(super) fn slot(&self, number: u64) -> Option<&Slot> {
        let chunk = self.chunks.get((number / CHUNK as u64) as usize)?;
        let chunk = chunk.get_or_init(|| (0..CHUNK).map(|_| Slot(AtomicU32::new(ABSENT))).collect());
        Some(&chunk[number as usize % CHUNK])
    }
}
