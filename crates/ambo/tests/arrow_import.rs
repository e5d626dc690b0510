//! Arrow batches into a column table, and its rows against the batches.
#![cfg(feature = "arrow")]

use std::sync::Arc;

use ambo::{Database, Datum, Duplicates, Error, LoadOptions, Storage, arrow};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Date64Array, Decimal32Array,
    Decimal64Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray,
    StringViewArray, Time32SecondArray, Time64MicrosecondArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array, types::UInt8Type,
};
use arrow_schema::ArrowError;
use proptest::prelude::*;

fn null() -> Datum {
    Datum::Null
}

/// An array of each kind of the given numbers, with the values that the rows should have.
fn columns(numbers: &[Option<i32>]) -> Vec<(&'static str, ArrayRef, Vec<Datum>)> {
    let rows = numbers.len();
    let expect = |value: &dyn Fn(i32) -> Datum| -> Vec<Datum> {
        numbers.iter().map(|number| number.map_or(null(), value)).collect()
    };
    let text = |n: i32| format!("{}é{n}", "x".repeat(n.unsigned_abs() as usize % 30));
    let texts: Vec<Option<String>> = numbers.iter().map(|n| n.map(text)).collect();
    let bytes: Vec<Option<Vec<u8>>> = numbers.iter().map(|n| n.map(|n| text(n).into_bytes())).collect();
    let of_text = || expect(&|n| Datum::Utf8(text(n)));
    let of_bytes = || expect(&|n| Datum::Binary(text(n).into_bytes()));
    let decimal = |scale: i8| expect(&|n| Datum::Decimal128 { unscaled: n.into(), scale });
    let wide = |n: i32| i64::from(n) << 20;
    let some = |value: &dyn Fn(i32) -> i64| numbers.iter().map(|n| n.map(value)).collect::<Vec<_>>();
    let fixed = numbers.iter().map(|n| n.map(|n| n.to_le_bytes()));
    let dictionary: DictionaryArray<UInt8Type> =
        numbers.iter().map(|n| n.map(|n| ["a", "bb", ""][n.rem_euclid(3) as usize])).collect();
    vec![
        (
            "bool",
            Arc::new(numbers.iter().map(|n| n.map(|n| n % 2 == 0)).collect::<BooleanArray>()) as ArrayRef,
            expect(&|n| (n % 2 == 0).into()),
        ),
        (
            "i8",
            Arc::new(numbers.iter().map(|n| n.map(|n| n as i8)).collect::<Int8Array>()),
            expect(&|n| (n as i8).into()),
        ),
        (
            "i16",
            Arc::new(numbers.iter().map(|n| n.map(|n| n as i16)).collect::<Int16Array>()),
            expect(&|n| (n as i16).into()),
        ),
        ("i32", Arc::new(numbers.iter().copied().collect::<Int32Array>()), expect(&|n| n.into())),
        ("i64", Arc::new(Int64Array::from(some(&wide))), expect(&|n| wide(n).into())),
        (
            "u8",
            Arc::new(numbers.iter().map(|n| n.map(|n| n as u8)).collect::<UInt8Array>()),
            expect(&|n| (n as u8).into()),
        ),
        (
            "u16",
            Arc::new(numbers.iter().map(|n| n.map(|n| n as u16)).collect::<UInt16Array>()),
            expect(&|n| (n as u16).into()),
        ),
        (
            "u32",
            Arc::new(numbers.iter().map(|n| n.map(|n| n as u32)).collect::<UInt32Array>()),
            expect(&|n| (n as u32).into()),
        ),
        (
            "u64",
            Arc::new(numbers.iter().map(|n| n.map(|n| n as u64)).collect::<UInt64Array>()),
            expect(&|n| (n as u64).into()),
        ),
        (
            "f32",
            Arc::new(numbers.iter().map(|n| n.map(|n| n as f32)).collect::<Float32Array>()),
            expect(&|n| (n as f32).into()),
        ),
        (
            "f64",
            Arc::new(numbers.iter().map(|n| n.map(f64::from)).collect::<Float64Array>()),
            expect(&|n| f64::from(n).into()),
        ),
        (
            "d32",
            Arc::new(
                numbers
                    .iter()
                    .map(|n| n.map(|n| n % 1000))
                    .collect::<Decimal32Array>()
                    .with_precision_and_scale(9, 3)
                    .unwrap(),
            ),
            expect(&|n| Datum::Decimal128 { unscaled: (n % 1000).into(), scale: 3 }),
        ),
        (
            "d64",
            Arc::new(
                numbers
                    .iter()
                    .map(|n| n.map(i64::from))
                    .collect::<Decimal64Array>()
                    .with_precision_and_scale(18, 2)
                    .unwrap(),
            ),
            decimal(2),
        ),
        (
            "d128",
            Arc::new(
                numbers
                    .iter()
                    .map(|n| n.map(i128::from))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(38, -2)
                    .unwrap(),
            ),
            decimal(-2),
        ),
        ("date", Arc::new(numbers.iter().copied().collect::<Date32Array>()), expect(&Datum::Date32)),
        ("date64", Arc::new(Date64Array::from(some(&wide))), expect(&|n| Datum::Timestamp(wide(n) * 1000))),
        (
            "ts_s",
            Arc::new(TimestampSecondArray::from(some(&wide)).with_timezone("+02:00")),
            expect(&|n| Datum::Timestamp(i64::from(n) * (1_000_000 << 20))),
        ),
        (
            "ts_ms",
            Arc::new(TimestampMillisecondArray::from(some(&wide))),
            expect(&|n| Datum::Timestamp(wide(n) * 1000)),
        ),
        (
            "ts_us",
            Arc::new(TimestampMicrosecondArray::from(some(&wide))),
            expect(&|n| Datum::Timestamp(wide(n))),
        ),
        (
            "ts_ns",
            Arc::new(TimestampNanosecondArray::from(some(&|n| i64::from(n) * 1000))),
            expect(&|n| Datum::Timestamp(n.into())),
        ),
        (
            "t_s",
            Arc::new(numbers.iter().copied().collect::<Time32SecondArray>()),
            expect(&|n| Datum::Time64(i64::from(n) * 1_000_000_000)),
        ),
        (
            "t_us",
            Arc::new(Time64MicrosecondArray::from(some(&i64::from))),
            expect(&|n| Datum::Time64(i64::from(n) * 1000)),
        ),
        ("t_ns", Arc::new(Time64NanosecondArray::from(some(&wide))), expect(&|n| Datum::Time64(wide(n)))),
        ("text", Arc::new(texts.iter().cloned().collect::<StringArray>()), of_text()),
        ("large", Arc::new(texts.iter().cloned().collect::<LargeStringArray>()), of_text()),
        ("view", Arc::new(texts.iter().cloned().collect::<StringViewArray>()), of_text()),
        ("bytes", Arc::new(bytes.iter().map(Option::as_deref).collect::<BinaryArray>()), of_bytes()),
        ("bytes_view", Arc::new(bytes.iter().map(Option::as_deref).collect::<BinaryViewArray>()), of_bytes()),
        (
            "fixed",
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 4).unwrap()),
            expect(&|n| Datum::Binary(n.to_le_bytes().to_vec())),
        ),
        ("dictionary", Arc::new(dictionary), expect(&|n| ["a", "bb", ""][n.rem_euclid(3) as usize].into())),
        ("null", Arc::new(NullArray::new(rows)), vec![null(); rows]),
    ]
}

/// Keeps away: a value of any Arrow type that changes on its way into a table, in slices of arrays, too.
#[test]
fn values_come_back() {
    let config = ProptestConfig { cases: 60, ..ProptestConfig::default() };
    let numbers = prop::collection::vec(prop::option::of(-2000..2000i32), 1..200);
    let slices = (0..1000usize, 0..1000usize);
    let run = |(numbers, (from, len), threads): (Vec<Option<i32>>, (usize, usize), usize)| {
        let columns = columns(&numbers);
        let from = from % numbers.len();
        let len = 1 + len % (numbers.len() - from);
        let ids: ArrayRef = Arc::new((0..numbers.len() as i64).rev().map(Some).collect::<Int64Array>());
        let fields = columns.iter().map(|(name, array, _)| (*name, array.clone(), true));
        let batch =
            RecordBatch::try_from_iter_with_nullable(std::iter::once(("id", ids, false)).chain(fields))
                .unwrap();
        let slice = batch.slice(from, len);
        let db = Database::in_memory().unwrap();
        let definition = arrow::definition("t", batch.schema_ref(), &["id"]).unwrap();
        let table = db.create_table(definition.storage(Storage::Column)).unwrap();
        let options = LoadOptions { threads, ..LoadOptions::default() };
        let pieces = [slice.slice(0, len / 2), slice.slice(len / 2, len - len / 2)];
        let loaded = table.load_batches(pieces.map(Ok::<_, ArrowError>).into_iter(), options).unwrap();
        prop_assert_eq!(loaded.rows, len as u64);
        let rows: Vec<_> = table.rows().unwrap().map(Result::unwrap).collect();
        for (row, values) in rows.into_iter().rev().enumerate() {
            prop_assert_eq!(&values[0], &Datum::I64((numbers.len() - 1 - from - row) as i64));
            for ((name, _, expected), value) in columns.iter().zip(&values[1..]) {
                prop_assert_eq!(value, &expected[from + row], "{}", name);
            }
        }
        prop_assert!(db.check().unwrap().is_sound());
        Ok(())
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner.run(&(numbers, slices, 1..4usize), run).unwrap();
}

fn people() -> (Database, ambo::Table) {
    let db = Database::in_memory().unwrap();
    let definition = ambo::TableDefinition::new("people")
        .column("id", ambo::Type::I32)
        .column_nullable("name", ambo::Type::Utf8)
        .column("age", ambo::Type::U8)
        .default_value(7u8);
    let table = db.create_table(definition.primary_key(&["id"]).storage(Storage::Column)).unwrap();
    (db, table)
}

fn load(
    table: &ambo::Table,
    columns: Vec<(&str, ArrayRef)>,
    options: LoadOptions,
) -> ambo::Result<ambo::Loaded> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    table.load_batches([Ok::<_, ArrowError>(batch)].into_iter(), options)
}

/// Keeps away: columns that are matched by place, values that lose something, messages that do not say where.
#[test]
fn columns_are_matched_and_values_fitted() {
    let (db, table) = people();
    let ids = |ids: Vec<i64>| Arc::new(Int64Array::from(ids)) as ArrayRef;
    let names = Arc::new(StringArray::from(vec![Some("a"), None])) as ArrayRef;
    // In another order, of another width, one column missing.
    let loaded = load(&table, vec![("name", names.clone()), ("id", ids(vec![2, 1]))], LoadOptions::default());
    assert_eq!(loaded.unwrap().rows, 2);
    let rows: Vec<_> = table.rows().unwrap().map(Result::unwrap).collect();
    let age = || Datum::U8(7);
    assert_eq!(rows, [vec![Datum::I32(1), Datum::Null, age()], vec![Datum::I32(2), "a".into(), age()]]);

    let refused = |columns: Vec<(&str, ArrayRef)>, words: &[&str]| {
        let error = load(&table, columns, LoadOptions::default()).unwrap_err();
        let Error::Invalid(what) = &error else { panic!("{error}") };
        assert!(words.iter().all(|word| what.contains(word)), "{what}");
    };
    refused(vec![("id", ids(vec![3, 1 << 40]))], &["column \"id\"", "row 2", "1099511627776"]);
    refused(vec![("id", ids(vec![3])), ("nam", ids(vec![3]))], &["no column \"nam\"", "id, name, age"]);
    refused(vec![("id", Arc::new(StringArray::from(vec!["3"])))], &["column \"id\"", "row 1"]);
    let nanos = Arc::new(TimestampNanosecondArray::from(vec![1001])) as ArrayRef;
    refused(vec![("id", nanos)], &["column \"id\"", "row 1", "1001"]);
    refused(vec![("name", names)], &["row 1", "\"id\"", "NULL"]);
    let list = arrow_schema::DataType::new_list(arrow_schema::DataType::Int8, true);
    assert!(arrow::type_of(&list).unwrap_err().to_string().contains("List"));

    let failing = [Err(ArrowError::ParseError("no such thing".into()))];
    let error = table.load_batches(failing.into_iter(), LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no such thing"), "{error}");
    let replace = LoadOptions { duplicates: Duplicates::KeepLast, threads: 3, ..LoadOptions::default() };
    assert_eq!(load(&table, vec![("id", ids(vec![1, 1, 5]))], replace).unwrap().replaced, 1);
    assert_eq!(table.len().unwrap(), 3);
    assert!(db.check().unwrap().is_sound());
}
