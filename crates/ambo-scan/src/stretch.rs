//! Rows of several buffers, put behind each other in stretches, as merging does.

use ambo_codec::Result;
use smallvec::SmallVec;

use crate::buffer::{ColumnBuffer, Values, bit, end_of, push_bytes, set_bit};

/// Rows that lie together in one of several sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// Which source.
    pub source: u32,
    /// The first row.
    pub start: u32,
    /// The row behind the last.
    pub end: u32,
}

impl Stretch {
    /// How many rows.
    pub fn count(&self) -> usize {
        debug_assert!(self.start <= self.end, "a stretch does not end before it begins");
        (self.end - self.start) as usize
    }

    fn rows(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl ColumnBuffer {
    /// Appends rows of other buffers of the same type. Panics when one is of another, or has no such rows.
    ///
    /// # Errors
    /// More text than a block holds. The buffer is then of no use.
    pub fn append_stretches(&mut self, sources: &[&Self], stretches: &[Stretch]) -> Result<()> {
        debug_assert!(
            stretches.iter().all(|of| of.end as usize <= sources[of.source as usize].len()),
            "stretches lie within their sources"
        );
        let len = self.len() + stretches.iter().map(Stretch::count).sum::<usize>();
        /// Copies from the vectors that `vector` finds in the sources, into that in `self`.
        macro_rules! copy {
            ($($kind:ident)*) => {
                match &mut self.values {
                    $(Values::$kind(to) => copy_fixed(to, sources, stretches, |values| match values {
                        Values::$kind(vector) => vector,
                        _ => panic!("a buffer of another type"),
                    }),)*
                    Values::Bool(words) => copy_bits(words, self.len, sources, stretches),
                    Values::Bytes { offsets, data } => copy_bytes(offsets, data, sources, stretches)?,
                }
            };
        }
        copy!(I8 I16 I32 I64 U8 U16 U32 U64 F32 F64 I128);
        if self.nulls() == 0 && sources.iter().all(|source| source.nulls() == 0) {
            self.append_validity(len - self.len(), |_| true, true);
            return Ok(());
        }
        for stretch in stretches {
            let (source, rows) = (sources[stretch.source as usize], stretch.rows());
            self.append_validity(
                rows.len(),
                |index| source.is_valid(rows.start + index),
                source.nulls() == 0,
            );
        }
        assert_eq!(self.len(), len, "each row of a stretch is appended once");
        self.check_invariants();
        Ok(())
    }
}

fn copy_fixed<T: Copy>(
    to: &mut Vec<T>,
    sources: &[&ColumnBuffer],
    stretches: &[Stretch],
    vector: fn(&Values) -> &Vec<T>,
) {
    let sources: SmallVec<[&[T]; 8]> =
        sources.iter().map(|source| vector(&source.values).as_slice()).collect();
    for stretch in stretches {
        let source = sources[stretch.source as usize];
        match stretch.count() {
            // Most are of one row where keys come in random order: a call for each would be most of the work.
            1 => to.push(source[stretch.start as usize]),
            _ => to.extend_from_slice(&source[stretch.rows()]),
        }
    }
}

fn copy_bits(words: &mut Vec<u64>, mut len: usize, sources: &[&ColumnBuffer], stretches: &[Stretch]) {
    for stretch in stretches {
        let Values::Bool(source) = &sources[stretch.source as usize].values else {
            panic!("a buffer of another type")
        };
        for row in stretch.rows() {
            set_bit(words, len, bit(source, row));
            len += 1;
        }
    }
}

fn copy_bytes(
    offsets: &mut Vec<u32>,
    data: &mut Vec<u8>,
    sources: &[&ColumnBuffer],
    stretches: &[Stretch],
) -> Result<()> {
    for stretch in stretches {
        let Values::Bytes { offsets: from, data: bytes } = &sources[stretch.source as usize].values else {
            panic!("a buffer of another type")
        };
        let from = &from[stretch.start as usize..=stretch.end as usize];
        let (first, last) = (from[0], from[from.len() - 1]);
        let base = end_of(data.len())?;
        end_of(data.len() + (last - first) as usize)?;
        push_bytes(data, bytes, first as usize..last as usize);
        offsets.extend(from[1..].iter().map(|end| base + (end - first)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ambo_codec::{Type, Value};
    use proptest::prelude::*;

    use super::*;

    fn value(ty: Type, of: u64) -> Value {
        let text = || "x".repeat(of as usize % 5) + &of.to_string();
        match ty {
            Type::Bool => Value::Bool(of.is_multiple_of(3)),
            Type::U8 => Value::U8(of as u8),
            Type::I64 => Value::I64(of as i64 * 1_000_003),
            Type::F32 => Value::F32(of as f32 / 3.0),
            Type::Decimal128 { scale, .. } => Value::Decimal128 { unscaled: i128::from(of) << 70, scale },
            Type::Utf8 => Value::Utf8(text()),
            _ => Value::Binary(text().into_bytes()),
        }
    }

    proptest! {
        /// Keeps away: rows of the wrong source, too many or too few of them, text with the ends of another, NULLs at the wrong rows.
        #[test]
        fn stretches_are_as_row_by_row(
            picks in proptest::collection::vec((0..3u32, 0..40u32, 1..6u32), 0..60),
            nulls in proptest::collection::vec(1..9u64, 4),
            before in 0..70u64,
        ) {
            let decimal = Type::decimal(38, 2).unwrap();
            for ty in [Type::Bool, Type::U8, Type::I64, Type::F32, decimal, Type::Utf8, Type::Binary] {
                let filled = |rows: u64, from: u64, nulls: u64| {
                    let mut buffer = ColumnBuffer::new(ty);
                    for row in from..from + rows {
                        // One in eight sources has no NULLs.
                        let is_null = nulls < 8 && row.is_multiple_of(nulls);
                        let value = if is_null { Value::Null } else { value(ty, row) };
                        buffer.push(value.as_ref()).unwrap();
                    }
                    buffer
                };
                let sources: Vec<_> = (0..3).map(|source| filled(45, source * 100, nulls[source as usize])).collect();
                let mut buffer = filled(before, 1000, nulls[3]);
                let mut expected: Vec<Value> = (0..buffer.len()).map(|row| buffer.get(row).unwrap().to_value()).collect();
                let stretch = |(source, start, len): &(u32, u32, u32)| Stretch { source: *source, start: *start, end: start + len };
                let stretches: Vec<_> = picks.iter().map(stretch).collect();
                for stretch in &stretches {
                    expected.extend(stretch.rows().map(|row| sources[stretch.source as usize].get(row).unwrap().to_value()));
                }
                buffer.append_stretches(&sources.iter().collect::<Vec<_>>(), &stretches).unwrap();
                let found: Vec<Value> = (0..buffer.len()).map(|row| buffer.get(row).unwrap().to_value()).collect();
                prop_assert_eq!(found, expected);
                prop_assert_eq!(buffer.nulls(), (0..buffer.len()).filter(|row| !buffer.is_valid(*row)).count());
            }
        }
    }
}
