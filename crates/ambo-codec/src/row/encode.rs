//! Values to row bytes.

use super::code::*;
use super::decode::tail;
use super::number::{
    Packed, pack_double, pack_signed, pack_single, pack_time, pack_timestamp, pack_unsigned,
};
use super::{RowColumn, RowSpec, check_value, is_identical};
use crate::{Error, Result, ValueRef, varint};

/// A number is written with eight bytes at once, whatever it needs.
const SLACK: usize = 8;

impl RowSpec {
    /// Appends the row of `values`, one for each column and of its type, to `out`. On an error `out` is as
    /// before.
    pub fn encode(&self, values: &[ValueRef<'_>], out: &mut Vec<u8>) -> Result<()> {
        self.encode_stored(values, false, out)
    }

    /// `all`: fields that have their missing value are stored, too.
    fn encode_stored(&self, values: &[ValueRef<'_>], all: bool, out: &mut Vec<u8>) -> Result<()> {
        if values.len() != self.columns.len() {
            let (given, columns) = (values.len(), self.columns.len());
            return Err(Error::invalid(format!("{given} values for a row of {columns} columns")));
        }
        let mut room = SLACK + varint::LEN_MAX + values.len().div_ceil(2);
        for (index, (value, column)) in values.iter().zip(&self.columns).enumerate() {
            check_value(index, column, *value)?;
            room += WIDTH_MAX + value.as_bytes().map_or(0, <[u8]>::len);
        }
        let start = out.len();
        out.resize(start + room, 0);
        let count = if all { values.len() } else { self.stored_fields(values) };
        let len = self.encode_checked(values, count, &mut out[start..]);
        out.truncate(start + len);
        Ok(())
    }

    /// As [`RowSpec::encode`], of a row that takes the place of another: fields of columns that were added since these columns were
    /// asked for stay as they are in `over`.
    pub fn encode_over(&self, values: &[ValueRef<'_>], over: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Some(tail) = tail(over, self.columns.len())? else { return self.encode(values, out) };
        let mut all = Vec::new();
        self.encode_stored(values, true, &mut all)?;
        let own = values.len();
        let (count, used) = varint::decode(&all).expect("just encoded");
        debug_assert_eq!(count as usize, own);
        let (codes, payloads) = all[used..].split_at(own.div_ceil(2));
        let total = own + tail.codes.len();
        varint::encode(total as u64, out);
        let start = out.len();
        out.extend_from_slice(codes);
        out.resize(start + total.div_ceil(2), 0);
        for (index, code) in (own..).zip(&tail.codes) {
            out[start + index / 2] |= code << (4 * (index % 2));
        }
        out.extend_from_slice(payloads);
        out.extend_from_slice(tail.payloads);
        Ok(())
    }

    /// Writes the row into zeroed bytes with room enough, and returns its length.
    fn encode_checked(&self, values: &[ValueRef<'_>], count: usize, out: &mut [u8]) -> usize {
        let codes = varint::encode_to(count as u64, out);
        let mut writer = Writer { at: codes + count.div_ceil(2), out };
        for (index, (value, column)) in values[..count].iter().zip(&self.columns).enumerate() {
            let code = writer.field(column, *value);
            writer.out[codes + index / 2] |= code << (4 * (index % 2));
        }
        writer.at
    }

    /// The number of fields without the trailing ones that have their missing value.
    fn stored_fields(&self, values: &[ValueRef<'_>]) -> usize {
        let is_stored = |index: &usize| {
            !self.missing(*index).is_some_and(|missing| is_identical(missing, values[*index]))
        };
        (0..values.len()).rev().find(is_stored).map_or(0, |last| last + 1)
    }
}

struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    /// Writes the payload of a field and returns its code.
    fn field(&mut self, column: &RowColumn, value: ValueRef<'_>) -> u8 {
        let packed = match value {
            ValueRef::Null => return NULL,
            ValueRef::Bool(value) => return if value { ONE } else { ZERO },
            ValueRef::Utf8(text) => return self.bytes(column, value, text.as_bytes()),
            ValueRef::Binary(bytes) => return self.bytes(column, value, bytes),
            ValueRef::Decimal128 { unscaled, .. } => match i64::try_from(unscaled) {
                Ok(small) => pack_signed(small),
                Err(_) => return self.wide(column, value, unscaled),
            },
            ValueRef::I8(value) => pack_signed(value.into()),
            ValueRef::I16(value) => pack_signed(value.into()),
            ValueRef::I32(value) | ValueRef::Date32(value) => pack_signed(value.into()),
            ValueRef::I64(value) => pack_signed(value),
            ValueRef::U8(value) => pack_unsigned(value.into()),
            ValueRef::U16(value) => pack_unsigned(value.into()),
            ValueRef::U32(value) => pack_unsigned(value.into()),
            ValueRef::U64(value) => pack_unsigned(value),
            ValueRef::Time64(value) => pack_time(value),
            ValueRef::Timestamp(value) | ValueRef::TimestampTz(value) => pack_timestamp(value),
            ValueRef::F64(value) => pack_double(value),
            ValueRef::F32(value) => pack_single(value),
        };
        self.number(column, value, packed)
    }

    fn number(&mut self, column: &RowColumn, value: ValueRef<'_>, (code, payload): Packed) -> u8 {
        let width = match code {
            // The digits of a double, behind their length.
            SHORT => 1 + (payload & 0xff) as usize,
            _ => WIDTH[usize::from(code)].into(),
        };
        if width > 0 && is_default(column, value) {
            return DEFAULT;
        }
        self.out[self.at..self.at + SLACK].copy_from_slice(&payload.to_le_bytes());
        self.at += width;
        // The bytes behind the payload are written by the next field, or cut off at the end.
        code
    }

    fn wide(&mut self, column: &RowColumn, value: ValueRef<'_>, unscaled: i128) -> u8 {
        if is_default(column, value) {
            return DEFAULT;
        }
        self.copy(&unscaled.to_le_bytes());
        W16
    }

    fn bytes(&mut self, column: &RowColumn, value: ValueRef<'_>, bytes: &[u8]) -> u8 {
        let code = match bytes {
            [] => return ZERO,
            [b' '] => return ONE,
            _ if is_default(column, value) => return DEFAULT,
            _ => match bytes.len() {
                1 => W1,
                2 => W2,
                len @ 3..=255 if is_repeated(bytes) => {
                    self.copy(&[bytes[0], len as u8]);
                    return W2B;
                }
                3 => W3,
                4 => W4,
                6 => W6,
                8 => W8,
                16 => W16,
                len @ 0..=255 => {
                    self.copy(&[len as u8]);
                    SHORT
                }
                len => {
                    self.at += varint::encode_to(len as u64, &mut self.out[self.at..]);
                    LONG
                }
            },
        };
        self.copy(bytes);
        code
    }

    fn copy(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

fn is_default(column: &RowColumn, value: ValueRef<'_>) -> bool {
    column.default.as_ref().is_some_and(|default| is_identical(default.as_ref(), value))
}

/// Whether all bytes are the same, and below 0x80.
fn is_repeated(bytes: &[u8]) -> bool {
    bytes[0] < 0x80 && bytes[0] == bytes[1] && bytes.iter().all(|byte| *byte == bytes[0])
}
