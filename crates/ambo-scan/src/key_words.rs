//! Keys that are numbers, and keys that lie one behind the other.

use crate::buffer::{Values, bit};

/// A key of those that lie one behind the other.
pub fn slice<'a>(bytes: &'a [u8], ends: &[usize], row: usize) -> &'a [u8] {
    debug_assert!(row == 0 || ends[row - 1] <= ends[row], "keys lie one behind the other");
    &bytes[row.checked_sub(1).map_or(0, |before| ends[before])..ends[row]]
}

/// Puts the encoded values of one more column behind the words. REQUIRES: they are whole numbers.
pub fn shift_in(words: &mut [u128], values: &Values, descending: bool) {
    fn put<T: Copy>(words: &mut [u128], values: &[T], code: impl Fn(T) -> u128, flip: bool) {
        let bits = 8 * size_of::<T>() as u32;
        debug_assert_eq!(words.len(), values.len(), "each key has a value of the column");
        debug_assert!(words.iter().all(|word| word.leading_zeros() >= bits), "keys have room for the column");
        let mask = u128::MAX >> (u128::BITS - bits);
        let flip = if flip { mask } else { 0 };
        for (word, value) in words.iter_mut().zip(values) {
            // A column of 16 bytes would be shifted out of its own word; none is an integer.
            *word = *word << bits | (code(*value) & mask) ^ flip;
        }
    }
    let flip = descending;
    match values {
        Values::Bool(bits) => {
            debug_assert!(bits.len() * 64 >= words.len(), "each key has a bit of the column");
            debug_assert!(
                words.iter().all(|word| word.leading_zeros() >= 8),
                "keys have room for the column"
            );
            for (row, word) in words.iter_mut().enumerate() {
                let value = u8::from(bit(bits, row));
                *word = *word << 8 | u128::from(if flip { !value } else { value });
            }
        }
        Values::I8(values) => put(words, values, |value| (value ^ i8::MIN) as u8 as u128, flip),
        Values::I16(values) => put(words, values, |value| (value ^ i16::MIN) as u16 as u128, flip),
        Values::I32(values) => put(words, values, |value| (value ^ i32::MIN) as u32 as u128, flip),
        Values::I64(values) => put(words, values, |value| (value ^ i64::MIN) as u64 as u128, flip),
        Values::U8(values) => put(words, values, u128::from, flip),
        Values::U16(values) => put(words, values, u128::from, flip),
        Values::U32(values) => put(words, values, u128::from, flip),
        Values::U64(values) => put(words, values, u128::from, flip),
        Values::F32(_) | Values::F64(_) | Values::I128(_) | Values::Bytes { .. } => {
            unreachable!("keys with such columns are bytes")
        }
    }
}
