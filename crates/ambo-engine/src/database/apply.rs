//! The one way to the next version of the database.
//!
//! [`Engine::lock_versions`] and its sisters take the locks. [`Engine::apply`] makes the next version of a [`VersionEdit`]: it verifies
//! the version, makes it durable, installs it, lets the locks go and wakes who waits for it.
//!
//! # Order of locks
//!
//! `defining` → `loading` → `merging_segments` → `merging` → `checkpoint` → `versions` → latches → validation (nothing is sequenced). What
//! commits take comes behind these ([`crate::transaction`]).
//!
//! 0. `defining` is shared by whoever changes definitions, and held by a backup for its checkpoint.
//! 1. The next three belong to long work on bases. Who does it holds them from its first look at the bases to the end of `apply`.
//! 2. `checkpoint` is held by whoever publishes a checkpoint or buries pages, `versions` by whoever replaces the version. Nobody waits for
//!    either with a latch in hand, except a load in its last try: it has all latches, and `loading`, which keeps other loads away.
//! 3. Latches and validation are for edits that show rows at a moment of their own. A commit that has its latches has looked for
//!    conflicts already, so it comes first.

use std::sync::Arc;

use ambo_types::{
    Result,
    id::{TableId, Timestamp},
    record::Record,
};
use parking_lot::MutexGuard;

use super::{
    checkpoint::{CheckpointState, Turnover},
    commit::append,
    engine::Engine,
    notes::{self, NOTES_TABLE},
    options::Sync,
    verify::verify,
    version::DatabaseVersion,
    version_edit::{Durability, VersionEdit},
};
use crate::{
    catalog::CatalogChange,
    transaction::{fuse::Fuse, latch::LatchGuard, pipeline::Validation},
};

/// The right to replace the current version. Nobody else does while it lives, so what is decided by [`VersionLocks::version`] stays true.
pub(super) struct VersionLocks<'e> {
    engine: &'e Engine,
    // Let go in the order in which they stand here, which is the other way round.
    validation: Option<Validation<'e>>,
    latches: Option<LatchGuard<'e>>,
    versions: MutexGuard<'e, ()>,
    checkpoint: CheckpointLock<'e>,
    current: Arc<DatabaseVersion>,
}

/// The state of checkpoints, if it is needed.
enum CheckpointLock<'e> {
    None,
    Own(MutexGuard<'e, CheckpointState>),
    Lent(&'e mut CheckpointState),
}

impl CheckpointLock<'_> {
    fn state(&mut self) -> &mut CheckpointState {
        match self {
            Self::Own(state) => state,
            Self::Lent(state) => state,
            Self::None => panic!("checkpoints are published, and pages buried, under their lock"),
        }
    }
}

impl Engine {
    /// Locks versions, for an edit that is in memory or in the log.
    pub(super) fn lock_versions(&self) -> VersionLocks<'_> {
        self.locked(CheckpointLock::None)
    }

    /// Locks checkpoints and versions.
    pub(super) fn lock_checkpoint(&self) -> VersionLocks<'_> {
        self.locked(CheckpointLock::Own(self.checkpoint.lock()))
    }

    /// Locks versions; the caller has locked checkpoints, and goes on with that.
    pub(super) fn lock_versions_within<'e>(
        &'e self,
        checkpoint: &'e mut CheckpointState,
    ) -> VersionLocks<'e> {
        debug_assert!(self.checkpoint.is_locked(), "checkpoints are locked before versions");
        self.locked(CheckpointLock::Lent(checkpoint))
    }

    fn locked<'e>(&'e self, checkpoint: CheckpointLock<'e>) -> VersionLocks<'e> {
        let versions = self.version_lock.lock();
        let current = self.versions.load_full();
        VersionLocks { engine: self, validation: None, latches: None, versions, checkpoint, current }
    }
}

impl VersionLocks<'_> {
    /// Locks out commits that have not taken their latches yet, and waits for those that have.
    pub(super) fn latched(mut self) -> Self {
        debug_assert!(self.validation.is_none(), "a commit that waits to be sequenced has its latches");
        debug_assert!(self.latches.is_none(), "latches are taken once");
        self.latches = Some(self.engine.latches.lock_all());
        self
    }

    /// Nothing is sequenced any more, and everything sequenced before is installed.
    pub(super) fn quiet(mut self) -> Result<Self> {
        debug_assert!(self.validation.is_none(), "who has it would wait for itself");
        self.validation = Some(self.engine.pipeline.validate()?);
        Ok(self)
    }

    /// The version that is to be replaced.
    pub(super) fn version(&self) -> &DatabaseVersion {
        &self.current
    }

    /// The newest timestamp that was given out. REQUIRES: nothing is sequenced meanwhile.
    pub(super) fn last(&self) -> Timestamp {
        self.validation.as_ref().expect("nothing is sequenced").sequence().last
    }
}

impl Engine {
    /// Makes the next version of the current one, and lets the locks go.
    ///
    /// # Errors
    /// Nothing has changed then, and new pages and segments are still the caller's, unless the database is poisoned.
    pub(super) fn apply(&self, locks: VersionLocks<'_>, mut edit: VersionEdit) -> Result<()> {
        let turnover = std::mem::take(&mut edit.turnover);
        match &edit.durability {
            Durability::Log(changes) => self.apply_logged(locks, &edit, changes)?,
            Durability::None | Durability::Checkpoint | Durability::CheckpointAt(_) => {
                self.apply_at_once(locks, &edit, turnover)?;
            }
        }
        if edit.makes_merges_due() {
            self.signals.raise(|state| &mut state.merge);
        }
        if edit.catalog.is_some() {
            // An index may have come whose files are to be made.
            self.signals.raise(|state| &mut state.merge_segments);
        }
        Ok(())
    }

    fn apply_at_once(&self, locks: VersionLocks<'_>, edit: &VersionEdit, turnover: Turnover) -> Result<()> {
        // Bound in this order, for they are let go in the other.
        let VersionLocks {
            current, mut checkpoint, versions: _versions, latches: _latches, validation, ..
        } = locks;
        debug_assert!(
            Arc::ptr_eq(&current, &self.versions.load()),
            "nobody replaces a version that is locked"
        );
        let own = validation.as_ref().filter(|_| edit.is_commit);
        assert_eq!(
            own.is_some(),
            edit.is_commit,
            "a commit is given its timestamp while nothing is sequenced"
        );
        let at = own.map(|validation| Timestamp(validation.sequence().last.0 + 1));
        let next = next_version(&current, edit, at)?;
        // What it keeps and the next one has not is not to wait for us.
        drop(current);
        edit.tell_scans_of_runs(&next);
        if let (Some(validation), Some(at)) = (own, at) {
            self.take_moment(validation, at, edit.unlogged)
                .inspect_err(|_| self.pipeline.publisher.complete(at))?;
        }
        let published = match edit.durability {
            Durability::Checkpoint => {
                let moment = checkpoint.state().moment();
                self.publish(checkpoint.state(), moment, next, turnover)
            }
            Durability::CheckpointAt(moment) => self.publish(checkpoint.state(), moment, next, turnover),
            Durability::None | Durability::Log(_) => {
                self.install_in_memory(&mut checkpoint, next, turnover);
                Ok(())
            }
        };
        if let (Err(_), Some(at)) = (&published, at) {
            // Nothing is seen at that moment.
            self.pipeline.publisher.complete(at);
        }
        published?;
        edit.tell_scans_of_segments(&self.versions.load());
        if edit.is_freeze {
            self.governor.freeze();
        }
        if let (Some(validation), Some(at)) = (own, at) {
            assert_eq!(validation.sequence().last, at, "nothing was sequenced meanwhile");
            self.pipeline.publisher.complete(at);
        }
        Ok(())
    }

    /// Gives out the moment of a commit that goes past the log. Where others follow the log, or it is archived, it has a transaction then
    /// that is empty or says which table's rows came, so that the
    /// moment is never given to another commit, whatever fails.
    fn take_moment(
        &self,
        validation: &Validation<'_>,
        at: Timestamp,
        unlogged: Option<TableId>,
    ) -> Result<()> {
        let mut sequencer = validation.sequence();
        assert_eq!(sequencer.last.0 + 1, at.0, "nothing was sequenced meanwhile");
        sequencer.last = at;
        let archived = self.pipeline.is_archived();
        if self.options.keep_log_bytes == 0 && !archived {
            return Ok(());
        }
        sequencer.group.begin(at);
        if let Some(table) = unlogged.filter(|_| archived) {
            sequencer.group.op(NOTES_TABLE, &notes::unlogged(table), Record::inline(&[]));
        }
        sequencer.group.end()?;
        sequencer.note_logged(false);
        drop(sequencer);
        self.pipeline.flush(at, true)
    }

    /// Installs a version that no checkpoint has to know. What goes are pages that none knows either.
    fn install_in_memory(
        &self,
        checkpoint: &mut CheckpointLock<'_>,
        next: DatabaseVersion,
        turnover: Turnover,
    ) {
        let Turnover { born, blobs, retired, private, new_segments, old_segments } = turnover;
        let in_file = born.len() + blobs.len() + retired.len() + new_segments.len() + old_segments.len();
        assert_eq!(in_file, 0, "what is in the files comes and goes with checkpoints");
        self.install_version(next);
        if !private.is_empty() {
            self.bury(checkpoint.state(), private);
        }
    }

    /// A change of the catalog is a commit like any other.
    fn apply_logged(
        &self,
        locks: VersionLocks<'_>,
        edit: &VersionEdit,
        changes: &[CatalogChange],
    ) -> Result<()> {
        let VersionLocks { current, versions, .. } = locks;
        debug_assert!(
            Arc::ptr_eq(&current, &self.versions.load()),
            "nobody replaces a version that is locked"
        );
        let mut sequencer = self.pipeline.sequence();
        self.pipeline.check_poison()?;
        let at = Timestamp(sequencer.last.0 + 1);
        let next = next_version(&current, edit, Some(at))?;
        let dropped = edit.dropped(&current);
        drop(current);
        let (at, _) = append(&self.pipeline, &mut sequencer, &next, changes, &[])?;
        let in_flight = Fuse::in_flight(&self.pipeline, at);
        drop(sequencer);

        let written = self.pipeline.flush(at, self.options.sync == Sync::Commit);
        if written.is_ok() {
            self.install_version(next);
            self.dropped.lock().extend(dropped);
        }
        in_flight.complete();
        drop(versions);
        written?;
        self.pipeline.wait(at)
    }

    /// Makes `next` the version that is read from now on. The caller holds the lock of versions.
    pub(super) fn install_version(&self, next: DatabaseVersion) {
        debug_assert!(self.version_lock.is_locked(), "who replaces the version holds its lock");
        self.keep_room(&next);
        let old = self.versions.swap(Arc::new(next));
        self.lineage.lock().replaced(&old);
    }
}

/// The version that an edit makes of another, verified where there are assertions.
pub(super) fn next_version(
    current: &DatabaseVersion,
    edit: &VersionEdit,
    at: Option<Timestamp>,
) -> Result<DatabaseVersion> {
    let next = edit.on(current, at)?;
    if cfg!(debug_assertions)
        && let Err(what) = verify(&next, Some(current))
    {
        panic!("the next version of the database breaks an invariant: {what}");
    }
    Ok(next)
}
