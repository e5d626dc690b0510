//! Bulk loads: sorted rows straight into packed pages, published at once.
//!
//! The rows become the table's newest run, so nothing older may be above them: when the load is finished the table's deltas are
//! spilled, and if others keep writing to it meanwhile, again. A crash before the end leaves nothing; a bulk load is not in the log and
//! durable when `finish` returns.

use std::sync::Arc;

use super::{
    access::check_value,
    checkpoint::{Moment, Turnover},
    compression::keep_dictionary,
    engine::Engine,
};
use crate::{
    Error, Result,
    base::btree::{BuildOptions, Tree, TreeBuilder, TreeMeta},
    id::{TableId, Timestamp},
    page::PageRange,
    record::Record,
};

/// How often `finish` tries to find a moment at which nobody has just written to the table.
const ATTEMPTS: usize = 32;

/// A bulk load under way. Dropped before `finish`, it never was.
pub struct BulkLoad {
    engine: Arc<Engine>,
    table: TableId,
    builder: TreeBuilder,
    options: BuildOptions,
    last_key: Vec<u8>,
    rows: u64,
}

impl Engine {
    /// Begins a bulk load.
    pub fn bulk_load(self: &Arc<Self>, table: TableId) -> Result<BulkLoad> {
        self.check_writable()?;
        let version = self.versions.load_full();
        if !version.table(table)?.indexes.is_empty() {
            return Err(Error::Invalid("a bulk load into a table with indexes".into()));
        }
        let store = version.table(table)?.shared.store.clone();
        // As for a spill: what is read of it comes into the cache then.
        let options =
            BuildOptions { keep_in_cache: store.is_memory(), ..version.build_options(table, &store) };
        let builder = TreeBuilder::new(&store, options.clone());
        Ok(BulkLoad { engine: self.clone(), table, builder, options, last_key: Vec::new(), rows: 0 })
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
        self.builder.push(key, Record::inline(value))?;
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
        let Self { engine, table, builder, options, rows, .. } = self;
        let store = engine.versions.load().table(table)?.shared.store.clone();
        let (meta, pages) = builder.finish_with_pages()?;
        let result =
            (0..ATTEMPTS).find_map(|_| engine.try_install_loaded(table, meta, &pages, &options).transpose());
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
    /// Installs a loaded tree as the newest run; `None` if somebody wrote to the table since its deltas were spilled.
    fn try_install_loaded(
        &self,
        id: TableId,
        meta: TreeMeta,
        pages: &[PageRange],
        options: &BuildOptions,
    ) -> Result<Option<()>> {
        self.flush()?;
        let _loading = self.loading.lock();
        let mut checkpoint = self.checkpoint.lock();
        let _versions = self.version_lock.lock();
        // A commit that has its latches may have seen that nobody changed what it writes: it has to come first.
        let _latches = self.latches.lock_all();
        let validation = self.pipeline.validate();
        let mut next = (*self.versions.load_full()).clone();
        let table = Arc::make_mut(
            next.tables.get_mut(&id).ok_or_else(|| Error::NotFound("the table was dropped".into()))?,
        );
        if !table.active.is_empty() || !table.frozen.is_empty() {
            return Ok(None);
        }
        let at = Timestamp(validation.sequence().last.0 + 1);
        // Transactions that began before it cannot be told whether it touched what they write.
        table.history_floor = at;
        if !meta.is_empty() {
            let tree = Tree::open(table.shared.store.clone(), meta);
            match table.columns.is_none() && table.has_no_base() {
                true => table.main = Some(tree),
                false => table.runs.insert(0, tree),
            }
        }
        let in_file = Arc::ptr_eq(&table.shared.store, &self.store);
        keep_dictionary(&mut next.catalog, id, options);
        if in_file {
            // Deltas of other tables are not in the bases: the checkpoint's moment stays.
            let moment: Moment = checkpoint.moment();
            let pages = Turnover { born: pages.to_vec(), ..Turnover::default() };
            self.publish(&mut checkpoint, moment, next, pages)?;
        } else {
            self.install_version(next);
        }
        validation.sequence().last = at;
        self.pipeline.publisher.complete(at);
        Ok(Some(()))
    }
}
