//! The register of active snapshots.
//!
//! # Thread safety and invariants
//!
//! 1. `oldest_hint` is never above the timestamp of a registered snapshot, present or future: it is only raised under the
//!    register's lock, to the oldest registered, or to what was published when none is, and a new snapshot takes its
//!    timestamp under the same lock.
//! 2. It never falls.

use std::collections::BTreeMap;

use ambo_pages::sync::{AtomicU64, Ordering};
use ambo_types::id::Timestamp;
use parking_lot::Mutex;

use crate::transaction::publish::Publisher;

/// Which timestamps are being read at.
#[derive(Default)]
pub struct Snapshots {
    active: Mutex<BTreeMap<Timestamp, usize>>,
    oldest_hint: AtomicU64,
}

impl Snapshots {
    /// Registers a snapshot at the newest published timestamp. `view` is called under the register's lock, after
    /// the timestamp was read, and returns what the snapshot reads from; `None` means "read the timestamp again".
    pub fn register<V>(
        &self,
        publisher: &Publisher,
        mut view: impl FnMut(Timestamp) -> Option<V>,
    ) -> (Timestamp, V) {
        let mut active = self.active.lock();
        loop {
            let at = publisher.published();
            if let Some(view) = view(at) {
                debug_assert!(at >= self.oldest_hint(), "no snapshot is older than the hint");
                debug_assert!(
                    active.last_key_value().is_none_or(|(newest, _)| *newest <= at),
                    "a snapshot that begins is no older than others"
                );
                *active.entry(at).or_insert(0) += 1;
                return (at, view);
            }
        }
    }

    /// Registers once more at a timestamp that is registered.
    pub fn register_again(&self, at: Timestamp) {
        *self.active.lock().get_mut(&at).expect("it is registered already") += 1;
    }

    /// Ends one registration at `at`.
    pub fn release(&self, at: Timestamp, publisher: &Publisher) {
        let mut active = self.active.lock();
        let count = active.get_mut(&at).expect("a released snapshot was registered");
        *count -= 1;
        if *count == 0 {
            active.remove(&at);
        }
        self.raise(&active, publisher);
    }

    fn raise(&self, active: &BTreeMap<Timestamp, usize>, publisher: &Publisher) {
        let oldest = active.keys().next().copied().unwrap_or_else(|| publisher.published());
        let before = self.oldest_hint.fetch_max(oldest.0, Ordering::Release);
        debug_assert!(before <= oldest.0, "no snapshot is older than the hint");
    }

    /// A timestamp that no snapshot, now or later, is older than. Cheap, and a little behind.
    pub fn oldest_hint(&self) -> Timestamp {
        Timestamp(self.oldest_hint.load(Ordering::Acquire))
    }

    /// Brings [`Snapshots::oldest_hint`] up to date unless the register is busy.
    pub fn refresh(&self, publisher: &Publisher) {
        if let Some(active) = self.active.try_lock() {
            self.raise(&active, publisher);
        }
    }

    /// The oldest registered snapshot.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.active.lock().keys().next().copied()
    }

    /// How many snapshots are registered.
    pub fn count(&self) -> usize {
        self.active.lock().values().sum()
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    /// Keeps away: versions pruned that an open snapshot still needs.
    #[test]
    fn hint_stays_at_the_oldest_open_snapshot() {
        let publisher = Publisher::new(Timestamp(5));
        let snapshots = Snapshots::default();
        let (old, ()) = snapshots.register(&publisher, |_| Some(()));
        for at in 6..=9 {
            publisher.complete(Timestamp(at));
        }
        let (new, ()) = snapshots.register(&publisher, |_| Some(()));
        assert_eq!((old, new), (Timestamp(5), Timestamp(9)));
        snapshots.refresh(&publisher);
        assert_eq!(snapshots.oldest_hint(), Timestamp(5));
        snapshots.release(new, &publisher);
        assert_eq!(snapshots.oldest_hint(), Timestamp(5));
        snapshots.release(old, &publisher);
        assert_eq!(snapshots.oldest_hint(), Timestamp(9));
    }
}
