//! Whole numbers to other bases, and their bits.

use arrow::{
    array::{Array, ArrayRef, AsArray, Decimal128Array, Int64Array, LargeBinaryArray},
    datatypes::{
        DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type,
        UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};
use std::sync::Arc;

use super::plain::{
    Form, Given,
    Kind::{Text, Whole},
    Made, Named,
};
use crate::logical::{BIT, bits_of};

pub(super) static ALL: [Named; 2] = [
    Named {
        names: &["to_base"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Whole, Whole], gives: Text, make: to_base },
            Form { takes: &[Whole, Whole, Whole], gives: Text, make: to_base },
        ],
    },
    Named {
        names: &["conv"],
        is_volatile: false,
        forms: &[Form { takes: &[Text, Whole, Whole], gives: Text, make: conv }],
    },
];

/// Whole numbers that no integer has the digits for.
const WIDE: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// The greatest of them.
const DIGITS_MAX: i128 = 10i128.pow(DECIMAL128_MAX_PRECISION as u32) - 1;

/// Longer texts are a mistake that would take the memory.
const LENGTH_MAX: i64 = 64;

/// The digits of a number to a base, at least as many as are asked for.
fn to_base(of: &[Given<'_>]) -> Result<Made> {
    let (number, base) = (of[0].whole(), of[1].whole());
    let length = of.get(2).map_or(0, Given::whole);
    if number < 0 {
        return exec_err!("to_base: {number} is negative");
    }
    if !(2..=36).contains(&base) {
        return exec_err!("to_base: the base {base} is not between 2 and 36");
    }
    if !(0..=LENGTH_MAX).contains(&length) {
        return exec_err!("to_base: a length of {length} is not between 0 and {LENGTH_MAX}");
    }
    let text = digits(number as u64, base as u64);
    Ok(format!("{text:0>width$}", width = length as usize).into())
}

fn digits(mut number: u64, base: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = char::from_digit((number % base) as u32, base as u32).unwrap_or('0');
        digits.push(digit.to_ascii_uppercase());
        number /= base;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// MySQL's: digits of one base as digits of another; what is no digit ends the number.
fn conv(of: &[Given<'_>]) -> Result<Made> {
    let (text, from, to) = (of[0].text().trim(), of[1].whole(), of[2].whole());
    if !(2..=36).contains(&from.abs()) || !(2..=36).contains(&to.abs()) {
        return Ok(Made::Nothing);
    }
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let mut number: u64 = 0;
    for digit in text.chars().map_while(|c| c.to_digit(from.unsigned_abs() as u32)) {
        number = number.saturating_mul(from.unsigned_abs()).saturating_add(digit.into());
    }
    let number = if is_negative { number.wrapping_neg() } else { number };
    let signed = number as i64;
    Ok(match to < 0 && signed < 0 {
        true => format!("-{}", digits(signed.unsigned_abs(), to.unsigned_abs())),
        false => digits(number, to.unsigned_abs()),
    }
    .into())
}

/// `bit_count(x)`: how many bits of a whole number are 1; of a negative one among those of its type. `bit_not(x)`, which is `~x`: those
/// that are 0 are 1, and those that are 1 are 0.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Bits {
    counts: bool,
    signature: Signature,
}

impl Bits {
    pub(super) fn all() -> [Self; 2] {
        [true, false].map(|counts| Self { counts, signature: Signature::user_defined(Volatility::Immutable) })
    }
}

impl Bits {
    fn of_bits(&self, of: &ArrayRef) -> Result<ArrayRef> {
        let bits = of.as_binary::<i64>().iter().map(|of| of.map(bits_of).transpose());
        Ok(match self.counts {
            true => {
                let ones = |of: ambo::Bits| of.bits().iter().filter(|bit| **bit).count() as i64;
                Arc::new(bits.map(|of| Ok(of?.map(ones))).collect::<Result<Int64Array>>()?)
            }
            false => {
                let turned = |of: ambo::Bits| {
                    ambo::Bits::from(of.bits().iter().map(|bit| !bit).collect::<Vec<_>>()).encode()
                };
                Arc::new(bits.map(|of| Ok(of?.map(turned))).collect::<Result<LargeBinaryArray>>()?)
            }
        })
    }
}

impl ScalarUDFImpl for Bits {
    fn name(&self) -> &str {
        if self.counts { "bit_count" } else { "bit_not" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [ty] if ty.is_integer() || *ty == BIT => Ok(vec![ty.clone()]),
            [DataType::Decimal128(_, 0)] if !self.counts => Ok(vec![WIDE]),
            [DataType::Null] => Ok(vec![DataType::Int64]),
            _ if self.counts => plan_err!("bit_count has one whole number, or bits"),
            _ => plan_err!("~ stands before a whole number, or bits"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(if self.counts { DataType::Int64 } else { types[0].clone() })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = args.args[0].to_array(args.number_rows)?;
        if *of.data_type() == BIT {
            return Ok(ColumnarValue::Array(self.of_bits(&of)?));
        }
        macro_rules! bits {
            ($ty:ty) => {
                match self.counts {
                    true => Arc::new(
                        of.as_primitive::<$ty>().unary::<_, Int64Type>(|number| number.count_ones().into()),
                    ) as ArrayRef,
                    false => Arc::new(of.as_primitive::<$ty>().unary::<_, $ty>(|number| !number)) as ArrayRef,
                }
            };
        }
        Ok(ColumnarValue::Array(match of.data_type() {
            DataType::Int8 => bits!(Int8Type),
            DataType::Int16 => bits!(Int16Type),
            DataType::Int32 => bits!(Int32Type),
            DataType::Int64 => bits!(Int64Type),
            DataType::UInt8 => bits!(UInt8Type),
            DataType::UInt16 => bits!(UInt16Type),
            DataType::UInt32 => bits!(UInt32Type),
            DataType::UInt64 => bits!(UInt64Type),
            // The greatest number of so many digits has no such other one.
            DataType::Decimal128(..) if !self.counts => {
                let not = |number: i128| match number {
                    DIGITS_MAX => exec_err!("~{number} is out of range"),
                    number => Ok(!number),
                };
                let numbers = of.as_primitive::<Decimal128Type>().iter();
                let numbers = numbers.map(|number| number.map(not).transpose());
                let numbers = numbers.collect::<Result<Decimal128Array>>()?;
                Arc::new(numbers.with_data_type(WIDE))
            }
            other => return exec_err!("{}: {other} is no whole number", self.name()),
        }))
    }
}
