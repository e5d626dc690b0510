//! Where the values of a record are.
//!
//! Fields come in the order of their width, the widest first, so each is aligned; among equals in the order of the columns. Behind them
//! are the null bytes, a bit for each column that may be NULL. A record ends with as many zeros as its width wants.

use ambo_codec::column::Kind;
use ambo_types::RecordWidth;

/// Wider fields are aligned as these.
const ALIGNED: usize = 8;
/// Of a power of two so much may be empty, where nothing else is said: one of so many parts.
const WASTE: usize = 8;
/// The widest record: that of a table with the most columns, the widest of all.
pub(super) const WIDTH_MAX: usize = 1 << 17;

/// Where a column is in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    /// Nowhere: each record has NULL.
    Absent,
    /// At this offset, as its kind has it.
    At(usize),
    /// At this offset, as the number of a text in the page's heap of the column.
    Text(usize),
    /// In no record: it is the number of the row, which follows from the directory.
    Number,
}

impl Field {
    /// Its bytes in a record.
    pub(crate) fn bytes(self, kind: Kind) -> usize {
        match self {
            Self::Absent | Self::Number => 0,
            Self::Text(_) => 4,
            Self::At(_) => kind.size().unwrap_or(0),
        }
    }

    pub(super) fn offset(self) -> Option<usize> {
        match self {
            Self::Absent | Self::Number => None,
            Self::At(offset) | Self::Text(offset) => Some(offset),
        }
    }
}

/// What a column is, before it has a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// Never there.
    Absent,
    /// A value of this kind.
    Value(Kind),
    /// The number of the row.
    Number,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Bytes of a record.
    pub(crate) width: usize,
    /// A field for each stored column.
    pub(crate) fields: Vec<Field>,
    /// Columns that have a bit in the null bytes, the first in bit 0 of the first byte.
    pub(crate) nullable: Vec<usize>,
    /// Where the null bytes are.
    pub(crate) nulls_at: usize,
}

impl Layout {
    /// Places the columns.
    pub(crate) fn new(parts: &[Part], nullable: Vec<usize>, width: RecordWidth) -> Self {
        let mut order: Vec<(usize, usize)> = Vec::new();
        let mut fields = vec![Field::Absent; parts.len()];
        for (column, part) in parts.iter().enumerate() {
            match part {
                Part::Absent => {}
                Part::Number => fields[column] = Field::Number,
                Part::Value(kind) => order.push((kind.size().unwrap_or(4), column)),
            }
        }
        order.sort_by_key(|(size, column)| (std::cmp::Reverse(*size), *column));
        let mut at = 0;
        for (size, column) in order {
            debug_assert!(at % size.min(ALIGNED) == 0, "narrower fields follow wider ones");
            fields[column] = match parts[column] {
                Part::Value(Kind::Bytes) => Field::Text(at),
                _ => Field::At(at),
            };
            at += size;
        }
        let mut layout = Self { width: 0, fields, nullable, nulls_at: at };
        layout.width = layout.chosen(width);
        layout
    }

    /// Bytes that are taken.
    fn used(&self) -> usize {
        (self.nulls_at + self.nullable.len().div_ceil(8)).max(1)
    }

    fn chosen(&self, width: RecordWidth) -> usize {
        let used = self.used();
        let (power, tight) = (used.next_power_of_two(), used.next_multiple_of(8));
        match width {
            RecordWidth::Power => power,
            RecordWidth::Tight => tight,
            RecordWidth::Suitable if (power - used) * WASTE <= power => power,
            RecordWidth::Suitable => tight,
        }
    }

    /// The same with more columns that may be NULL. Fields stay where they are.
    pub(crate) fn with_nullable(&self, columns: impl Iterator<Item = usize>, width: RecordWidth) -> Self {
        let mut layout = self.clone();
        layout.nullable.extend(columns);
        layout.width = layout.chosen(width);
        layout
    }

    /// The byte and the bit that say whether a column is NULL; none if it never is.
    pub(crate) fn null_bit(&self, column: usize) -> Option<(usize, u8)> {
        let bit = self.nullable.iter().position(|nullable| *nullable == column)?;
        Some((self.nulls_at + bit / 8, 1 << (bit % 8)))
    }

    /// What is wrong with it for columns of these kinds, if anything.
    pub(super) fn check(&self, kinds: &[Kind]) -> Result<(), &'static str> {
        if self.fields.len() != kinds.len() {
            return Err("a record has not the columns of its extent");
        }
        if !(1..=WIDTH_MAX).contains(&self.width) {
            return Err("a width that no record has");
        }
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for (field, kind) in self.fields.iter().zip(kinds) {
            let fits = match field {
                Field::Text(_) => *kind == Kind::Bytes,
                Field::At(_) => *kind != Kind::Bytes,
                Field::Number => *kind == Kind::U64,
                Field::Absent => true,
            };
            if !fits {
                return Err("a field that is not of its column's kind");
            }
            taken.extend(field.offset().map(|offset| (offset, offset + field.bytes(*kind))));
        }
        if self.fields.iter().skip(1).any(|field| *field == Field::Number) {
            return Err("row numbers that are not the key");
        }
        taken.push((self.nulls_at, self.nulls_at + self.nullable.len().div_ceil(8)));
        taken.sort_unstable();
        if taken.windows(2).any(|pair| pair[0].1 > pair[1].0)
            || taken.last().is_some_and(|last| last.1 > self.width)
        {
            return Err("fields that overlap, or end behind their record");
        }
        let mut seen = vec![false; kinds.len()];
        for column in &self.nullable {
            match seen.get_mut(*column) {
                Some(seen) if !*seen && self.fields[*column].offset().is_some() => *seen = true,
                _ => return Err("a null bit of a column that has none"),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(kinds: &[Kind], nullable: &[usize], width: RecordWidth) -> Layout {
        let parts: Vec<_> = kinds.iter().map(|kind| Part::Value(*kind)).collect();
        let layout = Layout::new(&parts, nullable.to_vec(), width);
        layout.check(kinds).unwrap();
        layout
    }

    // Keeps away: fields that overlap or are not aligned, and a width that another choice would have had.
    #[test]
    fn fields_are_aligned_and_widths_are_chosen() {
        let kinds = [Kind::Bool, Kind::I64, Kind::U16, Kind::I128, Kind::Bytes, Kind::U32];
        let one = layout(&kinds, &[1, 4], RecordWidth::Tight);
        let at = |offset| Field::At(offset);
        assert_eq!(one.fields, [at(34), at(16), at(32), at(0), Field::Text(24), at(28)]);
        assert_eq!((one.nulls_at, one.width), (35, 40));
        assert_eq!((one.null_bit(1), one.null_bit(4), one.null_bit(0)), (Some((35, 1)), Some((35, 2)), None));
        assert_eq!(layout(&kinds, &[], RecordWidth::Power).width, 64);
        // 35 of 64 bytes would waste too much, 57 would not.
        assert_eq!(layout(&kinds, &[], RecordWidth::Suitable).width, 40);
        assert_eq!(layout(&[Kind::I64; 7], &[], RecordWidth::Suitable).width, 64);
        assert_eq!(layout(&[Kind::U8], &[], RecordWidth::Suitable).width, 1);
        let wider = one.with_nullable([0].into_iter(), RecordWidth::Tight);
        assert_eq!((wider.null_bit(0), wider.fields == one.fields), (Some((35, 4)), true));
    }

    // Keeps away: a layout of foreign bytes by which a record is read beyond its end.
    #[test]
    fn bad_layouts_are_refused() {
        let kinds = [Kind::I64, Kind::U16];
        let good = layout(&kinds, &[1], RecordWidth::Tight);
        let bad = |change: &dyn Fn(&mut Layout)| {
            let mut layout = good.clone();
            change(&mut layout);
            assert!(layout.check(&kinds).is_err(), "{layout:?}");
        };
        bad(&|layout| layout.width = 10);
        bad(&|layout| layout.width = 0);
        bad(&|layout| layout.fields[1] = Field::At(7));
        bad(&|layout| layout.fields[1] = Field::Text(8));
        bad(&|layout| layout.fields[1] = Field::Number);
        bad(&|layout| layout.nullable.push(1));
        bad(&|layout| layout.nullable.push(2));
        bad(&|layout| layout.nulls_at = 9);
        bad(&|layout| layout.fields.truncate(1));
    }
}
