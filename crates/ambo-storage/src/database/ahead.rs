//! Layers of fresh rows that are made before a scan needs them.
//!
//! A scan of a column table pays for what was written since the last one: each new row becomes part of columns, and the row that it replaces is looked for. Beside a
//! writer that does not rest this is as much work as the scan itself. So while a table is scanned again and again, a thread makes its layers every few
//! milliseconds, and a scan finds all but the last rows done. The thread rests at least as long as it worked, and ends when nobody scanned for a while. Where the budget
//! of memory has no room for layers, none are made ahead.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{engine::Engine, fresh::Request, snapshot::Snapshot};

/// With fewer rows to add to the layers that are there, none are made ahead.
pub(super) const WRITES_MIN: usize = 1 << 10;
/// The thread looks so often.
const EVERY: Duration = Duration::from_millis(4);
/// A scan has layers made for so long.
const WANTED_FOR: Duration = Duration::from_secs(1);

/// What scans of a table will need, if some are to come.
#[derive(Default)]
pub struct Demand(Mutex<Option<Wanted>>);

struct Wanted {
    /// Stored columns.
    columns: Vec<bool>,
    until: Instant,
}

impl Demand {
    /// There was a scan that needed these stored columns.
    pub(super) fn note(&self, columns: &[bool]) {
        let until = Instant::now() + WANTED_FOR;
        let mut wanted = self.0.lock();
        match &mut *wanted {
            Some(wanted) => {
                wanted.columns.iter_mut().zip(columns).for_each(|(wanted, needed)| *wanted |= needed);
                wanted.until = until;
            }
            None => *wanted = Some(Wanted { columns: columns.to_vec(), until }),
        }
    }

    /// The stored columns that are wanted, while they are.
    fn columns(&self) -> Option<Vec<bool>> {
        let mut wanted = self.0.lock();
        if wanted.as_ref().is_some_and(|wanted| wanted.until < Instant::now()) {
            *wanted = None;
        }
        wanted.as_ref().map(|wanted| wanted.columns.clone())
    }

    fn forget(&self) {
        *self.0.lock() = None;
    }
}

impl Engine {
    /// Makes layers until no table is scanned any more.
    pub(super) fn work_ahead(self: &Arc<Self>) {
        loop {
            let start = Instant::now();
            if !self.make_ahead() {
                return;
            }
            let rest = Instant::now() + start.elapsed().max(EVERY);
            let mut state = self.signals.state.lock();
            while !state.stop && !self.signals.changed.wait_until(&mut state, rest).timed_out() {}
            if state.stop {
                return;
            }
        }
    }

    /// Makes the layers of tables that are scanned, as a thread of its own does every few milliseconds; false if no table is.
    pub fn make_ahead(self: &Arc<Self>) -> bool {
        let snapshot = Snapshot::new(self);
        let mut some = false;
        for (id, table) in &snapshot.version().tables {
            let demand = &table.shared.fresh.demand;
            let (Some(columns), Some(needed)) = (&table.columns, demand.columns()) else { continue };
            some = true;
            let request = Request {
                table,
                id: *id,
                columns,
                at: snapshot.timestamp(),
                needed: &needed,
                bytes_max: columns.memory().fresh_most(),
            };
            // What cannot be read is an error of the scan that meets it.
            if !matches!(request.make_ahead(), Ok(true)) {
                demand.forget();
            }
        }
        some
    }
}
