//! Places of a file that are locked byte by byte: `fcntl` with locks of open file descriptions.
//!
//! Such a lock belongs to the handle, not to the process: two handles of one process do not share it, to close another file of it lets none
//! go, and a child of `fork` keeps what its parent had. The system drops it with the last copy of the handle.

use std::{
    fs,
    io::{self, ErrorKind},
    ops::Range,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, PermissionsExt},
    },
    path::Path,
    sync::Arc,
};

use super::{OsFile, is_read_only};
use crate::io::{File, Slots};

/// File systems of other machines, by what `statfs` calls them: NFS, SMB in three ages, AFS, Ceph, 9P. A lock of a byte there may be one of
/// this machine alone, or none.
const REMOTE: [u32; 7] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x5346_414f, 0x00c3_6400, 0x0102_1997];

/// Opens a file for its places.
pub(super) fn open(path: &Path, create: bool) -> io::Result<Option<Arc<dyn Slots>>> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false);
    let file = match options.open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound && !create => return Ok(None),
        // Who is not to write to it may still look who has which place.
        Err(e) if is_read_only(&e) && !create => fs::File::open(path)?,
        file => file?,
    };
    if create {
        check_local(&file)?;
        // Who reads may be another user than who writes: both write to the file.
        if file.metadata()?.len() == 0 {
            like_directory(&file, path);
        }
    }
    Ok(Some(Arc::new(OsSlots(OsFile(file)))))
}

fn check_local(file: &fs::File) -> io::Result<()> {
    let kind = rustix::fs::fstatfs(file)?.f_type as u32;
    match REMOTE.contains(&kind) {
        true => Err(io::Error::new(
            ErrorKind::Unsupported,
            format!("the file system (0x{kind:x}) is one of another machine, whose locks may not count here"),
        )),
        false => Ok(()),
    }
}

/// Gives a new file to whom the directory belongs, as far as that may be done: whoever could make it there may write to it.
fn like_directory(file: &fs::File, path: &Path) {
    let Some(directory) = path.parent().and_then(|parent| fs::metadata(parent).ok()) else { return };
    let (mode, user, group) = (directory.mode() & 0o666, directory.uid(), directory.gid());
    // What is refused leaves the file to who made it.
    let _mode = file.set_permissions(fs::Permissions::from_mode(mode));
    let _owner = std::os::unix::fs::fchown(file, Some(user), Some(group));
}

/// A handle, with the places that it has.
#[derive(Debug)]
struct OsSlots(OsFile);

impl OsSlots {
    /// Asks the system about the lock of a range of bytes. Returns its answer.
    fn lock(&self, command: libc::c_int, kind: libc::c_int, slots: &Range<u64>) -> io::Result<libc::flock> {
        let offset =
            |at: u64| libc::off_t::try_from(at).map_err(|_| io::Error::from(ErrorKind::InvalidInput));
        let mut lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: offset(slots.start)?,
            l_len: offset(slots.end - slots.start)?,
            l_pid: 0,
        };
        loop {
            // SAFETY: the descriptor is open as long as `self`; the structure is this function's and is whole.
            match unsafe { libc::fcntl(self.0.0.as_raw_fd(), command, &raw mut lock) } {
                -1 => match io::Error::last_os_error() {
                    e if e.kind() == ErrorKind::Interrupted => {}
                    e => return Err(e),
                },
                _ => return Ok(lock),
            }
        }
    }
}

impl Slots for OsSlots {
    fn file(&self) -> &dyn File {
        &self.0
    }

    fn take(&self, slot: u64) -> io::Result<bool> {
        match self.lock(libc::F_OFD_SETLK, libc::F_WRLCK, &(slot..slot + 1)) {
            Ok(_) => Ok(true),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn give_back(&self, slot: u64) -> io::Result<()> {
        self.lock(libc::F_OFD_SETLK, libc::F_UNLCK, &(slot..slot + 1)).map(drop)
    }

    fn taken(&self, slots: Range<u64>) -> io::Result<Vec<u64>> {
        let (mut taken, mut left) = (Vec::new(), vec![slots]);
        while let Some(part) = left.pop() {
            if part.is_empty() {
                continue;
            }
            // Any one that is in the way, not the first.
            let found = self.lock(libc::F_OFD_GETLK, libc::F_WRLCK, &part)?;
            if libc::c_int::from(found.l_type) == libc::F_UNLCK {
                continue;
            }
            let from = (found.l_start as u64).max(part.start);
            let to = match found.l_len as u64 {
                0 => part.end,
                len => (found.l_start as u64 + len).min(part.end),
            };
            taken.extend(from..to);
            left.extend([part.start..from, to..part.end]);
        }
        taken.sort_unstable();
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a place that two have, one that is not seen, and one that stays taken without anybody.
    #[test]
    fn places_are_of_one_handle_and_go_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("slots");
        assert!(open(&path, false).unwrap().is_none());
        let [one, other, looks] = [true, true, false].map(|create| open(&path, create).unwrap().unwrap());
        for slot in [0, 1, 2, 700] {
            assert!(one.take(slot).unwrap());
            assert!(!other.take(slot).unwrap());
        }
        assert!(other.take(3).unwrap() && other.take(1023).unwrap());
        assert_eq!(looks.taken(0..1024).unwrap(), [0, 1, 2, 3, 700, 1023]);
        assert_eq!(one.taken(0..1024).unwrap(), [3, 1023]);
        assert_eq!(looks.taken(1..701).unwrap(), [1, 2, 3, 700]);
        one.give_back(1).unwrap();
        assert!(other.take(1).unwrap());
        drop(one);
        assert_eq!(looks.taken(0..1024).unwrap(), [1, 3, 1023]);
        drop(other);
        assert!(looks.taken(0..1024).unwrap().is_empty());
    }

    /// Keeps away: readers whose holds nobody sees after some hundreds.
    #[test]
    fn a_thousand_handles_are_seen() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("slots");
        let handles: Vec<_> = (0..1000).map_while(|_| open(&path, true).ok().flatten()).collect();
        for (slot, handle) in (0..).zip(&handles) {
            assert!(handle.take(slot * 7 % 1024).unwrap());
        }
        let looks = open(&path, false).unwrap().unwrap();
        assert_eq!(looks.taken(0..1024).unwrap().len(), handles.len());
    }
}
