//! fjall.
//!
//! fjall cannot switch its journal off: "log off" leaves the journal in its own buffer
//! (`manual_journal_persist`), "log on" hands every write to the operating system.

use std::path::Path;
use std::sync::Arc;

use fjall::compaction::Leveled;
use fjall::config::{CompressionPolicy, HashRatioPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Config, Engine, Log, Reads, Result, Row, Session, SyncMode};
use crate::data::Key;

struct Fjall {
    database: Database,
    keyspace: Keyspace,
    sync: SyncMode,
}

pub(super) fn open(dir: &Path, config: &Config) -> Result<Box<dyn Engine>> {
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
    let database = Database::builder(dir)
        .cache_size(config.cache_bytes as u64)
        // Sealed memtables live until their journal is dropped, so this bounds them too.
        .max_journaling_size((config.write_buffer_bytes as u64).max(64 << 20))
        .journal_compression(fjall::CompressionType::None)
        .manual_journal_persist(config.log == Log::Off)
        .worker_threads(cores.max(2))
        .open()?;
    let background = config.background;
    let log = config.log;
    let keyspace = database.keyspace("kv", || {
        let options = KeyspaceCreateOptions::default()
            // Random values: compression would only cost time, and no other engine compresses here.
            .data_block_compression_policy(CompressionPolicy::disabled())
            // Advised for point reads.
            .data_block_hash_ratio_policy(HashRatioPolicy::all(0.75))
            .manual_journal_persist(log == Log::Off);
        if background {
            options
        } else {
            // No compaction of fresh tables until asked for, as far as the strategy lets itself be told.
            options.compaction_strategy(Arc::new(Leveled::default().with_l0_threshold(u8::MAX)))
        }
    })?;
    Ok(Box::new(Fjall { database, keyspace, sync: config.sync }))
}

impl Fjall {
    /// Waits for the disk if commits are durable.
    fn persist(&self) -> Result<()> {
        if self.sync == SyncMode::Commit {
            self.database.persist(PersistMode::SyncData)?;
        }
        Ok(())
    }
}

impl Engine for Fjall {
    fn session(&self, _reads: Reads) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(FjallSession { engine: self }))
    }

    fn bulk_load(&self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        let mut ingestion = self.keyspace.start_ingestion()?;
        for (key, value) in rows {
            ingestion.write(&key[..], value)?;
        }
        Ok(ingestion.finish()?)
    }

    fn settle(&mut self) -> Result<()> {
        self.keyspace.rotate_memtable_and_wait()?;
        self.keyspace.major_compact()?;
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn compact(&mut self) -> Result<()> {
        self.settle()
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}

struct FjallSession<'a> {
    engine: &'a Fjall,
}

impl Session for FjallSession<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.engine.keyspace.insert(key, value)?;
        self.engine.persist()
    }

    fn put_batch(&mut self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        let mut batch = self.engine.database.batch();
        for (key, value) in rows {
            batch.insert(&self.engine.keyspace, &key[..], value);
        }
        batch.commit()?;
        self.engine.persist()
    }

    fn get(&mut self, key: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<bool> {
        match self.engine.keyspace.get(key)? {
            Some(value) => sink(&value),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn delete_batch(&mut self, keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        let mut batch = self.engine.database.batch();
        for key in keys {
            batch.remove(&self.engine.keyspace, &key[..]);
        }
        batch.commit()?;
        self.engine.persist()
    }

    fn range(&mut self, start: &[u8], limit: usize, sink: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize> {
        let mut seen = 0;
        for row in self.engine.keyspace.range(start..).take(limit) {
            let (key, value) = row.into_inner()?;
            sink(&key, &value);
            seen += 1;
        }
        Ok(seen)
    }
}
