//! Definitions that can be, and as bytes.

use super::*;

fn flights() -> TableDefinition {
    TableDefinition::new("air.flights")
        .column("day", Type::Date32)
        .column("carrier", Type::Utf8)
        .column_nullable("delay", Type::F64)
        .column("seats", Type::I32)
        .default_value(Value::from(180i32))
        .primary_key(&["day", "carrier"])
}

/// A table with all that only SQL knows what to do with, and a past.
fn noted() -> TableDefinition {
    let mut table = flights()
        .column_nullable("gate", Type::Utf8)
        .with_column(
            Column::new("crew", Type::I16).default_value(4i16).default_expression("least(seats / 40, 4)"),
        )
        .comment("flights of a day")
        .check("seats_positive", "seats > 0");
    table.columns[2].comment = Some("in minutes".into());
    table.drop_column_at(3);
    table
}

fn logical() -> TableDefinition {
    TableDefinition::new("main.l")
        .with_column(Column::of("id", Logical::Uuid))
        .column("n", Type::I64)
        .with_column(Column::of("j", Logical::Json).default_value("[]"))
        .with_column(Column::of("tags", Logical::list(Type::Utf8)).nullable())
        .primary_key(&["id"])
}

/// Keeps away: a changed format under the same version number, and a definition that an older version takes for one without.
#[test]
fn the_example_of_logical_types_holds() {
    let table =
        TableDefinition::new("main.u").with_column(Column::of("id", Logical::Uuid)).primary_key(&["id"]);
    assert_eq!(
        table.encode(),
        b"\x03\x01\x01\x06main.u\x01\x02id\x11\x00\x00\x01\x00\x00\x00\x00\x01\x00\x01"
    );
    let bytes = logical().encode();
    assert_eq!((bytes[0], flights().encode()[0]), (3, 2));
    assert!(bytes.ends_with(b"\x03\x00\x01\x02\x03\x03\x04\x00\x10"), "{bytes:02x?}");
    let mut none = table.encode();
    none.truncate(none.len() - 3);
    none.push(0);
    let why = "a table definition of a later version without what that is for";
    assert_eq!(TableDefinition::decode(&none), Err(why.into()));
}

/// Keeps away: keys and indexes of values whose bytes are in no order, defaults that no row may have.
#[test]
fn logical_types_are_held_to() {
    let refused = |table: TableDefinition, why: &str| {
        let error = table.validate().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    let table = || TableDefinition::new("t").column("id", Type::I64);
    let tags = || Column::of("tags", Logical::list(Type::Utf8));
    refused(
        table().with_column(tags()).primary_key(&["tags"]),
        "type text[], whose values cannot be part of the key",
    );
    refused(
        table().with_column(Column::of("i", Logical::Interval)).sort_key(&["i"]),
        "cannot be part of the key",
    );
    refused(table().with_column(tags().default_value(vec![7u8])), "its default: ");
    refused(table().with_column(Column { kind: Type::Utf8, ..tags() }), "stored in binary");
    let table = table().with_column(tags()).primary_key(&["id"]);
    let index = crate::IndexDefinition::new("i", "t", &["tags"]);
    let error = crate::IndexOf::resolve(&index, crate::id::TableId(7), &table).unwrap_err();
    assert!(
        matches!(&error, crate::Error::Invalid(what) if what.ends_with("column \"tags\" is of type text[], whose values cannot be in an index")),
        "{error}"
    );
}

/// Keeps away: a definition that changes when it is written and read.
#[test]
fn encoding_round_trips() {
    for table in [
        flights(),
        flights().duplicates().log(false),
        noted(),
        TableDefinition::key_value("main.t").storage(Storage::Memory),
        TableDefinition::new("main.n").column("id", Type::U64).primary_key(&["id"]).auto_increment(),
        TableDefinition::new("main.h").column("x", Type::Bool),
        TableDefinition::new("main.h").column("x", Type::Bool).key_compression(IntegerCodec::Bp128),
        flights().record_compression(RecordCodec::Zstd { level: 22 }).record_dictionary(true),
        TableDefinition::key_value("main.t").record_compression(RecordCodec::Lzf),
        flights().sort_key(&["seats"]).storage(Storage::Column),
        flights().sort_key(&["carrier", "day"]),
        TableDefinition::new("main.h").column("x", Type::Bool).sort_key(&["x"]),
        logical(),
        logical().comment("with notes").sort_key(&["j"]),
    ] {
        assert_eq!(TableDefinition::decode(&table.encode()).unwrap(), table);
    }
}

/// Keeps away: a changed format under the same version number.
#[test]
fn the_example_of_a_sort_key_holds() {
    let table = TableDefinition::new("main.e").column("id", Type::I64).column("day", Type::Date32);
    let table = table.sort_key(&["day"]).primary_key(&["id"]).storage(Storage::Column);
    let bytes = table.encode();
    assert_eq!(bytes[..3], [2, 3, 0x81]);
    assert!(bytes.ends_with(b"\x02\x01\x00\x00\x00\x00\x01\x01\x01\x00"), "{bytes:02x?}");
    // A stored key that does not follow from the others.
    for (at, byte) in [(8, 1), (9, 0), (3, 0), (1, 1)] {
        let mut bad = bytes.clone();
        let end = bad.len();
        bad[end - at] = byte;
        assert!(TableDefinition::decode(&bad).is_err(), "{at}");
    }
}

/// Keeps away: a changed format under the same version number.
#[test]
fn the_example_of_the_format_holds() {
    let expected = b"\x02\x01\x03\x06main.t\x02\x03key\x11\x00\x00\x05value\x11\x00\x00\x01\x00\x00\x04\x09";
    let table = TableDefinition::key_value("main.t").record_compression(RecordCodec::Zstd { level: 9 });
    assert_eq!(table.encode(), expected);
    let expected = b"\x02\x01\x01\x06main.n\x01\x02id\x09\x00\x00\x01\x00\x07\x00\x00";
    let table = TableDefinition::new("main.n").column("id", Type::U64).primary_key(&["id"]);
    assert_eq!(table.key_compression(IntegerCodec::Bp128).encode(), expected);
    let mut table = TableDefinition::new("main.n")
        .column_nullable("x", Type::I32)
        .with_column(Column::new("gone", Type::I32))
        .with_column(Column::new("t", Type::Timestamp).default_expression("now()"))
        .check("positive", "x > 0");
    table.drop_column_at(1);
    let notes = b"\x01\x01\x04\x00\x00\x01\x09positive\x06x > 0\x01\x01\x06now()\x00";
    assert!(table.encode().ends_with(notes), "{:02x?}", table.encode());
}

/// Keeps away: a column that reads another's values when one before it is dropped, or one is added.
#[test]
fn slots_stay() {
    let table = noted();
    let slots: Vec<_> = table.slots().iter().map(|slot| slot.column).collect();
    assert_eq!(slots, [Some(2), None, Some(3), Some(4)]);
    let before = flights();
    let carried = |column| table.column_in(before.stored_in(column));
    assert_eq!([carried(0), carried(1), carried(2), carried(3)], [Some(0), Some(1), Some(2), None]);
    let mut late = table.clone();
    late.drop_column_at(2);
    late.columns.push(Column::new("late", Type::I8).nullable());
    let slots: Vec<_> = late.slots().iter().map(|slot| slot.column).collect();
    assert_eq!(slots, [None, None, Some(2), Some(3), Some(4)]);
    assert_eq!(late.column_in(table.stored_in(4)), Some(3));
    assert_eq!(TableDefinition::decode(&late.encode()).unwrap(), late);
    // A column before the key's, so that their places in the definition change.
    let mut first =
        TableDefinition::new("t").column("x", Type::I8).column("id", Type::I64).primary_key(&["id"]);
    first.columns.push(Column::new("y", Type::I8));
    first.drop_column_at(0);
    assert_eq!(
        (&first.key[..], first.stored_in(0), first.stored_in(1)),
        (&[0][..], StoredIn::Key(0), StoredIn::Row(1))
    );
}

/// Keeps away: databases of the first version that cannot be opened any more.
#[test]
fn version_1_is_read() {
    let bytes = b"\x01\x01\x03\x06main.t\x02\x03key\x11\x00\x00\x05value\x11\x00\x00\x01\x00";
    assert_eq!(TableDefinition::decode(bytes).unwrap(), TableDefinition::key_value("main.t"));
}

/// Keeps away: a panic on damaged catalog rows.
#[test]
fn cut_and_flipped_bytes_are_errors_or_other_definitions() {
    for table in [flights(), noted()] {
        cut_and_flip(&table.encode());
    }
}

fn cut_and_flip(bytes: &[u8]) {
    for len in 0..bytes.len() {
        assert!(TableDefinition::decode(&bytes[..len]).is_err());
    }
    assert!(TableDefinition::decode(&[bytes, &[0]].concat()).is_err());
    for at in 0..bytes.len() {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x41;
        // What is accepted is written as it was read.
        if let Ok(table) = TableDefinition::decode(&bytes) {
            let again = TableDefinition::decode(&table.encode()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{table:?}"));
        }
    }
}

/// Keeps away: keys of another width that are read as integers, and integers that cannot be compressed.
#[test]
fn keys_of_4_and_8_bytes_are_integers() {
    let width = |kinds: &[Type]| {
        let mut table = TableDefinition::new("t").column("value", Type::Utf8);
        let names: Vec<_> = (0..kinds.len()).map(|n| format!("k{n}")).collect();
        for (name, kind) in names.iter().zip(kinds) {
            table = table.column(name.as_str(), *kind);
        }
        let table = table.primary_key(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let compressed = table.clone().key_compression(IntegerCodec::For).validate();
        assert_eq!(compressed.is_ok(), table.key_width().is_some(), "{kinds:?}");
        table.key_width().map(KeyWidth::bytes)
    };
    for four in [Type::I32, Type::U32, Type::F32, Type::Date32] {
        assert_eq!(width(&[four]), Some(4));
    }
    for eight in [Type::I64, Type::U64, Type::F64, Type::Time64, Type::Timestamp] {
        assert_eq!(width(&[eight]), Some(8));
    }
    assert_eq!(width(&[]), Some(8));
    assert_eq!(width(&[Type::U16, Type::Bool, Type::I8]), Some(4));
    assert_eq!(width(&[Type::Date32, Type::U32]), Some(8));
    for other in [&[Type::U16][..], &[Type::U32, Type::U64], &[Type::Utf8], &[Type::U32, Type::Binary]] {
        assert_eq!(width(other), None);
    }
    let order = TableDefinition::new("t").column("k", Type::U32).primary_key(&["k"]).duplicates();
    assert_eq!(order.key_width(), None);
}

/// Keeps away: options that do nothing, and refusals that do not say what to do.
#[test]
fn compression_that_cannot_be_is_refused() {
    let id = || TableDefinition::new("t").column("id", Type::U32).primary_key(&["id"]);
    for (table, part) in [
        (TableDefinition::key_value("t").key_compression(IntegerCodec::For), "u32 or u64 key column"),
        (flights().key_compression(IntegerCodec::For), "any length"),
        (id().duplicates().key_compression(IntegerCodec::For), "have 12, the order"),
        (id().record_dictionary(true), "needs record compression zstd"),
        (id().record_compression(RecordCodec::Lz4).record_dictionary(true), "zstd"),
        (id().record_compression(RecordCodec::Zstd { level: 23 }), "1 to 22, not 23"),
        (id().record_compression(RecordCodec::Zlib { level: 0 }), "1 to 9, not 0"),
    ] {
        let error = table.validate().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// Keeps away: tables that could not hold a row.
#[test]
fn impossible_tables_are_refused() {
    for (table, part) in [
        (TableDefinition::new("t"), "0 columns"),
        (flights().primary_key(&["dya"]), "\"dya\""),
        (flights().primary_key(&["delay"]), "cannot be NULL"),
        (flights().column("day", Type::I8), "two columns"),
        (flights().auto_increment(), "auto-increment"),
        (flights().primary_key(&[]).duplicates(), "duplicate"),
    ] {
        let error = table.validate().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// Keeps away: a level that the codec does not have.
#[test]
fn levels_of_codecs_without_levels_are_refused() {
    let lz4 = TableDefinition::key_value("t").record_compression(RecordCodec::Lz4);
    let mut bytes = lz4.encode();
    assert_eq!(TableDefinition::decode(&bytes), Ok(lz4));
    *bytes.last_mut().unwrap() = 7;
    assert!(TableDefinition::decode(&bytes).unwrap_err().contains("level 7"));
}
