//! The archive of the log: from a backup and what was archived since, [`super::point`] makes the database of any moment.
//!
//! 1. Where the log is archived stands in the database's directory (`archive_mark`), so that no opening forgets it. From then on segments
//!    stay until they are archived, also where the archive cannot be reached: that is tried again with each checkpoint.
//! 2. What goes past the log is noted in it ([`super::notes`]), so that nothing is restored without it: loads and bulk changes of tables.
//!    Long values are in it whole.
//! 3. Closed segments are archived after each checkpoint, by a thread of its own if there are any; what the open one has by
//!    [`Engine::archive_log`] and at closing.
//! 4. When more waits than [`Options::archive_wait_bytes`](super::Options::archive_wait_bytes), and archiving fails, commits are refused
//!    until it succeeds.
//! 5. An encrypted database's archive has a copy of the keys: what was written under the newest data key is to be read, too.
//!
//! The lock of its state is taken before those of the pipeline, and while a checkpoint is locked; never the other way round.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ambo_pages::{
    io::{Directories, Disk},
    log::{ArchivedLog, Copied, archive},
    seal::key_file,
};
use ambo_types::{
    Error, Result,
    id::{Lsn, Timestamp},
};
use parking_lot::Mutex;

use super::{archive_mark, engine::Engine};

/// What became of the log's archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchiveInfo {
    /// The archive's directory.
    pub place: String,
    /// Every commit up to this one is archived, of those since it was opened; zero if none is.
    pub archived: Timestamp,
    /// Bytes of closed segments that wait.
    pub waiting_bytes: u64,
    /// Why it could not be written to, at the last attempt.
    pub failure: Option<String>,
}

/// What was archived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ArchiveReport {
    /// Every commit up to this one is archived.
    pub timestamp: Timestamp,
    /// Files that were written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The archive of an open database.
pub(super) struct Archiver {
    directories: Arc<dyn Directories>,
    state: Mutex<State>,
    /// Whether commits are refused.
    is_behind: AtomicBool,
}

#[derive(Default)]
struct State {
    place: Option<String>,
    /// The directory, once it was reached and looked at.
    disk: Option<Arc<dyn Disk>>,
    archived: Timestamp,
    failure: Option<String>,
}

impl Archiver {
    pub(super) fn new(directories: Arc<dyn Directories>, place: Option<String>) -> Self {
        Self {
            directories,
            state: Mutex::new(State { place, ..State::default() }),
            is_behind: AtomicBool::new(false),
        }
    }

    /// Whether more waits to be archived than may.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }
}

impl Engine {
    /// Has the log archived in a directory from now on, by whoever opens the database; or not any more. What was committed before is in the
    /// next backup. If it is archived there already, nothing changes.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a directory that has something else, or the archive of another database or of another history of this one.
    pub fn set_archive(&self, place: Option<&str>) -> Result<()> {
        self.check_writable()?;
        let mut state = self.archiver.state.lock();
        if state.place.as_deref() == place {
            return Ok(());
        }
        let marks = self.plain_disk();
        let Some(place) = place else {
            archive_mark::remove(&marks)?;
            *state = State::default();
            self.pipeline.set_archived(false);
            self.archiver.is_behind.store(false, Ordering::Relaxed);
            return self.pipeline.with_log(|log| {
                log.archive(false);
                log.remove_before(log.from()).map(drop)
            });
        };
        let (disk, _) = self.open_archive(place, true)?;
        // From here on what goes past the log is noted. The first note is behind every backup that was made before.
        self.pipeline.set_archived(true);
        let begun = self.note_begin().and_then(|()| archive_mark::write(&marks, place));
        begun.inspect_err(|_| self.pipeline.set_archived(state.place.is_some()))?;
        self.pipeline.with_log(|log| {
            log.begin_archive_here();
            Ok(())
        })?;
        *state = State { place: Some(place.to_owned()), disk: Some(disk), ..State::default() };
        Ok(())
    }

    /// Archives what was committed until now.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the log is not archived; [`Error::DiskFull`] and others if the archive cannot be written to: the log stays
    /// then.
    pub fn archive_log(&self) -> Result<ArchiveReport> {
        self.check_writable()?;
        self.archive(true)
    }

    /// How the archive stands; none if the log is not archived.
    pub fn archive_info(&self) -> Option<ArchiveInfo> {
        let state = self.archiver.state.lock();
        let waiting_bytes = match self.options.read_only {
            true => 0,
            false => self.pipeline.with_log(|log| Ok(log.bytes_to_archive())).unwrap_or_default(),
        };
        state.place.clone().map(|place| ArchiveInfo {
            place,
            archived: state.archived,
            waiting_bytes,
            failure: state.failure.clone(),
        })
    }

    /// Has closed segments archived, by the background thread, or here when there is none.
    pub(super) fn archive_due(&self) {
        match (self.pipeline.is_archived(), self.options.background_threads) {
            (false, _) => {}
            (true, true) => self.signals.raise(|state| &mut state.archive),
            (true, false) => {
                self.archive_and_report();
            }
        }
    }

    /// Archives closed segments. Returns whether it succeeded; why not is in [`Engine::archive_info`].
    pub(super) fn archive_and_report(&self) -> bool {
        self.archive(false).is_ok()
    }

    /// Refuses a commit while too much waits to be archived.
    #[cold]
    pub(super) fn admit_behind_archive(&self) -> Result<()> {
        if !self.options.background_threads && self.archive_and_report() {
            return Ok(());
        }
        let info = self.archive_info().filter(|_| self.archiver.is_behind());
        match info {
            None => Ok(()),
            Some(info) => Err(Error::DiskFull(format!(
                "{} bytes of the log wait to be archived in {}, more than archive_wait_bytes {} allows: {}",
                info.waiting_bytes,
                info.place,
                self.options.archive_wait_bytes,
                info.failure.unwrap_or_else(|| "it is being written".into())
            ))),
        }
    }

    pub(super) fn archive(&self, with_open: bool) -> Result<ArchiveReport> {
        let mut state = self.archiver.state.lock();
        let place = state.place.clone().ok_or_else(|| {
            Error::Invalid(
                "the log is not archived; say where to first (Database::set_archive, ambo archive)".into(),
            )
        })?;
        let done = self.archive_to(&mut state, &place, with_open);
        state.failure = done.as_ref().err().map(ToString::to_string);
        let waiting = self.pipeline.with_log(|log| Ok(log.bytes_to_archive()))?;
        let is_behind = done.is_err() && waiting > self.options.archive_wait_bytes;
        self.archiver.is_behind.store(is_behind, Ordering::Relaxed);
        done
    }

    fn archive_to(&self, state: &mut State, place: &str, with_open: bool) -> Result<ArchiveReport> {
        let mut last = None;
        if with_open {
            last = Some(self.pipeline.with_log(|log| Ok(log.last_ts()))?);
            self.pipeline.sync_all()?;
        }
        let disk = match &state.disk {
            Some(disk) => Arc::clone(disk),
            None => {
                let (disk, end) = self.open_archive(place, false)?;
                self.pipeline.with_log(|log| {
                    log.begin_archive(end);
                    Ok(())
                })?;
                state.disk = Some(Arc::clone(&disk));
                disk
            }
        };
        let segments = self.pipeline.with_log(|log| Ok(log.to_archive(with_open)))?;
        let log = self.segments.disk();
        if let (false, Some(sealed)) = (segments.is_empty(), log.sealed()) {
            // Whatever these segments have was written under keys that are in the file by now.
            key_file::copy(&**sealed.inner(), &*disk)?;
        }
        let mut copied = Copied::default();
        for segment in segments {
            copied = copied.plus(archive::copy(&**log, &*disk, self.segments.database_id(), segment)?);
            state.archived = state.archived.max(segment.last_ts);
            self.pipeline.with_log(|log| {
                log.note_archived(segment.end);
                Ok(())
            })?;
        }
        state.archived = state.archived.max(last.unwrap_or_default());
        self.pipeline.with_log(|log| log.remove_before(log.from()).map(drop))?;
        Ok(ArchiveReport { timestamp: state.archived, files: copied.files, bytes: copied.bytes })
    }

    /// The directory of the archive, if it is one that the log goes on with, and up to where it has that.
    fn open_archive(&self, place: &str, create: bool) -> Result<(Arc<dyn Disk>, Lsn)> {
        let failed = |error| Error::io(format!("opening the archive {place}"), error);
        let disk = self.archiver.directories.open(place, create).map_err(failed)?;
        let names = disk.list().map_err(failed)?;
        if let Some(name) = names.iter().find(|name| !archive::is_ours(name)) {
            return Err(Error::Invalid(format!(
                "the directory {place} has a file \"{name}\" and is no archive; archive to an empty directory"
            )));
        }
        let there = ArchivedLog::open(&*disk, self.segments.database_id())?;
        let (segments, next) = self.pipeline.with_log(|log| Ok((log.durable_segments(), log.next_lsn())))?;
        let end = there.continued_by(&*disk, &**self.segments.disk(), &segments, next)?;
        Ok((disk, end))
    }

    /// The disk as it is, sealed files and others.
    fn plain_disk(&self) -> Arc<dyn Disk> {
        let disk = self.segments.disk();
        disk.sealed().map_or_else(|| Arc::clone(disk), |sealed| Arc::clone(sealed.inner()))
    }
}
