//! The sparse table of SingleStore's article: 300 doubles a row, two thirds of them NULL.
//!
//! The article's rows have 1 in every other column, which is cheap to store; random doubles are the other extreme.

use ambo::{Database, RecordCodec, Table, TableDefinition, Type};
use ambo_codec::{RowColumn, RowSpec, ValueRef};

use super::{Compression, open, timed};
use crate::engine::Result;
use crate::measure::disk_bytes;
use crate::random::Random;
use crate::workload::sheet::Sheet;

/// Columns of a row.
const COLUMNS: usize = 300;
/// The first two thirds of them are NULL, rounded up as the article does: 0.666 × 300.
const NULLS: usize = 200;
/// A row of fixed width: the doubles and a bit for each that says whether it is NULL. Nothing else is counted.
const FIXED_BYTES: f64 = (COLUMNS * 8 + COLUMNS.div_ceil(8)) as f64;
/// The name of such rows in the figures.
const FIXED: &str = "fixed width";
/// The name of ours.
const SPARSE: &str = "sparse rows";
/// The name of ours with compressed records.
const SPARSE_LZ4: &str = "sparse rows, lz4";

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    for (name, ones) in [("300 doubles: NULL or 1", true), ("300 doubles: NULL or random", false)] {
        sheet.figure(name, FIXED, "memory", "bytes/row", FIXED_BYTES);
        sheet.figure(name, FIXED, "disk", "bytes/row", FIXED_BYTES);
        for (whose, records) in [(SPARSE, None), (SPARSE_LZ4, Some(RecordCodec::Lz4))] {
            one(sheet, name, ones, whose, Compression { keys: None, records })?;
        }
    }
    Ok(())
}

fn definition() -> TableDefinition {
    let table = TableDefinition::new("wide").column("id", Type::U64);
    let columns = (1..=COLUMNS).map(|number| format!("c{number}"));
    columns.fold(table, |table, name| table.column_nullable(name, Type::F64)).primary_key(&["id"])
}

fn one(sheet: &mut Sheet, name: &str, ones: bool, whose: &str, compression: Compression) -> Result<()> {
    let dir = sheet.dir.join("table");
    let database = open(sheet, &dir)?;
    let table = database.create_table(compression.of(definition()).log(false))?;
    let rows = sheet.records;
    let (insert, ()) = timed(|| fill(&table, rows, ones))?;
    let memory = memory(&database)?;
    let (settle, ()) = timed(|| Ok(database.compact()?))?;
    drop(table);
    database.close()?;
    let disk = disk_bytes(&dir) as f64 / rows as f64;
    if whose == SPARSE {
        sheet.figure(name, whose, "memory", "bytes/row", memory / rows as f64);
        sheet.figure(
            name,
            whose,
            "memory saved",
            "% saved",
            (1.0 - memory / rows as f64 / FIXED_BYTES) * 100.0,
        );
    }
    sheet.figure(name, whose, "disk", "bytes/row", disk);
    sheet.figure(name, whose, "disk saved", "% saved", (1.0 - disk / FIXED_BYTES) * 100.0);
    sheet.figure(name, whose, "insert", "rows/s", rows as f64 / insert);
    sheet.figure(name, whose, "settle", "s", settle);
    Ok(())
}

fn fill(table: &Table, rows: u64, ones: bool) -> Result<()> {
    let spec = RowSpec::new((0..COLUMNS).map(|_| RowColumn::new(Type::F64).nullable()).collect())?;
    let mut random = Random::new(0x5ba5e);
    let mut row = Vec::new();
    let mut values = vec![ValueRef::Null; COLUMNS];
    for id in 0..rows {
        for value in &mut values[NULLS..] {
            *value = ValueRef::F64(if ones { 1.0 } else { random.unit() });
        }
        row.clear();
        spec.encode(&values, &mut row)?;
        table.put(&id.to_be_bytes(), &row)?;
    }
    Ok(())
}

/// Bytes of memory that the rows take before they are settled, all that is kept beside them included.
fn memory(database: &Database) -> Result<f64> {
    let info = database.info()?;
    let table = info.tables.first().ok_or("no table")?;
    if table.leaf_pages > 0 {
        return Err("rows were settled before they were measured: the deltas' budget is too small".into());
    }
    Ok(table.memtable_bytes as f64)
}
