//! Backups: copies of a database that is in use.
//!
//! 1. A checkpoint is published that has every commit until then, and every definition: definitions wait for it. So a backup needs no log,
//!    and is a database that was closed in order.
//! 2. As long as checkpoints are locked, the list of free pages is read, and the version is kept that reaches all others. From then on
//!    everything goes on; pages that are replaced meanwhile wait for the backup as they do for any reader.
//! 3. Files that are never edited are linked, or copied where that cannot be. The pages are copied.
//!
//! What becomes of the directory is told by `backup_target`. The database's own files are only read.

use std::sync::Arc;

use ambo_base::{BaseOps, column::Segment};
use ambo_pages::{io::Disk, page::PagesImage};
use ambo_types::{Error, Result, id::Timestamp};

use super::{
    backup_mark,
    backup_target::BackupTarget,
    checkpoint::CheckpointState,
    encryption::{RestoredKey, has_pages},
    engine::Engine,
    version::DatabaseVersion,
};

/// What a backup has, and what was done for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BackupReport {
    /// Every commit up to this one is in it.
    pub timestamp: Timestamp,
    /// Bytes of pages, which were copied.
    pub page_bytes: u64,
    /// Files that have a second name in the directory of the backup.
    pub linked: u64,
    /// Files that were copied, as they could not be linked.
    pub copied: u64,
    /// Their bytes.
    pub copied_bytes: u64,
    /// Files that an earlier backup had already.
    pub kept: u64,
    /// Files of an earlier backup that this one does not need.
    pub removed: u64,
}

/// A checkpoint, and what keeps its pages and segments.
pub(super) struct Pinned {
    pub image: PagesImage,
    pub segments: Vec<Arc<Segment>>,
    _version: Arc<DatabaseVersion>,
}

impl Engine {
    /// Makes `target` a backup of the database as it is now, which goes on being used. What is there of an earlier backup is kept, and that
    /// one stays whole until the new one is.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the directory holds something else; [`Error::InUse`] if somebody has it open. The database is as it was then,
    /// and so is an earlier backup.
    pub fn backup_to(&self, target: &Arc<dyn Disk>) -> Result<BackupReport> {
        self.copy_to(target, &RestoredKey::Same)
    }

    pub(super) fn copy_to(&self, target: &Arc<dyn Disk>, key: &RestoredKey) -> Result<BackupReport> {
        let pinned = self.pin()?;
        let source = self.segments.disk();
        let locked = BackupTarget::lock(source, target, key, pinned.image.superblock())?;
        locked.write(source, &pinned.image, &pinned.segments)
    }

    /// As [`Engine::backup_to`], for what is to be a database, not a backup.
    pub fn restore_to(&self, target: &Arc<dyn Disk>) -> Result<BackupReport> {
        self.restore_with_key(target, &RestoredKey::Same)
    }

    /// As [`Engine::restore_to`], encrypted in another way.
    pub fn restore_with_key(&self, target: &Arc<dyn Disk>, key: &RestoredKey) -> Result<BackupReport> {
        let names = target.list().map_err(|error| Error::io("listing the directory to restore to", error))?;
        if !matches!(key, RestoredKey::Same) && has_pages(&names) {
            return Err(Error::Invalid(
                "a database is restored with another key to an empty directory only".into(),
            ));
        }
        let report = self.copy_to(target, key)?;
        backup_mark::remove(target)?;
        Ok(report)
    }

    /// Publishes a checkpoint, and keeps it.
    pub(super) fn pin(&self) -> Result<Pinned> {
        if self.options.read_only {
            return self.pin_unchanged();
        }
        self.check_writable()?;
        match self.pin_flushed() {
            Err(Error::DiskFull(_)) => {
                self.await_room();
                self.pin_flushed()
            }
            pinned => pinned,
        }
    }

    fn pin_flushed(&self) -> Result<Pinned> {
        let _defining = self.defining.write();
        let mut checkpoint = self.checkpoint.lock();
        self.flush_within(&mut checkpoint)?;
        self.pin_checkpoint(&checkpoint)
    }

    /// Keeps the checkpoint of a database that nobody changes.
    fn pin_unchanged(&self) -> Result<Pinned> {
        // Beside a process that writes, the newest one.
        self.look_now();
        let checkpoint = self.checkpoint.lock();
        if self.pipeline.publisher.published() > checkpoint.superblock().timestamp {
            return Err(Error::Invalid(
                "the database was not closed in order, and is opened read-only; open it for writing to make a backup".into(),
            ));
        }
        self.pin_checkpoint(&checkpoint)
    }

    fn pin_checkpoint(&self, checkpoint: &CheckpointState) -> Result<Pinned> {
        debug_assert!(self.checkpoint.is_locked(), "a checkpoint that is kept stays the last");
        let version = self.versions.load_full();
        let superblock = checkpoint.superblock();
        assert!(version.beyond <= superblock.timestamp, "the checkpoint is of one moment");
        assert!(self.dropped.lock().is_empty(), "what was dropped is not in the checkpoint");
        if let Some(damage) = version
            .tables
            .values()
            .filter_map(|table| table.damage.as_ref())
            .find(|damage| !damage.is_elsewhere())
        {
            return Err(damage.error());
        }
        let segments = version.tables.values().flat_map(|table| table.base.segments()).collect();
        Ok(Pinned { image: PagesImage::new(&self.store, superblock)?, segments, _version: version })
    }
}
