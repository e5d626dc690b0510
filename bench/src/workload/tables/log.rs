//! Log groups with LZ4 and without: bytes of the log, and how fast commits are.

use ambo::{Options, TableDefinition};

use super::{options, processor_timed, timed, turns};
use crate::contender::UNCOMPRESSED;
use crate::engine::Result;
use crate::random::Random;
use crate::workload::sheet::Sheet;
use crate::workload::texts::document;

/// Durable commits are slow; one in so many rows.
const DURABLE_SHARE: usize = 40;
/// Rows in a larger transaction.
const BATCH_ROWS: usize = 100;
/// Different records; rows repeat them, far enough apart for LZ4 not to see it.
const RECORDS: usize = 4096;

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    let mut random = Random::new(0x106);
    let documents: Vec<Vec<u8>> = (0..RECORDS).map(|_| document(&mut random)).collect();
    let noise: Vec<Vec<u8>> =
        (0..RECORDS).map(|_| (0..200).map(|_| random.below(256) as u8).collect()).collect();
    for (name, records) in [("small documents", documents), ("random bytes", noise)] {
        for compressed in turns(&[false, true], sheet.options.child.run) {
            one(sheet, &format!("log: {name}"), &records, compressed)?;
        }
    }
    Ok(())
}

fn one(sheet: &mut Sheet, name: &str, records: &[Vec<u8>], compressed: bool) -> Result<()> {
    let rows = sheet.records as usize;
    let whose = if compressed { "lz4" } else { UNCOMPRESSED };
    let configured = |sheet: &Sheet| options(sheet).log_compression(compressed);

    let (_, bytes, seconds) = logged(sheet, configured(sheet), records, rows, 1)?;
    sheet.figure(name, whose, "a transaction each", "rows/s", rows as f64 / seconds);
    sheet.figure(name, whose, "log, a transaction each", "bytes/row", bytes / rows as f64);
    let (_, bytes, seconds) = logged(sheet, configured(sheet), records, rows, BATCH_ROWS)?;
    sheet.figure(name, whose, "100 a transaction", "rows/s", rows as f64 / seconds);
    sheet.figure(name, whose, "log, 100 a transaction", "bytes/row", bytes / rows as f64);
    let durable = rows / DURABLE_SHARE;
    let (elapsed, _, _) = logged(sheet, configured(sheet).sync(ambo::Sync::Commit), records, durable, 1)?;
    sheet.figure(name, whose, "durable, a transaction each", "rows/s", durable as f64 / elapsed);
    Ok(())
}

/// Seconds, bytes of log, and processor seconds of so many rows in transactions of `batch`.
fn logged(
    sheet: &Sheet,
    options: Options,
    records: &[Vec<u8>],
    rows: usize,
    batch: usize,
) -> Result<(f64, f64, f64)> {
    let dir = sheet.dir.join("log");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    let database = options.open(&dir)?;
    let table = database.create_table(TableDefinition::key_value("rows"))?;
    let (elapsed, (processor, ())) = timed(|| {
        processor_timed(|| {
            for begin in (0..rows).step_by(batch) {
                let mut transaction = database.begin()?;
                for row in begin..rows.min(begin + batch) {
                    transaction.put(&table, &(row as u64).to_be_bytes(), &records[row % records.len()])?;
                }
                transaction.commit()?;
            }
            Ok(())
        })
    })?;
    let bytes = log_bytes(&dir)? as f64;
    drop(table);
    database.close()?;
    Ok((elapsed, bytes, processor))
}

/// Bytes that are written in segments of the log, without what is reserved behind them.
fn log_bytes(dir: &std::path::Path) -> Result<usize> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("log-") {
            let written = std::fs::read(entry.path())?;
            bytes += written.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        }
    }
    Ok(bytes)
}
