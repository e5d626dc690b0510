//! The few settings of a database.

use std::time::Duration;

use ambo_pages::{
    page::{PAGE_SIZE_MAX, PAGE_SIZE_MIN},
    seal::KeySource,
};
use ambo_types::{Error, Result};

use super::filters::Filters;

/// How durable a commit is when it returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sync {
    /// On the device: survives power loss. Threads that commit at once share one sync.
    Commit,
    /// Handed to the operating system: survives the death of the process. A background thread syncs this often.
    Interval(Duration),
    /// Handed to the operating system, which writes it when it likes.
    Off,
}

/// What a database is opened with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for all that is cached, in bytes, at least 256 KiB: pages, encoded blocks and rows of segments, rows that scans of column
    /// tables keep as columns.
    pub cache_bytes: usize,
    /// Memory for rows that are not compacted yet, of all tables together, in bytes.
    pub memtable_bytes: usize,
    /// How durable a commit is; a transaction may choose otherwise.
    pub sync: Sync,
    /// Whether log groups are compressed (LZ4) when it pays.
    pub log_compression: bool,
    /// The size of a log segment, in bytes; it is reserved at once. Smaller ones are made where less than eight times as much is free.
    pub log_segment_bytes: u64,
    /// How many bytes of the log are kept beyond what recovery needs, for those who follow changes.
    pub keep_log_bytes: u64,
    /// How many bytes of the log may wait for an archive that cannot be written to, before commits are refused.
    pub archive_wait_bytes: u64,
    /// The size of a page in bytes, a power of two from 4 KiB to 64 KiB; of a new database only.
    pub page_size: usize,
    /// The key of an encrypted database, or of one that is created encrypted.
    pub key: Option<KeySource>,
    /// Whether a database is created where none is.
    pub create: bool,
    /// Whether only reads are allowed. Shares the directory with other readers.
    pub read_only: bool,
    /// Whether it is read beside the process that writes it, from the checkpoints of that one. With `read_only`.
    pub beside: bool,
    /// Of a directory of publications the one of this number is read; the newest, if nothing is said.
    pub publication: Option<u64>,
    /// How long a commit or `lock` waits for another's row lock.
    pub lock_timeout: Duration,
    /// Bytes that a part of the last level of storage `lsm` should have; merges take eight of them at a time.
    pub part_bytes: u64,
    /// The filters that tables may name to say which of their rows go.
    pub filters: Filters,
    /// Whether what aggregates of segments came to is kept in memory for the next time that the same is asked.
    pub keep_partials: bool,
    /// Whether runs are merged in the background. Without, that waits for `compact`.
    pub background_merge: bool,
    /// Whether background threads do the flushing and merging. Without, the thread that fills the budget does it itself: for tests that
    /// must repeat exactly.
    pub background_threads: bool,
    /// The most bytes that one transaction may write.
    pub transaction_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            memtable_bytes: 128 << 20,
            sync: Sync::Commit,
            log_compression: false,
            log_segment_bytes: 64 << 20,
            keep_log_bytes: 0,
            archive_wait_bytes: 4 << 30,
            page_size: 16 << 10,
            key: None,
            create: true,
            read_only: false,
            beside: false,
            publication: None,
            lock_timeout: Duration::from_secs(5),
            part_bytes: 64 << 20,
            filters: Filters::default(),
            keep_partials: true,
            background_merge: true,
            background_threads: true,
            transaction_bytes_max: 1 << 30,
        }
    }
}

const CACHE_BYTES_MIN: usize = 256 << 10;
const MEMTABLE_BYTES_MIN: usize = 64 << 10;
const LOG_SEGMENT_BYTES_MIN: u64 = 4 << 10;
const PART_BYTES_MIN: u64 = 4 << 10;

impl Options {
    /// Checks that the settings can work.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the setting and its bounds.
    pub fn validate(&self) -> Result<()> {
        let size = self.page_size;
        if !size.is_power_of_two() || !(PAGE_SIZE_MIN..=PAGE_SIZE_MAX).contains(&size) {
            return Err(Error::Invalid(format!(
                "page_size {size}: a power of two from {PAGE_SIZE_MIN} to {PAGE_SIZE_MAX} is possible"
            )));
        }
        at_least("cache_bytes", self.cache_bytes as u64, CACHE_BYTES_MIN as u64)?;
        at_least("memtable_bytes", self.memtable_bytes as u64, MEMTABLE_BYTES_MIN as u64)?;
        at_least("part_bytes", self.part_bytes, PART_BYTES_MIN)?;
        at_least("log_segment_bytes", self.log_segment_bytes, LOG_SEGMENT_BYTES_MIN)
    }
}

fn at_least(name: &str, value: u64, min: u64) -> Result<()> {
    match value >= min {
        true => Ok(()),
        false => Err(Error::Invalid(format!("{name} {value}: at least {min} is needed"))),
    }
}
