//! Filling buffers from memory: whole slices of values, and chosen rows of other buffers.

use ambo_codec::{
    Error, Result, Type, ValueRef,
    column::{BitsView, ColumnSlice},
};

use crate::buffer::{ColumnBuffer, Values, bit, end_of, push_bytes, set_bit};

impl ColumnBuffer {
    /// Appends a value so many times.
    ///
    /// # Errors
    /// A value of another type, or too much text.
    pub fn push_times(&mut self, value: ValueRef<'_>, rows: usize) -> Result<()> {
        (0..rows).try_for_each(|_| self.push(value))
    }

    /// Appends values; `validity` says which rows have one, `None` means all.
    ///
    /// # Errors
    /// Values of another kind than the buffer's, validity of another length, text that is not UTF-8, more text than a block
    /// holds. The buffer is then as it was.
    pub fn extend(&mut self, values: ColumnSlice<'_>, validity: Option<BitsView<'_>>) -> Result<()> {
        let count = values.len();
        self.check_invariants();
        if validity.is_some_and(|validity| validity.len() != count) {
            return Err(Error::invalid("validity of another length"));
        }
        let (ty, start) = (self.ty(), self.len());
        match (&mut self.values, values) {
            (Values::Bool(words), ColumnSlice::Bool(from)) => {
                (0..count).for_each(|index| set_bit(words, start + index, from.get(index)));
            }
            (Values::I8(vector), ColumnSlice::I8(from)) => vector.extend_from_slice(from),
            (Values::I16(vector), ColumnSlice::I16(from)) => vector.extend_from_slice(from),
            (Values::I32(vector), ColumnSlice::I32(from)) => vector.extend_from_slice(from),
            (Values::I64(vector), ColumnSlice::I64(from)) => vector.extend_from_slice(from),
            (Values::U8(vector), ColumnSlice::U8(from)) => vector.extend_from_slice(from),
            (Values::U16(vector), ColumnSlice::U16(from)) => vector.extend_from_slice(from),
            (Values::U32(vector), ColumnSlice::U32(from)) => vector.extend_from_slice(from),
            (Values::U64(vector), ColumnSlice::U64(from)) => vector.extend_from_slice(from),
            (Values::F32(vector), ColumnSlice::F32(from)) => vector.extend_from_slice(from),
            (Values::F64(vector), ColumnSlice::F64(from)) => vector.extend_from_slice(from),
            (Values::I128(vector), ColumnSlice::I128(from)) => vector.extend_from_slice(from),
            (Values::Bytes { offsets, data }, ColumnSlice::Bytes(from)) => {
                let ends = from.offsets();
                let (first, last) = (ends[0] as usize, ends[count] as usize);
                let bytes = &from.data()[first..last];
                if ty == Type::Utf8 {
                    check_utf8(bytes, ends)?;
                }
                let base = data.len();
                end_of(base + bytes.len())?;
                data.extend_from_slice(bytes);
                offsets.extend(ends[1..].iter().map(|end| (base + *end as usize - first) as u32));
            }
            (_, values) => {
                return Err(Error::invalid(format!("{:?} values for a column of type {ty}", values.kind())));
            }
        }
        let is_valid = |index| validity.is_none_or(|validity| validity.get(index));
        let all = validity.is_none_or(|validity| validity.count() == count);
        self.append_validity(count, is_valid, all);
        assert_eq!(self.len(), start + count, "each value is a row");
        self.check_invariants();
        Ok(())
    }

    /// Appends rows of another buffer of the same type, in this order. Panics when it is of another, or has no such row.
    pub fn gather(&mut self, from: &Self, rows: &[u32]) -> Result<()> {
        fn pick<T: Copy>(to: &mut Vec<T>, from: &[T], rows: &[u32]) {
            to.extend(rows.iter().map(|row| from[*row as usize]));
        }
        debug_assert!(
            rows.iter().all(|row| (*row as usize) < from.len()),
            "rows are those of the other buffer"
        );
        let start = self.len();
        match (&mut self.values, &from.values) {
            (Values::Bool(words), Values::Bool(from)) => {
                for (index, row) in rows.iter().enumerate() {
                    set_bit(words, start + index, bit(from, *row as usize));
                }
            }
            (Values::I8(to), Values::I8(from)) => pick(to, from, rows),
            (Values::I16(to), Values::I16(from)) => pick(to, from, rows),
            (Values::I32(to), Values::I32(from)) => pick(to, from, rows),
            (Values::I64(to), Values::I64(from)) => pick(to, from, rows),
            (Values::U8(to), Values::U8(from)) => pick(to, from, rows),
            (Values::U16(to), Values::U16(from)) => pick(to, from, rows),
            (Values::U32(to), Values::U32(from)) => pick(to, from, rows),
            (Values::U64(to), Values::U64(from)) => pick(to, from, rows),
            (Values::F32(to), Values::F32(from)) => pick(to, from, rows),
            (Values::F64(to), Values::F64(from)) => pick(to, from, rows),
            (Values::I128(to), Values::I128(from)) => pick(to, from, rows),
            (Values::Bytes { offsets, data }, Values::Bytes { offsets: ends, data: bytes }) => {
                for row in rows {
                    let row = *row as usize;
                    push_bytes(data, bytes, ends[row] as usize..ends[row + 1] as usize);
                    offsets.push(end_of(data.len())?);
                }
            }
            _ => panic!("rows of a buffer of {} are gathered in one of {}", from.ty(), self.ty()),
        }
        let is_valid = |index: usize| from.is_valid(rows[index] as usize);
        self.append_validity(rows.len(), is_valid, from.nulls() == 0);
        self.check_invariants();
        Ok(())
    }

    /// The first decimal that has more digits than the type promises, and its row.
    pub fn first_beyond_precision(&self) -> Option<(usize, String)> {
        let (Values::I128(vector), Type::Decimal128 { precision, .. }) = (&self.values, self.ty()) else {
            return None;
        };
        let limit = 10u128.pow(precision.into());
        let is_beyond = |(row, value): (usize, &i128)| value.unsigned_abs() >= limit && self.is_valid(row);
        let row = vector.iter().enumerate().position(is_beyond)?;
        Some((row, self.get(row).map_or_else(|error| error.to_string(), |value| value.to_string())))
    }

    /// Makes all zeros the same, and all NaNs: as keys they are.
    pub fn make_canonical(&mut self) {
        match &mut self.values {
            Values::F32(vector) => vector.iter_mut().for_each(|value| {
                *value = if value.is_nan() { f32::NAN } else { *value + 0.0 };
            }),
            Values::F64(vector) => vector.iter_mut().for_each(|value| {
                *value = if value.is_nan() { f64::NAN } else { *value + 0.0 };
            }),
            _ => {}
        }
    }

    /// Bytes of the text or bytes of a row.
    pub fn text_len(&self, row: usize) -> usize {
        debug_assert!(row < self.len(), "no such row");
        match &self.values {
            Values::Bytes { offsets, .. } => (offsets[row + 1] - offsets[row]) as usize,
            _ => 0,
        }
    }

    /// Bytes of memory that the rows take, about.
    pub fn memory(&self) -> usize {
        let width = self.ty().fixed_width().unwrap_or(size_of::<u32>());
        self.len() * width + self.data_bytes() + if self.nulls() > 0 { self.len() / 8 } else { 0 }
    }
}

/// That all strings are text: the bytes as a whole are, and no string begins within a character.
fn check_utf8(bytes: &[u8], ends: &[u32]) -> Result<()> {
    let wrong = || Error::invalid("text that is not UTF-8");
    let text = std::str::from_utf8(bytes).map_err(|_| wrong())?;
    let first = ends[0];
    match text.is_ascii() || ends.iter().all(|end| text.is_char_boundary((end - first) as usize)) {
        true => Ok(()),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use ambo_codec::{ValueRef, column::BytesView};

    use super::*;

    /// Keeps away: rows that are gathered in another order, NULLs that move, text that is taken in the middle of a character.
    #[test]
    fn rows_come_in_the_order_that_was_asked_for() {
        let mut from = ColumnBuffer::new(Type::Utf8);
        let texts = BytesView::new(&[1, 2, 4, 4], "xaéy".as_bytes());
        from.extend(ColumnSlice::Bytes(texts), Some(BitsView::new(&[0b011], 3))).unwrap();
        let mut to = ColumnBuffer::new(Type::Utf8);
        to.gather(&from, &[2, 1, 1, 0]).unwrap();
        let found: Vec<_> = (0..4).map(|row| to.get(row).unwrap()).collect();
        let expected = [ValueRef::Null, ValueRef::Utf8("é"), ValueRef::Utf8("é"), ValueRef::Utf8("a")];
        assert_eq!(found, expected);
        let cut = BytesView::new(&[0, 1, 2], "é".as_bytes());
        assert!(from.extend(ColumnSlice::Bytes(cut), None).is_err());
        assert!(from.extend(ColumnSlice::I8(&[1]), None).is_err());
        assert!(from.extend(ColumnSlice::Bytes(texts), Some(BitsView::new(&[1], 1))).is_err());
        assert_eq!((from.len(), from.nulls()), (3, 1));
        let mut flags = ColumnBuffer::new(Type::Bool);
        flags.extend(ColumnSlice::Bool(BitsView::new(&[0b101], 3)), None).unwrap();
        let mut chosen = ColumnBuffer::new(Type::Bool);
        chosen.gather(&flags, &[1, 2]).unwrap();
        assert_eq!([chosen.get(0).unwrap(), chosen.get(1).unwrap()], [false, true].map(ValueRef::Bool));
    }
}
