//! What is on disk stays readable, and is as `docs/formats/extents.md` says.

use std::path::PathBuf;

use ambo_codec::{Type, Value};
use ambo_types::{Error, RecordWidth, Records, Storage, TableDefinition};

use crate::column::{
    ColumnSchema, ColumnSet,
    format_tests::{assert_holds, dumped, everything, read, try_read, write},
    tests::with_all_types,
};

/// An extent that version 1 wrote. **Never edited**: what is new gets a file of its own.
const FIXTURE: &str = "tests/fixtures/extent-v1.bin";

const WIDTHS: [RecordWidth; 3] = [RecordWidth::Suitable, RecordWidth::Power, RecordWidth::Tight];

fn append(table: TableDefinition, width: RecordWidth) -> TableDefinition {
    table.storage(Storage::Append).records(Records { width, ..Records::default() })
}

fn flows() -> (TableDefinition, Vec<Vec<Value>>) {
    let table = TableDefinition::new("flows")
        .column("bytes", Type::U32)
        .column_nullable("port", Type::U16)
        .column_nullable("name", Type::Utf8);
    let row = |number: u64, bytes: u32, port: Option<u16>, name: Option<&str>| {
        let port = port.map_or(Value::Null, Value::U16);
        vec![Value::U64(number), Value::U32(bytes), port, name.map_or(Value::Null, Value::from)]
    };
    let rows = vec![
        row(7, 300, Some(80), Some("ant")),
        row(8, 40, None, Some("bee")),
        row(12, 5, Some(443), Some("ant")),
        row(13, 6, Some(22), None),
    ];
    (append(table, RecordWidth::Tight), rows)
}

// Keeps away: a page that tells of other bytes than are written.
#[test]
fn the_example_of_the_page() {
    let (table, rows) = flows();
    let written = write(&table, &rows);
    let page = dumped(include_str!("../../../../docs/formats/extents.md"));
    let hex = |bytes: &[u8]| -> Vec<String> {
        bytes.chunks(16).map(|line| line.iter().map(|byte| format!("{byte:02x} ")).collect()).collect()
    };
    assert_eq!(hex(&page), hex(&written));
    assert_holds(&read(&table, &page), &table, &rows);
}

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(FIXTURE)
}

/// All types with NULLs, with a key, in extents.
fn all_types() -> (TableDefinition, Vec<Vec<Value>>) {
    let (table, mut rows) = everything();
    rows.truncate(300);
    (append(table, RecordWidth::Suitable), rows)
}

// Keeps away: extents of this version that a later program reads otherwise, or not at all.
#[test]
fn extents_of_version_1_are_read() {
    let (table, rows) = all_types();
    let bytes = std::fs::read(fixture()).unwrap();
    assert_holds(&read(&table, &bytes), &table, &rows);
}

#[test]
#[ignore = "writes the fixture when there is none"]
fn write_the_fixture() {
    let (table, rows) = all_types();
    assert!(!fixture().exists(), "a fixture is never written again");
    std::fs::write(fixture(), write(&table, &rows)).unwrap();
}

fn directory_of(set: &ColumnSet) -> &crate::column::Directory {
    set.parts().next().unwrap().segment.directory()
}

// Keeps away: values that come back other than they were given, in records of any width, of rows with a key and of rows with numbers, in
// whole pages and behind them.
#[test]
fn all_types_come_back() {
    let (keyed, rows) = everything();
    let numbered = with_all_types(TableDefinition::new("numbered"));
    // Numbers with gaps, in the place of keys.
    let of_number = |(place, row): (usize, &Vec<Value>)| {
        let mut row = row.clone();
        row[0] = Value::U64(place as u64 + place as u64 / 1000 * 5);
        row
    };
    let numbered_rows: Vec<_> = rows.iter().enumerate().map(of_number).collect();
    for width in WIDTHS {
        for (table, rows) in [(&keyed, &rows), (&numbered, &numbered_rows)] {
            let table = append(table.clone(), width);
            let set = read(&table, &write(&table, rows));
            assert_holds(&set, &table, rows);
            let directory = directory_of(&set);
            assert!(directory.groups() > 1 && directory.group(0).len().is_power_of_two());
            assert!((0..directory.groups()).all(|page| directory.group(page).len() <= 8192));
        }
    }
}

// Keeps away: records that are wider than they have to be. The netflow records of 64 bytes of the seed take 64 bytes.
#[test]
fn records_are_as_wide_as_their_values() {
    let mut table = TableDefinition::new("flows");
    for column in 0..6 {
        table = table.column(format!("wide{column}"), Type::U64);
    }
    for column in 0..4 {
        table = table.column(format!("narrow{column}"), Type::U32);
    }
    let rows: Vec<_> = (0..20_000u64)
        .map(|number| {
            let wide = (0..6).map(|column| Value::U64(number * column));
            let narrow = (0..4).map(|column| Value::U32(number as u32 ^ column));
            [Value::U64(number)].into_iter().chain(wide).chain(narrow).collect()
        })
        .collect();
    for width in WIDTHS {
        let table = append(table.clone(), width);
        let bytes = write(&table, &rows);
        let raw = rows.len() * 64;
        assert!(bytes.len() >= raw && bytes.len() < raw + raw / 500, "{} bytes of {raw}", bytes.len());
    }
}

// Keeps away: a NULL that is refused, or lost with what was written before, in a column that refuses NULL by now: it may have taken it
// before.
#[test]
fn a_null_may_come_late() {
    let lax = TableDefinition::new("t")
        .column("a", Type::U64)
        .column_nullable("b", Type::U64)
        .column("c", Type::U8);
    let row = |number: u64| {
        let value = |column: u64| match number > 10_000 && (number + column).is_multiple_of(3) {
            true => Value::Null,
            false => Value::U64(number * 7 + column),
        };
        vec![
            Value::U64(number),
            value(0),
            Value::U64(1),
            if number > 12_000 { Value::Null } else { Value::U8(3) },
        ]
    };
    let rows: Vec<_> = (0..20_000).map(row).collect();
    for width in WIDTHS {
        let table = append(lax.clone(), width);
        let set = read(&table, &write(&table, &rows));
        let mut nullable = lax.clone();
        nullable.columns.iter_mut().for_each(|column| column.nullable = true);
        assert_holds(&set, &append(nullable, width), &rows);
    }
}

// Keeps away: a byte that changes and is not noticed. Each byte of an extent is covered by a checksum.
#[test]
fn each_changed_byte_is_noticed() {
    let (table, rows) = flows();
    let written = write(&table, &rows);
    for place in 0..written.len() {
        for change in [1, 0x80] {
            let mut bytes = written.clone();
            bytes[place] ^= change;
            let noticed = match try_read(&table, &bytes) {
                Err(Error::Damaged { .. }) => true,
                Err(other) => panic!("byte {place}: {other}"),
                Ok(set) => !set.check().unwrap().problems.is_empty(),
            };
            assert!(noticed, "byte {place} is another, and nobody says so");
        }
        let cut = try_read(&table, &written[..place]);
        assert!(matches!(cut, Err(Error::Damaged { .. })), "{place} bytes are no extent");
    }
    // Nor is an extent a segment, or the other way round.
    let (column, _) = everything();
    let segment = write(&column, &everything().1);
    assert!(matches!(
        try_read(&append(column.clone(), RecordWidth::Tight), &segment),
        Err(Error::Damaged { .. })
    ));
    let extent = write(&append(column.clone(), RecordWidth::Tight), &everything().1);
    assert!(matches!(try_read(&column, &extent), Err(Error::Damaged { .. })));
    assert!(!ColumnSchema::new(&column).unwrap().has_records());
}
