//! Constants in the type of a column: what a column is compared with is a value of its own type, so that evaluators need no other.

use ambo_codec::{Type, Value};

use super::{
    Compare,
    numbers::{Number, compare_numbers},
};

/// What a comparison of a column with a constant comes to, where the column is not NULL.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Fitted {
    Compare(Compare, Value),
    Always,
    Never,
}

/// A comparison with a constant, in the column's type. REQUIRES: they can be compared; the constant is not NULL.
pub(super) fn fit(ty: Type, by: Compare, constant: &Value) -> Fitted {
    if let Ok(fitting) = constant.clone().fit(ty) {
        return Fitted::Compare(by, fitting);
    }
    let Some(number) = Number::of(constant.as_ref()) else { return Fitted::Never };
    // No value of the column is equal to the constant: those that are less are at most the greatest of them.
    match (by, floor(ty, number)) {
        (Compare::Equal, _) => Fitted::Never,
        (Compare::NotEqual, _) => Fitted::Always,
        (Compare::Less | Compare::LessEqual, Some(floor)) => Fitted::Compare(Compare::LessEqual, floor),
        (Compare::Less | Compare::LessEqual, None) => Fitted::Never,
        (Compare::Greater | Compare::GreaterEqual, Some(floor)) => Fitted::Compare(Compare::Greater, floor),
        (Compare::Greater | Compare::GreaterEqual, None) => Fitted::Always,
    }
}

/// The greatest value of a type that is not greater than a number; none if all are greater.
fn floor(ty: Type, number: Number) -> Option<Value> {
    macro_rules! integer {
        ($($kind:ident $native:ty),*) => {
            match ty {
                $(Type::$kind => return whole(number, <$native>::MIN.into(), <$native>::MAX.into())
                    .map(|value| Value::$kind(value as $native)),)*
                _ => {}
            }
        };
    }
    integer!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64);
    match ty {
        Type::F32 => {
            let near = match number {
                Number::Integer(integer) => integer as f32,
                Number::Float(float) => float as f32,
                Number::Decimal(..) => return None,
            };
            let is_above = compare_numbers(Number::Float(near.into()), number).is_gt();
            Some(Value::F32(if is_above { near.next_down() } else { near }))
        }
        Type::F64 => {
            let Number::Integer(integer) = number else { return None };
            let near = integer as f64;
            let is_above = compare_numbers(Number::Float(near), number).is_gt();
            Some(Value::F64(if is_above { near.next_down() } else { near }))
        }
        Type::Decimal128 { precision, scale } => decimal(number, precision, scale),
        _ => None,
    }
}

/// The greatest integer that is not greater than a number, between bounds; none below them.
fn whole(number: Number, least: i128, most: i128) -> Option<i128> {
    let whole = match number {
        Number::Integer(integer) => integer,
        // NaN is above all.
        Number::Float(float) if float.is_nan() => most,
        // Floats beyond the integers become the last of them.
        Number::Float(float) => float.floor() as i128,
        Number::Decimal(unscaled, scale) => rescaled(unscaled, scale, 0),
    };
    (whole >= least).then_some(whole.min(most))
}

fn decimal(number: Number, precision: u8, scale: i8) -> Option<Value> {
    let unscaled = match number {
        Number::Integer(integer) => rescaled(integer, 0, scale),
        Number::Decimal(unscaled, from) => rescaled(unscaled, from, scale),
        Number::Float(_) => return None,
    };
    let most = 10i128.checked_pow(precision.into()).map_or(i128::MAX, |power| power - 1);
    (unscaled >= -most).then(|| Value::Decimal128 { unscaled: unscaled.min(most), scale })
}

/// The same number in units of another scale, cut downwards; one beyond 128 bits is the last of them.
fn rescaled(unscaled: i128, from: i8, to: i8) -> i128 {
    let shift = i32::from(to) - i32::from(from);
    let beyond = if unscaled < 0 { i128::MIN } else { i128::MAX };
    match (10i128.checked_pow(shift.unsigned_abs()), shift >= 0) {
        _ if unscaled == 0 => 0,
        (Some(factor), true) => unscaled.checked_mul(factor).unwrap_or(beyond),
        (Some(factor), false) => unscaled.div_euclid(factor),
        (None, true) => beyond,
        (None, false) => {
            if unscaled < 0 {
                -1
            } else {
                0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_beyond_a_type_are_folded() {
        let less = |ty, value: Value| fit(ty, Compare::Less, &value);
        assert_eq!(less(Type::U8, Value::I32(300)), Fitted::Compare(Compare::LessEqual, Value::U8(255)));
        assert_eq!(less(Type::U8, Value::I32(-1)), Fitted::Never);
        assert_eq!(less(Type::I16, Value::F64(2.5)), Fitted::Compare(Compare::LessEqual, Value::I16(2)));
        assert_eq!(less(Type::I16, Value::F64(-2.5)), Fitted::Compare(Compare::LessEqual, Value::I16(-3)));
        assert_eq!(fit(Type::U64, Compare::Greater, &Value::I8(-1)), Fitted::Always);
        assert_eq!(fit(Type::U64, Compare::Equal, &Value::F64(0.5)), Fitted::Never);
        assert_eq!(
            fit(Type::I64, Compare::GreaterEqual, &Value::F64(f64::NAN)),
            Fitted::Compare(Compare::Greater, Value::I64(i64::MAX))
        );
        let tenth = fit(Type::F32, Compare::GreaterEqual, &Value::F64(0.1));
        assert_eq!(tenth, Fitted::Compare(Compare::Greater, Value::F32(0.1f32.next_down())));
        let cents = Type::decimal(5, 2).unwrap();
        let third = Value::Decimal128 { unscaled: -3333, scale: 4 };
        assert_eq!(
            fit(cents, Compare::Less, &third),
            Fitted::Compare(Compare::LessEqual, Value::Decimal128 { unscaled: -34, scale: 2 })
        );
    }
}
