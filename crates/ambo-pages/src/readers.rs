//! Readers in other processes beside the one that writes: what they hold, and how they ask for a checkpoint. The file `readers`.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 8 | `AMBOREAD` |
//! | 8 | 4 | format version, 1 |
//! | 12 | 4 | slots, 1024 |
//! | 16 | 8 | number of the last request for a checkpoint, from 1 on |
//! | 24 | 8 | number of the last request that was answered |
//! | 32 | 32 | zero |
//! | 64 + 16 · i | 8 | of slot i: the sequence of the oldest checkpoint that its reader holds |
//! | 72 + 16 · i | 4 | CRC32C of these eight bytes |
//! | 76 + 16 · i | 4 | zero |
//!
//! A reader that holds checkpoint 7 in slot 0 has at offset 64 `07 00 00 00 00 00 00 00  8e b7 71 76  00 00 00 00`.
//!
//! # Locks
//! Byte i is locked (`fcntl`, open file description) by the reader that has slot i, byte 1024 by the process that writes the database, byte
//! 1025 for a moment by a reader that asks. What slots without a lock say does not count: their readers are gone.
//!
//! # Rules
//! 1. A reader locks a slot, writes the sequence of the superblock that it has read, and reads the superblock again: if that is another,
//!    it begins anew. It raises the sequence only when it reads nothing older any more.
//! 2. A writer looks after it has published a checkpoint, and before pages or files become free that an older one has. So one of the
//!    two sees what the other did: either the reader the newer superblock, or the writer the slot.
//! 3. A slot that is locked and cannot be read counts as holding everything.
//! 4. Nothing here is ever synced: after a loss of power no reader is left.

use std::{sync::Arc, time::Duration};

use ambo_types::{Error, Result};
use parking_lot::Mutex;

use crate::{
    checksum::crc32c,
    io::{Disk, Slots},
};

/// The file's name.
pub const NAME: &str = "readers";
/// How many readers there may be.
pub const SLOTS: u64 = 1024;
/// What a reader holds that holds nothing.
pub const NOTHING: u64 = u64::MAX;

const MAGIC: &[u8; 8] = b"AMBOREAD";
const FORMAT_VERSION: u32 = 1;
const ASKED_AT: usize = 16;
const ANSWERED_AT: usize = 24;
const TABLE_AT: usize = 64;
const ENTRY_BYTES: usize = 16;
const FILE_BYTES: usize = TABLE_AT + SLOTS as usize * ENTRY_BYTES;
const _: () = assert!(ASKED_AT == MAGIC.len() + 2 * size_of::<u32>());
const _: () =
    assert!(ANSWERED_AT == ASKED_AT + size_of::<u64>() && ANSWERED_AT + size_of::<u64>() <= TABLE_AT);
const _: () = assert!(FILE_BYTES == 16_448);

/// The byte that the writing process locks.
const WRITER: u64 = SLOTS;
/// The byte that a reader locks while it asks.
const ASKING: u64 = SLOTS + 1;
/// How often a reader tries to ask: each who is before it needs some microseconds.
const ASKING_TRIES: u32 = 10_000;

fn failed(what: &str) -> impl FnOnce(std::io::Error) -> Error {
    let what = format!("{what} {NAME}");
    move |error| Error::io(what, error)
}

fn entry(sequence: u64) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..8].copy_from_slice(&sequence.to_le_bytes());
    let crc = crc32c(&bytes[..8]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The sequence in an entry; zero, which holds everything, if it cannot be read.
fn held(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes)) {
        Some(sequence) if *bytes == entry(sequence) => sequence,
        _ => 0,
    }
}

fn number_at(slots: &dyn Slots, at: usize) -> Result<u64> {
    let mut bytes = [0; 8];
    slots.file().read_at(&mut bytes, at as u64).map_err(failed("reading"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Writes the header where there is none, and the length. Who is first does not matter: all write the same.
fn prepare(slots: &dyn Slots) -> Result<()> {
    let file = slots.file();
    let mut head = [0; ASKED_AT];
    let len = file.len().map_err(failed("measuring"))?;
    if len >= ASKED_AT as u64 {
        file.read_at(&mut head, 0).map_err(failed("reading"))?;
    }
    let mut ours = [0; ASKED_AT];
    ours[..8].copy_from_slice(MAGIC);
    ours[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    ours[12..].copy_from_slice(&(SLOTS as u32).to_le_bytes());
    if head.iter().all(|byte| *byte == 0) {
        file.write_at(&ours, 0).map_err(failed("writing"))?;
    } else if head[..8] == *MAGIC && head != ours {
        return Err(Error::Invalid(format!("{NAME} was written by a newer program; use that")));
    } else if head != ours {
        let what = "it is not a table of readers; remove it while nobody has the database open";
        return Err(Error::damaged(NAME, 0, what));
    }
    if len < FILE_BYTES as u64 {
        file.set_len(FILE_BYTES as u64).map_err(failed("extending"))?;
    }
    Ok(())
}

/// A reader's place. Dropped, or when its process ends, it holds nothing.
#[derive(Debug)]
pub struct Reader {
    slots: Arc<dyn Slots>,
    slot: u64,
}

impl Reader {
    /// Takes a place among those of a directory, which are made if there are none. `near` spreads readers over them.
    ///
    /// # Errors
    /// [`Error::InUse`] if all are taken; [`Error::Invalid`] where there can be none.
    pub fn join(disk: &dyn Disk, near: u64) -> Result<Self> {
        let slots = disk.slots(NAME, true).map_err(cannot_join)?.expect("it is created");
        prepare(&*slots)?;
        for place in 0..SLOTS {
            let slot = (near % SLOTS + place) % SLOTS;
            if slots.take(slot).map_err(cannot_join)? {
                let reader = Self { slots, slot };
                reader.hold(NOTHING)?;
                return Ok(reader);
            }
        }
        Err(Error::InUse(format!(
            "{SLOTS} readers have the database open beside its writer, and that is the most"
        )))
    }

    /// Says which checkpoint is the oldest that is read.
    pub fn hold(&self, sequence: u64) -> Result<()> {
        let at = TABLE_AT + self.slot as usize * ENTRY_BYTES;
        self.slots.file().write_at(&entry(sequence), at as u64).map_err(failed("writing"))
    }

    /// Asks for a checkpoint that has everything committed until now. Returns the number of the request.
    pub fn ask(&self) -> Result<u64> {
        for attempt in 0..ASKING_TRIES {
            if self.slots.take(ASKING).map_err(failed("locking"))? {
                let asked = number_at(&*self.slots, ASKED_AT).and_then(|asked| {
                    let next = asked.max(number_at(&*self.slots, ANSWERED_AT)?) + 1;
                    self.slots
                        .file()
                        .write_at(&next.to_le_bytes(), ASKED_AT as u64)
                        .map_err(failed("writing"))?;
                    Ok(next)
                });
                self.slots.give_back(ASKING).map_err(failed("unlocking"))?;
                return asked;
            }
            if attempt % 64 == 63 {
                std::thread::sleep(Duration::from_millis(1));
            } else {
                std::thread::yield_now();
            }
        }
        Err(Error::InUse(format!("another reader keeps {NAME} locked; try again")))
    }

    /// Whether a request was answered.
    pub fn is_answered(&self, request: u64) -> Result<bool> {
        Ok(number_at(&*self.slots, ANSWERED_AT)? >= request)
    }

    /// Whether a process that answers has the database open.
    pub fn has_writer(&self) -> Result<bool> {
        self.slots.taken(WRITER..WRITER + 1).map(|taken| !taken.is_empty()).map_err(failed("looking who has"))
    }
}

fn cannot_join(error: std::io::Error) -> Error {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, Unsupported};
    match error.kind() {
        PermissionDenied | ReadOnlyFilesystem => Error::Invalid(format!(
            "who reads beside a writer has to write to the file {NAME}, and may not here ({error}); open the database read-only when nobody writes it"
        )),
        Unsupported => Error::Invalid(format!(
            "nobody can read beside a writer here: {error}; ask the process that has the database (ambo serve), or read a backup"
        )),
        _ => Error::io(format!("opening {NAME}"), error),
    }
}

/// What readers hold, as a writer sees it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// How many readers there are.
    pub readers: usize,
    /// The sequence of the oldest checkpoint that one of them reads.
    pub oldest: Option<u64>,
}

/// The writer's view of the readers of its directory.
#[derive(Debug)]
pub struct Watch {
    disk: Arc<dyn Disk>,
    slots: Mutex<Option<Arc<dyn Slots>>>,
    /// What was held when it was looked at last.
    last: Mutex<Option<(Duration, Held)>>,
}

impl Watch {
    /// The readers of a directory, present or future.
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, slots: Mutex::new(None), last: Mutex::new(None) }
    }

    /// The places, once a reader has made them.
    fn slots(&self) -> Result<Option<Arc<dyn Slots>>> {
        let mut slots = self.slots.lock();
        if slots.is_none() {
            *slots = self.disk.slots(NAME, false).map_err(failed("opening"))?;
            if let Some(slots) = &*slots {
                // That somebody else has it would be a lock of the directory that does not count.
                slots.take(WRITER).or_else(ignore_read_only).map_err(failed("locking"))?;
            }
        }
        Ok(slots.clone())
    }

    /// Whether there have ever been readers.
    pub fn is_used(&self) -> bool {
        self.slots().is_ok_and(|slots| slots.is_some())
    }

    /// What is held now. Where that cannot be told, everything is.
    pub fn held(&self) -> Held {
        self.try_held().unwrap_or(Held { readers: 1, oldest: Some(0) })
    }

    /// What was held lately. Whether it was looked at just now: that is done once in `every`, as it takes a while where there are very
    /// many.
    pub fn held_lately(&self, now: Duration, every: Duration) -> (Held, bool) {
        let mut last = self.last.lock();
        if let Some((at, held)) = *last
            && now.saturating_sub(at) < every
        {
            return (held, false);
        }
        let held = self.held();
        *last = Some((now, held));
        (held, true)
    }

    fn try_held(&self) -> Result<Held> {
        let Some(slots) = self.slots()? else { return Ok(Held::default()) };
        let taken = slots.taken(0..SLOTS).map_err(failed("looking who has"))?;
        if taken.is_empty() {
            return Ok(Held::default());
        }
        let mut table = vec![0; FILE_BYTES - TABLE_AT];
        slots.file().read_at(&mut table, TABLE_AT as u64).map_err(failed("reading"))?;
        let entries = taken.iter().map(|slot| {
            let at = *slot as usize * ENTRY_BYTES;
            held(&table[at..at + ENTRY_BYTES])
        });
        let oldest = entries.min().filter(|oldest| *oldest != NOTHING);
        Ok(Held { readers: taken.len(), oldest })
    }

    /// The number of a request that waits for its answer.
    pub fn asked(&self) -> Result<Option<u64>> {
        let Some(slots) = self.slots()? else { return Ok(None) };
        // Whoever makes the file has not written to it yet.
        if slots.file().len().map_err(failed("measuring"))? < TABLE_AT as u64 {
            return Ok(None);
        }
        let asked = number_at(&*slots, ASKED_AT)?;
        Ok((asked > number_at(&*slots, ANSWERED_AT)?).then_some(asked))
    }

    /// Says that there is a checkpoint with everything that was committed before a request.
    pub fn answer(&self, request: u64) -> Result<()> {
        let Some(slots) = self.slots()? else { return Ok(()) };
        slots.file().write_at(&request.to_le_bytes(), ANSWERED_AT as u64).map_err(failed("writing"))
    }
}

/// A writer that may not write to the file that somebody else made is not seen by readers; what they hold it sees.
fn ignore_read_only(error: std::io::Error) -> std::io::Result<bool> {
    match error.raw_os_error() {
        Some(libc::EBADF) => Ok(false),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests;
