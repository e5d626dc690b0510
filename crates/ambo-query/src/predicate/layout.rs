//! Where values lie: in records of a fixed width, and in columns.

use ambo_codec::{Type, Value, ValueRef};
use ambo_types::{Error, Result};

/// The most bytes of a record: offsets have 16 bits.
const RECORD_MAX: usize = u16::MAX as usize;

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its type, one of fixed width.
    pub ty: Type,
    /// Where its bytes begin, little-endian.
    pub offset: u16,
    /// The byte, and the bit in it, that is set where it is NULL; none if it never is.
    pub null: Option<(u16, u8)>,
}

/// The fields of records of one width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    fields: Vec<Field>,
    size: usize,
}

/// How many bytes a value of a type has in a record; none if they differ.
pub(crate) fn width(ty: Type) -> Option<usize> {
    Some(match ty {
        Type::Bool | Type::I8 | Type::U8 => 1,
        Type::I16 | Type::U16 => 2,
        Type::I32 | Type::U32 | Type::F32 | Type::Date32 => 4,
        Type::I64 | Type::U64 | Type::F64 | Type::Time64 | Type::Timestamp | Type::TimestampTz => 8,
        Type::Decimal128 { .. } => 16,
        Type::Utf8 | Type::Binary => return None,
    })
}

impl Layout {
    /// Fields as they are in records of `size` bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a field without a fixed width, or outside of the record.
    pub fn new(fields: Vec<Field>, size: usize) -> Result<Self> {
        if size == 0 || size > RECORD_MAX {
            return Err(Error::Invalid(format!("a record has 1 to {RECORD_MAX} bytes, not {size}")));
        }
        for (number, field) in fields.iter().enumerate() {
            let Some(width) = width(field.ty) else {
                return Err(Error::Invalid(format!(
                    "field {number} is of type {}, whose values have no fixed width",
                    field.ty
                )));
            };
            let is_within = usize::from(field.offset) + width <= size
                && field.null.is_none_or(|(byte, bit)| usize::from(byte) < size && bit < 8);
            if !is_within {
                return Err(Error::Invalid(format!(
                    "field {number} is not within the {size} bytes of a record"
                )));
            }
        }
        Ok(Self { fields, size })
    }

    /// A layout for columns of these types, each with whether it may be NULL: those of the greatest alignment first, null bits behind all.
    /// The size is a power of two if `is_power`, else a multiple of 8.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn of(columns: &[(Type, bool)], is_power: bool) -> Result<Self> {
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by_key(|place| std::cmp::Reverse(width(columns[*place].0)));
        let mut fields: Vec<_> =
            columns.iter().map(|(ty, _)| Field { ty: *ty, offset: 0, null: None }).collect();
        let mut end = 0;
        for place in order {
            fields[place].offset = narrow(end)?;
            end += width(columns[place].0).unwrap_or(0);
        }
        let mut bits = 0;
        for (field, (_, nullable)) in fields.iter_mut().zip(columns) {
            if *nullable {
                field.null = Some((narrow(end + bits / 8)?, (bits % 8) as u8));
                bits += 1;
            }
        }
        let size = (end + bits.div_ceil(8)).max(1);
        Self::new(fields, if is_power { size.next_power_of_two() } else { size.next_multiple_of(8) })
    }

    /// The fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The bytes of a record.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Appends a record.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that are not of the fields' types, or NULL where that cannot be.
    pub fn encode(&self, values: &[Value], records: &mut Vec<u8>) -> Result<()> {
        let wrong = |what: String| Error::Invalid(format!("a record: {what}"));
        if values.len() != self.fields.len() {
            return Err(wrong(format!("{} values for {} fields", values.len(), self.fields.len())));
        }
        let start = records.len();
        records.resize(start + self.size, 0);
        for (field, value) in self.fields.iter().zip(values) {
            let fitted = value.clone().fit(field.ty).map_err(|error| wrong(error.to_string()));
            match (fitted, field.null) {
                (Ok(Value::Null), Some((byte, bit))) => records[start + usize::from(byte)] |= 1 << bit,
                (Ok(Value::Null), None) => {
                    records.truncate(start);
                    return Err(wrong("NULL in a field that is never NULL".into()));
                }
                (Ok(value), _) => {
                    let (bytes, width) = bytes_of(&value);
                    let at = start + usize::from(field.offset);
                    records[at..at + width].copy_from_slice(&bytes[..width]);
                }
                (Err(error), _) => {
                    records.truncate(start);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The value of a field. Panics if the record is too short.
    pub fn value(&self, record: &[u8], field: usize) -> ValueRef<'static> {
        let Field { ty, offset, null } = self.fields[field];
        if null.is_some_and(|(byte, bit)| record[usize::from(byte)] >> bit & 1 == 1) {
            return ValueRef::Null;
        }
        value_at(&record[usize::from(offset)..], ty)
    }

    /// The fields of many records, as columns.
    pub fn columns<'r>(&self, records: &'r [u8]) -> Vec<Column<'r>> {
        let column = |field: &Field| Column {
            ty: field.ty,
            data: Data::Strided { bytes: records, offset: field.offset.into(), stride: self.size },
            nulls: match field.null {
                Some((byte, bit)) => {
                    Nulls::Bit { bytes: records, offset: byte.into(), stride: self.size, bit }
                }
                None => Nulls::None,
            },
        };
        self.fields.iter().map(column).collect()
    }
}

fn narrow(offset: usize) -> Result<u16> {
    offset.try_into().map_err(|_| Error::Invalid(format!("a record has at most {RECORD_MAX} bytes")))
}

/// The bytes of a value of fixed width, and how many they are; of any other none.
pub(crate) fn bytes_of(value: &Value) -> ([u8; 16], usize) {
    let mut bytes = [0; 16];
    let mut put = |from: &[u8]| {
        bytes[..from.len()].copy_from_slice(from);
        from.len()
    };
    let width = match value {
        Value::Bool(value) => put(&[u8::from(*value)]),
        Value::I8(value) => put(&value.to_le_bytes()),
        Value::I16(value) => put(&value.to_le_bytes()),
        Value::I32(value) | Value::Date32(value) => put(&value.to_le_bytes()),
        Value::I64(value) | Value::Time64(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            put(&value.to_le_bytes())
        }
        Value::U8(value) => put(&value.to_le_bytes()),
        Value::U16(value) => put(&value.to_le_bytes()),
        Value::U32(value) => put(&value.to_le_bytes()),
        Value::U64(value) => put(&value.to_le_bytes()),
        Value::F32(value) => put(&value.to_le_bytes()),
        Value::F64(value) => put(&value.to_le_bytes()),
        Value::Decimal128 { unscaled, .. } => put(&unscaled.to_le_bytes()),
        Value::Null | Value::Utf8(_) | Value::Binary(_) => 0,
    };
    (bytes, width)
}

/// The value at the beginning of bytes.
fn value_at(bytes: &[u8], ty: Type) -> ValueRef<'static> {
    macro_rules! read {
        ($native:ty) => {{
            let mut own = [0; size_of::<$native>()];
            own.copy_from_slice(&bytes[..size_of::<$native>()]);
            <$native>::from_le_bytes(own)
        }};
    }
    match ty {
        Type::Bool => ValueRef::Bool(bytes[0] != 0),
        Type::I8 => ValueRef::I8(read!(i8)),
        Type::I16 => ValueRef::I16(read!(i16)),
        Type::I32 => ValueRef::I32(read!(i32)),
        Type::I64 => ValueRef::I64(read!(i64)),
        Type::U8 => ValueRef::U8(read!(u8)),
        Type::U16 => ValueRef::U16(read!(u16)),
        Type::U32 => ValueRef::U32(read!(u32)),
        Type::U64 => ValueRef::U64(read!(u64)),
        Type::F32 => ValueRef::F32(read!(f32)),
        Type::F64 => ValueRef::F64(read!(f64)),
        Type::Decimal128 { scale, .. } => ValueRef::Decimal128 { unscaled: read!(i128), scale },
        Type::Date32 => ValueRef::Date32(read!(i32)),
        Type::Time64 => ValueRef::Time64(read!(i64)),
        Type::Timestamp => ValueRef::Timestamp(read!(i64)),
        Type::TimestampTz => ValueRef::TimestampTz(read!(i64)),
        Type::Utf8 | Type::Binary => ValueRef::Null,
    }
}

/// Where the values of a column are.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// Of fixed width, little-endian, each `stride` bytes behind the one before.
    Strided {
        /// All of them, and what lies between.
        bytes: &'a [u8],
        /// Where the first begins.
        offset: usize,
        /// From one to the next.
        stride: usize,
    },
    /// Text or bytes, one behind the other.
    Texts {
        /// Where each begins in `data`, and where the last ends.
        offsets: &'a [u32],
        /// All of them.
        data: &'a [u8],
    },
}

/// Which values of a column are NULL.
#[derive(Clone, Copy, Debug)]
pub enum Nulls<'a> {
    /// None.
    None,
    /// Those whose bit is not set.
    Valid(&'a [u64]),
    /// Those whose bit in a byte of the record is set.
    Bit {
        /// All records.
        bytes: &'a [u8],
        /// The byte of the first.
        offset: usize,
        /// From one to the next.
        stride: usize,
        /// The bit.
        bit: u8,
    },
}

/// Values of one column.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Their type.
    pub ty: Type,
    /// Where they are.
    pub data: Data<'a>,
    /// Which are NULL.
    pub nulls: Nulls<'a>,
}

impl<'a> Column<'a> {
    /// Whether it has so many rows.
    pub(crate) fn has(&self, rows: usize) -> bool {
        let reaches = |bytes: &[u8], offset: usize, stride: usize, width: usize| {
            rows == 0
                || (rows - 1)
                    .checked_mul(stride)
                    .and_then(|start| start.checked_add(offset)?.checked_add(width))
                    .is_some_and(|end| end <= bytes.len())
        };
        let has_values = match self.data {
            Data::Strided { bytes, offset, stride } => {
                width(self.ty).is_some_and(|width| reaches(bytes, offset, stride, width))
            }
            Data::Texts { offsets, data } => {
                width(self.ty).is_none()
                    && offsets.len() > rows
                    && offsets.is_sorted()
                    && offsets.last().is_some_and(|end| *end as usize <= data.len())
            }
        };
        has_values
            && match self.nulls {
                Nulls::None => true,
                Nulls::Valid(words) => words.len() * 64 >= rows,
                Nulls::Bit { bytes, offset, stride, .. } => reaches(bytes, offset, stride, 1),
            }
    }

    /// Whether a row is NULL. Panics if it is not there.
    pub fn is_null(&self, row: usize) -> bool {
        match self.nulls {
            Nulls::None => false,
            Nulls::Valid(words) => words[row / 64] >> (row % 64) & 1 == 0,
            Nulls::Bit { bytes, offset, stride, bit } => bytes[offset + row * stride] >> bit & 1 == 1,
        }
    }

    /// The bytes of a row. Panics if it is not there.
    pub fn bytes(&self, row: usize) -> &'a [u8] {
        match self.data {
            Data::Strided { bytes, offset, stride } => {
                let at = offset + row * stride;
                &bytes[at..at + width(self.ty).unwrap_or(0)]
            }
            Data::Texts { offsets, data } => &data[offsets[row] as usize..offsets[row + 1] as usize],
        }
    }

    /// The value of a row. Panics if it is not there. Text that is not UTF-8 is given as bytes.
    pub fn value(&self, row: usize) -> ValueRef<'a> {
        if self.is_null(row) {
            return ValueRef::Null;
        }
        let bytes = self.bytes(row);
        match self.ty {
            Type::Utf8 => std::str::from_utf8(bytes).map_or(ValueRef::Binary(bytes), ValueRef::Utf8),
            Type::Binary => ValueRef::Binary(bytes),
            ty => value_at(bytes, ty),
        }
    }
}
