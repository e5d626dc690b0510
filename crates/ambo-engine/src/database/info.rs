//! Figures of a database and its tables.

use std::sync::Arc;

use ambo_base::{
    BaseOps,
    btree::TreeSpace,
    column::{ColumnSpace, PartialsKept},
};
use ambo_pages::{budget::MemoryUse, page::PageStats};
use ambo_types::{
    Error, Result, TableDefinition,
    id::{TableId, Timestamp},
};

use super::{
    archive::ArchiveInfo, count, engine::Engine, expiry::Moment, filters::FilterInfo, readers::ReadersInfo,
    snapshot::Snapshot,
};

/// Figures of one table.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// The table's id.
    pub id: TableId,
    /// What it is.
    pub definition: Arc<TableDefinition>,
    /// Live rows, now; with those that have expired and are still there.
    pub rows: u64,
    /// Rows in memtables, old versions and deletions included.
    pub memtable_rows: u64,
    /// Bytes of memory in memtables.
    pub memtable_bytes: u64,
    /// Runs beside the main tree.
    pub runs: u64,
    /// Levels of the main tree.
    pub height: u8,
    /// Pages of leaves, runs included.
    pub leaf_pages: u64,
    /// Pages of inner nodes.
    pub inner_pages: u64,
    /// Pages of long values.
    pub blob_pages: u64,
    /// Bytes of keys in the trees.
    pub key_bytes: u64,
    /// Bytes of values in the trees.
    pub value_bytes: u64,
    /// Whether some pages are compressed otherwise than the definition says: they are from before its options were changed.
    pub outdated: bool,
    /// What leaves use their pages for; of large trees taken from a part of the leaves.
    pub space: TreeSpace,
    /// The segments of a column table, none for other tables.
    pub segments: Option<ColumnSpace>,
    /// Its indexes, each with the figures of the table of its entries.
    pub indexes: Vec<TableInfo>,
}

impl TableInfo {
    /// Bytes of keys and values in trees and segments, as they were given.
    pub fn raw_bytes(&self) -> u64 {
        self.key_bytes + self.value_bytes + self.segments.as_ref().map_or(0, ColumnSpace::raw_bytes)
    }

    /// Bytes of the pages and segments that hold them.
    pub fn stored_bytes(&self, page_size: usize) -> u64 {
        let of_segments =
            |space: &ColumnSpace| (space.file_bytes + space.posting_bytes(), space.deleted_pages);
        let (file_bytes, deleted_pages) = self.segments.as_ref().map_or((0, 0), of_segments);
        let pages = self.leaf_pages + self.inner_pages + self.blob_pages + deleted_pages;
        pages * page_size as u64 + file_bytes
    }
}

/// So many leaves of a tree are read to tell what they use their pages for.
const LEAVES_READ_MAX: u64 = 64;
/// So many blocks of a column are read to tell how they are encoded.
const BLOCKS_READ_MAX: usize = 64;

/// Figures of a database.
#[derive(Clone, Debug)]
pub struct Info {
    /// The tables in the order of their ids.
    pub tables: Vec<TableInfo>,
    /// Tables that cannot be read, with what is wrong: they are not among the others.
    pub damaged: Vec<(Arc<TableDefinition>, String)>,
    /// Bytes of a page.
    pub page_size: usize,
    /// Bytes that the `pages` file occupies.
    pub file_bytes: u64,
    /// Segments of column tables.
    pub segments: u64,
    /// Bytes of their files.
    pub segment_bytes: u64,
    /// Bytes of their encoded blocks in memory.
    pub block_cache_bytes: u64,
    /// Blocks that were found there.
    pub block_hits: u64,
    /// Blocks that were read from a file.
    pub block_misses: u64,
    /// The cache and the file's pages.
    pub pages: PageStats,
    /// The budget in bytes of all that is cached.
    pub cache_bytes: u64,
    /// What it is used for.
    pub memory: MemoryUse,
    /// How many results of aggregates are kept.
    pub partials: PartialsKept,
    /// Bytes in memtables that are not compacted.
    pub memtable_bytes: u64,
    /// The memtables' budget in bytes.
    pub memtable_budget: u64,
    /// Bytes of log segments.
    pub log_bytes: u64,
    /// Log segments.
    pub log_segments: u64,
    /// Checkpoints since the database was created.
    pub checkpoints: u64,
    /// The newest commit.
    pub timestamp: Timestamp,
    /// Snapshots and transactions that are open.
    pub snapshots: u64,
    /// How many data keys the database has had; none if it is not encrypted.
    pub data_keys: u32,
    /// Readers in other processes, and what they hold back.
    pub readers: ReadersInfo,
    /// The number of the publication, if it is one that is read.
    pub publication: Option<u64>,
    /// How the archive of the log stands, if there is one.
    pub archive: Option<ArchiveInfo>,
    /// The compaction filters that tables name.
    pub filters: Vec<FilterInfo>,
}

/// Figures of a table, or of the entries of an index.
fn table_info(snapshot: &Snapshot, id: TableId, definition: &Arc<TableDefinition>) -> Result<TableInfo> {
    let table = snapshot.version().table(id)?;
    let sum =
        |of: fn(&ambo_base::btree::TreeMeta) -> u64| table.trees().map(|tree| of(tree.meta())).sum::<u64>();
    let memtables = || table.memtables();
    // Where it has many trees, a few leaves of each say as much.
    let leaves_max = LEAVES_READ_MAX.div_ceil(table.base.trees().len().max(1) as u64);
    let space = table
        .trees()
        .try_fold(TreeSpace::default(), |space, tree| Ok::<_, Error>(space.plus(tree.space(leaves_max)?)))?;
    Ok(TableInfo {
        id,
        definition: definition.clone(),
        rows: count::count(table, None, Moment::all(snapshot.timestamp()), None, None)?,
        memtable_rows: memtables().map(|memtable| memtable.rows() as u64).sum(),
        memtable_bytes: memtables().map(|memtable| memtable.bytes() as u64).sum(),
        runs: table.runs.len() as u64,
        height: table.base.trees().iter().map(|tree| tree.meta().height).max().unwrap_or_default(),
        leaf_pages: sum(|meta| meta.leaf_pages),
        inner_pages: sum(|meta| meta.inner_pages),
        blob_pages: sum(|meta| meta.blob_pages),
        key_bytes: sum(|meta| meta.key_bytes),
        value_bytes: sum(|meta| meta.value_bytes),
        outdated: table.base.is_outdated(&table.runs, definition),
        space,
        segments: table.base.space(definition, BLOCKS_READ_MAX)?,
        indexes: Vec::new(),
    })
}

impl Engine {
    /// What the budget of memory is used for, now.
    pub fn memory(&self) -> MemoryUse {
        self.segments.memory().in_use()
    }

    /// Whether what aggregates of segments came to is kept.
    pub fn keeps_partials(&self) -> bool {
        self.segments.partials().is_on()
    }

    /// Keeps what aggregates of segments came to from now on, or does not, and forgets what is kept; or as the options say.
    pub fn keep_partials(&self, on: Option<bool>) {
        self.segments.partials().turn(on.unwrap_or(self.options.keep_partials));
    }

    /// Figures of the database as it is now.
    pub fn info(self: &Arc<Self>) -> Result<Info> {
        let snapshot = self.snapshot();
        let version = snapshot.version();
        let mut tables = Vec::new();
        let mut damaged = Vec::new();
        for (id, definition) in version.catalog.tables() {
            if let Some(damage) = version.tables.get(&id).and_then(|table| table.damage.as_ref()) {
                if !damage.is_elsewhere() {
                    damaged.push((definition.clone(), damage.error().to_string()));
                }
                continue;
            }
            let Ok(mut table) = table_info(&snapshot, id, definition) else { continue };
            for (index, definition) in version.catalog.indexes_of(id) {
                table.indexes.push(table_info(&snapshot, index, definition)?);
            }
            tables.push(table);
        }
        let log = |of: fn(&mut ambo_pages::log::LogWriter) -> u64| match self.options.read_only {
            true => Ok(0),
            false => self.pipeline.with_log(|log| Ok(of(log))),
        };
        let files: Vec<_> = version.tables.values().flat_map(|table| table.base.segments()).collect();
        let cache = self.segments.cache();
        let (block_hits, block_misses) = cache.hits_and_misses();
        // It locks checkpoints, as what follows does.
        let readers = self.readers_info();
        Ok(Info {
            tables,
            damaged,
            page_size: self.store.page_size(),
            file_bytes: self.store.file_bytes()?,
            segments: files.len() as u64,
            segment_bytes: files.iter().map(|segment| segment.file_bytes()).sum(),
            block_cache_bytes: cache.bytes() as u64,
            block_hits,
            block_misses,
            pages: self.store.stats(),
            cache_bytes: self.options.cache_bytes as u64,
            partials: self.segments.partials().figures(),
            memory: self.memory(),
            memtable_bytes: self.governor.used() as u64,
            memtable_budget: self.options.memtable_bytes as u64,
            log_bytes: log(|log| log.bytes())?,
            log_segments: log(|log| log.segments() as u64)?,
            checkpoints: self.checkpoint.lock().superblock().sequence,
            timestamp: snapshot.timestamp(),
            snapshots: self.snapshots.count() as u64 - 1,
            data_keys: self.data_keys().unwrap_or(0),
            readers,
            publication: self.options.publication,
            archive: self.archive_info(),
            filters: self.filters_info(version),
        })
    }
}
