//! Bulk loads: sorted rows straight into packed pages, published at once.
//!
//! The rows become the table's newest run, so nothing older may be above them: when the load is finished the table's memtables are
//! flushed, and if others keep writing to it meanwhile, again. A crash before the end leaves nothing; a bulk load is not in the log and
//! durable when `finish` returns.

use std::{borrow::Cow, sync::Arc};

use ambo_base::{
    btree::{BuildOptions, Tree, TreeBuilder, TreeMeta},
    column::ColumnSchema,
};
use ambo_pages::page::{PageRange, PageStore};
use ambo_types::{Error, Result, id::TableId, record::Record};

use super::{
    access::check_value,
    blobs::whole,
    checkpoint::Turnover,
    compression::keep_dictionary,
    engine::{Engine, NEWEST},
    expiry::{Moment, STAMP_BYTES},
    index_loads::{IndexRuns, LoadedRows},
    index_rows::TreeRows,
    version::{DatabaseVersion, TableVersion},
    version_edit::{TableEdit, VersionEdit},
};

/// How often `finish` tries to find a moment at which nobody has just written to the table.
const ATTEMPTS: usize = 32;

/// A bulk load under way. Dropped before `finish`, it never was.
pub struct BulkLoad {
    engine: Arc<Engine>,
    table: TableId,
    /// Where the table was when the load began.
    store: Arc<PageStore>,
    builder: TreeBuilder,
    options: BuildOptions,
    /// What rows have to fit.
    check: Option<Arc<ColumnSchema>>,
    last_key: Vec<u8>,
    rows: u64,
    /// What stands behind its values.
    stamp: Option<[u8; STAMP_BYTES]>,
}

impl Engine {
    /// Begins a bulk load.
    pub fn bulk_load(self: &Arc<Self>, table: TableId) -> Result<BulkLoad> {
        self.check_writable()?;
        let version = self.versions.load_full();
        let shared = &version.table(table)?.shared;
        let (store, check) = (shared.store.clone(), shared.row_check().cloned());
        // As for a flush: what is read of it comes into the cache then.
        let options =
            BuildOptions { keep_in_cache: store.is_memory(), ..version.build_options(table, &store) };
        let builder = TreeBuilder::new(&store, options.clone());
        let stamp = shared.stamped.then(|| self.stamp());
        let last_key = Vec::new();
        Ok(BulkLoad { engine: self.clone(), table, store, builder, options, check, last_key, rows: 0, stamp })
    }
}

impl BulkLoad {
    /// Adds a row behind all others.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the key is not greater than the one before.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Engine::check_key(key)?;
        check_value(value)?;
        if self.rows > 0 && key <= &self.last_key[..] {
            return Err(Error::Invalid(format!(
                "row {} of a bulk load has a key that is not greater than the one before; sort the rows first",
                self.rows
            )));
        }
        if let Some(schema) = &self.check {
            schema.check(key, value)?;
        }
        let value = match self.stamp {
            Some(stamp) => Cow::Owned([value, &stamp].concat()),
            None => Cow::Borrowed(value),
        };
        self.builder.push(key, Record::inline(&value))?;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.rows += 1;
        Ok(())
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Publishes the rows. They replace rows of the same keys. Returns how many there are.
    ///
    /// # Errors
    /// [`Error::Conflict`] if others kept writing to the table.
    pub fn finish(self) -> Result<u64> {
        let Self { engine, table, store, builder, options, check, rows, .. } = self;
        let (meta, pages) = builder.finish_with_pages()?;
        assert_eq!(meta.rows, rows, "all rows are in the tree");
        if !engine.current().table(table)?.indexes.is_empty() {
            // Values of rows that have expired are free.
            engine.purge_expired(table)?;
        }
        let result = (0..ATTEMPTS).find_map(|_| {
            let check = check.as_deref();
            engine.try_install_loaded(table, (meta, &pages, &store), &options, check).transpose()
        });
        let result = result.unwrap_or_else(|| {
            Err(Error::Conflict(
                "others kept writing to the table while the bulk load was to be published".into(),
            ))
        });
        if result.is_err() && engine.pipeline.check_poison().is_ok() {
            store.free(pages);
        }
        result.map(|()| rows)
    }
}

impl Engine {
    /// Installs a loaded tree as the newest run; `None` if somebody wrote to the table since its memtables were flushed.
    fn try_install_loaded(
        &self,
        id: TableId,
        (meta, pages, store): (TreeMeta, &[PageRange], &Arc<PageStore>),
        options: &BuildOptions,
        checked: Option<&ColumnSchema>,
    ) -> Result<Option<()>> {
        self.flush()?;
        let _loading = self.loading.lock();
        let before = self.versions.load_full();
        let fits = |table: &TableVersion| {
            let fits = match (table.shared.row_check(), checked) {
                (Some(now), Some(checked)) => !checked.is_laxer_than(now),
                (Some(_), None) => false,
                (None, _) => true,
            };
            fits && Arc::ptr_eq(&table.shared.store, store)
        };
        if !fits(before.table(id)?) {
            return Err(changed());
        }
        let runs = self.entries(&before, before.table(id)?, meta)?;
        let installed = self.install_loaded(id, (meta, pages), options, (&before, &fits), &runs);
        if !matches!(installed, Ok(Some(()))) {
            self.give_back_runs(&before, runs);
        }
        installed
    }

    /// What a loaded tree brings to the indexes of its table.
    fn entries(&self, version: &DatabaseVersion, table: &TableVersion, meta: TreeMeta) -> Result<IndexRuns> {
        if table.indexes.is_empty() {
            return Ok(IndexRuns::default());
        }
        let id = table.shared.id;
        let tree = Tree::open(table.shared.store.clone(), meta);
        let before = |key: &[u8]| -> Result<Option<Vec<u8>>> {
            match table.find(key, Moment::all(NEWEST))? {
                Some(found) if !found.record().is_tombstone() => {
                    Ok(Some(whole(&table.shared.store, id, found.record())?.into_owned()))
                }
                _ => Ok(None),
            }
        };
        let store = &table.shared.store;
        let rows = LoadedRows {
            new: &TreeRows::new(&tree, |_, record| Ok(Some(whole(store, id, record)?)))?,
            gone: &TreeRows::new(&tree, |key, _| Ok(before(key)?.map(Cow::Owned)))?,
            threads: self.index_threads(),
            after: &|key| match tree.get(key)? {
                Some(found) => Ok(Some(whole(&table.shared.store, id, found.record())?.into_owned())),
                None => before(key),
            },
        };
        self.index_runs(version, table, rows, &self.cancel_merge)
    }

    /// Installs the tree and its entries in the version that follows `before`; `None` if somebody wrote to the table since.
    fn install_loaded(
        &self,
        id: TableId,
        (meta, pages): (TreeMeta, &[PageRange]),
        options: &BuildOptions,
        (before, fits): (&DatabaseVersion, &dyn Fn(&TableVersion) -> bool),
        runs: &IndexRuns,
    ) -> Result<Option<()>> {
        debug_assert!(self.loading.is_locked());
        // A commit that has its latches may have seen that nobody changed what it writes: it has to come first.
        let locks = self.lock_checkpoint().latched().quiet()?;
        let now = locks.version();
        let table = now.tables.get(&id).ok_or_else(|| Error::NotFound("the table was dropped".into()))?;
        if !runs.fit(now, table) {
            return Ok(None);
        }
        if !fits(table) {
            return Err(changed());
        }
        if !table.active.is_empty() || !table.frozen.is_empty() {
            return Ok(None);
        }
        // A flush would have brought rows that the entries do not know of; a merge none, but it looks the same.
        let same =
            |a: &TableVersion, b: &TableVersion| a.trees().map(Arc::as_ptr).eq(b.trees().map(Arc::as_ptr));
        if !table.indexes.is_empty() && !same(table, before.table(id)?) {
            return Ok(None);
        }
        let mut edit = match Arc::ptr_eq(&table.shared.store, &self.store) {
            // Memtables of other tables are not in the bases: the checkpoint's moment stays.
            true => VersionEdit::checkpoint(Turnover { born: pages.to_vec(), ..Turnover::default() }),
            false => VersionEdit::default(),
        };
        edit.is_commit = true;
        edit.unlogged = Some(id);
        let tree = (!meta.is_empty()).then(|| Tree::open(table.shared.store.clone(), meta));
        edit.table(id, TableEdit::Load(tree));
        runs.install(&mut edit);
        let mut catalog = now.catalog.clone();
        keep_dictionary(
            &mut catalog,
            id,
            options.records.as_ref().and_then(|records| records.dictionary.as_ref()),
        );
        edit.catalog = Some(catalog);
        self.apply(locks, edit)?;
        Ok(Some(()))
    }
}

fn changed() -> Error {
    Error::Conflict(
        "the table's storage was changed, or a column to refuse NULL, during the bulk load".into(),
    )
}
