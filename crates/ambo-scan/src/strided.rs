//! Values that lie in records of one width, as columns.

use ambo_codec::{Error, Result};

use crate::buffer::{ColumnBuffer, Values, set_bit};

impl ColumnBuffer {
    /// Appends the values, little-endian, that begin `offset` bytes behind the beginning of each record of `width` bytes. Where the bit of
    /// a byte of the record is set, by its place and its number, the value is NULL. Panics if a field is not within the record.
    ///
    /// # Errors
    /// [`Error::Invalid`] for text, which has no width, and for a boolean that is neither 0 nor 1, with the number of its record.
    pub fn append_strided(
        &mut self,
        records: &[u8],
        width: usize,
        offset: usize,
        null: Option<(usize, u8)>,
    ) -> Result<()> {
        assert!(width > 0 && records.len().is_multiple_of(width), "records of one width");
        assert!(null.is_none_or(|(byte, bit)| byte < width && bit < 8), "a bit of the record");
        let (start, rows) = (self.len(), records.len() / width);
        let records_of = || records.chunks_exact(width);
        macro_rules! numbers {
            ($vector:ident, $native:ty) => {{
                const WIDTH: usize = size_of::<$native>();
                assert!(offset + WIDTH <= width, "a field of the record");
                let value = |record: &[u8]| {
                    let mut bytes = [0; WIDTH];
                    bytes.copy_from_slice(&record[offset..offset + WIDTH]);
                    <$native>::from_le_bytes(bytes)
                };
                $vector.extend(records_of().map(value));
            }};
        }
        let is_null = |record: &[u8]| null.is_some_and(|(byte, bit)| record[byte] >> bit & 1 == 1);
        match &mut self.values {
            Values::Bool(words) => {
                for (row, record) in records_of().enumerate() {
                    let value = record[offset];
                    if value > 1 && !is_null(record) {
                        return Err(Error::invalid(format!(
                            "record {row} has {value} for a boolean, which is 0 or 1"
                        )));
                    }
                    set_bit(words, start + row, value == 1);
                }
            }
            Values::I8(vector) => numbers!(vector, i8),
            Values::I16(vector) => numbers!(vector, i16),
            Values::I32(vector) => numbers!(vector, i32),
            Values::I64(vector) => numbers!(vector, i64),
            Values::U8(vector) => numbers!(vector, u8),
            Values::U16(vector) => numbers!(vector, u16),
            Values::U32(vector) => numbers!(vector, u32),
            Values::U64(vector) => numbers!(vector, u64),
            Values::F32(vector) => numbers!(vector, f32),
            Values::F64(vector) => numbers!(vector, f64),
            Values::I128(vector) => numbers!(vector, i128),
            Values::Bytes { .. } => {
                return Err(Error::invalid("text has no fixed width, and is in no record"));
            }
        }
        let is_valid = |row: usize| !is_null(&records[row * width..][..width]);
        self.append_validity(rows, is_valid, null.is_none());
        self.check_invariants();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ambo_codec::{Type, ValueRef};

    use super::*;

    // Keeps away: values of a neighbour, NULLs of another column, and booleans that are both.
    #[test]
    fn fields_of_records_are_columns() {
        let mut records = Vec::new();
        for row in 0..100u8 {
            records.extend_from_slice(&(i32::from(row) - 50).to_le_bytes());
            records.extend_from_slice(&[row % 2, row, 0, u8::from(row % 3 == 0) << 5]);
        }
        let mut numbers = ColumnBuffer::new(Type::I32);
        numbers.push(ValueRef::I32(7)).unwrap();
        numbers.append_strided(&records, 8, 0, Some((7, 5))).unwrap();
        let mut flags = ColumnBuffer::new(Type::Bool);
        flags.append_strided(&records, 8, 4, None).unwrap();
        assert_eq!((numbers.len(), numbers.nulls(), flags.len(), flags.nulls()), (101, 34, 100, 0));
        for row in 0..100 {
            let number = if row % 3 == 0 { ValueRef::Null } else { ValueRef::I32(row as i32 - 50) };
            assert_eq!(numbers.get(row + 1).unwrap(), number);
            assert_eq!(flags.get(row).unwrap(), ValueRef::Bool(row % 2 == 1));
        }
        let error = ColumnBuffer::new(Type::Bool).append_strided(&records, 8, 5, None).unwrap_err();
        assert!(error.to_string().contains("record 2 has 2 for a boolean"), "{error}");
        let error = ColumnBuffer::new(Type::Utf8).append_strided(&records, 8, 5, None).unwrap_err();
        assert!(error.to_string().contains("text has no fixed width"), "{error}");
    }
}
