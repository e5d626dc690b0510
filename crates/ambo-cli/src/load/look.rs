//! Looking at all records of a text file, to infer its columns: by several threads, unless only the first records are wanted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::arguments::{LoadArguments, OnError};
use super::bad_record;
use super::infer::Inference;
use super::progress::Progress;
use super::records::{BadRecord, Dialect, Records};
use super::regions::Regions;
use super::source::Source;
use crate::failure::{Failure, Result};
use crate::interrupt;

/// Bytes of the file that one thread looks at, at a time.
const REGION_BYTES: usize = 4 << 20;

/// Looks at the records, or at as many as are wanted.
pub fn look(
    arguments: &LoadArguments,
    source: &Source,
    dialect: &Dialect,
    progress: &Progress,
) -> Result<Inference> {
    let mut records = Records::open(source.rewind(progress.position())?, dialect, &source.path)?;
    let names = records.names.clone();
    if let Some(sample) = arguments.sample {
        let mut inference = Inference::new(&names);
        let seen = see(&mut records, &mut inference, sample, arguments.on_error);
        return seen
            .map(|()| inference)
            .map_err(|bad| bad_record(&source.path, &bad))
            .and_then(unless_stopped);
    }
    drop(records);
    let regions =
        Mutex::new((0u64, Regions::new(source.rewind(progress.position())?, dialect, REGION_BYTES)));
    let seen = Mutex::new(Vec::new());
    let rows = AtomicU64::new(0);
    let has_failed = AtomicBool::new(false);
    let work = || -> Result<()> {
        while !interrupt::raised() && !has_failed.load(Ordering::Relaxed) {
            let mut from = regions.lock().unwrap_or_else(PoisonError::into_inner);
            let region = from.1.next().map_err(|error| Failure::file(&source.path, &error))?;
            let Some(region) = region else { break };
            from.0 += 1;
            let number = from.0;
            drop(from);
            let line = region.first_line;
            let mut records = Records::of_region(region, dialect, &names);
            let mut inference = Inference::new(&names);
            let looked = see(&mut records, &mut inference, u64::MAX, arguments.on_error);
            has_failed.fetch_or(looked.is_err(), Ordering::Relaxed);
            progress.show(rows.fetch_add(inference.records(), Ordering::Relaxed) + inference.records());
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((number, line, looked.map(|()| inference)));
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        others.into_iter().map(join).fold(own, Result::and)
    })?;
    let mut seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    seen.sort_unstable_by_key(|(number, ..)| *number);
    let mut inference = Inference::new(&names);
    for (_, line, looked) in seen {
        // The first bad record of the file: regions before it were all looked at.
        inference.merge(looked.map_err(|bad| bad_record(&source.path, &bad))?, line);
    }
    unless_stopped(inference)
}

fn unless_stopped(inference: Inference) -> Result<Inference> {
    match interrupt::raised() {
        true => {
            Err(Failure::Interrupted("stopped by Ctrl-C before the first row; nothing was loaded".into()))
        }
        false => Ok(inference),
    }
}

/// Looks at up to `wanted` records.
fn see(
    records: &mut Records,
    inference: &mut Inference,
    wanted: u64,
    on_error: OnError,
) -> Result<(), BadRecord> {
    while inference.records() < wanted && !interrupt::raised() {
        let seen = records.advance().and_then(|more| match more {
            true => inference.see(records).map(|()| true),
            false => Ok(false),
        });
        match seen {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) if on_error == OnError::Skip => {}
            Err(bad) => return Err(bad),
        }
    }
    Ok(())
}
