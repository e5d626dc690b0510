//! Loading a column table: regions of text and row groups become columns and segments, in as many threads as there are processors. All
//! files together are one load: everything is in the table, or nothing.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ambo::{ColumnBuffer, Duplicates, LoadOptions, LoadWriter, Loaded};
use ambo_files::{BadRecord, Converter, ParquetFile, Records, Region, Regions};

use super::arguments::OnError;
use super::progress::Progress;
use super::{File, Form, Load, SHOWN_MAX};
use crate::engine::OrFail;
use crate::failure::{Failure, Result};
use crate::interrupt;

/// Memory for text that is read and not yet in columns, of one thread.
const REGION_BYTES_MAX: u64 = 64 << 20;
const REGION_BYTES_MIN: u64 = 1 << 20;
/// Rows that go into the load at once.
const BATCH_ROWS: usize = 8 << 10;

/// What one thread does next.
enum Turn<'f> {
    Region { file: usize, converter: &'f Converter, region: Region },
    Groups { file: &'f ParquetFile, position: &'f AtomicU64, groups: Range<usize>, first: u64 },
}

/// A file, taken apart.
enum Parts<'f> {
    Text { file: usize, converter: &'f Converter, regions: Regions },
    Parquet { file: &'f ParquetFile, position: &'f AtomicU64, turns: std::vec::IntoIter<(Range<usize>, u64)> },
}

/// What is left to do.
struct Work<'f> {
    parts: std::vec::IntoIter<Parts<'f>>,
    current: Option<Parts<'f>>,
    /// Turns so far.
    turns: u64,
}

impl<'f> Work<'f> {
    fn next(&mut self) -> std::io::Result<Option<Turn<'f>>> {
        loop {
            let turn = match &mut self.current {
                None => None,
                Some(Parts::Text { file, converter, regions }) => {
                    let (file, converter) = (*file, *converter);
                    regions.cut()?.map(|region| Turn::Region { file, converter, region })
                }
                Some(Parts::Parquet { file, position, turns }) => {
                    let (file, position) = (*file, *position);
                    turns.next().map(|(groups, first)| Turn::Groups { file, position, groups, first })
                }
            };
            if turn.is_some() {
                self.turns += 1;
                return Ok(turn);
            }
            self.current = self.parts.next();
            if self.current.is_none() {
                return Ok(None);
            }
        }
    }
}

/// What the threads share.
struct Job<'a> {
    of: &'a Load<'a>,
    load: ambo::Load,
    progress: &'a Progress,
    skipped: AtomicU64,
    /// The first turn that failed, and why: what fails behind it may have failed for the same reason.
    failed: Mutex<Option<(u64, Failure)>>,
    failed_turn: AtomicU64,
}

impl Load<'_> {
    /// Loads all files. Returns what was loaded, and how many records were skipped.
    pub(super) fn columns(&self, progress: &Progress) -> Result<(Loaded, u64)> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let options = LoadOptions {
            duplicates: match (self.arguments.replace, self.arguments.on_error) {
                (true, _) => Duplicates::KeepLast,
                (false, OnError::Skip) => Duplicates::KeepFirst,
                (false, OnError::Stop) => Duplicates::Refuse,
            },
            threads,
            cancel: interrupt::flag(),
            ..LoadOptions::default()
        };
        let converters = self.files.iter().map(|file| self.converter(file)).collect::<Result<Vec<_>>>()?;
        let mut parts = Vec::new();
        for (number, (file, converter)) in self.files.iter().zip(&converters).enumerate() {
            let position = progress.position();
            parts.push(match (&file.form, converter) {
                (Form::Text(text), Some(converter)) => {
                    let bytes =
                        (file.source.bytes / (2 * threads as u64)).clamp(REGION_BYTES_MIN, REGION_BYTES_MAX);
                    let regions = Regions::open(&file.source, &text.format, bytes as usize, position)?;
                    Parts::Text { file: number, converter, regions }
                }
                (Form::Parquet(parquet), _) => {
                    Parts::Parquet { file: parquet, position, turns: parquet.turns(threads).into_iter() }
                }
                (Form::Text(_), None) => unreachable!("text has a converter"),
            });
        }
        let job = Job {
            of: self,
            load: self.table.load(options).or_fail(&self.store.dir)?,
            progress,
            skipped: AtomicU64::new(0),
            failed: Mutex::new(None),
            failed_turn: AtomicU64::new(u64::MAX),
        };
        let work = Mutex::new(Work { parts: parts.into_iter(), current: None, turns: 0 });
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| job.work(&work));
            }
            job.work(&work);
        });
        let Job { load, skipped, failed, .. } = job;
        if let Some((_, failure)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(failure);
        }
        progress.finishing();
        let loaded = load.finish().map_err(|error| self.refused(error))?;
        Ok((loaded, skipped.into_inner() + loaded.left_out))
    }

    /// How the records of a text file become rows.
    pub(super) fn converter(&self, file: &File) -> Result<Option<Converter>> {
        let Form::Text(text) = &file.form else { return Ok(None) };
        Ok(Some(Converter::of_table(self.table.definition(), &text.names, &file.source.path)?))
    }

    /// The engine's answer to rows.
    fn refused(&self, error: ambo::Error) -> Failure {
        match error {
            ambo::Error::Exists(_) => {
                Failure::usage(format!("{error}; --replace overwrites, --on-error skip keeps what is there"))
            }
            ambo::Error::Cancelled => Failure::Interrupted(String::new()),
            error => Failure::engine(&self.store.dir, error),
        }
    }
}

impl Job<'_> {
    /// Takes turns until none is left, or one failed.
    fn work(&self, work: &Mutex<Work<'_>>) {
        loop {
            let (number, turn, writer) = {
                let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
                if self.failed_turn.load(Ordering::Relaxed) != u64::MAX {
                    return;
                }
                match work.next() {
                    // Writers stand in the order of turns.
                    Ok(Some(turn)) => (work.turns, turn, self.load.writer()),
                    Ok(None) => return,
                    Err(error) => {
                        let file = &self.of.files[0].source.path;
                        return self.fail(work.turns + 1, Failure::file(file, &error));
                    }
                }
            };
            let done = match turn {
                Turn::Region { file, converter, region } => {
                    self.region(number, file, converter, region, writer)
                }
                Turn::Groups { file, position, groups, first } => {
                    let bytes = file.bytes_of(groups.clone());
                    let done = self.groups(number, file, groups, first, writer);
                    position.fetch_add(bytes, Ordering::Relaxed);
                    done
                }
            };
            if let Err(failure) = done {
                return self.fail(number, failure);
            }
        }
    }

    fn fail(&self, turn: u64, failure: Failure) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.as_ref().is_none_or(|(first, _)| turn < *first) {
            self.failed_turn.store(turn, Ordering::Relaxed);
            *failed = Some((turn, failure));
        }
    }

    /// Whether an earlier turn failed, so that nobody asks for this one.
    fn is_over(&self, turn: u64) -> bool {
        self.failed_turn.load(Ordering::Relaxed) < turn
    }

    fn region(
        &self,
        turn: u64,
        file: usize,
        converter: &Converter,
        region: Region,
        mut writer: LoadWriter,
    ) -> Result<()> {
        let of = &self.of.files[file];
        let Form::Text(text) = &of.form else { return Ok(()) };
        let mut records = Records::new(region, &text.format, &text.names);
        let mut buffers = converter.buffers();
        loop {
            let appended = records.advance().and_then(|more| match more {
                true => converter.append(&records, &mut buffers).map(|()| true),
                false => Ok(false),
            });
            match appended {
                Ok(true) => {}
                Ok(false) => break,
                Err(bad) => self.skip(file, bad)?,
            }
            if buffers[0].len() == BATCH_ROWS {
                let full = std::mem::replace(&mut buffers, converter.buffers());
                self.push(&mut writer, full)?;
                if self.is_over(turn) {
                    return Ok(());
                }
            }
        }
        self.push(&mut writer, buffers)?;
        writer.finish().map_err(|error| self.of.refused(error))
    }

    fn push(&self, writer: &mut LoadWriter, rows: Vec<ColumnBuffer>) -> Result<()> {
        writer.push(rows).map_err(|error| self.of.refused(error))?;
        self.progress.show(self.load.rows());
        Ok(())
    }

    fn groups(
        &self,
        turn: u64,
        file: &ParquetFile,
        groups: Range<usize>,
        mut first: u64,
        mut writer: LoadWriter,
    ) -> Result<()> {
        for batch in file.batches(groups)? {
            let batch = batch?;
            if self.is_over(turn) {
                return Ok(());
            }
            let pushed = writer.push_batch_numbered(&batch, first);
            pushed.map_err(|error| super::in_file(file.path(), self.of.refused(error)))?;
            first += batch.num_rows() as u64;
            self.progress.show(self.load.rows());
        }
        writer.finish().map_err(|error| self.of.refused(error))
    }

    fn skip(&self, file: usize, bad: BadRecord) -> Result<()> {
        let path = &self.of.files[file].source.path;
        if self.of.arguments.on_error == OnError::Stop {
            return Err(super::bad_record(path, &bad));
        }
        let before = self.skipped.fetch_add(1, Ordering::Relaxed);
        if before < SHOWN_MAX {
            super::show_skipped(self.progress, path, &bad, before + 1);
        }
        Ok(())
    }
}
