//! Two marks of a directory: where its log is archived, and that a restore into it is not finished.
//!
//! The file `archive`, text: `ambo archive 1`, a line break, the archive's directory as it was given, a line break, the CRC32C of all that
//! as eight hexadecimal digits, a line break. While it is there no segment of the log goes before it is archived, whoever opens the
//! database.
//!
//! The file `restoring` has no bytes. A directory with it is opened by nobody but the restore that made it.

use std::{io::ErrorKind, sync::Arc};

use ambo_pages::{
    checksum::crc32c,
    io::{Disk, OpenMode},
};
use ambo_types::{Error, Result};

use super::whole_file::{self, remove_if_there};

const MARK: &str = "archive";
const NEW_MARK: &str = "archive.new";
const RESTORING: &str = "restoring";
const MAGIC: &str = "ambo archive 1\n";
const CRC_DIGITS: usize = 8;
/// The longest path of an archive.
const PLACE_BYTES_MAX: usize = 4096;

fn encode(place: &str) -> String {
    let text = format!("{MAGIC}{place}\n");
    let mark = format!("{text}{:08x}\n", crc32c(text.as_bytes()));
    debug_assert!(
        decode(mark.as_bytes()).is_ok_and(|read| read == place),
        "a mark is read as it was written"
    );
    mark
}

fn decode(bytes: &[u8]) -> Result<String> {
    let damaged = |what: &str| Error::damaged(MARK, 0, what);
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is not text"))?;
    let split = text.len().checked_sub(CRC_DIGITS + 1).and_then(|at| text.split_at_checked(at));
    let (text, crc) = split.ok_or_else(|| damaged("it is too short"))?;
    if crc != format!("{:08x}\n", crc32c(text.as_bytes())) {
        return Err(damaged("the checksum is wrong"));
    }
    let place = text.strip_prefix(MAGIC).and_then(|place| place.strip_suffix('\n'));
    place.map(str::to_owned).ok_or_else(|| damaged("it does not name an archive; use a newer program"))
}

/// Where the log of a database is archived.
pub(super) fn read(disk: &Arc<dyn Disk>) -> Result<Option<String>> {
    let failed = |error| Error::io(format!("reading {MARK}"), error);
    let file = match disk.open(MARK, OpenMode::Read) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let len = usize::try_from(file.len().map_err(failed)?).unwrap_or(usize::MAX);
    if len > MAGIC.len() + PLACE_BYTES_MAX + CRC_DIGITS + 2 {
        return Err(Error::damaged(MARK, 0, "it is too long"));
    }
    let mut bytes = vec![0; len];
    file.read_at(&mut bytes, 0).map_err(failed)?;
    decode(&bytes).map(Some)
}

/// Says where the log is archived, durably.
pub(super) fn write(disk: &Arc<dyn Disk>, place: &str) -> Result<()> {
    if place.len() > PLACE_BYTES_MAX || place.contains('\n') || place.is_empty() {
        return Err(Error::Invalid(format!(
            "the archive's directory {place:?}: a path of 1 to {PLACE_BYTES_MAX} bytes without line breaks is possible"
        )));
    }
    whole_file::put(disk, NEW_MARK, MARK, encode(place).as_bytes())
}

/// Says that the log is not archived, durably.
pub(super) fn remove(disk: &Arc<dyn Disk>) -> Result<()> {
    remove_if_there(disk, NEW_MARK)?;
    remove_if_there(disk, MARK)?;
    disk.sync_directory().map_err(|error| Error::io("syncing the directory", error))
}

/// Says that a restore has begun, durably.
pub(super) fn begin_restore(disk: &Arc<dyn Disk>) -> Result<()> {
    whole_file::put(disk, "restoring.new", RESTORING, b"")
}

/// Says that it is finished, durably.
pub(super) fn end_restore(disk: &Arc<dyn Disk>) -> Result<()> {
    remove_if_there(disk, RESTORING)?;
    disk.sync_directory().map_err(|error| Error::io("syncing the directory", error))
}

/// Refuses a directory in which a restore was broken off.
pub(super) fn check_restored(disk: &Arc<dyn Disk>) -> Result<()> {
    match disk.open(RESTORING, OpenMode::Read) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io(format!("looking for {RESTORING}"), error)),
        Ok(_) => Err(Error::Invalid(
            "a restore into this directory was broken off before it was whole; remove the directory, and restore again".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: a mark that the page does not describe, and one that is believed though a bit is another.
    #[test]
    fn a_mark_is_as_described() {
        let mark = encode("/backups/log");
        assert_eq!(mark, "ambo archive 1\n/backups/log\nce071e99\n");
        for bit in 0..mark.len() * 8 {
            let mut other = mark.clone().into_bytes();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(decode(&other), Err(Error::Damaged { .. })), "bit {bit}");
        }
        for len in 0..mark.len() {
            assert!(matches!(decode(&mark.as_bytes()[..len]), Err(Error::Damaged { .. })), "{len} bytes");
        }
    }
}
