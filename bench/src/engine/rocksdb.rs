//! RocksDB.

use std::path::{Path, PathBuf};

use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, CompactOptions, DB, DBCompressionType,
    DBRawIteratorWithThreadMode, DataBlockIndexType, IngestExternalFileOptions, Options, ReadOptions,
    SstFileWriter, WriteBatch, WriteOptions,
};

use super::{Config, Engine, Log, Reads, Result, Row, Session, SyncMode};
use crate::data::Key;

/// Bytes of rows in one table file of a bulk load.
const BULK_FILE_BYTES: usize = 256 << 20;

struct RocksDb {
    db: DB,
    dir: PathBuf,
    options: Options,
    log: Log,
    sync: SyncMode,
}

pub(super) fn open(dir: &Path, config: &Config) -> Result<Box<dyn Engine>> {
    let options = options(config);
    let db = DB::open(&options, dir)?;
    Ok(Box::new(RocksDb { db, dir: dir.to_owned(), options, log: config.log, sync: config.sync }))
}

fn options(config: &Config) -> Options {
    let mut table = BlockBasedOptions::default();
    // The cache that RocksDB now recommends for many threads.
    table.set_block_cache(&Cache::new_hyper_clock_cache(config.cache_bytes, 0));
    // Indexes and filters count against the cache, so that the budget holds.
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    // Advised for point reads: full filters and a hash index in each block.
    table.set_bloom_filter(10.0, false);
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_format_version(6);

    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    // Values are random bytes: compression would only cost time, and no other engine compresses here.
    options.set_compression_type(DBCompressionType::None);
    // The write buffers together keep the budget; 64 MiB each is the default and advised size.
    options.set_write_buffer_size(64 << 20);
    options.set_max_write_buffer_number((config.write_buffer_bytes >> 26).max(2) as i32);
    options.set_db_write_buffer_size(config.write_buffer_bytes);
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
    options.increase_parallelism(cores.max(2) as i32);
    options.set_max_background_jobs((cores as i32).max(4));
    options.set_bytes_per_sync(1 << 20);
    // Advised where several threads write with a log.
    options.set_enable_pipelined_write(config.threads > 1 && config.log == Log::On);
    if !config.background {
        // No compaction until asked for, and no writer held back for the lack of one.
        options.set_disable_auto_compactions(true);
        options.set_level_zero_slowdown_writes_trigger(1 << 20);
        options.set_level_zero_stop_writes_trigger(1 << 20);
        options.set_soft_pending_compaction_bytes_limit(0);
        options.set_hard_pending_compaction_bytes_limit(0);
    }
    options
}

impl Engine for RocksDb {
    fn session(&self, reads: Reads) -> Result<Box<dyn Session + '_>> {
        let mut write = WriteOptions::default();
        write.disable_wal(self.log == Log::Off);
        write.set_sync(self.sync == SyncMode::Commit);
        Ok(Box::new(RocksDbSession {
            db: &self.db,
            write,
            read: ReadOptions::default(),
            reads,
            iterator: None,
        }))
    }

    fn bulk_load(&self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        // The documented way: write table files directly and move them in.
        let mut paths = Vec::new();
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let path = self.dir.join(format!("bulk-{}.sst", paths.len()));
            let mut writer = SstFileWriter::create(&self.options);
            writer.open(&path)?;
            let mut bytes = 0;
            for (key, value) in rows.by_ref() {
                bytes += key.len() + value.len();
                writer.put(&key[..], value)?;
                if bytes >= BULK_FILE_BYTES {
                    break;
                }
            }
            writer.finish()?;
            paths.push(path);
        }
        let mut ingest = IngestExternalFileOptions::default();
        ingest.set_move_files(true);
        self.db.ingest_external_file_opts(&ingest, paths)?;
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        self.db.flush()?;
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        self.db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
        Ok(())
    }

    fn compact(&mut self) -> Result<()> {
        self.settle()
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.db.flush()?;
        self.db.cancel_all_background_work(true);
        Ok(())
    }
}

struct RocksDbSession<'a> {
    db: &'a DB,
    write: WriteOptions,
    read: ReadOptions,
    reads: Reads,
    /// Reused between ranges when nothing is written: a new iterator costs more than a short range.
    iterator: Option<DBRawIteratorWithThreadMode<'a, DB>>,
}

impl Session for RocksDbSession<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.db.put_opt(key, value, &self.write)?)
    }

    fn put_batch(&mut self, rows: &mut dyn Iterator<Item = Row<'_>>) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (key, value) in rows {
            batch.put(&key[..], value);
        }
        Ok(self.db.write_opt(batch, &self.write)?)
    }

    fn get(&mut self, key: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<bool> {
        match self.db.get_pinned_opt(key, &self.read)? {
            Some(value) => sink(&value),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn delete_batch(&mut self, keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        let mut batch = WriteBatch::default();
        for key in keys {
            batch.delete(&key[..]);
        }
        Ok(self.db.write_opt(batch, &self.write)?)
    }

    fn range(&mut self, start: &[u8], limit: usize, sink: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize> {
        if self.reads == Reads::Fresh {
            self.iterator = None;
        }
        let iterator = self.iterator.get_or_insert_with(|| self.db.raw_iterator());
        if start.is_empty() {
            iterator.seek_to_first();
        } else {
            iterator.seek(start);
        }
        let mut seen = 0;
        while seen < limit {
            let Some((key, value)) = iterator.item() else {
                break;
            };
            sink(key, value);
            seen += 1;
            if seen < limit {
                iterator.next();
            }
        }
        iterator.status()?;
        Ok(seen)
    }
}
