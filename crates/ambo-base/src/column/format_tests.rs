//! What is on disk stays readable, and is as `docs/formats/segments.md` says.

use std::{path::PathBuf, sync::Arc};

use ambo_codec::{Type, Value, ValueRef};
use ambo_pages::io::{Env, OpenMode, sim::SimDisk};
use ambo_types::TableDefinition;

use super::{tests::with_all_types, *};

const DATABASE: u128 = 0x00ff_eedd_ccbb_aa99_8877_6655_4433_2211;
/// A segment that version 1 wrote. **Never edited**: what is new gets a file of its own.
const FIXTURE: &str = "tests/fixtures/segment-v1.bin";

pub(crate) fn world() -> (Env, Arc<SegmentStore>) {
    let env = SimDisk::new(0).env();
    let store =
        SegmentStore::new(env.disk.clone(), DATABASE, &ambo_pages::budget::MemoryBudget::new(1 << 20));
    (env, store)
}

/// Key and record of a row whose first value is the key.
fn encode(table: &TableDefinition, row: &[Value]) -> (Vec<u8>, Vec<u8>) {
    let (mut key, mut record) = (Vec::new(), Vec::new());
    let values: Vec<_> = row.iter().map(ValueRef::from).collect();
    table.key_spec().unwrap().encode(&values[..1], &mut key).unwrap();
    table.row_spec().unwrap().encode(&values[1..], &mut record).unwrap();
    (key, record)
}

/// The bytes of the one segment of these rows.
pub(crate) fn write(table: &TableDefinition, rows: &[Vec<Value>]) -> Vec<u8> {
    let (env, store) = world();
    let mut builder = RunBuilder::new(&store, &Arc::new(ColumnSchema::new(table).unwrap()));
    for row in rows {
        let (key, record) = encode(table, row);
        builder.push(&key, &record).unwrap();
    }
    let run = builder.finish().unwrap();
    let [part] = &run.parts[..] else { panic!("one segment") };
    let file = env.disk.open(&SegmentStore::name(part.segment.id()), OpenMode::Read).unwrap();
    let mut bytes = vec![0; part.segment.file_bytes() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// A set of a file with these bytes, which is the segment 1.
pub(crate) fn read(table: &TableDefinition, bytes: &[u8]) -> ColumnSet {
    try_read(table, bytes).unwrap()
}

/// The same of bytes that may be none of a segment.
pub(crate) fn try_read(table: &TableDefinition, bytes: &[u8]) -> ambo_types::Result<ColumnSet> {
    let (env, store) = world();
    env.disk.open(&SegmentStore::name(1), OpenMode::Create).unwrap().write_at(bytes, 0).unwrap();
    let schema = Arc::new(ColumnSchema::new(table).unwrap());
    let segment = store.open(1, bytes.len() as u64, &schema)?;
    Ok(ColumnSet::new(store, schema, vec![ColumnRun { parts: vec![Part::new(segment)] }]))
}

pub(crate) fn assert_holds(set: &ColumnSet, table: &TableDefinition, rows: &[Vec<Value>]) {
    assert_eq!(set.check().unwrap().problems, Vec::<String>::new());
    assert_eq!(set.live_rows(), rows.len() as u64);
    for row in rows {
        let (key, record) = encode(table, row);
        assert_eq!(set.get(&key).unwrap(), Some(record), "{row:?}");
    }
}

fn notes() -> (TableDefinition, Vec<Vec<Value>>) {
    let table = TableDefinition::new("notes").column("id", Type::I64).column_nullable("note", Type::Utf8);
    let row = |id: i64, note: Option<&str>| vec![Value::I64(id), note.map_or(Value::Null, Value::from)];
    (table.primary_key(&["id"]), vec![row(1, Some("ant")), row(2, None), row(3, Some("bee"))])
}

/// The bytes of a hexdump: lines of an offset and bytes, in a block that is indented.
pub(crate) fn dumped(page: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in page.lines() {
        let Some((offset, rest)) = line.strip_prefix("    ").and_then(|line| line.split_once("  ")) else {
            continue;
        };
        let Ok(offset) = usize::from_str_radix(offset, 16) else { continue };
        assert_eq!(offset, bytes.len(), "{line}");
        let words = rest.split_whitespace();
        bytes.extend(words.map(|word| u8::from_str_radix(word, 16).expect("hexadecimal digits")));
    }
    bytes
}

/// Keeps away: a page that tells of other bytes than are written.
#[test]
fn the_example_of_the_page() {
    let (table, rows) = notes();
    let written = write(&table, &rows);
    let page = dumped(include_str!("../../../../docs/formats/segments.md"));
    let hex = |bytes: &[u8]| -> Vec<String> {
        bytes.chunks(16).map(|line| line.iter().map(|byte| format!("{byte:02x} ")).collect()).collect()
    };
    assert_eq!(hex(&page), hex(&written));
    assert_holds(&read(&table, &page), &table, &rows);
}

/// All types, with NULLs in every other column; more rows than a group has.
pub(crate) fn everything() -> (TableDefinition, Vec<Vec<Value>>) {
    let table =
        with_all_types(TableDefinition::new("everything").column("id", Type::I64)).primary_key(&["id"]);
    let types: Vec<_> = table.columns[1..].iter().map(|column| column.kind).collect();
    let value = |ty: Type, n: i64| match ty {
        Type::Bool => Value::Bool(n % 3 == 0),
        Type::I8 => Value::I8((n / 64) as i8),
        Type::I16 => Value::I16(n as i16 - 4000),
        Type::I32 => Value::I32((n % 5) as i32 * -1_000_000),
        Type::I64 => Value::I64(if n % 1000 == 0 { i64::MIN } else { n }),
        Type::U8 => Value::U8(n as u8 % 4),
        Type::U16 => Value::U16((n / 100) as u16),
        Type::U32 => Value::U32(7),
        Type::U64 => Value::U64(if n % 4096 == 0 { u64::MAX } else { n as u64 % 3 }),
        Type::F32 => Value::F32((n % 16) as f32 / 4.0),
        Type::F64 => Value::F64(if n % 2000 == 99 { f64::NAN } else { (n / 10) as f64 / 100.0 }),
        Type::Decimal128 { scale, .. } => Value::Decimal128 { unscaled: i128::from(n / 8) - 1000, scale },
        Type::Date32 => Value::Date32((n / 50) as i32),
        Type::Time64 => Value::Time64(n / 4 * 1_000_000),
        Type::Timestamp => Value::Timestamp(n * 1_000_000),
        Type::TimestampTz => Value::TimestampTz(n * 1_000_000),
        Type::Utf8 => Value::Utf8(format!("text {}", n % 50)),
        Type::Binary => Value::Binary(vec![n as u8 % 8; (n % 5) as usize]),
    };
    let row = |n: i64| {
        let mut row = vec![Value::I64(n * 3)];
        row.extend(types.iter().enumerate().map(|(index, &ty)| match index % 2 == 0 && n % 7 == 3 {
            true => Value::Null,
            false => value(ty, n),
        }));
        row
    };
    let rows = (0..8200).map(row).collect();
    (table, rows)
}

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(FIXTURE)
}

/// Keeps away: segments of this version that a later program reads otherwise, or not at all.
#[test]
fn segments_of_version_1_are_read() {
    let (table, rows) = everything();
    let bytes = std::fs::read(fixture()).unwrap();
    let set = read(&table, &bytes);
    assert_holds(&set, &table, &rows);
    let segment = set.segments().next().unwrap();
    assert_eq!(segment.directory().groups(), 2);
    assert_eq!(segment.directory().group(1), 8192..8200);
}

#[test]
#[ignore = "writes the fixture when there is none"]
fn write_the_fixture() {
    let (table, rows) = everything();
    assert!(!fixture().exists(), "a fixture is never written again");
    std::fs::write(fixture(), write(&table, &rows)).unwrap();
}

/// Keeps away: figures of segments that do not add up, and a sample that reads everything.
#[test]
fn space_adds_up() {
    let (table, rows) = everything();
    let bytes = write(&table, &rows);
    let set = read(&table, &bytes);
    let space = set.space(&table, 64).unwrap();
    assert_eq!((space.segments, space.runs, space.groups), (1, 1, 2));
    assert_eq!((space.rows, space.deleted_rows), (rows.len() as u64, 0));
    assert_eq!(space.file_bytes, bytes.len() as u64);
    assert_eq!(space.columns.len(), table.columns.len());
    let stored: u64 = space.columns.iter().map(|column| column.stored_bytes).sum();
    assert_eq!(space.file_bytes, stored + space.directory_bytes);
    for (index, column) in space.columns.iter().enumerate() {
        assert_eq!(column.column, Some(index));
        let nulls = rows.iter().filter(|row| row[index] == Value::Null).count() as u64;
        assert_eq!(column.nulls, nulls, "column {index}");
        assert_eq!((column.blocks, column.encodings.iter().map(|(_, n)| n).sum::<u64>()), (2, 2));
    }
    let text = |value: &Value| match value {
        Value::Utf8(text) => text.len() as u64,
        Value::Binary(bytes) => bytes.len() as u64,
        _ => 0,
    };
    for index in [16, 17] {
        let expected = rows.iter().map(|row| text(&row[index])).sum::<u64>();
        assert_eq!(space.columns[index].raw_bytes, expected, "column {index}");
    }
    assert_eq!(space.columns[0].raw_bytes, rows.len() as u64 * 8);
    let sampled = set.space(&table, 1).unwrap();
    assert!(sampled.columns.iter().all(|column| column.encodings.iter().map(|(_, n)| n).sum::<u64>() == 1));

    // A hidden number of a row is a column without a name.
    let hidden = TableDefinition::new("hidden").column("v", Type::U32);
    let (_, store) = world();
    let schema = Arc::new(ColumnSchema::new(&hidden).unwrap());
    let mut builder = RunBuilder::new(&store, &schema);
    let mut record = Vec::new();
    hidden.row_spec().unwrap().encode(&[ValueRef::U32(5)], &mut record).unwrap();
    (0..10u64).for_each(|number| builder.push(&number.to_be_bytes(), &record).unwrap());
    let set = ColumnSet::new(store, schema, vec![builder.finish().unwrap()]);
    let columns: Vec<_> =
        set.space(&hidden, 64).unwrap().columns.iter().map(|column| (column.column, column.kind)).collect();
    assert_eq!(columns, [(Some(0), Type::U32), (None, Type::U64)]);
}
