//! How far a long query is, drawn where the main thread waits for it: by `ambo._progress`, which knows what it may draw on.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ambo_sql::Progress;
use pyo3::prelude::*;

/// After how many looks for signals a query is long: two seconds.
const LONG: u32 = 40;
/// Each how many of them it is drawn.
const EACH: u32 = 2;

/// What is drawn of the statement that runs.
pub(crate) struct Drawing {
    /// `None` lets `ambo._progress` see whether there is something to draw on.
    wanted: Option<bool>,
    /// How often the statement was waited for.
    waits: AtomicU32,
    is_drawn: AtomicBool,
}

impl Drawing {
    pub(crate) fn new(wanted: Option<bool>) -> Self {
        Self { wanted, waits: AtomicU32::new(0), is_drawn: AtomicBool::new(false) }
    }

    /// A statement begins, or the next part of its rows.
    pub(crate) fn begin(&self) {
        self.waits.store(0, Ordering::Relaxed);
    }

    /// It is waited for.
    pub(crate) fn wait(&self, py: Python<'_>, progress: impl FnOnce() -> Option<Progress>) -> PyResult<()> {
        let waits = self.waits.fetch_add(1, Ordering::Relaxed);
        if self.wanted == Some(false) || waits < LONG || !waits.is_multiple_of(EACH) {
            return Ok(());
        }
        let Some(progress) = progress() else { return Ok(()) };
        let given = (progress.rows_read, progress.rows_total, progress.bytes_spilled, self.wanted);
        if py.import("ambo._progress")?.getattr("draw")?.call1(given)?.extract()? {
            self.is_drawn.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// It has ended: what was drawn goes.
    pub(crate) fn end(&self, py: Python<'_>) {
        if self.is_drawn.swap(false, Ordering::Relaxed) {
            let clear = || py.import("ambo._progress")?.getattr("clear")?.call0();
            if let Err(error) = clear() {
                error.write_unraisable(py, None);
            }
        }
    }
}
