//! Tests of the whole memtable; the small parts have theirs beside them.

#[cfg(not(feature = "shuttle"))]
mod model;
#[cfg(feature = "shuttle")]
mod schedules;
#[cfg(not(feature = "shuttle"))]
mod threads;

use super::{Memtable, arena::Arena};

/// A memtable of exactly so much memory.
fn memtable_of(bytes: usize) -> Memtable {
    Memtable::with_arena(Arena::new(bytes, None).expect("addresses")).expect("room for a root")
}
