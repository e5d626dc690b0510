//! Upserts in batches and one by one, as users of DuckDB described them.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ::parquet::arrow::ArrowWriter;
use ambo::{
    ColumnBuffer, Datum, DatumRef, Duplicates, LoadOptions, Row, Storage, Sync, Table, TableDefinition, Type,
};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::integers::Integers;
use super::peer::{DUCKDB, Peer, SQLITE};
use super::{Store, THREADS, add_operations, each, label, latencies};
use crate::engine::Result;
use crate::random::{Random, mix};
use crate::statistics::median;
use crate::workload::sheet::Sheet;

/// Rows of a batch.
const BATCH: u64 = 100_000;
/// First and last batches whose medians are compared.
const ENDS: usize = 5;
/// Upserts one by one.
const UPSERTS: usize = 1000;

fn uuid(row: u64) -> u128 {
    u128::from(mix(2 * row)) << 64 | u128::from(mix(2 * row + 1))
}

/// 100,000 new UUIDs a batch, a transaction each.
pub fn uuids(sheet: &mut Sheet) -> Result<()> {
    let batches = (sheet.records / BATCH).max(2 * ENDS as u64);
    sheet.records = batches * BATCH;
    let parquet = sheet.dir.join("uuids.parquet");
    write_uuids(&parquet, batches)?;
    let theirs = uuids_of_duckdb(sheet, batches, &parquet)?;
    let ways: [(&str, Way); 2] =
        [("as rows of a transaction", as_rows), ("as a load that replaces", as_load)];
    for (what, way) in ways {
        let ours = uuids_of_ambo(sheet, batches, way)?;
        let group = format!("UUIDs in batches of 100,000, {what}");
        add_batches(sheet, &group, "ambo", &ours)?;
        add_batches(sheet, &group, DUCKDB, &theirs)?;
    }
    Ok(())
}

/// Puts a batch into the table; returns the seconds. Making the values is not part of them.
type Way = fn(&Table, Range<u64>) -> Result<f64>;

fn as_rows(table: &Table, rows: Range<u64>) -> Result<f64> {
    let rows: Vec<Row> =
        rows.map(|row| vec![uuid(row).to_be_bytes().to_vec().into(), Datum::I64(row as i64)]).collect();
    let start = Instant::now();
    let mut tx = table.database().begin()?;
    for row in &rows {
        tx.upsert_row(table, row)?;
    }
    tx.commit()?;
    Ok(start.elapsed().as_secs_f64())
}

fn as_load(table: &Table, rows: Range<u64>) -> Result<f64> {
    let (mut ids, mut values) = (ColumnBuffer::new(Type::Binary), ColumnBuffer::new(Type::I64));
    for row in rows {
        ids.push(DatumRef::Binary(&uuid(row).to_be_bytes()))?;
        values.push(DatumRef::I64(row as i64))?;
    }
    let start = Instant::now();
    let options =
        LoadOptions { duplicates: Duplicates::KeepLast, threads: THREADS, ..LoadOptions::default() };
    let load = table.load(options)?;
    let mut writer = load.writer();
    writer.push(vec![ids, values])?;
    writer.finish()?;
    load.finish()?;
    Ok(start.elapsed().as_secs_f64())
}

fn uuids_of_ambo(sheet: &Sheet, batches: u64, way: Way) -> Result<Vec<f64>> {
    let store = Store::open(sheet, "uuids", Sync::Commit)?;
    let definition = TableDefinition::new("t").column("id", Type::Binary).column("value", Type::I64);
    let table = store.db.create_table(definition.primary_key(&["id"]).storage(Storage::Column))?;
    let mut seconds = Vec::new();
    for batch in 0..batches {
        seconds.push(way(&table, batch * BATCH..(batch + 1) * BATCH)?);
    }
    let rows = table.len()?;
    if rows != batches * BATCH {
        return Err(format!("{rows} rows instead of {}", batches * BATCH).into());
    }
    drop(table);
    store.close()?;
    std::fs::remove_dir_all(sheet.dir.join("uuids"))?;
    Ok(seconds)
}

fn uuids_of_duckdb(sheet: &Sheet, batches: u64, parquet: &Path) -> Result<Vec<f64>> {
    let mut peer = Peer::start(sheet, DUCKDB, "uuids.duckdb", true)?;
    peer.run(&["CREATE TABLE t (id UUID PRIMARY KEY, value BIGINT)"])?;
    let mut seconds = Vec::new();
    for batch in 0..batches {
        peer.run(&[&format!(
            "CREATE OR REPLACE TEMP TABLE batch AS SELECT id::UUID AS id, value FROM read_parquet('{}') \
             WHERE value >= {} AND value < {}",
            parquet.display(),
            batch * BATCH,
            (batch + 1) * BATCH,
        )])?;
        seconds.push(peer.run(&["INSERT OR REPLACE INTO t SELECT id, value FROM batch"])?);
    }
    peer.close()?;
    Ok(seconds)
}

fn write_uuids(path: &Path, batches: u64) -> Result<()> {
    let mut writer = None;
    for batch in 0..batches {
        let rows = || batch * BATCH..(batch + 1) * BATCH;
        let text = |row| {
            let hex = format!("{:032x}", uuid(row));
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
        };
        let ids: ArrayRef = Arc::new(StringArray::from_iter_values(rows().map(text)));
        let values: ArrayRef = Arc::new(rows().map(|row| row as i64).collect::<Int64Array>());
        let batch = RecordBatch::try_from_iter([("id", ids), ("value", values)])?;
        if writer.is_none() {
            writer = Some(ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?);
        }
        if let Some(writer) = &mut writer {
            writer.write(&batch)?;
        }
    }
    writer.ok_or("no batch")?.close()?;
    Ok(())
}

fn add_batches(sheet: &mut Sheet, group: &str, whose: &str, seconds: &[f64]) -> Result<()> {
    let rows = sheet.records;
    let name = |what: &str| label(group, rows, what);
    let (first, last) = (median(&seconds[..ENDS]), median(&seconds[seconds.len() - ENDS..]));
    let (first, last) = (first.ok_or("no batch")?, last.ok_or("no batch")?);
    let all: f64 = seconds.iter().sum();
    let most = seconds.iter().copied().fold(0.0, f64::max);
    let times = [
        ("first batch", seconds[0]),
        ("last batch", seconds[seconds.len() - 1]),
        ("median of the first five", first),
        ("median of the last five", last),
        ("slowest batch", most),
        ("all batches", all),
    ];
    for (what, seconds) in times {
        sheet.figure(&name(what), whose, "time", "ms", seconds * 1e3);
    }
    sheet.figure(&name("median of the last five ÷ of the first five"), whose, "growth", "×", last / first);
    Ok(())
}

/// How single upserts are committed.
const WAYS: [(&str, bool, bool); 3] = [
    ("1,000 transactions, synced", true, true),
    ("1,000 transactions, sync off", false, true),
    ("one transaction, sync off", false, false),
];

/// 1,000 random rows of a small table, one statement each.
pub fn random(sheet: &mut Sheet) -> Result<()> {
    let n = sheet.records;
    let data = Integers::new(4, n, |row, column| match column {
        0 => row as i64,
        _ => (mix(row * 4 + column as u64) >> 20) as i64,
    });
    let mut random = Random::new(1);
    let upserts: Vec<[i64; 4]> =
        (0..UPSERTS).map(|_| [random.below(n) as i64, random.below(n) as i64, 5, 6]).collect();
    let parquet = sheet.dir.join("random.parquet");
    data.write_parquet(&parquet)?;
    for (way, sync, commits) in WAYS {
        let what = label("1,000 random upserts", n, way);
        let (ours, seconds) = random_of_ambo(sheet, &data, &upserts, sync, commits)?;
        add_operations(sheet, &what, "ambo", &ours, UPSERTS as f64 / seconds);
        for whose in [DUCKDB, SQLITE] {
            let mut peer = Peer::start(sheet, whose, &format!("random.{whose}"), sync)?;
            peer.run(&[&format!("CREATE TABLE t ({})", data.sql_columns(" PRIMARY KEY"))])?;
            peer.fill("t", &parquet)?;
            let ran = peer.each("INSERT OR REPLACE INTO t VALUES (?, ?, ?, ?)", &upserts, commits)?;
            add_operations(sheet, &what, whose, &latencies(&ran.us), UPSERTS as f64 / ran.seconds);
            peer.close()?;
        }
    }
    Ok(())
}

fn random_of_ambo<F: Fn(u64, usize) -> i64 + std::marker::Sync>(
    sheet: &Sheet,
    data: &Integers<F>,
    upserts: &[[i64; 4]],
    sync: bool,
    commits: bool,
) -> Result<(crate::measure::Latencies, f64)> {
    let sync = if sync { Sync::Commit } else { Sync::Off };
    let store = Store::open(sheet, "random", sync)?;
    let table = data.create(&store.db, "t")?;
    data.load(&table)?;
    let row = |values: &[i64; 4]| values.map(Datum::I64);
    let start = Instant::now();
    let (latencies, _) = match commits {
        true => each(upserts, |values| Ok(table.upsert_row(&row(values))?))?,
        false => in_one(&table, upserts)?,
    };
    let seconds = start.elapsed().as_secs_f64();
    drop(table);
    store.close()?;
    std::fs::remove_dir_all(sheet.dir.join("random"))?;
    Ok((latencies, seconds))
}

fn in_one(table: &Table, upserts: &[[i64; 4]]) -> Result<(crate::measure::Latencies, f64)> {
    let mut tx = table.database().begin()?;
    let done = each(upserts, |values| Ok(tx.upsert_row(table, &values.map(Datum::I64))?))?;
    tx.commit()?;
    Ok(done)
}
