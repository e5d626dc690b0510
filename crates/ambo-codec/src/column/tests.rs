//! What every encoding must do, held against plain values.

use proptest::prelude::*;

use super::{predicate::has_null, *};
use crate::{Value, ValueRef};

/// Any values of one kind, owned.
#[derive(Clone, Debug)]
enum Column {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    I128(Vec<i128>),
}

fn to_mask(bits: &[bool]) -> Mask {
    let mut mask = Mask::none(bits.len());
    bits.iter().enumerate().for_each(|(index, &bit)| mask.set(index, bit));
    mask
}

/// Bits of a value, so that NaNs and zeros are told apart.
trait Bits: Element + Into<Value> {
    fn same(self, other: Self) -> bool;
}

macro_rules! bits {
    ($($native:ty),*) => {$(
        impl Bits for $native {
            fn same(self, other: Self) -> bool {
                self == other
            }
        }
    )*};
}

bits!(bool, i8, i16, i32, i64, u8, u16, u32, u64);

impl Bits for f32 {
    fn same(self, other: Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl Bits for f64 {
    fn same(self, other: Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

/// A generator of which a test needs little.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }
}

fn matches(predicate: Predicate<'_>, value: ValueRef<'_>) -> bool {
    if let Predicate::Not(inner) = predicate {
        return !value.is_null() && !has_null(inner) && !matches(*inner, value);
    }
    let constants_null = match predicate {
        Predicate::Compare(_, constant) => constant.is_null(),
        Predicate::Between(low, high) => low.is_null() || high.is_null(),
        _ => false,
    };
    match predicate {
        Predicate::IsNull => value.is_null(),
        Predicate::IsNotNull => !value.is_null(),
        _ if value.is_null() || constants_null => false,
        Predicate::Between(low, high) => low <= value && value <= high,
        Predicate::In(list) => list.contains(&value),
        Predicate::Prefix(prefix) => value.as_bytes().unwrap().starts_with(prefix),
        Predicate::Contains(part) => {
            value.as_bytes().unwrap().windows(part.len()).any(|window| window == part)
        }
        Predicate::Like(pieces) => {
            let bytes = value.as_bytes().unwrap();
            bytes.starts_with(pieces[0]) && bytes[pieces[0].len()..].ends_with(pieces[1])
        }
        Predicate::Among(set) => {
            let key = value.as_integer().or(value.as_bool().map(i128::from)).unwrap();
            set.iter().any(|other| i128::from(other) == key)
        }
        Predicate::Not(_) => unreachable!("answered before"),
        Predicate::Compare(compare, constant) => compare.holds(value.compare(constant)),
    }
}

/// Encodes and holds every way to read the block against the values. Returns the encoding.
fn conform<E: Bits>(
    values: &[E],
    wrap: impl Fn(&[E]) -> Column,
    valid: Option<&[bool]>,
    goal: Goal,
) -> Option<Encoding> {
    let kind = with_slice(&wrap(values), |slice| slice.kind());
    check(values, E::into, E::same, kind, |then| with_slice(&wrap(values), then), valid, goal)
}

fn with_slice<R>(column: &Column, then: impl FnOnce(ColumnSlice<'_>) -> R) -> R {
    match column {
        Column::Bool(values) => then(ColumnSlice::Bool(to_mask(values).view())),
        Column::I8(values) => then(ColumnSlice::I8(values)),
        Column::I16(values) => then(ColumnSlice::I16(values)),
        Column::I32(values) => then(ColumnSlice::I32(values)),
        Column::I64(values) => then(ColumnSlice::I64(values)),
        Column::U8(values) => then(ColumnSlice::U8(values)),
        Column::U16(values) => then(ColumnSlice::U16(values)),
        Column::U32(values) => then(ColumnSlice::U32(values)),
        Column::U64(values) => then(ColumnSlice::U64(values)),
        Column::F32(values) => then(ColumnSlice::F32(values)),
        Column::F64(values) => then(ColumnSlice::F64(values)),
        Column::I128(values) => then(ColumnSlice::I128(values)),
    }
}

fn check<E: Element>(
    values: &[E],
    value_of: impl Fn(E) -> Value,
    same: impl Fn(E, E) -> bool,
    kind: Kind,
    with: impl Fn(&mut dyn FnMut(ColumnSlice<'_>)),
    valid: Option<&[bool]>,
    goal: Goal,
) -> Option<Encoding> {
    let raw = check_encoded(values, &value_of, &same, kind, &with, valid, None);
    assert!(matches!(raw, None | Some(Encoding::Raw | Encoding::Bits)));
    check_encoded(values, &value_of, &same, kind, &with, valid, Some(goal))
}

/// Without a goal: as they are.
fn check_encoded<E: Element>(
    values: &[E],
    value_of: &impl Fn(E) -> Value,
    same: &impl Fn(E, E) -> bool,
    kind: Kind,
    with: &impl Fn(&mut dyn FnMut(ColumnSlice<'_>)),
    valid: Option<&[bool]>,
    goal: Option<Goal>,
) -> Option<Encoding> {
    let rows = values.len();
    let is_valid = |index: usize| valid.is_none_or(|valid| valid[index]);
    let validity = valid.map(to_mask);
    let mut bytes = vec![0xee; 3];
    let mut summary = None;
    with(&mut |slice| {
        let validity = validity.as_ref().map(Mask::view);
        let encoded = match goal {
            Some(goal) => encode(slice, validity, goal, &mut bytes),
            None => encode_raw(slice, validity, &mut bytes),
        };
        summary = Some(encoded.unwrap());
    });
    let summary = summary.unwrap();
    assert_eq!(summary.bytes, bytes.len() - 3);
    let plain = envelope::expand(&bytes[3..], 1 << 24).unwrap();
    let block = Block::parse(&plain, kind, rows).unwrap();
    block.verify().unwrap();
    assert_eq!(block.encoding(), summary.encoding);

    // Values, one by one.
    let expected: Vec<Value> =
        (0..rows).map(|index| if is_valid(index) { value_of(values[index]) } else { Value::Null }).collect();
    let stride = (rows / 500).max(1);
    for index in (0..rows).step_by(stride) {
        block.prefetch(index);
        assert_eq!(block.get(index).unwrap(), expected[index], "row {index} of {:?}", summary.encoding);
        let typed = block.get_as::<E>(index).unwrap();
        assert!(typed.map_or(!is_valid(index), |typed| same(typed, values[index])));
    }
    assert_eq!(summary.nulls, expected.iter().filter(|value| value.is_null()).count());

    // Ranges, and positions.
    let mut random = Random(rows as u64);
    for attempt in 0..9 {
        let start = if attempt == 0 { 0 } else { random.below(rows + 1) };
        let end = if attempt == 0 { rows } else { start + random.below(rows - start + 1) };
        let range = start..end;
        let mut out = vec![E::default(); range.len()];
        block.decode(range.clone(), &mut out).unwrap();
        for (out, index) in out.into_iter().zip(range) {
            assert!(!is_valid(index) || same(out, values[index]), "row {index} of {:?}", summary.encoding);
        }
    }
    for picks in [rows / 50, rows / 2, 3] {
        let mut positions: Vec<u32> =
            (0..if rows == 0 { 0 } else { picks }).map(|_| random.below(rows) as u32).collect();
        if picks != 3 {
            positions.sort_unstable();
        }
        let mut out = vec![E::default(); positions.len()];
        block.gather(&positions, &mut out).unwrap();
        for (out, &position) in out.into_iter().zip(&positions) {
            assert!(!is_valid(position as usize) || same(out, values[position as usize]));
        }
    }

    // Bounds and counts, of all rows and of some.
    let bounds = |rows: &mut dyn Iterator<Item = &Value>| {
        let present: Vec<&Value> = rows.filter(|value| !value.is_null()).collect();
        present.iter().min().map(|&low| (low.clone(), (*present.iter().max().unwrap()).clone()))
    };
    let all = bounds(&mut expected.iter());
    assert_eq!(block.min_max(None).unwrap(), all);
    assert_eq!(summary.min.clone().zip(summary.max.clone()), all);
    let mut masks = vec![Mask::none(rows), Mask::all(rows)];
    for density in [2, 30] {
        let bits: Vec<bool> = (0..rows).map(|_| random.below(density) == 0).collect();
        masks.push(to_mask(&bits));
    }
    let mut half = Mask::all(rows);
    half.clear_range(0..rows / 2);
    masks.push(half);
    for mask in &masks {
        assert_eq!(
            block.min_max(Some(mask)).unwrap(),
            bounds(&mut mask.iter().map(|index| &expected[index]))
        );
        let present = mask.iter().filter(|&index| !expected[index].is_null());
        assert_eq!(block.count(Some(mask)), present.clone().count());
        check_sum(&block, Some(mask), present.map(|index| &expected[index]));
    }
    check_sum(&block, None, expected.iter().filter(|value| !value.is_null()));

    // Filters, with constants from among the values and from elsewhere.
    let mut constants: Vec<Value> =
        (0..4).filter_map(|_| expected.get(random.below(rows)).cloned()).collect();
    constants.extend(expected.iter().min().cloned());
    constants.extend(expected.iter().max().cloned());
    constants.push(Value::Null);
    constants.push(value_of(E::default()));
    if kind == Kind::F64 {
        constants
            .extend([0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.005, 1e300].map(Value::F64));
    }
    let refs: Vec<ValueRef<'_>> = constants.iter().map(Value::as_ref).collect();
    let compares = [
        Compare::Equal,
        Compare::NotEqual,
        Compare::Less,
        Compare::LessEqual,
        Compare::Greater,
        Compare::GreaterEqual,
    ];
    let mut predicates =
        vec![Predicate::IsNull, Predicate::IsNotNull, Predicate::In(&refs), Predicate::In(&[])];
    for &constant in &refs {
        predicates.extend(compares.map(|compare| Predicate::Compare(compare, constant)));
        predicates.push(Predicate::Between(constant, refs[random.below(refs.len())]));
    }
    let whole: Vec<i64> =
        constants.iter().filter_map(|value| value.as_ref().as_integer()?.try_into().ok()).collect();
    let set = KeySet::new(whole.into_iter().filter(|key| key.unsigned_abs() < 1 << 20)).unwrap().into();
    if !matches!(kind, Kind::F32 | Kind::F64 | Kind::I128) {
        predicates.push(Predicate::Among(&set));
    }
    let asked = predicates.clone();
    predicates.extend(asked.iter().skip(2).map(Predicate::Not));
    for predicate in predicates {
        let test = ValueTest::new(predicate, kind).unwrap();
        for value in &expected {
            let answer = matches(predicate, value.as_ref());
            assert_eq!(test.is_answered_by(value.as_ref()), answer, "{value}, {predicate:?}");
        }
        for before in [&masks[1], &masks[2 + random.below(3)]] {
            let mut mask = before.clone();
            block.filter(predicate, &mut mask).unwrap();
            for index in 0..rows {
                let expected = before.get(index) && matches(predicate, expected[index].as_ref());
                assert_eq!(mask.get(index), expected, "row {index}, {predicate:?}, {:?}", summary.encoding);
            }
        }
    }

    // The codes of a dictionary.
    if let Some(codes) = block.codes() {
        let mut numbers = vec![0; rows];
        codes.decode(0..rows, &mut numbers);
        for (index, number) in numbers.into_iter().enumerate() {
            assert!(!is_valid(index) || codes.entries()[usize::from(number)] == expected[index]);
        }
    }
    summary.encoding
}

fn check_sum<'v>(block: &Block<'_>, mask: Option<&Mask>, values: impl Iterator<Item = &'v Value> + Clone) {
    match block.sum(mask) {
        Err(_) => {
            let wide = values.filter_map(|value| match value {
                Value::Decimal128 { unscaled, .. } => Some(*unscaled),
                _ => None,
            });
            let overflows = wide.clone().try_fold(0i128, |sum, value| sum.checked_add(value)).is_none();
            assert!(matches!(block.kind(), Kind::Bool | Kind::Bytes) || overflows);
        }
        Ok(Sum::Integer(sum)) => {
            let plain = values.map(|value| match *value {
                Value::Decimal128 { unscaled, .. } => unscaled,
                ref value => value.as_ref().as_integer().unwrap(),
            });
            assert_eq!(sum, plain.fold(0, i128::wrapping_add));
        }
        Ok(Sum::Float(sum)) => {
            let plain = values.clone().map(|value| value.as_ref().as_f64().unwrap());
            let (exact, size) =
                plain.fold((0.0, 0.0), |(sum, size), value| (sum + value, size + value.abs()));
            let near = (sum - exact).abs() <= size * 1e-12;
            let special = |sum: f64| (sum.is_nan(), sum == f64::INFINITY, sum == f64::NEG_INFINITY);
            // Sums that overflow on the way depend on the order.
            assert!(
                near || special(sum) == special(exact) && !exact.is_finite() || size > 1e300,
                "{sum} {exact}"
            );
        }
    }
}

/// Integers of many shapes, each likely to choose another encoding.
fn shapes(rows: usize, random: &mut Random) -> Vec<(&'static str, Vec<i64>)> {
    let mut shape = |make: &mut dyn FnMut(usize, &mut Random) -> i64| {
        (0..rows).map(|index| make(index, random)).collect::<Vec<_>>()
    };
    let mut walk = 0i64;
    let mut run = 0i64;
    let distinct: Vec<i64> = (0..40i64).map(|index| index.wrapping_mul(0x1234_5678_9abc_def1)).collect();
    vec![
        ("constant", shape(&mut |_, _| -7)),
        ("ascending", shape(&mut |index, _| index as i64 * 3 - 1000)),
        ("small", shape(&mut |_, random| random.below(100) as i64 + 1000)),
        ("bits", shape(&mut |_, random| random.below(2) as i64)),
        (
            "outliers",
            shape(&mut |_, random| if random.below(3000) == 0 { i64::MAX } else { random.below(9) as i64 }),
        ),
        (
            "walk",
            shape(&mut |_, random| {
                walk += random.below(1000) as i64 + 1_000_000_000_000;
                walk
            }),
        ),
        (
            "runs",
            shape(&mut |_, random| {
                if random.below(30) == 0 {
                    run = random.next() as i64;
                }
                run
            }),
        ),
        ("distinct", shape(&mut |_, random| distinct[random.below(40)])),
        ("random", shape(&mut |_, random| random.next() as i64)),
        ("edges", shape(&mut |_, random| [i64::MIN, i64::MAX, 0, -1][random.below(4)])),
        ("edge walk", shape(&mut |index, _| if index % 2 == 0 { i64::MIN } else { i64::MAX - index as i64 })),
    ]
}

const ROWS: [usize; 9] = [0, 1, 2, 63, 64, 1000, 1024, 1025, 5000];

/// No NULLs, some, runs of them, all but one, only NULLs.
fn validities(rows: usize, random: &mut Random) -> Vec<Option<Vec<bool>>> {
    vec![
        None,
        Some((0..rows).map(|_| random.below(10) > 0).collect()),
        Some((0..rows).map(|index| index / 300 % 2 == 0).collect()),
        Some((0..rows).map(|index| index == rows / 2).collect()),
        Some(vec![false; rows]),
        Some(vec![true; rows]),
    ]
}

// Keeps away an encoding of integers that reads back, filters or sums to anything but its values.
#[test]
fn integers_of_every_shape() {
    let mut random = Random(1);
    let mut seen = std::collections::HashSet::new();
    for rows in ROWS {
        for (shape, values) in shapes(rows, &mut random) {
            for (index, valid) in validities(rows, &mut random).iter().enumerate() {
                let goal = if index % 2 == 0 { Goal::Speed } else { Goal::Size };
                let valid = valid.as_deref();
                seen.extend(conform(&values, |values| Column::I64(values.to_vec()), valid, goal));
                macro_rules! narrow {
                    ($($int:ty, $kind:ident);*) => {$(
                        if rows <= 1025 || shape == "small" || shape == "edges" {
                            let narrow: Vec<$int> = values.iter().map(|&value| value as $int).collect();
                            conform(&narrow, |values| Column::$kind(values.to_vec()), valid, goal);
                        }
                    )*};
                }
                narrow!(u64, U64; i32, I32);
                if index < 2 {
                    narrow!(i8, I8; i16, I16; u8, U8; u16, U16; u32, U32);
                }
            }
        }
    }
    use Encoding::*;
    for encoding in [Constant, Frames, Delta, Runs, Dictionary, Raw] {
        assert!(seen.contains(&encoding), "no shape chose {encoding:?}");
    }
}

// Keeps away floats that lose a bit, a sign of zero or a NaN's payload, and comparisons in another order than a value's.
#[test]
fn floats_of_every_shape() {
    let mut random = Random(2);
    let mut seen = std::collections::HashSet::new();
    let specials = [
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        0.0,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
    ];
    for rows in ROWS {
        let mut shape = |make: &mut dyn FnMut(usize, &mut Random) -> f64| {
            (0..rows).map(|index| make(index, &mut random)).collect::<Vec<_>>()
        };
        let shapes = [
            shape(&mut |_, _| 2.5),
            shape(&mut |_, random| random.below(100_000) as f64 / 100.0),
            shape(&mut |_, random| random.below(2_000_000) as f64 / 10_000.0 - 100.0),
            shape(&mut |_, random| random.below(50) as f64 * 1e15),
            shape(&mut |_, random| f64::from_bits(random.next())),
            shape(&mut |_, random| (random.next() >> 11) as f64 / (1u64 << 53) as f64),
            shape(&mut |_, random| match random.below(20) {
                0 => specials[random.below(specials.len())],
                _ => random.below(1000) as f64 / 10.0,
            }),
            shape(&mut |_, random| specials[random.below(specials.len())]),
            shape(&mut |_, _| -0.0),
            shape(&mut |_, random| [0.0, -0.0][random.below(2)]),
            shape(&mut |_, _| f64::from_bits(0x7ff8_0000_dead_beef)),
            shape(&mut |index, _| (index / 100) as f64 * 0.1),
        ];
        for values in shapes {
            for (index, valid) in validities(rows, &mut random).iter().enumerate() {
                let goal = if index % 2 == 0 { Goal::Speed } else { Goal::Size };
                seen.extend(conform(&values, |values| Column::F64(values.to_vec()), valid.as_deref(), goal));
                let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
                conform(&narrow, |values| Column::F32(values.to_vec()), valid.as_deref(), goal);
            }
        }
    }
    use Encoding::*;
    for encoding in [Constant, Frames, Runs, Dictionary, Raw, Alp] {
        assert!(seen.contains(&encoding), "no shape chose {encoding:?}");
    }
}

// Keeps away decimals that are cut to 64 bits, and sums that wrap round.
#[test]
fn wide_integers_of_every_shape() {
    let mut random = Random(3);
    for rows in ROWS {
        for (_, values) in shapes(rows, &mut random) {
            let shapes: [Vec<i128>; 3] = [
                values.iter().map(|&value| value.into()).collect(),
                values.iter().map(|&value| i128::from(value as i32) + (1 << 100)).collect(),
                values.iter().map(|&value| (i128::from(value) * i128::from(value)).wrapping_mul(5)).collect(),
            ];
            for values in shapes {
                for valid in validities(rows, &mut random) {
                    let column = Column::I128(values.clone());
                    check(
                        &values,
                        block::decimal,
                        |a, b| a == b,
                        Kind::I128,
                        |then| with_slice(&column, then),
                        valid.as_deref(),
                        Goal::Speed,
                    );
                }
            }
        }
    }
    let extremes = [i128::MIN, i128::MAX, i128::MAX, 0];
    let mut bytes = Vec::new();
    encode(ColumnSlice::I128(&extremes), None, Goal::Speed, &mut bytes).unwrap();
    let block = Block::parse(&bytes, Kind::I128, 4).unwrap();
    assert_eq!(block.sum(None), Ok(Sum::Integer(i128::MAX - 1)));
    let mut mask = Mask::all(4);
    mask.set(0, false);
    assert!(block.sum(Some(&mask)).is_err());
}

// Keeps away booleans that a form of bits turns round.
#[test]
fn booleans_of_every_shape() {
    let mut random = Random(4);
    for rows in ROWS {
        let shapes: [Vec<bool>; 5] = [
            vec![true; rows],
            vec![false; rows],
            (0..rows).map(|_| random.below(2) == 0).collect(),
            (0..rows).map(|index| index / 700 % 2 == 0).collect(),
            (0..rows).map(|index| index == 2000).collect(),
        ];
        for values in shapes {
            for valid in validities(rows, &mut random) {
                conform(&values, |values| Column::Bool(values.to_vec()), valid.as_deref(), Goal::Speed);
            }
        }
    }
}

// Keeps away NULLs among strings that count as empty ones, and strings that are filtered or bounded as others than they are.
#[test]
fn strings_of_every_shape() {
    let mut random = Random(5);
    for rows in ROWS {
        let shapes: [Vec<String>; 4] = [
            vec!["Delft".to_owned(); rows],
            (0..rows).map(|_| ["AIR", "MAIL", "", "SHIP"][random.below(4)].to_owned()).collect(),
            (0..rows)
                .map(|_| format!("https://example.org/{}/{}", random.below(50), random.next()))
                .collect(),
            (0..rows).map(|_| "x".repeat(random.below(20))).collect(),
        ];
        for strings in shapes {
            let mut offsets = vec![0u32];
            offsets.extend(strings.iter().scan(0, |end, string| {
                *end += string.len() as u32;
                Some(*end)
            }));
            let data = strings.concat();
            let view = BytesView::new(&offsets, data.as_bytes());
            for (index, valid) in validities(rows, &mut random).iter().enumerate() {
                for table in [None, Some(text::TextTable::train(&view, Goal::Speed))] {
                    check_strings(
                        view,
                        valid.as_deref(),
                        table.as_ref(),
                        if index % 2 == 0 { Goal::Speed } else { Goal::Size },
                    );
                }
            }
        }
    }
}

fn check_strings(view: BytesView<'_>, valid: Option<&[bool]>, table: Option<&text::TextTable>, goal: Goal) {
    let rows = view.len();
    let validity = valid.map(to_mask);
    let mut bytes = Vec::new();
    let bits = validity.as_ref().map(Mask::view);
    let summary = match table {
        Some(table) => encode_text(view, bits, goal, table, &mut bytes).unwrap(),
        None => encode(ColumnSlice::Bytes(view), bits, goal, &mut bytes).unwrap(),
    };
    let block = Block::parse_shared(&bytes, Kind::Bytes, rows, table.map(text::TextTable::shared)).unwrap();
    block.verify().unwrap();
    let is_valid = |row: usize| valid.is_none_or(|valid| valid[row]);
    let expected: Vec<Value> = (0..rows)
        .map(|row| if is_valid(row) { Value::Binary(view.get(row).to_vec()) } else { Value::Null })
        .collect();
    for row in (0..rows).step_by(rows / 100 + 1) {
        block.prefetch(row);
        assert_eq!(block.get(row).unwrap(), expected[row]);
    }
    if let Some(text) = block.text() {
        let (mut offsets, mut data) = (Vec::new(), Vec::new());
        text.decode(0..rows, &mut offsets, &mut data).unwrap();
        let decoded = BytesView::new(&offsets, &data);
        assert!((0..rows).all(|row| !is_valid(row) || decoded.get(row) == view.get(row)));
    }
    let mut some = Mask::all(rows);
    some.clear_range(0..rows / 3);
    for mask in [Mask::all(rows), Mask::none(rows), some] {
        let present: Vec<&Value> =
            mask.iter().map(|row| &expected[row]).filter(|value| !value.is_null()).collect();
        let bounds = present.iter().min().zip(present.iter().max());
        let bounds = bounds.map(|(low, high)| ((**low).clone(), (**high).clone()));
        assert_eq!(block.min_max(Some(&mask)).unwrap(), bounds);
        assert_eq!(block.count(Some(&mask)), present.len());
        if mask.count() == rows {
            assert_eq!(block.min_max(None).unwrap(), bounds);
            assert_eq!(summary.min.clone().zip(summary.max.clone()), bounds);
        }
        let constants = ["", "AIR", "Delft", "https://example.org/7", "x", "zz"].map(ValueRef::Utf8);
        let mut predicates = vec![
            Predicate::IsNull,
            Predicate::IsNotNull,
            Predicate::In(&constants),
            Predicate::In(&[ValueRef::Null]),
            Predicate::Between(constants[1], constants[3]),
            Predicate::Between(constants[1], ValueRef::Null),
            Predicate::Prefix(b"https://example.org/1"),
            Predicate::Contains(b"/4"),
            Predicate::Like(&[b"https:", b"7"]),
            Predicate::Compare(Compare::NotEqual, ValueRef::Null),
        ];
        for constant in constants {
            predicates.push(Predicate::Compare(Compare::Equal, constant));
            predicates.push(Predicate::Compare(Compare::NotEqual, constant));
            predicates.push(Predicate::Compare(Compare::Less, constant));
            predicates.push(Predicate::Compare(Compare::GreaterEqual, constant));
        }
        let asked = predicates.clone();
        predicates.extend(asked.iter().skip(2).map(Predicate::Not));
        for predicate in predicates {
            let mut selected = mask.clone();
            block.filter(predicate, &mut selected).unwrap();
            let test = ValueTest::new(predicate, Kind::Bytes).unwrap();
            for (row, value) in expected.iter().enumerate() {
                // Text is compared with text: both stand for their bytes.
                let value = value.as_ref().as_bytes().map(|bytes| std::str::from_utf8(bytes).unwrap());
                let value = value.map_or(ValueRef::Null, ValueRef::Utf8);
                assert_eq!(test.is_answered_by(value), matches(predicate, value), "{predicate:?}");
                assert_eq!(selected.get(row), mask.get(row) && matches(predicate, value), "{predicate:?}");
            }
        }
        assert!(block.sum(None).is_err());
        assert_eq!(
            block.filter(Predicate::Compare(Compare::Less, ValueRef::I64(1)), &mut mask.clone()).is_err(),
            block.text().is_some()
        );
    }
}

// Keeps away drift from the documented bytes.
#[test]
fn worked_examples() {
    let mut bytes = Vec::new();
    let validity = to_mask(&[true, false, true]);
    encode(ColumnSlice::I32(&[5, 0, 5]), Some(validity.view()), Goal::Speed, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 4, 1, 3, 3, 0, 0, 0, 0b101, 5, 0, 0, 0x80]);
}

/// `head`, then a row of packed codes that begins with `row`.
fn with_row(head: &[u8], row: &[u8]) -> Vec<u8> {
    let mut bytes = [head, row].concat();
    bytes.resize(head.len() + 128, 0);
    bytes
}

// Keeps away drift from the documented bytes of the parts.
#[test]
fn worked_examples_of_encodings() {
    let mut bytes = Vec::new();
    frames::encode(&[1000u16, 1003, 1001], &mut bytes);
    assert_eq!(bytes, with_row(&[2, 0xe8, 3], &[0, 3, 1]));

    bytes.clear();
    let codes = [10u16, 13, 16];
    delta::encode(&codes, &delta::steps(&codes), &mut bytes);
    assert_eq!(bytes, [10, 0, 0, 3, 0x80]);

    bytes.clear();
    let (values, ends) = runs::split(&[7u8, 7, 9]);
    runs::encode(&values, &ends, &mut bytes);
    let (values, ends) = (with_row(&[2, 7], &[0, 2]), with_row(&[1, 2, 0, 0, 0], &[0, 1]));
    assert_eq!(bytes, [&[2, 0, 0, 0], &values[..], &ends[..]].concat());

    bytes.clear();
    let (entries, numbers) = dictionary::split(&[5u8, 200, 5], 2).unwrap();
    dictionary::encode::<u8>(&entries, &numbers, &mut bytes);
    assert_eq!(bytes, with_row(&[2, 0, 0, 0, 5, 0xc8, 1, 0, 0], &[0, 1]));

    bytes.clear();
    alp::split(&[1.5, 0.25, 3.0], alp::Exponents { e: 14, f: 12 }).encode(&mut bytes);
    let head = [0x0e, 0x0c, 0, 0, 0, 0, 9, 0x19, 0, 0, 0, 0, 0, 0, 0x80];
    assert_eq!(bytes, with_row(&head, &[0x7d, 0, 0, 0, 0x13, 1]));

    bytes.clear();
    assert_eq!(bitset::encode(to_mask(&[true, false, true]).view(), &mut bytes), bitset::PLAIN);
    assert_eq!(bytes, [5]);

    bytes.clear();
    let mut first = Mask::none(10_000);
    first.set_range(0..600);
    assert_eq!(bitset::encode(first.view(), &mut bytes), bitset::RUNS);
    assert_eq!(bytes, with_row(&[1, 2, 0, 0, 0, 14, 0x58, 2, 0, 0], &[0, 0, 0xb8, 0x24]));

    bytes.clear();
    let wide: Vec<i128> =
        (0..500).map(|index| 0x1234_5678_9abc_def0_1234_5678_9abc_def0 * (index % 3)).collect();
    let summary = encode(ColumnSlice::I128(&wide), None, Goal::Size, &mut bytes).unwrap();
    assert_eq!((summary.encoding, bytes[1..4].to_vec()), (Some(Encoding::Raw), vec![0; 3]));
    assert!([2, 3].contains(&bytes[0]) && bytes[4..8] == (8 + 500 * 16u32).to_le_bytes());
}

// Keeps away a compressed block that is taken for a plain one, or takes more memory than its reader allows.
#[test]
fn compressed_blocks_are_bounded() {
    let mut bytes = Vec::new();
    let values: Vec<i128> = (0..500).map(|index| i128::MAX / (index % 3 + 1)).collect();
    encode(ColumnSlice::I128(&values), None, Goal::Size, &mut bytes).unwrap();
    assert!(envelope::is_compressed(&bytes));
    assert!(Block::parse(&bytes, Kind::I128, 500).is_err());
    assert!(envelope::expand(&bytes, 8007).is_err());
    let plain = envelope::expand(&bytes, 8008).unwrap();
    assert!(Block::parse(&plain, Kind::I128, 500).is_ok());
    // A stated size that is not that of what comes out.
    bytes[4] ^= 1;
    assert!(envelope::expand(&bytes, 1 << 20).is_err());
}

/// How many values answer with yes.
fn answers<const N: usize>(predicate: Predicate<'_>, kind: Kind, values: [Value; N]) -> crate::Result<usize> {
    let test = ValueTest::new(predicate, kind)?;
    Ok(values.iter().filter(|value| test.is_answered_by(value.as_ref())).count())
}

// Keeps away a number compared with a constant of another type by anything but the exact numbers.
#[test]
fn constants_of_other_types() {
    let mut bytes = Vec::new();
    encode(ColumnSlice::I16(&[-5, 0, 3, 4]), None, Goal::Speed, &mut bytes).unwrap();
    let block = Block::parse(&bytes, Kind::I16, 4).unwrap();
    let count = |predicate| {
        let mut mask = Mask::all(4);
        let count = block.filter(predicate, &mut mask).map(|()| mask.count());
        assert_eq!(answers(predicate, Kind::I16, [-5i16, 0, 3, 4].map(Value::from)), count);
        count
    };
    assert_eq!(count(Predicate::Compare(Compare::Less, ValueRef::I64(1 << 40))), Ok(4));
    assert_eq!(count(Predicate::Compare(Compare::Equal, ValueRef::I64(65_536 + 3))), Ok(0));
    assert_eq!(count(Predicate::Compare(Compare::NotEqual, ValueRef::U64(u64::MAX))), Ok(4));
    assert_eq!(count(Predicate::Compare(Compare::Greater, ValueRef::F64(3.5))), Ok(1));
    assert_eq!(count(Predicate::Compare(Compare::Equal, ValueRef::F64(3.5))), Ok(0));
    assert_eq!(count(Predicate::Compare(Compare::Less, ValueRef::F64(f64::NAN))), Ok(4));
    assert_eq!(count(Predicate::Compare(Compare::GreaterEqual, ValueRef::F64(f64::NEG_INFINITY))), Ok(4));
    assert!(count(Predicate::Compare(Compare::Equal, ValueRef::Utf8("3"))).is_err());

    let mut bytes = Vec::new();
    encode(ColumnSlice::F32(&[0.1, 16_777_216.0, f32::INFINITY]), None, Goal::Speed, &mut bytes).unwrap();
    let block = Block::parse(&bytes, Kind::F32, 3).unwrap();
    let count = |compare, constant| {
        let mut mask = Mask::all(3);
        let predicate = Predicate::Compare(compare, constant);
        let count = block.filter(predicate, &mut mask).map(|()| mask.count());
        let values = [0.1, 16_777_216.0, f32::INFINITY].map(Value::F32);
        assert_eq!(answers(predicate, Kind::F32, values), count);
        count
    };
    assert_eq!(count(Compare::Equal, ValueRef::F64(0.1)), Ok(0));
    assert_eq!(count(Compare::Greater, ValueRef::F64(0.1)), Ok(3));
    assert_eq!(count(Compare::Equal, ValueRef::I64(16_777_217)), Ok(0));
    assert_eq!(count(Compare::Less, ValueRef::I64(16_777_217)), Ok(2));
    assert_eq!(count(Compare::Greater, ValueRef::F64(1e300)), Ok(1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Keeps away values that only chance finds.
    #[test]
    fn any_integers(values in prop::collection::vec(any::<i64>(), 0..2500), shift in 0u32..64, step in 0i64..3) {
        let mut sum = 0i64;
        let values: Vec<i64> = values.iter().map(|value| {
            sum = sum.wrapping_add(step);
            (value >> shift).wrapping_add(sum)
        }).collect();
        conform(&values, |values| Column::I64(values.to_vec()), None, Goal::Speed);
    }

    // Keeps away floats that only chance finds.
    #[test]
    fn any_floats(values in prop::collection::vec((any::<f64>(), -100_000i32..100_000), 0..2500), scale in 0i32..6, wild in 0usize..4) {
        let value = |(index, (any, digits)): (usize, &(f64, i32))| match index % 16 < wild {
            true => *any,
            false => f64::from(*digits) / 10f64.powi(scale),
        };
        let values: Vec<f64> = values.iter().enumerate().map(value).collect();
        conform(&values, |values| Column::F64(values.to_vec()), None, Goal::Speed);
    }
}

// Keeps away: differences of more bits than the values have, in frames of the length that such would take.
#[test]
fn frames_are_no_wider_than_their_values() {
    let frame = |width: u8| {
        let mut bytes = vec![width, 0, 0];
        bytes.resize(3 + bits::packed_len(10, width.into()), 0);
        bytes
    };
    assert!(frames::Frames::<u16>::parse(&mut &frame(16)[..], 10).is_ok());
    assert!(frames::Frames::<u16>::parse(&mut &frame(17)[..], 10).is_err());
    assert!(frames::Frames::<u16>::parse(&mut &frame(65)[..], 10).is_err());
}

// Keeps away: exponents for which there is no power of ten, and a panic over them.
#[test]
fn exponents_are_bounded() {
    let mut bytes = Vec::new();
    frames::encode(&[0u64; 10], &mut bytes);
    let parse = |e: u8, f: u8| {
        alp::Alp::<f64>::parse(&mut &[&[e, f, 0, 0, 0, 0][..], &bytes].concat()[..], 10).map(drop)
    };
    assert!(parse(18, 18).is_ok());
    assert!(parse(19, 0).is_err() && parse(255, 255).is_err() && parse(3, 4).is_err());
}

// Keeps away: a block that is taken for one although something follows it, or is of other rows than its reader thinks.
#[test]
fn a_block_is_all_of_its_bytes() {
    for values in
        [vec![7; 300], (0..300).collect(), (0..300).map(|row| row * 7919 % 1000).collect::<Vec<i32>>()]
    {
        let mut bytes = Vec::new();
        encode(ColumnSlice::I32(&values), None, Goal::Speed, &mut bytes).unwrap();
        let bytes = envelope::expand(&bytes, 1 << 20).unwrap().into_owned();
        assert!(Block::parse(&bytes, Kind::I32, 300).is_ok());
        assert!(Block::parse(&bytes, Kind::I32, 299).is_err());
        assert!(Block::parse(&bytes, Kind::U32, 300).is_err());
        assert!(Block::parse(&bytes[..bytes.len() - 1], Kind::I32, 300).is_err());
        assert!(Block::parse(&[&bytes[..], &[0]].concat(), Kind::I32, 300).is_err());
    }
}

// Keeps away: rows behind the end of a mask that a union sets and a count then counts.
#[test]
fn masks_end_where_they_end() {
    let mut mask = Mask::none(70);
    mask.or(BitsView::new(&[!0, !0], 70));
    assert_eq!((mask.count(), mask.words()), (70, &[!0, 0x3f][..]));
    assert_eq!(mask.iter().last(), Some(69));
}
