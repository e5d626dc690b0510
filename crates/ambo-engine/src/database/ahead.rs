//! Layers of fresh rows that are made before a scan needs them.
//!
//! A scan of a column table pays for what was written since the last one: each new row becomes part of columns, and the row that it
//! replaces is looked for. Beside a writer that does not rest this is as much work as the scan itself. So while a table is scanned again
//! and again, a thread makes its layers every few milliseconds, and a scan finds all but the last rows done. The thread rests at least as
//! long as it worked, and ends when nobody scanned for a while. Where the budget of memory has no room for layers, none are made ahead.
//!
//! Where processors are few the thread does not come to it as often as it should, and a scan would pay for all that was written meanwhile.
//! Then writers pay: the commit after which [`BEHIND_MAX`] writes are in no layer makes it, in its own time and without a lock that another
//! commit needs. So a scan beside small commits has some thousand rows to look for, and who writes faster than scans can follow is slowed
//! down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ambo_base::BaseOps;
use parking_lot::Mutex;

use super::{engine::Engine, fresh::FreshRequest, snapshot::Snapshot};

/// With fewer rows to add to the layers that are there, none are made ahead.
pub(super) const WRITES_MIN: usize = 1 << 9;
/// A commit makes layers when so many writes are in none …
const BEHIND_MAX: usize = 768;
/// … and not many more: those of a large commit are soon compacted, and would keep a small one waiting.
const CAUGHT_UP_MAX: usize = 8 * BEHIND_MAX;
/// The thread looks so often.
const EVERY: Duration = Duration::from_millis(4);
/// A scan has layers made for so long.
const WANTED_FOR: Duration = Duration::from_secs(1);

/// What scans of a table will need, if some are to come.
#[derive(Default)]
pub struct Demand {
    wanted: Mutex<Option<ColumnsAsked>>,
    /// Whether something is wanted, for those who only count.
    is_wanted: AtomicBool,
    /// Writes since layers were made, counted while something is wanted.
    behind: AtomicUsize,
}

struct ColumnsAsked {
    /// Stored columns.
    columns: Vec<bool>,
    until: Instant,
}

impl Demand {
    /// There was a scan that needed these stored columns.
    pub(super) fn note(&self, columns: &[bool]) {
        let until = Instant::now() + WANTED_FOR;
        let mut wanted = self.wanted.lock();
        self.is_wanted.store(true, Ordering::Relaxed);
        match &mut *wanted {
            Some(wanted) => {
                debug_assert_eq!(wanted.columns.len(), columns.len(), "columns of one schema");
                wanted.columns.iter_mut().zip(columns).for_each(|(wanted, needed)| *wanted |= needed);
                wanted.until = until;
            }
            None => *wanted = Some(ColumnsAsked { columns: columns.to_vec(), until }),
        }
    }

    /// A row was written. Returns whether layers are to be made now, by who wrote it.
    #[inline]
    pub(super) fn note_write(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
            && (self.behind.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(BEHIND_MAX)
    }

    /// Layers were made of all that was written.
    pub(super) fn note_made(&self) {
        self.behind.store(0, Ordering::Relaxed);
    }

    /// The stored columns that are wanted, while they are.
    fn columns(&self) -> Option<Vec<bool>> {
        let mut wanted = self.wanted.lock();
        if wanted.as_ref().is_some_and(|wanted| wanted.until < Instant::now()) {
            self.is_wanted.store(false, Ordering::Relaxed);
            *wanted = None;
        }
        wanted.as_ref().map(|wanted| wanted.columns.clone())
    }

    fn forget(&self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        *self.wanted.lock() = None;
    }
}

impl Engine {
    /// Makes layers until no table is scanned any more.
    pub(super) fn work_ahead(self: &Arc<Self>) {
        loop {
            let start = Instant::now();
            if !self.make_ahead(usize::MAX) {
                return;
            }
            if !self.signals.rest(start.elapsed().max(EVERY)) {
                return;
            }
        }
    }

    /// Makes the layers that a commit has made necessary.
    #[cold]
    pub(super) fn catch_up(self: &Arc<Self>) {
        self.make_ahead(CAUGHT_UP_MAX);
    }

    /// Makes the layers of tables that are scanned, as a thread of its own does every few milliseconds, where no more than so many writes
    /// are in none; false if no table is scanned.
    pub fn make_ahead(self: &Arc<Self>, writes_max: usize) -> bool {
        let snapshot = Snapshot::new(self);
        let mut some = false;
        for (id, table) in &snapshot.version().tables {
            let demand = &table.shared.fresh.demand;
            let (Some(columns), Some(needed)) = (table.base.columns(), demand.columns()) else { continue };
            some = true;
            let request = FreshRequest {
                table,
                id: *id,
                columns,
                at: snapshot.timestamp(),
                needed: &needed,
                bytes_max: columns.memory().fresh_most(),
            };
            // What cannot be read is an error of the scan that meets it.
            if !matches!(request.make_ahead(writes_max), Ok(true)) {
                demand.forget();
            }
        }
        some
    }
}
