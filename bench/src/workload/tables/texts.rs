//! Elekt's table through Ambo: rows with one VARCHAR(8000) as Firebird lays them out, each record codec.

use ambo::{RecordCodec, Seek, TableDefinition};

use super::{Compression, open, timed, turns};
use crate::engine::Result;
use crate::measure::disk_bytes;
use crate::random::Random;
use crate::workload::sheet::Sheet;
use crate::workload::texts::Texts;

/// The codecs that are compared.
const CODECS: [Option<RecordCodec>; 5] = [
    None,
    Some(RecordCodec::FirebirdRle),
    Some(RecordCodec::ElektRle),
    Some(RecordCodec::Lz4),
    Some(RecordCodec::Zstd { level: 3 }),
];
/// Different records; rows repeat them, so that making them takes no time.
const RECORDS: usize = 256;

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    for texts in Texts::ALL {
        let mut random = Random::new(0xf1eb);
        let records: Vec<Vec<u8>> = (0..RECORDS).map(|_| texts.record(&mut random)).collect();
        for codec in turns(&CODECS, sheet.options.child.run) {
            one(sheet, texts, &records, Compression { keys: None, records: codec })?;
        }
    }
    Ok(())
}

fn one(sheet: &mut Sheet, texts: Texts, records: &[Vec<u8>], compression: Compression) -> Result<()> {
    let rows = sheet.records;
    let dir = sheet.dir.join("table");
    let database = open(sheet, &dir)?;
    let definition = compression.of(TableDefinition::key_value("texts"));
    let table = database.create_table(definition.log(false))?;
    let (insert, ()) = timed(|| {
        for row in 0..rows {
            table.put(&row.to_be_bytes(), &records[row as usize % records.len()])?;
        }
        Ok(database.compact()?)
    })?;
    let (count, counted) = timed(|| Ok(table.count(..)?))?;
    let (read, seen) = timed(|| {
        let mut cursor = table.cursor()?;
        let mut there = cursor.seek(Seek::First)?;
        let mut seen = 0;
        while there {
            seen += u64::from(cursor.row()?.1.len() == records[0].len());
            there = cursor.next()?;
        }
        Ok(seen)
    })?;
    if counted != rows || seen != rows {
        return Err(format!("{counted} counted and {seen} read of {rows} rows").into());
    }
    drop(table);
    database.close()?;
    let name = format!("VARCHAR(8000): {}", texts.name());
    let mut figure =
        |metric: &str, unit: &str, value: f64| sheet.figure(&name, compression.name(), metric, unit, value);
    figure("insert, settled", "s", insert);
    figure("COUNT(*)", "ms", count * 1e3);
    figure("read all records", "s", read);
    figure("disk", "bytes/row", disk_bytes(&dir) as f64 / rows as f64);
    Ok(())
}
