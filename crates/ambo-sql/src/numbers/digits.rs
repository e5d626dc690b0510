//! Decimals in 256 bits: where results fit although what they are computed from does not.

use arrow::datatypes::{Decimal256Type, DecimalType, i256};

/// Ten to a power; `None` beyond 76.
pub(super) fn power(digits: u32) -> Option<i256> {
    (digits <= 76).then(|| i256::from_i128(10).wrapping_pow(digits))
}

/// A quotient rounded half away from zero; `None` of a division by zero.
pub(super) fn rounded_quotient(number: i256, by: i256) -> Option<i256> {
    let quotient = number.checked_div(by)?;
    let rest = number.wrapping_sub(quotient.wrapping_mul(by));
    // Twice the rest is at least the divisor: without an overflow.
    let (rest_size, by_size) = (rest.wrapping_abs(), by.wrapping_abs());
    if rest_size < by_size.wrapping_sub(rest_size) {
        return Some(quotient);
    }
    let is_negative = (number < i256::ZERO) != (by < i256::ZERO);
    let step = if is_negative { i256::MINUS_ONE } else { i256::ONE };
    Some(quotient.wrapping_add(step))
}

/// `number / by` of decimals with these scales, rounded to a scale and no more digits than 38. `None` if it does not fit, or of a
/// division by zero.
pub(crate) fn divided(number: i256, scale: i8, by: i256, by_scale: i8, to: i8) -> Option<i128> {
    let digits = i32::from(to) - i32::from(scale) + i32::from(by_scale);
    let factor = power(digits.unsigned_abs())?;
    let (number, by) = match digits >= 0 {
        true => (number.checked_mul(factor)?, by),
        false => (number, by.checked_mul(factor)?),
    };
    narrowed(rounded_quotient(number, by)?)
        .filter(|unscaled| super::has_at_most(*unscaled, super::DIGITS_MAX))
}

/// The same number in 128 bits, if they hold it.
pub(super) fn narrowed(number: i256) -> Option<i128> {
    let narrow = number.as_i128();
    (i256::from_i128(narrow) == number).then_some(narrow)
}

/// A number in units of another scale, rounded half away from zero.
pub(super) fn rescaled(number: i256, from: i8, to: i8) -> Option<i256> {
    let digits = i32::from(to) - i32::from(from);
    let factor = power(digits.unsigned_abs())?;
    match digits >= 0 {
        true => number.checked_mul(factor),
        false => rounded_quotient(number, factor),
    }
}

/// The text of a decimal.
pub(super) fn shown(number: i256, scale: i8) -> String {
    Decimal256Type::format_decimal(number, Decimal256Type::MAX_PRECISION, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: quotients that are cut, or rounded to even.
    #[test]
    fn quotients_are_rounded_half_away_from_zero() {
        let quotient =
            |number, by| rounded_quotient(i256::from_i128(number), i256::from_i128(by)).and_then(narrowed);
        assert_eq!([5, -5, 4, 7].map(|number| quotient(number, 2)), [Some(3), Some(-3), Some(2), Some(4)]);
        assert_eq!([1, 2, -2].map(|number| quotient(number, -3)), [Some(0), Some(-1), Some(1)]);
        assert_eq!(quotient(1, 0), None);
        assert_eq!(divided(i256::from_i128(200), 2, i256::from_i128(3), 0, 6), Some(666_667));
    }
}
