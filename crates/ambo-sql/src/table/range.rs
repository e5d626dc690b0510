//! Between what exact numbers lie, and so what is computed of them.

use ambo::{Datum, Type};

use crate::{numbers::Operation, value::unscaled};

/// All numbers from `low` to `high`, in units of ten to the power of minus `scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub low: i128,
    pub high: i128,
    pub scale: i8,
}

impl Range {
    /// All values of a type of exact numbers.
    pub(super) fn of_type(ty: Type) -> Option<Self> {
        let (low, high, scale) = match ty {
            Type::I8 => (i8::MIN.into(), i8::MAX.into(), 0),
            Type::I16 => (i16::MIN.into(), i16::MAX.into(), 0),
            Type::I32 => (i32::MIN.into(), i32::MAX.into(), 0),
            Type::I64 => (i64::MIN.into(), i64::MAX.into(), 0),
            Type::U8 => (0, u8::MAX.into(), 0),
            Type::U16 => (0, u16::MAX.into(), 0),
            Type::U32 => (0, u32::MAX.into(), 0),
            Type::U64 => (0, u64::MAX.into(), 0),
            Type::Decimal128 { precision, scale } => {
                let high = 10i128.checked_pow(precision.into())? - 1;
                (-high, high, scale)
            }
            _ => return None,
        };
        Some(Self { low, high, scale })
    }

    /// One value.
    pub(super) fn of_value(value: &Datum) -> Option<Self> {
        let (value, scale) = unscaled(value)?;
        Some(Self { low: value, high: value, scale })
    }

    fn rescaled(self, scale: i8) -> Option<Self> {
        let factor = 10i128.checked_pow(u32::try_from(scale.checked_sub(self.scale)?).ok()?)?;
        Some(Self { low: self.low.checked_mul(factor)?, high: self.high.checked_mul(factor)?, scale })
    }

    /// Between what the results of an operation lie; `None` if that may be beyond 128 bits.
    pub(super) fn combined(self, operation: Operation, other: Self) -> Option<Self> {
        if operation == Operation::Multiply {
            let product = |a: i128, b: i128| a.checked_mul(b);
            let corners = [
                product(self.low, other.low)?,
                product(self.low, other.high)?,
                product(self.high, other.low)?,
                product(self.high, other.high)?,
            ];
            let (low, high) = (*corners.iter().min()?, *corners.iter().max()?);
            return Some(Self { low, high, scale: self.scale.checked_add(other.scale)? });
        }
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.rescaled(scale)?, other.rescaled(scale)?);
        let (low, high) = match operation {
            Operation::Add => (a.low.checked_add(b.low)?, a.high.checked_add(b.high)?),
            Operation::Subtract => (a.low.checked_sub(b.high)?, a.high.checked_sub(b.low)?),
            _ => return None,
        };
        Some(Self { low, high, scale })
    }

    /// All numbers of both, and those between them.
    pub(super) fn hull(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.rescaled(scale)?, other.rescaled(scale)?);
        Some(Self { low: a.low.min(b.low), high: a.high.max(b.high), scale })
    }

    /// Whether a type of exact numbers holds them all.
    pub(super) fn fits(self, ty: Type) -> bool {
        let holds = || {
            let all = Self::of_type(ty)?;
            let own = self.rescaled(all.scale)?;
            Some(all.low <= own.low && own.high <= all.high)
        };
        holds() == Some(true)
    }

    /// Whether the sum of so many of them has 38 digits at most.
    pub(super) fn can_be_summed(self, rows: u64) -> bool {
        let most = self.low.unsigned_abs().max(self.high.unsigned_abs());
        most.checked_mul(rows.into()).is_some_and(|sum| sum < 10u128.pow(38))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: aggregates of the storage in which a number leaves its type in silence.
    #[test]
    fn results_lie_between_those_of_the_ends() {
        let of = |low, high, scale| Range { low, high, scale };
        assert_eq!(of(-2, 3, 0).combined(Operation::Multiply, of(-5, 7, 1)), Some(of(-15, 21, 1)));
        assert_eq!(of(-2, 3, 0).combined(Operation::Subtract, of(-5, 7, 1)), Some(of(-27, 35, 1)));
        let whole = Range::of_type(Type::I64).unwrap();
        let one = Range::of_value(&Datum::I64(1)).unwrap();
        assert!(whole.fits(Type::I64) && !whole.combined(Operation::Add, one).unwrap().fits(Type::I64));
        assert!(
            whole.can_be_summed(1 << 40)
                && !Range::of_type(Type::decimal(38, 2).unwrap()).unwrap().can_be_summed(2)
        );
    }
}
