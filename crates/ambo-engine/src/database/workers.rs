//! The background threads of an open database.
//!
//! | thread | does |
//! |---|---|
//! | `ambo-flush` | flushes memtables when they fill a quarter of their budget |
//! | `ambo-merge` | merges and compacts runs when enough are there |
//! | `ambo-segments` | merges segments of column tables when enough are there; deletes rows that have expired or that filters remove |
//! | `ambo-ahead` | makes fresh rows ready for scans of column tables that are scanned again and again |
//! | `ambo-archive` | archives closed segments of the log, if they are to be |
//! | `ambo-readers` | makes checkpoints for readers in other processes, and frees what they let go |
//! | `ambo-beside` | follows the process that writes, where the database is read beside it |
//! | `ambo-sync` | syncs the log every so often, with [`Sync::Interval`] |

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{Builder, JoinHandle},
    time::Duration,
};

use ambo_types::{Error, Result};
use parking_lot::Mutex;

use super::{engine::Engine, options::Sync};

/// How soon a failed flush is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// An engine with its threads. Dropped, it closes the database.
pub struct Running {
    engine: Arc<Engine>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Running {
    /// Starts the threads that the options ask for.
    pub fn start(engine: Engine) -> Result<Self> {
        let engine = Arc::new(engine);
        let running = Self { engine: engine.clone(), threads: Mutex::default() };
        let options = engine.options();
        if options.beside && options.background_threads {
            running.spawn("ambo-beside", beside_loop)?;
        }
        if options.read_only || !options.background_threads {
            return Ok(running);
        }
        running.spawn("ambo-flush", flush_loop)?;
        if options.background_merge {
            // What was due when the database was closed is due still.
            running.engine.signals.raise(|state| &mut state.merge);
            running.spawn("ambo-merge", merge_loop)?;
            running.spawn("ambo-segments", segment_loop)?;
        }
        running.spawn("ambo-ahead", ahead_loop)?;
        running.spawn("ambo-readers", readers_loop)?;
        // What waits since before the database was closed is archived now.
        running.engine.archive_due();
        running.spawn("ambo-archive", archive_loop)?;
        if let Sync::Interval(every) = options.sync {
            running.spawn("ambo-sync", move |engine| sync_loop(engine, every))?;
        }
        Ok(running)
    }

    fn spawn(&self, name: &str, run: impl FnOnce(&Arc<Engine>) + Send + 'static) -> Result<()> {
        let engine = self.engine.clone();
        let what = name.to_owned();
        let thread = Builder::new().name(name.into()).spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| run(&engine))).is_err() {
                // Whoever waits for this thread must not wait for ever.
                let why = format!("the thread {what} panicked");
                engine.pipeline.poison(&why);
                engine.governor.flush_failed(why);
            }
        });
        let thread = thread.map_err(|error| Error::io(format!("starting the thread {name}"), error))?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Stops the threads and writes a last checkpoint, so that the next open has nothing to replay.
    pub fn close(&self) -> Result<()> {
        self.engine.stop();
        self.engine.cancel_merges();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            thread.join().expect("background threads catch their panics");
        }
        if self.engine.options().read_only {
            return Ok(());
        }
        // Databases are opened and closed for a single row, too: with very many runs the last flush has to merge them.
        self.engine.allow_merges();
        let flushed = self.engine.flush();
        let archived = match self.engine.archive_info() {
            Some(_) if flushed.is_ok() => self.engine.archive(true).map(drop),
            _ => Ok(()),
        };
        // Without its threads it could take writes only until the memtables are full.
        self.engine.pipeline.poison("it was closed");
        // It is closed in order, and the log stays until it is archived.
        flushed.and(archived)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Whoever wants to know of errors calls `close`; what was committed is in the log.
        let _ = self.close();
    }
}

fn flush_loop(engine: &Arc<Engine>) {
    while engine.signals.wait_for(|state| &mut state.flush) {
        engine.flush_and_report();
        if engine.governor.has_failed() {
            engine.signals.again_after(RETRY, |state| &mut state.flush);
        }
    }
}

fn merge_loop(engine: &Arc<Engine>) {
    while engine.signals.wait_for(|state| &mut state.merge) {
        engine.merge_runs_and_report();
        // What was compacted makes segments due, and so does what woke this thread where no runs are due.
        engine.signals.raise(|state| &mut state.merge_segments);
    }
}

fn segment_loop(engine: &Arc<Engine>) {
    let mut rest = None;
    while engine.signals.wait_for_or(rest, |state| &mut state.merge_segments) {
        engine.purge_and_report();
        engine.merge_segments_and_report();
        engine.tend_and_report();
        rest = engine.filter_and_report();
    }
}

fn ahead_loop(engine: &Arc<Engine>) {
    while engine.signals.wait_for(|state| &mut state.ahead) {
        engine.work_ahead();
    }
}

fn archive_loop(engine: &Arc<Engine>) {
    while engine.signals.wait_for(|state| &mut state.archive) {
        if !engine.archive_and_report() {
            engine.signals.again_after(RETRY, |state| &mut state.archive);
        }
    }
}

fn readers_loop(engine: &Arc<Engine>) {
    let mut rest = engine.serve_readers();
    while engine.signals.rest(rest) {
        rest = engine.serve_readers();
    }
}

fn beside_loop(engine: &Arc<Engine>) {
    while engine.signals.rest(super::beside::FOLLOWED_EVERY) {
        engine.look_now();
    }
}

fn sync_loop(engine: &Arc<Engine>, every: Duration) {
    loop {
        let stop = !engine.signals.rest(every);
        // A failure has poisoned the pipeline: the next commit reports it.
        if engine.pipeline.sync_all().is_err() || stop {
            return;
        }
    }
}
