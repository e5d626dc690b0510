//! upscaledb's tables: u32 keys with 8-byte records or without records, each key codec against uncompressed keys.

use ambo::{Database, IntegerCodec, Seek, Table, TableDefinition, Type};
use ambo_codec::{RowColumn, RowSpec, ValueRef};

use super::{Compression, open, processor_timed as timed, turns};
use crate::engine::Result;
use crate::measure::disk_bytes;
use crate::random::{Random, mix};
use crate::workload::keys::Keys;
use crate::workload::sheet::Sheet;

/// A sum takes milliseconds: the shortest of so many counts.
const SUMS: usize = 9;
/// A scan is timed so often, and the shortest counts.
const SCANS: usize = 3;
/// One in so many keys is inserted again with a log: that alone takes seconds for each codec.
const LOGGED_SHARE: usize = 10;
/// Rows in a larger transaction.
const BATCH_ROWS: usize = 1000;

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    let keys = Keys::ALL.into_iter().find(|keys| keys.name() == sheet.case.name);
    let keys = keys.ok_or_else(|| format!("no case {}", sheet.case.name))?;
    let ascending = keys.ascending(sheet.records as usize);
    let order = insertion_order(keys, &ascending);
    let mut codecs = vec![None];
    codecs.extend(IntegerCodec::ALL.map(Some));
    for codec in turns(&codecs, sheet.options.child.run) {
        let compression = Compression { keys: codec, records: None };
        one(sheet, keys, &ascending, &order, Records::Eight, compression)?;
        if keys == Keys::Dense {
            one(sheet, keys, &ascending, &order, Records::None, compression)?;
        }
        if keys == Keys::Random {
            logged(sheet, &order[..order.len() / LOGGED_SHARE], compression)?;
        }
    }
    Ok(())
}

/// What rows have beside their key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Records {
    /// Eight bytes that nothing compresses.
    Eight,
    /// Nothing.
    None,
}

impl Records {
    fn definition(self) -> TableDefinition {
        let table = TableDefinition::new("numbers").column("key", Type::U32);
        match self {
            Records::Eight => table.column("record", Type::Binary),
            Records::None => table,
        }
        .primary_key(&["key"])
    }

    fn row_spec(self) -> Result<RowSpec> {
        Ok(RowSpec::new(match self {
            Records::Eight => vec![RowColumn::new(Type::Binary)],
            Records::None => Vec::new(),
        })?)
    }
}

/// Stores rows one by one; the key is stored as its big-endian bytes.
struct Writer<'a> {
    table: &'a Table,
    records: Records,
    spec: RowSpec,
    row: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn new(table: &'a Table, records: Records) -> Result<Writer<'a>> {
        Ok(Writer { table, records, spec: records.row_spec()?, row: Vec::new() })
    }

    fn row(&mut self, key: u32) -> Result<&[u8]> {
        self.row.clear();
        let record = mix(u64::from(key)).to_le_bytes();
        match self.records {
            Records::Eight => self.spec.encode(&[ValueRef::Binary(&record)], &mut self.row)?,
            Records::None => self.spec.encode(&[], &mut self.row)?,
        }
        Ok(&self.row)
    }

    fn put(&mut self, key: u32) -> Result<()> {
        let table = self.table;
        Ok(table.put(&key.to_be_bytes(), self.row(key)?)?)
    }
}

/// Dense keys come in their order, clusters in any order, random keys one by one in any order.
fn insertion_order(keys: Keys, ascending: &[u32]) -> Vec<u32> {
    let run = match keys {
        Keys::Dense => return ascending.to_vec(),
        Keys::Clustered => 256,
        Keys::Random => 1,
    };
    let mut runs: Vec<&[u32]> = ascending.chunks(run).collect();
    shuffle(&mut runs);
    runs.concat()
}

fn shuffle<T>(items: &mut [T]) {
    let mut random = Random::new(0x0d0e);
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}

fn one(
    sheet: &mut Sheet,
    keys: Keys,
    ascending: &[u32],
    order: &[u32],
    records: Records,
    compression: Compression,
) -> Result<()> {
    let dir = sheet.dir.join("table");
    let database = open(sheet, &dir)?;
    let table = database.create_table(compression.of(records.definition()).log(false))?;
    let count = order.len() as f64;
    let name = match records {
        Records::Eight => format!("keys: {}", keys.name()),
        Records::None => format!("keys: {}, no records", keys.name()),
    };
    let mut figure =
        |metric: &str, unit: &str, value: f64| sheet.figure(&name, compression.name(), metric, unit, value);

    let mut writer = Writer::new(&table, records)?;
    let (put, ()) = timed(|| order.iter().try_for_each(|&key| writer.put(key)))?;
    let (settle, ()) = timed(|| Ok(database.compact()?))?;
    figure("put", "keys/s", count / put);
    figure("insert, settled", "keys/s", count / (put + settle));

    let (look_up, found) = look_up(&table, order)?;
    if found != order.len() {
        return Err(format!("{found} of {} keys found", order.len()).into());
    }
    figure("look-up", "keys/s", count / look_up);
    figure("scan", "keys/s", count / scan(&table, order.len())?);
    figure("sum", "keys/s", count / sum(&table, ascending)?);
    sizes(&database, order.len(), &mut figure)?;
    drop(table);
    database.close()?;
    let bytes = disk_bytes(&dir) as f64;
    sheet.figure(&name, compression.name(), "disk", "bytes/key", bytes / count);
    Ok(())
}

/// All keys in another random order than that of their insertion.
fn look_up(table: &Table, order: &[u32]) -> Result<(f64, usize)> {
    let mut probes = order.to_vec();
    shuffle(&mut probes);
    // Settled pages come into the cache untimed.
    table.cursor()?.seek(Seek::First)?;
    probes.iter().step_by(16).try_for_each(|key| table.get_with(&key.to_be_bytes(), |_| ()).map(drop))?;
    timed(|| {
        let mut found = 0;
        for key in &probes {
            found += usize::from(table.get_with(&key.to_be_bytes(), |row| row.len())?.is_some());
        }
        Ok(found)
    })
}

/// Every row by a cursor.
fn scan(table: &Table, rows: usize) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..SCANS {
        let (seconds, seen) = timed(|| {
            let mut cursor = table.cursor()?;
            let mut there = cursor.seek(Seek::First)?;
            let mut seen = 0;
            while there {
                std::hint::black_box(cursor.row()?);
                seen += 1;
                there = cursor.next()?;
            }
            Ok(seen)
        })?;
        if seen != rows {
            return Err(format!("the cursor saw {seen} of {rows} rows").into());
        }
        best = best.min(seconds);
    }
    Ok(best)
}

/// The sum of all keys.
fn sum(table: &Table, ascending: &[u32]) -> Result<f64> {
    let wanted: i128 = ascending.iter().map(|&key| i128::from(key)).sum();
    let mut best = f64::INFINITY;
    for _ in 0..SUMS {
        let (seconds, sum) = timed(|| Ok(table.sum_keys(..)?))?;
        if sum != wanted {
            return Err(format!("the sum is {sum} and should be {wanted}").into());
        }
        best = best.min(seconds);
    }
    Ok(best)
}

/// Bytes of pages for a key: leaves and inner nodes, less the records.
fn sizes(database: &Database, rows: usize, figure: &mut dyn FnMut(&str, &str, f64)) -> Result<()> {
    let info = database.info()?;
    let table = info.tables.first().ok_or("no table")?;
    let pages = (table.leaf_pages + table.inner_pages) * info.page_size as u64;
    let keys = pages.saturating_sub(table.value_bytes);
    figure("pages", "bytes/key", pages as f64 / rows as f64);
    figure("pages less records", "bytes/key", keys as f64 / rows as f64);
    Ok(())
}

/// With a log that is not waited for: a transaction for each insert, and one for a thousand.
fn logged(sheet: &mut Sheet, order: &[u32], compression: Compression) -> Result<()> {
    let dir = sheet.dir.join("logged");
    for (metric, batch) in [("a transaction each", 1), ("1,000 a transaction", BATCH_ROWS)] {
        let database = open(sheet, &dir)?;
        let table = database.create_table(compression.of(Records::Eight.definition()))?;
        let mut writer = Writer::new(&table, Records::Eight)?;
        let (seconds, ()) = timed(|| {
            if batch == 1 {
                return order.iter().try_for_each(|&key| writer.put(key));
            }
            for keys in order.chunks(batch) {
                let mut transaction = database.begin()?;
                for &key in keys {
                    transaction.put(&table, &key.to_be_bytes(), writer.row(key)?)?;
                }
                transaction.commit()?;
            }
            Ok(())
        })?;
        drop(table);
        database.close()?;
        let name = "keys: random, log on";
        sheet.figure(name, compression.name(), metric, "keys/s", order.len() as f64 / seconds);
    }
    Ok(())
}
