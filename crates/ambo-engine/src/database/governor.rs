//! The budget of memtables: when to freeze, and how to slow writers down smoothly instead of stopping them.
//!
//! `used` is what active and frozen memtables take together. At a quarter of the budget the active memtables are frozen
//! and flushed. From five eighths on every write waits a little, more the fuller it is, so that writers approach the speed of
//! the flush; at the budget they wait for the flush itself.

use std::time::{Duration, Instant};

use ambo_pages::sync::{AtomicUsize, Ordering};
use ambo_types::{Error, Result};
use parking_lot::{Condvar, Mutex};

/// The speed that writers are slowed to when the budget is all but used, in bytes a second.
const SLOWEST: f64 = 32e6;
/// Delays shorter than this are saved up: a thread cannot sleep for less.
const DELAY_MIN: Duration = Duration::from_micros(200);
/// The longest sleep at one write.
const DELAY_MAX: Duration = Duration::from_millis(50);

/// Accounts for memtable memory.
pub struct Governor {
    budget: usize,
    used: AtomicUsize,
    active: AtomicUsize,
    frozen: AtomicUsize,
    state: Mutex<GovernorState>,
    relieved: Condvar,
}

#[derive(Default)]
struct GovernorState {
    /// Delays not slept yet, in seconds.
    debt: f64,
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
            state: Mutex::default(),
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
    }

    /// All frozen memtables were flushed.
    pub fn flushed(&self) {
        let bytes = self.frozen.swap(0, Ordering::Relaxed);
        let used = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(bytes <= used, "{bytes} frozen bytes of {used} in use");
        let mut state = self.state.lock();
        state.debt = 0.0;
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
        if self.used() <= self.budget / 8 * 5 { Ok(()) } else { self.slow_down(bytes) }
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
        let soft = self.budget / 8 * 5;
        let fullness = (self.used().saturating_sub(soft)) as f64 / (self.budget - soft) as f64;
        // Squared: hardly felt at first, the full delay near the end.
        state.debt += bytes as f64 / SLOWEST * fullness * fullness;
        let delay = Duration::from_secs_f64(state.debt);
        if delay < DELAY_MIN {
            return Ok(());
        }
        state.debt = 0.0;
        let deadline = Instant::now() + delay.min(DELAY_MAX);
        // A flush that ends meanwhile ends the wait too.
        self.relieved.wait_until(&mut state, deadline);
        Ok(())
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
