//! LMDB, through heed.
//!
//! LMDB has no cache and no write buffer of its own: it reads through the operating system's page
//! cache, which its budget does not bound. It has no log either: "log on, no sync" is `MDB_NOSYNC`,
//! which keeps the database whole over a crash of the process.

use std::ops::Bound;
use std::path::{Path, PathBuf};

use heed::types::Bytes;
use heed::{
    CommitOrAbort, CompactionOption, Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, WithTls,
};

use super::{Config, Engine, Failure, Log, Reads, Result, Row, Session, SyncMode};
use crate::data::Key;

type Table = Database<'static, Bytes, Bytes>;

struct Lmdb {
    env: &'static Env<WithTls>,
    table: Table,
    dir: PathBuf,
}

pub(super) fn open(dir: &Path, config: &Config) -> Result<Box<dyn Engine>> {
    let mut options = EnvOpenOptions::new();
    // Only address space: copy-on-write of random leaves and half-full pages need a multiple of the data.
    let map = config.data_bytes.max(256 << 20) * 4;
    options.map_size(map.next_multiple_of(1 << 20) as usize);
    options.max_readers(config.threads as u32 + 8);
    let mut flags = EnvFlags::empty();
    match (config.log, config.sync) {
        // The fastest that LMDB offers: writes go straight into the map.
        (Log::Off, _) => flags |= EnvFlags::WRITE_MAP | EnvFlags::MAP_ASYNC | EnvFlags::NO_SYNC,
        (Log::On, SyncMode::None) => flags |= EnvFlags::NO_SYNC,
        (Log::On, SyncMode::Commit) => {}
    }
    if config.larger_than_memory {
        // Advised for random reads of data larger than memory.
        flags |= EnvFlags::NO_READ_AHEAD;
    }
    // SAFETY: the directory belongs to this process alone, and is opened once.
    let env = unsafe { options.flags(flags).open(dir)? };
    // The table borrows the environment, which lives until the process ends: one store a process.
    let env: &'static Env<WithTls> = Box::leak(Box::new(env));
    let txn = env.write_txn()?;
    let table = env
        .create_databases_and_commit(txn, |opener, txn| {
            Ok::<_, heed::Error>(CommitOrAbort::<Table, ()>::Commit(opener.create_database(txn, None)?))
        })?
        .unwrap_commit();
    Ok(Box::new(Lmdb { env, table, dir: dir.to_owned() }))
}

impl Engine for Lmdb {
    fn session(&self, reads: Reads) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(LmdbSession { env: self.env, table: self.table, reads, snapshot: None }))
    }

    fn bulk_load(&self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        let mut txn = self.env.write_txn()?;
        for (key, value) in rows {
            self.table.put_with_flags(&mut txn, PutFlags::APPEND, &key, value)?;
        }
        Ok(txn.commit()?)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(self.env.force_sync()?)
    }

    fn compact(&mut self) -> Result<()> {
        // LMDB cannot shrink a file in use; its documented way is a compacting copy, put in its place.
        // The open environment keeps the old file, so nothing may be read through it any more.
        let copy = self.dir.join("copy.mdb");
        self.env.copy_to_path(&copy, CompactionOption::Enabled)?;
        std::fs::rename(copy, self.dir.join("data.mdb"))?;
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.env.force_sync()?)
    }
}

struct LmdbSession {
    env: &'static Env<WithTls>,
    table: Table,
    reads: Reads,
    snapshot: Option<RoTxn<'static, WithTls>>,
}

impl LmdbSession {
    fn snapshot(&mut self) -> Result<&RoTxn<'static, WithTls>> {
        if self.reads == Reads::Fresh {
            self.snapshot = None;
        }
        if self.snapshot.is_none() {
            self.snapshot = Some(self.env.read_txn()?);
        }
        self.snapshot.as_ref().ok_or_else(|| Failure::from("no snapshot"))
    }
}

impl Session for LmdbSession {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        // A reader kept open would hold back the reuse of pages.
        self.snapshot = None;
        let mut txn = self.env.write_txn()?;
        self.table.put(&mut txn, key, value)?;
        Ok(txn.commit()?)
    }

    fn put_batch(&mut self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        self.snapshot = None;
        let mut txn = self.env.write_txn()?;
        for (key, value) in rows {
            self.table.put(&mut txn, &key, value)?;
        }
        Ok(txn.commit()?)
    }

    fn get(&mut self, key: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let table = self.table;
        let snapshot = self.snapshot()?;
        match table.get(snapshot, key)? {
            Some(value) => sink(value),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn delete_batch(&mut self, keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        self.snapshot = None;
        let mut txn = self.env.write_txn()?;
        for key in keys {
            self.table.delete(&mut txn, &key)?;
        }
        Ok(txn.commit()?)
    }

    fn range(&mut self, start: &[u8], limit: usize, sink: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize> {
        let table = self.table;
        let snapshot = self.snapshot()?;
        let mut seen = 0;
        if start.is_empty() {
            for row in table.iter(snapshot)?.take(limit) {
                let (key, value) = row?;
                sink(key, value);
                seen += 1;
            }
        } else {
            let bounds = (Bound::Included(start), Bound::Unbounded);
            for row in table.range(snapshot, &bounds)?.take(limit) {
                let (key, value) = row?;
                sink(key, value);
                seen += 1;
            }
        }
        Ok(seen)
    }
}
