//! The mark of a backup: a file by which a directory is told from a database that is in use.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 8 | magic `ambo bak` |
//! | 8 | 4 | version = 1 |
//! | 12 | 4 | zero |
//! | 16 | 16 | the id of the database |
//! | 32 | 4 | zero |
//! | 36 | 4 | CRC32C of the 36 bytes before |
//!
//! | found when the directory is opened | done |
//! |---|---|
//! | no mark | nothing: it is a database, or nothing yet |
//! | a mark, no `pages` | refused: the backup was broken off before it was whole |
//! | a mark and `pages`, for reading | nothing: it stays a backup |
//! | a mark and `pages`, for writing | the mark, and what a backup that was broken off left beside them, are removed: it is a database of its own from now on |
//! | a mark that cannot be read | [`Error::Damaged`] |

use std::{io::ErrorKind, sync::Arc};

use ambo_pages::{
    checksum::crc32c,
    io::{Disk, OpenMode},
    page,
};
use ambo_types::{Error, Result};

use super::{
    open::NEW_PAGES_FILE,
    whole_file::{self, remove_if_there},
};

/// The file that says so.
pub(super) const MARK: &str = "backup";
/// What it is called until it is durable.
pub(super) const NEW_MARK: &str = "backup.new";
/// A segment that is being copied.
pub(super) const NEW_SEGMENT: &str = "segment.new";
/// A file of postings that is being copied; a sealed file is sealed as what its name says.
pub(super) const NEW_POSTINGS: &str = "posting.new";

const MAGIC: &[u8; 8] = b"ambo bak";
const VERSION: u32 = 1;
const VERSION_AT: usize = 8;
const DATABASE_AT: usize = 16;
const ZERO_AT: usize = 32;
const CRC_AT: usize = 36;
const MARK_BYTES: usize = 40;
const _: () = assert!(VERSION_AT == MAGIC.len());
const _: () = assert!(DATABASE_AT + size_of::<u128>() == ZERO_AT);
const _: () = assert!(ZERO_AT + size_of::<u32>() == CRC_AT);
const _: () = assert!(CRC_AT + size_of::<u32>() == MARK_BYTES);

/// The mark of a backup of this database.
fn encode(database: u128) -> [u8; MARK_BYTES] {
    let mut bytes = [0; MARK_BYTES];
    bytes[..VERSION_AT].copy_from_slice(MAGIC);
    bytes[VERSION_AT..VERSION_AT + 4].copy_from_slice(&VERSION.to_le_bytes());
    bytes[DATABASE_AT..ZERO_AT].copy_from_slice(&database.to_le_bytes());
    let crc = crc32c(&bytes[..CRC_AT]);
    bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    debug_assert!(decode(&bytes).is_ok_and(|read| read == database), "a mark is read as it was written");
    bytes
}

/// The database that a mark names.
fn decode(bytes: &[u8; MARK_BYTES]) -> Result<u128> {
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let damaged = |at: usize, what: String| Err(Error::damaged(MARK, at as u64, what));
    if &bytes[..VERSION_AT] != MAGIC {
        return damaged(0, "it is not the mark of a backup".into());
    }
    if crc32c(&bytes[..CRC_AT]) != u32_at(CRC_AT) {
        return damaged(CRC_AT, "the checksum is wrong".into());
    }
    match u32_at(VERSION_AT) {
        VERSION => Ok(u128::from_le_bytes(bytes[DATABASE_AT..ZERO_AT].try_into().expect("sixteen bytes"))),
        other => damaged(
            VERSION_AT,
            format!("a backup of version {other}, this program knows {VERSION}; use a newer program"),
        ),
    }
}

/// The database that a directory is marked as a backup of.
pub(super) fn read(disk: &Arc<dyn Disk>) -> Result<Option<u128>> {
    let failed = |error| Error::io(format!("reading {MARK}"), error);
    let file = match disk.open(MARK, OpenMode::Read) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let len = file.len().map_err(failed)?;
    if len != MARK_BYTES as u64 {
        let what = format!("the file has {len} bytes and should have {MARK_BYTES}");
        return Err(Error::damaged(MARK, len.min(MARK_BYTES as u64), what));
    }
    let mut bytes = [0; MARK_BYTES];
    file.read_at(&mut bytes, 0).map_err(failed)?;
    decode(&bytes).map(Some)
}

/// Marks a directory, durably.
pub(super) fn write(disk: &Arc<dyn Disk>, database: u128) -> Result<()> {
    whole_file::put(disk, NEW_MARK, MARK, &encode(database))
}

/// Removes the mark and what a backup that was broken off left behind, durably.
pub(super) fn remove(disk: &Arc<dyn Disk>) -> Result<()> {
    // The mark goes last: as long as it is there, this is done again.
    for name in [NEW_PAGES_FILE, NEW_SEGMENT, NEW_POSTINGS, NEW_MARK, MARK] {
        remove_if_there(disk, name)?;
    }
    disk.sync_directory().map_err(|error| Error::io("syncing the directory", error))
}

/// What opening a directory does about a mark; see the [module](self).
pub(super) fn leave(disk: &Arc<dyn Disk>, read_only: bool) -> Result<()> {
    if read(disk)?.is_none() {
        return Ok(());
    }
    let names = disk.list().map_err(|error| Error::io("listing the directory", error))?;
    if !names.iter().any(|name| name == page::NAME) {
        return Err(Error::Invalid(
            "the directory has a backup that was broken off before it was whole; make the backup again, or remove the directory"
                .into(),
        ));
    }
    if read_only { Ok(()) } else { remove(disk) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATABASE: u128 = 0x00ff_eedd_ccbb_aa99_8877_6655_4433_2211;

    /// The example of `docs/formats/backup.md`.
    const EXAMPLE: [u8; MARK_BYTES] = [
        0x61, 0x6d, 0x62, 0x6f, 0x20, 0x62, 0x61, 0x6b, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11,
        0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x00, 0x00,
        0x00, 0x00, 0xee, 0x4a, 0xaf, 0x43,
    ];

    /// Keeps away: a mark that the page does not describe, and one that is taken for whole though a bit is another.
    #[test]
    fn a_mark_is_as_described() {
        let bytes = encode(DATABASE);
        assert_eq!(bytes, EXAMPLE);
        assert_eq!(decode(&bytes).unwrap(), DATABASE);
        for bit in 0..MARK_BYTES * 8 {
            let mut other = bytes;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(decode(&other), Err(Error::Damaged { .. })), "bit {bit}");
        }
    }
}
