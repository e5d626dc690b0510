//! Latches on keys, held for the length of a commit.

use parking_lot::{Mutex, MutexGuard};

/// Enough stripes that two of a few dozen threads seldom meet, few enough to stay in the second-level cache: a latch is a byte.
const STRIPES: usize = 1 << 14;

/// A striped set of latches: each key hash belongs to one stripe.
pub struct Latches {
    stripes: Box<[Mutex<()>]>,
}

/// Latches of one commit, released when dropped.
pub enum LatchGuard<'a> {
    /// Of one key.
    One(MutexGuard<'a, ()>),
    /// Of several keys.
    Many(Vec<MutexGuard<'a, ()>>),
}

impl Latches {
    /// All stripes free.
    pub fn new() -> Self {
        Self { stripes: (0..STRIPES).map(|_| Mutex::new(())).collect() }
    }

    fn stripe(hash: u64) -> usize {
        hash as usize & (STRIPES - 1)
    }

    /// Waits for the latch of one key.
    #[inline]
    pub fn lock_one(&self, hash: u64) -> LatchGuard<'_> {
        LatchGuard::One(self.stripes[Self::stripe(hash)].lock())
    }

    /// Waits for the latches of several keys, in ascending order of stripes so that no two commits wait for each other.
    pub fn lock_many(&self, hashes: impl Iterator<Item = u64>) -> LatchGuard<'_> {
        let mut stripes: Vec<_> = hashes.map(Self::stripe).collect();
        stripes.sort_unstable();
        stripes.dedup();
        LatchGuard::Many(stripes.into_iter().map(|stripe| self.stripes[stripe].lock()).collect())
    }

    /// Waits for all latches: nobody commits anything meanwhile.
    pub fn lock_all(&self) -> LatchGuard<'_> {
        LatchGuard::Many(self.stripes.iter().map(Mutex::lock).collect())
    }
}

impl Default for Latches {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        thread,
    };

    use super::*;

    /// Keeps away: two commits inside the same key's latch, and a deadlock between overlapping sets.
    #[test]
    fn overlapping_sets_exclude_each_other_without_deadlock() {
        let latches = Latches::new();
        let inside: Vec<AtomicU32> = (0..8).map(|_| AtomicU32::new(0)).collect();
        thread::scope(|scope| {
            for thread in 0..4u64 {
                let (latches, inside) = (&latches, &inside);
                scope.spawn(move || {
                    for round in 0..2_000u64 {
                        let keys = [(thread + round) % 8, (thread * 3 + round * 5) % 8, round % 8];
                        let _guard = if round % 3 == 0 {
                            latches.lock_one(keys[0])
                        } else {
                            latches.lock_many(keys.into_iter())
                        };
                        let held: &[u64] = if round % 3 == 0 { &keys[..1] } else { &keys };
                        let mut distinct = held.to_vec();
                        distinct.sort_unstable();
                        distinct.dedup();
                        for &key in &distinct {
                            assert_eq!(inside[key as usize].fetch_add(1, Ordering::SeqCst), 0);
                        }
                        for &key in &distinct {
                            inside[key as usize].fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
    }
}
