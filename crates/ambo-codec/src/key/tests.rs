//! Keys: order, round trips, ranges and hostile bytes.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::Value;
use crate::value::tests::{any_type, any_value_of};

fn any_column() -> impl Strategy<Value = KeyColumn> {
    (any_type(), any::<bool>(), any::<bool>()).prop_map(|(ty, descending, nullable)| KeyColumn {
        ty,
        order: if descending { Order::Descending } else { Order::Ascending },
        nullable,
    })
}

fn any_spec() -> impl Strategy<Value = KeySpec> {
    prop::collection::vec(any_column(), 1..4).prop_map(|columns| KeySpec::new(columns).unwrap())
}

fn any_values(spec: &KeySpec) -> BoxedStrategy<Vec<Value>> {
    let values = spec.columns().iter().map(|column| {
        let value = any_value_of(column.ty);
        if column.nullable { prop_oneof![1 => Just(Value::Null), 5 => value].boxed() } else { value }
    });
    values.collect::<Vec<_>>().boxed()
}

/// Two keys of one spec that often agree in their first columns.
fn any_pair() -> impl Strategy<Value = (KeySpec, Vec<Value>, Vec<Value>, usize)> {
    any_spec().prop_flat_map(|spec| {
        let (left, right) = (any_values(&spec), any_values(&spec));
        (Just(spec.clone()), left, right, 0..=spec.columns().len()).prop_map(
            |(spec, left, mut right, same)| {
                right[..same].clone_from_slice(&left[..same]);
                (spec, left, right, same)
            },
        )
    })
}

fn refs(values: &[Value]) -> Vec<ValueRef<'_>> {
    values.iter().map(Value::as_ref).collect()
}

fn encoded(spec: &KeySpec, values: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    spec.encode(&refs(values), &mut key).unwrap();
    key
}

fn compare(spec: &KeySpec, left: &[Value], right: &[Value]) -> Ordering {
    let columns = spec.columns().iter().zip(left.iter().zip(right));
    let mut orders = columns.map(|(column, (left, right))| match column.order {
        Order::Ascending => left.cmp(right),
        Order::Descending => right.cmp(left),
    });
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // Keeps away keys that a tree would keep in another order than SQL sees.
    #[test]
    fn order_is_preserved((spec, left, right, _) in any_pair()) {
        let (left_key, right_key) = (encoded(&spec, &left), encoded(&spec, &right));
        prop_assert_eq!(left_key.cmp(&right_key), compare(&spec, &left, &right));
    }

    // Keeps away keys that read back as others, and lengths of prefixes that disagree with the encoder.
    #[test]
    fn round_trip((spec, values, _, columns) in any_pair()) {
        let key = encoded(&spec, &values);
        prop_assert_eq!(spec.decode(&key).unwrap(), values.clone());
        if let Some(width) = spec.fixed_width() {
            prop_assert_eq!(key.len(), width);
        }
        let mut prefix = Vec::new();
        spec.encode_prefix(&refs(&values[..columns]), &mut prefix).unwrap();
        prop_assert_eq!(spec.prefix_len(&key, columns), Ok(prefix.len()));
        prop_assert!(key.starts_with(&prefix));
    }

    // Keeps away a column that is read as another when only some of a key are asked for.
    #[test]
    fn some_columns_are_those_of_all(
        (spec, values, _, _) in any_pair(), times in prop::collection::vec(0usize..3, 4),
    ) {
        let key = encoded(&spec, &values);
        let columns: Vec<usize> = (0..values.len()).flat_map(|column| vec![column; times[column]]).collect();
        let (mut scratch, mut read) = (vec![1], Vec::new());
        let put = |index: usize, value: ValueRef<'_>| {
            assert_eq!(index, read.len());
            read.push(value.to_value());
            Ok(())
        };
        spec.visit_columns(&key, &columns, &mut scratch, put).unwrap();
        prop_assert_eq!(read, columns.iter().map(|column| values[*column].clone()).collect::<Vec<_>>());
    }

    // Keeps away ranges that miss a key or catch a neighbour.
    #[test]
    fn prefix_range_is_exact((spec, left, right, columns) in any_pair()) {
        let range = spec.prefix_range(&refs(&left[..columns])).unwrap();
        prop_assert!(range.contains(&encoded(&spec, &left)));
        let same = left[..columns] == right[..columns];
        prop_assert_eq!(range.contains(&encoded(&spec, &right)), same);
        let other = spec.prefix_range(&refs(&right[..columns])).unwrap();
        prop_assert_eq!(other.contains(&encoded(&spec, &left)), same);
    }

    // Keeps away a LIKE 'abc%' that misses a text or catches another.
    #[test]
    fn starts_with_is_exact(
        (text, other, more) in ("[ab\u{0}\u{ff}]{0,4}", "[ab\u{0}\u{ff}]{0,4}", any::<i8>()),
        descending in any::<bool>(), last in any::<bool>(), start in "[ab\u{0}\u{ff}]{0,3}",
    ) {
        let column = if descending { KeyColumn::new(Type::Utf8).descending() } else { KeyColumn::new(Type::Utf8) };
        let (columns, values): (_, Vec<Value>) = match last {
            true => (vec![column], vec![text.as_str().into()]),
            false => (vec![column, KeyColumn::new(Type::I8)], vec![text.as_str().into(), more.into()]),
        };
        let spec = KeySpec::new(columns).unwrap();
        let range = spec.starts_with_range(&[start.as_str().into()]).unwrap();
        prop_assert_eq!(range.contains(&encoded(&spec, &values)), text.starts_with(&start));
        let exact = spec.prefix_range(&[other.as_str().into()]).unwrap();
        prop_assert_eq!(exact.contains(&encoded(&spec, &values)), text == other);
    }

    // Keeps away panics on damaged keys, and two keys for the same values.
    #[test]
    fn hostile_bytes((spec, values, _, _) in any_pair(), edits in prop::collection::vec(any::<(u16, u8)>(), 0..4),
                     random in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut damaged = encoded(&spec, &values);
        for (at, byte) in edits {
            let at = usize::from(at) % (damaged.len() + 1);
            damaged.truncate(if byte == 0 { at } else { damaged.len() });
            if let Some(old) = damaged.get_mut(at) {
                *old = byte;
            }
        }
        for bytes in [damaged, random] {
            if let Ok(values) = spec.decode(&bytes) {
                prop_assert_eq!(encoded(&spec, &values), bytes);
            }
        }
    }
}

// Keeps away drift from the documented example.
#[test]
fn worked_example() {
    let columns = vec![KeyColumn::new(Type::Utf8), KeyColumn::new(Type::I32).descending()];
    let spec = KeySpec::new(columns).unwrap();
    let key = encoded(&spec, &["a\0".into(), (-2i32).into()]);
    assert_eq!(key, [0x61, 0x00, 0xff, 0x00, 0x01, 0x80, 0x00, 0x00, 0x01]);
}

// Keeps away a key-value table whose keys are not the user's own bytes.
#[test]
fn single_bytes_are_raw() {
    let spec = KeySpec::new(vec![KeyColumn::new(Type::Binary)]).unwrap();
    assert_eq!(spec, KeySpec::bytes());
    assert!(spec.is_raw());
    assert_eq!(encoded(&spec, &[vec![0, 1, 255].into()]), [0, 1, 255]);
    let descending = KeySpec::new(vec![KeyColumn::new(Type::Binary).descending()]).unwrap();
    assert!(!descending.is_raw());
}

// Keeps away values of a wrong type or count, and a half-written key after the error.
#[test]
fn refuses_wrong_values() {
    let spec = KeySpec::new(vec![KeyColumn::new(Type::I32), KeyColumn::new(Type::I32)]).unwrap();
    let mut out = vec![9];
    for values in [
        &[ValueRef::from(1i32)][..],
        &[1i32.into(), ValueRef::Null],
        &[1i32.into(), 2i64.into()],
        &[1i32.into(), 2i32.into(), 3i32.into()],
    ] {
        assert!(matches!(spec.encode(values, &mut out), Err(Error::Invalid(_))));
    }
    assert_eq!(out, [9]);
    assert!(KeySpec::new(vec![]).is_err());
    assert!(spec.starts_with_range(&[1i32.into()]).is_err());
    assert!(spec.starts_with_range(&[]).is_err());
}

// Keeps away a successor that is not the smallest one.
#[test]
fn successors() {
    assert_eq!(successor(b"ab"), Some(b"ac".to_vec()));
    assert_eq!(successor(&[1, 0xff, 0xff]), Some(vec![2]));
    assert_eq!(successor(&[0xff]), None);
    assert_eq!(successor(&[]), None);
}

// Keeps away a copy where the key's own bytes would do.
#[test]
fn decoding_borrows() {
    let spec = KeySpec::new(vec![KeyColumn::new(Type::Utf8), KeyColumn::new(Type::Utf8)]).unwrap();
    let key = encoded(&spec, &["plain".into(), "r\0w".into()]);
    let (mut scratch, mut out) = (Vec::new(), Vec::new());
    spec.decode_refs(&key, &mut scratch, &mut out).unwrap();
    assert_eq!(out, ["plain".into(), ValueRef::from("r\0w")]);
    assert!(scratch.is_empty());
}
