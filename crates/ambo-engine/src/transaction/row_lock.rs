//! Row locks that a transaction takes early and holds to its end (`lock`, `SELECT … FOR UPDATE`).
//!
//! A lock is on the 64-bit hash of (table, key): two keys with the same hash share a lock, which can only make one wait for
//! the other. Locks are exclusive. A wait ends with an error after the given time, or at once where it would close a
//! circle of waiting transactions: every transaction waits for at most one lock, so circles are found by following the
//! chain of owners.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use ambo_pages::sync::{AtomicUsize, Ordering};
use ambo_types::{Error, Result};
use parking_lot::{Condvar, Mutex};

/// The identity of a transaction that holds or waits for locks.
pub type OwnerId = u64;

#[derive(Default)]
struct LockState {
    owner_of: HashMap<u64, OwnerId>,
    /// Which lock a transaction waits for.
    waits_for: HashMap<OwnerId, u64>,
}

/// All row locks of a database.
#[derive(Default)]
pub struct RowLocks {
    /// How many locks are held; commits look at nothing else while it is zero.
    held: AtomicUsize,
    state: Mutex<LockState>,
    released: Condvar,
}

impl RowLocks {
    /// Whether any lock is held by anybody.
    pub fn any(&self) -> bool {
        self.held.load(Ordering::Acquire) > 0
    }

    /// Whether `hash` is locked by another than `me`.
    pub fn blocked(&self, hash: u64, me: Option<OwnerId>) -> bool {
        self.any() && self.state.lock().owner_of.get(&hash).is_some_and(|owner| Some(*owner) != me)
    }

    /// Whether another than `me` holds any lock.
    pub fn held_by_others(&self, me: OwnerId) -> bool {
        self.any() && self.state.lock().owner_of.values().any(|owner| *owner != me)
    }

    /// Who holds a lock, if somebody does.
    pub fn owner(&self, hash: u64) -> Option<OwnerId> {
        self.state.lock().owner_of.get(&hash).copied()
    }

    /// Takes the lock if it is free or ours. True if it was taken now, false if it was ours; `None` if it is another's.
    pub fn try_acquire(&self, hash: u64, me: OwnerId) -> Option<bool> {
        let mut state = self.state.lock();
        match state.owner_of.get(&hash) {
            Some(&owner) if owner == me => Some(false),
            Some(_) => None,
            None => {
                state.owner_of.insert(hash, me);
                let held = self.held.fetch_add(1, Ordering::Release) + 1;
                debug_assert_eq!(held, state.owner_of.len(), "each lock is counted");
                Some(true)
            }
        }
    }

    /// Waits until `hash` is not held by another. It is not taken: the caller tries again.
    ///
    /// # Errors
    /// [`Error::Lock`] on a deadlock or after `timeout`.
    pub fn wait(&self, hash: u64, me: OwnerId, timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        let mut state = self.state.lock();
        loop {
            let owner = match state.owner_of.get(&hash) {
                Some(&owner) if owner != me => owner,
                _ => return Ok(()),
            };
            if Self::closes_circle(&state, owner, me) {
                return Err(Error::Lock("waiting for it would be a deadlock".into()));
            }
            state.waits_for.insert(me, hash);
            let timed_out = self.released.wait_until(&mut state, deadline).timed_out();
            state.waits_for.remove(&me);
            if timed_out && state.owner_of.get(&hash).is_some_and(|owner| *owner != me) {
                return Err(Error::Lock(format!(
                    "another transaction has held it for more than {} ms",
                    timeout.as_millis()
                )));
            }
        }
    }

    fn closes_circle(state: &LockState, mut owner: OwnerId, me: OwnerId) -> bool {
        // The chain is no longer than the number of waiters: each waits for one lock.
        for _ in 0..=state.waits_for.len() {
            if owner == me {
                return true;
            }
            match state.waits_for.get(&owner).and_then(|lock| state.owner_of.get(lock)) {
                Some(&next) => owner = next,
                None => return false,
            }
        }
        false
    }

    /// Releases locks that `me` holds.
    pub fn release(&self, hashes: impl Iterator<Item = u64>, me: OwnerId) {
        let mut state = self.state.lock();
        for hash in hashes {
            let owner = state.owner_of.remove(&hash);
            debug_assert_eq!(owner, Some(me), "who has a lock releases it");
            self.held.fetch_sub(1, Ordering::Release);
        }
        debug_assert_eq!(self.held.load(Ordering::Relaxed), state.owner_of.len(), "each lock is counted");
        drop(state);
        self.released.notify_all();
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// Keeps away: two transactions that wait for each other for ever (or until the timeout).
    #[test]
    fn a_circle_is_refused_at_once() {
        let locks = RowLocks::default();
        assert_eq!(locks.try_acquire(10, 1), Some(true));
        assert_eq!(locks.try_acquire(20, 2), Some(true));
        thread::scope(|scope| {
            let waiter = scope.spawn(|| locks.wait(20, 1, LONG));
            while locks.state.lock().waits_for.is_empty() {
                thread::yield_now();
            }
            let started = Instant::now();
            assert!(matches!(locks.wait(10, 2, LONG), Err(Error::Lock(_))));
            assert!(started.elapsed() < LONG / 2);
            locks.release([20].into_iter(), 2);
            waiter.join().unwrap().unwrap();
        });
        assert_eq!(locks.try_acquire(20, 1), Some(true));
        locks.release([10, 20].into_iter(), 1);
        assert!(!locks.any());
    }

    /// Keeps away: a wait without end behind an idle owner.
    #[test]
    fn a_wait_ends_after_its_time() {
        let locks = RowLocks::default();
        locks.try_acquire(1, 1);
        assert!(matches!(locks.wait(1, 2, Duration::from_millis(20)), Err(Error::Lock(_))));
        assert!(locks.wait(1, 1, LONG).is_ok(), "one's own lock does not block");
    }
}
