//! Rows of text files as Arrow batches: several threads read a region each, and what they have read comes in the order of the files.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use ambo::{ColumnBuffer, Type};
use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchOptions, StringArray, UInt64Array, cast::AsArray,
    types::TimestampMicrosecondType,
};
use arrow_schema::SchemaRef;

use crate::{
    BadRecord, Converter, Error, Format, Result, nested,
    records::{REGION_BYTES, Records},
    regions::{Region, Regions},
    source::{Position, Source},
};

/// Rows of a batch.
const BATCH_ROWS: usize = 8 << 10;

/// A file, and what becomes of it.
#[derive(Clone)]
pub struct Part {
    /// The file.
    pub source: Arc<Source>,
    /// How it is read.
    pub format: Arc<Format>,
    /// Its columns.
    pub names: Arc<[String]>,
    /// How its records become rows.
    pub converter: Converter,
    /// What each field of the schema has in all rows of the file, for those that it says nothing of. None are meant for all fields.
    pub constants: Vec<Option<String>>,
}

/// The rows of files, in their order.
pub struct Batches {
    shared: Arc<Shared>,
    /// The number of the region whose batches come next.
    turn: u64,
    ready: std::vec::IntoIter<RecordBatch>,
    is_over: bool,
}

struct Shared {
    parts: Vec<Part>,
    schema: SchemaRef,
    with_lines: bool,
    /// Regions that may be read before the one that is wanted next.
    ahead: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The part that is cut, and what is left of it.
    part: usize,
    regions: Option<Regions>,
    /// Regions that were cut.
    cut: u64,
    /// The next region that is wanted.
    wanted: u64,
    /// What was read, by the numbers of regions.
    done: BTreeMap<u64, Result<Vec<RecordBatch>>>,
    /// There is nothing more to cut.
    at_end: bool,
    /// Nobody wants any more.
    is_over: bool,
}

impl Batches {
    /// Reads files with so many threads. The schema is that of the converters' columns; `with_lines` adds a column with the line on which
    /// each row begins.
    pub fn new(parts: Vec<Part>, schema: SchemaRef, threads: usize, with_lines: bool) -> Self {
        let bytes: u64 = parts.iter().map(|part| part.source.bytes).sum();
        let regions = usize::try_from(bytes).unwrap_or(usize::MAX).div_ceil(REGION_BYTES);
        let threads = threads.min(regions).max(1);
        let state = State {
            part: 0,
            regions: None,
            cut: 0,
            wanted: 0,
            done: BTreeMap::new(),
            at_end: false,
            is_over: false,
        };
        let (ahead, state, changed) = (2 * threads as u64, Mutex::new(state), Condvar::new());
        let shared = Arc::new(Shared { parts, schema, with_lines, ahead, state, changed });
        for _ in 0..threads {
            let thread = shared.clone();
            let work = move || thread.work();
            if let Err(error) = std::thread::Builder::new().name("ambo-files".into()).spawn(work) {
                let mut state = shared.state();
                state.at_end = true;
                let what = Error::new(crate::Kind::System, format!("no thread to read a file: {error}"));
                let turn = state.cut;
                state.done.insert(turn, Err(what));
                state.cut += 1;
            }
        }
        Self { shared, turn: 0, ready: Vec::new().into_iter(), is_over: false }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.next() {
                return Some(Ok(batch));
            }
            if self.is_over {
                return None;
            }
            let shared = self.shared.clone();
            let mut state = shared.state();
            state.wanted = self.turn;
            shared.changed.notify_all();
            let done = loop {
                if let Some(done) = state.done.remove(&self.turn) {
                    break done;
                }
                if state.at_end && state.cut <= self.turn {
                    self.is_over = true;
                    return None;
                }
                state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            self.turn += 1;
            match done {
                Ok(batches) => self.ready = batches.into_iter(),
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
    }
}

/// Says that a region failed if the thread that reads it panics: nobody waits for it in vain.
struct Watch<'a>(&'a Shared, u64);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = Error::new(crate::Kind::System, "the reader of a file gave up");
            self.0.state().done.insert(self.1, Err(error));
            self.0.changed.notify_all();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads regions until there are none.
    fn work(&self) {
        while let Some((turn, part, region)) = self.take() {
            let watch = Watch(self, turn);
            let done = region.and_then(|region| self.read(&self.parts[part], region));
            self.state().done.insert(turn, done);
            self.changed.notify_all();
            drop(watch);
        }
    }

    /// The next region, once it is time for it.
    fn take(&self) -> Option<(u64, usize, Result<Region>)> {
        let mut state = self.state();
        loop {
            if state.is_over || state.at_end {
                return None;
            }
            if state.cut >= state.wanted + self.ahead {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let next = self.cut(&mut state);
            let Some(region) = next.transpose() else {
                state.at_end = true;
                self.changed.notify_all();
                return None;
            };
            // Behind an error nothing is wanted.
            state.at_end |= region.is_err();
            let (turn, part) = (state.cut, state.part);
            state.cut += 1;
            return Some((turn, part, region));
        }
    }

    fn cut(&self, state: &mut State) -> Result<Option<Region>> {
        while let Some(part) = self.parts.get(state.part) {
            let regions = match &mut state.regions {
                Some(regions) => regions,
                none => {
                    let input = part.source.read(&Position::default())?;
                    none.insert(Regions::new(input, &part.format, REGION_BYTES))
                }
            };
            if let Some(region) = regions.cut().map_err(|error| Error::io(&part.source.path, &error))? {
                return Ok(Some(region));
            }
            state.regions = None;
            state.part += 1;
        }
        Ok(None)
    }

    fn read(&self, part: &Part, region: Region) -> Result<Vec<RecordBatch>> {
        let path: &PathBuf = &part.source.path;
        let bad = |bad: BadRecord| bad.in_file(path);
        let mut records = Records::new(region, &part.format, &part.names);
        let (mut buffers, mut lines) = (part.converter.buffers(), Vec::new());
        let mut batches = Vec::new();
        loop {
            let read = match records.advance() {
                Ok(false) => break,
                Ok(true) => part.converter.append(&records, &mut buffers),
                Err(error) => Err(error),
            };
            match read {
                Err(_) if part.format.skips_bad => continue,
                read => read.map_err(bad)?,
            }
            lines.push(records.line);
            if lines.len() == BATCH_ROWS {
                let full = std::mem::replace(&mut buffers, part.converter.buffers());
                batches.push(self.batch(part, full, std::mem::take(&mut lines))?);
                if self.state().is_over {
                    return Ok(batches);
                }
            }
        }
        if !lines.is_empty() {
            batches.push(self.batch(part, buffers, lines)?);
        }
        Ok(batches)
    }

    fn batch(&self, part: &Part, buffers: Vec<ColumnBuffer>, lines: Vec<u64>) -> Result<RecordBatch> {
        let wrong = |error: &dyn std::fmt::Display| Error::in_file(&part.source.path, error);
        let options = RecordBatchOptions::new().with_row_count(Some(lines.len()));
        let mut arrays = Vec::with_capacity(self.schema.fields().len());
        let mut buffers = buffers.into_iter();
        for (place, field) in self.schema.fields().iter().enumerate() {
            if let Some(text) = part.constants.get(place).and_then(Option::as_deref) {
                let texts = std::iter::repeat_n(text, lines.len());
                arrays.push(Arc::new(StringArray::from_iter_values(texts)) as ArrayRef);
                continue;
            }
            let Some(buffer) = buffers.next() else { break };
            let values = array(buffer).map_err(|error| wrong(&error))?;
            arrays.push(match field.data_type().is_nested() {
                true => {
                    nested::decode(&values, field, &lines).map_err(|bad| bad.in_file(&part.source.path))?
                }
                false => values,
            });
        }
        if self.with_lines {
            arrays.push(Arc::new(UInt64Array::from(lines)) as ArrayRef);
        }
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map_err(|error| wrong(&error))
    }
}

/// The values of a buffer, as statements have them: timestamps are without a zone.
///
/// # Errors
/// None that callers can cause.
pub fn array(buffer: ColumnBuffer) -> Result<ArrayRef, ambo::Error> {
    let ty = buffer.ty();
    let array = ambo::arrow::array(buffer)?;
    Ok(match array.as_primitive_opt::<TimestampMicrosecondType>() {
        Some(times) if ty == Type::Timestamp => Arc::new(times.clone().with_timezone_opt(None::<Arc<str>>)),
        _ => array,
    })
}
