//! What a workload asks of an engine, and the engines that answer.
//!
//! Every engine gets the same budget of memory, the same keys and values, and the configuration that
//! its own documentation advises for the use; a comment beside each setting says why it is fair.

mod ambo;
#[cfg(feature = "stores")]
mod fjall;
#[cfg(feature = "stores")]
mod lmdb;
#[cfg(feature = "stores")]
mod redb;
#[cfg(feature = "stores")]
mod rocksdb;
#[cfg(feature = "stores")]
mod sqlite;

use std::path::Path;

use crate::data::Key;

/// Any failure of an engine or of the harness: it ends the child process and is reported in its row.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
/// Short for a result of an engine call.
pub type Result<T> = std::result::Result<T, Failure>;

/// One stored row on its way in. Values are slices of the shared pool of random bytes.
pub type Row<'a> = (Key, &'a [u8]);

/// The engines that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// This project.
    Ambo,
    /// RocksDB, through the crate `rocksdb`.
    RocksDb,
    /// LMDB, through the crate `heed`.
    Lmdb,
    /// redb.
    Redb,
    /// fjall.
    Fjall,
    /// SQLite, through the crate `rusqlite` with the bundled library.
    Sqlite,
}

impl Kind {
    /// All engines, in the order of the tables.
    pub const ALL: [Kind; 6] = [Kind::Ambo, Kind::RocksDb, Kind::Lmdb, Kind::Redb, Kind::Fjall, Kind::Sqlite];

    /// The engines that this program was built with.
    pub fn built() -> &'static [Kind] {
        if cfg!(feature = "stores") { &Kind::ALL } else { &[Kind::Ambo] }
    }

    /// The name on the command line and in the results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ambo => "ambo",
            Kind::RocksDb => "rocksdb",
            Kind::Lmdb => "lmdb",
            Kind::Redb => "redb",
            Kind::Fjall => "fjall",
            Kind::Sqlite => "sqlite",
        }
    }

    /// The engine of that name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Whether writes are logged before they are settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// A crash of the process may lose what was written since the last settle.
    Off,
    /// A crash of the process loses nothing that was acknowledged.
    On,
}

/// When a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// Never: the operating system writes when it likes.
    None,
    /// Always: an acknowledged commit survives a loss of power.
    Commit,
}

/// What each engine is opened with: the same for all in a workload.
#[derive(Debug, Clone)]
pub struct Config {
    /// Bytes for cached pages or blocks.
    pub cache_bytes: usize,
    /// Bytes for rows that are written but not yet settled (memtables, deltas, dirty pages).
    pub write_buffer_bytes: usize,
    /// Whether there is a log.
    pub log: Log,
    /// Whether a commit waits for the disk.
    pub sync: SyncMode,
    /// Whether the engine may compact in the background; if not, only what it needs to stay in its budget.
    pub background: bool,
    /// The largest number of sessions open at once.
    pub threads: usize,
    /// Bytes of a value, for engines whose documentation chooses the page size by it.
    #[cfg_attr(not(feature = "stores"), expect(dead_code, reason = "no engine that is built asks"))]
    pub value_bytes: usize,
    /// Bytes of all keys and values that the workload will store, for engines that reserve address space.
    pub data_bytes: u64,
    /// Whether the data are larger than the memory meant for them.
    pub larger_than_memory: bool,
}

/// How a session's reads see the writes of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// One snapshot, iterator or read transaction for the whole phase, where the engine has such a thing:
    /// what its documentation advises when nothing is written meanwhile.
    Held,
    /// Every read sees all writes acknowledged before it.
    Fresh,
}

/// An open store.
pub trait Engine: Send + Sync {
    /// A handle for the calling thread.
    fn session(&self, reads: Reads) -> Result<Box<dyn Session + '_>>;
    /// Loads rows whose keys increase strictly, into an empty store, by the fastest way that the engine documents.
    fn bulk_load(&self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()>;
    /// Brings all rows into the engine's settled form and onto the disk, by the means that it documents
    /// (flush and compaction, checkpoint, sync).
    fn settle(&mut self) -> Result<()>;
    /// Gives space back to the file system, by the means that the engine documents; may be slow.
    fn compact(&mut self) -> Result<()>;
    /// Closes the store cleanly.
    fn close(self: Box<Self>) -> Result<()>;
}

/// One thread's handle.
pub trait Session {
    /// Stores one row, as a transaction of its own.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;
    /// Stores all rows in one transaction.
    fn put_batch(&mut self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()>;
    /// Hands the value to `sink` and returns true, or returns false if there is none.
    fn get(&mut self, key: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<bool>;
    /// Removes all keys in one transaction.
    fn delete_batch(&mut self, keys: &mut dyn Iterator<Item = Key>) -> Result<()>;
    /// Hands up to `limit` rows from `start` (empty: the first row) upwards to `sink`, returns how many.
    fn range(&mut self, start: &[u8], limit: usize, sink: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize>;
}

/// Opens or creates a store of that kind in `dir`, which exists.
pub fn open(kind: Kind, dir: &Path, config: &Config) -> Result<Box<dyn Engine>> {
    match kind {
        Kind::Ambo => ambo::open(dir, config),
        #[cfg(feature = "stores")]
        Kind::RocksDb => rocksdb::open(dir, config),
        #[cfg(feature = "stores")]
        Kind::Lmdb => lmdb::open(dir, config),
        #[cfg(feature = "stores")]
        Kind::Redb => redb::open(dir, config),
        #[cfg(feature = "stores")]
        Kind::Fjall => fjall::open(dir, config),
        #[cfg(feature = "stores")]
        Kind::Sqlite => sqlite::open(dir, config),
        #[cfg(not(feature = "stores"))]
        _ => Err(format!("{}: this program was built without the feature `stores`", kind.name()).into()),
    }
}

#[cfg(test)]
mod tests;
