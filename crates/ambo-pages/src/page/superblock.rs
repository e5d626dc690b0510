//! The superblock: the one place from which everything else in the `pages` file is found. Two copies, written in turn.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 8 | `AMBOPAGE` |
//! | 8 | 4 | format version, 1 |
//! | 12 | 4 | page size in bytes |
//! | 16 | 16 | database id |
//! | 32 | 8 | sequence of the checkpoint: 1, 2, 3 … without a gap |
//! | 40 | 8 | timestamp of the checkpoint: every commit up to it is in the pages |
//! | 48 | 8 | position in the log from which on to replay |
//! | 56 | 8 | pages of the file |
//! | 64 | 24 | root of the free list ([`FreeListRoot`]) |
//! | 88 | 2 | bytes of the catalog's root |
//! | 90 | 2 | bytes of the other fields |
//! | 92 | 4 | zero |
//! | 96 | 512 | the catalog's root, opaque here |
//! | 608 | 1024 | other fields, opaque here |
//! | 1632 | 2460 | zero |
//! | 4092 | 4 | CRC32C of everything before |
//!
//! The copy of sequence `n` is at offset `4096 · (n mod 2)`; so the write of one never touches the other. The first bytes of a
//! version 1 superblock with 16 KiB pages: `41 4d 42 4f 50 41 47 45  01 00 00 00  00 40 00 00`.
//!
//! # What is found at open, and what is done
//!
//! | copy 0, copy 1 | done |
//! |---|---|
//! | both valid, same database | the higher sequence |
//! | one valid, the other all zero | the valid one: the second checkpoint was never written |
//! | one valid, the other neither valid nor zero | the valid one, and [`Opened::other`] says what the other is: a torn write after a crash, or damage; the caller reports it |
//! | both valid, different databases or page sizes, or sequences that are not neighbours | damaged |
//! | one of a later format version, intact | refused: a newer program wrote it |
//! | each is all zero or without the magic | "not an Ambo database" |
//! | none valid otherwise | damaged, with what is wrong with each |

use ambo_types::{
    Error, Result,
    id::{Lsn, Timestamp},
};

use super::{FreeListRoot, NAME, PAGE_SIZE_MAX, PAGE_SIZE_MIN, table::PAGES_MAX};
use crate::io::File;

/// Bytes of one copy.
pub const SUPERBLOCK_BYTES: usize = 4096;
/// The format version written by this code.
pub const FORMAT_VERSION: u32 = 1;
/// The most bytes of the catalog's root.
pub const CATALOG_BYTES_MAX: usize = 512;
/// The most bytes of the other fields.
pub const OTHER_BYTES_MAX: usize = 1024;

const MAGIC: &[u8; 8] = b"AMBOPAGE";
const VERSION_AT: usize = 8;
const PAGE_SIZE_AT: usize = 12;
const DATABASE_AT: usize = 16;
const SEQUENCE_AT: usize = 32;
const TIMESTAMP_AT: usize = 40;
const LOG_AT: usize = 48;
const PAGES_AT: usize = 56;
const FREE_AT: usize = 64;
const CATALOG_LEN_AT: usize = 88;
const OTHER_LEN_AT: usize = 90;
const CATALOG_AT: usize = 96;
const OTHER_AT: usize = 608;
const END_AT: usize = 1632;
const CRC_AT: usize = 4092;
const _: () = assert!(VERSION_AT == MAGIC.len());
const _: () = assert!(DATABASE_AT + size_of::<u128>() == SEQUENCE_AT);
const _: () = assert!(LOG_AT == TIMESTAMP_AT + size_of::<Timestamp>());
const _: () = assert!(PAGES_AT == LOG_AT + size_of::<Lsn>());
const _: () = assert!(FREE_AT + FreeListRoot::BYTES == CATALOG_LEN_AT);
const _: () = assert!(CATALOG_AT + CATALOG_BYTES_MAX == OTHER_AT);
const _: () = assert!(OTHER_AT + OTHER_BYTES_MAX == END_AT);
const _: () = assert!(CRC_AT + size_of::<u32>() == SUPERBLOCK_BYTES);

/// The bytes at the beginning of the file that belong to the superblocks.
pub const RESERVED_BYTES: usize = 2 * SUPERBLOCK_BYTES;

/// What a checkpoint says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Superblock {
    /// Bytes of a page.
    pub page_size: u32,
    /// A random number that tells this database from all others.
    pub database_id: u128,
    /// The number of the checkpoint: one more than that of the superblock before, from 1.
    pub sequence: u64,
    /// Every commit at or before this moment is in the pages.
    pub timestamp: Timestamp,
    /// From here on the log is replayed.
    pub log_from: Lsn,
    /// Pages of the file.
    pub file_pages: u64,
    /// The free pages.
    pub free_list: FreeListRoot,
    /// The root of the catalog's tree.
    pub catalog: Vec<u8>,
    /// Whatever else the database keeps here.
    pub other: Vec<u8>,
}

/// What opening found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opened {
    /// The superblock to go by.
    pub superblock: Superblock,
    /// What is wrong with the other copy, if something is: after a crash a torn write, which is no loss.
    pub other: Option<String>,
}

/// What one copy is.
enum Copy {
    Valid(Superblock),
    Zero,
    /// Intact, by a program of this later version.
    Newer(u32),
    NoMagic(String),
    Bad(String),
}

impl Superblock {
    /// The encoding.
    ///
    /// # Panics
    /// If the catalog's root or the other fields are too long: their owner must hold to that.
    pub fn encode(&self) -> [u8; SUPERBLOCK_BYTES] {
        assert!(self.catalog.len() <= CATALOG_BYTES_MAX && self.other.len() <= OTHER_BYTES_MAX);
        assert!(self.sequence > 0);
        let mut bytes = [0; SUPERBLOCK_BYTES];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, MAGIC);
        put(VERSION_AT, &FORMAT_VERSION.to_le_bytes());
        put(PAGE_SIZE_AT, &self.page_size.to_le_bytes());
        put(DATABASE_AT, &self.database_id.to_le_bytes());
        put(SEQUENCE_AT, &self.sequence.to_le_bytes());
        put(TIMESTAMP_AT, &self.timestamp.0.to_le_bytes());
        put(LOG_AT, &self.log_from.0.to_le_bytes());
        put(PAGES_AT, &self.file_pages.to_le_bytes());
        put(FREE_AT, &self.free_list.encode());
        put(CATALOG_LEN_AT, &(self.catalog.len() as u16).to_le_bytes());
        put(OTHER_LEN_AT, &(self.other.len() as u16).to_le_bytes());
        put(CATALOG_AT, &self.catalog);
        put(OTHER_AT, &self.other);
        let crc = checksum(&bytes);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Where its copy is in the file.
    pub fn offset(&self) -> u64 {
        offset(self.sequence % 2)
    }

    /// Writes this superblock over the older copy. Durable after the file's next sync; until then the other copy counts.
    pub fn write(&self, file: &dyn File) -> Result<()> {
        file.write_at(&self.encode(), self.offset())
            .map_err(|error| Error::io(format!("writing superblock {} of {NAME}", self.sequence), error))
    }

    /// Writes this superblock, which was read from there, once more as it is: durable after the file's next sync, and at no moment harmed.
    pub fn write_again(&self, file: &dyn File) -> Result<()> {
        file.write_again(self.offset(), SUPERBLOCK_BYTES as u64).map_err(|error| {
            Error::io(format!("writing superblock {} of {NAME} again", self.sequence), error)
        })
    }

    /// Reads both copies and chooses; see the [module](self).
    pub fn open(file: &dyn File) -> Result<Opened> {
        let [copy0, copy1] = [read_copy(file, 0)?, read_copy(file, 1)?];
        match (copy0, copy1) {
            (Copy::Newer(version), _) | (_, Copy::Newer(version)) => Err(Error::Invalid(format!(
                "{NAME} has format version {version}, this program knows {FORMAT_VERSION}; use a newer program"
            ))),
            (Copy::Valid(a), Copy::Valid(b)) => choose(a, b),
            (Copy::Valid(superblock), other) | (other, Copy::Valid(superblock)) => {
                let slot = (superblock.sequence + 1) % 2;
                Ok(Opened {
                    superblock,
                    other: other.fault().map(|what| format!("superblock copy {slot}: {what}")),
                })
            }
            (a @ (Copy::NoMagic(_) | Copy::Zero), Copy::NoMagic(_) | Copy::Zero) => {
                let what = a.fault().unwrap_or_else(|| "its creation was never completed".into());
                Err(Error::Invalid(format!("{NAME}: not an Ambo database ({what})")))
            }
            (a, b) => {
                let [a, b] = [a, b].map(|copy| copy.fault().unwrap_or_else(|| "all zero".into()));
                Err(Error::damaged(NAME, 0, format!("no valid superblock; copy 0: {a}; copy 1: {b}")))
            }
        }
    }
}

impl Copy {
    /// What is wrong with a copy, if it is neither valid nor zero.
    fn fault(self) -> Option<String> {
        match self {
            Self::Valid(_) | Self::Zero => None,
            Self::Newer(version) => Some(format!("format version {version}")),
            Self::NoMagic(what) | Self::Bad(what) => Some(what),
        }
    }
}

fn choose(a: Superblock, b: Superblock) -> Result<Opened> {
    if a.database_id != b.database_id || a.page_size != b.page_size || a.sequence.abs_diff(b.sequence) != 1 {
        let show =
            |s: &Superblock| format!("{:032x} #{}, {} byte pages", s.database_id, s.sequence, s.page_size);
        let what = format!("the superblocks do not belong together: {} and {}", show(&a), show(&b));
        return Err(Error::damaged(NAME, 0, what));
    }
    let superblock = if a.sequence > b.sequence { a } else { b };
    Ok(Opened { superblock, other: None })
}

fn offset(slot: u64) -> u64 {
    slot * SUPERBLOCK_BYTES as u64
}

fn read_copy(file: &dyn File, slot: u64) -> Result<Copy> {
    let mut bytes = [0; SUPERBLOCK_BYTES];
    match file.read_at(&mut bytes, offset(slot)) {
        Ok(()) => Ok(decode(&bytes, slot)),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Ok(Copy::NoMagic("the file is too short".into()))
        }
        // Of an encrypted database, torn or damaged.
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Ok(Copy::Bad(error.to_string())),
        Err(error) => Err(Error::io(format!("reading superblock copy {slot} of {NAME}"), error)),
    }
}

fn decode(bytes: &[u8; SUPERBLOCK_BYTES], slot: u64) -> Copy {
    if bytes.iter().all(|byte| *byte == 0) {
        return Copy::Zero;
    }
    if &bytes[..MAGIC.len()] != MAGIC {
        return Copy::NoMagic(format!("it begins with {:02x?}", &bytes[..MAGIC.len()]));
    }
    let (stored, computed) = (u32_at(bytes, CRC_AT), checksum(bytes));
    if stored != computed {
        return Copy::Bad(format!("checksum {stored:08x} stored, {computed:08x} computed"));
    }
    let version = u32_at(bytes, VERSION_AT);
    if version > FORMAT_VERSION {
        return Copy::Newer(version);
    }
    match fields(bytes, version, slot) {
        Ok(superblock) => Copy::Valid(superblock),
        Err(what) => Copy::Bad(what),
    }
}

/// The fields of a copy whose checksum is right.
fn fields(bytes: &[u8; SUPERBLOCK_BYTES], version: u32, slot: u64) -> Result<Superblock, String> {
    let page_size = u32_at(bytes, PAGE_SIZE_AT);
    let [catalog_len, other_len] =
        [CATALOG_LEN_AT, OTHER_LEN_AT].map(|at| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])));
    let superblock = Superblock {
        page_size,
        database_id: u128::from_le_bytes(bytes[DATABASE_AT..SEQUENCE_AT].try_into().expect("sixteen bytes")),
        sequence: u64_at(bytes, SEQUENCE_AT),
        timestamp: Timestamp(u64_at(bytes, TIMESTAMP_AT)),
        log_from: Lsn(u64_at(bytes, LOG_AT)),
        file_pages: u64_at(bytes, PAGES_AT),
        free_list: FreeListRoot::decode(
            bytes[FREE_AT..CATALOG_LEN_AT].try_into().expect("as long as a root"),
        ),
        catalog: bytes
            .get(CATALOG_AT..CATALOG_AT + catalog_len.min(CATALOG_BYTES_MAX))
            .unwrap_or_default()
            .to_vec(),
        other: bytes.get(OTHER_AT..OTHER_AT + other_len.min(OTHER_BYTES_MAX)).unwrap_or_default().to_vec(),
    };
    let page_sizes = PAGE_SIZE_MIN..=PAGE_SIZE_MAX;
    if version == 0 {
        Err("format version 0".into())
    } else if !page_size.is_power_of_two() || !page_sizes.contains(&(page_size as usize)) {
        Err(format!("pages of {page_size} bytes"))
    } else if superblock.sequence == 0 || superblock.sequence % 2 != slot {
        Err(format!("sequence {} in copy {slot}", superblock.sequence))
    } else if superblock.file_pages > PAGES_MAX
        || superblock.file_pages * u64::from(page_size) < RESERVED_BYTES as u64
    {
        Err(format!("{} pages in all", superblock.file_pages))
    } else if catalog_len > CATALOG_BYTES_MAX || other_len > OTHER_BYTES_MAX {
        Err(format!("a catalog root of {catalog_len} bytes, and {other_len} others"))
    } else {
        Ok(superblock)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn checksum(bytes: &[u8; SUPERBLOCK_BYTES]) -> u32 {
    crate::checksum::crc32c(&bytes[..CRC_AT])
}

#[cfg(test)]
mod tests;
