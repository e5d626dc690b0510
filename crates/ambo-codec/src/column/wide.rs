//! Integers of 128 bits: decimals.
//!
//! | encoding | bytes | meaning |
//! |---|---|---|
//! | 6 raw | count × 16 | the values, little-endian |
//! | 8 offset | any | 16 bytes: the least value, little-endian; a byte: an encoding of [`super::numbers`]; 3 bytes zero; the differences from the least value as `u64` in that encoding |

use std::ops::Range;

use super::{
    BitsView, Encoding, Goal, Mask, VECTOR, bits,
    numbers::{self, Numbers, Sum},
    predicate::wide_code,
    ranges::Ranges,
    section::take,
};
use crate::{Error, Result, prefetch::prefetch_byte};

/// Values of 128 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wide<'a> {
    Offset(i128, Numbers<'a, u64>),
    Raw(&'a [[u8; 16]]),
}

/// Appends `values`, and returns the encoding. REQUIRES: `values` is not empty.
pub(crate) fn encode(values: &[i128], goal: Goal, out: &mut Vec<u8>) -> (Encoding, i128, i128) {
    let fold = |(low, high): (i128, i128), &value: &i128| (low.min(value), high.max(value));
    let (low, high) = values.iter().fold((i128::MAX, i128::MIN), fold);
    if u64::try_from(high.wrapping_sub(low) as u128).is_err() {
        values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        return (Encoding::Raw, low, high);
    }
    let differences: Vec<u64> = values.iter().map(|value| value.wrapping_sub(low) as u64).collect();
    out.extend_from_slice(&low.to_le_bytes());
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    out[at] = numbers::encode(&differences, goal, out).0.code();
    (Encoding::Offset, low, high)
}

/// Appends `values` as they are. REQUIRES: `values` is not empty.
pub(crate) fn encode_raw(values: &[i128], out: &mut Vec<u8>) -> (Encoding, i128, i128) {
    let fold = |(low, high): (i128, i128), &value: &i128| (low.min(value), high.max(value));
    let (low, high) = values.iter().fold((i128::MAX, i128::MIN), fold);
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    (Encoding::Raw, low, high)
}

impl<'a> Wide<'a> {
    pub(crate) fn parse(encoding: Encoding, bytes: &mut &'a [u8], count: usize) -> Result<Self> {
        match encoding {
            Encoding::Raw => Ok(Self::Raw(take(bytes, count * 16)?.as_chunks().0)),
            Encoding::Offset => {
                let low = i128::from_le_bytes(take(bytes, 16)?.try_into().expect("16 bytes"));
                let &[inner, 0, 0, 0] = take(bytes, 4)? else {
                    return Err(Error::malformed(0, "reserved bytes are not zero"));
                };
                Ok(Self::Offset(low, Numbers::parse(Encoding::from_code(inner)?, bytes, count)?))
            }
            _ => Err(Error::malformed(2, "an encoding that this kind of values has not")),
        }
    }

    pub(crate) fn verify(&self) -> Result<()> {
        match self {
            Self::Offset(_, numbers) => numbers.verify(),
            Self::Raw(_) => Ok(()),
        }
    }

    /// Value `index`. Panics when there is none.
    pub(crate) fn get(&self, index: usize) -> i128 {
        match self {
            Self::Offset(low, numbers) => low.wrapping_add(numbers.get(index).into()),
            Self::Raw(values) => i128::from_le_bytes(values[index]),
        }
    }

    /// As [`Numbers::prefetch`].
    pub(crate) fn prefetch(&self, index: usize) {
        match self {
            Self::Offset(_, numbers) => numbers.prefetch(index),
            Self::Raw(values) => prefetch_byte(values.as_flattened(), index * 16),
        }
    }

    /// Writes the values of `range` to `out`, of the same length.
    pub(crate) fn decode(&self, range: Range<usize>, mut out: &mut [i128]) {
        assert_eq!(range.len(), out.len());
        match self {
            Self::Raw(values) => {
                let pairs = out.iter_mut().zip(&values[range]);
                pairs.for_each(|(out, raw)| *out = i128::from_le_bytes(*raw));
            }
            Self::Offset(low, numbers) => {
                let mut buffer = [0; VECTOR];
                for part in bits::vectors(range) {
                    let (now, later) = out.split_at_mut(part.len());
                    out = later;
                    let first = part.vector * VECTOR;
                    let buffer = &mut buffer[..part.len()];
                    numbers.decode(first + part.start..first + part.end, buffer);
                    let pairs = now.iter_mut().zip(buffer);
                    pairs.for_each(|(out, difference)| *out = low.wrapping_add((*difference).into()));
                }
            }
        }
    }

    /// Writes the values at `positions` to `out`, of the same length.
    pub(crate) fn gather(&self, positions: &[u32], out: &mut [i128]) {
        let pairs = out.iter_mut().zip(positions);
        match self {
            Self::Raw(_) => pairs.for_each(|(out, &position)| *out = self.get(position as usize)),
            Self::Offset(low, numbers) => {
                let mut differences = vec![0; positions.len()];
                numbers.gather(positions, &mut differences);
                out.iter_mut().zip(differences).for_each(|(out, difference)| {
                    *out = low.wrapping_add(difference.into());
                });
            }
        }
    }

    /// Clears the bits of `mask` whose values are not in `set`.
    pub(crate) fn filter(&self, set: &Ranges<u128>, mask: &mut Mask) {
        match self {
            Self::Raw(values) => {
                for (index, raw) in values.iter().enumerate().take(mask.len()) {
                    if mask.get(index) && !set.contains(wide_code(i128::from_le_bytes(*raw))) {
                        mask.set(index, false);
                    }
                }
            }
            Self::Offset(low, numbers) => {
                let low = wide_code(*low);
                let high = low.saturating_add(u64::MAX.into());
                numbers.filter(&set.clip(low, high, |code| (code - low) as u64), mask);
            }
        }
    }

    /// The least and the largest of `rows`, or of all `count`.
    pub(crate) fn bounds(&self, rows: Option<BitsView<'_>>) -> Option<(i128, i128)> {
        match self {
            Self::Offset(base, numbers) => {
                let (low, high) = numbers.bounds(rows)?;
                Some((base.wrapping_add(low.into()), base.wrapping_add(high.into())))
            }
            Self::Raw(values) => {
                let inside = |&index: &usize| rows.is_none_or(|rows| rows.get(index));
                let mut values = (0..values.len()).filter(inside).map(|index| self.get(index));
                let first = values.next()?;
                Some(values.fold((first, first), |(low, high), value| (low.min(value), high.max(value))))
            }
        }
    }

    /// The sum of `rows`, or of all, which are `count`; `None` when 128 bits cannot hold it.
    pub(crate) fn sum(&self, rows: Option<BitsView<'_>>, count: usize) -> Option<i128> {
        // Halves do not overflow on the way when the whole does not at the end.
        let (mut high, mut low) = (0i128, 0u128);
        let half = u128::from(u64::MAX);
        match self {
            Self::Offset(base, numbers) => {
                let Sum::Integer(differences) = numbers.sum(rows) else { unreachable!("u64 is no float") };
                high = (base >> 64) * count as i128;
                low = (*base as u128 & half) * count as u128 + differences as u128;
            }
            Self::Raw(values) => {
                let inside = |&index: &usize| rows.is_none_or(|rows| rows.get(index));
                for index in (0..values.len()).filter(inside) {
                    let value = self.get(index);
                    high += value >> 64;
                    low += value as u128 & half;
                }
            }
        }
        let high = i64::try_from(high + (low >> 64) as i128).ok()?;
        Some(i128::from(high) << 64 | (low & half) as i128)
    }
}
