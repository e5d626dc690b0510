//! The directory of a backup, and how one is written into it.
//!
//! At any moment the directory has the backup before, or the new one, or none and says so:
//!
//! 1. It is *locked*, as a database that is opened for writing.
//! 2. It is *marked*, if it is new: from then on a directory without `pages` is known as a backup that is not whole (`backup_mark`).
//! 3. Of an encrypted database it gets a copy of the file of keys (`encryption`), with which what is there of an earlier backup is read,
//!    too. Segments are linked or copied, those that are there already left out. None is ever edited, and none has the name of another, so
//!    they lie side by side with those of the backup before. A copy has another name until it is durable. The directory is synced.
//! 4. The pages are written to a file of another name and synced; it is renamed to `pages` and the directory is synced. That is the moment
//!    at which the new backup counts.
//! 5. Segments that it does not have are removed.
//!
//! A crash leaves what was linked and copied until then. The next backup finds it, and removes what it does not need.

use std::{collections::BTreeSet, io, sync::Arc};

use ambo_base::column::{Segment, SegmentStore, is_posting_file};
use ambo_pages::{
    io::{Disk, File, Lock, OpenMode},
    page::{self, PagesImage, Superblock},
};
use ambo_types::{Error, Result};

use super::{
    backup::BackupReport,
    backup_mark::{self, MARK, NEW_MARK, NEW_POSTINGS, NEW_SEGMENT},
    encryption::{self, RestoredKey},
    open::{LOCK_FILE, NEW_PAGES_FILE},
    whole_file::remove_if_there,
};

/// Of two files that should be the same so many bytes at the end are compared: of a segment the directory, with the checksums of blocks.
const COMPARED_BYTES: u64 = 64 << 10;

/// A directory that is locked for a backup.
pub(super) struct BackupTarget {
    disk: Arc<dyn Disk>,
    /// The files that it had.
    names: BTreeSet<String>,
    _lock: Box<dyn Lock>,
}

impl BackupTarget {
    /// Locks a directory, and marks it if it is new.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it holds something else, or a backup that is of a later moment; [`Error::InUse`] if somebody has it.
    pub(super) fn lock(
        source: &Arc<dyn Disk>,
        disk: &Arc<dyn Disk>,
        key: &RestoredKey,
        superblock: &Superblock,
    ) -> Result<Self> {
        // A directory of something else is not even locked: that would leave a file there.
        let is_marked = check_names(disk, &list(disk)?, superblock.database_id)?;
        let lock =
            disk.lock(LOCK_FILE, true).map_err(|error| Error::io(format!("locking {LOCK_FILE}"), error))?;
        let lock = lock.ok_or_else(|| {
            Error::InUse("somebody has the directory of the backup open, or makes a backup into it".into())
        })?;
        let names = list(disk)?;
        if is_marked != check_names(disk, &names, superblock.database_id)? {
            return Err(Error::InUse("somebody else has made the directory of the backup a database".into()));
        }
        if !is_marked {
            backup_mark::write(disk, superblock.database_id)?;
        }
        let disk = &encryption::disk_of_backup(source, disk, key)?;
        if is_marked {
            check_earlier(disk, &names, superblock)?;
        }
        remove_if_there(disk, NEW_PAGES_FILE)?;
        remove_if_there(disk, NEW_SEGMENT)?;
        remove_if_there(disk, NEW_POSTINGS)?;
        Ok(Self { disk: Arc::clone(disk), names, _lock: lock })
    }

    /// Steps 3 to 5.
    pub(super) fn write(
        &self,
        source: &Arc<dyn Disk>,
        image: &PagesImage,
        segments: &[Arc<Segment>],
    ) -> Result<BackupReport> {
        let mut report = BackupReport { timestamp: image.superblock().timestamp, ..BackupReport::default() };
        let written = self.write_files(source, image, segments, &mut report);
        if written.is_err() {
            // They may be what fills the disk. What cannot be removed now is removed by the next backup.
            let _ = remove_if_there(&self.disk, NEW_SEGMENT);
            let _ = remove_if_there(&self.disk, NEW_POSTINGS);
            let _ = remove_if_there(&self.disk, NEW_PAGES_FILE);
        }
        written.map(|()| report)
    }

    fn write_files(
        &self,
        source: &Arc<dyn Disk>,
        image: &PagesImage,
        segments: &[Arc<Segment>],
        report: &mut BackupReport,
    ) -> Result<()> {
        segments.iter().try_for_each(|segment| self.check_segment(source, segment))?;
        encryption::copy_keys(source, &self.disk)?;
        for segment in segments {
            self.put_segment(source, segment, report)?;
            self.put_postings(source, segment, report)?;
        }
        debug_assert_eq!(
            report.kept + report.linked + report.copied,
            segments.len() as u64,
            "each segment is in the backup"
        );
        self.sync_directory()?;
        let failed = |error| Error::io(format!("writing {NEW_PAGES_FILE}"), error);
        let file = self.disk.open(NEW_PAGES_FILE, OpenMode::Create).map_err(failed)?;
        image.write_to(&*file)?;
        self.disk.rename(NEW_PAGES_FILE, page::NAME).map_err(failed)?;
        self.sync_directory()?;
        report.page_bytes = image.bytes();
        self.remove_others(segments, report)
    }

    /// Refuses a segment whose name another one has.
    fn check_segment(&self, source: &Arc<dyn Disk>, segment: &Segment) -> Result<()> {
        let name = SegmentStore::name(segment.id());
        if !self.names.contains(&name) {
            return Ok(());
        }
        let open = |disk: &Arc<dyn Disk>| disk.open(&name, OpenMode::Read);
        let is_same = open(source).and_then(|ours| is_same(&*ours, &*open(&self.disk)?));
        match is_same.map_err(|error| Error::io(format!("comparing {name}"), error))? {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "the file {name} of the backup that is there is another one: the database was put back to an earlier state, and has \
                 changed otherwise since; make the backup in an empty directory"
            ))),
        }
    }

    fn put_segment(
        &self,
        source: &Arc<dyn Disk>,
        segment: &Segment,
        report: &mut BackupReport,
    ) -> Result<()> {
        let name = SegmentStore::name(segment.id());
        if self.names.contains(&name) {
            report.kept += 1;
        } else if copy_segment(source, &self.disk, segment, &name)? {
            report.linked += 1;
        } else {
            report.copied += 1;
            report.copied_bytes += segment.file_bytes();
        }
        Ok(())
    }

    /// Puts a segment's postings there: what is another of the same name gives way, for they follow from the segment. A file that went with
    /// its index meanwhile is made again where the backup is opened.
    fn put_postings(
        &self,
        source: &Arc<dyn Disk>,
        segment: &Segment,
        report: &mut BackupReport,
    ) -> Result<()> {
        for (name, len) in segment.posting_files() {
            let failed = |error| Error::io(format!("copying {name}"), error);
            let from = match source.open(&name, OpenMode::Read) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                from => from.map_err(failed)?,
            };
            if self.names.contains(&name) {
                let there = self.disk.open(&name, OpenMode::Read).map_err(failed)?;
                if is_same(&*from, &*there).map_err(failed)? {
                    continue;
                }
                self.disk.remove(&name).map_err(failed)?;
            }
            let file = self.disk.open(NEW_POSTINGS, OpenMode::Create).map_err(failed)?;
            file.copy_from(&*from, 0, len).and_then(|()| file.sync()).map_err(failed)?;
            self.disk.rename(NEW_POSTINGS, &name).map_err(failed)?;
            report.copied_bytes += len;
        }
        Ok(())
    }

    /// Removes the segments that only a backup before had.
    fn remove_others(&self, segments: &[Arc<Segment>], report: &mut BackupReport) -> Result<()> {
        let wanted: BTreeSet<u64> = segments.iter().map(|segment| segment.id()).collect();
        for name in &self.names {
            if SegmentStore::id_of(name).is_some_and(|id| !wanted.contains(&id)) {
                remove_if_there(&self.disk, name)?;
                report.removed += 1;
            }
        }
        let files = segments.iter().flat_map(|segment| segment.posting_files());
        let postings: BTreeSet<String> = files.map(|(name, _)| name).collect();
        let mut others = self.names.iter().filter(|name| is_posting_file(name) && !postings.contains(*name));
        others.try_for_each(|name| remove_if_there(&self.disk, name))?;
        self.sync_directory()
    }

    fn sync_directory(&self) -> Result<()> {
        self.disk.sync_directory().map_err(|error| Error::io("syncing the directory of the backup", error))
    }
}

/// Gives a directory a segment, under the name `here`: as a second name of the file, or else as a copy. Whether it is the former. Durable
/// when the directory is synced.
pub(super) fn copy_segment(
    source: &Arc<dyn Disk>,
    target: &Arc<dyn Disk>,
    segment: &Segment,
    here: &str,
) -> Result<bool> {
    let name = SegmentStore::name(segment.id());
    let copy = || -> io::Result<bool> {
        if target.link_from(&**source, &name, here)? {
            return Ok(true);
        }
        let from = source.open(&name, OpenMode::Read)?;
        match target.remove(NEW_SEGMENT) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = target.open(NEW_SEGMENT, OpenMode::Create)?;
        file.copy_from(&*from, 0, segment.file_bytes())?;
        file.sync()?;
        target.rename(NEW_SEGMENT, here)?;
        Ok(false)
    };
    copy().map_err(|error| Error::io(format!("copying {name}"), error))
}

fn list(disk: &Arc<dyn Disk>) -> Result<BTreeSet<String>> {
    let names = disk.list().map_err(|error| Error::io("listing the directory of the backup", error))?;
    Ok(names.into_iter().collect())
}

/// Whether a directory is marked as a backup of the database; or else it is empty.
fn check_names(disk: &Arc<dyn Disk>, names: &BTreeSet<String>, database: u128) -> Result<bool> {
    match backup_mark::read(disk)? {
        Some(other) if other != database => Err(Error::Invalid(format!(
            "the directory has a backup of another database ({other:032x}); make the backup in an empty directory"
        ))),
        Some(_) => Ok(true),
        None => match names.iter().find(|name| *name != LOCK_FILE && *name != NEW_MARK) {
            Some(name) => Err(Error::Invalid(format!(
                "the directory of the backup has a file \"{name}\" and is no backup (it has no file \"{MARK}\"); make the backup in an \
                 empty directory, or in that of an earlier backup which nobody has opened for writing"
            ))),
            None => Ok(false),
        },
    }
}

/// Refuses to replace a backup by one of an earlier moment. One that cannot be read is replaced: it is none.
fn check_earlier(disk: &Arc<dyn Disk>, names: &BTreeSet<String>, superblock: &Superblock) -> Result<()> {
    if !names.contains(page::NAME) {
        return Ok(());
    }
    let failed = |error| Error::io(format!("reading {} of the backup", page::NAME), error);
    let file = disk.open(page::NAME, OpenMode::Read).map_err(failed)?;
    match Superblock::open(&*file) {
        Ok(there) if there.superblock.sequence > superblock.sequence => Err(Error::Invalid(format!(
            "the backup that is there is of a later moment (checkpoint {}) than the database (checkpoint {}); make the backup in an \
             empty directory",
            there.superblock.sequence, superblock.sequence
        ))),
        Err(error @ Error::Io { .. }) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Whether two files that never change are the same: they have one length, and end the same way.
fn is_same(one: &dyn File, other: &dyn File) -> io::Result<bool> {
    let len = one.len()?;
    if other.len()? != len {
        return Ok(false);
    }
    let compared = len.min(COMPARED_BYTES);
    let end = |file: &dyn File| -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; compared as usize];
        file.read_at(&mut bytes, len - compared)?;
        Ok(bytes)
    };
    Ok(end(one)? == end(other)?)
}
