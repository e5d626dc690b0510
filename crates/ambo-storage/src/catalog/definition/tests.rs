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

/// Keeps away: a definition that changes when it is written and read.
#[test]
fn encoding_round_trips() {
    for table in [
        flights(),
        flights().duplicates().log(false),
        TableDefinition::key_value("main.t").storage(Storage::Memory),
        TableDefinition::new("main.n").column("id", Type::U64).primary_key(&["id"]).auto_increment(),
        TableDefinition::new("main.h").column("x", Type::Bool),
        TableDefinition::new("main.h").column("x", Type::Bool).key_compression(IntegerCodec::Bp128),
        flights().record_compression(RecordCodec::Zstd { level: 22 }).record_dictionary(true),
        TableDefinition::key_value("main.t").record_compression(RecordCodec::Lzf),
        flights().sort_key(&["seats"]).storage(Storage::Column),
        flights().sort_key(&["carrier", "day"]),
        TableDefinition::new("main.h").column("x", Type::Bool).sort_key(&["x"]),
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
    let bytes = flights().encode();
    for len in 0..bytes.len() {
        assert!(TableDefinition::decode(&bytes[..len]).is_err());
    }
    assert!(TableDefinition::decode(&[&bytes[..], &[0]].concat()).is_err());
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
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
