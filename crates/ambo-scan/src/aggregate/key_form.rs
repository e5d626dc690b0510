//! How the values of a group become its key.
//!
//! If they take 128 bits together at most, the key is a number: for each column, from the highest bit of it on, a bit that is set if there
//! is a value, unless the column refuses NULL, and the bits of the value:
//!
//! | values | bits | |
//! |---|--:|---|
//! | whole numbers, dates, times, truth values | 8 to 64 | signed ones with the first bit turned over |
//! | floats | 32, 64 | all bits turned over if negative, else the first; one zero, one NaN |
//! | decimals of `p` digits | enough for twice 10 to the power of `p` | their integer and 10 to the power of `p` less one |
//! | text, bytes | 32 | their number ([`super::text_numbers`]) |
//!
//! NULL has no bit set, so it comes first. Example: `(smallint 3, int not null -1)` is `1 1000000000000011 7FFFFFFF`, the number
//! `0x1_8003_7FFF_FFFF`. But for text such keys sort as the values do. Other keys are bytes (`docs/formats/keys.md`, every column
//! nullable), and those of a single column of text, which has no need of a number beside its place in the list.

use ambo_codec::{KeyColumn, KeySpec, Result, Type, Value, ValueRef};

use crate::{
    buffer::{ColumnBuffer, Values},
    key_words::shift_in,
};

use super::{key_list::KeyList, text_numbers::TextNumbers};

/// See the module.
#[derive(Debug)]
pub(super) struct KeyForm {
    columns: Vec<(Type, bool)>,
    spec: KeySpec,
    is_word: bool,
}

impl KeyForm {
    /// That of columns of these types, and whether each may be NULL.
    ///
    /// # Errors
    /// A type that no key can have.
    pub(super) fn new(columns: Vec<(Type, bool)>) -> Result<Self> {
        let spec = KeySpec::new(columns.iter().map(|(ty, _)| KeyColumn::new(*ty).nullable()).collect())?;
        let bits: u32 =
            columns.iter().map(|(ty, is_nullable)| value_bits(*ty) + u32::from(*is_nullable)).sum();
        let is_one_text = matches!(columns[..], [(ty, _)] if ty.is_variable());
        Ok(Self { columns, spec, is_word: bits <= u128::BITS && !is_one_text })
    }

    /// No keys.
    pub(super) fn list(&self) -> KeyList {
        if self.is_word { KeyList::Words(Vec::new()) } else { KeyList::default() }
    }

    /// Buffers for the columns that make a key: of the numbers of text where [`KeyForm::has_numbers`].
    pub(super) fn buffers(&self) -> Vec<ColumnBuffer> {
        let types = self.columns.iter().enumerate();
        types
            .map(|(column, (ty, _))| {
                ColumnBuffer::new(if self.has_numbers(column) { Type::U32 } else { *ty })
            })
            .collect()
    }

    /// For each column the numbers of its text, none yet.
    pub(super) fn text_numbers(&self) -> Vec<TextNumbers> {
        self.columns.iter().map(|_| TextNumbers::default()).collect()
    }

    /// Whether the text of a column is in keys by its number.
    pub(super) fn has_numbers(&self, column: usize) -> bool {
        self.is_word && self.columns[column].0.is_variable()
    }

    /// Puts the keys of rows in the place of those of a list. Floats in `columns` are made canonical.
    ///
    /// # Errors
    /// NULL in a column that refuses it, text that is none, a decimal of too many digits: damage.
    pub(super) fn encode(&self, columns: &mut [ColumnBuffer], list: &mut KeyList) -> Result<()> {
        let rows = columns.first().map_or(0, ColumnBuffer::len);
        debug_assert_eq!(columns.len(), self.columns.len(), "a value of each column makes a key");
        debug_assert!(columns.iter().all(|column| column.len() == rows), "of the same rows");
        match list {
            KeyList::Words(words) => {
                words.clear();
                words.resize(rows, 0);
                columns.iter_mut().zip(&self.columns).try_for_each(|(column, (ty, is_nullable))| {
                    shift_in_nullable(words, column, *ty, *is_nullable)
                })
            }
            KeyList::Bytes { bytes, ends } => {
                bytes.clear();
                ends.clear();
                let mut values: Vec<ValueRef<'_>> = Vec::with_capacity(columns.len());
                for row in 0..rows {
                    values.clear();
                    for column in &*columns {
                        values.push(column.get(row)?);
                    }
                    self.spec.encode(&values, bytes)?;
                    ends.push(bytes.len());
                }
                Ok(())
            }
        }
    }

    /// Appends the values that make a key.
    ///
    /// # Errors
    /// What is no key.
    pub(super) fn decode(
        &self,
        list: &KeyList,
        number: usize,
        texts: &[TextNumbers],
        values: &mut Vec<Value>,
    ) -> Result<()> {
        let KeyList::Words(words) = list else {
            let push = |value: ValueRef<'_>| values.push(value.to_value());
            return self.spec.visit(list.bytes(number), &mut Vec::new(), push);
        };
        let first = values.len();
        values.resize(first + self.columns.len(), Value::Null);
        for (column, code) in self.codes(words[number]) {
            let ty = self.columns[column].0;
            values[first + column] = match ty {
                Type::Utf8 => Value::Utf8(texts[column].text(code as u32)?.into()),
                Type::Binary => Value::Binary(texts[column].bytes(code as u32).to_vec()),
                _ => value_of(ty, code),
            };
        }
        Ok(())
    }

    /// The columns of a key that have a value, last first, and its bits.
    fn codes(&self, mut word: u128) -> impl Iterator<Item = (usize, u128)> {
        self.columns.iter().enumerate().rev().filter_map(move |(column, (ty, is_nullable))| {
            let code = word & mask(*ty);
            word = word.unbounded_shr(value_bits(*ty));
            let is_there = !is_nullable || word & 1 == 1;
            word >>= u32::from(*is_nullable);
            is_there.then_some((column, code))
        })
    }

    /// The same keys with other numbers for text: for each column, by number.
    pub(super) fn renumbered(&self, list: &KeyList, of_columns: &[Vec<u32>]) -> KeyList {
        let KeyList::Words(words) = list else { unreachable!("keys with numbers of text are numbers") };
        let renumber = |word: &u128| {
            let (mut word, mut shift) = (*word, 0);
            for ((ty, is_nullable), numbers) in self.columns.iter().zip(of_columns).rev() {
                let is_there = !is_nullable || word.unbounded_shr(shift + value_bits(*ty)) & 1 == 1;
                if ty.is_variable() && is_there {
                    let number = numbers[(word >> shift & mask(*ty)) as usize];
                    word = word & !(mask(*ty) << shift) | u128::from(number) << shift;
                }
                shift += value_bits(*ty) + u32::from(*is_nullable);
            }
            word
        };
        KeyList::Words(words.iter().map(renumber).collect())
    }

    /// Whether the text of any column is in keys by its number.
    pub(super) fn has_any_numbers(&self) -> bool {
        (0..self.columns.len()).any(|column| self.has_numbers(column))
    }
}

/// The greatest integer of a decimal of so many digits.
fn greatest(precision: u8) -> u128 {
    10u128.pow(precision.into()) - 1
}

/// How many bits of a key a value takes.
fn value_bits(ty: Type) -> u32 {
    match ty {
        Type::Decimal128 { precision, .. } => u128::BITS - (2 * greatest(precision)).leading_zeros(),
        Type::Utf8 | Type::Binary => u32::BITS,
        _ => 8 * ty.fixed_width().unwrap_or(0) as u32,
    }
}

fn mask(ty: Type) -> u128 {
    u128::MAX >> (u128::BITS - value_bits(ty))
}

/// Puts the values of one more column behind the words, with a bit before each that says that it is one if it may be NULL.
fn shift_in_nullable(
    words: &mut [u128],
    column: &mut ColumnBuffer,
    ty: Type,
    is_nullable: bool,
) -> Result<()> {
    if is_nullable {
        words.iter_mut().for_each(|word| *word = *word << 1 | 1);
    } else if column.nulls() > 0 {
        return Err(ambo_codec::Error::invalid("NULL in a column that refuses it"));
    }
    column.make_canonical();
    let bits = value_bits(ty);
    let put = |word: &mut u128, code: u128| *word = word.unbounded_shl(bits) | code;
    match &column.values {
        Values::F32(values) => {
            let codes = values.iter().map(|value| turned(value.to_bits().into(), bits));
            words.iter_mut().zip(codes).for_each(|(word, code)| put(word, code.into()));
        }
        Values::F64(values) => {
            let codes = values.iter().map(|value| turned(value.to_bits(), bits));
            words.iter_mut().zip(codes).for_each(|(word, code)| put(word, code.into()));
        }
        Values::I128(values) => {
            let Type::Decimal128 { precision, .. } = ty else { unreachable!("{ty} has no 128 bits") };
            let greatest = greatest(precision);
            for (row, (word, value)) in words.iter_mut().zip(values).enumerate() {
                if value.unsigned_abs() > greatest && column.is_valid(row) {
                    return Err(ambo_codec::Error::invalid(format!("a {ty} of more digits")));
                }
                // What is at the place of NULL goes below.
                put(word, (*value as u128).wrapping_add(greatest) & mask(ty));
            }
        }
        values => shift_in(words, values, false),
    }
    if column.nulls() > 0 {
        let nothing = u128::MAX.unbounded_shl(bits + 1);
        let nulls = words.iter_mut().enumerate().filter(|(row, _)| !column.is_valid(*row));
        nulls.for_each(|(_, word)| *word &= nothing);
    }
    Ok(())
}

/// The bits of a float so that they order as it does.
fn turned(float: u64, bits: u32) -> u64 {
    let first = 1 << (bits - 1);
    float ^ if float & first == 0 { first } else { u64::MAX >> (u64::BITS - bits) }
}

/// The reverse.
fn turned_back(code: u64, bits: u32) -> u64 {
    let first = 1 << (bits - 1);
    code ^ if code & first == 0 { u64::MAX >> (u64::BITS - bits) } else { first }
}

/// The value of a type with these bits in a key.
fn value_of(ty: Type, code: u128) -> Value {
    match ty {
        Type::Bool => Value::Bool(code != 0),
        Type::I8 => Value::I8(code as i8 ^ i8::MIN),
        Type::I16 => Value::I16(code as i16 ^ i16::MIN),
        Type::I32 => Value::I32(code as i32 ^ i32::MIN),
        Type::I64 => Value::I64(code as i64 ^ i64::MIN),
        Type::U8 => Value::U8(code as u8),
        Type::U16 => Value::U16(code as u16),
        Type::U32 => Value::U32(code as u32),
        Type::U64 => Value::U64(code as u64),
        Type::Date32 => Value::Date32(code as i32 ^ i32::MIN),
        Type::Time64 => Value::Time64(code as i64 ^ i64::MIN),
        Type::Timestamp => Value::Timestamp(code as i64 ^ i64::MIN),
        Type::TimestampTz => Value::TimestampTz(code as i64 ^ i64::MIN),
        Type::F32 => Value::F32(f32::from_bits(turned_back(code as u64, u32::BITS) as u32)),
        Type::F64 => Value::F64(f64::from_bits(turned_back(code as u64, u64::BITS))),
        Type::Decimal128 { precision, scale } => {
            Value::Decimal128 { unscaled: code.wrapping_sub(greatest(precision)) as i128, scale }
        }
        Type::Utf8 | Type::Binary => unreachable!("the number of a {ty} is looked up"),
    }
}

#[cfg(test)]
mod tests {
    use ambo_codec::Type as T;
    use proptest::prelude::*;

    use super::*;

    /// Types whose values are in keys that are numbers; the last ones are decimals.
    fn types() -> Vec<T> {
        let decimals = [(1, 0), (9, 2), (18, 4), (37, 1), (38, 38)];
        let decimals = decimals.map(|(precision, scale)| T::decimal(precision, scale).unwrap());
        let whole = [T::Bool, T::I8, T::I16, T::I32, T::I64, T::U8, T::U16, T::U32, T::U64];
        let others = [T::Date32, T::Time64, T::Timestamp, T::TimestampTz, T::F32, T::F64];
        [&whole[..], &others, &decimals].concat()
    }

    /// A value made of these bits, NULL where it may be and they are divisible by four; often one at the end of those that there are.
    fn value(ty: Type, is_nullable: bool, bits: u64) -> Value {
        match ty {
            _ if is_nullable && bits.is_multiple_of(4) => Value::Null,
            // Numbers of infinities, of the greatest and the least, of both zeros.
            Type::F64 if bits % 4 == 1 => Value::F64(
                [f64::NEG_INFINITY, f64::MIN, -0.0, 0.0, f64::MAX, -f64::NAN][bits as usize / 8 % 6],
            ),
            Type::F32 => Value::F32(f32::from_bits(bits as u32)),
            Type::F64 => Value::F64(f64::from_bits(bits)),
            Type::Decimal128 { precision, scale } => {
                let greatest = greatest(precision) as i128;
                let some = (i128::from(bits as i64) << 63 ^ i128::from(bits)) % (greatest + 1);
                Value::Decimal128 { unscaled: [some, greatest, -greatest][(bits >> 3) as usize % 3], scale }
            }
            _ => value_of(ty, u128::from(bits) & mask(ty)),
        }
    }

    proptest! {
        /// Keeps away: keys as numbers that lose a value, take NULL for one, or sort otherwise than the encoded keys.
        #[test]
        fn keys_are_their_values_and_sort_as_they(
            columns in proptest::collection::vec((proptest::sample::select(types()), any::<bool>()), 1..6),
            rows in proptest::collection::vec(any::<[u64; 5]>(), 1..40),
        ) {
            let form = KeyForm::new(columns.clone()).unwrap();
            let bits: u32 = columns.iter().map(|(ty, is_nullable)| value_bits(*ty) + u32::from(*is_nullable)).sum();
            let mut list = form.list();
            prop_assert_eq!(matches!(list, KeyList::Words(_)), bits <= 128);
            let values = |row: &[u64; 5]| -> Vec<Value> {
                columns.iter().zip(row).map(|((ty, is_nullable), bits)| value(*ty, *is_nullable, *bits)).collect()
            };
            let mut rows: Vec<_> = rows.iter().map(values).collect();
            let encoded = |row: &Vec<Value>| {
                let mut key = Vec::new();
                form.spec.encode(&row.iter().map(Value::as_ref).collect::<Vec<_>>(), &mut key).unwrap();
                key
            };
            rows.sort_by_cached_key(encoded);
            rows.dedup_by_key(|row| encoded(row));
            let mut buffers: Vec<_> = columns.iter().map(|(ty, _)| ColumnBuffer::new(*ty)).collect();
            for row in &rows {
                buffers.iter_mut().zip(row).for_each(|(buffer, value)| buffer.push(value.as_ref()).unwrap());
            }
            form.encode(&mut buffers, &mut list).unwrap();
            for (number, row) in rows.iter().enumerate() {
                let mut values = Vec::new();
                form.decode(&list, number, &[], &mut values).unwrap();
                prop_assert_eq!(&values, row);
            }
            prop_assert_eq!(list.order(1), (0..rows.len() as u32).collect::<Vec<_>>());
        }

        /// Keeps away: keys that have other numbers for text than they should, or lose what stands beside it.
        #[test]
        fn text_is_renumbered(
            columns in proptest::collection::vec((proptest::sample::select(vec![T::Utf8, T::Binary, T::I16, T::Bool]), any::<bool>()), 2..4),
            rows in proptest::collection::vec(any::<[u64; 4]>(), 1..40),
            factor in 1..1000u32,
        ) {
            let form = KeyForm::new(columns.clone()).unwrap();
            let other = |number: u32| if number < 50 { number * factor } else { u32::MAX - number };
            let keys = |change: &dyn Fn(u32) -> u32| {
                let mut buffers = form.buffers();
                for row in &rows {
                    for (((ty, is_nullable), buffer), bits) in columns.iter().zip(&mut buffers).zip(row) {
                        let value = match ty.is_variable() && !(*is_nullable && bits.is_multiple_of(4)) {
                            true => Value::U32(change((bits >> 2) as u32 % 100)),
                            false => value(*ty, *is_nullable, *bits),
                        };
                        buffer.push(value.as_ref()).unwrap();
                    }
                }
                let mut list = form.list();
                form.encode(&mut buffers, &mut list).unwrap();
                list
            };
            let others = vec![(0..100).map(other).collect::<Vec<u32>>(); columns.len()];
            let KeyList::Words(renumbered) = form.renumbered(&keys(&|number| number), &others) else { unreachable!() };
            let KeyList::Words(wanted) = keys(&other) else { unreachable!() };
            prop_assert_eq!(renumbered, wanted);
        }
    }

    /// Keeps away: a decimal of too many digits, which would be another one's key.
    #[test]
    fn decimals_of_too_many_digits_are_damage() {
        let ty = T::decimal(3, 1).unwrap();
        let form = KeyForm::new(vec![(ty, true)]).unwrap();
        let mut buffers = form.buffers();
        buffers[0].push(ValueRef::Decimal128 { unscaled: -1000, scale: 1 }).unwrap();
        let error = form.encode(&mut buffers, &mut form.list()).unwrap_err();
        assert!(error.to_string().contains("digits"), "{error}");
    }

    /// Keeps away: another key than the module says; and a group of NULL and a value, where a column that refuses NULL has one.
    #[test]
    fn the_example_of_the_module() {
        let form = KeyForm::new(vec![(T::I16, true), (T::I32, false)]).unwrap();
        let mut buffers = [ColumnBuffer::new(T::I16), ColumnBuffer::new(T::I32)];
        buffers[0].push(ValueRef::I16(3)).unwrap();
        buffers[1].push(ValueRef::I32(-1)).unwrap();
        let mut list = form.list();
        form.encode(&mut buffers, &mut list).unwrap();
        assert!(matches!(&list, KeyList::Words(words) if words[..] == [0x1_8003_7FFF_FFFF]));
        buffers[0].push(ValueRef::I16(3)).unwrap();
        buffers[1].push(ValueRef::Null).unwrap();
        assert!(form.encode(&mut buffers, &mut list).unwrap_err().to_string().contains("NULL"));
    }
}
