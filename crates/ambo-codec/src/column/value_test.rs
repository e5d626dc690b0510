//! A predicate that is asked of one value after the other, for rows that are not in blocks. Its answers are those of
//! [`Block::filter`](super::Block::filter): it becomes ranges of the same codes.

use std::sync::Arc;

use super::{
    Code, Compare, KeySet, Kind, Native, Predicate,
    predicate::{Comparable, has_null, ranges, wide_code},
    ranges::{Ranges, contains},
    text::Like,
};
use crate::{Error, Result, ValueRef};

/// See the module. It owns its constants.
#[derive(Clone, Debug)]
pub struct ValueTest {
    question: Question,
}

#[derive(Clone, Debug)]
enum Question {
    /// Whether another question is answered with no.
    Not(Box<ValueTest>),
    /// Whether the value is in a set of integers.
    Among(Arc<KeySet>),
    /// Whether the value is NULL, or is not.
    Null(bool),
    /// Whether the code is in one of these ranges.
    Codes(Vec<(u64, u64)>),
    Wide(Vec<(u128, u128)>),
    Text(TextQuestion),
}

#[derive(Clone, Debug)]
enum TextQuestion {
    /// A constant is NULL.
    No,
    Compare(Compare, Vec<u8>),
    Between(Vec<u8>, Vec<u8>),
    /// In ascending order.
    In(Vec<Vec<u8>>),
    Prefix(Vec<u8>),
    Like(Box<Like<'static>>),
}

impl ValueTest {
    /// The question that `predicate` asks of values of this kind.
    ///
    /// # Errors
    /// A constant that cannot be compared with them.
    pub fn new(predicate: Predicate<'_>, kind: Kind) -> Result<Self> {
        let question = match predicate {
            Predicate::IsNull => Question::Null(true),
            Predicate::IsNotNull => Question::Null(false),
            Predicate::Not(inner) if has_null(inner) => Question::Codes(Vec::new()),
            Predicate::Not(inner) => Question::Not(Box::new(Self::new(*inner, kind)?)),
            Predicate::Among(_) if matches!(kind, Kind::F32 | Kind::F64 | Kind::Bytes) => {
                return Err(Error::invalid("a set of integers, asked of what are no integers"));
            }
            Predicate::Among(set) => Question::Among(set.clone()),
            _ => match kind {
                Kind::Bool => codes::<bool>(predicate, u64::from)?,
                Kind::I8 => codes::<i8>(predicate, u8::widen)?,
                Kind::I16 => codes::<i16>(predicate, u16::widen)?,
                Kind::I32 => codes::<i32>(predicate, u32::widen)?,
                Kind::I64 => codes::<i64>(predicate, u64::widen)?,
                Kind::U8 => codes::<u8>(predicate, u8::widen)?,
                Kind::U16 => codes::<u16>(predicate, u16::widen)?,
                Kind::U32 => codes::<u32>(predicate, u32::widen)?,
                Kind::U64 => codes::<u64>(predicate, u64::widen)?,
                Kind::F32 => codes::<f32>(predicate, u32::widen)?,
                Kind::F64 => codes::<f64>(predicate, u64::widen)?,
                Kind::I128 => Question::Wide(set::<i128>(predicate)?.as_slice().to_vec()),
                Kind::Bytes => Question::Text(text(predicate)?),
            },
        };
        Ok(Self { question })
    }

    /// Whether a value answers with yes. A value of another kind does not.
    #[inline]
    pub fn is_answered_by(&self, value: ValueRef<'_>) -> bool {
        match (&self.question, value) {
            (Question::Null(is_null), value) => value.is_null() == *is_null,
            (_, ValueRef::Null) => false,
            (Question::Not(inner), value) => !inner.is_answered_by(value),
            (Question::Among(set), value) => whole(value).is_some_and(|key| set.contains(key)),
            (Question::Wide(set), ValueRef::Decimal128 { unscaled, .. }) => {
                contains(set, wide_code(unscaled))
            }
            (Question::Text(question), ValueRef::Utf8(text)) => question.is_answered_by(text.as_bytes()),
            (Question::Text(question), ValueRef::Binary(bytes)) => question.is_answered_by(bytes),
            (Question::Codes(set), value) => code(value).is_some_and(|code| contains(set, code)),
            _ => false,
        }
    }
}

/// An integer, cut to 64 bits, as [`Block::decode_integers`](super::Block::decode_integers) has it.
#[inline]
fn whole(value: ValueRef<'_>) -> Option<i64> {
    Some(match value {
        ValueRef::Bool(value) => value.into(),
        ValueRef::I8(value) => value.into(),
        ValueRef::I16(value) => value.into(),
        ValueRef::I32(value) | ValueRef::Date32(value) => value.into(),
        ValueRef::I64(value)
        | ValueRef::Time64(value)
        | ValueRef::Timestamp(value)
        | ValueRef::TimestampTz(value) => value,
        ValueRef::U8(value) => value.into(),
        ValueRef::U16(value) => value.into(),
        ValueRef::U32(value) => value.into(),
        ValueRef::U64(value) => value as i64,
        ValueRef::Decimal128 { unscaled, .. } => unscaled as i64,
        ValueRef::Null | ValueRef::F32(_) | ValueRef::F64(_) | ValueRef::Utf8(_) | ValueRef::Binary(_) => {
            return None;
        }
    })
}

fn set<V: Comparable>(predicate: Predicate<'_>) -> Result<Ranges<V::Code>> {
    Ok(ranges::<V>(predicate)?.expect("not a question about NULL"))
}

fn codes<V: Comparable>(predicate: Predicate<'_>, widen: impl Fn(V::Code) -> u64) -> Result<Question> {
    let set = set::<V>(predicate)?;
    Ok(Question::Codes(set.as_slice().iter().map(|&(low, high)| (widen(low), widen(high))).collect()))
}

/// The code of a number of up to 64 bits, as blocks of its kind have it.
#[inline]
fn code(value: ValueRef<'_>) -> Option<u64> {
    Some(match value {
        ValueRef::Bool(value) => value.into(),
        ValueRef::I8(value) => value.to_code().widen(),
        ValueRef::I16(value) => value.to_code().widen(),
        ValueRef::I32(value) | ValueRef::Date32(value) => value.to_code().widen(),
        ValueRef::I64(value)
        | ValueRef::Time64(value)
        | ValueRef::Timestamp(value)
        | ValueRef::TimestampTz(value) => value.to_code(),
        ValueRef::U8(value) => value.into(),
        ValueRef::U16(value) => value.into(),
        ValueRef::U32(value) => value.into(),
        ValueRef::U64(value) => value,
        ValueRef::F32(value) => value.to_code().widen(),
        ValueRef::F64(value) => value.to_code(),
        ValueRef::Null | ValueRef::Decimal128 { .. } | ValueRef::Utf8(_) | ValueRef::Binary(_) => {
            return None;
        }
    })
}

fn text(predicate: Predicate<'_>) -> Result<TextQuestion> {
    let bytes = |constant: ValueRef<'_>| match constant {
        ValueRef::Null => Ok(None),
        constant => constant
            .as_bytes()
            .map(|bytes| Some(bytes.to_vec()))
            .ok_or_else(|| Error::invalid("a constant that cannot be compared with text")),
    };
    Ok(match predicate {
        Predicate::Compare(compare, constant) => match bytes(constant)? {
            Some(constant) => TextQuestion::Compare(compare, constant),
            None => TextQuestion::No,
        },
        Predicate::Between(low, high) => match bytes(low)?.zip(bytes(high)?) {
            Some((low, high)) => TextQuestion::Between(low, high),
            None => TextQuestion::No,
        },
        Predicate::In(list) => {
            let list = list.iter().map(|constant| bytes(*constant)).collect::<Result<Vec<_>>>()?;
            let mut list: Vec<_> = list.into_iter().flatten().collect();
            list.sort_unstable();
            TextQuestion::In(list)
        }
        Predicate::Prefix(prefix) => TextQuestion::Prefix(prefix.to_vec()),
        Predicate::Contains(part) => TextQuestion::Like(Box::new(Like::new(&[b"", part, b""]).into_owned())),
        Predicate::Like(pieces) => TextQuestion::Like(Box::new(Like::new(pieces).into_owned())),
        Predicate::IsNull | Predicate::IsNotNull | Predicate::Among(_) | Predicate::Not(_) => {
            return Err(Error::invalid("a question that is not of text"));
        }
    })
}

impl TextQuestion {
    fn is_answered_by(&self, bytes: &[u8]) -> bool {
        match self {
            Self::No => false,
            Self::Compare(compare, constant) => compare.holds(bytes.cmp(constant)),
            Self::Between(low, high) => &low[..] <= bytes && bytes <= &high[..],
            Self::In(list) => list.binary_search_by(|constant| constant[..].cmp(bytes)).is_ok(),
            Self::Prefix(prefix) => bytes.starts_with(prefix),
            Self::Like(like) => like.matches(bytes),
        }
    }
}
