//! Columns of logical types: what may be in them, and that it comes back.
#![cfg(feature = "arrow")]

use std::sync::Arc;

use ambo::{
    BulkChange, Column, ColumnBuffer, Database, Datum, Error, Interval, LoadOptions, Logical, Part, Seek,
    Storage, Table, TableDefinition, Type, arrow,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, ListArray, RecordBatch, StringArray,
    builder::{Int32Builder, IntervalMonthDayNanoBuilder, ListBuilder, MapBuilder, StringBuilder},
    types::IntervalMonthDayNano,
};
use arrow_schema::{DataType, Field};

const STORAGES: [Storage; 3] = [Storage::BTree, Storage::Column, Storage::Memory];

fn logical() -> [(&'static str, Logical); 4] {
    [("id", Logical::Uuid), ("i", Logical::Interval), ("j", Logical::Json), ("l", Logical::list(Type::I16))]
}

/// The table, or one whose columns are stored alike and mean nothing.
fn definition(name: &str, storage: Storage, means: bool) -> TableDefinition {
    let column = |(name, logical): (&'static str, Logical)| match means {
        true => Column::of(name, logical),
        false => Column::new(name, logical.kind()),
    };
    let mut table = TableDefinition::new(name).storage(storage);
    for of in logical() {
        let column = column(of);
        table = table.with_column(if column.name == "id" { column } else { column.nullable() });
    }
    table.primary_key(&["id"])
}

fn good() -> Vec<Datum> {
    let interval = Interval { months: 1, days: 2, nanoseconds: -3 };
    vec![vec![7u8; 16].into(), interval.encode().to_vec().into(), "[1]".into(), vec![1u8, 0, 5, 0].into()]
}

/// Rows that are as good but for one value.
fn bad() -> Vec<Vec<Datum>> {
    let values: [Datum; 4] =
        [vec![7u8; 15].into(), vec![0u8; 16].into(), "[1".into(), vec![2u8, 0, 5, 0].into()];
    let bad = |(place, value)| {
        let mut row = good();
        row[place] = value;
        row
    };
    values.into_iter().enumerate().map(bad).collect()
}

fn is_refused<T>(done: ambo::Result<T>, how: &str) {
    match done {
        Err(Error::Invalid(what)) => assert!(what.contains("column \""), "{how}: {what}"),
        Err(other) => panic!("{how}: {other}"),
        Ok(_) => panic!("{how} took it"),
    }
}

/// A row as it is stored.
fn stored(db: &Database, storage: Storage, row: &[Datum]) -> (Vec<u8>, Vec<u8>) {
    let name = format!("plain {}", db.tables().len());
    let plain = db.create_table(definition(&name, storage, false)).unwrap();
    plain.insert_row(row).unwrap();
    let mut cursor = plain.cursor().unwrap();
    assert!(cursor.seek(Seek::First).unwrap());
    (cursor.key().to_vec(), cursor.value().unwrap().to_vec())
}

fn buffers(table: &Table, row: &[Datum]) -> Vec<ColumnBuffer> {
    let column = |(column, value): (&Column, &Datum)| {
        let mut buffer = ColumnBuffer::new(column.kind);
        buffer.push(value.as_ref()).unwrap();
        buffer
    };
    table.definition().columns.iter().zip(row).map(column).collect()
}

/// Keeps away: values that a column's type does not have, by any way in.
#[test]
fn every_way_in_holds_rows_to_their_types() {
    let db = Database::in_memory().unwrap();
    for storage in STORAGES {
        let table =
            db.create_table(definition(&format!("{storage:?}").to_lowercase(), storage, true)).unwrap();
        table.insert_row(&good()).unwrap();
        let key = good()[..1].to_vec();
        for (place, row) in bad().into_iter().enumerate() {
            is_refused(table.insert_row(&row), "insert");
            is_refused(table.upsert_row(&row), "upsert");
            is_refused(table.insert_or_replace(&row), "replace");
            is_refused(table.insert_or_update(&row, |_, _| Ok(())), "insert or update");
            if place > 0 {
                let change = |there: &mut ambo::Row| {
                    there[place] = row[place].clone();
                    Ok(())
                };
                is_refused(table.update_row(&key, change), "update");
            }
            let (key, value) = stored(&db, storage, &row);
            is_refused(table.put(&key, &value), "put");
            is_refused(db.begin().unwrap().put(&table, &key, &value), "put in a transaction");
            is_refused(table.bulk_load().and_then(|mut load| load.push(&key, &value)), "bulk load");
            if storage == Storage::Column {
                let load = table.load(LoadOptions::default()).unwrap();
                is_refused(load.writer().push(buffers(&table, &row)), "load");
                let change =
                    table.bulk_change(BulkChange::Update, &db.snapshot(), LoadOptions::default()).unwrap();
                is_refused(change.writer().push_changed(buffers(&table, &row), None), "bulk change");
            }
        }
        assert_eq!(table.len().unwrap(), 1);
        assert_eq!(table.get_row(&key).unwrap(), Some(good()));
    }
    assert!(db.check().unwrap().is_sound());
}

/// Keeps away: JSON of Arrow's that is none.
#[test]
fn arrow_holds_rows_to_their_types() {
    let db = Database::in_memory().unwrap();
    let table = TableDefinition::new("t")
        .with_column(Column::of("j", Logical::Json))
        .with_column(Column::of("id", Logical::Uuid));
    let table = db.create_table(table.storage(Storage::Column)).unwrap();
    let load = |json: &str, id: ArrayRef| {
        let json: ArrayRef = Arc::new(StringArray::from(vec![json]));
        let batch = RecordBatch::try_from_iter([("j", json), ("id", id)]).unwrap();
        table.load_batches([Ok::<_, Error>(batch)].into_iter(), LoadOptions::default())
    };
    let bytes = |bytes: &[u8]| -> ArrayRef { Arc::new(BinaryArray::from(vec![bytes])) };
    load("{}", bytes(&[7; 16])).unwrap();
    is_refused(load("{", bytes(&[7; 16])), "json");
    is_refused(load("{}", bytes(&[7; 15])), "bytes");
    is_refused(load("{}", Arc::new(StringArray::from(vec!["x"]))), "text");
    assert_eq!(table.len().unwrap(), 1);
}

/// Arrays of each logical type with NULLs on each level.
fn arrays(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let uuids = (0..rows).map(|row| (row % 3 != 1).then_some([row as u8; 16]));
    let uuids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids, 16).unwrap();
    let mut intervals = IntervalMonthDayNanoBuilder::new();
    let mut lists = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..rows {
        let number = row as i32 - 5;
        match row % 4 {
            0 => intervals.append_null(),
            _ => intervals.append_value(IntervalMonthDayNano::new(number, -number, i64::from(number) << 33)),
        }
        for nth in 0..row % 3 {
            for item in 0..nth * row % 12 {
                lists.values().values().append_option((item % 3 > 0).then(|| "x".repeat(item)));
            }
            lists.values().append(nth != 1);
        }
        lists.append(row % 5 != 2);
        for nth in 0..row % 3 {
            maps.keys().append_value(format!("k{nth}"));
            maps.values().append_option((nth > 0).then_some(number));
        }
        maps.append(row % 7 != 3).unwrap();
    }
    let maps: ArrayRef = Arc::new(maps.finish());
    let maps = arrow_cast_map(&maps);
    let lists: ArrayRef = Arc::new(lists.finish());
    let fields = vec![
        Field::new("l", lists.data_type().clone(), true),
        Field::new("u", DataType::FixedSizeBinary(16), true),
    ];
    let uuids: ArrayRef = Arc::new(uuids);
    let nulls = (0..rows).map(|row| row % 6 != 5).collect::<Vec<_>>().into();
    let structs =
        arrow_array::StructArray::new(fields.into(), vec![lists.clone(), uuids.clone()], Some(nulls));
    vec![
        ("u", uuids),
        ("i", Arc::new(intervals.finish())),
        ("l", lists),
        ("m", maps),
        ("s", Arc::new(structs)),
    ]
}

/// A map with the names of fields that columns have.
fn arrow_cast_map(maps: &ArrayRef) -> ArrayRef {
    let ty = arrow::logical_type(&Logical::map(Type::Utf8, Type::I32));
    let (DataType::Map(entries, _), map) = (&ty, arrow_array::cast::AsArray::as_map(maps)) else {
        panic!("a map")
    };
    let DataType::Struct(fields) = entries.data_type() else { panic!("entries") };
    let columns = vec![map.keys().clone(), map.values().clone()];
    let of_entries = arrow_array::StructArray::new(fields.clone(), columns, None);
    let map = arrow_array::MapArray::new(
        entries.clone(),
        map.offsets().clone(),
        of_entries,
        map.nulls().cloned(),
        false,
    );
    Arc::new(map)
}

/// Keeps away: values that are others when they are read, from any storage, from slices, and as they are stored.
#[test]
fn values_come_back() {
    let db = Database::in_memory().unwrap();
    for storage in STORAGES {
        let numbers: ArrayRef = Arc::new(arrow_array::Int32Array::from_iter_values(0..100));
        let whole = RecordBatch::try_from_iter_with_nullable(
            std::iter::once(("n", numbers, false))
                .chain(arrays(100).into_iter().map(|(name, array)| (name, array, true))),
        );
        // What says that bytes are UUIDs is beside their type.
        let whole = whole.unwrap();
        let columns = whole.schema().fields().iter().skip(1).fold(
            TableDefinition::new(format!("{storage:?}").to_lowercase()).column("n", Type::I32),
            |table, field| {
                let logical = arrow::logical_of(field.data_type()).unwrap().unwrap();
                table.with_column(Column::of(field.name(), logical).nullable())
            },
        );
        let table = db.create_table(columns.primary_key(&["n"]).storage(storage)).unwrap();
        let parts = [whole.slice(0, 17), whole.slice(17, 0), whole.slice(17, 83)];
        match storage {
            Storage::Column => {
                table.load_batches(parts.into_iter().map(Ok::<_, Error>), LoadOptions::default()).unwrap();
            }
            _ => {
                for part in parts {
                    let buffers = arrow::buffers(table.definition(), &part, 1).unwrap();
                    for row in 0..part.num_rows() {
                        let row: Vec<_> =
                            buffers.iter().map(|buffer| buffer.get(row).unwrap().to_value()).collect();
                        table.insert_row(&row).unwrap();
                    }
                }
            }
        }
        db.compact().unwrap();
        let select = table.select(&["n", "u", "i", "l", "m", "s"]).unwrap();
        let batches =
            db.snapshot().row_batches(&select, 30).unwrap().collect::<ambo::Result<Vec<_>>>().unwrap();
        let all = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
        assert_eq!(all.columns(), whole.columns(), "{storage:?}");
        if storage == Storage::Column {
            let batches = select.batches().unwrap().stream(1).collect::<ambo::Result<Vec<_>>>().unwrap();
            let all = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
            assert_eq!(all.columns(), whole.columns());
            assert_eq!(all.schema().field(1).metadata()["ARROW:extension:name"], "arrow.uuid");
        }
    }
    assert!(db.check().unwrap().is_sound());
}

/// Keeps away: stored bytes from anywhere that make the reader panic, or that read as a value with other bytes.
#[test]
fn any_bytes_are_read_or_refused() {
    let part = |logical: Logical| Part::from(logical);
    let types = [
        Logical::Uuid,
        Logical::Interval,
        Logical::list(Type::Bool),
        Logical::list(Logical::list(Type::Utf8)),
        Logical::Array(Box::new(Type::I8.into()), 2),
        Logical::map(Type::U8, Logical::list(Type::U8)),
        Logical::Struct(vec![("a".into(), Type::I8.into()), ("b".into(), part(Logical::list(Type::Binary)))]),
    ];
    let mut state = 11u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut read = 0;
    for _ in 0..50_000 {
        let bytes: Vec<u8> = (0..random() % 20).map(|_| (random() % 6) as u8).collect();
        let logical = &types[random() as usize % types.len()];
        let stored: ArrayRef = Arc::new(BinaryArray::from(vec![&bytes[..]]));
        let Ok(array) = arrow::from_stored(&stored, &arrow::logical_type(logical)) else {
            assert!(logical.check(Datum::Binary(bytes).as_ref()).is_err());
            continue;
        };
        read += 1;
        assert_eq!(&arrow::to_stored(&array).unwrap(), &stored, "{logical}");
        assert_eq!(logical.check(Datum::Binary(bytes).as_ref()), Ok(()));
    }
    assert!(read > 500, "{read}");
    let empty: ArrayRef = Arc::new(BinaryArray::from(Vec::<&[u8]>::new()));
    let none = arrow::from_stored(&empty, &arrow::logical_type(&types[3])).unwrap();
    assert!(none.as_any().downcast_ref::<ListArray>().is_some_and(ListArray::is_empty));
}

/// Keeps away: columns that an older handle, or a definition of Arrow's, takes for others.
#[test]
fn definitions_say_what_columns_mean() {
    let db = Database::in_memory().unwrap();
    let table = db.create_table(definition("t", Storage::Column, true)).unwrap();
    let schema = arrow::schema(table.definition(), &[0, 1, 2, 3], &[false, true, true, true], false);
    let again = arrow::definition("t2", &schema, &["id"]).unwrap();
    assert_eq!(again.columns, table.definition().columns);
    // Bytes of one length are not taken for UUIDs.
    let bytes = arrow_schema::Schema::new(vec![Field::new("b", DataType::FixedSizeBinary(16), true)]);
    assert_eq!(arrow::definition("t3", &bytes, &[]).unwrap().columns[0].logical, None);
}
