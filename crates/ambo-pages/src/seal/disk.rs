//! A disk whose files are sealed.

use std::{io, path::Path, sync::Arc};

use super::{
    cipher::{Keys, Kind, Sealer},
    file::SealedFile,
};
use crate::io::{Disk, File, Lock, OpenMode, Slots};

/// A disk that seals what is written to its files, and opens what is read. Passed through as they are: the log and what is kept of it,
/// which are sealed by groups; the lock, what readers in other processes hold, the marks of a backup, an archive and a restore, the number
/// of a publication, and the file of keys, which hold no data.
#[derive(Debug)]
pub struct SealedDisk {
    inner: Arc<dyn Disk>,
    keys: Arc<Keys>,
}

impl SealedDisk {
    /// The disk behind `inner` whose files are sealed under `keys`.
    pub fn new(inner: Arc<dyn Disk>, keys: Arc<Keys>) -> Self {
        Self { inner, keys }
    }

    /// What it seals under.
    pub fn keys(&self) -> &Arc<Keys> {
        &self.keys
    }

    /// The disk behind it.
    pub fn inner(&self) -> &Arc<dyn Disk> {
        &self.inner
    }
}

/// Files that hold no data.
const PLAIN: [&str; 12] = [
    "lock",
    "backup",
    "backup.new",
    "keys",
    "keys.new",
    "archive",
    "archive.new",
    "readers",
    "publication",
    "publication.new",
    "restoring",
    "restoring.new",
];

/// What is sealed in a file of that name; `None` if it is left as it is.
pub(super) fn kind_of(name: &str) -> Option<Kind> {
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if begins(&["log-", "kept-"]) || PLAIN.contains(&name) {
        None
    } else if begins(&["pages"]) {
        Some(Kind::Pages)
    } else if begins(&["segment"]) {
        Some(Kind::Segment)
    } else {
        Some(Kind::Other)
    }
}

impl Disk for SealedDisk {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let file = self.inner.open(name, mode)?;
        let Some(kind) = kind_of(name) else { return Ok(file) };
        let sealer = match mode {
            OpenMode::Read => None,
            OpenMode::ReadWrite | OpenMode::Create => {
                Some(Sealer::new(Arc::clone(&self.keys), kind).map_err(io::Error::other)?)
            }
        };
        Ok(Arc::new(SealedFile::new(file, Arc::clone(&self.keys), kind, sealer)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        debug_assert_eq!(kind_of(from), kind_of(to), "a file goes on being what it was");
        self.inner.rename(from, to)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.inner.free_bytes()
    }

    fn lock(&self, name: &str, exclusive: bool) -> io::Result<Option<Box<dyn Lock>>> {
        self.inner.lock(name, exclusive)
    }

    fn slots(&self, name: &str, create: bool) -> io::Result<Option<Arc<dyn Slots>>> {
        self.inner.slots(name, create)
    }

    fn directory(&self) -> Option<&Path> {
        self.inner.directory()
    }

    fn link_from(&self, source: &dyn Disk, name: &str, here: &str) -> io::Result<bool> {
        // What has other keys is read, and sealed anew.
        match source.sealed() {
            Some(source) if Arc::ptr_eq(&source.keys, &self.keys) => {
                self.inner.link_from(&*source.inner, name, here)
            }
            _ => Ok(false),
        }
    }

    fn sealed(&self) -> Option<&SealedDisk> {
        Some(self)
    }
}
