//! All evaluators have one meaning: that of the tree walk.

use ambo_codec::{Type, Value};
use ambo_query::predicate::{
    Arithmetic, Column, Compare, Data, Layout, Nulls, Operand, Predicate, Program, Vectors, can_represent,
    walk,
};
use proptest::prelude::*;

use crate::rows::{Trees, columns, row};

/// What the tree walk says of rows, one of each relation.
fn oracle(predicate: &Predicate, rows: &[&[Value]]) -> Result<bool, String> {
    let answer = walk(predicate, &|relation, column| rows[relation][column].as_ref());
    answer.map(|answer| answer == Some(true)).map_err(|error| error.to_string())
}

fn bit(words: &[u64], row: usize) -> bool {
    words[row / 64] >> (row % 64) & 1 == 1
}

/// Vectors say of rows what the tree walk says.
fn check_vectors(
    vectors: &Vectors,
    of: &[Column<'_>],
    expected: &[Result<bool, String>],
) -> Result<(), TestCaseError> {
    let mut selected = vec![7];
    let done = vectors.select(of, expected.len(), &mut selected);
    match expected.iter().find_map(|one| one.as_ref().err()) {
        Some(_) => prop_assert!(done.is_err(), "a row without an answer is an error"),
        None => {
            prop_assert!(done.is_ok(), "{done:?}");
            prop_assert_eq!(selected.len(), expected.len().div_ceil(64));
            for (row, expected) in expected.iter().enumerate() {
                prop_assert_eq!(&Ok(bit(&selected, row)), expected, "row {}", row);
            }
        }
    }
    Ok(())
}

/// Values as columns: numbers one behind the other, text with offsets, a bit for each that is not NULL.
struct Columns(Vec<Held>);

struct Held {
    ty: Type,
    data: Vec<u8>,
    offsets: Vec<u32>,
    valid: Vec<u64>,
}

impl Columns {
    fn new(types: &[(Type, bool)], rows: &[Vec<Value>]) -> Self {
        let column = |(place, (ty, nullable)): (usize, &(Type, bool))| {
            let (mut data, mut offsets, mut valid) = (Vec::new(), vec![0], Vec::new());
            let single = Layout::of(&[(*ty, false)], true).ok();
            for (number, row) in rows.iter().enumerate() {
                match &row[place] {
                    Value::Utf8(text) => data.extend_from_slice(text.as_bytes()),
                    Value::Binary(bytes) => data.extend_from_slice(bytes),
                    value => {
                        if let Some(single) = &single {
                            let any = crate::rows::value(*ty, 0);
                            let value = if value.is_null() { any } else { value.clone() };
                            single.encode(&[value], &mut data).unwrap();
                        }
                    }
                }
                offsets.push(data.len() as u32);
                if number % 64 == 0 {
                    valid.push(0);
                }
                valid[number / 64] |= u64::from(!row[place].is_null()) << (number % 64);
            }
            Held { ty: *ty, data, offsets, valid: if *nullable { valid } else { Vec::new() } }
        };
        Self(types.iter().enumerate().map(column).collect())
    }

    fn columns(&self) -> Vec<Column<'_>> {
        let mut columns = Vec::new();
        for Held { ty, data, offsets, valid } in &self.0 {
            let stride = Layout::of(&[(*ty, false)], true).map_or(0, |layout| layout.size());
            columns.push(Column {
                ty: *ty,
                data: match ty {
                    Type::Utf8 | Type::Binary => Data::Texts { offsets, data },
                    _ => Data::Strided { bytes: data, offset: 0, stride },
                },
                nulls: if valid.is_empty() { Nulls::None } else { Nulls::Valid(valid) },
            });
        }
        columns
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Keeps away: a type or a comparison taken for another, NULL that counts as true below NOT, constants beyond a type, rows of the last
    /// word, words with few rows, an overflow that is passed over or that is an error of a row that needs it not.
    #[test]
    fn evaluators_agree_on_records(
        types in columns(false),
        is_power in any::<bool>(),
        picks in proptest::collection::vec(any::<u64>(), 0..60),
        rows in proptest::collection::vec(any::<u64>(), 0..200),
    ) {
        let of = [types.iter().map(|(ty, _)| *ty).collect::<Vec<_>>()];
        let predicate = Trees::new(&of, picks).tree(3);
        let layout = Layout::of(&types, is_power).unwrap();
        let rows: Vec<_> = rows.iter().map(|pick| row(&types, *pick)).collect();
        let mut records = Vec::new();
        rows.iter().for_each(|row| layout.encode(row, &mut records).unwrap());
        let expected: Vec<_> = rows.iter().map(|row| oracle(&predicate, &[row])).collect();

        let vectors = Vectors::of_records(&predicate, &layout).unwrap();
        check_vectors(&vectors, &layout.columns(&records), &expected)?;
        if can_represent(&predicate, &[&layout]) {
            let program = Program::new(&predicate, &[&layout]).unwrap();
            let mut selected = Vec::new();
            program.select(&records, &mut selected);
            for (number, expected) in expected.iter().enumerate() {
                let record = &records[number * layout.size()..];
                prop_assert_eq!(&Ok(program.matches(&[record])), expected, "{} of row {}", &predicate, number);
                prop_assert_eq!(&Ok(bit(&selected, number)), expected);
            }
        }
    }

    /// Keeps away: columns that are read as records, text that is read as numbers, NULLs of words.
    #[test]
    fn vectors_agree_on_columns(
        types in columns(true),
        picks in proptest::collection::vec(any::<u64>(), 0..60),
        rows in proptest::collection::vec(any::<u64>(), 0..150),
    ) {
        let of = [types.iter().map(|(ty, _)| *ty).collect::<Vec<_>>()];
        let predicate = Trees::new(&of, picks).tree(3);
        let rows: Vec<_> = rows.iter().map(|pick| row(&types, *pick)).collect();
        let expected: Vec<_> = rows.iter().map(|row| oracle(&predicate, &[row])).collect();
        let vectors = Vectors::new(&predicate, &types).unwrap();
        let columns = Columns::new(&types, &rows);
        check_vectors(&vectors, &columns.columns(), &expected)?;
    }

    /// Keeps away: a column of the wrong relation.
    #[test]
    fn bytecode_joins_two_relations(
        left in columns(false),
        right in columns(false),
        picks in proptest::collection::vec(any::<u64>(), 0..60),
        rows in proptest::collection::vec((any::<u64>(), any::<u64>()), 1..40),
    ) {
        let types = |columns: &[(Type, bool)]| columns.iter().map(|(ty, _)| *ty).collect::<Vec<_>>();
        let of = [types(&left), types(&right)];
        let predicate = Trees::new(&of, picks).tree(3);
        let layouts = [Layout::of(&left, true).unwrap(), Layout::of(&right, false).unwrap()];
        let layouts = [&layouts[0], &layouts[1]];
        prop_assume!(can_represent(&predicate, &layouts));
        let program = Program::new(&predicate, &layouts).unwrap();
        for (one, other) in rows {
            let rows = [row(&left, one), row(&right, other)];
            let mut records = [Vec::new(), Vec::new()];
            for side in 0..2 {
                layouts[side].encode(&rows[side], &mut records[side]).unwrap();
            }
            let matches = program.matches(&[&records[0], &records[1]]);
            prop_assert_eq!(Ok(matches), oracle(&predicate, &[&rows[0], &rows[1]]), "{}", &predicate);
        }
    }
}

/// More rows than a block has, with an answer in the last of them.
#[test]
fn blocks_follow_each_other() {
    let layout = Layout::of(&[(Type::U64, false), (Type::U32, true)], true).unwrap();
    let mut records = Vec::new();
    for row in 0..5000u64 {
        let second = if row.is_multiple_of(3) { Value::Null } else { Value::U32(row as u32 % 7) };
        layout.encode(&[row.into(), second], &mut records).unwrap();
    }
    let predicate = Predicate::And(vec![
        Predicate::column(0, Compare::GreaterEqual, 1020u64),
        Predicate::column(1, Compare::Equal, 4u32),
    ]);
    let vectors = Vectors::of_records(&predicate, &layout).unwrap();
    let (mut by_vectors, mut by_program) = (Vec::new(), Vec::new());
    vectors.select(&layout.columns(&records), 5000, &mut by_vectors).unwrap();
    Program::new(&predicate, &[&layout]).unwrap().select(&records, &mut by_program);
    assert_eq!(by_vectors, by_program);
    let expected = (1020..5000).filter(|row| row % 7 == 4 && row % 3 != 0).count();
    assert_eq!(by_vectors.iter().map(|word| word.count_ones() as usize).sum::<usize>(), expected);
}

/// S34: no undefined shift, no division by zero, no overflow that goes unseen.
#[test]
fn exceptions_are_left_to_one_place() {
    let layout = Layout::of(&[(Type::I64, true), (Type::I64, false)], true).unwrap();
    let answer = |what, left: Value, right: i64, constant: Value| {
        let made = Operand::column(0).with(what, Operand::column(1));
        let predicate = Predicate::Compare(Compare::Equal, made, Operand::Literal(constant));
        let mut record = Vec::new();
        layout.encode(&[left, right.into()], &mut record).unwrap();
        let mut selected = Vec::new();
        let vectors = Vectors::of_records(&predicate, &layout).unwrap();
        let done = vectors.select(&layout.columns(&record), 1, &mut selected);
        done.map(|()| selected[0] == 1).map_err(|error| error.to_string())
    };
    let exact = Value::Decimal128 { unscaled: i128::from(i64::MAX) + 1, scale: 0 };
    assert_eq!(answer(Arithmetic::Add, i64::MAX.into(), 1, exact.clone()), Ok(true), "128 bits hold it");
    assert_eq!(answer(Arithmetic::Divide, i64::MIN.into(), -1, exact), Ok(true), "no signal");
    assert_eq!(answer(Arithmetic::ShiftLeft, 1.into(), 62, (1i64 << 62).into()), Ok(true));
    assert_eq!(answer(Arithmetic::Divide, Value::Null, 0, 1.into()), Ok(false), "NULL is not divided");
    for (what, right, why) in [
        (Arithmetic::Divide, 0, "division by zero"),
        (Arithmetic::Remainder, 0, "division by zero"),
        (Arithmetic::ShiftLeft, 64, "a shift by less than 0 or more than 63"),
        (Arithmetic::ShiftRight, -1, "a shift by less than 0 or more than 63"),
    ] {
        let error = answer(what, 7.into(), right, 1.into()).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

/// Parameters are given values, and conditions of the wrong type are refused with what is wrong.
#[test]
fn conditions_are_typed() {
    let layout = Layout::of(&[(Type::Bool, false), (Type::I32, false)], true).unwrap();
    let with = |operand| Predicate::Compare(Compare::Equal, Operand::column(1), operand);
    let parameter = with(Operand::Parameter(0));
    assert!(Vectors::of_records(&parameter, &layout).is_err(), "not given");
    let error = parameter.with_parameters(&[]).unwrap_err().to_string();
    assert!(error.contains("the condition has a parameter 1, and 0 were given"), "{error}");
    let given = parameter.with_parameters(&[Value::I64(7)]).unwrap();
    assert_eq!(given, with(Operand::literal(7i64)));
    assert_eq!(given.to_string(), "#1 = 7");
    let wrong = Vectors::of_records(&Predicate::column(0, Compare::Less, 3i64), &layout).unwrap_err();
    assert!(wrong.to_string().contains("type boolean are not compared with those of type bigint"), "{wrong}");
}
