//! The order of values, and equality and hashes that agree with it.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{Value, ValueRef};

/// The bits of a double with one zero and one NaN: the form that keys hold.
pub(crate) fn canonical_f64(value: f64) -> u64 {
    if value.is_nan() {
        return f64::NAN.to_bits() & !(1 << 63);
    }
    // -0.0 + 0.0 is 0.0.
    (value + 0.0).to_bits()
}

/// The same for a single float.
pub(crate) fn canonical_f32(value: f32) -> u32 {
    if value.is_nan() {
        return f32::NAN.to_bits() & !(1 << 31);
    }
    (value + 0.0).to_bits()
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    match left.partial_cmp(&right) {
        Some(order) => order,
        None => left.is_nan().cmp(&right.is_nan()),
    }
}

impl ValueRef<'_> {
    /// The order that [`Value`] describes: NULL, then by type, then by value.
    pub fn compare(self, other: ValueRef<'_>) -> Ordering {
        match (self, other) {
            (Self::Bool(left), ValueRef::Bool(right)) => left.cmp(&right),
            (Self::I8(left), ValueRef::I8(right)) => left.cmp(&right),
            (Self::I16(left), ValueRef::I16(right)) => left.cmp(&right),
            (Self::I32(left), ValueRef::I32(right)) => left.cmp(&right),
            (Self::I64(left), ValueRef::I64(right)) => left.cmp(&right),
            (Self::U8(left), ValueRef::U8(right)) => left.cmp(&right),
            (Self::U16(left), ValueRef::U16(right)) => left.cmp(&right),
            (Self::U32(left), ValueRef::U32(right)) => left.cmp(&right),
            (Self::U64(left), ValueRef::U64(right)) => left.cmp(&right),
            (Self::F32(left), ValueRef::F32(right)) => compare_floats(left.into(), right.into()),
            (Self::F64(left), ValueRef::F64(right)) => compare_floats(left, right),
            (
                Self::Decimal128 { unscaled: left, scale: left_scale },
                ValueRef::Decimal128 { unscaled: right, scale: right_scale },
            ) => (left_scale, left).cmp(&(right_scale, right)),
            (Self::Date32(left), ValueRef::Date32(right)) => left.cmp(&right),
            (Self::Time64(left), ValueRef::Time64(right)) => left.cmp(&right),
            (Self::Timestamp(left), ValueRef::Timestamp(right)) => left.cmp(&right),
            (Self::TimestampTz(left), ValueRef::TimestampTz(right)) => left.cmp(&right),
            (Self::Utf8(left), ValueRef::Utf8(right)) => left.cmp(right),
            (Self::Binary(left), ValueRef::Binary(right)) => left.cmp(right),
            _ => self.type_code().cmp(&other.type_code()),
        }
    }
}

impl PartialEq for ValueRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other).is_eq()
    }
}

impl Eq for ValueRef<'_> {}

impl PartialOrd for ValueRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ValueRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(*other)
    }
}

impl Hash for ValueRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.type_code());
        match *self {
            Self::Null => {}
            Self::Bool(value) => value.hash(state),
            Self::I8(value) => value.hash(state),
            Self::I16(value) => value.hash(state),
            Self::I32(value) | Self::Date32(value) => value.hash(state),
            Self::I64(value) | Self::Time64(value) | Self::Timestamp(value) | Self::TimestampTz(value) => {
                value.hash(state);
            }
            Self::U8(value) => value.hash(state),
            Self::U16(value) => value.hash(state),
            Self::U32(value) => value.hash(state),
            Self::U64(value) => value.hash(state),
            Self::F32(value) => canonical_f32(value).hash(state),
            Self::F64(value) => canonical_f64(value).hash(state),
            Self::Decimal128 { unscaled, scale } => (unscaled, scale).hash(state),
            Self::Utf8(value) => value.hash(state),
            Self::Binary(value) => value.hash(state),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().compare(other.as_ref())
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}
