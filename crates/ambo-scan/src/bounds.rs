//! Bounds of a block's values as bytes that compare as the values do, and what they say of a predicate.

use std::sync::OnceLock;

use ambo_codec::{
    KeyColumn, KeySpec, Type, Value, ValueRef,
    column::{BlockSummary, Compare, KeySet, Kind, Predicate},
    successor,
};

use crate::aggregate::exact;

/// The longest bound of text or binary values.
pub const BOUND_BYTES: usize = 32;
/// Greater than the number of every kind.
const KINDS: usize = Kind::Bytes as usize + 1;

/// Between which values those of a block lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// No value is less.
    pub low: Box<[u8]>,
    /// No value is greater. All `FF`: not known.
    pub high: Box<[u8]>,
    /// Whether both are values of the block.
    pub exact: bool,
}

/// The type whose keys bounds of a kind are.
fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Bool => Type::Bool,
        Kind::I8 => Type::I8,
        Kind::I16 => Type::I16,
        Kind::I32 => Type::I32,
        Kind::I64 => Type::I64,
        Kind::U8 => Type::U8,
        Kind::U16 => Type::U16,
        Kind::U32 => Type::U32,
        Kind::U64 => Type::U64,
        Kind::F32 => Type::F32,
        Kind::F64 => Type::F64,
        Kind::I128 => Type::Decimal128 { precision: 38, scale: 0 },
        Kind::Bytes => Type::Binary,
    }
}

/// A value in the type of its kind, as blocks know it.
pub fn physical(value: ValueRef<'_>) -> ValueRef<'_> {
    match value {
        ValueRef::Date32(days) => ValueRef::I32(days),
        ValueRef::Time64(ticks) | ValueRef::Timestamp(ticks) | ValueRef::TimestampTz(ticks) => {
            ValueRef::I64(ticks)
        }
        ValueRef::Decimal128 { unscaled, .. } => ValueRef::Decimal128 { unscaled, scale: 0 },
        ValueRef::Utf8(text) => ValueRef::Binary(text.as_bytes()),
        other => other,
    }
}

/// A value's bytes, as those of bounds; none if it is of another type.
pub fn key(kind: Kind, value: ValueRef<'_>) -> Option<Vec<u8>> {
    if let (Kind::Bytes, ValueRef::Binary(bytes)) = (kind, value) {
        return Some(bytes.to_vec());
    }
    let mut out = Vec::new();
    spec(kind).encode(&[value], &mut out).ok().map(|()| out)
}

/// How bounds of a kind are encoded.
fn spec(kind: Kind) -> &'static KeySpec {
    static SPECS: [OnceLock<KeySpec>; KINDS] = [const { OnceLock::new() }; KINDS];
    let make = || KeySpec::new(vec![KeyColumn::new(type_of(kind))]).expect("one column without a default");
    SPECS[kind as usize].get_or_init(make)
}

impl Bounds {
    /// The bounds that an encoder found; none of a block without values.
    pub fn of(kind: Kind, summary: &BlockSummary) -> Option<Self> {
        let encode = |value: &Option<Value>| value.as_ref().and_then(|value| key(kind, value.as_ref()));
        let (low, high) = encode(&summary.min).zip(encode(&summary.max))?;
        // The encoder of text counts NULLs as empty strings.
        let known = kind != Kind::Bytes || summary.nulls == 0;
        let exact = known && low.len() <= BOUND_BYTES && high.len() <= BOUND_BYTES;
        let high = match high.get(..BOUND_BYTES) {
            Some(cut) if high.len() > BOUND_BYTES => {
                successor(cut).unwrap_or_else(|| vec![0xff; BOUND_BYTES])
            }
            _ => high,
        };
        let low = &low[..low.len().min(BOUND_BYTES)];
        Some(Self { low: low.into(), high: high.into(), exact })
    }

    /// Whether the greatest value is not known.
    pub fn is_open(&self) -> bool {
        !self.exact && self.high.iter().all(|byte| *byte == 0xff)
    }

    /// The least and greatest value, in the type of the kind, where they are exact.
    pub fn values(&self, kind: Kind) -> Option<(Value, Value)> {
        if !self.exact {
            return None;
        }
        Self::decode(kind, &self.low).zip(Self::decode(kind, &self.high))
    }

    /// The value of a bound's bytes, in the type of the kind.
    pub fn decode(kind: Kind, bytes: &[u8]) -> Option<Value> {
        spec(kind).decode(bytes).ok()?.pop()
    }

    /// Whether a value between the bounds may answer `predicate` with yes. Constants are in the type of the kind
    /// ([`physical`]); of another type they say nothing, and the answer is yes.
    pub fn may_match(&self, kind: Kind, predicate: &Predicate<'_>) -> bool {
        let at_most = |constant: ValueRef<'_>, or_equal: bool| self.low_is_below(kind, constant, or_equal);
        let at_least = |constant: ValueRef<'_>, or_equal: bool| self.high_is_above(kind, constant, or_equal);
        match *predicate {
            Predicate::Compare(_, ValueRef::Null) => false,
            Predicate::Compare(Compare::Equal, constant) => {
                at_most(constant, true) && at_least(constant, true)
            }
            Predicate::Compare(Compare::NotEqual, constant) => {
                !(self.exact && self.low == self.high && self.is_equal(kind, constant))
            }
            Predicate::Compare(Compare::Less, constant) => at_most(constant, false),
            Predicate::Compare(Compare::LessEqual, constant) => at_most(constant, true),
            Predicate::Compare(Compare::Greater, constant) => at_least(constant, false),
            Predicate::Compare(Compare::GreaterEqual, constant) => at_least(constant, true),
            Predicate::Between(low, high) => at_least(low, true) && at_most(high, true),
            Predicate::In(list) => {
                list.iter().any(|&constant| at_most(constant, true) && at_least(constant, true))
            }
            Predicate::Prefix(prefix) if kind == Kind::Bytes => {
                let begins = &self.low[..self.low.len().min(prefix.len())];
                begins <= prefix && at_least(ValueRef::Binary(prefix), true)
            }
            Predicate::Like([begin, ..]) if kind == Kind::Bytes => {
                self.may_match(kind, &Predicate::Prefix(begin))
            }
            Predicate::Among(set) => self.has_among(kind, set),
            Predicate::IsNull => false,
            _ => true,
        }
    }

    /// Whether an integer of a set lies between the bounds.
    fn has_among(&self, kind: Kind, set: &KeySet) -> bool {
        let whole =
            |bytes: &[u8]| Self::decode(kind, bytes).and_then(|value| i64::try_from(exact(&value)?).ok());
        match (self.is_open(), whole(&self.low), whole(&self.high)) {
            (false, Some(low), Some(high)) => set.has_between(low, high),
            _ => true,
        }
    }

    fn is_equal(&self, kind: Kind, constant: ValueRef<'_>) -> bool {
        key(kind, constant).is_some_and(|bytes| *bytes == *self.low)
    }

    fn low_is_below(&self, kind: Kind, constant: ValueRef<'_>, or_equal: bool) -> bool {
        if constant == ValueRef::Null {
            return false;
        }
        key(kind, constant).is_none_or(|bytes| *self.low < *bytes || or_equal && *self.low == *bytes)
    }

    fn high_is_above(&self, kind: Kind, constant: ValueRef<'_>, or_equal: bool) -> bool {
        if constant == ValueRef::Null {
            return false;
        }
        self.is_open()
            || key(kind, constant).is_none_or(|bytes| *self.high > *bytes || or_equal && *self.high == *bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Compare::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};

    fn bounds(low: Value, high: Value, kind: Kind) -> Bounds {
        let summary =
            BlockSummary { encoding: None, rows: 2, nulls: 0, min: Some(low), max: Some(high), bytes: 0 };
        Bounds::of(kind, &summary).unwrap()
    }

    fn compare(bounds: &Bounds, kind: Kind, compare: Compare, constant: ValueRef<'_>) -> bool {
        bounds.may_match(kind, &Predicate::Compare(compare, constant))
    }

    /// Keeps away: blocks that are skipped although they have rows, and none ever skipped.
    #[test]
    fn numbers() {
        let bounds = bounds((-5i32).into(), 9i32.into(), Kind::I32);
        assert_eq!(bounds.values(Kind::I32), Some(((-5i32).into(), 9i32.into())));
        let answers = |constant: i32| {
            [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual]
                .map(|how| compare(&bounds, Kind::I32, how, constant.into()))
        };
        assert_eq!(answers(-6), [false, true, false, false, true, true]);
        assert_eq!(answers(-5), [true, true, false, true, true, true]);
        assert_eq!(answers(9), [true, true, true, true, false, true]);
        assert_eq!(answers(10), [false, true, true, true, false, false]);
        assert!(!bounds.may_match(Kind::I32, &Predicate::Between(10i32.into(), 20i32.into())));
        assert!(bounds.may_match(Kind::I32, &Predicate::Between(9i32.into(), 20i32.into())));
        assert!(!bounds.may_match(Kind::I32, &Predicate::In(&[10i32.into(), ValueRef::Null])));
        assert!(bounds.may_match(Kind::I32, &Predicate::In(&[10i32.into(), 0i32.into()])));
        assert!(!compare(&bounds, Kind::I32, Equal, ValueRef::Null));
        // Another type of number says nothing.
        assert!(compare(&bounds, Kind::I32, Equal, 1000i64.into()));
        assert!(!bounds.may_match(Kind::I32, &Predicate::IsNull));
    }

    /// Keeps away: shortened bounds that exclude what they were shortened from.
    #[test]
    fn text() {
        let long = |byte: u8, last: u8| Value::Binary([vec![byte; 40], vec![last]].concat());
        let cut = bounds(long(b'b', 1), long(b'd', 9), Kind::Bytes);
        assert!(!cut.exact && cut.values(Kind::Bytes).is_none());
        assert_eq!((cut.low.len(), cut.high.len()), (BOUND_BYTES, BOUND_BYTES));
        for text in [long(b'b', 1), long(b'c', 0), long(b'd', 9)] {
            assert!(compare(&cut, Kind::Bytes, Equal, text.as_ref()), "{text:?}");
        }
        assert!(!compare(&cut, Kind::Bytes, Equal, ValueRef::Binary(b"a")));
        assert!(!compare(&cut, Kind::Bytes, Equal, ValueRef::Binary(b"e")));
        assert!(cut.may_match(Kind::Bytes, &Predicate::Prefix(b"dd")));
        assert!(cut.may_match(Kind::Bytes, &Predicate::Prefix(b"bbb")));
        assert!(!cut.may_match(Kind::Bytes, &Predicate::Prefix(b"a")));
        assert!(!cut.may_match(Kind::Bytes, &Predicate::Prefix(b"e")));
        let open = bounds(long(b'b', 1), long(0xff, 9), Kind::Bytes);
        assert!(compare(&open, Kind::Bytes, Greater, long(0xff, 200).as_ref()));
    }
}
