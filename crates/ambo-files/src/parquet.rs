//! Parquet files: their columns as a table's, and their row groups by several threads.

use std::{
    collections::HashMap,
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use parquet::{
    arrow::arrow_reader::{
        ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    },
    basic::{LogicalType, Type as PhysicalType},
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};

use crate::{
    Column, Error, Result,
    guard::guarded,
    source::{Cursor, Source},
    text::shorten,
};

/// An open file.
#[derive(Debug)]
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
    ///
    /// # Errors
    /// A file that is none, or a damaged one.
    pub fn open(source: &Source) -> Result<Self> {
        let file = SharedFile { file: source.file().clone(), len: source.bytes };
        let path = source.path.clone();
        let metadata = read(&path, || {
            let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
            match in_microseconds(&metadata) {
                None => Ok(metadata),
                Some(schema) => {
                    let options = ArrowReaderOptions::new().with_schema(schema);
                    ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)
                }
            }
        })?;
        Ok(Self { path, file, metadata })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The types of its columns.
    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// Its columns.
    ///
    /// # Errors
    /// One that no column of a table holds.
    pub fn columns(&self) -> Result<Vec<Column>> {
        for field in self.metadata.schema().fields() {
            if ambo::arrow::type_of(field.data_type()).is_err() {
                let (name, what) = (field.name(), in_words(field.data_type()));
                let what = format!("column \"{name}\" holds {what}, which is not loaded without SQL");
                return Err(Error::in_file(&self.path, what)
                    .with_hint("CREATE TABLE t AS FROM 'file' stores lists, structs and maps; what no column holds is cast to text there"));
            }
        }
        let definition = ambo::arrow::definition("t", self.metadata.schema(), &[]);
        let definition = definition.map_err(|error| Error::in_file(&self.path, error))?;
        let column = |column: &ambo::Column| Column {
            name: column.name.clone(),
            ty: column.kind,
            nullable: column.nullable,
        };
        Ok(definition.columns.iter().map(column).collect())
    }

    /// The names of the columns that are UUIDs, as the file says it: other bytes of that length are bytes.
    pub fn uuids(&self) -> Vec<String> {
        let parquet = self.metadata.parquet_schema();
        let says = |root: usize| {
            (0..parquet.num_columns()).any(|leaf| {
                parquet.get_column_root_idx(leaf) == root
                    && parquet.column(leaf).logical_type_ref() == Some(&LogicalType::Uuid)
            })
        };
        let mark = uuid_mark();
        let is_marked =
            |field: &Field| mark.iter().all(|(key, value)| field.metadata().get(key) == Some(value));
        let fields = self.schema().fields().iter().enumerate();
        let uuids = fields.filter(|(root, field)| {
            *field.data_type() == DataType::FixedSizeBinary(16) && (is_marked(field) || says(*root))
        });
        uuids.map(|(_, field)| field.name().clone()).collect()
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

    /// The row groups in turns for so many threads, each with the number of its first row: alike in length, so that no thread waits for
    /// another for long.
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
    ///
    /// # Errors
    /// What is damaged.
    pub fn batches(&self, groups: Range<usize>) -> Result<ParquetBatches> {
        let reader = read(&self.path, || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone())
                .with_row_groups(groups.collect())
                .with_batch_size(BATCH_ROWS)
                .build()
        })?;
        Ok(ParquetBatches { path: self.path.clone(), reader: Some(reader) })
    }

    /// The batches of all row groups.
    ///
    /// # Errors
    /// What is damaged.
    pub fn all(&self) -> Result<ParquetBatches> {
        self.batches(0..self.metadata.metadata().num_row_groups())
    }
}

/// What says that a field of 16 bytes is a UUID.
pub(crate) fn uuid_mark() -> HashMap<String, String> {
    HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())])
}

/// What values of a type are, to a person.
fn in_words(ty: &DataType) -> String {
    match ty {
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "lists".into(),
        DataType::Struct(_) => "structs".into(),
        DataType::Map(..) => "maps".into(),
        DataType::Decimal256(digits, _) => format!("decimals of {digits} digits"),
        DataType::Interval(_) | DataType::Duration(_) => "intervals".into(),
        _ => "values of a type".into(),
    }
}

/// The schema with microseconds for times of 96 bits, if there are any: they hold years that nanoseconds of 64 bits do not.
fn in_microseconds(metadata: &ArrowReaderMetadata) -> Option<SchemaRef> {
    let parquet = metadata.parquet_schema();
    let mut has_any = false;
    let fields: Vec<_> = (metadata.schema().fields().iter().enumerate())
        .map(|(root, field)| {
            let wide = (0..parquet.num_columns()).any(|leaf| {
                parquet.get_column_root_idx(leaf) == root
                    && parquet.column(leaf).physical_type() == PhysicalType::INT96
            });
            match field.data_type() {
                DataType::Timestamp(TimeUnit::Nanosecond, zone) if wide => {
                    has_any = true;
                    let micros = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
                    Arc::new(Field::clone(field).with_data_type(micros))
                }
                _ => field.clone(),
            }
        })
        .collect();
    has_any.then(|| Arc::new(Schema::new_with_metadata(fields, metadata.schema().metadata().clone())))
}

/// Batches of a file, one after the other.
pub struct ParquetBatches {
    path: PathBuf,
    /// None behind an error.
    reader: Option<ParquetRecordBatchReader>,
}

impl Iterator for ParquetBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let mut reader = self.reader.take()?;
        let next = read(&self.path, || {
            let next = reader.next().transpose();
            next.map_err(|error| ParquetError::ArrowError(error.to_string()))
        });
        if next.is_ok() {
            self.reader = Some(reader);
        }
        next.transpose()
    }
}

/// No message shows more of the reader's words.
const WORDS_MAX: usize = 200;

/// A Parquet file that cannot be read.
pub fn damaged(path: &Path, what: &str) -> Error {
    // "Parquet error: Parquet error: …" says it once too often.
    let (mut what, starts) = (what, ["Parquet error: ", "Arrow: ", "External: ", "Parquet argument error: "]);
    while let Some(rest) = starts.iter().find_map(|start| what.strip_prefix(start)) {
        what = rest;
    }
    Error::in_file(path, format!("the Parquet file cannot be read: {}", shorten(what, WORDS_MAX)))
        .with_hint("it is damaged or none; write it anew")
}

/// Runs the reader.
fn read<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    match guarded(read) {
        Some(read) => read.map_err(|error| damaged(path, &error.to_string())),
        None => Err(damaged(path, "the reader gave up")),
    }
}

/// A file that several threads read, each at its own place.
#[derive(Clone, Debug)]
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
        Ok(io::BufReader::new(Cursor { file: self.file.clone(), at: start, position: None }))
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
