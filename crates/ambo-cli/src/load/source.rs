//! Where rows come from: a file, compressed or not, or standard input, read from the beginning twice.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

use crate::failure::{Failure, Result};

/// An input that can be read from the beginning again.
pub struct Source {
    file: File,
    /// The name for messages.
    pub path: PathBuf,
    /// Bytes of the file as it lies on disk.
    pub bytes: u64,
    compressed: bool,
    /// Whether it begins as a Parquet file does.
    pub is_parquet: bool,
}

/// How many bytes of the file have been read, seen from the outside.
pub type Position = Arc<AtomicU64>;

/// The decompressed bytes.
pub type Input = Box<dyn Read + Send>;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const PARQUET_MAGIC: [u8; 4] = *b"PAR1";
const BUFFER_BYTES: usize = 256 << 10;

impl Source {
    /// Opens a file; `-` is standard input, which is kept in a nameless file so that it can be read twice.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |error: io::Error| Failure::file(path, &error);
        let (mut file, path) = match path.to_str() {
            Some("-") => (spool().map_err(fail)?, PathBuf::from("standard input")),
            _ => (File::open(path).map_err(fail)?, path.to_path_buf()),
        };
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            return Err(Failure::usage(format!(
                "{} is a directory; name a CSV, JSON lines or Parquet file",
                path.display()
            )));
        }
        let mut magic = Vec::new();
        file.by_ref().take(PARQUET_MAGIC.len() as u64).read_to_end(&mut magic).map_err(fail)?;
        let (compressed, is_parquet) = (magic.starts_with(&GZIP_MAGIC), magic == PARQUET_MAGIC);
        Ok(Self { file, path, bytes: metadata.len(), compressed, is_parquet })
    }

    /// The file itself.
    pub fn file(&self) -> Result<File> {
        self.file.try_clone().map_err(|error| Failure::file(&self.path, &error))
    }

    /// The file from its beginning. What is read of it is added to `position`.
    pub fn rewind(&self, position: &Position) -> Result<Input> {
        let fail = |error: io::Error| Failure::file(&self.path, &error);
        let mut file = self.file.try_clone().map_err(fail)?;
        file.seek(SeekFrom::Start(0)).map_err(fail)?;
        let counted = Counted { file, position: Arc::clone(position) };
        Ok(match self.compressed {
            true => Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(counted))),
            false => Box::new(BufReader::with_capacity(BUFFER_BYTES, counted)),
        })
    }
}

fn spool() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

struct Counted {
    file: File,
    position: Position,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.position.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}
