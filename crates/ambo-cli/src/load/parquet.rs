//! Parquet files: their columns as a table's, and their row groups by several threads.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::source::Source;
use crate::failure::{Failure, Result};
use crate::schema::Column;
use crate::text::shorten;

/// An open file.
pub struct ParquetFile {
    path: PathBuf,
    file: SharedFile,
    metadata: ArrowReaderMetadata,
}

/// Rows of a batch.
const BATCH_ROWS: usize = 8 << 10;
/// Rows that a thread takes at a time, about: those of a segment, with room for row groups that are larger than others.
const TURN_ROWS: u64 = 900_000;

impl ParquetFile {
    /// Reads what the end of the file says of it.
    pub fn open(source: &Source) -> Result<Self> {
        let file = SharedFile { file: Arc::new(source.file()?), len: source.bytes };
        let path = source.path.clone();
        let metadata = guard(&path, || ArrowReaderMetadata::load(&file, Default::default()))?;
        Ok(Self { path, file, metadata })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its columns.
    pub fn columns(&self) -> Result<Vec<Column>> {
        let definition = ambo::arrow::definition("t", self.metadata.schema(), &[]);
        let definition =
            definition.map_err(|error| Failure::usage(format!("{}: {error}", self.path.display())))?;
        Ok(crate::schema::of(&definition))
    }

    fn rows_of(&self, groups: Range<usize>) -> u64 {
        let rows = |group| u64::try_from(self.metadata.metadata().row_group(group).num_rows()).unwrap_or(0);
        groups.map(rows).sum()
    }

    /// Bytes of the file that these row groups are.
    pub fn bytes_of(&self, groups: Range<usize>) -> u64 {
        let bytes =
            |group| u64::try_from(self.metadata.metadata().row_group(group).compressed_size()).unwrap_or(0);
        groups.map(bytes).sum()
    }

    /// The row groups in turns for so many threads, each with the number of its first row: alike in length, so that no thread waits for another
    /// for long.
    pub fn turns(&self, threads: usize) -> Vec<(Range<usize>, u64)> {
        let groups = self.metadata.metadata().num_row_groups();
        let threads = threads as u64;
        let turns =
            (threads * self.rows_of(0..groups).div_ceil(threads * TURN_ROWS)).min(groups as u64) as usize;
        let mut first = 1;
        let turn = |turn| {
            let range = turn * groups / turns..(turn + 1) * groups / turns;
            let rows = self.rows_of(range.clone());
            first += rows;
            (range, first - rows)
        };
        (0..turns).map(turn).collect()
    }

    /// The batches of these row groups.
    pub fn batches(&self, groups: Range<usize>) -> Result<Batches> {
        let reader = guard(&self.path, || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone())
                .with_row_groups(groups.collect())
                .with_batch_size(BATCH_ROWS)
                .build()
        })?;
        Ok(Batches { path: self.path.clone(), reader })
    }

    /// The batches of all row groups.
    pub fn all(&self) -> Result<Batches> {
        self.batches(0..self.metadata.metadata().num_row_groups())
    }
}

/// Batches of a file, one after the other.
pub struct Batches {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
}

impl Batches {
    /// The next batch.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        let next =
            || self.reader.next().transpose().map_err(|error| ParquetError::ArrowError(error.to_string()));
        guard(&self.path, next)
    }
}

/// No message shows more of the reader's words.
const WORDS_MAX: usize = 200;

/// Runs the reader, which was not made for hostile files: what it takes for impossible is an error, too.
fn guard<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    let damaged = |what: &str| {
        let what = shorten(what, WORDS_MAX);
        Failure::usage(format!("{}: the Parquet file cannot be read: {what}; write it anew", path.display()))
    };
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| damaged(&error.to_string())),
        Err(_) => Err(damaged("the reader gave up")),
    }
}

/// A file that several threads read, each at its own place.
#[derive(Clone)]
struct SharedFile {
    file: Arc<File>,
    len: u64,
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for SharedFile {
    type T = io::BufReader<Cursor>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(io::BufReader::new(Cursor { file: self.file.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // What a damaged file says of a length is not believed.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} of a file of {}", self.len)));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// A place in a file.
struct Cursor {
    file: Arc<File>,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read_at(buffer, self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}
