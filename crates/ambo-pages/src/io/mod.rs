//! The one seam to the outside: files, clock and chance.
//!
//! Everything that the engine knows of the world comes through [`Env`]. Two implementations exist: the operating
//! system's ([`os`]) and a simulated disk with crashes and faults ([`sim`]).

use std::{fmt::Debug, io, ops::Range, os::fd::BorrowedFd, path::Path, sync::Arc, time::Duration};

use ambo_types::Error;

use crate::seal::SealedDisk;

pub mod os;
pub mod sim;

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// It must exist; only reads.
    Read,
    /// It must exist; reads and writes.
    ReadWrite,
    /// It must not exist; it is created, for reads and writes. Durable after [`Disk::sync_directory`].
    Create,
}

/// The files of one database directory. Names are plain: no separators.
pub trait Disk: Send + Sync + Debug {
    /// Opens or creates a file.
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Removes a file. Durable after [`Disk::sync_directory`]. Files still open stay readable.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Renames a file over whatever has the new name, atomically. Durable after [`Disk::sync_directory`].
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// The names of all files, in no order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes creations, removals and renames durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// How many bytes files can still take; `None` if that has no limit or is not known. An estimate: other programs use the
    /// disk too, and a quota may allow less.
    fn free_bytes(&self) -> Option<u64>;
    /// Takes the lock of the named file (created when absent) without waiting: exclusive, or shared with
    /// other shared holders. `Ok(None)` if another process, or another handle of this one, holds it. Held until dropped.
    fn lock(&self, name: &str, exclusive: bool) -> io::Result<Option<Box<dyn Lock>>>;
    /// The places of the named file; `None` if it is not there and is not to be created. Not where the disk has no such locks that count
    /// for all processes.
    fn slots(&self, _name: &str, create: bool) -> io::Result<Option<Arc<dyn Slots>>> {
        if create { Err(io::ErrorKind::Unsupported.into()) } else { Ok(None) }
    }
    /// Where the directory is, if it is one of the system's.
    fn directory(&self) -> Option<&Path> {
        None
    }
    /// Gives a file of another directory a name here, so that both directories have the one file. False, and nothing is done, where
    /// that cannot be: on another file system, say. REQUIRES: nobody ever edits the file. Durable after [`Disk::sync_directory`].
    fn link_from(&self, _source: &dyn Disk, _name: &str, _here: &str) -> io::Result<bool> {
        Ok(false)
    }
    /// The disk itself, if it seals its files.
    fn sealed(&self) -> Option<&SealedDisk> {
        None
    }
}

/// A lock that is held until it is dropped.
pub trait Lock: Send + Sync + Debug {}

/// Places of a file that handles lock, one byte each. A handle loses what it has with its end, however its process ends. What a handle has
/// itself is neither refused nor shown to it.
pub trait Slots: Send + Sync + Debug {
    /// The file.
    fn file(&self) -> &dyn File;
    /// Takes a place without waiting; false if another handle has it.
    fn take(&self, slot: u64) -> io::Result<bool>;
    /// Gives a place back.
    fn give_back(&self, slot: u64) -> io::Result<()>;
    /// The places that other handles have, ascending.
    fn taken(&self, slots: Range<u64>) -> io::Result<Vec<u64>>;
}

/// An open file. All operations take positions, so that threads share it without a cursor.
pub trait File: Send + Sync + Debug {
    /// Fills `buffer` from `offset`; [`io::ErrorKind::UnexpectedEof`] if the file ends before.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`, growing the file when needed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Cuts or extends (with zeros) the file.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Reserves space for `[offset, offset + len)` and extends the file to cover it; new bytes are zero.
    /// Where the file system cannot reserve, it only extends.
    fn allocate(&self, offset: u64, len: u64) -> io::Result<()>;
    /// Gives the space of `[offset, offset + len)` back to the file system; the bytes become zero. Where the
    /// file system cannot, it does nothing.
    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()>;
    /// Makes the written bytes (and the length needed to read them) durable.
    fn sync(&self) -> io::Result<()>;
    /// Hints that `[offset, offset + len)` will be read soon.
    fn will_need(&self, offset: u64, len: u64);
    /// Begins to write `[offset, offset + len)` to the device, without waiting: a later [`File::sync`] has less to do. A hint,
    /// and no promise of durability.
    fn start_writeback(&self, _offset: u64, _len: u64) {}
    /// Bytes that the file occupies on the device, holes left out.
    fn allocated_len(&self) -> io::Result<u64>;
    /// The system's handle of the file, if it is one of the system's.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Writes `[offset, offset + len)` of another file to the same place of this one.
    fn copy_from(&self, source: &dyn File, offset: u64, len: u64) -> io::Result<()> {
        copy_through_memory(self, source, offset, len)
    }
    /// Writes the bytes of `[offset, offset + len)`, which are there, once more as they are on the disk: after a failed sync that makes
    /// them durable with the next one, and a crash meanwhile leaves them.
    fn write_again(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?];
        self.read_at(&mut bytes, offset)?;
        self.write_at(&bytes, offset)
    }
    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }
}

/// What a read that failed is: damage, if the bytes there are not what was sealed, or what the system says.
pub fn read_failed(name: &str, offset: u64, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData => Error::damaged(name, offset, error.to_string()),
        _ => Error::io(format!("reading {name}"), error),
    }
}

/// Bytes of a copy that are in memory at once.
const COPY_BYTES: u64 = 1 << 20;

/// Reads from one file and writes to the other.
fn copy_through_memory<F: File + ?Sized>(
    target: &F,
    source: &dyn File,
    offset: u64,
    len: u64,
) -> io::Result<()> {
    let end = offset.checked_add(len).ok_or(io::ErrorKind::InvalidInput)?;
    let mut buffer = vec![0; len.min(COPY_BYTES) as usize];
    let mut at = offset;
    while at < end {
        let part = &mut buffer[..(end - at).min(COPY_BYTES) as usize];
        source.read_at(part, at)?;
        target.write_at(part, at)?;
        at += part.len() as u64;
    }
    Ok(())
}

/// Time, as far as the engine needs it.
pub trait Clock: Send + Sync + Debug {
    /// Time since some fixed moment; never goes back.
    fn now(&self) -> Duration;

    /// Time since 1970 began, in UTC, as the system has it.
    fn wall(&self) -> Duration;
}

/// Chance, from one seed in tests.
pub trait Chance: Send + Sync + Debug {
    /// The next random number.
    fn next_u64(&self) -> u64;
}

/// Finds directories beside that of the database: where its log is archived.
pub trait Directories: Send + Sync + Debug {
    /// The directory of that name, as it was given; it is made if that is asked and it is not there.
    fn open(&self, place: &str, create: bool) -> io::Result<Arc<dyn Disk>>;
}

/// There is no other directory.
#[derive(Clone, Copy, Debug)]
pub struct NoDirectories;

impl Directories for NoDirectories {
    fn open(&self, place: &str, _create: bool) -> io::Result<Arc<dyn Disk>> {
        Err(io::Error::new(io::ErrorKind::NotFound, format!("a database in memory has no directory {place}")))
    }
}

/// The world that an engine lives in.
#[derive(Clone, Debug)]
pub struct Env {
    /// The directory's files.
    pub disk: Arc<dyn Disk>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of random numbers.
    pub chance: Arc<dyn Chance>,
    /// What finds other directories.
    pub directories: Arc<dyn Directories>,
}
