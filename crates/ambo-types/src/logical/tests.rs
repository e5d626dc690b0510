//! Types as bytes, and which bytes are values of them.

use super::*;
use nested::{put_count, put_plain, put_there};

fn person() -> Logical {
    Logical::Struct(vec![("a".into(), Type::I64.into()), ("b".into(), Logical::list(Logical::Uuid).into())])
}

fn many() -> Vec<Logical> {
    vec![
        Logical::Uuid,
        Logical::Interval,
        Logical::Json,
        person(),
        Logical::Array(Box::new(Logical::list(Type::decimal(9, 2).unwrap()).into()), 3),
        Logical::map(Type::Utf8, Logical::map(Type::I32, person())),
        Logical::enumeration(["a", "it's"]),
        Logical::list(Logical::Enum(Arc::new(Enum { name: Some("main.e".into()), ..Enum::of([""]) }))),
    ]
}

/// Keeps away: a type that is another when it is read, and a changed format.
#[test]
fn types_round_trip() {
    for logical in many() {
        let mut bytes = Vec::new();
        logical.encode(&mut bytes);
        let mut input = Input(&bytes);
        assert_eq!(Logical::decode(&mut input), Ok(logical));
        assert!(input.0.is_empty());
        for cut in 0..bytes.len() {
            let error = Logical::decode(&mut Input(&bytes[..cut])).unwrap_err();
            let kinds = [
                "a table definition that is cut off",
                "a bad varint in a table definition",
                "malformed at byte 0: a type is cut off",
                "malformed at byte 0: a decimal type is cut off",
            ];
            assert!(kinds.contains(&error.as_str()), "{cut} of {bytes:02x?}: {error}");
        }
    }
    let mut bytes = Vec::new();
    person().encode(&mut bytes);
    assert_eq!(bytes, b"\x06\x02\x01a\x00\x05\x01b\x04\x01");
    assert_eq!(person().to_string(), "struct(\"a\" bigint, \"b\" uuid[])");
}

/// Keeps away: a stack that overflows, and types that no value can have.
#[test]
fn other_types_are_refused() {
    let deep = Logical::decode(&mut Input(&[4; 10_000]));
    assert_eq!(deep, Err("a logical type that is nested too deep".into()));
    for bytes in [&[0, 5][..], &[9], &[4, 9], &[6, 1, 0], &[8, 0, 1]] {
        assert!(Logical::decode(&mut Input(bytes)).is_err(), "{bytes:?}");
    }
    let twice = vec![("a".to_owned(), Part::Plain(Type::I8)), ("a".to_owned(), Part::Plain(Type::I8))];
    let mut deep = Logical::Uuid;
    (0..=DEPTH_MAX).for_each(|_| deep = Logical::list(deep.clone()));
    for logical in [
        Logical::Struct(Vec::new()),
        Logical::Struct(twice),
        Logical::Array(Box::new(Type::I8.into()), 0),
        Logical::list(Logical::Struct(Vec::new())),
        Logical::enumeration([""; 0]),
        Logical::enumeration(["a", "b", "a"]),
        Logical::enumeration(["\u{1}"]),
        deep,
    ] {
        assert!(logical.validate().is_err(), "{logical}");
    }
    assert!(many().iter().all(|logical| logical.validate().is_ok()));
}

/// Keeps away: places of labels that are not there, and a changed format.
#[test]
fn enums_are_places_of_labels() {
    let moods = Logical::enumeration(["sad", "ok"]);
    assert_eq!(moods.kind(), Type::U16);
    assert_eq!(moods.check(ValueRef::U16(1)), Ok(()));
    assert_eq!(moods.check(ValueRef::U16(2)), Err("2 is not the place of one of its 2 labels".into()));
    assert!(moods.check(ValueRef::Utf8("ok")).is_err());
    let list = Logical::list(moods.clone());
    assert_eq!(list.check(ValueRef::Binary(&[1, 0, 1, 0])), Ok(()));
    assert!(list.check(ValueRef::Binary(&[1, 0, 2, 0])).is_err());
    let [of] = &list.enums()[..] else { panic!("one enum") };
    assert_eq!(of.code("ok"), Ok(1));
    assert_eq!(of.code("bad"), Err("'bad' is none of the labels of the enum: 'sad', 'ok'".into()));
    let mut bytes = Vec::new();
    Logical::enumeration(["a", "b"]).encode(&mut bytes);
    assert_eq!(bytes, b"\x08\x00\x02\x01a\x01b");
    let named = |labels: &[&str]| Arc::new(Enum { name: Some("main.e".into()), ..Enum::of(labels.to_vec()) });
    let list = Logical::list(Logical::Enum(named(&["a"])));
    assert_eq!(list.with_enum(&named(&["a", "b"])).to_string(), "enum('a', 'b')[]");
    assert_eq!(moods.with_enum(&named(&["a"])), moods);
}

/// Keeps away: a changed format of values.
#[test]
fn the_examples_of_values_hold() {
    let mut list = Vec::new();
    put_count(&mut list, 3);
    put_there(&mut list, 3, |nth| nth != 1);
    [1i16, 3].into_iter().for_each(|item| put_plain(&mut list, item.into()));
    assert_eq!(list, [3, 1, 5, 1, 0, 3, 0]);
    let smallints = Logical::list(Type::I16);
    assert_eq!(smallints.check(ValueRef::Binary(&list)), Ok(()));
    assert_eq!(smallints.check(ValueRef::Binary(&[0, 0])), Ok(()));
    let named = Logical::Struct(vec![("a".into(), Type::I8.into()), ("b".into(), Type::Utf8.into())]);
    assert_eq!(named.check(ValueRef::Binary(&[0, 7, 1, b'x'])), Ok(()));
}

/// Keeps away: values that another version of the value is equal to, or that nobody can read.
#[test]
fn other_bytes_are_no_values() {
    let refused = |logical: &Logical, bytes: &[u8]| {
        assert!(logical.check(ValueRef::Binary(bytes)).is_err(), "{logical}: {bytes:02x?}");
    };
    refused(&Logical::Uuid, &[0; 15]);
    refused(&Logical::Uuid, &[0; 17]);
    refused(&Logical::Interval, &[0; 16]);
    let list = Logical::list(Type::I16);
    for bytes in [
        &[][..],
        &[0],
        &[0, 0, 0],
        &[1, 0, 7],
        &[1, 2, 0, 7, 0],
        // All are there, or one that is not.
        &[1, 1, 1, 7, 0],
        &[1, 1, 2, 7, 0],
        &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0],
    ] {
        refused(&list, bytes);
    }
    refused(&Logical::list(Type::Bool), &[1, 0, 2]);
    refused(&Logical::list(Type::Utf8), &[1, 0, 1, 0xFF]);
    refused(&Logical::list(Type::decimal(1, 0).unwrap()), &[&[1, 0, 10][..], &[0; 15]].concat());
    refused(&Logical::list(Logical::Json), &[1, 0, 1, b'x']);
    let why = |logical: Logical, value| logical.check(value).unwrap_err();
    assert_eq!(
        why(Logical::Json, ValueRef::Utf8("{")),
        "'{' is no JSON: a name in quotes is missing, at byte 1"
    );
    assert_eq!(why(Logical::Json, ValueRef::Binary(b"1")), "x'31' is not text");
    assert_eq!(why(Logical::Uuid, ValueRef::Utf8("0123456789abcdef")), "0123456789abcdef is not binary");
}

/// Keeps away: bytes from anywhere that panic, ask for memory without end, or are taken for a value which they are not.
#[test]
fn any_bytes_are_read_or_refused() {
    let mut state = 7u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let types = [many(), vec![Logical::list(Type::I8), Logical::map(Type::Bool, Type::Bool)]].concat();
    let mut values = 0;
    for _ in 0..200_000 {
        let length = random() % 24;
        // Small bytes, so that counts and flags are often such.
        let bytes: Vec<u8> =
            (0..length).map(|_| (random() % 8) as u8 * if random() % 9 == 0 { 31 } else { 1 }).collect();
        let logical = &types[random() as usize % types.len()];
        values += usize::from(logical.check(ValueRef::Binary(&bytes)).is_ok());
    }
    assert!(values > 1000, "{values}");
}
