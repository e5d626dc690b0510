//! Values: any of any type for the property tests of the crate, and the tests of order, text and fit.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::types::tests::ALL;

/// A type of a column, decimals among them.
pub(crate) fn any_type() -> impl Strategy<Value = Type> {
    select(ALL.to_vec())
}

fn any_double() -> BoxedStrategy<f64> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN,
        f64::MAX,
        5e-324,
    ];
    prop_oneof![
        select(special.to_vec()),
        any::<u64>().prop_map(f64::from_bits),
        (any::<i64>(), 0u32..64).prop_map(|(value, shift)| (value >> shift) as f64),
        (any::<i64>(), 0u32..64).prop_map(|(value, shift)| (value >> shift) as f64 / 100.0),
        any::<f32>().prop_map(f64::from),
    ]
    .boxed()
}

fn any_long() -> BoxedStrategy<i64> {
    prop_oneof![
        select(vec![0, 1, -1, i64::MIN, i64::MAX]),
        (any::<i64>(), 0u32..64).prop_map(|(value, shift)| value >> shift),
        (-100_000i64..2_000_000_000, select(vec![1_000, 1_000_000, 1_000_000_000]))
            .prop_map(|(count, unit)| count * unit),
    ]
    .boxed()
}

/// Bytes with many zeros, 0x01 and 0xff in them, and of every length class of the row format.
fn any_bytes() -> BoxedStrategy<Vec<u8>> {
    let byte = prop_oneof![select(vec![0u8, 1, 0xfe, 0xff]), any::<u8>()];
    prop_oneof![
        8 => prop::collection::vec(byte, 0..20),
        1 => (any::<u8>(), 0usize..300).prop_map(|(byte, count)| vec![byte; count]),
        1 => prop::collection::vec(any::<u8>(), 250..400),
    ]
    .boxed()
}

fn any_text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => "[ -~]{0,20}",
        2 => "[a\u{0}\u{1}\u{7f}é€𝄞]{0,6}",
        1 => (select(vec!['a', ' ', '\0', 'é']), 0usize..300).prop_map(|(c, count)| String::from(c).repeat(count)),
    ]
    .boxed()
}

/// Any value of type `ty` but NULL, with edges more often than chance has them.
pub(crate) fn any_value_of(ty: Type) -> BoxedStrategy<Value> {
    match ty {
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::I8 => any::<i8>().prop_map(Value::I8).boxed(),
        Type::I16 => any::<i16>().prop_map(Value::I16).boxed(),
        Type::I32 => any_long().prop_map(|value| Value::I32(value as i32)).boxed(),
        Type::I64 => any_long().prop_map(Value::I64).boxed(),
        Type::U8 => any::<u8>().prop_map(Value::U8).boxed(),
        Type::U16 => any::<u16>().prop_map(Value::U16).boxed(),
        Type::U32 => any_long().prop_map(|value| Value::U32(value as u32)).boxed(),
        Type::U64 => any_long().prop_map(|value| Value::U64(value as u64)).boxed(),
        Type::F32 => any_double().prop_map(|value| Value::F32(value as f32)).boxed(),
        Type::F64 => any_double().prop_map(Value::F64).boxed(),
        Type::Decimal128 { precision, scale } => (any::<i128>(), 0u32..128)
            .prop_map(move |(value, shift)| {
                let limit = 10i128.pow(precision.into());
                Value::Decimal128 { unscaled: (value >> shift) % limit, scale }
            })
            .boxed(),
        Type::Date32 => any_long().prop_map(|value| Value::Date32(value as i32)).boxed(),
        Type::Time64 => any_long().prop_map(Value::Time64).boxed(),
        Type::Timestamp => any_long().prop_map(Value::Timestamp).boxed(),
        Type::TimestampTz => any_long().prop_map(Value::TimestampTz).boxed(),
        Type::Utf8 => any_text().prop_map(Value::Utf8).boxed(),
        Type::Binary => any_bytes().prop_map(Value::Binary).boxed(),
    }
}

fn hash_of(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

proptest! {
    // Keeps away a dump that cannot be loaded again.
    #[test]
    fn text_round_trips((ty, value) in any_type().prop_flat_map(|ty| (Just(ty), any_value_of(ty)))) {
        prop_assert_eq!(Value::parse(&value.to_string(), ty), Ok(value));
    }

    // Keeps away an order that is not total, or equal values with different hashes.
    #[test]
    fn order_is_total((left, middle, right) in any_type().prop_flat_map(|ty| {
        (any_value_of(ty), any_value_of(ty), any_value_of(ty))
    })) {
        prop_assert_eq!(left.cmp(&middle), middle.cmp(&left).reverse());
        if left <= middle && middle <= right {
            prop_assert!(left <= right);
        }
        if left == middle {
            prop_assert_eq!(hash_of(&left), hash_of(&middle));
        }
        prop_assert!(Value::Null < left);
        prop_assert_eq!(left.cmp(&left), Ordering::Equal);
    }

    // Keeps away a conversion that changes the number on its way there and back.
    #[test]
    fn fit_loses_nothing((from, to, value) in (any_type(), any_type()).prop_flat_map(|(from, to)| {
        (Just(from), Just(to), any_value_of(from))
    })) {
        if let Ok(fitted) = value.clone().fit(to) {
            prop_assert!(fitted.as_ref().is_of(to));
            if from.is_numeric() {
                prop_assert_eq!(fitted.fit(from), Ok(value));
            }
        }
    }
}

// Keeps away surprises in the order of floats.
#[test]
fn floats_are_ordered_totally() {
    let ascending = [f64::NEG_INFINITY, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::INFINITY, f64::NAN];
    for pair in ascending.windows(2) {
        assert!(Value::F64(pair[0]) < Value::F64(pair[1]), "{pair:?}");
    }
    assert_eq!(Value::F64(-0.0), Value::F64(0.0));
    assert_eq!(Value::F64(-f64::NAN), Value::F64(f64::NAN));
    assert_eq!(hash_of(&Value::F32(-0.0)), hash_of(&Value::F32(0.0)));
}

// Keeps away text that a person would not expect.
#[test]
fn display_examples() {
    let decimal = |unscaled, scale| Value::Decimal128 { unscaled, scale };
    for (value, text) in [
        (decimal(-5, 2), "-0.05"),
        (decimal(12345, 2), "123.45"),
        (decimal(12, -3), "12000"),
        (Value::Date32(20_777), "2026-11-20"),
        (Value::Time64(3_600_000_000_500), "01:00:00.0000005"),
        (Value::Timestamp(-1), "1969-12-31 23:59:59.999999"),
        (Value::from(vec![0, 255]), "x'00ff'"),
        (Value::from("it's"), "it's"),
        (Value::Null, "NULL"),
    ] {
        assert_eq!(value.to_string(), text);
    }
    assert!(Value::parse("1.005", Type::Decimal128 { precision: 9, scale: 2 }).is_err());
    assert!(Value::parse("1000", Type::Decimal128 { precision: 3, scale: 0 }).is_err());
    assert!(Value::parse("", Type::I32).is_err());
    assert!(Value::parse("-", Type::Decimal128 { precision: 3, scale: 0 }).is_err());
    assert_eq!(Value::parse("1.50", Type::Decimal128 { precision: 9, scale: 2 }), Ok(decimal(150, 2)));
}

// Keeps away literals that are refused though they fit, or taken though they do not.
#[test]
fn fit_examples() {
    assert_eq!(Value::from(7i32).fit(Type::U8), Ok(Value::U8(7)));
    assert_eq!(Value::from(7i64).fit(Type::F64), Ok(Value::F64(7.0)));
    assert_eq!(Value::from(None::<i64>).fit(Type::U8), Ok(Value::Null));
    assert_eq!(Value::from("a").fit(Type::Binary), Ok(Value::from(vec![b'a'])));
    assert!(Value::from(-1i32).fit(Type::U8).is_err());
    assert!(Value::from(0.5).fit(Type::I64).is_err());
    assert!(Value::from("7").fit(Type::I64).is_err());
}
