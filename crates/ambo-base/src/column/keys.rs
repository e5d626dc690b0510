//! The keys of rows that are columns, in a form that compares quickly.
//!
//! A key of fixed-width columns that take 16 bytes at most is one number: the bytes of the encoded key
//! (`docs/formats/keys.md`), big-endian, with zeros before them. Others are the encoded bytes. Example: `(bigint 1, int -1)` is
//! `80…01 7F FF FF FF`, twelve bytes, as the number `0x8000_0000_0000_0001_7FFF_FFFF`.

use std::cmp::Ordering;

use ambo_codec::{Order, Type};
use ambo_types::{
    Error, Result,
    record::{KEY_BYTES_MAX, key_head_wide},
};

use ambo_scan::{
    buffer::{ColumnBuffer, Values},
    key_words::{shift_in, slice},
};

use super::schema::ColumnSchema;

const WORD_BYTES: usize = size_of::<u128>();

/// The keys of some rows, in their order.
#[derive(Debug)]
pub(super) enum Keys {
    /// Numbers, and the bytes of each.
    Words { words: Vec<u128>, width: usize },
    /// Bytes one behind the other, and where each key ends.
    Bytes { bytes: Vec<u8>, ends: Vec<usize> },
}

/// What is done about rows of the same key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Duplicates {
    /// Nothing is loaded.
    #[default]
    Refuse,
    /// The row that was there before stays.
    KeepFirst,
    /// The row that comes later takes its place.
    KeepLast,
}

impl Keys {
    /// The keys of rows, whose columns are those of the schema's key, or more. None is NULL.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a key that is too long.
    pub(super) fn of(schema: &ColumnSchema, columns: &[ColumnBuffer]) -> Result<Self> {
        let columns = &columns[..schema.key_columns()];
        if let Some(width) = word_width(schema) {
            let mut words = vec![0; columns[0].len()];
            for (column, spec) in columns.iter().zip(schema.keys().columns()) {
                shift_in(&mut words, column.values(), spec.order == Order::Descending);
            }
            return Ok(Self::Words { words, width });
        }
        let rows = columns[0].len();
        if schema.keys().is_raw()
            && let Values::Bytes { offsets, data } = columns[0].values()
            && offsets.array_windows().all(|[start, end]| end - start <= KEY_BYTES_MAX as u32)
        {
            let ends = offsets[1..].iter().map(|end| *end as usize).collect();
            return Ok(Self::Bytes { bytes: data.clone(), ends });
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows));
        for row in 0..rows {
            let start = bytes.len();
            schema
                .key_of(columns, row, &mut bytes)
                .map_err(|error| Error::Invalid(format!("the key of row {row}: {error}")))?;
            let len = bytes.len() - start;
            if len > KEY_BYTES_MAX {
                return Err(Error::Invalid(format!(
                    "row {row} has a key of {len} bytes; at most {KEY_BYTES_MAX} are possible"
                )));
            }
            ends.push(bytes.len());
        }
        Ok(Self::Bytes { bytes, ends })
    }

    /// How many keys.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Words { words, .. } => words.len(),
            Self::Bytes { ends, .. } => ends.len(),
        }
    }

    /// Calls `then` with the bytes of a key.
    pub(super) fn with<R>(&self, row: usize, then: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Self::Words { words, width } => then(&words[row].to_be_bytes()[WORD_BYTES - width..]),
            Self::Bytes { bytes, ends } => then(slice(bytes, ends, row)),
        }
    }

    /// The bytes of a key.
    pub(super) fn to_vec(&self, row: usize) -> Vec<u8> {
        self.with(row, <[u8]>::to_vec)
    }

    /// A number of each key, which order as the keys do where they differ.
    pub(super) fn heads(&self) -> Vec<u128> {
        match self {
            Self::Words { words, .. } => words.clone(),
            Self::Bytes { bytes, ends } => {
                (0..ends.len()).map(|row| key_head_wide(slice(bytes, ends, row))).collect()
            }
        }
    }

    /// How a key compares with one of other keys of the same schema.
    pub(super) fn compare(&self, row: usize, other: &Self, of_other: usize) -> Ordering {
        match (self, other) {
            (Self::Words { words, width }, Self::Words { words: others, width: of_others }) => {
                debug_assert_eq!(width, of_others, "keys of the same schema");
                words[row].cmp(&others[of_other])
            }
            _ => self.with(row, |key| other.with(of_other, |other| key.cmp(other))),
        }
    }

    /// Whether each key is greater than the one before.
    pub(super) fn ascend(&self) -> bool {
        match self {
            Self::Words { words, .. } => words.is_sorted_by(|a, b| a < b),
            Self::Bytes { bytes, ends } => {
                (1..ends.len()).all(|row| slice(bytes, ends, row - 1) < slice(bytes, ends, row))
            }
        }
    }

    /// The rows in the order of their keys, one of each key: the first or the last that has it.
    ///
    /// # Errors
    /// [`Error::Exists`] with the key if none may be left out.
    pub(super) fn order(&self, schema: &ColumnSchema, duplicates: Duplicates) -> Result<Vec<u32>> {
        let by_key = |one: &(u128, u32), other: &(u128, u32)| {
            // Most comparisons end with the heads, which stand beside the rows.
            one.0.cmp(&other.0).then_with(|| self.compare(one.1 as usize, self, other.1 as usize))
        };
        let mut order: Vec<(u128, u32)> = self.heads().into_iter().zip(0..).collect();
        order.sort_unstable_by(|one, other| by_key(one, other).then(one.1.cmp(&other.1)));
        let same = |one: &(u128, u32), other: &(u128, u32)| by_key(one, other).is_eq();
        match duplicates {
            Duplicates::Refuse => {
                if let Some([first, _]) = order.array_windows().find(|[one, other]| same(one, other)) {
                    return Err(self.with(first.1 as usize, |key| twice(schema, key)));
                }
            }
            Duplicates::KeepFirst => order.dedup_by(|later, kept| same(later, kept)),
            Duplicates::KeepLast => order.dedup_by(|later, kept| {
                let is_same = same(later, kept);
                if is_same {
                    *kept = *later;
                }
                is_same
            }),
        }
        debug_assert!(order.is_sorted_by(|one, other| by_key(one, other).is_lt()), "each key once, in order");
        Ok(order.into_iter().map(|(_, row)| row).collect())
    }
}

/// That a key is twice in a load.
pub(super) fn twice(schema: &ColumnSchema, key: &[u8]) -> Error {
    Error::Exists(format!("two rows of the load have the key {}", shown(schema, key)))
}

/// A key as its values.
pub(super) fn shown(schema: &ColumnSchema, key: &[u8]) -> String {
    match schema.keys().decode(key) {
        Ok(values) => {
            let values: Vec<_> = values.iter().map(ToString::to_string).collect();
            format!("({})", values.join(", "))
        }
        Err(_) => format!("{}", key.escape_ascii()),
    }
}

/// The bytes of each key if it is a number.
fn word_width(schema: &ColumnSchema) -> Option<usize> {
    let keys = schema.keys();
    let all = keys.columns().iter().all(|column| is_whole(column.ty) && !column.nullable);
    keys.fixed_width().filter(|width| all && *width <= WORD_BYTES)
}

/// Whether values of a type are whole numbers of 64 bits at most.
fn is_whole(ty: Type) -> bool {
    matches!(ty, Type::Bool | Type::Date32 | Type::Time64 | Type::Timestamp | Type::TimestampTz)
        || ty.is_integer()
}

#[cfg(test)]
mod tests {
    use ambo_codec::{ValueRef, ValueRef as V};
    use ambo_types::TableDefinition;

    use super::*;

    fn columns(schema: &ColumnSchema, rows: &[Vec<V<'_>>]) -> Vec<ColumnBuffer> {
        let mut buffers: Vec<_> = schema.buffers().into_iter().take(schema.key_columns()).collect();
        for row in rows {
            buffers.iter_mut().zip(row).for_each(|(buffer, value)| buffer.push(*value).unwrap());
        }
        buffers
    }

    fn schema(types: &[Type]) -> ColumnSchema {
        let names = ["a", "b", "c"];
        let mut definition = TableDefinition::new("t");
        for (name, ty) in names.iter().zip(types) {
            definition = definition.column(*name, *ty);
        }
        ColumnSchema::new(&definition.primary_key(&names[..types.len()])).unwrap()
    }

    /// Keeps away: keys as numbers or bytes that are not the encoded keys, so that rows would be sorted otherwise than they are found.
    #[test]
    fn keys_are_the_encoded_keys() {
        let cases: [(&[Type], Vec<Vec<ValueRef<'_>>>); 4] = [
            (
                &[Type::I64, Type::I32],
                vec![vec![V::I64(1), V::I32(-1)], vec![V::I64(i64::MIN), V::I32(i32::MAX)]],
            ),
            (&[Type::U8, Type::Bool, Type::Date32], vec![vec![V::U8(3), V::Bool(true), V::Date32(-4)]]),
            (&[Type::Timestamp, Type::U64], vec![vec![V::Timestamp(-9), V::U64(u64::MAX)]]),
            (&[Type::Utf8, Type::I16], vec![vec![V::Utf8("a\0b"), V::I16(5)], vec![V::Utf8(""), V::I16(-5)]]),
        ];
        for (types, rows) in cases {
            let schema = schema(types);
            let columns = columns(&schema, &rows);
            let keys = Keys::of(&schema, &columns).unwrap();
            assert_eq!(matches!(keys, Keys::Words { .. }), !types.contains(&Type::Utf8));
            for row in 0..rows.len() {
                let mut expected = Vec::new();
                schema.key_of(&columns, row, &mut expected).unwrap();
                assert_eq!(keys.to_vec(row), expected, "{types:?}");
            }
        }
        let example = schema(&[Type::I64, Type::I32]);
        let keys = Keys::of(&example, &columns(&example, &[vec![V::I64(1), V::I32(-1)]])).unwrap();
        assert!(
            matches!(keys, Keys::Words { words, width: 12 } if words == [0x8000_0000_0000_0001_7FFF_FFFF])
        );
    }

    /// Keeps away: rows of the same key that change places, and the wrong one of them left out.
    #[test]
    fn rows_are_sorted_and_made_unique() {
        for (ty, prefix) in [(Type::I32, ""), (Type::Utf8, ""), (Type::Utf8, "longer than a head is: ")] {
            let texts = ["3", "1", "3", "2", "1", "3"].map(|text| format!("{prefix}{text}"));
            let schema = schema(&[ty]);
            let rows = texts.each_ref().map(|text| match ty {
                Type::I32 => vec![V::I32(text.parse().unwrap())],
                _ => vec![V::Utf8(text)],
            });
            let keys = Keys::of(&schema, &columns(&schema, &rows)).unwrap();
            assert_eq!((keys.ascend(), keys.len()), (false, 6));
            assert_eq!(keys.order(&schema, Duplicates::KeepFirst).unwrap(), [1, 3, 0]);
            assert_eq!(keys.order(&schema, Duplicates::KeepLast).unwrap(), [4, 3, 5]);
            let error = keys.order(&schema, Duplicates::Refuse).unwrap_err();
            assert!(
                matches!(&error, Error::Exists(what) if what.contains(&format!("({})", texts[1]))),
                "{error}"
            );
        }
    }
}
