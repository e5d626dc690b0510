//! How the pool gives memory back.
//!
//! Memory goes back to the system in stretches as long as huge pages, for the system gives memory in those, and taking one apart would cost
//! the rest of it its quick addresses. So a stretch of frames is emptied: pages in it that were not used lately are thrown out, the others
//! move to frames elsewhere, whose pages the clock throws out. Pinned frames stay where they are, and keep their memory.

use std::{ops::Range, ptr, sync::atomic::Ordering};

use super::{Entry, Evict, FRAMES_MIN, Loading, NO_PAGE, Pool};
use crate::budget::{Cache, Giver, Kind};

impl Giver for Pool {
    fn give(&self, bytes: usize) {
        let mut hand = self.giving.lock();
        let mut wanted = bytes.div_ceil(self.page_size);
        let stretch = (self.memory.step(Cache::Pages) / self.page_size).max(1) as u32;
        let seen = self.seen.load(Ordering::Acquire);
        let stretches = seen.div_ceil(stretch);
        for _ in 0..stretches {
            if wanted == 0 || self.can_give() == 0 {
                break;
            }
            *hand = if *hand == 0 { stretches } else { (*hand).min(stretches) } - 1;
            let frames = *hand * stretch..((*hand + 1) * stretch).min(seen);
            wanted = wanted.saturating_sub(self.give_stretch(frames));
        }
        drop(hand);
        if wanted > 0 {
            let given = {
                let mut large = self.large.lock();
                let left = large.bytes.saturating_sub(wanted * self.page_size);
                large.trim(left)
            };
            self.memory.release(Kind::Pages, given);
        }
    }

    fn give_spare(&self, bytes: usize) {
        let _giving = self.giving.lock();
        let wanted = bytes.div_ceil(self.page_size).min(self.can_give());
        let claimed = (0..wanted).map_while(|_| self.claim_empty()).collect();
        self.discard(claimed);
    }
}

impl Pool {
    /// How many frames can be given. Only who holds `giving` makes them fewer.
    fn can_give(&self) -> usize {
        (self.held.load(Ordering::Relaxed) as usize).saturating_sub(FRAMES_MIN)
    }

    /// Empties a stretch and gives its memory back; returns how many frames that were.
    fn give_stretch(&self, stretch: Range<u32>) -> usize {
        let most = self.can_give();
        let mut claimed = Vec::with_capacity(stretch.len());
        for index in stretch.clone() {
            if claimed.len() >= most {
                break;
            }
            match self.frames.frame(index).try_evict() {
                Evict::Claimed => {
                    self.vacate(index, false);
                    claimed.push(index);
                }
                Evict::Passed => self.move_away(index, &stretch, most, &mut claimed),
                Evict::Busy => {}
            }
        }
        let count = claimed.len();
        self.discard(claimed);
        count
    }

    /// Moves the page in a frame of a stretch elsewhere, unless it is pinned, and claims the frame. Frames of the stretch that are found on
    /// the way are claimed, too.
    fn move_away(&self, index: u32, stretch: &Range<u32>, most: usize, claimed: &mut Vec<u32>) {
        let target = loop {
            match self.claim_empty().or_else(|| self.claim_by_clock()) {
                Some(other) if stretch.contains(&other) => {
                    claimed.push(other);
                    if other == index || claimed.len() >= most {
                        return;
                    }
                }
                target => break target,
            }
        };
        let frame = self.frames.frame(index);
        if !frame.try_claim() {
            // Pinned, or taken by another thread.
            if let Some(target) = target {
                self.release(target);
            }
            return;
        }
        match target {
            Some(target) if !self.move_page(index, target) => self.release(target),
            Some(_) => {}
            None => self.vacate(index, false),
        }
        claimed.push(index);
    }

    /// Moves a page from one frame to another. REQUIRES: the caller claimed both; it keeps the first, empty, and the other if this returns
    /// false.
    fn move_page(&self, from: u32, to: u32) -> bool {
        let number = self.frames.frame(from).take_page();
        let slot = if number == NO_PAGE { None } else { self.table.find(number) };
        let Some(slot) = slot.filter(|slot| slot.change(Entry::Frame(from), Entry::Loading)) else {
            return false;
        };
        let moved = Loading { pool: self, slot, number, entry: Entry::Frame(to) };
        // SAFETY: this thread claimed both frames, which are not the same, so nobody else reads or writes their bytes, which are as many.
        unsafe {
            ptr::copy_nonoverlapping(self.frames.bytes(from, 1), self.frames.bytes(to, 1), self.page_size)
        };
        // It was used lately.
        self.show(moved, to, 1);
        true
    }

    /// Gives the memory of frames back that the caller claimed; they stay claimed.
    fn discard(&self, mut frames: Vec<u32>) {
        if frames.is_empty() {
            return;
        }
        frames.sort_unstable();
        for run in frames.chunk_by(|a, b| a + 1 == *b) {
            // SAFETY: all of these are claimed by this thread, so nobody has pinned them, nor will.
            unsafe { self.frames.discard(run[0], run.len() as u32) };
        }
        self.held.fetch_sub(frames.len() as u32, Ordering::Relaxed);
        self.memory.release(Kind::Pages, frames.len() * self.page_size);
        // The last one is used first: from the front of a stretch on.
        self.fresh.lock().given.extend(frames.into_iter().rev());
    }
}
