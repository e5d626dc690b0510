//! One field of a row: its code and the bytes behind it to a value. The bytes may be hostile.

use std::str;

use super::RowColumn;
use super::code::*;
use super::number::{
    unpack_digits, unpack_double, unpack_signed, unpack_single, unpack_time, unpack_timestamp,
    unpack_unsigned,
};
use crate::value::fits_precision;
use crate::{Error, Result, Type, ValueRef, varint};

/// For each byte below 0x80 the longest text of it that code W2B stands for, so that it can be borrowed.
static REPEATED: [[u8; 255]; 128] = {
    let mut texts = [[0; 255]; 128];
    let mut byte = 0;
    while byte < 128 {
        texts[byte] = [byte as u8; 255];
        byte += 1;
    }
    texts
};

/// The next `len` bytes at `at`.
#[inline]
fn slice(row: &[u8], at: usize, len: u64) -> Result<&[u8]> {
    let rest = row.get(at..).unwrap_or_default();
    if len > rest.len() as u64 {
        return Err(Error::malformed(at, "a row is cut off"));
    }
    Ok(&rest[..len as usize])
}

/// The next `width` bytes at `at`, at most eight, as a little-endian number.
#[inline]
fn load(row: &[u8], at: usize, width: usize) -> Result<u64> {
    if let Some(bytes) = row.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let mask = if width == 0 { 0 } else { u64::MAX >> (64 - 8 * width) };
        return Ok(u64::from_le_bytes(*bytes) & mask);
    }
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(slice(row, at, width as u64)?);
    Ok(u64::from_le_bytes(bytes))
}

/// The length of the text behind a code SHORT or LONG, and the bytes that the length itself takes.
fn text_len(row: &[u8], at: usize, code: u8) -> Result<(u64, usize)> {
    if code == SHORT {
        return Ok((slice(row, at, 1)?[0].into(), 1));
    }
    let rest = row.get(at..).unwrap_or_default();
    varint::decode(rest).ok_or(Error::malformed(at, "the length of a text"))
}

/// Where the payload ends that begins at `at`. For a fixed width it may be behind the row's end, which the next
/// read finds.
#[inline]
pub(super) fn skip(row: &[u8], at: usize, code: u8) -> Result<usize> {
    match code {
        PADDING => Err(Error::malformed(at, "a field with code zero")),
        SHORT | LONG => {
            let (len, used) = text_len(row, at, code)?;
            Ok(at + used + slice(row, at + used, len)?.len())
        }
        _ => Ok(at + usize::from(WIDTH[usize::from(code)])),
    }
}

/// The value of a field whose payload begins at `at`, and where the payload ends.
#[inline]
pub(super) fn read<'a>(
    column: &'a RowColumn,
    code: u8,
    row: &'a [u8],
    at: usize,
) -> Result<(ValueRef<'a>, usize)> {
    let mut value = ValueRef::Null;
    let end = read_to(column, code, row, at, |read| {
        value = read;
        Ok(())
    })?;
    Ok((value, end))
}

/// Gives the value of a field whose payload begins at `at` to `put`, and returns where the payload ends.
///
/// Each type calls `put` by itself: where the variant is known, a value is written once, tag and payload. A value
/// that is returned is copied in pieces that were just written in others, which stalls.
#[inline]
pub(super) fn read_to<'a>(
    column: &'a RowColumn,
    code: u8,
    row: &'a [u8],
    at: usize,
    put: impl FnOnce(ValueRef<'a>) -> Result<()>,
) -> Result<usize> {
    if matches!(code, PADDING | NULL | DEFAULT) {
        put(special(column, code, at)?)?;
        return Ok(at);
    }
    match column.ty {
        Type::Utf8 => {
            let (bytes, end) = read_bytes(row, at, code)?;
            let text = str::from_utf8(bytes);
            put(ValueRef::Utf8(text.map_err(|_| Error::malformed(at, "a text that is not UTF-8"))?))?;
            return Ok(end);
        }
        Type::Binary => {
            let (bytes, end) = read_bytes(row, at, code)?;
            put(ValueRef::Binary(bytes))?;
            return Ok(end);
        }
        Type::Decimal128 { precision, scale } => {
            let (value, end) = decimal(precision, scale, code, row, at)?;
            put(value)?;
            return Ok(end);
        }
        Type::F64 if code == SHORT => {
            let (value, end) = digits(row, at)?;
            put(ValueRef::F64(value))?;
            return Ok(end);
        }
        _ => {}
    }
    let width = usize::from(WIDTH[usize::from(code)]);
    if width > 8 {
        return Err(Error::malformed(at, "a code that its column's type does not use"));
    }
    let payload = load(row, at, width)?;
    match number(column.ty, code, payload, put) {
        Some(put) => put.map(|()| at + width),
        None => Err(Error::malformed(at, "a code or number that its column's type does not have")),
    }
}

/// The value of a code that says it all.
fn special(column: &RowColumn, code: u8, at: usize) -> Result<ValueRef<'_>> {
    match (code, &column.default) {
        (NULL, _) if column.nullable => Ok(ValueRef::Null),
        (DEFAULT, Some(default)) => Ok(default.as_ref()),
        (NULL, _) => Err(Error::malformed(at, "NULL in a column that is not null")),
        (DEFAULT, None) => Err(Error::malformed(at, "the default of a column that has none")),
        _ => Err(Error::malformed(at, "a field with code zero")),
    }
}

/// Gives a number to `put`, unless the type does not have it.
#[inline]
fn number<'a>(
    ty: Type,
    code: u8,
    payload: u64,
    put: impl FnOnce(ValueRef<'a>) -> Result<()>,
) -> Option<Result<()>> {
    let signed = || unpack_signed(code, payload);
    let unsigned = || unpack_unsigned(code, payload);
    Some(match ty {
        Type::Bool => put(ValueRef::Bool(match code {
            ZERO => false,
            ONE => true,
            _ => return None,
        })),
        Type::I8 => put(ValueRef::I8(signed()?.try_into().ok()?)),
        Type::I16 => put(ValueRef::I16(signed()?.try_into().ok()?)),
        Type::I32 => put(ValueRef::I32(signed()?.try_into().ok()?)),
        Type::I64 => put(ValueRef::I64(signed()?)),
        Type::U8 => put(ValueRef::U8(unsigned()?.try_into().ok()?)),
        Type::U16 => put(ValueRef::U16(unsigned()?.try_into().ok()?)),
        Type::U32 => put(ValueRef::U32(unsigned()?.try_into().ok()?)),
        Type::U64 => put(ValueRef::U64(unsigned()?)),
        Type::F32 => put(ValueRef::F32(unpack_single(code, payload)?)),
        Type::F64 => put(ValueRef::F64(unpack_double(code, payload)?)),
        Type::Date32 => put(ValueRef::Date32(signed()?.try_into().ok()?)),
        Type::Time64 => put(ValueRef::Time64(unpack_time(code, payload)?)),
        Type::Timestamp => put(ValueRef::Timestamp(unpack_timestamp(code, payload)?)),
        Type::TimestampTz => put(ValueRef::TimestampTz(unpack_timestamp(code, payload)?)),
        Type::Decimal128 { .. } | Type::Utf8 | Type::Binary => return None,
    })
}

/// A double of few digits.
fn digits(row: &[u8], at: usize) -> Result<(f64, usize)> {
    const WRONG: &str = "a double of more digits than it has";
    let (len, used) = text_len(row, at, SHORT)?;
    let width = usize::try_from(len).ok().filter(|width| *width <= 8).ok_or(Error::malformed(at, WRONG))?;
    let value = unpack_digits(load(row, at + used, width)?, width).ok_or(Error::malformed(at, WRONG))?;
    Ok((value, at + used + width))
}

fn decimal(precision: u8, scale: i8, code: u8, row: &[u8], at: usize) -> Result<(ValueRef<'_>, usize)> {
    let (unscaled, end) = match code {
        SHORT | LONG | W2B | W4B => {
            return Err(Error::malformed(at, "a code that a decimal does not use"));
        }
        W16 => {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(slice(row, at, 16)?);
            (i128::from_le_bytes(bytes), at + 16)
        }
        _ => {
            let width = usize::from(WIDTH[usize::from(code)]);
            let small = unpack_signed(code, load(row, at, width)?);
            let small = small.ok_or(Error::malformed(at, "a code that a decimal does not use"))?;
            (small.into(), at + width)
        }
    };
    if !fits_precision(unscaled, precision) {
        return Err(Error::malformed(at, "a decimal with more digits than its column"));
    }
    Ok((ValueRef::Decimal128 { unscaled, scale }, end))
}

#[inline]
fn read_bytes(row: &[u8], at: usize, code: u8) -> Result<(&[u8], usize)> {
    match code {
        ZERO => Ok((&[], at)),
        ONE => Ok((b" ", at)),
        SHORT | LONG => {
            let (len, used) = text_len(row, at, code)?;
            let bytes = slice(row, at + used, len)?;
            Ok((bytes, at + used + bytes.len()))
        }
        W2B => repeated(slice(row, at, 2)?)
            .map(|bytes| (bytes, at + 2))
            .ok_or(Error::malformed(at, "a repeated byte of 0x80 or more, or repeated never")),
        W4B => Err(Error::malformed(at, "a code that texts and bytes do not use")),
        _ => {
            let width = WIDTH[usize::from(code)];
            Ok((slice(row, at, width.into())?, at + usize::from(width)))
        }
    }
}

fn repeated(payload: &[u8]) -> Option<&'static [u8]> {
    let &[byte, count] = payload else { return None };
    let texts = REPEATED.get(usize::from(byte)).filter(|_| count > 0)?;
    Some(&texts[..usize::from(count)])
}
