//! A table that is held: commits of others to it wait.
//!
//! A bulk change fails with a conflict if somebody commits to one of its rows while it goes on, and one that takes a second never comes to
//! its end beside a writer that never rests. Who holds the table meets no conflict but with what was under way before.

use std::{sync::Arc, time::Duration};

use ambo_types::{Result, id::TableId};

use super::engine::Engine;
use crate::transaction::row_lock::OwnerId;

/// Keeps commits of others to a table waiting while it lives, as a lock on each of its rows would: for
/// [`crate::database::Options::lock_timeout`] at most, and then they fail. Loads and bulk changes do not wait for it.
pub struct TableHold {
    engine: Arc<Engine>,
    hash: u64,
    owner: OwnerId,
}

impl Engine {
    /// The lock that stands for all rows of a table.
    pub(super) fn table_hash(table: TableId) -> u64 {
        // Of a row with this hash, whichever it is, commits wait, too.
        u64::from(table.0).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Holds a table, once nobody else does. What was committed before is seen by snapshots that begin then.
    ///
    /// # Errors
    /// [`ambo_types::Error::Lock`] after waiting in vain.
    pub fn hold_table(self: &Arc<Self>, table: TableId) -> Result<TableHold> {
        let (hash, owner) = (Self::table_hash(table), self.new_owner());
        let is_new = self.acquire_table(hash, owner, self.lock_timeout())?;
        assert!(is_new, "an owner of its own has no locks");
        Ok(TableHold { engine: self.clone(), hash, owner })
    }

    /// Takes the lock that stands for all rows of a table. Returns whether the owner did not have it. All that was committed without
    /// knowing the lock is in the versions that are loaded then.
    pub(super) fn acquire_table(&self, hash: u64, owner: OwnerId, timeout: Duration) -> Result<bool> {
        let is_new = loop {
            match self.row_locks.try_acquire(hash, owner) {
                Some(is_new) => break is_new,
                None => self.row_locks.wait(hash, owner, timeout)?,
            }
        };
        // Who has a latch has looked for locks already, and commits.
        drop(self.latches.lock_all());
        Ok(is_new)
    }

    /// Who waits for locks on rows of a bulk change: as long as a table is held only who holds it has one.
    pub(super) fn bulk_owner(&self, table: TableId) -> OwnerId {
        self.row_locks.owner(Self::table_hash(table)).unwrap_or_else(|| self.new_owner())
    }
}

impl Drop for TableHold {
    fn drop(&mut self) {
        self.engine.row_locks.release(std::iter::once(self.hash), self.owner);
    }
}
