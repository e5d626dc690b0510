//! Tests of the whole delta; the small parts have theirs beside them.

#[cfg(not(feature = "shuttle"))]
mod model;
#[cfg(feature = "shuttle")]
mod schedules;
#[cfg(not(feature = "shuttle"))]
mod threads;

use super::Delta;
use super::arena::Arena;

/// A delta of exactly so much memory.
fn delta_of(bytes: usize) -> Delta {
    Delta::with_arena(Arena::new(bytes, None).expect("addresses")).expect("room for a root")
}
