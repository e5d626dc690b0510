//! SQLite, through rusqlite with the bundled library.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, params};

use super::{Config, Engine, Log, Reads, Result, Row, Session, SyncMode};
use crate::data::Key;

const PUT: &str = "INSERT OR REPLACE INTO kv (k, v) VALUES (?1, ?2)";
const GET: &str = "SELECT v FROM kv WHERE k = ?1";
const DELETE: &str = "DELETE FROM kv WHERE k = ?1";
const RANGE: &str = "SELECT k, v FROM kv WHERE k >= ?1 ORDER BY k";

struct Sqlite {
    /// All writes go through one connection, as advised: SQLite lets one writer in, and others would poll.
    writer: Mutex<Connection>,
    path: PathBuf,
    config: Config,
}

pub(super) fn open(dir: &Path, config: &Config) -> Result<Box<dyn Engine>> {
    let path = dir.join("data.sqlite");
    let writer = connect(&path, config)?;
    writer
        .execute("CREATE TABLE IF NOT EXISTS kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID", [])?;
    Ok(Box::new(Sqlite { writer: Mutex::new(writer), path, config: config.clone() }))
}

fn connect(path: &Path, config: &Config) -> Result<Connection> {
    let connection = Connection::open(path)?;
    // Without a row number a row is found in one tree instead of two; the documentation advises it for rows
    // under a twentieth of a page, hence larger pages for larger values.
    let page_bytes = if config.value_bytes > 180 { 16384 } else { 4096 };
    connection.pragma_update(None, "page_size", page_bytes)?;
    // The map is shared by all connections, as the cache is in other engines; dirty pages need the
    // writer's own cache.
    connection.pragma_update(None, "mmap_size", config.cache_bytes as i64)?;
    connection.pragma_update(None, "cache_size", -((config.write_buffer_bytes / 2 / 1024) as i64))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match (config.log, config.sync) {
        (Log::On, SyncMode::Commit) => "FULL",
        // The write-ahead log stays also for "log off": without it a reader would block the writer,
        // and random writes would be slower.
        _ => "OFF",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.set_prepared_statement_cache_capacity(8);
    Ok(connection)
}

impl Sqlite {
    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for Sqlite {
    fn session(&self, _reads: Reads) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(SqliteSession { engine: self, reader: None }))
    }

    fn bulk_load(&self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        let mut writer = self.writer();
        let txn = writer.transaction()?;
        {
            let mut put = txn.prepare_cached(PUT)?;
            for (key, value) in rows {
                put.execute(params![&key[..], value])?;
            }
        }
        Ok(txn.commit()?)
    }

    fn settle(&mut self) -> Result<()> {
        self.writer().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    fn compact(&mut self) -> Result<()> {
        self.writer().execute("VACUUM", [])?;
        self.settle()
    }

    fn close(self: Box<Self>) -> Result<()> {
        let writer = self.writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        writer.close().map_err(|(_, error)| error)?;
        Ok(())
    }
}

struct SqliteSession<'a> {
    engine: &'a Sqlite,
    /// Opened by the first read, so that writing threads hold none.
    reader: Option<Connection>,
}

impl SqliteSession<'_> {
    fn reader(&mut self) -> Result<&Connection> {
        if self.reader.is_none() {
            let mut config = self.engine.config.clone();
            // Readers share the map; their own caches are small.
            config.write_buffer_bytes = (4 << 20) * 2;
            self.reader = Some(connect(&self.engine.path, &config)?);
        }
        self.reader.as_ref().ok_or_else(|| "no reader".into())
    }
}

impl Session for SqliteSession<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let writer = self.engine.writer();
        writer.prepare_cached(PUT)?.execute(params![key, value])?;
        Ok(())
    }

    fn put_batch(&mut self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        self.engine.bulk_load(rows)
    }

    fn get(&mut self, key: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let mut get = self.reader()?.prepare_cached(GET)?;
        let mut rows = get.query(params![key])?;
        match rows.next()? {
            Some(row) => sink(row.get_ref(0)?.as_blob()?),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn delete_batch(&mut self, keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        let mut writer = self.engine.writer();
        let txn = writer.transaction()?;
        {
            let mut delete = txn.prepare_cached(DELETE)?;
            for key in keys {
                delete.execute(params![&key[..]])?;
            }
        }
        Ok(txn.commit()?)
    }

    fn range(&mut self, start: &[u8], limit: usize, sink: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize> {
        let mut range = self.reader()?.prepare_cached(RANGE)?;
        let mut rows = range.query(params![start])?;
        let mut seen = 0;
        while seen < limit {
            let Some(row) = rows.next()? else {
                break;
            };
            sink(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
            seen += 1;
        }
        Ok(seen)
    }
}
