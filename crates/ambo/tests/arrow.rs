//! Rows of column tables as Arrow batches.
#![cfg(feature = "arrow")]

use std::collections::BTreeMap;

use ambo::{
    Compare, Database, Datum, Options, Row, Select, Storage, Sync, Table, TableDefinition, Test, Type,
};
use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time64NanosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};

const TYPES: [Type; 19] = [
    Type::I64,
    Type::Bool,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::F32,
    Type::F64,
    Type::Decimal128 { precision: 12, scale: 2 },
    Type::Date32,
    Type::Time64,
    Type::Timestamp,
    Type::TimestampTz,
    Type::Utf8,
    Type::Binary,
];

fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 20
}

fn value(ty: Type, seed: &mut u64) -> Datum {
    let any = next(seed);
    if any.is_multiple_of(6) {
        return Datum::Null;
    }
    match ty {
        Type::Bool => Datum::Bool(any & 8 == 0),
        Type::I8 => Datum::I8(any as i8),
        Type::I16 => Datum::I16(any as i16),
        Type::I32 => Datum::I32(any as i32),
        Type::I64 => Datum::I64(any as i64 - (1 << 40)),
        Type::U8 => Datum::U8(any as u8),
        Type::U16 => Datum::U16(any as u16),
        Type::U32 => Datum::U32(any as u32),
        Type::U64 => Datum::U64(any << 20),
        Type::F32 => Datum::F32(any as f32 / 3.0),
        Type::F64 => Datum::F64(any as f64 / 3.0),
        Type::Decimal128 { scale, .. } => {
            Datum::Decimal128 { unscaled: (any % 1_000_000) as i128 - 500, scale }
        }
        Type::Date32 => Datum::Date32((any % 40_000) as i32),
        Type::Time64 => Datum::Time64((any % 86_400_000_000_000) as i64),
        Type::Timestamp => Datum::Timestamp(any as i64),
        Type::TimestampTz => Datum::TimestampTz(any as i64),
        Type::Utf8 if any & 64 == 0 => Datum::Utf8(format!("{any:x}")),
        Type::Utf8 => Datum::Utf8(["one", "two", "", "drei"][any as usize % 4].into()),
        Type::Binary => Datum::Binary(any.to_le_bytes()[..any as usize % 9].to_vec()),
    }
}

fn table(db: &Database) -> Table {
    let definition = TableDefinition::new("t").column("c0", TYPES[0]);
    let columns = TYPES.iter().enumerate().skip(1);
    let definition =
        columns.fold(definition, |table, (index, ty)| table.column_nullable(format!("c{index}"), *ty));
    db.create_table(definition.primary_key(&["c0"]).storage(Storage::Column)).unwrap()
}

/// The value at a place of an array.
fn datum(array: &dyn Array, ty: Type, row: usize) -> Datum {
    if array.is_null(row) {
        return Datum::Null;
    }
    match ty {
        Type::Bool => Datum::Bool(array.as_boolean().value(row)),
        Type::I8 => Datum::I8(array.as_primitive::<Int8Type>().value(row)),
        Type::I16 => Datum::I16(array.as_primitive::<Int16Type>().value(row)),
        Type::I32 => Datum::I32(array.as_primitive::<Int32Type>().value(row)),
        Type::I64 => Datum::I64(array.as_primitive::<Int64Type>().value(row)),
        Type::U8 => Datum::U8(array.as_primitive::<UInt8Type>().value(row)),
        Type::U16 => Datum::U16(array.as_primitive::<UInt16Type>().value(row)),
        Type::U32 => Datum::U32(array.as_primitive::<UInt32Type>().value(row)),
        Type::U64 => Datum::U64(array.as_primitive::<UInt64Type>().value(row)),
        Type::F32 => Datum::F32(array.as_primitive::<Float32Type>().value(row)),
        Type::F64 => Datum::F64(array.as_primitive::<Float64Type>().value(row)),
        Type::Decimal128 { scale, .. } => {
            Datum::Decimal128 { unscaled: array.as_primitive::<Decimal128Type>().value(row), scale }
        }
        Type::Date32 => Datum::Date32(array.as_primitive::<Date32Type>().value(row)),
        Type::Time64 => Datum::Time64(array.as_primitive::<Time64NanosecondType>().value(row)),
        Type::Timestamp => Datum::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        Type::TimestampTz => Datum::TimestampTz(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        Type::Utf8 => match array.as_dictionary_opt::<Int32Type>() {
            Some(dictionary) => {
                let key = dictionary.keys().value(row) as usize;
                Datum::Utf8(dictionary.values().as_string::<i32>().value(key).into())
            }
            None => Datum::Utf8(array.as_string::<i32>().value(row).into()),
        },
        Type::Binary => Datum::Binary(array.as_binary::<i32>().value(row).to_vec()),
    }
}

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let row = |row| {
        let columns = batch.columns().iter().zip(TYPES);
        columns.map(|(array, ty)| datum(array, ty, row)).collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

fn check(select: &Select, expected: &[Row]) {
    for dictionaries in [false, true] {
        let batches = || select.batches().unwrap().dictionaries(dictionaries);
        let stream = batches().stream(2);
        let schema = stream.schema().clone();
        let mut streamed = Vec::new();
        for batch in stream {
            let batch = batch.unwrap();
            assert_eq!(batch.schema(), schema);
            streamed.extend(rows(&batch));
        }
        let folded = batches().fold(2, Vec::new, |all: &mut Vec<Row>, batch| {
            all.extend(rows(&batch));
            Ok(())
        });
        for mut found in [streamed, folded.unwrap().concat()] {
            found.sort();
            assert_eq!(found, expected);
        }
        for limit in [0, 1, 77, 10_000, u64::MAX] {
            let limited = batches().limit(limit).stream(2);
            let limited: Vec<Row> = limited.flat_map(|batch| rows(&batch.unwrap())).collect();
            assert_eq!(limited.len(), expected.len().min(limit.try_into().unwrap_or(usize::MAX)));
            assert!(limited.iter().all(|row| expected.binary_search(row).is_ok()));
        }
    }
}

/// Keeps away: values of any type that are others in Arrow's arrays, rows that are lost or doubled between threads, limits that are
/// not kept.
#[test]
fn batches_hold_the_rows() {
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().sync(Sync::Off).open(dir.path()).unwrap();
    let table = table(&db);
    let mut seed = 3;
    let mut model = BTreeMap::new();
    for round in 0..3 {
        for _ in 0..6000 {
            let key = next(&mut seed) as i64 % 20_000;
            let mut row = vec![Datum::I64(key)];
            row.extend(TYPES[1..].iter().map(|ty| value(*ty, &mut seed)));
            table.upsert_row(&row).unwrap();
            model.insert(key, row);
        }
        if round < 2 {
            db.compact().unwrap();
        }
        let names: Vec<String> = (0..TYPES.len()).map(|column| format!("c{column}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let select = table.select(&names).unwrap();
        let all: Vec<Row> = model.values().cloned().collect();
        check(&select, &all);
        for bound in [100, 12_000] {
            let some = select.clone().filter("c0", Test::Compare(Compare::Less, Datum::I64(bound))).unwrap();
            let expected: Vec<Row> = model.range(..bound).map(|(_, row)| row.clone()).collect();
            check(&some, &expected);
        }
    }
    // Columns may be none: the rows are counted all the same.
    let counts: usize =
        table.select(&[]).unwrap().batches().unwrap().stream(1).map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(counts, model.len());
    // Who stops early leaves no thread behind that waits for ever.
    drop(table.select(&["c1"]).unwrap().batches().unwrap().stream(2).next());
    assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
}
