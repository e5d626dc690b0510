//! Making a column refuse NULL while its table is written to.
//!
//! 1. A version is installed in which rows with NULL there are refused as they are committed. What was made ready before for a table as it
//!    was is not sequenced after that (the version's `index_epoch`), and loads that began before are not published.
//! 2. A snapshot is taken once all earlier commits are published. None of its rows may have NULL there; if one has, the version is taken
//!    back.
//! 3. The definition says NOT NULL. This is the only step that a crash does not undo.
//!
//! Handles from before do not know it, so rows are compared with the columns as they are committed until the database is closed.

use std::sync::Arc;

use ambo_scan::{Filter, Test};

use ambo_types::{Error, Result, StoredIn, id::TableId};

use super::{
    catalog_edit::Effect,
    engine::Engine,
    snapshot::Snapshot,
    table::RowFormat,
    version::{RowGuard, stored_columns},
    version_edit::{TableEdit, VersionEdit},
};
use crate::database::ScanPlan;

impl Engine {
    /// Makes a column refuse NULL. Reads and writes go on meanwhile; a transaction that began before may fail with a conflict.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the key of a row that has NULL there, or for a column of an index: then nothing has changed.
    pub fn set_not_null(self: &Arc<Self>, table: &str, column: &str) -> Result<()> {
        self.check_writable()?;
        let current = self.current();
        let (id, definition) = current.catalog.find(table)?;
        let index = current.catalog.column(table, column)?;
        let (StoredIn::Row(slot), true) = (definition.stored_in(index), definition.columns[index].nullable)
        else {
            return Ok(());
        };
        // Refuses what cannot be before anything is looked at.
        (*current.catalog).clone().set_not_null(id, StoredIn::Row(slot))?;
        self.purge_expired(id)?;
        self.guard(id, |pending| pending.push(slot))?;
        // All that was sequenced before NULL was refused is published then, and in the snapshot.
        let no_nulls = self
            .pipeline
            .wait_for_all()
            .and_then(|()| find_null(&self.snapshot().with_expired(), id, StoredIn::Row(slot)));
        let result = no_nulls.and_then(|()| {
            self.change_catalog(|catalog| {
                let change = catalog.set_not_null(id, StoredIn::Row(slot))?;
                Ok((Effect { changes: vec![change], reformed: Some(id), ..Effect::default() }, ()))
            })
        });
        // The definition says it from now on, or nobody does.
        let done = |pending: &mut Vec<usize>| {
            let at = pending.iter().position(|other| *other == slot);
            at.map(|at| pending.remove(at));
        };
        match self.guard(id, done) {
            // Dropped meanwhile.
            Err(Error::NotFound(_)) => result,
            guarded => result.and(guarded),
        }
    }

    /// Installs a version in which other slots of a table refuse NULL.
    fn guard(&self, id: TableId, change: impl FnOnce(&mut Vec<usize>)) -> Result<()> {
        let locks = self.lock_versions();
        let now = locks.version();
        let definition = now.catalog.table(id).ok_or_else(gone)?;
        let mut guard = match &now.table(id)?.shared.guard {
            Some(guard) => guard.clone(),
            None => RowGuard {
                schema: Arc::new(stored_columns(&now.catalog, id, definition)?),
                pending: Vec::new(),
            },
        };
        let before = guard.pending.len();
        change(&mut guard.pending);
        let is_new_epoch = guard.pending.len() > before;
        let mut edit = VersionEdit { is_new_epoch, ..VersionEdit::default() };
        edit.table(id, TableEdit::Guard(guard));
        self.apply(locks, edit)
    }
}

/// Fails if a row has NULL in a column.
pub(super) fn find_null(snapshot: &Snapshot, id: TableId, stored: StoredIn) -> Result<()> {
    let definition = snapshot.catalog().table(id).ok_or_else(gone)?.clone();
    let column = definition.column_in(stored).ok_or_else(gone)?;
    let filters = vec![Filter { column, test: Test::IsNull }];
    if definition.storage.traits().by_column {
        let plan = ScanPlan { columns: Vec::new(), filters: filters.clone(), ..ScanPlan::default() };
        if snapshot.scan_columns(id, &plan)?.count(1)? == 0 {
            return Ok(());
        }
    }
    let Some((key, row)) = snapshot.find_rows(id, &filters)?.next_row()? else { return Ok(()) };
    let values = RowFormat::new(definition.clone())?.decode(&key, &row)?;
    let key = match definition.has_hidden_key() {
        true => values.iter().map(ToString::to_string).collect::<Vec<_>>(),
        false => definition.key.iter().map(|index| values[*index].to_string()).collect(),
    };
    let what = if definition.has_hidden_key() { "row" } else { "row with the key" };
    Err(Error::Invalid(format!(
        "column \"{}\" of table \"{}\" cannot become NOT NULL: the {what} ({}) has NULL there",
        definition.columns[column].name,
        definition.name,
        key.join(", ")
    )))
}

fn gone() -> Error {
    Error::NotFound("the column, or its table, was dropped or truncated meanwhile".into())
}
