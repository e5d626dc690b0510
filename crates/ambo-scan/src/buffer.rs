//! Values of one column in memory: what rows are turned into before they are encoded, and blocks are decoded into.

use std::ops::Range;

use ambo_codec::{
    Error, Result, Type, ValueRef,
    column::{BitsView, Block, BytesView, ColumnSlice, Mask},
};

/// Values of one column, NULLs among them.
#[derive(Clone, Debug)]
pub struct ColumnBuffer {
    ty: Type,
    pub(crate) values: Values,
    /// A bit for each row that has a value; shorter than the rows as long as all have.
    valid: Vec<u64>,
    nulls: usize,
    pub(crate) len: usize,
}

/// The values of a [`ColumnBuffer`], one for each row, as its type has them; of a row that is NULL any value.
#[derive(Clone, Debug)]
pub enum Values {
    /// Booleans, a bit each.
    Bool(Vec<u64>),
    /// 8 bits, signed.
    I8(Vec<i8>),
    /// 16 bits, signed.
    I16(Vec<i16>),
    /// 32 bits, signed, and days.
    I32(Vec<i32>),
    /// 64 bits, signed, and times.
    I64(Vec<i64>),
    /// 8 bits, unsigned.
    U8(Vec<u8>),
    /// 16 bits, unsigned.
    U16(Vec<u16>),
    /// 32 bits, unsigned.
    U32(Vec<u32>),
    /// 64 bits, unsigned.
    U64(Vec<u64>),
    /// Floats of 32 bits.
    F32(Vec<f32>),
    /// Floats of 64 bits.
    F64(Vec<f64>),
    /// Decimals without their scale.
    I128(Vec<i128>),
    /// Text and bytes.
    Bytes {
        /// Where each begins in `data`, and where the last ends: less than 2 GiB.
        offsets: Vec<u32>,
        /// One behind the other.
        data: Vec<u8>,
    },
}

/// `$body` for whichever vector of fixed-width values it is.
macro_rules! with_fixed {
    ($values:expr, $vector:ident => $body:expr; $($other:tt)*) => {
        match $values {
            Values::I8($vector) => $body,
            Values::I16($vector) => $body,
            Values::I32($vector) => $body,
            Values::I64($vector) => $body,
            Values::U8($vector) => $body,
            Values::U16($vector) => $body,
            Values::U32($vector) => $body,
            Values::U64($vector) => $body,
            Values::F32($vector) => $body,
            Values::F64($vector) => $body,
            Values::I128($vector) => $body,
            $($other)*
        }
    };
}

/// Sets or clears a bit; the words grow to have it.
pub fn set_bit(words: &mut Vec<u64>, index: usize, to: bool) {
    words.resize(words.len().max(index / 64 + 1), 0);
    words[index / 64] |= u64::from(to) << (index % 64);
}

/// A bit.
pub fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

impl ColumnBuffer {
    /// An empty buffer.
    pub fn new(ty: Type) -> Self {
        let values = match ty {
            Type::Bool => Values::Bool(Vec::new()),
            Type::I8 => Values::I8(Vec::new()),
            Type::I16 => Values::I16(Vec::new()),
            Type::I32 | Type::Date32 => Values::I32(Vec::new()),
            Type::I64 | Type::Time64 | Type::Timestamp | Type::TimestampTz => Values::I64(Vec::new()),
            Type::U8 => Values::U8(Vec::new()),
            Type::U16 => Values::U16(Vec::new()),
            Type::U32 => Values::U32(Vec::new()),
            Type::U64 => Values::U64(Vec::new()),
            Type::F32 => Values::F32(Vec::new()),
            Type::F64 => Values::F64(Vec::new()),
            Type::Decimal128 { .. } => Values::I128(Vec::new()),
            Type::Utf8 | Type::Binary => Values::Bytes { offsets: vec![0], data: Vec::new() },
        };
        Self { ty, values, valid: Vec::new(), nulls: 0, len: 0 }
    }

    /// The type of its values.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// The values; at the places of NULLs stands any.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// How many rows, NULLs among them.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many rows have no value.
    pub fn nulls(&self) -> usize {
        self.nulls
    }

    /// Bytes of text or binary values.
    pub fn data_bytes(&self) -> usize {
        match &self.values {
            Values::Bytes { data, .. } => data.len(),
            _ => 0,
        }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.valid.clear();
        (self.nulls, self.len) = (0, 0);
        with_fixed!(&mut self.values, vector => vector.clear();
            Values::Bool(words) => words.clear(),
            Values::Bytes { offsets, data } => {
                offsets.truncate(1);
                data.clear();
            }
        );
    }

    /// Appends a value of the buffer's type.
    ///
    /// # Errors
    /// A value of another type, or more than 4 GiB of text.
    #[inline]
    pub fn push(&mut self, value: ValueRef<'_>) -> Result<()> {
        let index = self.len;
        match (&mut self.values, value) {
            (_, ValueRef::Null) => return self.push_null(),
            (Values::Bool(words), ValueRef::Bool(value)) => set_bit(words, index, value),
            (Values::I8(vector), ValueRef::I8(value)) => vector.push(value),
            (Values::I16(vector), ValueRef::I16(value)) => vector.push(value),
            (Values::I32(vector), ValueRef::I32(value) | ValueRef::Date32(value)) => vector.push(value),
            (
                Values::I64(vector),
                ValueRef::I64(value)
                | ValueRef::Time64(value)
                | ValueRef::Timestamp(value)
                | ValueRef::TimestampTz(value),
            ) => vector.push(value),
            (Values::U8(vector), ValueRef::U8(value)) => vector.push(value),
            (Values::U16(vector), ValueRef::U16(value)) => vector.push(value),
            (Values::U32(vector), ValueRef::U32(value)) => vector.push(value),
            (Values::U64(vector), ValueRef::U64(value)) => vector.push(value),
            (Values::F32(vector), ValueRef::F32(value)) => vector.push(value),
            (Values::F64(vector), ValueRef::F64(value)) => vector.push(value),
            (Values::I128(vector), ValueRef::Decimal128 { unscaled, .. }) => vector.push(unscaled),
            (Values::Bytes { offsets, data }, ValueRef::Utf8(text)) => {
                append(offsets, data, text.as_bytes())?;
            }
            (Values::Bytes { offsets, data }, ValueRef::Binary(bytes)) => append(offsets, data, bytes)?,
            _ => return Err(Error::invalid(format!("a value that is not of type {}", self.ty))),
        }
        if self.nulls > 0 {
            set_bit(&mut self.valid, index, true);
        }
        self.len += 1;
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        if self.nulls == 0 {
            self.valid = Mask::all(self.len).words().to_vec();
        }
        debug_assert!(
            self.valid.len() <= self.len.div_ceil(64),
            "validity is of no rows that are still to come"
        );
        set_bit(&mut self.valid, self.len, false);
        let index = self.len;
        with_fixed!(&mut self.values, vector => vector.push(Default::default());
            Values::Bool(words) => set_bit(words, index, false),
            Values::Bytes { offsets, data } => append(offsets, data, &[])?
        );
        self.nulls += 1;
        self.len += 1;
        Ok(())
    }

    /// The values, and a bit for each row that has one; none if all have.
    pub fn into_parts(self) -> (Values, Option<Vec<u64>>) {
        self.check_invariants();
        (self.values, (self.nulls > 0).then_some(self.valid))
    }

    /// Whether row `index` has a value.
    pub fn is_valid(&self, index: usize) -> bool {
        self.nulls == 0 || bit(&self.valid, index)
    }

    /// The value of row `index`. Panics when there is no such row.
    ///
    /// # Errors
    /// Text that is not UTF-8, which only damaged blocks yield.
    pub fn get(&self, index: usize) -> Result<ValueRef<'_>> {
        assert!(index < self.len, "no such row");
        if !self.is_valid(index) {
            return Ok(ValueRef::Null);
        }
        Ok(match &self.values {
            Values::Bool(words) => ValueRef::Bool(bit(words, index)),
            Values::I8(vector) => ValueRef::I8(vector[index]),
            Values::I16(vector) => ValueRef::I16(vector[index]),
            Values::I32(vector) => match self.ty {
                Type::Date32 => ValueRef::Date32(vector[index]),
                _ => ValueRef::I32(vector[index]),
            },
            Values::I64(vector) => match self.ty {
                Type::Time64 => ValueRef::Time64(vector[index]),
                Type::Timestamp => ValueRef::Timestamp(vector[index]),
                Type::TimestampTz => ValueRef::TimestampTz(vector[index]),
                _ => ValueRef::I64(vector[index]),
            },
            Values::U8(vector) => ValueRef::U8(vector[index]),
            Values::U16(vector) => ValueRef::U16(vector[index]),
            Values::U32(vector) => ValueRef::U32(vector[index]),
            Values::U64(vector) => ValueRef::U64(vector[index]),
            Values::F32(vector) => ValueRef::F32(vector[index]),
            Values::F64(vector) => ValueRef::F64(vector[index]),
            Values::I128(vector) => {
                let scale = if let Type::Decimal128 { scale, .. } = self.ty { scale } else { 0 };
                ValueRef::Decimal128 { unscaled: vector[index], scale }
            }
            Values::Bytes { offsets, data } => {
                let bytes = &data[offsets[index] as usize..offsets[index + 1] as usize];
                match self.ty {
                    Type::Utf8 => ValueRef::Utf8(
                        std::str::from_utf8(bytes)
                            .map_err(|_| Error::malformed(0, "text that is not UTF-8"))?,
                    ),
                    _ => ValueRef::Binary(bytes),
                }
            }
        })
    }

    /// The values, as an encoder takes them.
    pub fn slice(&self) -> ColumnSlice<'_> {
        self.check_invariants();
        match &self.values {
            Values::Bool(words) => ColumnSlice::Bool(BitsView::new(words, self.len)),
            Values::I8(vector) => ColumnSlice::I8(vector),
            Values::I16(vector) => ColumnSlice::I16(vector),
            Values::I32(vector) => ColumnSlice::I32(vector),
            Values::I64(vector) => ColumnSlice::I64(vector),
            Values::U8(vector) => ColumnSlice::U8(vector),
            Values::U16(vector) => ColumnSlice::U16(vector),
            Values::U32(vector) => ColumnSlice::U32(vector),
            Values::U64(vector) => ColumnSlice::U64(vector),
            Values::F32(vector) => ColumnSlice::F32(vector),
            Values::F64(vector) => ColumnSlice::F64(vector),
            Values::I128(vector) => ColumnSlice::I128(vector),
            Values::Bytes { offsets, data } => ColumnSlice::Bytes(BytesView::new(offsets, data)),
        }
    }

    /// The rows that have a value; `None` if all have.
    pub fn validity(&self) -> Option<BitsView<'_>> {
        (self.nulls > 0).then(|| BitsView::new(&self.valid, self.len))
    }

    /// Appends rows of a block.
    ///
    /// # Errors
    /// A block of another kind, or a damaged one.
    pub fn append_block(&mut self, block: &Block<'_>, rows: Range<usize>) -> Result<()> {
        let (start, count) = (self.len, rows.len());
        if count == 1 {
            return self.push_of_block(block, rows.start);
        }
        with_fixed!(&mut self.values, vector => {
                vector.resize(start + count, Default::default());
                block.decode(rows.clone(), &mut vector[start..])?;
            };
            Values::Bool(words) => {
                let mut decoded = vec![false; count];
                block.decode(rows.clone(), &mut decoded)?;
                decoded.iter().enumerate().for_each(|(index, value)| set_bit(words, start + index, *value));
            },
            Values::Bytes { offsets, data } => match block.text() {
                Some(text) => text.decode(rows.clone(), offsets, data)?,
                None => offsets.resize(offsets.len() + count, data.len() as u32),
            }
        );
        let valid = Valid::of(block, count);
        self.append_validity(count, |index| valid.get(rows.start + index), block.has_no_nulls());
        self.check_invariants();
        Ok(())
    }

    /// Appends the rows of a block at `places`, which ascend.
    ///
    /// # Errors
    /// A block of another kind, or a damaged one.
    pub fn append_places(&mut self, block: &Block<'_>, places: &[u32]) -> Result<()> {
        debug_assert!(places.is_sorted_by(|one, next| one < next), "places ascend");
        let (start, count) = (self.len, places.len());
        with_fixed!(&mut self.values, vector => {
                vector.resize(start + count, Default::default());
                block.gather(places, &mut vector[start..])?;
            };
            Values::Bool(words) => {
                let mut picked = vec![false; count];
                block.gather(places, &mut picked)?;
                picked.iter().enumerate().for_each(|(index, value)| set_bit(words, start + index, *value));
            },
            Values::Bytes { offsets, data } => match block.text() {
                Some(text) => text.gather(places, offsets, data)?,
                None => offsets.resize(offsets.len() + count, data.len() as u32),
            }
        );
        let valid = Valid::of(block, count);
        self.append_validity(count, |index| valid.get(places[index] as usize), block.has_no_nulls());
        self.check_invariants();
        Ok(())
    }

    /// Appends one row of a block: decoding a range is for many.
    fn push_of_block(&mut self, block: &Block<'_>, row: usize) -> Result<()> {
        if !block.is_valid(row) {
            return self.push_null();
        }
        let index = self.len;
        with_fixed!(&mut self.values, vector => vector.push(block.get_as(row)?.unwrap_or_default());
            Values::Bool(words) => set_bit(words, index, block.get_as(row)?.unwrap_or_default()),
            Values::Bytes { offsets, data } => {
                if let Some(text) = block.text() {
                    text.get(row, data)?;
                }
                offsets.push(end_of(data.len())?);
            }
        );
        if self.nulls > 0 {
            set_bit(&mut self.valid, index, true);
        }
        self.len += 1;
        Ok(())
    }

    /// Appends rows of another buffer of the same type. Panics when it is of another.
    pub fn append(&mut self, other: &Self, rows: Range<usize>) -> Result<()> {
        let start = self.len;
        match (&mut self.values, &other.values) {
            (Values::Bool(words), Values::Bool(from)) => {
                for (index, row) in rows.clone().enumerate() {
                    set_bit(words, start + index, bit(from, row));
                }
            }
            (Values::I8(vector), Values::I8(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::I16(vector), Values::I16(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::I32(vector), Values::I32(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::I64(vector), Values::I64(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::U8(vector), Values::U8(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::U16(vector), Values::U16(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::U32(vector), Values::U32(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::U64(vector), Values::U64(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::F32(vector), Values::F32(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::F64(vector), Values::F64(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::I128(vector), Values::I128(from)) => vector.extend_from_slice(&from[rows.clone()]),
            (Values::Bytes { offsets, data }, Values::Bytes { offsets: from, data: bytes }) => {
                let (first, last) = (from[rows.start] as usize, from[rows.end] as usize);
                let base = data.len();
                end_of(base + (last - first))?;
                data.extend_from_slice(&bytes[first..last]);
                let moved = from[rows.start + 1..=rows.end].iter();
                offsets.extend(moved.map(|offset| (base + *offset as usize - first) as u32));
            }
            _ => panic!("a buffer of {} is appended to one of {}", other.ty, self.ty),
        }
        self.append_validity(rows.len(), |index| other.is_valid(rows.start + index), other.nulls == 0);
        self.check_invariants();
        Ok(())
    }

    /// Whether each row has a value, or any in its place.
    fn has_values(&self) -> bool {
        let len = with_fixed!(&self.values, vector => vector.len();
            Values::Bool(words) => return words.len() >= self.len.div_ceil(64),
            Values::Bytes { offsets, .. } => offsets.len() - 1
        );
        len >= self.len
    }

    /// Checks what holds between rows, values and validity while no call is at work (in debug builds).
    pub(crate) fn check_invariants(&self) {
        debug_assert!(self.has_values(), "each row has a value, or any in its place");
        debug_assert!(self.nulls <= self.len, "no more rows are NULL than there are");
        debug_assert!(
            self.nulls == 0 || self.valid.len() * 64 >= self.len,
            "validity has a bit for each row"
        );
        if let Values::Bytes { offsets, data } = &self.values {
            debug_assert_eq!(offsets.len(), self.len + 1, "text begins where the text before it ends");
            debug_assert_eq!(
                offsets[self.len] as usize,
                data.len(),
                "the last text ends where the bytes end"
            );
        }
    }

    /// The values of a buffer of 32 bits, unsigned, for values to be put there; then [`ColumnBuffer::append_validity`] is to follow. Panics
    /// with a buffer of another type.
    pub fn numbers_mut(&mut self) -> &mut Vec<u32> {
        let Values::U32(numbers) = &mut self.values else { panic!("a buffer of {}", self.ty) };
        numbers
    }

    /// Notes which of `count` new rows, whose values are appended already, have one.
    pub fn append_validity(&mut self, count: usize, is_valid: impl Fn(usize) -> bool, all: bool) {
        let start = self.len;
        self.len += count;
        debug_assert!(self.has_values(), "the values are appended already");
        if all && self.nulls == 0 {
            return;
        }
        if self.nulls == 0 {
            self.valid = Mask::all(start).words().to_vec();
        }
        for index in 0..count {
            let valid = all || is_valid(index);
            set_bit(&mut self.valid, start + index, valid);
            self.nulls += usize::from(!valid);
        }
    }
}

/// From so many rows on it is less work to have the validity of all rows of a block laid out than to look for each.
const LAID_OUT: usize = 64;

/// Which rows of a block have a value.
enum Valid<'b> {
    Block(&'b Block<'b>),
    All(Mask),
}

impl<'b> Valid<'b> {
    /// To be asked of so many rows.
    fn of(block: &'b Block<'b>, rows: usize) -> Self {
        match rows < LAID_OUT || block.has_no_nulls() {
            true => Self::Block(block),
            false => Self::All(block.validity()),
        }
    }

    fn get(&self, row: usize) -> bool {
        match self {
            Self::Block(block) => block.is_valid(row),
            Self::All(mask) => mask.get(row),
        }
    }
}

fn append(offsets: &mut Vec<u32>, data: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    let end = end_of(data.len() + bytes.len())?;
    data.extend_from_slice(bytes);
    offsets.push(end);
    Ok(())
}

/// Appends a few bytes of others. A call to copy them takes as long as all else that is done for a short one.
#[inline]
pub fn push_bytes(to: &mut Vec<u8>, from: &[u8], range: Range<usize>) {
    const SHORT: usize = 16;
    let len = range.len();
    match from[range.start..].first_chunk::<SHORT>() {
        Some(chunk) if len <= SHORT => {
            to.extend_from_slice(chunk);
            to.truncate(to.len() - (SHORT - len));
        }
        _ => to.extend_from_slice(&from[range]),
    }
}

/// An offset of text, which 31 bits hold.
pub fn end_of(bytes: usize) -> Result<u32> {
    match bytes <= i32::MAX as usize {
        true => Ok(bytes as u32),
        false => Err(Error::invalid("more than 2 GiB of text in one block")),
    }
}
