//! The budget of memtables: when to freeze, and how to slow writers down smoothly instead of stopping them.
//!
//! `used` is what active and frozen memtables take together. At a quarter of the budget the active memtables are frozen
//! and flushed. While that goes on every write waits as long as the law in [`pace`](super::pace) says, so that writers approach the speed
//! of the flush; should the budget be used up nevertheless, they wait for the flush itself.

use std::time::{Duration, Instant};

use ambo_pages::sync::{AtomicUsize, Ordering};
use ambo_types::{Error, Result};
use parking_lot::{Condvar, Mutex};

use super::pace::{Flush, Load, speed_after};

/// The speed of flushes in bytes a second, as long as there was none.
const FIRST_SPEED: f64 = 64e6;
/// Delays shorter than this are saved up: a thread cannot sleep for less.
const DELAY_MIN: Duration = Duration::from_micros(200);
/// The longest sleep at one write.
const DELAY_MAX: Duration = Duration::from_millis(10);

/// Accounts for memtable memory.
pub struct Governor {
    budget: usize,
    used: AtomicUsize,
    active: AtomicUsize,
    frozen: AtomicUsize,
    state: Mutex<GovernorState>,
    relieved: Condvar,
}

struct GovernorState {
    /// When all that was admitted is paid for.
    paid: Option<Instant>,
    /// When the flush that is under way began.
    flush_began: Option<Instant>,
    /// Bytes a second that flushes write.
    speed: f64,
    /// Why the last flush failed; cleared by one that succeeds.
    failure: Option<String>,
}

impl Governor {
    /// A governor of `budget` bytes.
    pub fn new(budget: usize) -> Self {
        Self {
            budget,
            used: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            frozen: AtomicUsize::new(0),
            state: Mutex::new(GovernorState {
                paid: None,
                flush_began: None,
                speed: FIRST_SPEED,
                failure: None,
            }),
            relieved: Condvar::new(),
        }
    }

    /// Bytes in active and frozen memtables.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether writers have to wait for a flush.
    #[inline]
    pub fn is_used_up(&self) -> bool {
        self.used() >= self.budget
    }

    /// Accounts for `bytes` installed in active memtables. True when it is time to freeze them.
    pub fn add(&self, bytes: usize) -> bool {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        let before = self.active.fetch_add(bytes, Ordering::Relaxed);
        let limit = self.budget / 4;
        before < limit && before + bytes >= limit
    }

    /// The active memtables were frozen; their bytes stay in use until [`Governor::flushed`].
    pub fn freeze(&self) {
        let bytes = self.active.swap(0, Ordering::Relaxed);
        self.frozen.fetch_add(bytes, Ordering::Relaxed);
        self.state.lock().flush_began = Some(Instant::now());
    }

    /// All frozen memtables were flushed.
    pub fn flushed(&self) {
        let bytes = self.frozen.swap(0, Ordering::Relaxed);
        let used = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(bytes <= used, "{bytes} frozen bytes of {used} in use");
        let mut state = self.state.lock();
        if let Some(began) = state.flush_began.take() {
            state.speed = speed_after(state.speed, self.budget, bytes, began.elapsed().as_secs_f64());
        }
        state.paid = None;
        state.failure = None;
        drop(state);
        self.relieved.notify_all();
    }

    /// A flush failed; writers that the budget stops learn why.
    pub fn flush_failed(&self, why: String) {
        self.state.lock().failure = Some(why);
        self.relieved.notify_all();
    }

    /// Whether the last flush failed.
    pub fn has_failed(&self) -> bool {
        self.state.lock().failure.is_some()
    }

    /// Waits as long as the budget asks before `bytes` are written.
    ///
    /// # Errors
    /// [`Error::DiskFull`] when the budget is used up and flushing fails.
    #[inline]
    pub fn admit(&self, bytes: usize) -> Result<()> {
        // The common case costs one load.
        if self.used() < self.budget / 4 { Ok(()) } else { self.slow_down(bytes) }
    }

    #[cold]
    fn slow_down(&self, bytes: usize) -> Result<()> {
        let mut state = self.state.lock();
        while self.used() >= self.budget {
            if let Some(why) = &state.failure {
                return Err(Error::DiskFull(format!(
                    "flushing the memtable, whose budget is used up ({why})"
                )));
            }
            self.relieved.wait(&mut state);
        }
        let now = Instant::now();
        let price = bytes as f64 * self.load(&state, now).pace(state.speed);
        let paid =
            state.paid.map_or(now, |paid| paid.max(now)) + Duration::from_secs_f64(price).min(DELAY_MAX);
        let paid = paid.min(now + DELAY_MAX);
        state.paid = Some(paid);
        if paid - now >= DELAY_MIN {
            // A flush that ends meanwhile ends the wait too.
            self.relieved.wait_until(&mut state, paid);
        }
        Ok(())
    }

    fn load(&self, state: &GovernorState, now: Instant) -> Load {
        let frozen = self.frozen.load(Ordering::Relaxed);
        let active = self.active.load(Ordering::Relaxed);
        let flush = match state.flush_began {
            Some(began) if frozen > 0 => {
                Some(Flush { bytes: frozen, age: now.saturating_duration_since(began).as_secs_f64() })
            }
            // One is due, and begins at any moment.
            _ => (active >= self.budget / 4).then_some(Flush { bytes: active, age: 0.0 }),
        };
        Load { budget: self.budget, used: self.used(), flush }
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use std::thread;

    use super::*;

    /// Keeps away: a writer that is stopped for ever when the disk is full.
    #[test]
    fn a_full_budget_waits_for_the_flush_or_its_failure() {
        let governor = Governor::new(1000);
        assert!(!governor.add(200));
        assert!(governor.add(900), "a quarter was passed");
        thread::scope(|scope| {
            let writer = scope.spawn(|| governor.admit(10));
            thread::sleep(Duration::from_millis(10));
            assert!(!writer.is_finished());
            governor.flush_failed("device full".into());
            assert!(matches!(writer.join().unwrap(), Err(Error::DiskFull(_))));
        });
        governor.freeze();
        governor.flushed();
        governor.admit(10).unwrap();
        assert_eq!(governor.used(), 0);
    }
}
