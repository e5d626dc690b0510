//! The simulated clock and chance.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::Mutex;

use crate::io::{Chance, Clock};

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub struct SimClock(AtomicU64);

impl SimClock {
    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Moves the clock forward to `now`; an earlier moment changes nothing, as a clock never goes back.
    pub fn set(&self, now: Duration) {
        self.0.fetch_max(now.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// As if the world had begun in 2023.
    fn wall(&self) -> Duration {
        Duration::from_secs(1_700_000_000) + self.now()
    }
}

/// Random numbers from a seed.
#[derive(Debug)]
pub struct SimChance(Mutex<u64>);

impl SimChance {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }
}

impl Chance for SimChance {
    fn next_u64(&self) -> u64 {
        split_mix(&mut self.0.lock())
    }
}

/// The next number of the SplitMix64 sequence (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
