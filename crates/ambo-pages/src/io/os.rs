//! The operating system's files, clock and chance.
//!
//! Linux: positioned reads and writes, `fallocate` to reserve space and to give it back, `flock` for
//! locks (which two handles of one process do not share either). What a file system cannot do falls back as
//! [`File`] says.

use std::{
    fs, io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ambo_types::{Error, Result};
use parking_lot::Mutex;
use rustix::{
    fs::{Advice, FallocateFlags, FlockOperation, copy_file_range, fadvise, fallocate, flock, fstatvfs},
    io::{Errno, retry_on_intr},
    rand::{GetRandomFlags, getrandom},
};

use super::{
    Chance, Clock, Directories, Disk, Env, File, Lock, OpenMode, Slots, copy_through_memory, sim::split_mix,
};

mod slots;

/// The unit of `st_blocks`, by POSIX and whatever the file system's block size is.
const STAT_BLOCK_BYTES: u64 = 512;

impl Env {
    /// The operating system's world, with the directory `path` as its disk; `create` makes the directory
    /// (and its parents) when it is not there.
    pub fn os(path: impl AsRef<Path>, create: bool) -> Result<Self> {
        let path = path.as_ref();
        let disk = OsDisk::open(path, create)
            .map_err(|e| Error::io(format!("opening the directory {}", path.display()), e))?;
        let chance = OsChance::new().map_err(|e| Error::io("asking for random bytes", e))?;
        Ok(Self {
            disk: Arc::new(disk),
            clock: Arc::new(OsClock::new()),
            chance: Arc::new(chance),
            directories: Arc::new(OsDirectories),
        })
    }
}

/// The directories of the system, by their paths.
#[derive(Clone, Copy, Debug)]
pub struct OsDirectories;

impl Directories for OsDirectories {
    fn open(&self, place: &str, create: bool) -> io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(OsDisk::open(Path::new(place), create)?))
    }
}

/// The files of a directory.
#[derive(Debug)]
pub struct OsDisk {
    path: PathBuf,
    /// The directory itself, held open to be synced.
    directory: fs::File,
}

impl OsDisk {
    /// The directory `path`; `create` makes it durably when it is not there.
    pub fn open(path: &Path, create: bool) -> io::Result<Self> {
        if create {
            create_directory(path)?;
        }
        let directory = fs::File::open(path)?;
        if !directory.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path: path.to_owned(), directory })
    }

    /// Where the directory is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, name: &str) -> io::Result<PathBuf> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("not a plain file name: {name:?}"),
            ));
        }
        Ok(self.path.join(name))
    }
}

/// Creates `path` and the parents it lacks, syncing the parent of each so that the new name is durable.
fn create_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    create_directory(parent)?;
    match fs::create_dir(path) {
        // Another process may have been first.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(e) => Err(e),
        Ok(()) => fs::File::open(parent)?.sync_all(),
    }
}

impl Disk for OsDisk {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(mode != OpenMode::Read).create_new(mode == OpenMode::Create);
        Ok(Arc::new(OsFile(options.open(self.file(name)?)?)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.file(name)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.file(from)?, self.file(to)?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A name that is not UTF-8 is none of ours.
            if let (false, Ok(name)) = (entry.file_type()?.is_dir(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.directory.sync_all()
    }

    fn free_bytes(&self) -> Option<u64> {
        let system = fstatvfs(&self.directory).ok()?;
        Some(system.f_bavail.saturating_mul(system.f_frsize))
    }

    fn directory(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn link_from(&self, source: &dyn Disk, name: &str, here: &str) -> io::Result<bool> {
        let Some(directory) = source.directory() else { return Ok(false) };
        if source.sealed().is_some() {
            // The file there is not what is read from it.
            return Ok(false);
        }
        match fs::hard_link(directory.join(name), self.file(here)?) {
            Ok(()) => Ok(true),
            Err(e) if cannot_link(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn lock(&self, name: &str, exclusive: bool) -> io::Result<Option<Box<dyn Lock>>> {
        let path = self.file(name)?;
        // A shared lock must be possible in a directory that may only be read, if the file is there.
        let file =
            match fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path) {
                Err(e) if !exclusive && is_read_only(&e) => fs::File::open(&path)?,
                opened => opened?,
            };
        let operation = match exclusive {
            true => FlockOperation::NonBlockingLockExclusive,
            false => FlockOperation::NonBlockingLockShared,
        };
        match retry_on_intr(|| flock(&file, operation)) {
            Ok(()) => Ok(Some(Box::new(OsLock { _file: file }))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn slots(&self, name: &str, create: bool) -> io::Result<Option<Arc<dyn Slots>>> {
        slots::open(&self.file(name)?, create)
    }
}

/// Whether a file cannot have a second name there, but may be copied.
fn cannot_link(e: &io::Error) -> bool {
    // Not found: what is read under that name has another one in the directory, as in that of publications.
    use io::ErrorKind::{CrossesDevices, NotFound, PermissionDenied, TooManyLinks, Unsupported};
    matches!(e.kind(), CrossesDevices | NotFound | PermissionDenied | TooManyLinks | Unsupported)
}

fn is_read_only(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// A `flock`, released when its file is closed.
#[derive(Debug)]
struct OsLock {
    _file: fs::File,
}

impl Lock for OsLock {}

/// An open file of the operating system.
#[derive(Debug)]
struct OsFile(fs::File);

/// Whether `e` says that the file system has no such operation.
fn unsupported(e: Errno) -> bool {
    matches!(e, Errno::OPNOTSUPP | Errno::NOSYS)
}

/// Whether the system cannot copy between two files by itself: they are on different file systems, or it never could.
fn cannot_copy(e: Errno) -> bool {
    unsupported(e) || matches!(e, Errno::XDEV | Errno::INVAL | Errno::PERM)
}

// The standard library repeats its positioned reads and writes, `set_len` and syncs when a signal interrupts them.
impl File for OsFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        match retry_on_intr(|| fallocate(&self.0, FallocateFlags::empty(), offset, len)) {
            Err(e) if unsupported(e) => {
                let end = offset.checked_add(len).ok_or(io::ErrorKind::FileTooLarge)?;
                if self.len()? < end { self.set_len(end) } else { Ok(()) }
            }
            result => Ok(result?),
        }
    }

    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match retry_on_intr(|| fallocate(&self.0, flags, offset, len)) {
            Err(e) if unsupported(e) => Ok(()),
            result => Ok(result?),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn will_need(&self, offset: u64, len: u64) {
        // A hint: what the system answers changes nothing.
        if let Some(len) = std::num::NonZeroU64::new(len) {
            let _ = fadvise(&self.0, offset, Some(len), Advice::WillNeed);
        }
    }

    fn start_writeback(&self, offset: u64, len: u64) {
        let (Ok(offset), Ok(len)) = (i64::try_from(offset), i64::try_from(len)) else { return };
        // SAFETY: the descriptor is open as long as `self`; the call touches no memory of ours. A hint: what the system answers
        // changes nothing.
        unsafe { libc::sync_file_range(self.0.as_raw_fd(), offset, len, libc::SYNC_FILE_RANGE_WRITE) };
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn copy_from(&self, source: &dyn File, offset: u64, len: u64) -> io::Result<()> {
        let Some(from) = source.descriptor() else { return copy_through_memory(self, source, offset, len) };
        let end = offset.checked_add(len).ok_or(io::ErrorKind::InvalidInput)?;
        let mut at = offset;
        while at < end {
            let (mut read_at, mut write_at) = (at, at);
            let left = usize::try_from(end - at).unwrap_or(usize::MAX);
            let copied = retry_on_intr(|| {
                copy_file_range(from, Some(&mut read_at), &self.0, Some(&mut write_at), left)
            });
            match copied {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => at += bytes as u64,
                Err(e) if cannot_copy(e) => return copy_through_memory(self, source, at, end - at),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    fn allocated_len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.blocks() * STAT_BLOCK_BYTES)
    }
}

/// The system's monotonic clock.
#[derive(Debug)]
pub struct OsClock(Instant);

impl OsClock {
    /// A clock that starts at zero.
    #[expect(clippy::new_without_default, reason = "a moment is no default")]
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for OsClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    fn wall(&self) -> Duration {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
    }
}

/// A generator seeded by the system. Not for secrets.
#[derive(Debug)]
pub struct OsChance(Mutex<u64>);

impl OsChance {
    /// A generator with a seed that no other has.
    pub fn new() -> io::Result<Self> {
        let mut seed = [0; 8];
        // Requests of up to 256 bytes are answered whole.
        let read = retry_on_intr(|| getrandom(&mut seed, GetRandomFlags::empty()))?;
        if read != seed.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self(Mutex::new(u64::from_le_bytes(seed))))
    }
}

impl Chance for OsChance {
    fn next_u64(&self) -> u64 {
        split_mix(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests;
