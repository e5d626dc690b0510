//! Frames: page-sized slots of memory, and the state word that says who may touch each.
//!
//! # Thread safety
//! One `AtomicU32` a frame, `CLAIMED | chances (3 bits) | pins (26 bits)`:
//!
//! 1. The bytes of a frame are written only by the one thread that has set `CLAIMED`, and it sets it only by a
//!    compare-and-swap from a state with no pins.
//! 2. A thread may read the bytes after it has added a pin and found, in the *same* operation's result, that `CLAIMED`
//!    was not set. If it was, the thread takes its pin back and has read nothing.
//! 3. Clearing `CLAIMED` is a release, adding a pin an acquire: who pins sees all bytes, and the page number, that
//!    were stored before. Dropping a pin is a release and claiming an acquire: who claims comes after all reads.
//!
//! While a frame is claimed its pin count may wobble, as threads find out by rule 2; hence `CLAIMED` is cleared by
//! subtraction and never by a plain store.

use std::{
    io,
    marker::PhantomData,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use super::arena::Arena;

const CLAIMED: u32 = 1 << 31;
const CHANCE_SHIFT: u32 = 28;
const CHANCE_ONE: u32 = 1 << CHANCE_SHIFT;
const CHANCE_MASK: u32 = 7 << CHANCE_SHIFT;
const PINS_MASK: u32 = CHANCE_ONE - 1;

/// The page number of a frame that holds no page: page zero is a superblock.
pub(super) const NO_PAGE: u64 = 0;

/// What the clock's hand found.
pub(super) enum Evict {
    /// The frame was free to take and is the caller's.
    Claimed,
    /// It has been used since the last pass; perhaps the next time.
    Passed,
    /// It is pinned or claimed.
    Busy,
}

/// What is known of a frame. A cache line each, so that pins of neighbours do not disturb each other.
#[repr(align(64))]
pub(super) struct Frame {
    state: AtomicU32,
    page: AtomicU64,
}

const _: () = assert!(size_of::<Frame>() == 64);

impl Frame {
    /// Adds a pin; `false` if the frame is claimed by a writer or holds another page, and then nothing is pinned.
    #[inline]
    pub(super) fn try_pin(&self, page: u64, chances: u32) -> bool {
        let old = self.state.fetch_add(1, Ordering::Acquire);
        debug_assert!(old & PINS_MASK < PINS_MASK);
        if old & CLAIMED != 0 || self.page.load(Ordering::Relaxed) != page {
            self.unpin();
            return false;
        }
        if (old & CHANCE_MASK) >> CHANCE_SHIFT < chances {
            self.give_chances(chances);
        }
        true
    }

    /// Adds a pin to a frame on which the caller holds one.
    #[inline]
    pub(super) fn pin_again(&self) {
        let old = self.state.fetch_add(1, Ordering::Relaxed);
        debug_assert!(old & PINS_MASK > 0);
    }

    /// Takes a pin back.
    #[inline]
    pub(super) fn unpin(&self) {
        let old = self.state.fetch_sub(1, Ordering::Release);
        debug_assert!(old & PINS_MASK > 0);
    }

    #[cold]
    fn give_chances(&self, chances: u32) {
        debug_assert!(chances <= CHANCE_MASK >> CHANCE_SHIFT);
        let _ = self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| {
            let had = (state & CHANCE_MASK) >> CHANCE_SHIFT;
            (state & CLAIMED == 0 && had < chances)
                .then_some((state & !CHANCE_MASK) | chances << CHANCE_SHIFT)
        });
    }

    /// Claims the frame for writing if nobody pins it, whatever chances it has.
    pub(super) fn try_claim(&self) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        state & (CLAIMED | PINS_MASK) == 0
            && self.state.compare_exchange(state, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// One pass of the clock's hand: an unpinned frame with chances left loses one, without chances it is claimed.
    pub(super) fn try_evict(&self) -> Evict {
        let state = self.state.load(Ordering::Relaxed);
        if state & (CLAIMED | PINS_MASK) != 0 {
            return Evict::Busy;
        }
        if state & CHANCE_MASK != 0 {
            let less = state - CHANCE_ONE;
            let _ = self.state.compare_exchange(state, less, Ordering::Relaxed, Ordering::Relaxed);
            return Evict::Passed;
        }
        match self.state.compare_exchange(state, CLAIMED, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Evict::Claimed,
            Err(_) => Evict::Passed,
        }
    }

    /// If the frame is pinned and holds page `number`, makes it hold none, so that the clock takes it once it is unpinned.
    pub(super) fn lose_page_if_pinned(&self, number: u64) -> bool {
        self.is_pinned()
            && self.page.compare_exchange(number, NO_PAGE, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The page in the frame, or [`NO_PAGE`].
    pub(super) fn page(&self) -> u64 {
        self.page.load(Ordering::Relaxed)
    }

    /// Makes the frame hold no page any more; returns the page it held. Pins stay valid: they hold the bytes.
    pub(super) fn take_page(&self) -> u64 {
        self.page.swap(NO_PAGE, Ordering::Relaxed)
    }

    /// Ends a claim: the bytes are those of `page`, readable by all, and the caller holds `pins` pins on them.
    ///
    /// REQUIRES: the caller claimed the frame.
    pub(super) fn publish(&self, page: u64, pins: u32, chances: u32) {
        self.page.store(page, Ordering::Relaxed);
        let add = pins + (chances << CHANCE_SHIFT);
        let old = self.state.fetch_sub(CLAIMED - add, Ordering::Release);
        debug_assert!(old & CLAIMED != 0 && old & CHANCE_MASK == 0);
    }

    /// Whether somebody pins the frame.
    pub(super) fn is_pinned(&self) -> bool {
        self.state.load(Ordering::Acquire) & PINS_MASK != 0
    }
}

/// All frames of a store: one arena for the bytes, one for the state words.
pub(super) struct Frames {
    bytes: Arena,
    states: Arena,
    page_size: usize,
    count: u32,
    marker: PhantomData<Frame>,
}

impl Frames {
    /// Reserves `count` frames of `page_size` bytes, all empty and unclaimed.
    pub(super) fn new(count: u32, page_size: usize) -> io::Result<Self> {
        assert!(count > 0 && page_size > 0);
        Ok(Self {
            bytes: Arena::new(count as usize * page_size)?,
            states: Arena::new(count as usize * size_of::<Frame>())?,
            page_size,
            count,
            marker: PhantomData,
        })
    }

    /// How many frames there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The state of a frame.
    #[inline]
    pub(super) fn frame(&self, index: u32) -> &Frame {
        assert!(index < self.count);
        // SAFETY: the arena holds `count` frames, begins at a multiple of their alignment, and zeroed memory is a
        // valid `Frame` (atomics of zero: no page, no pins, no claim). It is only ever accessed as frames.
        unsafe { &*self.states.base().cast::<Frame>().add(index as usize) }
    }

    /// The bytes of a frame and the `units - 1` frames after it.
    #[inline]
    pub(super) fn bytes(&self, index: u32, units: u16) -> *mut u8 {
        assert!(index < self.count && u32::from(units) <= self.count - index);
        self.bytes.base().wrapping_add(index as usize * self.page_size)
    }

    /// Asks for the first bytes of a frame to be brought near.
    #[inline]
    pub(super) fn prefetch(&self, index: u32) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing that the program could see and faults nowhere.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.bytes(index, 1).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }

    /// Gives the memory of empty frames back.
    ///
    /// # Safety
    /// The caller has the frames to itself: nobody has pinned or claimed them, nor will meanwhile.
    pub(super) unsafe fn discard(&self, index: u32, frames: u32) {
        assert!(frames <= self.count && index <= self.count - frames);
        // SAFETY: passed on to the caller.
        unsafe { self.bytes.discard(index as usize * self.page_size, frames as usize * self.page_size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: two owners of one frame, of which one writes.
    #[test]
    fn claims_and_pins_exclude_each_other() {
        let frames = Frames::new(2, 4096).unwrap();
        let frame = frames.frame(1);
        assert!(!frame.try_pin(7, 0), "it holds nothing");
        assert!(frame.try_claim() && !frame.try_claim());
        frame.publish(7, 0, 0);
        // The page is still named while the frame is claimed by the clock: it must not be pinned all the same.
        assert!(matches!(frame.try_evict(), Evict::Claimed));
        assert!(!frame.try_pin(7, 0));
        frame.publish(7, 1, 0);
        assert!(frame.is_pinned() && !frame.try_claim() && matches!(frame.try_evict(), Evict::Busy));
        assert!(!frame.try_pin(8, 0) && frame.try_pin(7, 0));
        frame.unpin();
        assert!(!frame.try_claim());
        frame.unpin();
        assert!(frame.try_claim());
    }

    // Keeps away: pages that are evicted at once though they were used, or never.
    #[test]
    fn chances_are_used_up_one_by_one() {
        let frames = Frames::new(1, 4096).unwrap();
        let frame = frames.frame(0);
        assert!(frame.try_claim());
        frame.publish(7, 0, 0);
        assert!(frame.try_pin(7, 3) && frame.try_pin(7, 1));
        frame.unpin();
        frame.unpin();
        for _ in 0..3 {
            assert!(matches!(frame.try_evict(), Evict::Passed));
        }
        assert!(matches!(frame.try_evict(), Evict::Claimed));
    }

    // Keeps away: a frame whose page was freed under a pin, found under its old name.
    #[test]
    fn a_pinned_frame_can_lose_its_name() {
        let frames = Frames::new(1, 4096).unwrap();
        let frame = frames.frame(0);
        assert!(frame.try_claim());
        frame.publish(7, 1, 0);
        assert!(!frame.lose_page_if_pinned(8) && frame.lose_page_if_pinned(7));
        assert!(!frame.try_pin(7, 0));
        frame.unpin();
        assert!(matches!(frame.try_evict(), Evict::Claimed));
    }
}
