//! Key bytes to values. The bytes may be hostile: every step is checked.

use std::str;

use super::{ESCAPE_END, ESCAPE_ZERO, ESCAPED, KeySpec, Layout, NULL_MARKER, VALUE_MARKER};
use crate::value::{canonical_f32, canonical_f64, fits_precision};
use crate::{Error, Result, Type, Value, ValueRef};

impl KeySpec {
    /// The values of a key, owned.
    pub fn decode(&self, key: &[u8]) -> Result<Vec<Value>> {
        let mut scratch = Vec::new();
        let mut refs = Vec::with_capacity(self.layouts.len());
        self.decode_refs(key, &mut scratch, &mut refs)?;
        Ok(refs.into_iter().map(ValueRef::to_value).collect())
    }

    /// Appends the values of a key to `out`. Texts and bytes are borrowed from the key where they stand there
    /// as they are, otherwise from `scratch`, which is overwritten. On an error `out` may hold a part.
    pub fn decode_refs<'a>(
        &self,
        key: &'a [u8],
        scratch: &'a mut Vec<u8>,
        out: &mut Vec<ValueRef<'a>>,
    ) -> Result<()> {
        self.visit(key, scratch, |value| out.push(value))
    }

    /// Gives the values of a whole key to `put`, one after the other; what they borrow is as with [`KeySpec::decode_refs`].
    #[inline]
    pub fn visit<'a>(
        &self,
        key: &'a [u8],
        scratch: &'a mut Vec<u8>,
        mut put: impl FnMut(ValueRef<'a>),
    ) -> Result<()> {
        scratch.clear();
        let mut reader = Reader { key, at: 0 };
        for layout in &self.layouts {
            reader.unescape(*layout, scratch)?;
        }
        let mut unescaped: &'a [u8] = scratch;
        reader.at = 0;
        for layout in &self.layouts {
            put(reader.value(*layout, &mut unescaped)?);
        }
        reader.expect_end()
    }

    /// Gives the values of some columns of a key, called by their places in ascending order, to `put`: the value of `columns[i]` with `i`.
    /// What is behind the last of them is not looked at. `scratch` is overwritten. Ends with the first error, that of `put` too.
    #[inline]
    pub fn visit_columns(
        &self,
        key: &[u8],
        columns: &[usize],
        scratch: &mut Vec<u8>,
        mut put: impl FnMut(usize, ValueRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut at, mut next) = (0, 0);
        for (index, &column) in columns.iter().enumerate() {
            let mut reader = Reader { key, at };
            while next < column {
                reader.skip(self.layouts[next])?;
                next += 1;
            }
            at = reader.at;
            let layout = self.layouts[column];
            if layout.ty.is_variable() && !layout.raw {
                scratch.clear();
                reader.unescape(layout, scratch)?;
            }
            let mut reader = Reader { key, at };
            put(index, reader.value(layout, &mut &scratch[..])?)?;
            // A column may be asked for again: then the next begins where this one did.
            if columns.get(index + 1) != Some(&column) {
                (at, next) = (reader.at, column + 1);
            }
        }
        Ok(())
    }

    /// The length in bytes of the first `columns` columns of a key, for instance to compare keys by them.
    pub fn prefix_len(&self, key: &[u8], columns: usize) -> Result<usize> {
        let mut reader = Reader { key, at: 0 };
        for layout in self.layouts.iter().take(columns) {
            reader.skip(*layout)?;
        }
        Ok(reader.at)
    }
}

struct Reader<'a> {
    key: &'a [u8],
    at: usize,
}

/// Where an escaped text ends.
struct Escaped {
    /// The length of its bytes in the key, without the end mark.
    len: usize,
    /// How many of its bytes are escaped zeros.
    zeros: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.key[self.at..]
    }

    fn malformed<T>(&self, what: &'static str) -> Result<T> {
        Err(Error::malformed(self.at, what))
    }

    fn expect_end(&self) -> Result<()> {
        if self.at == self.key.len() {
            return Ok(());
        }
        self.malformed("bytes behind the last column of a key")
    }

    /// The next bytes of a fixed number, complemented back.
    fn take<const N: usize>(&mut self, flip: u8) -> Result<[u8; N]> {
        let Some(bytes) = self.rest().first_chunk::<N>() else {
            return self.malformed("a key is cut off");
        };
        self.at += N;
        Ok(bytes.map(|byte| byte ^ flip))
    }

    /// Whether the column is NULL.
    fn null(&mut self, layout: Layout) -> Result<bool> {
        if !layout.nullable {
            return Ok(false);
        }
        let [marker] = self.take(layout.flip)?;
        match marker {
            NULL_MARKER => Ok(true),
            VALUE_MARKER => Ok(false),
            _ => self.malformed("the marker of a nullable key column"),
        }
    }

    fn scan_escaped(&self, flip: u8) -> Result<Escaped> {
        let bytes = self.rest();
        let (mut len, mut zeros) = (0, 0);
        loop {
            let Some(found) = bytes[len..].iter().position(|&byte| byte ^ flip == ESCAPED) else {
                return self.malformed("a text in a key has no end");
            };
            len += found;
            match bytes.get(len + 1).map(|byte| byte ^ flip) {
                Some(ESCAPE_END) => return Ok(Escaped { len, zeros }),
                Some(ESCAPE_ZERO) => {
                    len += 2;
                    zeros += 1;
                }
                _ => return self.malformed("a wrong escape in a text of a key"),
            }
        }
    }

    /// Steps over a column.
    fn skip(&mut self, layout: Layout) -> Result<()> {
        if self.null(layout)? {
            return Ok(());
        }
        let len = match layout.ty.fixed_width() {
            Some(width) => width,
            None if layout.raw => self.rest().len(),
            None => self.scan_escaped(layout.flip)?.len + 2,
        };
        if len > self.rest().len() {
            return self.malformed("a key is cut off");
        }
        self.at += len;
        Ok(())
    }

    /// Steps over a column; if it does not stand in the key as it is, appends what it holds to `scratch`.
    fn unescape(&mut self, layout: Layout, scratch: &mut Vec<u8>) -> Result<()> {
        if !layout.ty.is_variable() || layout.raw {
            return self.skip(layout);
        }
        if self.null(layout)? {
            return Ok(());
        }
        let escaped = self.scan_escaped(layout.flip)?;
        if is_copied(layout, &escaped) {
            let mut bytes = self.rest()[..escaped.len].iter().map(|byte| byte ^ layout.flip);
            while let Some(byte) = bytes.next() {
                scratch.push(byte);
                if byte == ESCAPED {
                    bytes.next();
                }
            }
        }
        self.at += escaped.len + 2;
        Ok(())
    }

    /// The next column; `unescaped` holds what [`Self::unescape`] set aside for it and those behind it.
    fn value(&mut self, layout: Layout, unescaped: &mut &'a [u8]) -> Result<ValueRef<'a>> {
        if self.null(layout)? {
            return Ok(ValueRef::Null);
        }
        let flip = layout.flip;
        Ok(match layout.ty {
            Type::Bool => match self.take(flip)? {
                [0] => ValueRef::Bool(false),
                [1] => ValueRef::Bool(true),
                _ => return self.malformed("a boolean that is neither 0 nor 1"),
            },
            Type::I8 => ValueRef::I8(i8::from_be_bytes(self.take(flip)?) ^ i8::MIN),
            Type::I16 => ValueRef::I16(i16::from_be_bytes(self.take(flip)?) ^ i16::MIN),
            Type::I32 => ValueRef::I32(self.signed_32(flip)?),
            Type::I64 => ValueRef::I64(self.signed_64(flip)?),
            Type::U8 => ValueRef::U8(u8::from_be_bytes(self.take(flip)?)),
            Type::U16 => ValueRef::U16(u16::from_be_bytes(self.take(flip)?)),
            Type::U32 => ValueRef::U32(u32::from_be_bytes(self.take(flip)?)),
            Type::U64 => ValueRef::U64(u64::from_be_bytes(self.take(flip)?)),
            Type::F32 => ValueRef::F32(self.float_32(flip)?),
            Type::F64 => ValueRef::F64(self.float_64(flip)?),
            Type::Decimal128 { precision, scale } => {
                let unscaled = i128::from_be_bytes(self.take(flip)?) ^ i128::MIN;
                if !fits_precision(unscaled, precision) {
                    return self.malformed("a decimal with more digits than its column");
                }
                ValueRef::Decimal128 { unscaled, scale }
            }
            Type::Date32 => ValueRef::Date32(self.signed_32(flip)?),
            Type::Time64 => ValueRef::Time64(self.signed_64(flip)?),
            Type::Timestamp => ValueRef::Timestamp(self.signed_64(flip)?),
            Type::TimestampTz => ValueRef::TimestampTz(self.signed_64(flip)?),
            Type::Binary => ValueRef::Binary(self.bytes(layout, unescaped)?),
            Type::Utf8 => {
                let begin = self.at;
                let bytes = self.bytes(layout, unescaped)?;
                let text = str::from_utf8(bytes);
                ValueRef::Utf8(text.map_err(|_| Error::malformed(begin, "a text that is not UTF-8"))?)
            }
        })
    }

    fn bytes(&mut self, layout: Layout, unescaped: &mut &'a [u8]) -> Result<&'a [u8]> {
        let rest = self.rest();
        if layout.raw {
            self.at = self.key.len();
            return Ok(rest);
        }
        let escaped = self.scan_escaped(layout.flip)?;
        self.at += escaped.len + 2;
        if !is_copied(layout, &escaped) {
            return Ok(&rest[..escaped.len]);
        }
        let (bytes, others) = unescaped.split_at(escaped.len - escaped.zeros);
        *unescaped = others;
        Ok(bytes)
    }

    fn signed_32(&mut self, flip: u8) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take(flip)?) ^ i32::MIN)
    }

    fn signed_64(&mut self, flip: u8) -> Result<i64> {
        Ok(i64::from_be_bytes(self.take(flip)?) ^ i64::MIN)
    }

    fn float_64(&mut self, flip: u8) -> Result<f64> {
        let ordered = u64::from_be_bytes(self.take(flip)?);
        let bits = if ordered >> 63 == 1 { ordered ^ 1 << 63 } else { !ordered };
        let value = f64::from_bits(bits);
        if canonical_f64(value) != bits {
            return self.malformed("a float that no key holds");
        }
        Ok(value)
    }

    fn float_32(&mut self, flip: u8) -> Result<f32> {
        let ordered = u32::from_be_bytes(self.take(flip)?);
        let bits = if ordered >> 31 == 1 { ordered ^ 1 << 31 } else { !ordered };
        let value = f32::from_bits(bits);
        if canonical_f32(value) != bits {
            return self.malformed("a float that no key holds");
        }
        Ok(value)
    }
}

/// Whether the text differs from its bytes in the key.
fn is_copied(layout: Layout, escaped: &Escaped) -> bool {
    layout.flip != 0 || escaped.zeros > 0
}
