//! Ambo.

use std::path::Path;

use ambo::{Cursor, Database, Options, Seek, Table, TableDefinition};

use super::{Config, Engine, Log, Reads, Result, Row, Session, SyncMode};
use crate::data::Key;

struct Ambo {
    database: Database,
    table: Table,
}

pub(super) fn open(dir: &Path, config: &Config) -> Result<Box<dyn Engine>> {
    let sync = match config.sync {
        SyncMode::None => ambo::Sync::Off,
        SyncMode::Commit => ambo::Sync::Commit,
    };
    let database = Options::new()
        .cache_bytes(config.cache_bytes)
        .memtable_bytes(config.write_buffer_bytes)
        .sync(sync)
        // Deltas over the budget are still spilled, as other engines flush their memtables.
        .background_merge(config.background)
        .open(dir)?;
    let definition = TableDefinition::key_value("kv").log(config.log == Log::On);
    let table = match database.create_table(definition) {
        Err(ambo::Error::Exists(_)) => database.table("kv")?,
        created => created?,
    };
    Ok(Box::new(Ambo { database, table }))
}

impl Engine for Ambo {
    fn session(&self, reads: Reads) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(AmboSession { engine: self, reads, cursor: None }))
    }

    fn bulk_load(&self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        let mut load = self.table.bulk_load()?;
        for (key, value) in rows {
            load.push(&key, value)?;
        }
        load.finish()?;
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(self.database.compact()?)
    }

    fn compact(&mut self) -> Result<()> {
        self.database.compact()?;
        self.database.vacuum()?;
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        let Ambo { database, table } = *self;
        drop(table);
        Ok(database.close()?)
    }
}

struct AmboSession<'a> {
    engine: &'a Ambo,
    reads: Reads,
    /// Reused between ranges when nothing is written.
    cursor: Option<Cursor>,
}

impl Session for AmboSession<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.cursor = None;
        Ok(self.engine.table.put(key, value)?)
    }

    fn put_batch(&mut self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        self.cursor = None;
        let mut batch = self.engine.database.batch();
        for (key, value) in rows {
            batch.put(&self.engine.table, &key, value);
        }
        Ok(batch.commit()?)
    }

    fn get(&mut self, key: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<bool> {
        // Every read sees the newest commit: a held snapshot would not make it cheaper.
        Ok(self.engine.table.get_with(key, sink)?.is_some())
    }

    fn delete_batch(&mut self, keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        self.cursor = None;
        let mut batch = self.engine.database.batch();
        for key in keys {
            batch.delete(&self.engine.table, &key);
        }
        Ok(batch.commit()?)
    }

    fn range(&mut self, start: &[u8], limit: usize, sink: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize> {
        if self.reads == Reads::Fresh {
            self.cursor = None;
        }
        let cursor = match &mut self.cursor {
            Some(cursor) => cursor,
            none => none.insert(self.engine.table.cursor()?),
        };
        let mut there = cursor.seek(if start.is_empty() { Seek::First } else { Seek::Ge(start) })?;
        let mut seen = 0;
        while there && seen < limit {
            let (key, value) = cursor.row()?;
            sink(key, value);
            seen += 1;
            there = seen < limit && cursor.next()?;
        }
        Ok(seen)
    }
}
