//! What directories say of the values in all segments of a set, and samples of blocks of how many different ones there are.

use ambo_codec::{
    Type, Value, ValueRef,
    column::{Block, Kind},
};
use ambo_pages::page::Access;
use ambo_scan::{Bounds, buffer::ColumnBuffer};
use ambo_types::Result;

use super::{seen::Seen, set::ColumnSet};

/// So many blocks of a column are read to tell how many different values it has.
const SAMPLED_BLOCKS: usize = 8;

/// Figures of one stored column of a set, from the directories of its segments. Rows that are deleted count until they are gone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetColumn {
    /// Rows without a value, deleted ones among them.
    pub nulls: u64,
    /// No value is less; with whether a row that is left has it. None if there is no value, or it is not known.
    pub low: Option<(Value, bool)>,
    /// No value is greater; as `low`.
    pub high: Option<(Value, bool)>,
    /// Whether there is a block of which least and greatest value are not known.
    pub is_open: bool,
    /// Bytes of its blocks and text tables.
    pub bytes: u64,
}

impl SetColumn {
    /// Figures of a stored column.
    pub(super) fn of(set: &ColumnSet, place: usize) -> Self {
        let ty = set.schema().types()[place];
        let kind = Kind::of(ty);
        let mut column = Self::default();
        let mut low: Option<(&[u8], bool)> = None;
        let mut high = low;
        for part in set.parts() {
            let directory = part.segment.directory();
            let seen = Seen::new(&part.segment, set.schema());
            column.bytes += directory.columns.get(place).map_or(0, |entry| entry.stored_bytes());
            for group in 0..directory.groups() {
                let nulls = seen.nulls(place, group);
                column.nulls += u64::from(nulls);
                let Some(bounds) = seen.bounds(place, group) else {
                    column.is_open |= (nulls as usize) < directory.group(group).len();
                    continue;
                };
                let is_there = bounds.exact && part.deleted_rows() == 0;
                // Of equal ones that which is there counts.
                if low.is_none_or(|(known, there)| (&*bounds.low, !is_there) < (known, !there)) {
                    low = Some((&bounds.low, is_there));
                }
                if high.is_none_or(|(known, there)| (&*bounds.high, is_there) > (known, there)) {
                    high = Some((&bounds.high, is_there));
                }
                column.is_open |= bounds.is_open();
            }
        }
        column.low = low.and_then(|(bytes, exact)| lower(kind, ty, bytes, exact));
        column.high = high.and_then(|(bytes, exact)| upper(kind, ty, bytes, exact));
        column.is_open |= low.is_some() && (column.low.is_none() || column.high.is_none());
        debug_assert!(
            column.nulls <= set.parts().map(|part| u64::from(part.rows())).sum::<u64>(),
            "values that are missing are those of rows"
        );
        column
    }
}

impl ColumnSet {
    /// About how many different values a stored column has, from blocks spread over all segments; none of a set without rows. A value that
    /// was seen in one block only stands for others of the blocks that were not read, one that was seen in several does not (the estimator
    /// Duj1, with blocks in the place of rows: Haas, Stokes: Estimating the number of classes in a finite population, JASA 1998).
    pub fn sample_distinct(&self, place: usize) -> Result<Option<u64>> {
        let groups: Vec<(Seen<'_>, usize)> = self
            .segments()
            .flat_map(|segment| {
                let seen = Seen::new(segment, self.schema());
                (0..segment.directory().groups()).map(move |group| (seen, group))
            })
            .collect();
        if groups.is_empty() {
            return Ok(None);
        }
        let read = groups.len().min(SAMPLED_BLOCKS);
        // All values of each block, each once.
        let mut seen = Vec::new();
        let place_of = |sample: usize| (2 * sample + 1) * groups.len() / (2 * read);
        debug_assert!(
            (1..read).all(|sample| place_of(sample - 1) < place_of(sample)),
            "a block is read once"
        );
        for sample in 0..read {
            let (segment, group) = groups[place_of(sample)];
            let bytes = segment.block(place, group, Access::Scan)?;
            let block = segment.parse(place, group, &bytes)?;
            let ty = self.schema().types()[place];
            let mut hashes = hashes(&block, ty).map_err(|error| segment.damaged(place, group, error))?;
            hashes.sort_unstable();
            hashes.dedup();
            seen.extend(hashes);
        }
        seen.sort_unstable();
        let (mut distinct, mut once) = (0u64, 0u64);
        for same in seen.chunk_by(|a, b| a == b) {
            distinct += 1;
            once += u64::from(same.len() == 1);
        }
        if distinct == 0 {
            return Ok(Some(0));
        }
        let unread = 1.0 - read as f64 / groups.len() as f64;
        let estimate = distinct as f64 / (1.0 - unread * once as f64 / seen.len() as f64);
        debug_assert!(estimate >= distinct as f64, "{estimate} values, of which {distinct} were seen");
        Ok(Some(estimate.round() as u64))
    }
}

/// Hashes of the values of a block; of one with a dictionary those of its entries.
fn hashes(block: &Block<'_>, ty: Type) -> ambo_codec::Result<Vec<u64>> {
    if let Some(codes) = block.codes() {
        return Ok(codes.entries().iter().map(|value| hash(value.as_ref())).collect());
    }
    if let Some(codes) = block.text().and_then(|text| text.codes()).filter(|codes| !codes.is_shared()) {
        // The entry of NULLs may be among them.
        return Ok(codes.entries()?.iter().map(|text| hash(ValueRef::Binary(text))).collect());
    }
    let mut buffer = ColumnBuffer::new(ty);
    buffer.append_block(block, 0..block.rows())?;
    let valid = (0..buffer.len()).filter(|row| buffer.is_valid(*row));
    valid.map(|row| buffer.get(row).map(hash)).collect()
}

/// A hash of what a value is in blocks.
fn hash(value: ValueRef<'_>) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rapidhash::fast::RapidHasher::default();
    ambo_scan::bounds::physical(value).hash(&mut hasher);
    hasher.finish()
}

/// A lower bound in the type of the column.
fn lower(kind: Kind, ty: Type, bytes: &[u8], exact: bool) -> Option<(Value, bool)> {
    if ty == Type::Utf8 {
        // What is cut within a character is cut before it.
        let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        return Some((Value::Utf8(text.to_owned()), exact));
    }
    Some((logical(Bounds::decode(kind, bytes)?, ty), exact))
}

/// An upper bound in the type of the column; none if there is none.
fn upper(kind: Kind, ty: Type, bytes: &[u8], exact: bool) -> Option<(Value, bool)> {
    if ty != Type::Utf8 {
        return Some((logical(Bounds::decode(kind, bytes)?, ty), exact));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some((Value::Utf8(text.to_owned()), exact));
    }
    // Rounded up within a character: the next text that is none of those that begin so.
    let mut text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid()).to_owned();
    while let Some(last) = text.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            text.push(next);
            return Some((Value::Utf8(text), false));
        }
    }
    None
}

/// A value as blocks know it in the type of its column.
fn logical(value: Value, ty: Type) -> Value {
    match (value, ty) {
        (Value::I32(days), Type::Date32) => Value::Date32(days),
        (Value::I64(ticks), Type::Time64) => Value::Time64(ticks),
        (Value::I64(ticks), Type::Timestamp) => Value::Timestamp(ticks),
        (Value::I64(ticks), Type::TimestampTz) => Value::TimestampTz(ticks),
        (Value::Decimal128 { unscaled, .. }, Type::Decimal128 { scale, .. }) => {
            Value::Decimal128 { unscaled, scale }
        }
        (value, _) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: bounds of texts that were cut within a character, and then are no text, or no bounds.
    #[test]
    fn bounds_of_texts_that_were_cut() {
        let text = |bound: Option<(Value, bool)>| match bound {
            Some((Value::Utf8(text), exact)) => Some((text, exact)),
            _ => None,
        };
        let low = |bytes: &[u8]| text(lower(Kind::Bytes, Type::Utf8, bytes, false));
        let high = |bytes: &[u8]| text(upper(Kind::Bytes, Type::Utf8, bytes, false));
        assert_eq!(low("aé".as_bytes()), Some(("aé".into(), false)));
        assert_eq!(low(b"a\xc3"), Some(("a".into(), false)));
        assert_eq!(high("aé".as_bytes()), Some(("aé".into(), false)));
        // `61 c3`, rounded up: more than all that begin with `61 c2`.
        assert_eq!(high(b"a\xc3"), Some(("b".into(), false)));
        assert_eq!(high(b"\xf5"), None);
        let last = [char::MAX.to_string().as_bytes(), b"\xf5"].concat();
        assert_eq!(high(&last), None);
        let before = ["a\u{d7ff}".as_bytes(), b"\xf5"].concat();
        assert_eq!(high(&before), Some(("a\u{e000}".into(), false)));
    }
}
