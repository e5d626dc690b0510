//! redb.
//!
//! redb has no log: "log off" and "log on, no sync" are both its non-durable commits, which a crash of
//! the process loses; no other setting lies between them and a sync at each commit.

use std::path::Path;

use redb::{
    Builder, Database, Durability, ReadOnlyTable, ReadableDatabase, TableDefinition, WriteTransaction,
};

use super::{Config, Engine, Failure, Reads, Result, Row, Session, SyncMode};
use crate::data::Key;

const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("kv");

struct Redb {
    database: Database,
    sync: SyncMode,
}

pub(super) fn open(dir: &Path, config: &Config) -> Result<Box<dyn Engine>> {
    // One cache serves reads and dirty pages: it gets both budgets.
    let database = Builder::new()
        .set_cache_size(config.cache_bytes + config.write_buffer_bytes)
        .create(dir.join("data.redb"))?;
    let txn = database.begin_write()?;
    txn.open_table(TABLE)?;
    txn.commit()?;
    Ok(Box::new(Redb { database, sync: config.sync }))
}

impl Redb {
    fn begin(&self) -> Result<WriteTransaction> {
        let mut txn = self.database.begin_write()?;
        if self.sync == SyncMode::None {
            txn.set_durability(Durability::None)?;
        }
        Ok(txn)
    }
}

impl Engine for Redb {
    fn session(&self, reads: Reads) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(RedbSession { engine: self, reads, table: None }))
    }

    fn bulk_load(&self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        let txn = self.begin()?;
        {
            let mut table = txn.open_table(TABLE)?;
            for (key, value) in rows {
                table.insert(&key[..], value)?;
            }
        }
        Ok(txn.commit()?)
    }

    fn settle(&mut self) -> Result<()> {
        // An empty durable commit makes all earlier ones durable.
        Ok(self.database.begin_write()?.commit()?)
    }

    fn compact(&mut self) -> Result<()> {
        self.database.compact()?;
        Ok(())
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        self.settle()
    }
}

struct RedbSession<'a> {
    engine: &'a Redb,
    reads: Reads,
    table: Option<ReadOnlyTable<&'static [u8], &'static [u8]>>,
}

impl RedbSession<'_> {
    fn table(&mut self) -> Result<&ReadOnlyTable<&'static [u8], &'static [u8]>> {
        if self.reads == Reads::Fresh {
            self.table = None;
        }
        if self.table.is_none() {
            self.table = Some(self.engine.database.begin_read()?.open_table(TABLE)?);
        }
        self.table.as_ref().ok_or_else(|| Failure::from("no table"))
    }
}

impl Session for RedbSession<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.table = None;
        let txn = self.engine.begin()?;
        txn.open_table(TABLE)?.insert(key, value)?;
        Ok(txn.commit()?)
    }

    fn put_batch(&mut self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        self.table = None;
        self.engine.bulk_load(rows)
    }

    fn get(&mut self, key: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<bool> {
        match self.table()?.get(key)? {
            Some(value) => sink(value.value()),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn delete_batch(&mut self, keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        self.table = None;
        let txn = self.engine.begin()?;
        {
            let mut table = txn.open_table(TABLE)?;
            for key in keys {
                table.remove(&key[..])?;
            }
        }
        Ok(txn.commit()?)
    }

    fn range(&mut self, start: &[u8], limit: usize, sink: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize> {
        let mut seen = 0;
        for row in self.table()?.range(start..)?.take(limit) {
            let (key, value) = row?;
            sink(key.value(), value.value());
            seen += 1;
        }
        Ok(seen)
    }
}
