//! Counters that many threads advance without meeting.

use std::{
    array,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

const CELLS: usize = 32;

#[derive(Default)]
#[repr(align(64))]
struct Cell(AtomicU64);

/// A counter of several cells, which the threads share out among themselves. Two threads on one cell may overwrite each
/// other's count: with few threads it is exact, with many an estimate; in return an addition costs next to nothing.
pub(super) struct Counter([Cell; CELLS]);

impl Default for Counter {
    fn default() -> Self {
        Self(array::from_fn(|_| Cell::default()))
    }
}

static NEXT_THREAD: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static CELL: usize = NEXT_THREAD.fetch_add(1, Ordering::Relaxed) as usize % CELLS;
}

impl Counter {
    #[inline]
    pub(super) fn add(&self, count: u64) {
        let cell = &self.0[CELL.with(|cell| *cell)].0;
        cell.store(cell.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.iter().map(|cell| cell.0.load(Ordering::Relaxed)).sum()
    }
}
