//! The commit of a transaction that has changed definitions.
//!
//! Its changes are made of the catalog that is current: nobody may have changed the same rows of it, nor made something of a name that the
//! transaction has given. So two transactions that change definitions are as two that write rows: of those that change the same the second
//! fails with a conflict, and others do not disturb each other. Changes and rows are one commit of the log, the changes first.
//!
//! Readers find all of it or nothing. The rows are in their memtables first, with a timestamp that nobody reads at. Then comes the version,
//! which snapshots use that are not older than the commit (`since`); all commits before it are complete by then, so nobody waits for long.

use std::sync::Arc;

use ambo_pages::log::Operation;
use ambo_types::{
    Error, Result, TableDefinition,
    id::{TableId, Timestamp},
};
use parking_lot::RwLockReadGuard;

use super::{
    apply::{VersionLocks, next_version},
    commit::{Terms, append, bytes_of, check_row, check_tables, depends_on_epoch},
    engine::Engine,
    transaction::Transaction,
    version::{DatabaseVersion, RowGuard, stored_columns},
    version_edit::{Durability, TableEdit, VersionEdit},
};
use crate::{
    catalog::CatalogChange,
    transaction::{fuse::Fuse, latch::LatchGuard},
};

impl Engine {
    /// Commits what a transaction has defined and written. `base` is the version that it has found; `operations` are on tables that it has.
    pub(super) fn commit_definitions(
        self: &Arc<Self>,
        transaction: &Transaction,
        base: &DatabaseVersion,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
    ) -> Result<Timestamp> {
        self.check_writable()?;
        let own = transaction.snapshot().version();
        for op in operations {
            let table = own.table(op.table)?;
            if let Some(schema) = table.shared.row_check() {
                check_row(schema, table, op)?;
            }
        }
        let changes = own.catalog.changes_since(&base.catalog);
        if changes.is_empty() && operations.is_empty() {
            return Ok(transaction.timestamp());
        }
        let bytes = bytes_of(operations);
        loop {
            let room_made = self.room_made();
            let admitted = self.admit(bytes).and_then(|()| self.admit_by_room(operations));
            let committed =
                admitted.and_then(|()| self.commit_changes(transaction, base, &changes, operations, terms));
            match committed {
                // Nothing was written, and the log itself may be what fills the disk.
                Err(Error::DiskFull(_)) if !self.is_flushed_soon() && self.make_room(room_made) => {}
                Err(error) => return Err(error),
                Ok((at, is_behind)) => {
                    self.after_commit(at, bytes, is_behind)?;
                    return Ok(at);
                }
            }
        }
    }

    fn commit_changes(
        &self,
        transaction: &Transaction,
        base: &DatabaseVersion,
        changes: &[CatalogChange],
        operations: &[Operation<'_>],
        terms: Terms<'_>,
    ) -> Result<(Timestamp, bool)> {
        let (_defining, locks, latches) = self.lock_for_definitions(operations, terms)?;
        let now = locks.version();
        let mut edit = edit_over(now, base, transaction.snapshot().version(), changes)?;
        transaction.own.held().iter().try_for_each(|table| transaction.check_held(*table, now))?;
        check_old_tables(now, base, operations, terms)?;
        let validation = terms.reads.map(|_| self.pipeline.validate()).transpose()?;
        if let Some(check) = terms.reads {
            check(now)?;
        }
        let mut sequencer = self.sequence(validation.as_ref());
        self.pipeline.check_poison()?;
        let before = sequencer.last;
        edit.since = Some(Timestamp(before.0 + 1));
        let next = next_version(now, &edit, edit.since)?;
        let (at, logged) = append(&self.pipeline, &mut sequencer, &next, changes, operations)?;
        assert_eq!(Some(at), edit.since, "the version is of its commit");
        let in_flight = Fuse::in_flight(&self.pipeline, at);
        drop(sequencer);
        drop(validation);
        let in_flight = self.written(in_flight, at, logged, terms.sync)?;
        // From here on only a new start brings the log and memory together again, if something fails.
        let is_behind = self.install(&next, operations, at)?;
        self.pipeline.wait(before)?;
        debug_assert_eq!(
            self.pipeline.publisher.published(),
            before,
            "all before the commit is seen, and nothing of it"
        );
        let dropped = edit.dropped(now);
        self.install_version(next);
        self.dropped.lock().extend(dropped);
        in_flight.complete();
        drop(latches);
        drop(locks);
        Ok((at, is_behind))
    }

    /// The locks of definitions and of versions, and latches of all keys while nobody else holds a row lock on one of them.
    fn lock_for_definitions(
        &self,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
    ) -> Result<(RwLockReadGuard<'_, ()>, VersionLocks<'_>, LatchGuard<'_>)> {
        loop {
            let defining = self.defining.read();
            let locks = self.lock_versions();
            let blocked = match self.try_latch(operations, terms.owner) {
                Ok(latches) => return Ok((defining, locks, latches)),
                Err(blocked) => blocked,
            };
            // Others go on meanwhile.
            drop(locks);
            drop(defining);
            self.wait_for_lock(blocked, terms)?;
        }
    }
}

/// Fails if tables that were there before are not what they were, or keys of them were written to.
fn check_old_tables(
    now: &DatabaseVersion,
    base: &DatabaseVersion,
    operations: &[Operation<'_>],
    terms: Terms<'_>,
) -> Result<()> {
    let since = terms.snapshot.expect("a transaction has a moment that it reads at");
    let epoch = terms.index_epoch.expect("its writes are made for some indexes");
    for of_one in operations.chunk_by(|one, next| one.table == next.table) {
        if base.tables.contains_key(&of_one[0].table) {
            check_tables(now, of_one, epoch, depends_on_epoch)?;
            of_one.iter().try_for_each(|op| now.table(op.table)?.check_unchanged(op.key, since))?;
        }
    }
    Ok(())
}

/// What makes of the current version what a transaction has made of `base`.
pub(super) fn edit_over(
    now: &DatabaseVersion,
    base: &DatabaseVersion,
    own: &DatabaseVersion,
    changes: &[CatalogChange],
) -> Result<VersionEdit> {
    let catalog = Arc::new(now.catalog.merged(&base.catalog, changes)?);
    let mut edit = VersionEdit {
        durability: Durability::Log(changes.to_vec()),
        catalog: Some(catalog),
        ..VersionEdit::default()
    };
    for id in base.tables.keys().filter(|id| !own.tables.contains_key(id)) {
        edit.table(*id, TableEdit::Drop);
    }
    for (id, table) in &own.tables {
        let definition = own.catalog.table(*id).expect("a table has a definition");
        match base.catalog.table(*id) {
            None => edit.table(*id, TableEdit::Create(table.clone())),
            Some(before) if before == definition => {}
            // Who does not know it yet is to notice.
            Some(before) if is_stricter(definition, before) => {
                edit.table(*id, TableEdit::Guard(guard(now, *id, definition)?));
                edit.is_new_epoch = true;
            }
            Some(_) => edit.table(*id, TableEdit::Reform),
        }
    }
    Ok(edit)
}

/// Whether a table refuses rows that it took.
fn is_stricter(now: &TableDefinition, before: &TableDefinition) -> bool {
    let took_null =
        |index| before.column_in(now.stored_in(index)).is_some_and(|other| before.columns[other].nullable);
    let mut columns = now.columns.iter().enumerate();
    columns.any(|(index, column)| !column.nullable && took_null(index))
        || now.checks.iter().any(|check| !before.checks.contains(check))
}

fn guard(now: &DatabaseVersion, id: TableId, definition: &TableDefinition) -> Result<RowGuard> {
    let pending = now.table(id)?.shared.pending().to_vec();
    let schema = Arc::new(stored_columns(&now.catalog, id, definition)?.requiring(&pending));
    Ok(RowGuard { schema, pending })
}
