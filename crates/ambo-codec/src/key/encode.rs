//! Values to key bytes.

use super::{ESCAPE_END, ESCAPE_ZERO, ESCAPED, KeySpec, Layout, NULL_MARKER, VALUE_MARKER};
use crate::value::{canonical_f32, canonical_f64};
use crate::{Error, Result, ValueRef};

impl KeySpec {
    /// Appends the key of `values`, one for each column, to `out`. On an error `out` is as before.
    pub fn encode(&self, values: &[ValueRef<'_>], out: &mut Vec<u8>) -> Result<()> {
        if values.len() != self.layouts.len() {
            let (given, columns) = (values.len(), self.layouts.len());
            return Err(Error::invalid(format!("{given} values for a key of {columns} columns")));
        }
        self.encode_prefix(values, out)
    }

    /// Appends the bytes that all keys have in common whose first columns hold `values`; with as many
    /// values as columns that is the key. On an error `out` is as before.
    pub fn encode_prefix(&self, values: &[ValueRef<'_>], out: &mut Vec<u8>) -> Result<()> {
        self.check(values)?;
        for (value, layout) in values.iter().zip(&self.layouts) {
            encode_column(*layout, *value, true, out);
        }
        Ok(())
    }

    /// Appends what the value of column `index` adds to a key, behind those of the columns before it. On an error `out` is as before.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn encode_at(&self, index: usize, value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.check_at(index, value)?;
        encode_column(self.layouts[index], value, true, out);
        Ok(())
    }

    /// Like [`Self::encode_prefix`], but the last of `values`, a text or bytes, is only the beginning of what
    /// the column holds.
    pub fn encode_open_prefix(&self, values: &[ValueRef<'_>], out: &mut Vec<u8>) -> Result<()> {
        self.check(values)?;
        let open = values.iter().rposition(|value| value.as_bytes().is_some());
        if open.is_none() || open != values.len().checked_sub(1) {
            return Err(Error::invalid("only text or bytes have a beginning"));
        }
        for (index, (value, layout)) in values.iter().zip(&self.layouts).enumerate() {
            encode_column(*layout, *value, Some(index) != open, out);
        }
        Ok(())
    }
}

/// Appends one checked value; `closed` tells whether a text or bytes end here.
fn encode_column(layout: Layout, value: ValueRef<'_>, closed: bool, out: &mut Vec<u8>) {
    let start = out.len();
    if layout.nullable {
        out.push(if value.is_null() { NULL_MARKER } else { VALUE_MARKER });
    }
    match value {
        ValueRef::Null => assert!(layout.nullable, "the caller checked for NULL"),
        ValueRef::Bool(value) => out.push(u8::from(value)),
        ValueRef::I8(value) => out.extend((value ^ i8::MIN).to_be_bytes()),
        ValueRef::I16(value) => out.extend((value ^ i16::MIN).to_be_bytes()),
        ValueRef::I32(value) | ValueRef::Date32(value) => out.extend((value ^ i32::MIN).to_be_bytes()),
        ValueRef::I64(value)
        | ValueRef::Time64(value)
        | ValueRef::Timestamp(value)
        | ValueRef::TimestampTz(value) => {
            out.extend((value ^ i64::MIN).to_be_bytes());
        }
        ValueRef::U8(value) => out.push(value),
        ValueRef::U16(value) => out.extend(value.to_be_bytes()),
        ValueRef::U32(value) => out.extend(value.to_be_bytes()),
        ValueRef::U64(value) => out.extend(value.to_be_bytes()),
        ValueRef::F32(value) => out.extend(ordered_f32(value).to_be_bytes()),
        ValueRef::F64(value) => out.extend(ordered_f64(value).to_be_bytes()),
        ValueRef::Decimal128 { unscaled, .. } => out.extend((unscaled ^ i128::MIN).to_be_bytes()),
        ValueRef::Utf8(text) => encode_bytes(layout.raw, text.as_bytes(), closed, out),
        ValueRef::Binary(bytes) => encode_bytes(layout.raw, bytes, closed, out),
    }
    if layout.flip != 0 {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn encode_bytes(raw: bool, bytes: &[u8], closed: bool, out: &mut Vec<u8>) {
    if raw {
        out.extend_from_slice(bytes);
        return;
    }
    for (index, piece) in bytes.split(|&byte| byte == ESCAPED).enumerate() {
        if index > 0 {
            out.extend([ESCAPED, ESCAPE_ZERO]);
        }
        out.extend_from_slice(piece);
    }
    if closed {
        out.extend([ESCAPED, ESCAPE_END]);
    }
}

/// An unsigned integer in the order of the float: negative ones reversed, and all of them below the others.
fn ordered_f64(value: f64) -> u64 {
    let bits = canonical_f64(value);
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn ordered_f32(value: f32) -> u32 {
    let bits = canonical_f32(value);
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}
