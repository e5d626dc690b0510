//! Looking at all records of a text file, to infer its columns: by several threads, unless only the first records are wanted.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::{
    BadRecord, Error, Format, Result,
    infer::Inference,
    records::{REGION_BYTES, Records, Stream},
    regions::Regions,
    source::{Position, Source},
};

/// How to look at a file.
pub struct Look<'a> {
    /// At so many records only.
    pub sample: Option<u64>,
    /// Whether bad records are passed over.
    pub skips_bad: bool,
    /// With so many threads.
    pub threads: usize,
    /// Whether somebody asked to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Is told how many records were seen.
    pub tell: &'a (dyn Fn(u64) + Sync),
    /// Bytes that were read.
    pub position: Position,
}

impl Look<'_> {
    /// Looks at the records, or at as many as are wanted.
    ///
    /// # Errors
    /// The first bad record of the file.
    pub fn at(&self, source: &Source, format: &Arc<Format>, names: &Arc<[String]>) -> Result<Inference> {
        let inference = match self.sample {
            Some(sample) => self.first(source, format, names, sample),
            None => self.all(source, format, names),
        };
        match (self.stop)() {
            true => Err(Error::interrupted()),
            false => inference,
        }
    }

    fn first(
        &self,
        source: &Source,
        format: &Arc<Format>,
        names: &Arc<[String]>,
        sample: u64,
    ) -> Result<Inference> {
        let mut inference = Inference::new(names);
        let mut records = Stream::open(source, format, names, &self.position)?;
        while inference.records() < sample && !(self.stop)() {
            let seen = match records.next(&source.path)? {
                Ok(None) => break,
                Ok(Some(record)) => inference.see(record),
                Err(bad) => Err(bad),
            };
            self.pass(seen).map_err(|bad| bad.in_file(&source.path))?;
        }
        Ok(inference)
    }

    fn pass(&self, seen: Result<(), BadRecord>) -> Result<(), BadRecord> {
        if self.skips_bad { Ok(()) } else { seen }
    }

    fn all(&self, source: &Source, format: &Arc<Format>, names: &Arc<[String]>) -> Result<Inference> {
        let regions = Regions::new(source.read(&self.position)?, format, REGION_BYTES);
        let regions = Mutex::new((0u64, regions));
        let seen = Mutex::new(Vec::new());
        let rows = AtomicU64::new(0);
        let has_failed = AtomicBool::new(false);
        let work = || -> Result<()> {
            while !(self.stop)() && !has_failed.load(Ordering::Relaxed) {
                let mut from = regions.lock().unwrap_or_else(PoisonError::into_inner);
                let region = from.1.cut().map_err(|error| Error::io(&source.path, &error))?;
                let Some(region) = region else { break };
                from.0 += 1;
                let number = from.0;
                drop(from);
                let line = region.first_line;
                let looked = self.region(Records::new(region, format, names), names);
                has_failed.fetch_or(looked.is_err(), Ordering::Relaxed);
                if let Ok(inference) = &looked {
                    let records = inference.records();
                    (self.tell)(rows.fetch_add(records, Ordering::Relaxed) + records);
                }
                seen.lock().unwrap_or_else(PoisonError::into_inner).push((number, line, looked));
            }
            Ok(())
        };
        // A file of a piece needs no other thread.
        let threads = self.threads.min((source.bytes as usize).div_ceil(REGION_BYTES)).max(1);
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
        let mut inference = Inference::new(names);
        for (_, line, looked) in seen {
            // The first bad record of the file: regions before it were all looked at.
            inference.merge(looked.map_err(|bad| bad.in_file(&source.path))?, line);
        }
        Ok(inference)
    }

    fn region(&self, mut records: Records, names: &Arc<[String]>) -> Result<Inference, BadRecord> {
        let mut inference = Inference::new(names);
        while !(self.stop)() {
            let seen = match records.advance() {
                Ok(true) => inference.see(&records),
                Ok(false) => break,
                Err(bad) => Err(bad),
            };
            self.pass(seen)?;
        }
        Ok(inference)
    }
}
