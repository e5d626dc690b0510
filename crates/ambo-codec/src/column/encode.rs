//! From values to a block.

use std::borrow::Cow;

use super::{
    BLOCK_ROWS_MAX, BitsView, ColumnSlice, Encoding, Goal, Kind, Mask, Native, bitset,
    block::{FORM_PLAIN, decimal, encode_validity},
    envelope, numbers,
    ranges::Point,
    wide,
};
use crate::Value;

/// What became of the values.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSummary {
    /// How the values are encoded; `None` when no row has one.
    pub encoding: Option<Encoding>,
    /// How many rows, NULLs among them.
    pub rows: usize,
    /// How many of them are NULL.
    pub nulls: usize,
    /// The least value in the order of [`Value`], in the type of the block's kind (a decimal with scale 0).
    pub min: Option<Value>,
    /// The largest value; NaN if there is one.
    pub max: Option<Value>,
    /// The length of the block.
    pub bytes: usize,
}

/// Appends a block of `values`. `validity` says which rows have a value; `None` means all.
///
/// The encoding is chosen from the values: the smallest, an encoding that decodes slower counting as somewhat larger
/// than it is. With [`Goal::Size`] only size counts, and the block is compressed as a whole when that saves an eighth;
/// such a block is expanded before it is parsed ([`envelope::expand`]).
///
/// Panics when there are more than [`BLOCK_ROWS_MAX`] values, or `validity` is of another length.
pub fn encode(
    values: ColumnSlice<'_>,
    validity: Option<BitsView<'_>>,
    goal: Goal,
    out: &mut Vec<u8>,
) -> BlockSummary {
    let rows = values.len();
    assert!(rows <= BLOCK_ROWS_MAX, "more rows than a block holds");
    assert!(validity.is_none_or(|validity| validity.len() == rows), "validity of another length");
    let start = out.len();
    let nulls = validity.map_or(0, |validity| rows - validity.count());
    out.extend([FORM_PLAIN, values.kind().code(), 0, 0]);
    out.extend_from_slice(&(rows as u32).to_le_bytes());
    out[start + 3] = encode_validity(validity, out);
    let mut summary = BlockSummary { encoding: None, rows, nulls, min: None, max: None, bytes: 0 };
    if nulls < rows {
        let (encoding, min, max) = encode_values(values, validity.filter(|_| nulls > 0), goal, out);
        out[start + 2] = encoding.code();
        (summary.encoding, summary.min, summary.max) = (Some(encoding), Some(min), Some(max));
    }
    if goal == Goal::Size {
        envelope::shrink(start, out);
    }
    summary.bytes = out.len() - start;
    summary
}

fn encode_values(
    values: ColumnSlice<'_>,
    validity: Option<BitsView<'_>>,
    goal: Goal,
    out: &mut Vec<u8>,
) -> (Encoding, Value, Value) {
    fn number<N: Native<Code: Point> + Into<Value>>(
        values: &[N],
        validity: Option<BitsView<'_>>,
        goal: Goal,
        out: &mut Vec<u8>,
    ) -> (Encoding, Value, Value) {
        let (encoding, low, high) = numbers::encode(&filled(values, validity), goal, out);
        (encoding, N::from_code(low).into(), N::from_code(high).into())
    }
    match values {
        ColumnSlice::Bool(values) => boolean(values, validity, out),
        ColumnSlice::I8(values) => number(values, validity, goal, out),
        ColumnSlice::I16(values) => number(values, validity, goal, out),
        ColumnSlice::I32(values) => number(values, validity, goal, out),
        ColumnSlice::I64(values) => number(values, validity, goal, out),
        ColumnSlice::U8(values) => number(values, validity, goal, out),
        ColumnSlice::U16(values) => number(values, validity, goal, out),
        ColumnSlice::U32(values) => number(values, validity, goal, out),
        ColumnSlice::U64(values) => number(values, validity, goal, out),
        ColumnSlice::F32(values) => number(values, validity, goal, out),
        ColumnSlice::F64(values) => number(values, validity, goal, out),
        ColumnSlice::I128(values) => {
            let (encoding, low, high) = wide::encode(&filled(values, validity), goal, out);
            (encoding, decimal(low), decimal(high))
        }
        ColumnSlice::Bytes(_) => unimplemented!(),
    }
}

fn boolean(
    values: BitsView<'_>,
    validity: Option<BitsView<'_>>,
    out: &mut Vec<u8>,
) -> (Encoding, Value, Value) {
    let mut set = Mask::from_bits(values);
    let mut clear = validity.map_or_else(|| Mask::all(values.len()), Mask::from_bits);
    if let Some(validity) = validity {
        set.and(validity);
    }
    clear.and_not(values);
    let (any_set, any_clear) = (set.count() > 0, clear.count() > 0);
    let at = out.len();
    out.push(0);
    // NULLs are false, unless all values are true.
    out[at] = if any_clear { bitset::encode(set.view(), out) } else { bitset::ONES };
    (Encoding::Bits, Value::Bool(!any_clear), Value::Bool(any_set))
}

/// The values, at the places of NULLs the value before, or the first.
///
/// REQUIRES: there is one that is not NULL.
fn filled<'v, N: Copy>(values: &'v [N], validity: Option<BitsView<'_>>) -> Cow<'v, [N]> {
    let Some(validity) = validity else { return Cow::Borrowed(values) };
    let first = (0..values.len()).find(|&index| validity.get(index)).expect("a value");
    let mut before = values[first];
    let fill = |(index, &value): (usize, &N)| {
        before = if validity.get(index) { value } else { before };
        before
    };
    Cow::Owned(values.iter().enumerate().map(fill).collect())
}

impl Kind {
    /// The bytes of a value in memory; `None` when they differ.
    pub const fn size(self) -> Option<usize> {
        match self {
            Self::Bool | Self::I8 | Self::U8 => Some(1),
            Self::I16 | Self::U16 => Some(2),
            Self::I32 | Self::U32 | Self::F32 => Some(4),
            Self::I64 | Self::U64 | Self::F64 => Some(8),
            Self::I128 => Some(16),
            Self::Bytes => None,
        }
    }
}
