//! The indexes of a table as versions of the database know them, and their building.
//!
//! # How an index is built while its table is in use
//! 1. It is created, empty and not *ready*, and from then on whoever writes to the table writes its entries too. No commit that does not is
//!    sequenced after the version with the index was installed (rule 4 of [`crate::index`]).
//! 2. A snapshot is taken once all earlier commits are published. The entries of its rows are sorted into a tree. The rows are made
//!    durable, and then the tree becomes the index's main tree, below everything that was written meanwhile. Until then tombstones in the
//!    index are kept: they hide entries of that tree.
//! 3. Transactions from before that moment fail with a conflict: they have not seen the entries. A unique index now refuses every second
//!    row with the same values, and those that came while it was built are looked for: they hide an entry of the tree whose row still has
//!    the values. Where only one of the two is left, its entry is written again.
//! 4. It is ready. This is the only step that a crash does not undo: an index that is not ready is dropped when the database is opened.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

use ambo_base::{BaseOps, btree::Tree};
use ambo_pages::page::{PageRange, PageStore};
use ambo_types::{
    Error, IndexDefinition, Result, TableDefinition,
    id::{TableId, Timestamp},
    record::Record,
};

use super::{
    blobs::whole,
    catalog_edit::Effect,
    checkpoint::Turnover,
    cursor::{Cover, MergedCursor, Seek},
    engine::Engine,
    expiry::Moment,
    index_loads::Find,
    index_rows::{Fate, all_rows, gather},
    snapshot::Snapshot,
    transaction::Isolation,
    value::Value,
    version::DatabaseVersion,
    version_edit::{TableEdit, VersionEdit},
};
use crate::index::{EntryFormat, EntrySorter, SortedEntries};

/// An index as a version of the database has it.
#[derive(Debug)]
pub struct TableIndex {
    /// The table that holds its entries.
    pub id: TableId,
    /// How entries follow from rows.
    pub format: EntryFormat,
}

impl TableIndex {
    /// Whether it has an entry for each row.
    pub fn is_ready(&self) -> bool {
        self.format.of().ready
    }

    /// The value of an entry; a long one, the key of a row, has pages of its own.
    pub(super) fn value<'r>(&self, store: &Arc<PageStore>, record: Record<'r>) -> Result<Cow<'r, [u8]>> {
        whole(store, self.id, record)
    }

    /// The error for an entry of a tree that another row has, too.
    pub(super) fn taken_in(&self, tree: &Tree, entry: &[u8], find: &Find<'_>) -> Result<Error> {
        let found = tree.get(entry)?.expect("an entry of the tree");
        let value = self.value(tree.store(), found.record())?;
        let key = self.format.row_key(entry, &value)?;
        Ok(self.format.taken(key, &find(key)?.unwrap_or_default()))
    }
}

impl DatabaseVersion {
    /// Gives each table the indexes that the catalog says it has. Only tables whose indexes change are touched.
    pub(super) fn attach_indexes(&mut self) -> Result<()> {
        let mut wanted: BTreeMap<TableId, Vec<(TableId, Arc<TableDefinition>)>> = BTreeMap::new();
        for (index, definition) in self.catalog.indexes() {
            let of = definition.index.as_ref().expect("an index");
            // Nobody writes entries of these: scans ask the catalog for them, or files beside segments.
            if !of.kind.has_entries() {
                continue;
            }
            wanted.entry(of.table).or_default().push((index, definition.clone()));
        }
        for (id, _) in self.tables.iter().filter(|(_, table)| !table.indexes.is_empty()) {
            wanted.entry(*id).or_default();
        }
        for (id, indexes) in wanted {
            let Some(table) = self.tables.get(&id) else { continue };
            let definition = self.catalog.table(id).expect("it is in the catalog").clone();
            let mut attached = Vec::new();
            for (id, index) in &indexes {
                let of = index.index.as_ref().expect("an index");
                let format = EntryFormat::new(&index.name, of, &definition)?;
                attached.push(Arc::new(TableIndex { id: *id, format }));
            }
            if is_same(&table.indexes, &attached, |a, b| a == b) {
                continue;
            }
            // Other names, and other columns beside the indexed ones, make no other entries.
            let other_entries = !is_same(&table.indexes, &attached, EntryFormat::has_same_entries);
            let mut table = table.clone();
            for (id, index) in &indexes {
                let of = index.index.as_ref().expect("an index");
                if let Some(entries) = self.tables.get_mut(id) {
                    Arc::make_mut(entries).is_held = !of.ready;
                }
            }
            Arc::make_mut(&mut table).indexes = attached.into();
            *self.tables.get_mut(&id).expect("it is there") = table;
            self.index_epoch += u64::from(other_entries);
        }
        self.attach_postings()
    }
}

/// Whether these are the same indexes, with formats that are the same in some regard.
fn is_same(
    attached: &[Arc<TableIndex>],
    wanted: &[Arc<TableIndex>],
    same: fn(&EntryFormat, &EntryFormat) -> bool,
) -> bool {
    let both = |(a, b): (&Arc<TableIndex>, &Arc<TableIndex>)| a.id == b.id && same(&a.format, &b.format);
    attached.len() == wanted.len() && attached.iter().zip(wanted).all(both)
}

impl Engine {
    /// Creates an index and builds it. The table stays in use meanwhile.
    ///
    /// # Errors
    /// [`Error::Exists`] for its name, or for two rows with the same values where it is to be unique: then there is no index.
    pub fn create_index(self: &Arc<Self>, wanted: &IndexDefinition) -> Result<TableId> {
        self.create_index_until(wanted, &self.cancel_merge)
    }

    /// As [`Engine::create_index`], until this is set: then there is no such index.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn create_index_until(
        self: &Arc<Self>,
        wanted: &IndexDefinition,
        cancel: &AtomicBool,
    ) -> Result<TableId> {
        let id = self.change_catalog(|catalog| {
            let (id, change) = catalog.create_index(wanted)?;
            Ok((Effect { changes: vec![change], added: vec![id], ..Effect::default() }, id))
        })?;
        if !wanted.kind.has_entries() {
            if let Err(error) = self.tend_postings(cancel) {
                // The first error says more.
                let _ = self.drop_unready(id);
                return Err(error);
            }
            return Ok(id);
        }
        if wanted.unique {
            self.purge_expired(find_table(&self.current(), id)?)?;
        }
        let built = self.build_index(id, cancel);
        if let Err(error) = built {
            // The first error says more. What cannot be dropped now is dropped at the next opening.
            let _ = self.drop_unready(id);
            return Err(error);
        }
        Ok(id)
    }

    /// Drops the indexes that a crash left unfinished.
    pub(super) fn drop_unready_indexes(&self) -> Result<()> {
        let catalog = self.current().catalog.clone();
        for (id, definition) in catalog.indexes() {
            if definition.index.as_ref().is_some_and(|index| !index.ready) {
                self.drop_unready(id)?;
            }
        }
        Ok(())
    }

    fn drop_unready(&self, id: TableId) -> Result<()> {
        let catalog = self.current().catalog.clone();
        match catalog.table(id) {
            Some(definition) => self.drop_index(&definition.name),
            None => Ok(()),
        }
    }

    pub(super) fn build_index(self: &Arc<Self>, id: TableId, cancel: &AtomicBool) -> Result<()> {
        // All that was sequenced before the index was installed is published now, and in the snapshot.
        self.pipeline.wait_for_all()?;
        let snapshot = self.snapshot().with_expired();
        let index = find_index(snapshot.version(), id)?;
        assert!(!index.is_ready(), "entries of an index that is ready are all there");
        let store = snapshot.version().table(id)?.shared.store.clone();
        let sorted = self.sort_entries(&snapshot, &index, &store, cancel)?;
        let tree = Tree::open(store.clone(), sorted.meta);
        let installed = match &sorted.twice {
            Some(entry) => {
                let row = |key: &[u8]| {
                    let row = snapshot.get(index.format.of().table, key)?;
                    Ok(row.map(|row| row.to_vec()))
                };
                index.taken_in(&tree, entry, &row).and_then(Err)
            }
            None => {
                let since = snapshot.timestamp();
                drop(snapshot);
                self.install_index_main(id, tree, &sorted.pages, since)
            }
        };
        installed.inspect_err(|_| self.give_back(&store, sorted.pages))?;
        if index.format.of().unique {
            self.pipeline.wait_for_all()?;
            let hidden = hidden_entries(&self.snapshot().with_expired(), &index)?;
            hidden.iter().try_for_each(|(entry, key)| self.show_entry(&index, entry, key))?;
        }
        self.change_catalog(|catalog| {
            Ok((Effect { changes: vec![catalog.index_ready(id)?], ..Effect::default() }, ()))
        })
    }

    fn sort_entries(
        &self,
        snapshot: &Snapshot,
        index: &Arc<TableIndex>,
        store: &Arc<PageStore>,
        cancel: &AtomicBool,
    ) -> Result<SortedEntries> {
        let (indexes, threads) = (std::slice::from_ref(index), self.index_threads());
        let sorter = EntrySorter::new(store, self.segments.memory());
        let rows = all_rows(snapshot, index.format.of().table, indexes)?;
        gather(&[(&*rows, Fate::Come)], indexes, std::slice::from_ref(&sorter), threads, cancel)?;
        sorter.finish(threads, cancel)
    }

    /// Gives a row its entry back, unless another row has the values by right.
    ///
    /// # Errors
    /// [`Error::Exists`] if both have them.
    fn show_entry(self: &Arc<Self>, index: &TableIndex, entry: &[u8], key: &[u8]) -> Result<()> {
        let table = index.format.of().table;
        loop {
            let mut tx = self.begin(Isolation::Snapshot)?;
            tx.show_expired();
            match tx.lock(table, key) {
                Err(Error::Conflict(_)) => continue,
                locked => locked?,
            }
            if !names(tx.get(table, key)?, index, key, entry)? {
                return Ok(());
            }
            if let Some(there) = tx.get(index.id, entry)? {
                let other = index.format.row_key(entry, &there)?;
                if other == key {
                    return Ok(());
                }
                if let Some(row) = tx.get(table, other)?
                    && index.format.entry(other, &row)?.key == entry
                {
                    return Err(index.format.taken(other, &row));
                }
            }
            tx.write(index.id, entry, Record::inline(key), Vec::new())?;
            match tx.commit() {
                Err(Error::Conflict(_)) => {}
                result => return result.map(drop),
            }
        }
    }

    /// Makes a tree of entries the main tree of an index, below what was written to it meanwhile. Its pages stay the caller's on an error.
    fn install_index_main(
        &self,
        id: TableId,
        tree: Arc<Tree>,
        pages: &[PageRange],
        since: Timestamp,
    ) -> Result<()> {
        assert_eq!(tree.meta().tombstones, 0, "below the lowest tree is nothing to be deleted");
        let is_durable = Arc::ptr_eq(tree.store(), &self.store);
        debug_assert!(
            since <= self.pipeline.publisher.published(),
            "an index is made of rows that all have seen"
        );
        if is_durable {
            // A crash must not leave an entry whose row it took: the rows of the snapshot become durable first.
            self.flush()?;
        }
        let locks = self.lock_checkpoint();
        if !locks.version().tables.contains_key(&id) {
            return Err(Error::NotFound("the index, or its table, was dropped while it was built".into()));
        }
        let mut edit = match is_durable {
            true => VersionEdit::checkpoint(Turnover { born: pages.to_vec(), ..Turnover::default() }),
            false => VersionEdit::default(),
        };
        edit.is_new_epoch = true;
        edit.since = Some(since);
        if !tree.meta().is_empty() {
            edit.table(id, TableEdit::Lowest(tree));
        }
        self.apply(locks, edit)
    }
}

/// The table that an index is of.
fn find_table(version: &DatabaseVersion, id: TableId) -> Result<TableId> {
    let of = version.catalog.table(id).and_then(|definition| definition.index.as_ref());
    let gone = || Error::NotFound(format!("index {id} (it, or its table, was dropped or truncated)"));
    of.map(|of| of.table).ok_or_else(gone)
}

/// The index with this id.
pub(super) fn find_index(version: &DatabaseVersion, id: TableId) -> Result<Arc<TableIndex>> {
    let of = version.catalog.table(id).and_then(|definition| definition.index.as_ref());
    let gone = || Error::NotFound(format!("index {id} (it, or its table, was dropped or truncated)"));
    let of = of.ok_or_else(gone)?;
    if !of.kind.has_entries() {
        let kind = of.kind.name();
        let name = &version.catalog.table(id).expect("an index").name;
        return Err(Error::Invalid(format!(
            "index \"{name}\" is a {kind} index, which has no entries; scans by conditions on its column use it"
        )));
    }
    let table = version.table(of.table)?;
    table.indexes.iter().find(|index| index.id == id).cloned().ok_or_else(gone)
}

/// The entries of rows in the main tree that something newer hides, although the rows still have their values: the values of an older
/// row and those of one that was written before the index knew the older. By entry and row.
fn hidden_entries(snapshot: &Snapshot, index: &TableIndex) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let entries = snapshot.version().table(index.id)?;
    if entries.base.is_empty() {
        return Ok(Vec::new());
    }
    let store = &entries.shared.store;
    let mut hidden = Vec::new();
    let mut cursor = MergedCursor::new(entries, None, Moment::all(snapshot.timestamp()), Cover::AboveBase);
    let mut there = cursor.seek(Seek::First)?;
    while there {
        if let Some(older) = entries.base.get(cursor.key(), None)? {
            let record = cursor.record();
            let older = index.value(store, older.record())?;
            let older = index.format.row_key(cursor.key(), &older)?;
            let newer = index.value(store, record)?;
            let is_named = !record.is_tombstone() && index.format.row_key(cursor.key(), &newer)? == older;
            if !is_named && names(snapshot.get(index.format.of().table, older)?, index, older, cursor.key())?
            {
                hidden.push((cursor.key().to_vec(), older.to_vec()));
            }
        }
        there = cursor.next()?;
    }
    Ok(hidden)
}

/// Whether a row is there and has this entry.
fn names(row: Option<Value>, index: &TableIndex, key: &[u8], entry: &[u8]) -> Result<bool> {
    match row {
        Some(row) => Ok(index.format.entry(key, &row)?.key == entry),
        None => Ok(false),
    }
}
