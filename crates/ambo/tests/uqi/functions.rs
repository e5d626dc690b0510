//! What functions say, and what they refuse (rows U5 to U8 of the list in decision 0040).

use ambo::{Database, Datum, Storage, TableDefinition, Type};

use crate::{create, error, rows, single};

fn numbers(db: &Database) {
    let t = create(db, "db_1", Type::U32, Type::I64, Storage::BTree);
    for (key, value) in [(1u32, 5i64), (2, -7), (3, 5), (10, 0), (20, 40)] {
        t.insert_row(&[key.into(), value.into()]).unwrap();
    }
}

#[test]
fn functions_are_those_of_upscaledb() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path()).unwrap();
    numbers(&db);
    for compacted in [false, true] {
        assert_eq!(single(&db, "COUNT($key) FROM DATABASE 1"), Datum::U64(5));
        assert_eq!(single(&db, "sum($key) from database 0x1;"), Datum::U64(36));
        assert_eq!(single(&db, "SUM($record) FROM DATABASE 01"), Datum::I64(43));
        assert_eq!(single(&db, "AVERAGE($record) FROM db_1"), Datum::F64(8.6));
        assert_eq!(single(&db, "AVERAGE($key) FROM db_1 WHERE $key <= 3"), Datum::F64(2.0));
        let of = |text: &str| rows(&db.uqi(&db, text).unwrap());
        assert_eq!(of("MIN($record) FROM db_1"), [(Datum::U32(2), Datum::I64(-7))]);
        assert_eq!(of("MAX($record) FROM db_1"), [(Datum::U32(20), Datum::I64(40))]);
        assert_eq!(of("MIN($key) FROM db_1"), [(Datum::U32(1), Datum::I64(5))]);
        assert_eq!(of("MAX($key) FROM db_1"), [(Datum::U32(20), Datum::I64(40))]);
        // Ascending; of equal values that of the first key stands first.
        let top = [(1u32, 5i64), (3, 5), (20, 40)].map(|(key, value)| (Datum::U32(key), Datum::I64(value)));
        assert_eq!(of("TOP($record) FROM db_1 LIMIT 3"), top);
        assert_eq!(of("TOP($record) FROM db_1"), top[2..]);
        assert_eq!(of("DISTINCT TOP($record) FROM db_1 LIMIT 2"), [top[0].clone(), top[2].clone()]);
        assert_eq!(of("BOTTOM($key) FROM db_1 LIMIT 2")[1], (Datum::U32(2), Datum::I64(-7)));
        assert_eq!(of("TOP($key) FROM db_1 LIMIT 2")[0].0, Datum::U32(10));
        assert_eq!(of("TOP($key) FROM db_1 LIMIT 0"), []);
        assert_eq!(
            of("VALUE($key) FROM db_1 WHERE $record = 5"),
            [1u32, 3].map(|key| (Datum::U32(key), Datum::Null))
        );
        assert_eq!(of("VALUE($record, $key) FROM db_1 WHERE $key > 10"), top[2..]);
        if !compacted {
            db.compact().unwrap();
        }
    }
    // Whole arrays, which C casts.
    let all = db.uqi(&db, "VALUE($key, $record) FROM db_1").unwrap();
    assert_eq!((all.keys.ty(), all.keys.data().len()), (Type::U32, 5 * 4));
    assert_eq!(all.keys.data()[..8], [1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!((all.records.ty(), all.records.bytes(1)), (Type::I64, &(-7i64).to_le_bytes()[..]));
    let count = db.uqi(&db, "COUNT($key) FROM db_1").unwrap();
    assert_eq!((count.keys.ty(), count.keys.bytes(0)), (Type::Binary, &b"COUNT\0"[..]));
    assert!(db.check().unwrap().problems.is_empty());
}

/// Faults of upscaledb's: a maximum of negative floats, aggregates of nothing, sums that wrap around, COUNT with a predicate.
#[test]
fn faults_are_not_taken_over() {
    let db = Database::in_memory().unwrap();
    let floats = create(&db, "floats", Type::U8, Type::F64, Storage::BTree);
    for (key, value) in [(1u8, -3.5), (2, -1.25), (3, f64::NEG_INFINITY)] {
        floats.insert_row(&[key.into(), value.into()]).unwrap();
    }
    assert_eq!(rows(&db.uqi(&db, "MAX($record) FROM floats").unwrap()), [(Datum::U8(2), Datum::F64(-1.25))]);
    assert_eq!(single(&db, "COUNT($record) FROM floats WHERE $record < -2"), Datum::U64(2));

    let empty = create(&db, "empty", Type::U64, Type::F32, Storage::BTree);
    for text in ["MIN($key)", "MAX($record)", "AVERAGE($record)", "TOP($key)", "VALUE($key)"] {
        assert_eq!(db.uqi(&db, &format!("{text} FROM empty")).unwrap().rows(), 0, "{text}");
    }
    assert_eq!(single(&db, "SUM($key) FROM empty"), Datum::U64(0));
    assert_eq!(single(&db, "SUM($record) FROM empty WHERE $key = 1"), Datum::F64(0.0));
    for key in [u64::MAX, u64::MAX - 1] {
        empty.insert_row(&[key.into(), Datum::Null]).unwrap();
    }
    let exact = u128::from(u64::MAX) * 2 - 1;
    assert!(error(&db, "SUM($key) FROM empty").contains(&format!("overflow: the sum is {exact}")));
    assert!(error(&db, "SUM($key) FROM empty WHERE $key > 1").contains("overflow"));
    assert_eq!(single(&db, "AVERAGE($key) FROM empty"), Datum::F64(u64::MAX as f64));
}

#[test]
fn null_is_no_number() {
    let db = Database::in_memory().unwrap();
    for (name, storage) in [("rows", Storage::BTree), ("columns", Storage::Column)] {
        let t = create(&db, name, Type::I32, Type::I16, storage);
        for key in -3..4i32 {
            let value = if key % 2 == 0 { Datum::Null } else { Datum::I16(key as i16) };
            t.insert_row(&[key.into(), value]).unwrap();
        }
        let value = |text: &str| single(&db, &format!("{text} FROM {name}"));
        assert_eq!(value("COUNT($record)"), Datum::U64(7));
        assert_eq!(value("SUM($record)"), Datum::I64(0));
        assert_eq!(value("SUM($key)"), Datum::I64(0));
        assert_eq!(single(&db, &format!("COUNT($key) FROM {name} WHERE $record IS NULL")), Datum::U64(3));
        assert_eq!(single(&db, &format!("COUNT($key) FROM {name} WHERE NOT $record > 0")), Datum::U64(2));
        assert_eq!(rows(&db.uqi(&db, &format!("MIN($record) FROM {name}")).unwrap())[0].1, Datum::I16(-3));
        let all = db.uqi(&db, &format!("VALUE($record) FROM {name}")).unwrap();
        assert_eq!(all.records.value(1).to_value(), Datum::Null);
    }
}

/// U6: DISTINCT passes over further rows of a key.
#[test]
fn distinct_is_of_keys() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path()).unwrap();
    let t =
        TableDefinition::new("t").column("key", Type::U32).column("value", Type::U64).primary_key(&["key"]);
    let t = db.create_table(t.duplicates()).unwrap();
    for (key, value) in [(1u32, 10u64), (1, 20), (1, 30), (2, 10), (3, 1), (3, 2)] {
        t.insert_row(&[key.into(), value.into()]).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(single(&db, "COUNT($key) FROM t"), Datum::U64(6));
        assert_eq!(single(&db, "DISTINCT COUNT($key) FROM t"), Datum::U64(3));
        assert_eq!(single(&db, "DISTINCT SUM($record) FROM t"), Datum::U64(21));
        assert_eq!(single(&db, "SUM($key) FROM t"), Datum::U64(11));
        // Which rows of a key are left does not depend on conditions.
        assert_eq!(single(&db, "DISTINCT COUNT($key) FROM t WHERE $record >= 10"), Datum::U64(2));
        assert_eq!(rows(&db.uqi(&db, "TOP($key) FROM t").unwrap()), [(Datum::U32(3), Datum::U64(1))]);
        db.compact().unwrap();
    }
    assert!(db.check().unwrap().problems.is_empty());
}

#[test]
fn columns_have_names() {
    let db = Database::in_memory().unwrap();
    let flows = TableDefinition::new("flows")
        .column("src", Type::U32)
        .column("port", Type::U16)
        .column("bytes", Type::U64)
        .column_nullable("name", Type::Utf8)
        .column("day", Type::Date32)
        .storage(Storage::Column);
    let flows = db.create_table(flows).unwrap();
    for row in 0..1000u32 {
        let name = if row % 3 == 0 { Datum::Null } else { format!("host-{}", row % 7).into() };
        flows
            .insert_row(&[
                (row % 10).into(),
                Datum::U16((row % 100) as u16),
                u64::from(row).into(),
                name,
                Datum::Date32(row as i32 / 100),
            ])
            .unwrap();
    }
    assert_eq!(single(&db, "SUM(bytes) FROM flows"), Datum::U64(999 * 500));
    assert_eq!(
        single(&db, "SUM(bytes) FROM flows WHERE src IN (3, 4) AND port BETWEEN 10 AND 19"),
        Datum::U64(9270)
    );
    assert_eq!(
        single(&db, "COUNT(src) FROM flows WHERE name LIKE 'host-_' AND day = '1970-01-03'"),
        Datum::U64(67)
    );
    assert_eq!(
        single(&db, "COUNT(src) FROM flows WHERE bytes % 100 + port * 2 = 6 OR port = 99"),
        Datum::U64(20)
    );
    // The number of a row is its key; of several columns beside it none is the record.
    assert_eq!(
        rows(&db.uqi(&db, "MAX(bytes) FROM main.flows").unwrap()),
        [(Datum::U64(1000), Datum::U64(999))]
    );
    assert!(error(&db, "SUM($record) FROM flows").contains("name the column: src, port, bytes, name, day"));
    assert!(error(&db, "SUM(byte) FROM flows").contains("column \"byte\" of table \"main.flows\""));
    assert!(
        error(&db, "SUM(name) FROM flows").contains("SUM takes integers and floats, not values of type text")
    );
    assert_eq!(rows(&db.uqi(&db, "BOTTOM(name) FROM flows").unwrap())[0].1, Datum::from("host-0"));
}

#[test]
fn what_cannot_be_is_said() {
    let db = Database::in_memory().unwrap();
    numbers(&db);
    for (text, what) in [
        ("COUNT($key) FROM DATABASE 2", "db_2"),
        ("COUNT($key) FROM DATABASE 1 LIMIT 3", "LIMIT is for TOP and BOTTOM alone, not for COUNT"),
        ("MEDIAN($key) FROM DATABASE 1", "function \"median\" of UQI"),
        ("COUNT($key) FROM DATABASE 1 WHERE even($key)", "function \"even\" of UQI"),
        ("COUNT($key) FROM DATABASE 1 WHERE sum($key)", "\"sum\" is an aggregate"),
        ("COUNT($key) FROM DATABASE 1 WHERE $key = 'x'", "x"),
        ("COUNT($key) FROM DATABASE 1 WHERE 10 / ($record - 5) = 1", "division by zero"),
        ("SUM($key, $record) FROM DATABASE 1", "SUM takes one input"),
        ("\"f@lib.so\"($key) FROM DATABASE 1", "no library is loaded before a directory"),
    ] {
        assert!(error(&db, text).contains(what), "{text}: {}", error(&db, text));
    }
    // A row that is answered without the division needs it not.
    assert_eq!(
        single(&db, "COUNT($key) FROM DATABASE 1 WHERE $record <> 5 AND 10 / ($record - 5) = 0"),
        Datum::U64(2)
    );
}
