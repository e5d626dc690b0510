//! Lists, arrays, structs and maps as bytes.
//!
//! | value | bytes |
//! |---|---|
//! | boolean | u8, 0 or 1 |
//! | integers, floats, decimals, dates, times, timestamps | little-endian, as wide as the type |
//! | text, binary, json, bit, geometry | varint length, the bytes |
//! | uuid, interval | 16, 20 bytes, as in a column of their own |
//! | list | varint count, then the items |
//! | array | the items |
//! | struct | its fields, as items |
//! | map | varint count, the keys one behind the other, then the values as items |
//!
//! *Items* are a byte, 0 if none is NULL; otherwise 1 and a bit for each, the lowest bit of a byte first, set where there is a value, the
//! rest of the last byte zero. Then come the values that are there. A value begins where the one before ends, and has one form: equal bytes
//! are equal values. They are not in the order of the values, so no key has them.
//!
//! `[1, NULL, 3]` as a `smallint[]` is `03`, `01 05`, `01 00`, `03 00`; the empty list is `00 00`. `{a: 7, b: 'x'}` as a `struct(a tinyint,
//! b text)` is `00`, `07`, `01 78`.

use ambo_codec::{Type, ValueRef, varint};

use super::interval::{Interval, LEN};

/// Reads a value, part by part. What it is of says the type, which the caller walks through.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

/// Which of some items are there.
#[derive(Clone, Copy, Debug)]
pub struct There<'a>(Option<&'a [u8]>);

impl There<'_> {
    /// Whether the item at a place is, and not NULL. REQUIRES: there is one at that place.
    pub fn has(&self, nth: usize) -> bool {
        self.0.is_none_or(|bits| bits[nth / 8] >> (nth % 8) & 1 == 1)
    }
}

impl<'a> Reader<'a> {
    /// Reads a stored value.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// # Errors
    /// Something follows.
    pub fn finish(self) -> Result<(), String> {
        match self.0.len() {
            0 => Ok(()),
            more => Err(format!("{more} bytes too many in a value")),
        }
    }

    /// The next bytes.
    ///
    /// # Errors
    /// So many are not there.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (head, rest) = self.0.split_at_checked(len).ok_or("a value that is cut off")?;
        self.0 = rest;
        Ok(head)
    }

    fn length(&mut self) -> Result<usize, String> {
        let length = varint::take(&mut self.0).ok_or("a bad varint in a value")?;
        usize::try_from(length).map_err(|_| "a length that is too large".into())
    }

    /// How many items a list or a map has. There is a bit at least of each.
    ///
    /// # Errors
    /// More than can follow.
    pub fn count(&mut self) -> Result<usize, String> {
        let count = self.length()?;
        match count <= self.0.len().saturating_mul(8) {
            true => Ok(count),
            false => Err(format!("{count} items, which are not there")),
        }
    }

    /// Which of the next items are there.
    ///
    /// # Errors
    /// Bits in another form.
    pub fn there(&mut self, count: usize) -> Result<There<'a>, String> {
        let bits = match self.take(1)? {
            [0] => return Ok(There(None)),
            [1] => self.take(count.div_ceil(8))?,
            other => return Err(format!("items that begin with {}", other[0])),
        };
        let ones: usize = bits.iter().map(|byte| byte.count_ones() as usize).sum();
        let rest =
            if count.is_multiple_of(8) { 0 } else { bits.last().map_or(0, |last| last >> (count % 8)) };
        match rest == 0 && ones < count {
            true => Ok(There(Some(bits))),
            false => Err("items whose bits say that all are there, or more than all".into()),
        }
    }

    /// A value of a type that has no logical type.
    ///
    /// # Errors
    /// Bytes that are none.
    pub fn plain(&mut self, ty: Type) -> Result<ValueRef<'a>, String> {
        let value = match ty {
            Type::Bool => match self.take(1)? {
                [0] => ValueRef::Bool(false),
                [1] => ValueRef::Bool(true),
                _ => return Err("a boolean that is neither true nor false".into()),
            },
            Type::I8 => ValueRef::I8(i8::from_le_bytes(self.bytes()?)),
            Type::I16 => ValueRef::I16(i16::from_le_bytes(self.bytes()?)),
            Type::I32 => ValueRef::I32(i32::from_le_bytes(self.bytes()?)),
            Type::I64 => ValueRef::I64(i64::from_le_bytes(self.bytes()?)),
            Type::U8 => ValueRef::U8(u8::from_le_bytes(self.bytes()?)),
            Type::U16 => ValueRef::U16(u16::from_le_bytes(self.bytes()?)),
            Type::U32 => ValueRef::U32(u32::from_le_bytes(self.bytes()?)),
            Type::U64 => ValueRef::U64(u64::from_le_bytes(self.bytes()?)),
            Type::F32 => ValueRef::F32(f32::from_le_bytes(self.bytes()?)),
            Type::F64 => ValueRef::F64(f64::from_le_bytes(self.bytes()?)),
            Type::Decimal128 { scale, .. } => {
                ValueRef::Decimal128 { unscaled: i128::from_le_bytes(self.bytes()?), scale }
            }
            Type::Date32 => ValueRef::Date32(i32::from_le_bytes(self.bytes()?)),
            Type::Time64 => ValueRef::Time64(i64::from_le_bytes(self.bytes()?)),
            Type::Timestamp => ValueRef::Timestamp(i64::from_le_bytes(self.bytes()?)),
            Type::TimestampTz => ValueRef::TimestampTz(i64::from_le_bytes(self.bytes()?)),
            Type::Utf8 => ValueRef::Utf8(self.text()?),
            Type::Binary => {
                let length = self.length()?;
                ValueRef::Binary(self.take(length)?)
            }
        };
        match value.is_of(ty) {
            true => Ok(value),
            false => Err(format!("{value} is no {ty}")),
        }
    }

    /// A text.
    ///
    /// # Errors
    /// Bytes that are none.
    pub fn text(&mut self) -> Result<&'a str, String> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| "a text that is not UTF-8".into())
    }

    /// An interval.
    ///
    /// # Errors
    /// Bytes that are none.
    pub fn interval(&mut self) -> Result<Interval, String> {
        Interval::decode(self.take(LEN)?).ok_or_else(|| "bytes that are no interval".into())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        Ok(self.take(N)?.try_into().expect("as many as were taken"))
    }
}

/// Appends how many items a list or a map has.
pub fn put_count(out: &mut Vec<u8>, count: usize) {
    varint::encode(count as u64, out);
}

/// Appends which of so many items are there.
pub fn put_there(out: &mut Vec<u8>, count: usize, is_there: impl Fn(usize) -> bool) {
    if (0..count).all(&is_there) {
        out.push(0);
        return;
    }
    out.push(1);
    let begin = out.len();
    out.resize(begin + count.div_ceil(8), 0);
    for nth in (0..count).filter(|nth| is_there(*nth)) {
        out[begin + nth / 8] |= 1 << (nth % 8);
    }
}

/// Appends a value of a type that has no logical type. REQUIRES: it is not NULL.
pub fn put_plain(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => unreachable!("NULL is a bit, no value"),
        ValueRef::Bool(value) => out.push(value.into()),
        ValueRef::I8(value) => out.extend(value.to_le_bytes()),
        ValueRef::I16(value) => out.extend(value.to_le_bytes()),
        ValueRef::I32(value) | ValueRef::Date32(value) => out.extend(value.to_le_bytes()),
        ValueRef::I64(value)
        | ValueRef::Time64(value)
        | ValueRef::Timestamp(value)
        | ValueRef::TimestampTz(value) => out.extend(value.to_le_bytes()),
        ValueRef::U8(value) => out.push(value),
        ValueRef::U16(value) => out.extend(value.to_le_bytes()),
        ValueRef::U32(value) => out.extend(value.to_le_bytes()),
        ValueRef::U64(value) => out.extend(value.to_le_bytes()),
        ValueRef::F32(value) => out.extend(value.to_le_bytes()),
        ValueRef::F64(value) => out.extend(value.to_le_bytes()),
        ValueRef::Decimal128 { unscaled, .. } => out.extend(unscaled.to_le_bytes()),
        ValueRef::Utf8(text) => put_bytes(out, text.as_bytes()),
        ValueRef::Binary(bytes) => put_bytes(out, bytes),
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    varint::encode(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
