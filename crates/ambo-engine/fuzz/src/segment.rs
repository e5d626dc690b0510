//! Segments of column tables, and extents of append tables.

use std::sync::Arc;

use ambo_codec::{Type, Value, column::Compare};
use ambo_engine::{
    Result,
    base::BaseOps,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Engine, RowFormat, ScanPlan, Seek},
    id::TableId,
    io::sim::SimDisk,
    scan::{Aggregate, AggregatePlan, Expression, Filter, Test},
};

use super::{
    database::{Files, crc, damaged, files_of, options},
    input::Input,
};

const ROWS: i64 = 400;
/// As the format of segments says (`ambo-base/src/column/directory.rs`).
const HEADER_BYTES: usize = 48;
const TRAILER_BYTES: usize = 32;

/// A database with one column table, or one of records, compacted and closed.
struct World {
    storage: Storage,
    files: Files,
    table: TableId,
    format: RowFormat,
    /// The name of its segment's file.
    segment: String,
    /// Where its blocks and text tables begin, and where the last one ends.
    parts: Vec<usize>,
}

fn definition(storage: Storage) -> TableDefinition {
    TableDefinition::new("t")
        .column("key", Type::I64)
        .column("small", Type::U8)
        .column_nullable("wide", Type::I64)
        .column_nullable("float", Type::F64)
        .column("decimal", Type::decimal(20, 2).expect("a type"))
        .column("flag", Type::Bool)
        .column_nullable("word", Type::Utf8)
        .column("sentence", Type::Utf8)
        .column_nullable("bytes", Type::Binary)
        .primary_key(&["key"])
        .storage(storage)
}

fn row(key: i64) -> Vec<Value> {
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 20;
    let or_null = |value: Value, of: i64| if key % of == 0 { Value::Null } else { value };
    vec![
        (key * 3).into(),
        Value::U8((mixed & 7) as u8),
        or_null((mixed * (key % 50)).into(), 5),
        or_null((mixed as f64 / 8.0).into(), 7),
        Value::Decimal128 { unscaled: i128::from(mixed), scale: 2 },
        Value::Bool(key / 40 % 2 == 0),
        or_null(["red", "green", "blue", ""][key as usize % 4].into(), 11),
        format!("the {} of {} carefully beside {}", mixed % 9, key % 70, mixed % 1000).into(),
        or_null(Value::Binary(mixed.to_be_bytes()[key as usize % 8..].to_vec()), 3),
    ]
}

impl World {
    fn new(storage: Storage) -> Result<Self> {
        let disk = SimDisk::new(1);
        let engine = Arc::new(Engine::open(disk.env(), options())?.0);
        let table = engine.create_table(definition(storage))?;
        engine.create_index(&IndexDefinition::new("by_small", "t", &["small"]).bitmap())?;
        engine.create_index(&IndexDefinition::new("by_word", "t", &["word"]))?;
        let format = RowFormat::new(Arc::new(definition(storage)))?;
        for key in 0..ROWS {
            engine.put(table, &format.encode_key(&row(key), 0)?, &format.encode_row(&row(key))?)?;
        }
        engine.compact()?;
        for key in (0..ROWS).step_by(9) {
            engine.delete(table, &format.encode_key(&row(key), 0)?)?;
        }
        engine.compact()?;
        let version = engine.current();
        let columns = version.table(table)?.base.columns().cloned().expect("a column table");
        let segment = &columns.parts().next().expect("a part").segment;
        let is_segment = storage == Storage::Column;
        // An extent has its records in one page, and behind it the heaps of texts.
        let columns_of =
            segment.directory().columns.iter().filter(|column| is_segment || column.ty.is_variable());
        let blocks = columns_of.flat_map(|column| &column.blocks);
        let mut parts = vec![if is_segment { HEADER_BYTES } else { 0 }];
        for block in blocks {
            // What is between blocks is the text table of a column.
            parts.extend([block.offset as usize, block.offset as usize + block.len as usize]);
        }
        parts.dedup();
        drop((columns, version, engine));
        let files = files_of(&disk);
        let segments: Vec<_> = files.iter().filter(|(name, _)| name.starts_with("segment-")).collect();
        let [(segment, _)] = segments[..] else { panic!("all rows are in one segment") };
        Ok(Self { storage, segment: segment.clone(), files, table, format, parts })
    }

    /// A disk with these files, but for some bytes of the segment.
    fn damaged(&self, input: &mut Input<'_>) -> SimDisk {
        damaged(&self.files, &self.segment, |contents| self.damage(input, contents))
    }

    /// Changes bytes of a block, of the directory or of any place; checksums fit, if chance does not want it otherwise.
    fn damage(&self, input: &mut Input<'_>, bytes: &mut Vec<u8>) {
        let how = input.byte();
        let trailer = bytes.len() - TRAILER_BYTES;
        let directory = *self.parts.last().expect("there are blocks");
        match how % 4 {
            0 => input.damage(bytes),
            1 => input.damage(&mut bytes[directory..trailer]),
            _ => {
                let part = usize::from(input.byte()) % (self.parts.len() - 1);
                let part = self.parts[part]..self.parts[part + 1];
                let before = crc(&bytes[part.clone()]);
                input.damage(&mut bytes[part.clone()]);
                let after = crc(&bytes[part]);
                let known = bytes[directory..trailer].windows(4).position(|bytes| *bytes == before);
                let at = directory + known.expect("the directory has its checksum");
                bytes[at..at + 4].copy_from_slice(&after);
            }
        }
        if how & 0x80 == 0 {
            if self.storage == Storage::Column {
                let sealed = crc(&bytes[..HEADER_BYTES - 4]);
                bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&sealed);
            }
            let sealed = crc(&bytes[directory..trailer]);
            bytes[trailer + 4..trailer + 8].copy_from_slice(&sealed);
            let sealed = crc(&bytes[trailer..trailer + 24]);
            bytes[trailer + 24..trailer + 28].copy_from_slice(&sealed);
        }
        if how & 0x40 != 0 {
            bytes.truncate(input.number(2) as usize % bytes.len());
        }
    }

    /// Reads or writes as the bytes say.
    fn act(&self, input: &mut Input<'_>, engine: &Arc<Engine>) -> Result<()> {
        let snapshot = engine.snapshot();
        let key = input.pick(&[0, 1, 300, ROWS - 1, ROWS]);
        let stored = self.format.encode_key(&row(key), 0)?;
        match input.byte() % 8 {
            0 => drop(engine.check()?),
            1 => drop(engine.get(self.table, &stored)?.map(|found| self.format.decode(&stored, &found))),
            2 => {
                snapshot.statistics(self.table)?;
                snapshot.sample_distinct(self.table, 2)?;
                engine.info()?;
            }
            3 => {
                snapshot.count(self.table, Some(&stored), None)?;
                snapshot.sum_keys(self.table, None, Some(&stored))?;
            }
            4 => {
                let mut cursor = snapshot.cursor(self.table)?;
                let (mut left, mut at) = (2 * ROWS, cursor.seek(Seek::First)?);
                while at && left > 0 {
                    let (key, row) = cursor.row()?;
                    self.format.decode(key, row)?;
                    at = cursor.next()?;
                    left -= 1;
                }
            }
            5 => {
                engine.put(self.table, &stored, &self.format.encode_row(&row(5))?)?;
                engine.compact()?;
            }
            _ => {
                let column = usize::from(input.byte()) % definition(self.storage).columns.len();
                let constant = row(301)[column].clone();
                let test = match input.byte() % 4 {
                    0 => None,
                    1 => Some(Test::Compare(Compare::Equal, constant)),
                    2 => Some(Test::Compare(Compare::Less, constant)),
                    _ => Some(Test::IsNull),
                };
                let filters = test.map(|test| Filter { column, test });
                self.scan(engine, filters.into_iter().collect(), column)?;
            }
        }
        Ok(())
    }

    /// Aggregates of all columns, by one of them.
    fn scan(&self, engine: &Arc<Engine>, filters: Vec<Filter>, by: usize) -> Result<()> {
        let columns = 0..definition(self.storage).columns.len();
        let plan = ScanPlan { columns: columns.clone().collect(), filters, ..ScanPlan::default() };
        let scan = engine.snapshot().scan_columns(self.table, &plan)?;
        let of = |column| {
            let column = Expression::Column(column);
            [Aggregate::Min(column.clone()), Aggregate::Max(column.clone()), Aggregate::Count(column)]
        };
        let mut aggregates: Vec<_> = columns.flat_map(of).collect();
        aggregates.extend([2, 3, 4].map(|column| Aggregate::Sum(Expression::Column(column))));
        for group_by in [vec![], vec![by, 6]] {
            let _ = scan.aggregate(&AggregatePlan { group_by, aggregates: aggregates.clone() }, 1);
        }
        let _ = scan.count(1);
        scan.fold(
            1,
            || (),
            |(), morsel| {
                let (mut offsets, mut data, mut codes) = (Vec::new(), Vec::new(), Vec::new());
                for text in 6..9 {
                    morsel.texts(text, &mut offsets, &mut data)?;
                    morsel.codes(text, &mut codes)?;
                }
                Ok(())
            },
        )?;
        Ok(())
    }
}

/// A segment in which some bytes are changed, mostly behind checksums that fit: read in every way, and merged.
pub fn segment(bytes: &[u8]) {
    thread_local!(static WORLD: World = World::new(Storage::Column).expect("a sound database"));
    WORLD.with(|world| read(world, bytes));
}

/// The same of an extent.
pub fn extent(bytes: &[u8]) {
    thread_local!(static WORLD: World = World::new(Storage::Append).expect("a sound database"));
    WORLD.with(|world| read(world, bytes));
}

fn read(world: &World, bytes: &[u8]) {
    let mut input = Input(bytes);
    let disk = world.damaged(&mut input);
    let Ok((engine, _)) = Engine::open(disk.env(), options()) else { return };
    let engine = Arc::new(engine);
    for _ in 0..3 {
        let _ = world.act(&mut input, &engine);
    }
}
