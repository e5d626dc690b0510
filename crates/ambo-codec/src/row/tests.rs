//! Rows: round trips, projections, evolution of the schema, sizes and hostile bytes.

use proptest::prelude::*;

use super::*;
use crate::value::tests::{any_type, any_value_of};

fn any_column() -> impl Strategy<Value = RowColumn> {
    (any_type(), any::<bool>()).prop_flat_map(|(ty, nullable)| {
        let default = prop_oneof![3 => Just(None), 1 => any_value_of(ty).prop_map(Some)];
        default.prop_map(move |default| RowColumn { ty, nullable, default })
    })
}

fn any_spec() -> impl Strategy<Value = RowSpec> {
    prop::collection::vec(any_column(), 0..12).prop_map(|columns| RowSpec::new(columns).unwrap())
}

fn any_field(column: &RowColumn) -> BoxedStrategy<Value> {
    let mut choices = vec![(6, any_value_of(column.ty))];
    if column.nullable {
        choices.push((2, Just(Value::Null).boxed()));
    }
    if let Some(default) = &column.default {
        choices.push((2, Just(default.clone()).boxed()));
    }
    prop::strategy::Union::new_weighted(choices).boxed()
}

fn any_row() -> impl Strategy<Value = (RowSpec, Vec<Value>)> {
    any_spec().prop_flat_map(|spec| {
        let values: Vec<_> = spec.columns().iter().map(any_field).collect();
        (Just(spec), values)
    })
}

fn refs(values: &[Value]) -> Vec<ValueRef<'_>> {
    values.iter().map(Value::as_ref).collect()
}

fn encoded(spec: &RowSpec, values: &[Value]) -> Vec<u8> {
    let mut row = Vec::new();
    spec.encode(&refs(values), &mut row).unwrap();
    row
}

/// What both ways to read a whole row say, which must be the same.
fn decoded<'a>(spec: &'a RowSpec, row: &'a [u8]) -> Result<Vec<ValueRef<'a>>> {
    let mut out = Vec::new();
    let result = spec.decode(row, &mut out).map(|()| out);
    let fields: Result<Vec<_>> = spec.fields(row).and_then(Iterator::collect);
    assert_eq!(fields.is_ok(), result.is_ok(), "{row:02x?}: {fields:?}, {result:?}");
    if let (Ok(fields), Ok(values)) = (fields, &result) {
        assert_eq!(format!("{fields:?}"), format!("{values:?}"));
    }
    result
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // Keeps away rows that read back as others, down to the bits of a float.
    #[test]
    fn round_trip((spec, values) in any_row(), before in any::<[u8; 2]>()) {
        let mut bytes = before.to_vec();
        spec.encode(&refs(&values), &mut bytes).unwrap();
        prop_assert_eq!(&bytes[..2], &before);
        let read = decoded(&spec, &bytes[2..]).unwrap();
        prop_assert_eq!(read.len(), values.len());
        for (read, value) in read.iter().zip(&values) {
            prop_assert!(is_identical(*read, value.as_ref()), "{read} is not {value}");
        }
        prop_assert_eq!(spec.decode_values(&bytes[2..]).unwrap(), values);
    }

    // Keeps away a double of few digits that is read as its neighbour, and one that takes all eight bytes.
    #[test]
    fn doubles_of_few_digits(digits in -(1i64 << 44)..1 << 44, shift in 0u32..44, behind in 0i32..12, ulps in 0u64..2) {
        let decimal = format!("{}e-{behind}", digits >> shift).parse::<f64>().unwrap();
        let value = f64::from_bits(decimal.to_bits() + ulps);
        let spec = RowSpec::new(vec![RowColumn::new(Type::F64)]).unwrap();
        let row = encoded(&spec, &[value.into()]);
        let read = decoded(&spec, &row).unwrap();
        prop_assert!(is_identical(read[0], value.into()), "{value} is not {}", read[0]);
        prop_assert!(ulps > 0 || behind > 5 || decimal.abs() > 2e6 || row.len() < 10, "{value}");
    }

    // Keeps away a projection or a single read that sees another value than the full decode.
    #[test]
    fn projection_equals_full((spec, values) in any_row(), picks in prop::collection::vec(any::<u8>(), 0..6)) {
        let row = encoded(&spec, &values);
        for (column, value) in values.iter().enumerate() {
            prop_assert_eq!(spec.decode_column(&row, column).unwrap(), value.as_ref());
        }
        let columns: Vec<usize> = match values.len() {
            0 => vec![],
            len => picks.iter().map(|pick| usize::from(*pick) % len).collect(),
        };
        let projection = spec.projection(&columns).unwrap();
        let mut out = vec![ValueRef::Bool(true)];
        spec.decode_projection(&projection, &row, &mut out).unwrap();
        let wanted = columns.iter().map(|column| values[*column].as_ref());
        prop_assert_eq!(&out[1..], &wanted.collect::<Vec<_>>()[..]);
        let mut visited = vec![None; columns.len()];
        let put = |place: usize, value| {
            visited[place] = Some(value);
            Ok(())
        };
        spec.visit_projection(&projection, &row, put).unwrap();
        let visited: Vec<_> = visited.into_iter().map(Option::unwrap).collect();
        prop_assert_eq!(&visited[..], &out[1..]);
    }

    // Keeps away an ADD COLUMN that needs its table rewritten.
    #[test]
    fn added_columns_have_their_missing_value((spec, values) in any_row(), added in any_column()) {
        let row = encoded(&spec, &values);
        let columns = [spec.columns(), std::slice::from_ref(&added)].concat();
        let longer = RowSpec::new(columns).unwrap();
        match longer.missing(values.len()) {
            Some(missing) => {
                let read = decoded(&longer, &row).unwrap();
                prop_assert_eq!(read[values.len()], missing);
                prop_assert_eq!(&read[..values.len()], &refs(&values)[..]);
                let again: Vec<Value> = read.into_iter().map(ValueRef::to_value).collect();
                prop_assert_eq!(encoded(&longer, &again), row);
            }
            None => prop_assert!(decoded(&longer, &row).is_err()),
        }
    }

    // Keeps away columns that are lost, or seen, where a row is read or changed with fewer columns than it was written with.
    #[test]
    fn later_columns_are_stepped_over_and_kept((spec, values) in any_row(), (fewer, own) in any_row(), cut in any::<prop::sample::Index>()) {
        let row = encoded(&spec, &values);
        let known = RowSpec::new(spec.columns()[..cut.index(values.len() + 1)].to_vec()).unwrap();
        let len = known.columns().len();
        prop_assert_eq!(decoded(&known, &row).unwrap(), refs(&values[..len]));
        prop_assert_eq!(&known.decode_values(&row).unwrap()[..], &values[..len]);
        // A row of the columns that are known takes the place of it.
        let all = RowSpec::new([fewer.columns(), spec.columns()].concat()).unwrap();
        let before: Vec<Value> = own.iter().chain(&values).cloned().collect();
        let mut over = Vec::new();
        fewer.encode_over(&refs(&own), &encoded(&all, &before), &mut over).unwrap();
        prop_assert_eq!(decoded(&all, &over).unwrap(), refs(&before));
        prop_assert_eq!(decoded(&fewer, &over).unwrap(), refs(&own));
        prop_assert!(RowSpec::stored_count(&over).unwrap() <= all.columns().len());
    }

    // Keeps away panics on damaged rows, and reads that disagree about them.
    #[test]
    fn hostile_bytes((spec, values) in any_row(), edits in prop::collection::vec(any::<(u16, u8)>(), 0..4),
                     random in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut damaged = encoded(&spec, &values);
        for (at, byte) in edits {
            let at = usize::from(at) % (damaged.len() + 1);
            damaged.truncate(if byte == 0 { at } else { damaged.len() });
            if let Some(old) = damaged.get_mut(at) {
                *old = byte;
            }
        }
        for bytes in [damaged, random] {
            let full = spec.decode_values(&bytes);
            for column in 0..spec.columns().len() {
                let single = spec.decode_column(&bytes, column);
                let _ = spec.encode_over(&refs(&values), &bytes, &mut Vec::new());
                if let Ok(full) = &full {
                    prop_assert_eq!(single.unwrap(), full[column].as_ref());
                }
            }
            if let Ok(values) = full {
                let again = encoded(&spec, &values);
                prop_assert_eq!(decoded(&spec, &again).unwrap(), refs(&values));
            }
        }
    }
}

// Keeps away drift from the documented example.
#[test]
fn worked_example() {
    let spec = RowSpec::new(vec![
        RowColumn::new(Type::I64),
        RowColumn::new(Type::Utf8),
        RowColumn::new(Type::F64),
        RowColumn::new(Type::Bool),
        RowColumn::new(Type::I32).nullable(),
    ]);
    let row =
        encoded(&spec.unwrap(), &[300i64.into(), "Delft".into(), 12.34.into(), true.into(), Value::Null]);
    let bytes = [0x04, 0xe6, 0x37, 0x58, 0x02, 0x05, 0x44, 0x65, 0x6c, 0x66, 0x74, 0xa4, 0x09];
    assert_eq!(row, bytes);
}

/// The payload's size in bytes of one value.
fn payload(ty: Type, value: Value) -> usize {
    let spec = RowSpec::new(vec![RowColumn::new(ty)]).unwrap();
    encoded(&spec, &[value]).len() - 2
}

// Keeps away values that take more bytes than the table of codes promises.
#[test]
fn payload_sizes() {
    let text = |text: &str| (Type::Utf8, Value::from(text));
    let decimal =
        |unscaled| (Type::Decimal128 { precision: 38, scale: 2 }, Value::Decimal128 { unscaled, scale: 2 });
    let cases = [
        (Type::I64, Value::I64(0), 0),
        (Type::I64, Value::I64(1), 0),
        (Type::I64, Value::I64(-128), 1),
        (Type::I64, Value::I64(8_000_000), 3),
        (Type::I64, Value::I64(1 << 40), 6),
        (Type::I64, Value::I64(i64::MIN), 8),
        (Type::U8, Value::U8(255), 1),
        (Type::F64, Value::F64(-100.0), 1),
        (Type::F64, Value::F64(1400.0), 2),
        (Type::F64, Value::F64(39.02), 2),
        (Type::F64, Value::F64(70_000.0), 3),
        (Type::F64, Value::F64(1234.56), 3),
        (Type::F64, Value::F64(0.125), 4),
        (Type::F64, Value::F64(-0.0), 4),
        (Type::F64, Value::F64(1_234_567.89), 4),
        (Type::F64, Value::F64(12_345_678_901.0), 6),
        (Type::F64, Value::F64(12.345), 4),
        (Type::F64, Value::F64(-52.37021), 5),
        (Type::F64, Value::F64(4.89516789), 6),
        (Type::F64, Value::F64(1_234_567.890_12), 7),
        (Type::F64, Value::F64(1_234_567_890.125), 7),
        (Type::F64, Value::F64(123_456.123_456_789), 8),
        (Type::F64, Value::F64(std::f64::consts::PI), 8),
        (Type::F32, Value::F32(99.95), 2),
        (Type::Time64, Value::Time64(86_399_000_000_000), 3),
        (Type::Time64, Value::Time64(86_399_000_000_001), 6),
        (Type::Timestamp, Value::Timestamp(1_794_960_000_000_000), 2),
        (Type::Timestamp, Value::Timestamp(-86_400_000_000), 2),
        (Type::Timestamp, Value::Timestamp(32_767 * 86_400_000_000), 2),
        (Type::Timestamp, Value::Timestamp(32_768 * 86_400_000_000), 6),
        (Type::Timestamp, Value::Timestamp(1_795_000_000_000_000), 4),
        (Type::Timestamp, Value::Timestamp(1_795_000_000_123_000), 6),
        (Type::Timestamp, Value::Timestamp(1_795_000_000_123_456), 8),
        (Type::Date32, Value::Date32(20_777), 2),
        (decimal(12345).0, decimal(12345).1, 2),
        (decimal(1 << 70).0, decimal(1 << 70).1, 16),
        (text("").0, text("").1, 0),
        (text(" ").0, text(" ").1, 0),
        (text("UA").0, text("UA").1, 2),
        (text("JFK").0, text("JFK").1, 3),
        (text("N14228").0, text("N14228").1, 6),
        (text("Delft").0, text("Delft").1, 6),
        (Type::Utf8, Value::from(" ".repeat(200)), 2),
        (Type::Utf8, Value::from("é".repeat(100)), 201),
        (Type::Binary, Value::from(vec![7; 256]), 258),
    ];
    for (ty, value, size) in cases {
        assert_eq!(payload(ty, value.clone()), size, "{value}");
    }
}

// Keeps away sparse tables whose empty columns cost something.
#[test]
fn trailing_missing_values_cost_nothing() {
    let mut columns = vec![RowColumn::new(Type::I64)];
    columns.extend(vec![RowColumn::new(Type::Utf8).nullable(); 500]);
    columns.push(RowColumn::new(Type::Utf8).with_default("unknown"));
    let spec = RowSpec::new(columns).unwrap();
    let mut values = vec![Value::Null; 502];
    values[0] = 7i64.into();
    values[501] = "unknown".into();
    assert_eq!(encoded(&spec, &values).len(), 3);
    values[501] = "known".into();
    assert_eq!(encoded(&spec, &values).len(), 2 + 251 + 1 + 6);
}

// Keeps away values that do not fit, and a half-written row after the error.
#[test]
fn refuses_wrong_values() {
    let spec = RowSpec::new(vec![RowColumn::new(Type::I32), RowColumn::new(Type::Utf8)]).unwrap();
    let mut out = vec![9];
    for values in [
        &[ValueRef::from(1i32)][..],
        &[ValueRef::Null, "a".into()],
        &[1i64.into(), "a".into()],
        &[1i32.into(), ValueRef::Binary(b"a")],
    ] {
        assert!(matches!(spec.encode(values, &mut out), Err(Error::Invalid(_))));
    }
    assert_eq!(out, [9]);
    assert!(RowSpec::new(vec![RowColumn::new(Type::I32).with_default(1i64)]).is_err());
    assert!(RowSpec::new(vec![RowColumn::new(Type::I32).with_default(Value::Null)]).is_err());
    assert!(spec.projection(&[2]).is_err());
}

// Keeps away damage that passes for a row.
#[test]
fn refuses_damage() {
    let spec = RowSpec::new(vec![RowColumn::new(Type::I32), RowColumn::new(Type::Utf8).nullable()]).unwrap();
    for bytes in [
        &[][..],
        &[0x03, 0x22, 0x12],
        &[0x03, 0x22, 0x05],
        &[0x05, 0x22, 0x22],
        &[0xff, 0xff, 0x03],
        &[0x02],
        &[0x01, 0x12],
        &[0x01, 0x01],
        &[0x01, 0x00],
        &[0x01, 0x04],
        &[0x01, 0x07, 1, 1],
        &[0x01, 0x0c, 0, 0, 0, 0, 1, 0, 0, 0],
        &[0x01, 0x02, 0x00],
        &[0x02, 0xe2, 5, b'a'],
        &[0x02, 0x52, 0xff],
        &[0x02, 0x72, 0x80, 1],
        &[0x02, 0x72, b'a', 0],
        &[0x02, 0xf2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        &[0x00, 0x00],
    ] {
        assert!(decoded(&spec, bytes).is_err(), "{bytes:02x?}");
    }
    assert_eq!(decoded(&spec, &[0x01, 0x02]).unwrap(), [0i32.into(), ValueRef::Null]);
    // A third field, of a column that was added later.
    assert_eq!(decoded(&spec, &[0x03, 0x12, 0x05, 7]).unwrap(), [0i32.into(), ValueRef::Null]);
    let doubles = RowSpec::new(vec![RowColumn::new(Type::F64)]).unwrap();
    for bytes in [
        &[0x01, 0x0e][..],
        &[0x01, 0x0e, 0],
        &[0x01, 0x0e, 2, 1],
        &[0x01, 0x0e, 7, 0, 0, 0, 0, 0, 0, 0],
        &[0x01, 0x0e, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x01, 0x0f, 1, 1],
        &[0x01, 0x0d],
    ] {
        assert!(decoded(&doubles, bytes).is_err(), "{bytes:02x?}");
    }
    let example = [0x01, 0x0e, 0x04, 0xd3, 0x91, 0xfe, 0x04];
    assert_eq!(decoded(&doubles, &example).unwrap(), [52.37021.into()]);
    assert_eq!(encoded(&doubles, &[52.37021.into()]), example);
}
