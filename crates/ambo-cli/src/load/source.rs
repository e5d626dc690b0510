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
}

/// How many bytes of the file have been read, seen from the outside.
pub type Position = Arc<AtomicU64>;

/// The decompressed bytes.
pub type Input = Box<dyn Read>;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
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
                "{} is a directory; name a CSV or JSON lines file",
                path.display()
            )));
        }
        let mut magic = [0; 2];
        let compressed = read_start(&mut file, &mut magic).map_err(fail)? && magic == GZIP_MAGIC;
        Ok(Self { file, path, bytes: metadata.len(), compressed })
    }

    /// The file from its beginning.
    pub fn rewind(&self) -> Result<(Input, Position)> {
        let fail = |error: io::Error| Failure::file(&self.path, &error);
        let mut file = self.file.try_clone().map_err(fail)?;
        file.seek(SeekFrom::Start(0)).map_err(fail)?;
        let position = Position::default();
        let counted = Counted { file, position: Arc::clone(&position) };
        let input: Input = match self.compressed {
            true => Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(counted))),
            false => Box::new(BufReader::with_capacity(BUFFER_BYTES, counted)),
        };
        Ok((input, position))
    }
}

fn spool() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// False when the file is shorter than what is asked for.
fn read_start(file: &mut File, start: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(start) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
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
