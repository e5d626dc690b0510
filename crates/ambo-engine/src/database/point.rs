//! Restoring to a point in time: a backup, and the log that was archived since.
//!
//! 1. The archive is read first, up to the point: what is not there, damaged, or of another history is told before anything is written.
//! 2. The backup is copied, as any restore does, and marked as a restore that is not finished: nobody opens it meanwhile, nor after a
//!    crash.
//! 3. The log is replayed as recovery replays it, as much as memtables take, and flushed; again and again. Long values are in the log whole
//!    and come to pages of their own.
//! 4. Indexes that were built past the log are built.
//! 5. Positions in the log go on far behind the archive's end. So what the restored database archives later never looks as if it followed
//!    what the other one has archived.
//!
//! The restored database has the data keys of the backup. Each file that is opened for writing seals under a stream of its own, drawn at
//! random (`docs/formats/encryption.md`, N2), so the two never use one nonce under one key, whatever both write from then on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use ambo_pages::{
    io::{Disk, Env},
    log::{ArchivedLog, LogPosition, LoggedChanges, Operations},
    seal::{SealedDisk, key_file},
};
use ambo_types::{
    Error, Result,
    id::{Lsn, TableId, Timestamp},
};

use super::{
    archive_mark,
    backup::BackupReport,
    backup_mark, encryption,
    encryption::RestoredKey,
    engine::Engine,
    notes::{self, NOTES_TABLE, Note},
    open::{LOCK_FILE, Opening, take_lock},
    options::Options,
};
use crate::catalog::Catalog;

/// Positions between the archive's end and the restored database's log, at least.
const POSITIONS_APART: u64 = 1 << 40;
/// Groups begin at multiples of so many bytes.
const POSITION_ALIGN: u64 = 8;
/// Of the memtables' budget so much is replayed before it is flushed.
const ROUND_SHARE: usize = 4;

/// Up to where a database is restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RestorePoint {
    /// To the archive's end.
    #[default]
    End,
    /// Every commit up to this one.
    Commit(Timestamp),
    /// Every commit up to this time, since 1970 began, in UTC.
    Time(Duration),
}

/// What was restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointReport {
    /// What was done for the backup.
    pub backup: BackupReport,
    /// The last commit that was restored.
    pub timestamp: Timestamp,
    /// When it was written, since 1970 began, if the log says.
    pub time: Option<Duration>,
    /// Commits that were replayed.
    pub transactions: u64,
}

/// What is known of an archived log while it is replayed.
#[derive(Default)]
pub(super) struct Restored {
    /// Indexes that became ready, whose entries are not all in the log.
    pub to_build: BTreeSet<TableId>,
    /// Tables that have rows which are not in the log, by the first commit that did.
    pub stale: BTreeMap<TableId, Timestamp>,
    /// The value that the next operation refers to.
    pub long_value: Option<Vec<u8>>,
}

/// Where replaying ends.
#[derive(Clone, Copy, Default)]
struct Target {
    until: Timestamp,
    time: Option<Duration>,
}

/// Looks for the point in the archive.
struct Survey {
    backup: Timestamp,
    point: RestorePoint,
    /// When the backup's last commit was, if that is there.
    backup_time: Option<Duration>,
    target: Target,
    /// The last commit that was seen, and its time.
    last: Target,
    /// Whether there is something behind the point, or it itself.
    is_passed: bool,
}

impl Engine {
    /// As [`Engine::restore_with_key`], with the log that was archived since, up to a point. The backup is opened read-only.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the archive begins behind the backup; [`Error::Invalid`] for an archive with a gap, or of another database,
    /// for a point before the backup or behind the archive's end, and if a table was loaded past the log before it; [`Error::Damaged`].
    pub fn restore_archived(
        &self,
        target: &Env,
        key: &RestoredKey,
        archive: &Arc<dyn Disk>,
        point: RestorePoint,
    ) -> Result<PointReport> {
        check_empty(&target.disk)?;
        let archive = self.unlock_archive(archive)?;
        let chain = ArchivedLog::open(&*archive, self.segments.database_id())?;
        let moment = self.checkpoint.lock().moment();
        let survey = Survey::new(moment.timestamp, point).read(&chain, &archive, moment.log_from)?;
        let backup = self.copy_to(&target.disk, key)?;
        let options = self.restored_options(key);
        let _lock = take_lock(target, &options)?;
        archive_mark::begin_restore(&target.disk)?;
        backup_mark::remove(&target.disk)?;
        let env = encryption::unlock(target.clone(), &options)?;
        let log = chain.after(&*archive, moment.timestamp, moment.log_from)?;
        let apart = POSITIONS_APART + (env.chance.next_u64() >> 24) / POSITION_ALIGN * POSITION_ALIGN;
        let next_lsn = Lsn(chain.end().0.max(moment.log_from.0).saturating_add(apart));
        let mut replay = Replay { env, options, until: survey.until, next_lsn, log, transactions: 0 };
        replay.run()?;
        archive_mark::end_restore(&target.disk)?;
        Ok(PointReport {
            backup,
            timestamp: survey.until,
            time: survey.time,
            transactions: replay.transactions,
        })
    }

    /// The archive, as what its groups are sealed under can be opened.
    fn unlock_archive(&self, archive: &Arc<dyn Disk>) -> Result<Arc<dyn Disk>> {
        let has_keys = key_file::is_there(&**archive)?;
        match (&self.options.key, self.segments.disk().sealed(), has_keys) {
            (_, None, false) => Ok(Arc::clone(archive)),
            (_, None, true) => Err(Error::Invalid(
                "the archive is encrypted, and the backup is not: it is of another database".into(),
            )),
            (Some(source), Some(_), true) => {
                let keys = key_file::open(&**archive, source).map_err(|error| match error {
                    Error::Invalid(why) => Error::Invalid(format!(
                        "the archive's keys: {why}; if the key was changed since the backup, make a backup with the new one"
                    )),
                    error => error,
                })?;
                Ok(Arc::new(SealedDisk::new(Arc::clone(archive), keys)))
            }
            (_, Some(_), _) => Err(Error::Invalid(
                "the backup is encrypted, and the archive has no keys: it is of another database".into(),
            )),
        }
    }

    fn restored_options(&self, key: &RestoredKey) -> Options {
        let key = match key {
            RestoredKey::Same => self.options.key.clone(),
            RestoredKey::Plain => None,
            RestoredKey::New(key) => Some(key.clone()),
        };
        Options {
            key,
            read_only: false,
            beside: false,
            create: false,
            keep_log_bytes: 0,
            background_threads: false,
            background_merge: false,
            ..self.options.clone()
        }
    }
}

/// Refuses a directory that has something: the restored database is another than whatever is there.
fn check_empty(disk: &Arc<dyn Disk>) -> Result<()> {
    let names = disk.list().map_err(|error| Error::io("listing the directory to restore to", error))?;
    match names.iter().find(|name| *name != LOCK_FILE) {
        None => Ok(()),
        Some(name) => Err(Error::Invalid(format!(
            "the directory to restore to has a file \"{name}\"; a point in time is restored to an empty directory"
        ))),
    }
}

impl Survey {
    fn new(backup: Timestamp, point: RestorePoint) -> Self {
        let target = Target { until: backup, time: None };
        Self { backup, point, backup_time: None, target, last: target, is_passed: false }
    }

    fn read(mut self, chain: &ArchivedLog, archive: &Arc<dyn Disk>, from: Lsn) -> Result<Target> {
        if let RestorePoint::Commit(commit) = self.point
            && commit < self.backup
        {
            return Err(Error::Invalid(format!(
                "commit {commit} is before the backup, which is of commit {}; restore an earlier backup",
                self.backup
            )));
        }
        self.is_passed = matches!(self.point, RestorePoint::Commit(commit) if commit == self.backup);
        // The file that the backup goes on in has its last commits, too: they say when it was.
        let mut log = chain.after(&**archive, Timestamp(0), from)?;
        while !self.is_passed && log.read_group(&mut |at, operations| self.visit(at, operations))? {}
        self.found()
    }

    fn visit(&mut self, at: Timestamp, mut operations: Operations<'_>) -> Result<()> {
        let time = operations.time();
        if at <= self.backup {
            self.backup_time = time;
            return Ok(());
        }
        if self.is_passed {
            return Ok(());
        }
        if let Some(Ok(operation)) = operations.next()
            && operation.table == NOTES_TABLE
            && Note::decode(&operation).ok_or_else(|| notes::damaged(at))? == Note::Begin
        {
            return Err(Error::Invalid(format!(
                "the backup (commit {}) was made before the archive was begun (commit {at}); what was loaded in between is in neither",
                self.backup
            )));
        }
        self.last = Target { until: at, time };
        let is_in = match self.point {
            RestorePoint::End => true,
            RestorePoint::Commit(commit) => {
                self.is_passed = at >= commit;
                at <= commit
            }
            RestorePoint::Time(until) => {
                let time = time.ok_or_else(|| {
                    Error::Invalid(format!(
                        "commit {at} in the archive has no time, an earlier program wrote it; restore to a commit"
                    ))
                })?;
                self.is_passed = time > until;
                time <= until
            }
        };
        if is_in {
            self.target = self.last;
        }
        Ok(())
    }

    fn found(self) -> Result<Target> {
        let RestorePoint::Time(until) = self.point else {
            return match (self.is_passed, self.point) {
                (false, RestorePoint::Commit(commit)) => Err(Error::Invalid(format!(
                    "commit {commit} is not in the archive, which ends with commit {}; archive what the database has since",
                    self.last.until
                ))),
                _ => Ok(self.target),
            };
        };
        if self.backup_time.is_some_and(|time| until < time) {
            return Err(Error::Invalid("the time is before the backup; restore an earlier one".into()));
        }
        if !self.is_passed {
            return Err(Error::Invalid(format!(
                "the archive ends before that time, with commit {}; archive what the database has since, or restore to the end",
                self.last.until
            )));
        }
        if self.backup_time.is_none() && self.target.until == self.backup && self.backup > Timestamp(0) {
            return Err(Error::Invalid(format!(
                "the time is before the first commit behind the backup, and may be before the backup; restore to commit {} for the backup \
                 alone",
                self.backup
            )));
        }
        Ok(self.target)
    }
}

/// The archived log on its way into the copy of the backup.
struct Replay {
    env: Env,
    options: Options,
    until: Timestamp,
    /// Where the log goes on in the end.
    next_lsn: Lsn,
    log: LoggedChanges,
    transactions: u64,
}

impl Replay {
    fn run(&mut self) -> Result<()> {
        let mut restored = Restored::default();
        loop {
            let mut opening = Opening::checkpoint(&self.env, &self.options)?;
            opening.restored = Some(restored);
            let is_whole = self.round(&mut opening)?;
            restored = opening.restored.take().expect("it was put there");
            let position = LogPosition {
                next_lsn: if is_whole { self.next_lsn } else { opening.superblock.log_from },
                from: opening.superblock.log_from,
                last_ts: opening.last,
                ..LogPosition::default()
            };

            let engine = Arc::new(opening.finish(Some(position), None)?);
            engine.flush()?;
            if is_whole {
                return finish(&engine, &restored);
            }
        }
    }

    /// Replays as much as memtables take. Returns whether that was all.
    fn round(&mut self, opening: &mut Opening) -> Result<bool> {
        let most = self.options.memtable_bytes / ROUND_SHARE;
        let (until, transactions) = (self.until, &mut self.transactions);
        let mut is_passed = false;
        while opening.replayed_bytes < most {
            let there = self.log.read_group(&mut |at, operations| {
                is_passed |= at >= until;
                if at > until {
                    return Ok(());
                }
                *transactions += 1;
                opening.replay(at, operations)
            })?;
            if !there || is_passed {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Builds what was built past the log; fails if rows are missing.
fn finish(engine: &Arc<Engine>, restored: &Restored) -> Result<()> {
    let catalog = engine.current().catalog.clone();
    if let Some((table, at)) = restored.stale.iter().min_by_key(|(_, at)| **at) {
        return Err(loaded(&catalog, *table, *at));
    }
    let cancel = super::compact::not_cancelled();
    let built = restored.to_build.iter().filter(|id| catalog.table(**id).is_some());
    for id in built {
        engine.build_index(*id, &cancel)?;
    }
    engine.flush()
}

fn loaded(catalog: &Catalog, table: TableId, at: Timestamp) -> Error {
    let name = catalog.table(table).map_or_else(|| table.to_string(), |definition| definition.name.clone());
    Error::Invalid(format!(
        "commit {at} brought rows to table \"{name}\" past the log (a load, a bulk change, a move to or from memory, or values of more than \
         256 MiB); restore to commit {} or an earlier one, or a backup that was made since",
        at.0 - 1
    ))
}
