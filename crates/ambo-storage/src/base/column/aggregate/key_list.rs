//! Keys of groups, one behind the other, in a form that compares and sorts quickly.
//!
//! If the columns that make a group are whole numbers (dates, times and truth values among them) that take 128 bits together at most, its key is a
//! number: for each column, from the highest bit of it on, a bit that is set if there is a value, unless the column refuses NULL, and the bits of the value, those of signed ones with the
//! first turned over. NULL has no bit set, so it comes first. Example: `(smallint 3, int not null -1)` is `1 1000000000000011 7FFFFFFF`, the number `0x1_8003_7FFF_FFFF`. Other keys are bytes
//! (`docs/formats/keys.md`, every column nullable).

use ambo_codec::{KeyColumn, KeySpec, Result, Type, Value, ValueRef};

use super::super::{
    buffer::ColumnBuffer,
    keys::{is_whole, shift_in, slice},
};
use crate::record::key_head;

/// How the values of a group become its key.
#[derive(Debug)]
pub(super) struct KeyForm {
    columns: Vec<(Type, bool)>,
    spec: KeySpec,
    is_word: bool,
}

/// Keys of one form.
#[derive(Debug)]
pub(super) enum KeyList {
    Words(Vec<u128>),
    /// Bytes one behind the other, and where each key ends.
    Bytes {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
}

impl Default for KeyList {
    fn default() -> Self {
        Self::Bytes { bytes: Vec::new(), ends: Vec::new() }
    }
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
        let is_word = columns.iter().all(|(ty, _)| is_whole(*ty)) && bits <= u128::BITS;
        Ok(Self { columns, spec, is_word })
    }

    /// No keys.
    pub(super) fn list(&self) -> KeyList {
        if self.is_word { KeyList::Words(Vec::new()) } else { KeyList::default() }
    }

    /// Puts the keys of rows in the place of those of a list.
    ///
    /// # Errors
    /// NULL in a column that refuses it, or text that is none: damage.
    pub(super) fn encode(&self, columns: &[ColumnBuffer], list: &mut KeyList) -> Result<()> {
        let rows = columns.first().map_or(0, ColumnBuffer::len);
        match list {
            KeyList::Words(words) => {
                words.clear();
                words.resize(rows, 0);
                columns.iter().zip(&self.columns).try_for_each(|(column, (ty, is_nullable))| {
                    shift_in_nullable(words, column, *ty, *is_nullable)
                })
            }
            KeyList::Bytes { bytes, ends } => {
                bytes.clear();
                ends.clear();
                let mut values: Vec<ValueRef<'_>> = Vec::with_capacity(columns.len());
                for row in 0..rows {
                    values.clear();
                    for column in columns {
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
    pub(super) fn decode(&self, list: &KeyList, number: usize, values: &mut Vec<Value>) -> Result<()> {
        let mut word = match list {
            KeyList::Words(words) => words[number],
            KeyList::Bytes { bytes, ends } => {
                let push = |value: ValueRef<'_>| values.push(value.to_value());
                return self.spec.visit(slice(bytes, ends, number), &mut Vec::new(), push);
            }
        };
        let first = values.len();
        for (ty, is_nullable) in self.columns.iter().rev() {
            let code = word as u64 & (u64::MAX >> (u64::BITS - value_bits(*ty)));
            word = word.checked_shr(value_bits(*ty)).unwrap_or(0);
            let is_there = !is_nullable || word & 1 == 1;
            values.push(if is_there { value_of(*ty, code) } else { Value::Null });
            word >>= u32::from(*is_nullable);
        }
        values[first..].reverse();
        Ok(())
    }
}

impl KeyList {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Words(words) => words.len(),
            Self::Bytes { ends, .. } => ends.len(),
        }
    }

    /// A hash of each key, in the place of others.
    pub(super) fn hash(&self, hashes: &mut Vec<u64>) {
        hashes.clear();
        match self {
            Self::Words(words) => hashes.extend(words.iter().map(|word| hash_word(*word))),
            Self::Bytes { bytes, ends } => {
                let keys = (0..ends.len()).map(|number| slice(bytes, ends, number));
                hashes.extend(keys.map(rapidhash::v3::rapidhash_v3));
            }
        }
    }

    /// Whether a key is that of another list of the same form.
    #[inline]
    pub(super) fn is(&self, number: usize, other: &Self, of_other: usize) -> bool {
        match (self, other) {
            (Self::Words(words), Self::Words(others)) => words[number] == others[of_other],
            (Self::Bytes { bytes, ends }, Self::Bytes { bytes: others, ends: of_others }) => {
                slice(bytes, ends, number) == slice(others, of_others, of_other)
            }
            _ => unreachable!("lists of one form"),
        }
    }

    /// Appends a key of another list of the same form.
    pub(super) fn push(&mut self, other: &Self, of_other: usize) {
        match (self, other) {
            (Self::Words(words), Self::Words(others)) => words.push(others[of_other]),
            (Self::Bytes { bytes, ends }, Self::Bytes { bytes: others, ends: of_others }) => {
                bytes.extend_from_slice(slice(others, of_others, of_other));
                ends.push(bytes.len());
            }
            _ => unreachable!("lists of one form"),
        }
    }

    /// The numbers of all keys, each of which is there once, in the order of the keys.
    pub(super) fn order(&self, threads: usize) -> Vec<u32> {
        match self {
            Self::Words(words) => sorted(words.iter().copied(), threads),
            Self::Bytes { bytes, ends } => {
                // Most comparisons end with the first eight bytes, which stand beside the key.
                let headed = |number| (key_head(slice(bytes, ends, number)), slice(bytes, ends, number));
                sorted((0..ends.len()).map(headed), threads)
            }
        }
    }
}

/// With fewer keys to sort, a thread costs more than it gains.
const SORTED_BY_A_THREAD: usize = 1 << 15;

/// The numbers of keys in the order of these.
fn sorted<K: Ord + Send>(keys: impl Iterator<Item = K>, threads: usize) -> Vec<u32> {
    let mut pairs: Vec<(K, u32)> = keys.zip(0..).collect();
    let threads = threads.min(pairs.len() / SORTED_BY_A_THREAD).max(1);
    let part = pairs.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let mut parts = pairs.chunks_mut(part);
        let own = parts.next();
        parts.for_each(|part| _ = scope.spawn(|| part.sort_unstable()));
        own.into_iter().for_each(<[_]>::sort_unstable);
    });
    if threads > 1 {
        // The stable sort finds what is in order already, and merges it.
        pairs.sort();
    }
    pairs.into_iter().map(|(_, number)| number).collect()
}

/// Both halves of a product of 128 bits, folded (as in wyhash).
fn hash_word(word: u128) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let low = fold(word as u64 ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03);
    fold(low ^ (word >> 64) as u64 ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db)
}

/// Bits of a whole number's value.
fn value_bits(ty: Type) -> u32 {
    8 * ty.fixed_width().unwrap_or(0) as u32
}

/// Puts the values of one more column behind the words, with a bit before each that says that it is one if it may be NULL.
fn shift_in_nullable(words: &mut [u128], column: &ColumnBuffer, ty: Type, is_nullable: bool) -> Result<()> {
    if is_nullable {
        words.iter_mut().for_each(|word| *word = *word << 1 | 1);
    } else if column.nulls() > 0 {
        return Err(ambo_codec::Error::invalid("NULL in a column that refuses it"));
    }
    shift_in(words, &column.values, false);
    if column.nulls() > 0 {
        let nothing = u128::MAX.checked_shl(value_bits(ty) + 1).unwrap_or(0);
        let nulls = words.iter_mut().enumerate().filter(|(row, _)| !column.is_valid(*row));
        nulls.for_each(|(_, word)| *word &= nothing);
    }
    Ok(())
}

/// The value of a type whose bits these are: the reverse of [`shift_in`].
fn value_of(ty: Type, code: u64) -> Value {
    match ty {
        Type::Bool => Value::Bool(code != 0),
        Type::I8 => Value::I8(code as i8 ^ i8::MIN),
        Type::I16 => Value::I16(code as i16 ^ i16::MIN),
        Type::I32 => Value::I32(code as i32 ^ i32::MIN),
        Type::I64 => Value::I64(code as i64 ^ i64::MIN),
        Type::U8 => Value::U8(code as u8),
        Type::U16 => Value::U16(code as u16),
        Type::U32 => Value::U32(code as u32),
        Type::U64 => Value::U64(code),
        Type::Date32 => Value::Date32(code as i32 ^ i32::MIN),
        Type::Time64 => Value::Time64(code as i64 ^ i64::MIN),
        Type::Timestamp => Value::Timestamp(code as i64 ^ i64::MIN),
        other => unreachable!("{other} is no whole number"),
    }
}

#[cfg(test)]
mod tests {
    use ambo_codec::Type as T;
    use proptest::prelude::*;

    use super::*;

    const WHOLE: [T; 12] = [
        T::Bool,
        T::I8,
        T::I16,
        T::I32,
        T::I64,
        T::U8,
        T::U16,
        T::U32,
        T::U64,
        T::Date32,
        T::Time64,
        T::Timestamp,
    ];

    /// A value whose bits these are, NULL where it may be and they are divisible by four.
    fn value(ty: Type, is_nullable: bool, bits: u64) -> Value {
        match is_nullable && bits.is_multiple_of(4) {
            true => Value::Null,
            false => value_of(ty, bits & (u64::MAX >> (64 - value_bits(ty)))),
        }
    }

    proptest! {
        /// Keeps away: keys as numbers that lose a value, take NULL for one, or sort otherwise than the encoded keys.
        #[test]
        fn keys_are_their_values_and_sort_as_they(
            columns in proptest::collection::vec((proptest::sample::select(&WHOLE[..]), any::<bool>()), 1..6),
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
            form.encode(&buffers, &mut list).unwrap();
            for (number, row) in rows.iter().enumerate() {
                let mut values = Vec::new();
                form.decode(&list, number, &mut values).unwrap();
                prop_assert_eq!(&values, row);
            }
            prop_assert_eq!(list.order(1), (0..rows.len() as u32).collect::<Vec<_>>());
        }
    }

    /// Keeps away: another key than the module says; and a group of NULL and a value, where a column that refuses NULL has one.
    #[test]
    fn the_example_of_the_module() {
        let form = KeyForm::new(vec![(T::I16, true), (T::I32, false)]).unwrap();
        let mut buffers = [ColumnBuffer::new(T::I16), ColumnBuffer::new(T::I32)];
        buffers[0].push(ValueRef::I16(3)).unwrap();
        buffers[1].push(ValueRef::I32(-1)).unwrap();
        let mut list = form.list();
        form.encode(&buffers, &mut list).unwrap();
        assert!(matches!(&list, KeyList::Words(words) if words[..] == [0x1_8003_7FFF_FFFF]));
        buffers[0].push(ValueRef::I16(3)).unwrap();
        buffers[1].push(ValueRef::Null).unwrap();
        assert!(form.encode(&buffers, &mut list).unwrap_err().to_string().contains("NULL"));
    }

    /// Keeps away: keys that are left unsorted, or lost, where several threads sort them.
    #[test]
    fn threads_sort_as_one() {
        let keys = (0..200_001u32).map(|number| number.wrapping_mul(0x9e37_79b1));
        let one = sorted(keys.clone(), 1);
        assert!(one.is_sorted_by_key(|number| number.wrapping_mul(0x9e37_79b1)));
        for threads in [2, 3, 100] {
            assert_eq!(sorted(keys.clone(), threads), one);
        }
    }
}
