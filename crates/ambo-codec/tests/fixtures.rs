//! Bytes of released formats, which every later version must read, and write again.
//!
//! Each line of a fixture is a name and the bytes in hex. The files are **never edited**: a new case goes into a
//! new line, a new version of a format into a new file.

use std::collections::BTreeMap;

use ambo_codec::{KeyColumn, KeySpec, RowColumn, RowSpec, Type, Value, ValueRef};

fn read(fixture: &str) -> BTreeMap<&str, Vec<u8>> {
    let lines = fixture.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let parse = |line| {
        let (name, hex): (&str, &str) = str::split_once(line, ' ').expect("a name and bytes");
        let digit = |digit: u8| char::from(digit).to_digit(16).expect("hex") as u8;
        let bytes = hex.trim().as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1]));
        (name, bytes.collect())
    };
    lines.map(parse).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares what was made of the cases with the fixture: the same names, the same bytes.
fn compare(fixture: &str, made: &BTreeMap<&str, Vec<u8>>) {
    let expected = read(fixture);
    let text: String = made.iter().map(|(name, bytes)| format!("{name} {}\n", hex(bytes))).collect();
    assert_eq!(&expected, made, "made now:\n{text}");
}

fn refs(values: &[Value]) -> Vec<ValueRef<'_>> {
    values.iter().map(Value::as_ref).collect()
}

const MONEY: Type = Type::Decimal128 { precision: 20, scale: 2 };

fn money(unscaled: i128) -> Value {
    Value::Decimal128 { unscaled, scale: 2 }
}

fn key_cases() -> Vec<(&'static str, Vec<KeyColumn>, Vec<Value>)> {
    let up = KeyColumn::new;
    let down = |ty| KeyColumn::new(ty).descending();
    vec![
        ("bool", vec![up(Type::Bool), down(Type::Bool)], vec![true.into(), true.into()]),
        ("i8", vec![up(Type::I8), down(Type::I8)], vec![(-2i8).into(), (-2i8).into()]),
        ("i16", vec![up(Type::I16), down(Type::I16)], vec![300i16.into(), 300i16.into()]),
        ("i32", vec![up(Type::I32), down(Type::I32)], vec![i32::MIN.into(), (-2i32).into()]),
        ("i64", vec![up(Type::I64), down(Type::I64)], vec![i64::MIN.into(), i64::MAX.into()]),
        ("u8", vec![up(Type::U8), down(Type::U8)], vec![7u8.into(), 7u8.into()]),
        ("u16", vec![up(Type::U16), down(Type::U16)], vec![300u16.into(), 300u16.into()]),
        ("u32", vec![up(Type::U32), down(Type::U32)], vec![70_000u32.into(), 70_000u32.into()]),
        ("u64", vec![up(Type::U64), down(Type::U64)], vec![u64::MAX.into(), 1u64.into()]),
        ("f32", vec![up(Type::F32), down(Type::F32)], vec![(-1.5f32).into(), f32::NAN.into()]),
        ("f64", vec![up(Type::F64), down(Type::F64)], vec![(-1.5).into(), f64::NAN.into()]),
        ("f64_zero", vec![up(Type::F64), up(Type::F64)], vec![0.0.into(), f64::INFINITY.into()]),
        ("decimal", vec![up(MONEY), down(MONEY)], vec![money(-12_345), money(12_345)]),
        ("date", vec![up(Type::Date32), down(Type::Date32)], vec![Value::Date32(20_777), Value::Date32(-1)]),
        ("time", vec![up(Type::Time64)], vec![Value::Time64(86_399_999_999_999)]),
        ("timestamp", vec![up(Type::Timestamp)], vec![Value::Timestamp(1_795_000_000_123_456)]),
        ("text_raw", vec![up(Type::Utf8)], vec!["Delft\0".into()]),
        ("text_down", vec![down(Type::Utf8)], vec!["Delft\0".into()]),
        ("text_int", vec![up(Type::Utf8), down(Type::I32)], vec!["a\0".into(), (-2i32).into()]),
        ("binary_raw", vec![up(Type::Binary)], vec![vec![0, 1, 255].into()]),
        (
            "binary_pair",
            vec![up(Type::Binary), up(Type::Binary)],
            vec![vec![0, 1, 255].into(), vec![0].into()],
        ),
        ("empty_text", vec![up(Type::Utf8), up(Type::Utf8)], vec!["".into(), "".into()]),
        ("null_up", vec![up(Type::I32).nullable(), up(Type::Utf8).nullable()], vec![Value::Null, "x".into()]),
        (
            "null_down",
            vec![down(Type::I32).nullable(), down(Type::Utf8).nullable()],
            vec![5i32.into(), Value::Null],
        ),
    ]
}

fn row_cases() -> Vec<(&'static str, Vec<RowColumn>, Vec<Value>)> {
    let of = RowColumn::new;
    let several = |ty: Type, values: Vec<Value>| (vec![of(ty).nullable(); values.len()], values);
    let floats = [
        -0.0,
        1.0,
        -100.0,
        1400.0,
        39.02,
        1234.56,
        0.125,
        1_234_567.89,
        12_345_678_901.0,
        0.1 + 0.2,
        f64::NAN,
    ];
    let longs = [0, 1, -1, 300, -70_000, 20_000_000, 1 << 40, i64::MIN, i64::MAX];
    let times = [1_000_000_000, 86_399_000_000_000, 86_399_999_999_999, 70_000];
    let instants = [1_795_000_000_000_000, 1_795_000_000_123_000, 1_795_000_000_123_456, -5];
    let texts =
        ["", " ", "x", "UA", "JFK", "abcd", "Delft", "N14228", "abcdefgh", "0123456789abcdef", "-----", "é€"];
    let mut cases = vec![
        ("no_fields", vec![], vec![]),
        (
            "worked_example",
            vec![of(Type::I64), of(Type::Utf8), of(Type::F64), of(Type::Bool), of(Type::I32).nullable()],
            vec![300i64.into(), "Delft".into(), 12.34.into(), true.into(), Value::Null],
        ),
        (
            "defaults",
            vec![of(Type::I32).with_default(500i32), of(Type::Bool), of(Type::Utf8).with_default("unknown")],
            vec![500i32.into(), false.into(), "unknown".into()],
        ),
        (
            "small_types",
            [Type::I8, Type::I16, Type::I32, Type::U8, Type::U16, Type::U32, Type::U64].map(of).to_vec(),
            vec![
                (-128i8).into(),
                300i16.into(),
                (-5i32).into(),
                255u8.into(),
                65_535u16.into(),
                9u32.into(),
                u64::MAX.into(),
            ],
        ),
        ("long_text", vec![of(Type::Utf8)], vec!["ab".repeat(150).into()]),
        ("blanks", vec![of(Type::Utf8), of(Type::Binary)], vec![" ".repeat(255).into(), vec![0; 16].into()]),
    ];
    let mut add = |name, (columns, values)| cases.push((name, columns, values));
    add("bigint", several(Type::I64, longs.map(Value::from).to_vec()));
    add("double", several(Type::F64, floats.map(Value::from).to_vec()));
    add("real", several(Type::F32, [0.5f32, 99.95, 1e20, -3.0].map(Value::from).to_vec()));
    add("decimal", several(MONEY, [0, 12_345, -1, 1i128 << 65].map(money).to_vec()));
    add("date", several(Type::Date32, vec![Value::Date32(20_777), Value::Null, Value::Date32(-1)]));
    add("time", several(Type::Time64, times.map(Value::Time64).to_vec()));
    add("timestamp", several(Type::Timestamp, instants.map(Value::Timestamp).to_vec()));
    let digits = [12.345, -52.37021, 4.89516789, 1_234_567.890_12, -1_234_567_890.125];
    add("double_digits", several(Type::F64, digits.map(Value::from).to_vec()));
    let midnights = [1_794_960_000_000_000, -86_400_000_000];
    add("timestamp_midnight", several(Type::Timestamp, midnights.map(Value::Timestamp).to_vec()));
    add("text", several(Type::Utf8, texts.map(Value::from).to_vec()));
    add("binary", several(Type::Binary, vec![vec![255].into(), vec![1, 2, 3, 4, 5].into()]));
    cases
}

// Keeps away a change of the key format that makes old tables unreadable.
#[test]
fn keys() {
    let mut made = BTreeMap::new();
    for (name, columns, values) in key_cases() {
        let spec = KeySpec::new(columns).unwrap();
        let mut key = Vec::new();
        spec.encode(&refs(&values), &mut key).unwrap();
        assert_eq!(spec.decode(&key).unwrap(), values);
        assert!(made.insert(name, key).is_none());
    }
    compare(include_str!("../fixtures/keys-v1.txt"), &made);
}

// Keeps away a change of the row format that makes old tables unreadable.
#[test]
fn rows() {
    let mut made = BTreeMap::new();
    for (name, columns, values) in row_cases() {
        let spec = RowSpec::new(columns).unwrap();
        let mut row = Vec::new();
        spec.encode(&refs(&values), &mut row).unwrap();
        assert_eq!(spec.decode_values(&row).unwrap(), values);
        assert!(made.insert(name, row).is_none());
    }
    compare(include_str!("../fixtures/rows-v1.txt"), &made);
}
