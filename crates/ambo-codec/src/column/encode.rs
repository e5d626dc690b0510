//! From values to a block.

use std::borrow::Cow;

use super::{
    BLOCK_ROWS_MAX, BitsView, BytesView, ColumnSlice, Encoding, Goal, Kind, Mask, Native, bitset,
    block::{FORM_PLAIN, decimal, encode_validity},
    envelope, numbers,
    ranges::Point,
    text::{self, TextTable},
    wide,
};
use crate::{Error, Result, Value};

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
/// An error when there are more than [`BLOCK_ROWS_MAX`] values, `validity` is of another length, or strings have more than
/// 2^31 - 1 bytes; `out` is then as it was.
pub fn encode(
    values: ColumnSlice<'_>,
    validity: Option<BitsView<'_>>,
    goal: Goal,
    out: &mut Vec<u8>,
) -> Result<BlockSummary> {
    encode_shared(values, validity, goal, None, out)
}

/// As [`encode`], of strings, with a table that was trained for the column chunk. What decodes the table is needed to
/// parse the block ([`super::Block::parse_shared`]).
pub fn encode_text(
    strings: BytesView<'_>,
    validity: Option<BitsView<'_>>,
    goal: Goal,
    shared: &TextTable,
    out: &mut Vec<u8>,
) -> Result<BlockSummary> {
    encode_shared(ColumnSlice::Bytes(strings), validity, goal, Some(shared), out)
}

/// Appends a block of `values` as they are: made at the speed of memory, and as large as the values. For blocks that are made of other
/// forms of the same values again and again, and never stored.
///
/// # Errors
/// As [`encode`].
pub fn encode_raw(
    values: ColumnSlice<'_>,
    validity: Option<BitsView<'_>>,
    out: &mut Vec<u8>,
) -> Result<BlockSummary> {
    encode_by(values, validity, out, |values, validity, out| match values {
        ColumnSlice::Bytes(strings) => raw_text(strings, validity, out),
        values => Ok(encode_values(values, validity, None, out)),
    })
}

fn encode_shared(
    values: ColumnSlice<'_>,
    validity: Option<BitsView<'_>>,
    goal: Goal,
    shared: Option<&TextTable>,
    out: &mut Vec<u8>,
) -> Result<BlockSummary> {
    let (start, kind) = (out.len(), values.kind());
    let mut summary = encode_by(values, validity, out, |values, validity, out| match values {
        ColumnSlice::Bytes(strings) => text(strings, validity, goal, shared, out),
        values => Ok(encode_values(values, validity, Some(goal), out)),
    })?;
    // Strings see to their compression themselves.
    if goal == Goal::Size && kind != Kind::Bytes {
        envelope::shrink(start, out);
    }
    summary.bytes = out.len() - start;
    Ok(summary)
}

/// Appends a block, whose values `encode` appends, of which at least one is not NULL; it returns how, the least and the largest.
fn encode_by<'v>(
    values: ColumnSlice<'v>,
    validity: Option<BitsView<'v>>,
    out: &mut Vec<u8>,
    encode: impl FnOnce(ColumnSlice<'v>, Option<BitsView<'v>>, &mut Vec<u8>) -> Result<(Encoding, Value, Value)>,
) -> Result<BlockSummary> {
    let rows = values.len();
    if rows > BLOCK_ROWS_MAX {
        return Err(Error::invalid("more rows than a block holds"));
    }
    if validity.is_some_and(|validity| validity.len() != rows) {
        return Err(Error::invalid("validity of another length"));
    }
    let start = out.len();
    let nulls = validity.map_or(0, |validity| rows - validity.count());
    out.extend([FORM_PLAIN, values.kind().code(), 0, 0]);
    out.extend_from_slice(&(rows as u32).to_le_bytes());
    out[start + 3] = encode_validity(validity, out);
    let mut summary = BlockSummary { encoding: None, rows, nulls, min: None, max: None, bytes: 0 };
    if nulls < rows {
        let validity = validity.filter(|_| nulls > 0);
        let (encoding, min, max) = match encode(values, validity, out) {
            Ok(encoded) => encoded,
            Err(error) => {
                out.truncate(start);
                return Err(error);
            }
        };
        out[start + 2] = encoding.code();
        (summary.encoding, summary.min, summary.max) = (Some(encoding), Some(min), Some(max));
    }
    summary.bytes = out.len() - start;
    Ok(summary)
}

/// Without a goal the values are stored as they are.
fn encode_values(
    values: ColumnSlice<'_>,
    validity: Option<BitsView<'_>>,
    goal: Option<Goal>,
    out: &mut Vec<u8>,
) -> (Encoding, Value, Value) {
    fn number<N: Native<Code: Point> + Into<Value>>(
        values: &[N],
        validity: Option<BitsView<'_>>,
        goal: Option<Goal>,
        out: &mut Vec<u8>,
    ) -> (Encoding, Value, Value) {
        let values = filled(values, validity);
        let (encoding, low, high) = match goal {
            Some(goal) => numbers::encode(&values, goal, out),
            None => numbers::encode_raw(&values, out),
        };
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
            let values = filled(values, validity);
            let (encoding, low, high) = match goal {
                Some(goal) => wide::encode(&values, goal, out),
                None => wide::encode_raw(&values, out),
            };
            (encoding, decimal(low), decimal(high))
        }
        ColumnSlice::Bytes(_) => unreachable!("strings are encoded elsewhere"),
    }
}

fn raw_text(
    strings: BytesView<'_>,
    validity: Option<BitsView<'_>>,
    out: &mut Vec<u8>,
) -> Result<(Encoding, Value, Value)> {
    let is_valid = |row: usize| validity.is_none_or(|validity| validity.get(row));
    let present = || (0..strings.len()).filter(|&row| is_valid(row)).map(|row| strings.get(row));
    let (low, high) = present().min().zip(present().max()).expect("a string that is not NULL");
    text::encode_as(text::TextEncoding::Raw, &strings, Goal::Speed, None, out)?;
    Ok((Encoding::Text, Value::Binary(low.to_vec()), Value::Binary(high.to_vec())))
}

fn text(
    strings: BytesView<'_>,
    validity: Option<BitsView<'_>>,
    goal: Goal,
    shared: Option<&TextTable>,
    out: &mut Vec<u8>,
) -> Result<(Encoding, Value, Value)> {
    let Some(validity) = validity else {
        let summary = text::encode(&strings, goal, shared, out)?;
        return Ok((Encoding::Text, Value::Binary(summary.min), Value::Binary(summary.max)));
    };
    let present = (0..strings.len()).filter(|&row| validity.get(row)).map(|row| strings.get(row));
    let (low, high) = (present.clone().min(), present.max());
    let (low, high) = low.zip(high).expect("a string that is not NULL");
    // NULLs are empty strings, unless all others are equal.
    let null = if low == high { low } else { &[] };
    let (mut offsets, mut data) = (vec![0], Vec::with_capacity(strings.data().len()));
    for row in 0..strings.len() {
        data.extend_from_slice(if validity.get(row) { strings.get(row) } else { null });
        let end =
            u32::try_from(data.len()).map_err(|_| Error::invalid("strings of more than 2^31 - 1 bytes"))?;
        offsets.push(end);
    }
    text::encode(&BytesView::new(&offsets, &data), goal, shared, out)?;
    Ok((Encoding::Text, Value::Binary(low.to_vec()), Value::Binary(high.to_vec())))
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
