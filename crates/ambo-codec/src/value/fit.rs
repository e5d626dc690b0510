//! Conversions between types that lose nothing, so that `7` may be put into any numeric column.

use super::{Value, ValueRef, fits_precision};
use crate::{Error, Result, Type};

impl<'a> ValueRef<'a> {
    /// This value as one of type `ty`, if nothing is lost: NULL stays NULL, integers become any numeric type
    /// that holds them exactly, floats become the other width or an integer when they are exactly that, text
    /// becomes bytes. Anything else is [`Error::Invalid`].
    pub fn fit(self, ty: Type) -> Result<Self> {
        if self.is_null() || self.is_of(ty) {
            return Ok(self);
        }
        let fitted = match (self, ty) {
            (Self::Utf8(text), Type::Binary) => Some(ValueRef::Binary(text.as_bytes())),
            // Clocks without a zone show UTC.
            (Self::Timestamp(micros), Type::TimestampTz) => Some(ValueRef::TimestampTz(micros)),
            (Self::TimestampTz(micros), Type::Timestamp) => Some(ValueRef::Timestamp(micros)),
            (Self::F32(value), _) => fit_float(value.into(), ty),
            (Self::F64(value), _) => fit_float(value, ty),
            (Self::Decimal128 { unscaled, scale }, _) => fit_decimal(unscaled, scale, ty),
            _ => self.as_integer().and_then(|integer| fit_decimal(integer, 0, ty)),
        };
        fitted.ok_or_else(|| Error::invalid(format!("{self} does not fit a column of type {ty}")))
    }
}

impl Value {
    /// The same as [`ValueRef::fit`].
    pub fn fit(self, ty: Type) -> Result<Self> {
        if self.as_ref().is_of(ty) {
            return Ok(self);
        }
        Ok(self.as_ref().fit(ty)?.to_value())
    }
}

fn fit_float(value: f64, ty: Type) -> Option<ValueRef<'static>> {
    match ty {
        Type::F64 => Some(ValueRef::F64(value)),
        Type::F32 => {
            let narrow = value as f32;
            (f64::from(narrow) == value || value.is_nan()).then_some(ValueRef::F32(narrow))
        }
        _ => {
            // Below 2^126 in magnitude the cast is exact for a float that is an integer, and back again.
            let integral = value.trunc() == value && value.abs() < 8e37;
            integral.then(|| fit_decimal(value as i128, 0, ty)).flatten()
        }
    }
}

/// The number `unscaled` × 10^-`scale` as a value of type `ty`.
fn fit_decimal(unscaled: i128, scale: i8, ty: Type) -> Option<ValueRef<'static>> {
    if let Type::Decimal128 { precision, scale: wanted } = ty {
        let unscaled = rescale(unscaled, scale, wanted)?;
        return fits_precision(unscaled, precision)
            .then_some(ValueRef::Decimal128 { unscaled, scale: wanted });
    }
    let integer = rescale(unscaled, scale, 0)?;
    match ty {
        Type::I8 => integer.try_into().ok().map(ValueRef::I8),
        Type::I16 => integer.try_into().ok().map(ValueRef::I16),
        Type::I32 => integer.try_into().ok().map(ValueRef::I32),
        Type::I64 => integer.try_into().ok().map(ValueRef::I64),
        Type::U8 => integer.try_into().ok().map(ValueRef::U8),
        Type::U16 => integer.try_into().ok().map(ValueRef::U16),
        Type::U32 => integer.try_into().ok().map(ValueRef::U32),
        Type::U64 => integer.try_into().ok().map(ValueRef::U64),
        Type::F32 => is_exact(integer, integer as f32 as i128).then_some(ValueRef::F32(integer as f32)),
        Type::F64 => is_exact(integer, integer as f64 as i128).then_some(ValueRef::F64(integer as f64)),
        _ => None,
    }
}

/// Whether an integer came back from a float unchanged; near the ends of the range the cast saturates, and
/// proves nothing.
fn is_exact(integer: i128, back: i128) -> bool {
    integer == back && integer.unsigned_abs() < 1 << 126
}

/// The same number with another scale; `None` when digits would be lost.
fn rescale(unscaled: i128, from: i8, to: i8) -> Option<i128> {
    let shift = i32::from(to) - i32::from(from);
    let factor = 10i128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 {
        return unscaled.checked_mul(factor);
    }
    (unscaled % factor == 0).then_some(unscaled / factor)
}
