//! Other ways to store a row, to compare with: fixed widths and SQLite's record, both ways; the size of Arrow's
//! row format.

use ambo_codec::{RowColumn, RowSpec, Type, ValueRef, varint};

/// A way to store rows.
pub trait Format {
    /// Appends a row.
    fn encode(&self, values: &[ValueRef<'_>], out: &mut Vec<u8>);
    /// Appends the values of a row.
    fn decode<'a>(&'a self, row: &'a [u8], out: &mut Vec<ValueRef<'a>>);
}

/// Ambo's sparse rows.
impl Format for RowSpec {
    fn encode(&self, values: &[ValueRef<'_>], out: &mut Vec<u8>) {
        self.encode(values, out).expect("values of the columns' types");
    }

    fn decode<'a>(&'a self, row: &'a [u8], out: &mut Vec<ValueRef<'a>>) {
        self.decode(row, out).expect("a row that was just encoded");
    }
}

/// Every column at its full width; texts with a length of 4 bytes in place and their bytes behind; a bit a column for
/// NULL.
pub struct Fixed<'a>(pub &'a [RowColumn]);

fn width_of(column: &RowColumn) -> usize {
    column.ty.fixed_width().unwrap_or(4)
}

impl Format for Fixed<'_> {
    fn encode(&self, values: &[ValueRef<'_>], out: &mut Vec<u8>) {
        let start = out.len();
        let nulls = values.len().div_ceil(8);
        out.resize(start + nulls + self.0.iter().map(width_of).sum::<usize>(), 0);
        let mut at = start + nulls;
        for (index, (value, column)) in values.iter().zip(self.0).enumerate() {
            match *value {
                ValueRef::Null => out[start + index / 8] |= 1 << (index % 8),
                ValueRef::Bool(value) => out[at] = value.into(),
                ValueRef::I32(value) => out[at..at + 4].copy_from_slice(&value.to_le_bytes()),
                ValueRef::I64(value) | ValueRef::Timestamp(value) => {
                    out[at..at + 8].copy_from_slice(&value.to_le_bytes());
                }
                ValueRef::F64(value) => out[at..at + 8].copy_from_slice(&value.to_le_bytes()),
                ValueRef::Utf8(text) => {
                    out[at..at + 4].copy_from_slice(&(text.len() as u32).to_le_bytes());
                    out.extend_from_slice(text.as_bytes());
                }
                _ => unreachable!("a type that no table here has"),
            }
            at += width_of(column);
        }
    }

    fn decode<'a>(&'a self, row: &'a [u8], out: &mut Vec<ValueRef<'a>>) {
        let nulls = self.0.len().div_ceil(8);
        let mut at = nulls;
        let mut text = nulls + self.0.iter().map(width_of).sum::<usize>();
        for (index, column) in self.0.iter().enumerate() {
            let bytes = &row[at..at + width_of(column)];
            let word = || u64::from_le_bytes(*bytes.first_chunk().expect("8 bytes"));
            let half = || u32::from_le_bytes(*bytes.first_chunk().expect("4 bytes"));
            let is_null = row[index / 8] >> (index % 8) & 1 != 0;
            out.push(match column.ty {
                _ if is_null => ValueRef::Null,
                Type::Bool => ValueRef::Bool(bytes[0] != 0),
                Type::I32 => ValueRef::I32(half() as i32),
                Type::I64 => ValueRef::I64(word() as i64),
                Type::Timestamp => ValueRef::Timestamp(word() as i64),
                Type::F64 => ValueRef::F64(f64::from_bits(word())),
                _ => {
                    let len = half() as usize;
                    text += len;
                    ValueRef::Utf8(str::from_utf8(&row[text - len..text]).expect("a text"))
                }
            });
            at += bytes.len();
        }
    }
}

/// The record of sqlite.org/fileformat2.html, section 2.1: the length of the header, a serial type for each column, the
/// bodies. Dates and times as integers, doubles that are integers as integers (what REAL columns store).
pub struct Sqlite<'a>(pub &'a [RowColumn]);

/// The large end first, unlike LEB128; nothing here needs more than two bytes.
fn put_varint(value: usize, out: &mut Vec<u8>) {
    assert!(value < 1 << 14);
    if value >= 1 << 7 {
        out.push((value >> 7) as u8 | 0x80);
    }
    out.push(value as u8 & 0x7f);
}

fn take_varint(bytes: &mut &[u8]) -> usize {
    let (first, second) = (usize::from(bytes[0]), bytes.get(1));
    if first < 0x80 {
        *bytes = &bytes[1..];
        return first;
    }
    let second = usize::from(*second.expect("a second byte"));
    *bytes = &bytes[2..];
    (first & 0x7f) << 7 | second
}

/// By serial type the bytes of an integer.
const INTEGER_BYTES: [usize; 7] = [0, 1, 2, 3, 4, 6, 8];

fn integer_serial(value: i64) -> usize {
    let bits = 65 - (value ^ value >> 63).leading_zeros() as usize;
    (1..6).find(|serial| 8 * INTEGER_BYTES[*serial] >= bits).unwrap_or(6)
}

impl Format for Sqlite<'_> {
    fn encode(&self, values: &[ValueRef<'_>], out: &mut Vec<u8>) {
        let serial = |value: &ValueRef<'_>| match (integer_of(*value), value.as_bytes()) {
            (Some(value @ (0 | 1)), _) => 8 + value as usize,
            (Some(value), _) => integer_serial(value),
            (None, Some(text)) => 13 + 2 * text.len(),
            (None, None) if value.is_null() => 0,
            (None, None) => 7,
        };
        let len: usize = values.iter().map(|value| varint::len(serial(value) as u64)).sum();
        put_varint(len + if len < 127 { 1 } else { 2 }, out);
        values.iter().for_each(|value| put_varint(serial(value), out));
        for value in values {
            match (serial(value), integer_of(*value)) {
                (serial @ 1..=6, Some(value)) => {
                    out.extend_from_slice(&value.to_be_bytes()[8 - INTEGER_BYTES[serial]..]);
                }
                (7, _) => {
                    let value = value.as_f64().expect("serial type 7 is a double");
                    out.extend_from_slice(&value.to_be_bytes());
                }
                _ => out.extend_from_slice(value.as_bytes().unwrap_or_default()),
            }
        }
    }

    fn decode<'a>(&'a self, row: &'a [u8], out: &mut Vec<ValueRef<'a>>) {
        let mut header = row;
        let len = take_varint(&mut header);
        header = &header[..len - (row.len() - header.len())];
        let mut body = &row[len..];
        for column in self.0 {
            let serial = take_varint(&mut header);
            let size = match serial {
                0 | 8 | 9 => 0,
                1..=6 => INTEGER_BYTES[serial],
                7 => 8,
                _ => (serial - 13) / 2,
            };
            let (bytes, rest) = body.split_at(size);
            body = rest;
            out.push(match serial {
                0 => ValueRef::Null,
                7 => ValueRef::F64(f64::from_be_bytes(*bytes.first_chunk().expect("8 bytes"))),
                8 | 9 => typed(column.ty, serial as i64 - 8),
                1..=6 => {
                    let sign = if bytes[0] & 0x80 != 0 { 0xff } else { 0 };
                    let mut wide = [sign; 8];
                    wide[8 - size..].copy_from_slice(bytes);
                    typed(column.ty, i64::from_be_bytes(wide))
                }
                _ => ValueRef::Utf8(str::from_utf8(bytes).expect("a text")),
            });
        }
    }
}

fn integer_of(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::F64(value) if value == value.trunc() && value.abs() < 1e14 => Some(value as i64),
        ValueRef::Bool(value) => Some(value.into()),
        value => value.as_i64(),
    }
}

fn typed(ty: Type, value: i64) -> ValueRef<'static> {
    match ty {
        Type::Bool => ValueRef::Bool(value != 0),
        Type::I32 => ValueRef::I32(value as i32),
        Type::Timestamp => ValueRef::Timestamp(value),
        Type::F64 => ValueRef::F64(value as f64),
        _ => ValueRef::I64(value),
    }
}

/// The size of a row in the row format of the Rust implementation of Arrow, by its documentation: a byte and the full
/// width for each value; texts in blocks of 8 bytes up to 32, then of 32, each with a byte behind it.
pub fn arrow_row_size(columns: &[RowColumn], values: &[ValueRef<'_>]) -> usize {
    let size = |(column, value): (&RowColumn, &ValueRef<'_>)| match column.ty.fixed_width() {
        Some(width) => 1 + width,
        None => match value.as_bytes().map_or(0, <[u8]>::len) {
            0 => 1,
            len @ ..=32 => 1 + len.div_ceil(8) * 9,
            len => 4 + len.div_ceil(32) * 33,
        },
    };
    columns.iter().zip(values).map(size).sum()
}
