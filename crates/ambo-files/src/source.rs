//! Where rows come from: a file, compressed or not, or standard input, read from the beginning as often as is wanted, by several at once.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use flate2::read::MultiGzDecoder;

use crate::{Compression, CopyText, Error, Form, Format, Result, RowsOf, json_values, rewritten};

/// An input that can be read from the beginning again.
#[derive(Debug)]
pub struct Source {
    file: Arc<File>,
    /// The name for messages.
    pub path: PathBuf,
    /// Bytes of the file as it lies on disk.
    pub bytes: u64,
    compression: Compression,
    /// Whether it begins as a Parquet file does.
    pub is_parquet: bool,
    /// Members of objects that are texts of geometries.
    pub geometries: Vec<String>,
}

/// How many bytes of the file have been read, seen from the outside.
pub type Position = Arc<AtomicU64>;

/// The decompressed bytes.
pub(crate) type Input = Box<dyn Read + Send>;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const PARQUET_MAGIC: [u8; 4] = *b"PAR1";
/// The column of values that are no objects.
const VALUES: &str = "json";
const BUFFER_BYTES: usize = 256 << 10;

impl Source {
    /// Opens a file; `-` is standard input. What can be read only once is kept in a nameless file.
    ///
    /// # Errors
    /// A file that cannot be opened, or a directory.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |error: io::Error| Error::io(path, &error);
        if path.to_str() == Some("-") {
            let file = spool(&mut io::stdin().lock()).map_err(fail)?;
            return Self::of_file(file, PathBuf::from("standard input"));
        }
        let mut file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            return Err(Error::in_file(path, "it is a directory; name a CSV, JSON lines or Parquet file"));
        }
        if !metadata.is_file() {
            file = spool(&mut file).map_err(fail)?;
        }
        Self::of_file(file, path.to_path_buf())
    }

    /// What a stream says, kept in a nameless file: it is read more than once. It has this name in messages.
    ///
    /// # Errors
    /// What the stream or the system says.
    pub fn of_stream(stream: &mut dyn Read, name: &str) -> Result<Self> {
        let path = PathBuf::from(name);
        let file = spool(stream).map_err(|error| Error::io(&path, &error))?;
        Self::of_file(file, path)
    }

    /// The rows of a stream in the text form of COPY, to be read as JSON lines whose members have these names; those that say so are of
    /// bytes.
    ///
    /// # Errors
    /// A line with too few or too many fields, or that is no UTF-8; what the stream or the system says.
    pub fn of_text(
        stream: &mut dyn Read,
        name: &str,
        form: &CopyText,
        columns: &[(&str, bool)],
    ) -> Result<Self> {
        let path = PathBuf::from(name);
        form.check()?;
        let file = form.keep(stream, &path, columns)?;
        Self::of_file(file, path)
    }

    fn of_file(file: File, path: PathBuf) -> Result<Self> {
        let file = Arc::new(file);
        let fail = |error: io::Error| Error::io(&path, &error);
        let bytes = file.metadata().map_err(fail)?.len();
        let mut magic = Vec::new();
        let begin = Cursor { file: file.clone(), at: 0, position: None };
        begin.take(PARQUET_MAGIC.len() as u64).read_to_end(&mut magic).map_err(fail)?;
        let compression = if magic.starts_with(&GZIP_MAGIC) {
            Compression::Gzip
        } else if magic == ZSTD_MAGIC {
            Compression::Zstd
        } else {
            Compression::None
        };
        Ok(Self {
            file,
            path,
            bytes,
            compression,
            is_parquet: magic == PARQUET_MAGIC,
            geometries: Vec::new(),
        })
    }

    /// The same as it is read in a format.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn in_format(self, format: &Format) -> Result<Self> {
        if format.form != Form::Json {
            return Ok(self);
        }
        let source = self.with_lines_of_json()?;
        let lines = || source.read(&Position::default());
        let fail = |error: io::Error| Error::io(&source.path, &error);
        let file = match &format.rows {
            RowsOf::Objects => return Ok(source),
            RowsOf::Either => match rewritten::begins_otherwise(lines()?).map_err(fail)? {
                true => rewritten::wrapped(&source.path, lines()?, VALUES)?,
                false => return Ok(source),
            },
            RowsOf::Values(name) => rewritten::wrapped(&source.path, lines()?, name)?,
            RowsOf::Features => {
                let (file, geometries) = rewritten::features(&source.path, lines()?, format.skips_bad)?;
                return Ok(Self { geometries, ..Self::of_file(file, source.path.clone())? });
            }
        };
        Self::of_file(file, source.path.clone())
    }

    /// The same with a value of JSON a line: what is a list, or is written over several lines, is kept as lines in a nameless file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn with_lines_of_json(self) -> Result<Self> {
        let read = || self.read(&Position::default());
        let fail = |error: io::Error| Error::io(&self.path, &error);
        match json_values::are_lines(read()?).map_err(fail)? {
            true => Ok(self),
            false => {
                let lines = json_values::lines(read()?).map_err(fail)?;
                Self::of_file(lines, self.path.clone())
            }
        }
    }

    /// The file itself.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// The file from its beginning. What is read of it is added to `position`.
    pub(crate) fn read(&self, position: &Position) -> Result<Input> {
        let cursor = Cursor { file: self.file.clone(), at: 0, position: Some(position.clone()) };
        let file = BufReader::with_capacity(BUFFER_BYTES, cursor);
        Ok(match self.compression {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(file))),
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(file);
                Box::new(decoder.map_err(|error| Error::io(&self.path, &error))?)
            }
        })
    }
}

fn spool(from: &mut dyn Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(from, &mut file)?;
    Ok(file)
}

/// A place in a file. Others have theirs, for the file's own place is not used.
pub(crate) struct Cursor {
    pub file: Arc<File>,
    pub at: u64,
    pub position: Option<Position>,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read_at(buffer, self.at)?;
        self.at += length as u64;
        if let Some(position) = &self.position {
            position.fetch_add(length as u64, Ordering::Relaxed);
        }
        Ok(length)
    }
}
