//! What an index is over, and the keys that its values are.

use ambo_codec::{KeyColumn, KeySpec, Type, Value, ValueRef, column::Kind};
use ambo_pages::checksum::crc32c;
use ambo_scan::bounds::{self, physical};
use ambo_types::id::TableId;

/// An index of postings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its id, which no other index of the database ever has.
    pub id: TableId,
    /// The stored columns.
    pub columns: Vec<usize>,
    /// Whether a row stands under the value of each of the columns, and not under all of them together.
    pub any: bool,
}

impl IndexSpec {
    /// A number for the columns and their types: a file for others is none of this index.
    pub(super) fn fingerprint(&self, types: &[Type]) -> u32 {
        let mut bytes = vec![u8::from(self.any)];
        for column in &self.columns {
            bytes.extend_from_slice(&(*column as u32).to_le_bytes());
            types[*column].encode(&mut bytes);
        }
        crc32c(&bytes)
    }

    /// How its keys are made.
    pub(in crate::column) fn form(&self, types: &[Type]) -> KeyForm {
        match (self.any, &self.columns[..]) {
            (true, [first, ..]) | (false, [first]) => KeyForm::Value(types[*first]),
            (_, columns) => {
                let column = |column: &usize| KeyColumn::new(types[*column]).nullable();
                let spec = KeySpec::new(columns.iter().map(column).collect());
                KeyForm::Tuple(spec.expect("an index has columns"))
            }
        }
    }
}

/// What keys are made of. Their bytes compare as the values do.
#[derive(Clone, Debug)]
pub(in crate::column) enum KeyForm {
    /// A value of this type that is not NULL, as bounds have it; text as it is.
    Value(Type),
    /// The values of several columns, NULL among them.
    Tuple(KeySpec),
}

impl KeyForm {
    /// The bytes of a key, if all have so many, and no more than a number of 64 bits; otherwise zero.
    pub(in crate::column) fn width(&self) -> u8 {
        match self {
            Self::Value(ty) => ty.fixed_width().filter(|width| *width <= 8).unwrap_or(0) as u8,
            Self::Tuple(_) => 0,
        }
    }

    /// The key of a value of one column; none for what is none of its values.
    pub(in crate::column) fn key(&self, value: ValueRef<'_>) -> Option<Vec<u8>> {
        match self {
            Self::Value(ty) if !value.is_null() && value.is_of(*ty) => {
                bounds::key(Kind::of(*ty), physical(value))
            }
            _ => None,
        }
    }
}

/// A key of a fixed width as a number, which compares as it does.
pub(super) fn number(key: &[u8]) -> u64 {
    debug_assert!(key.len() <= 8, "only short keys are numbers");
    key.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The key of a number.
pub(super) fn bytes(number: u64, width: u8) -> Vec<u8> {
    number.to_be_bytes()[8 - usize::from(width)..].to_vec()
}

/// The value of a column that has this number as its key, as blocks know it; none if it has none.
pub(super) fn value(number: u64, kind: Kind) -> Option<Value> {
    Some(match kind {
        Kind::U8 => Value::U8(number as u8),
        Kind::U16 => Value::U16(number as u16),
        Kind::U32 => Value::U32(number as u32),
        Kind::U64 => Value::U64(number),
        Kind::I8 => Value::I8((number as u8 ^ 1 << 7).cast_signed()),
        Kind::I16 => Value::I16((number as u16 ^ 1 << 15).cast_signed()),
        Kind::I32 => Value::I32((number as u32 ^ 1 << 31).cast_signed()),
        Kind::I64 => Value::I64((number ^ 1 << 63).cast_signed()),
        Kind::Bool => bounds::Bounds::decode(kind, &bytes(number, 1))?,
        Kind::F32 => bounds::Bounds::decode(kind, &bytes(number, 4))?,
        Kind::F64 => bounds::Bounds::decode(kind, &bytes(number, 8))?,
        Kind::I128 | Kind::Bytes => return None,
    })
}
