//! Definitions that a transaction changes, seen by it alone until it commits.
//!
//! # How
//! 1. A change makes a version of the database that only the transaction has, of the one that it has found or changed before: with
//!    another catalog, with new tables that are empty, without the tables that are gone. All that it reads, it reads there. Rows of new
//!    tables are writes like others: nothing is in any table before the commit.
//! 2. To take a change back is to go on with the version before it.
//! 3. What holds of all rows of a table that is there already is found true of what the transaction sees, and the table is *held* from then
//!    on: commits of others to it wait for the end of the transaction. A load does not wait, so the commit looks again.
//! 4. The commit makes the same changes of the version that is current then: see `definition_commit`.

use std::sync::Arc;

use ambo_types::{
    Error, IndexDefinition, Result, StoredIn,
    id::{TableId, Timestamp},
};

use super::{
    apply::next_version,
    catalog_edit::{CatalogEdit, Effect},
    cursor::Seek,
    definition_commit::edit_over,
    indexes::{TableIndex, find_index},
    not_null::find_null,
    snapshot::Snapshot,
    transaction::Transaction,
    version::{DatabaseVersion, TableShared},
    version_edit::VersionEdit,
};
use crate::catalog::{Catalog, TableChange};

/// Rows of a table whose entries are made at a time.
const ROWS_AT_ONCE: usize = 1024;

/// What a transaction has changed of the definitions.
#[derive(Default)]
pub(super) struct OwnDefinitions {
    /// The versions before each change, the oldest first: that is the one which the transaction has found.
    before: Vec<Arc<DatabaseVersion>>,
    /// Tables that others do not write to.
    held: Vec<TableId>,
}

impl OwnDefinitions {
    /// How many changes there are.
    pub(super) fn len(&self) -> usize {
        self.before.len()
    }

    /// The version that the transaction has found, if it has another now.
    pub(super) fn base(&self) -> Option<&Arc<DatabaseVersion>> {
        debug_assert!(
            self.before.first().is_none_or(|found| found.stem.is_none()),
            "what a transaction has found is nobody's own"
        );
        // What is hidden from the transaction itself is there for others.
        self.before.first().map(|version| version.under_ranges.as_ref().unwrap_or(version))
    }

    /// Tables that others do not write to.
    pub(super) fn held(&self) -> &[TableId] {
        &self.held
    }

    /// Makes the changes of another version, which the transaction has found later: `versions` are those after each of them.
    fn rebase(
        &mut self,
        found: Arc<DatabaseVersion>,
        versions: Vec<Arc<DatabaseVersion>>,
    ) -> Option<Arc<DatabaseVersion>> {
        debug_assert_eq!(versions.len(), self.before.len(), "a version after each change");
        self.before = std::iter::once(found).chain(versions).collect();
        self.before.pop()
    }

    /// Takes back all but the first `changes`. Returns the version after them, if it is another.
    pub(super) fn truncate(&mut self, changes: usize) -> Option<Arc<DatabaseVersion>> {
        let mut later = self.before.drain(changes..);
        later.next()
    }
}

impl Snapshot {
    /// Whether a transaction has made changes of definitions that are seen here.
    pub fn has_own_definitions(&self) -> bool {
        self.version().stem.is_some()
    }

    /// What is the same for all versions of a table, if it is there.
    pub fn shared(&self, table: TableId) -> Option<Arc<TableShared>> {
        self.version().tables.get(&table).map(|table| table.shared.clone())
    }
}

impl Transaction {
    /// Whether it has made changes of definitions.
    pub fn has_own_definitions(&self) -> bool {
        self.snapshot().has_own_definitions()
    }

    /// As [`Snapshot::shared`].
    pub fn shared(&self, table: TableId) -> Option<Arc<TableShared>> {
        self.snapshot().shared(table)
    }

    /// Makes a change of schemas, tables, indexes or views, seen by this transaction alone until it commits. Returns the id of a table that
    /// is new by it.
    ///
    /// # Errors
    /// [`Error::Exists`] and [`Error::NotFound`] for names, [`Error::Invalid`] for what cannot be: nothing has changed then. As
    /// [`Transaction::hold`] for a check that is added.
    pub fn define(&mut self, edit: &CatalogEdit) -> Result<Option<TableId>> {
        if let CatalogEdit::ChangeTable { name, changes } = edit
            && changes.iter().any(|change| matches!(change, TableChange::AddCheck(_)))
        {
            self.hold(self.catalog().find(name)?.0)?;
        }
        self.change_own(|catalog| edit.on(catalog))
    }

    fn change_own<R>(&mut self, change: impl FnOnce(&mut Catalog) -> Result<(Effect, R)>) -> Result<R> {
        let engine = self.engine().clone();
        engine.check_writable()?;
        let before = self.snapshot().version().clone();
        let from = if self.own.len() == 0 { self.ranges_to_rows()? } else { before.clone() };
        let (edit, result) = engine.edit_of(&before.catalog, change)?;
        let next = own_version(&from, &edit, self.timestamp())?;
        self.own.before.push(before);
        self.snapshot_mut().set_version(next);
        Ok(result)
    }

    /// The version at a later moment with what the transaction has defined; none if it has defined nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] if others have changed the same, or written to tables that are held.
    pub(super) fn definitions_over(&mut self, later: &Snapshot) -> Result<Option<Arc<DatabaseVersion>>> {
        let Some(base) = self.own.base().cloned() else { return Ok(None) };
        debug_assert!(later.timestamp() >= self.timestamp(), "moments only go on");
        let found = later.version();
        self.own.held.iter().try_for_each(|table| self.check_held(*table, found))?;
        let current = self.snapshot().version();
        let mut versions = Vec::new();
        for own in self.own.before[1..].iter().chain([current]) {
            let changes = own.catalog.changes_since(&base.catalog);
            let edit = edit_over(found, &base, own, &changes)?;
            versions.push(own_version(found, &edit, later.timestamp())?);
        }
        Ok(self.own.rebase(found.clone(), versions))
    }

    /// Whether it has made a table itself: nobody else knows it.
    pub(super) fn is_own_table(&self, table: TableId) -> bool {
        self.own.base().is_some_and(|base| !base.tables.contains_key(&table))
    }

    /// Whether a table was there when the transaction began: others may have changed it since.
    pub(super) fn has_found(&self, table: TableId) -> bool {
        self.own.base().unwrap_or(self.snapshot().version()).tables.contains_key(&table)
    }

    /// Keeps commits of others to a table waiting until the transaction ends: what it sees there stays true.
    ///
    /// # Errors
    /// [`Error::Conflict`] if somebody has written to the table since the transaction began; [`Error::Lock`] after waiting in vain.
    pub fn hold(&mut self, table: TableId) -> Result<()> {
        if self.is_own_table(table) || self.own.held.contains(&table) {
            return Ok(());
        }
        self.lock_table(table)?;
        self.check_held(table, &self.engine().versions.load())?;
        self.own.held.push(table);
        Ok(())
    }

    /// Fails if a table that is held was written to.
    pub(super) fn check_held(&self, table: TableId, now: &DatabaseVersion) -> Result<()> {
        let table = now.table(table)?;
        table.check_history(self.timestamp())?;
        let mut later = table.memtables().filter(|memtable| memtable.is_later_than(self.timestamp()));
        match later.next() {
            None => Ok(()),
            Some(_) => Err(Error::Conflict(
                "rows of a table whose definition it changes were written by a transaction that committed first".into(),
            )),
        }
    }

    /// Creates an index over the rows that the transaction sees; their entries are writes of it. The table is [held](Self::hold).
    ///
    /// # Errors
    /// As [`Engine::create_index`](super::Engine::create_index) and [`Transaction::hold`]; [`Error::Invalid`] for so many rows that the
    /// entries are more than a transaction may write, and for a table that is not logged. Nothing has changed then.
    pub fn create_index(&mut self, wanted: &IndexDefinition) -> Result<TableId> {
        let (table, of) = self.catalog().find(&wanted.table)?;
        let has_entries = wanted.kind.has_entries();
        if has_entries {
            if !of.log && of.storage.traits().durable && !self.is_own_table(table) {
                // After a crash older rows are there, and entries that were in no log are not.
                return Err(Error::Invalid(format!(
                    "table \"{}\" is not logged; an index of it is created outside of a transaction",
                    of.name
                )));
            }
            self.hold(table)?;
        }
        let before = self.savepoint();
        let id = self.change_own(|catalog| {
            let (id, created) = catalog.create_index(wanted)?;
            let ready = has_entries.then(|| catalog.index_ready(id)).transpose()?;
            let changes = std::iter::once(created).chain(ready).collect();
            Ok((Effect { changes, added: vec![id], ..Effect::default() }, id))
        })?;
        if has_entries && let Err(error) = self.write_entries(table, id) {
            self.rollback_to(before)?;
            return Err(error);
        }
        Ok(id)
    }

    /// Writes the entry of each row to an index that has none.
    fn write_entries(&mut self, table: TableId, index: TableId) -> Result<()> {
        let index = find_index(self.snapshot().version(), index)?;
        debug_assert_eq!(index.format.of().table, table, "entries are of rows of the index's table");
        let mut cursor = self.snapshot().cursor_over(table, self.own_writes(table))?;
        let mut there = cursor.seek(Seek::First)?;
        let mut rows = Vec::new();
        while there {
            let (key, row) = cursor.row()?;
            rows.push((key.to_vec(), row.to_vec()));
            there = cursor.next()?;
            if rows.len() == ROWS_AT_ONCE || !there {
                rows.drain(..).try_for_each(|(key, row)| self.write_entry(&index, &key, &row))?;
            }
        }
        Ok(())
    }

    fn write_entry(&mut self, index: &TableIndex, key: &[u8], row: &[u8]) -> Result<()> {
        let entry = index.format.entry(key, row)?;
        if entry.is_exclusive && self.peek(index.id, &entry.key)?.is_some() {
            return Err(index.format.taken(key, row));
        }
        self.write(index.id, &entry.key, ambo_types::record::Record::inline(&entry.value), Vec::new())
    }

    /// Makes a column refuse NULL. The table is [held](Self::hold).
    ///
    /// # Errors
    /// As [`Engine::set_not_null`](super::Engine::set_not_null) and [`Transaction::hold`].
    pub fn set_not_null(&mut self, table: &str, column: &str) -> Result<()> {
        let (id, definition) = self.catalog().find(table)?;
        let definition = definition.clone();
        let index = self.catalog().column(table, column)?;
        let stored = definition.stored_in(index);
        if !matches!(stored, StoredIn::Row(_)) || !definition.columns[index].nullable {
            return Ok(());
        }
        self.hold(id)?;
        find_null(&self.view(), id, stored)?;
        self.change_own(|catalog| {
            let change = catalog.set_not_null(id, stored)?;
            Ok((Effect { changes: vec![change], reformed: Some(id), ..Effect::default() }, ()))
        })
    }
}

/// The version that an edit makes for a transaction alone, which reads at this moment.
fn own_version(
    before: &Arc<DatabaseVersion>,
    edit: &VersionEdit,
    at: Timestamp,
) -> Result<Arc<DatabaseVersion>> {
    // A moment of no commit: later than all that the version shows.
    let shown = before.compacted.max(before.since).max(before.beyond).max(at);
    let mut next = next_version(before, edit, Some(Timestamp(shown.0 + 1)))?;
    next.stem = Some(before.stem.clone().unwrap_or_else(|| before.clone()));
    debug_assert!(next.beyond > at, "what a transaction has defined is later than what it has found");
    Ok(Arc::new(next))
}
