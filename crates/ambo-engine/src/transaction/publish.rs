//! Publishing commits in timestamp order.
//!
//! # Thread safety and invariants
//!
//! 1. `published` grows by one at a time and never passes a timestamp that was not completed.
//! 2. Everything at or before `published` is installed: a Release store in [`Publisher::complete`] is read
//!    with Acquire by whoever advances, and `published` is stored with Release.
//! 3. At most [`WINDOW`] timestamps are in flight; [`Publisher::has_room`] is asked before one is given out.
//! 4. Nothing at or after a timestamp that [`Publisher::end_before`] was called with, and was not complete, is ever published; nobody waits
//!    for it.

use ambo_pages::sync::{AtomicU64, Ordering, yield_now};
use ambo_types::id::Timestamp;

/// How many commits may be between "sequenced" and "published" at once. Far more than threads.
pub const WINDOW: u64 = 4096;

/// The frontier of what snapshots may see.
pub struct Publisher {
    published: AtomicU64,
    /// `slots[t % WINDOW] == t` once the commit at `t` is complete.
    slots: Box<[AtomicU64]>,
    /// Nothing from here on is published any more.
    end: AtomicU64,
}

impl Publisher {
    /// A publisher that starts at `at`: everything up to it is published.
    pub fn new(at: Timestamp) -> Self {
        Self {
            published: AtomicU64::new(at.0),
            slots: (0..WINDOW).map(|_| AtomicU64::new(0)).collect(),
            end: AtomicU64::new(u64::MAX),
        }
    }

    /// The newest timestamp that a snapshot may take.
    pub fn published(&self) -> Timestamp {
        Timestamp(self.published.load(Ordering::Acquire))
    }

    /// Whether `next` may be given out without its slot being still in use. Once publishing has ended, slots do not matter.
    pub fn has_room(&self, next: Timestamp) -> bool {
        next.0 - self.published.load(Ordering::Acquire) < WINDOW || self.has_ended()
    }

    /// Gives up the commit at `at`: neither it nor anything later is published any more.
    pub fn end_before(&self, at: Timestamp) {
        self.end.fetch_min(at.0, Ordering::SeqCst);
    }

    fn has_ended(&self) -> bool {
        self.end.load(Ordering::Acquire) != u64::MAX
    }

    /// Marks the commit at `at` as complete (installed, or failed and empty) and advances the frontier over all
    /// that are complete in a row.
    pub fn complete(&self, at: Timestamp) {
        debug_assert!(at > self.published(), "a commit is complete once");
        self.slots[(at.0 % WINDOW) as usize].store(at.0, Ordering::SeqCst);
        self.advance();
    }

    /// Goes on at a later timestamp, up to which others have published. REQUIRES: nothing is sequenced here.
    pub fn skip_to(&self, at: Timestamp) {
        self.published.fetch_max(at.0, Ordering::SeqCst);
    }

    fn advance(&self) {
        let mut frontier = self.published.load(Ordering::SeqCst);
        loop {
            let next = frontier + 1;
            // SeqCst on slots and frontier: of two neighbours that complete at once, the later to look sees the other's
            // slot, so one of them advances over both.
            if self.slots[(next % WINDOW) as usize].load(Ordering::SeqCst) != next {
                return;
            }
            frontier =
                match self.published.compare_exchange(frontier, next, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => next,
                    Err(now) => now,
                };
        }
    }

    /// Waits until everything up to `at` is published. The wait is for installs in memory of commits that were
    /// sequenced earlier, so it is short unless their thread was descheduled. False if it will never be published.
    #[must_use]
    pub fn wait(&self, at: Timestamp) -> bool {
        let mut spins = 0u32;
        while self.published.load(Ordering::Acquire) < at.0 {
            if self.end.load(Ordering::Acquire) <= at.0 {
                return false;
            }
            spins += 1;
            if spins < 64 {
                std::hint::spin_loop();
            } else {
                yield_now();
            }
        }
        true
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use std::{sync::atomic::AtomicU64 as Counter, thread};

    use super::*;

    /// Keeps away: a frontier that stops short of, or runs past, what is complete.
    #[test]
    fn frontier_reaches_the_last_of_a_full_run() {
        let publisher = Publisher::new(Timestamp(7));
        publisher.complete(Timestamp(9));
        publisher.complete(Timestamp(10));
        assert_eq!(publisher.published(), Timestamp(7));
        publisher.complete(Timestamp(8));
        assert_eq!(publisher.published(), Timestamp(10));
    }

    /// Keeps away: waiting for ever for what a commit that was given up is in the way of, and showing what comes after it.
    #[test]
    fn nothing_is_published_from_what_was_given_up() {
        let publisher = Publisher::new(Timestamp(7));
        publisher.complete(Timestamp(10));
        publisher.end_before(Timestamp(9));
        assert!(!publisher.wait(Timestamp(9)));
        assert!(!publisher.wait(Timestamp(10)));
        publisher.complete(Timestamp(8));
        assert!(publisher.wait(Timestamp(8)));
        assert_eq!(publisher.published(), Timestamp(8));
        assert!(publisher.has_room(Timestamp(8 + 2 * WINDOW)));
    }

    /// Keeps away: a lost advance between two threads that complete neighbours at once.
    #[test]
    fn threads_complete_in_any_order() {
        let publisher = Publisher::new(Timestamp(0));
        let next = Counter::new(1);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let at = Timestamp(next.fetch_add(1, Ordering::SeqCst));
                        if at.0 > 20_000 {
                            // The frontier has to pass over the unused numbers of the other threads too.
                            return;
                        }
                        while !publisher.has_room(at) {
                            thread::yield_now();
                        }
                        publisher.complete(at);
                        assert!(publisher.wait(at));
                    }
                });
            }
        });
        assert_eq!(publisher.published(), Timestamp(20_000));
    }
}

#[cfg(all(test, feature = "shuttle"))]
mod shuttle_tests {
    use std::sync::Arc;

    use super::*;

    /// Keeps away: a lost advance, under every explored schedule.
    #[test]
    fn neighbours_never_strand_the_frontier() {
        shuttle::check_random(
            || {
                let publisher = Arc::new(Publisher::new(Timestamp(0)));
                let threads: Vec<_> = [3u64, 1, 2]
                    .into_iter()
                    .map(|at| {
                        let publisher = publisher.clone();
                        shuttle::thread::spawn(move || publisher.complete(Timestamp(at)))
                    })
                    .collect();
                for thread in threads {
                    thread.join().unwrap();
                }
                assert_eq!(publisher.published(), Timestamp(3));
            },
            2_000,
        );
    }
}
