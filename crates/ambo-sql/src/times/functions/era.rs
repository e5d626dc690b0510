//! Days and moments that a format can write: of years before 1 it has no text.

use arrow::{
    array::AsArray,
    datatypes::{DataType, Date32Type},
};
use datafusion::{
    common::{Result, exec_err},
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    },
};

use super::{as_given, micros};
use crate::{
    times::{DAY, sum::has_endless},
    value::null_without_type,
};

/// The first day of year 1.
const FIRST_DAY: i32 = -719_162;

/// A day or a moment of a calendar, and an error for one before year 1.
pub(in crate::times) fn of_our_era(value: Expr) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(OfOurEra { signature }).call(vec![value])
}

/// Whether a format writes years.
pub(in crate::times) fn writes_years(format: &str) -> bool {
    format.split('%').skip(1).any(|field| {
        let letter = field.chars().find(|c| !matches!(c, '-' | '_' | '0'..='9' | '.' | ':' | '#'));
        letter.is_some_and(|letter| "YCyGgDFxcv+".contains(letter))
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfOurEra {
    signature: Signature,
}

impl ScalarUDFImpl for OfOurEra {
    fn name(&self) -> &str {
        "of_our_era"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        let given = &args.args[0];
        let values = given.to_array(args.number_rows)?;
        let is_before = match values.data_type() {
            DataType::Date32 => {
                values.as_primitive::<Date32Type>().iter().flatten().any(|day| day < FIRST_DAY)
            }
            _ => micros(&values).iter().flatten().any(|moment| moment < i64::from(FIRST_DAY) * DAY),
        };
        if has_endless(&values) {
            return exec_err!("infinity cannot be written by a format; CAST(x AS text) writes it");
        }
        if is_before {
            return exec_err!(
                "years before 1 cannot be written by a format; CAST(x AS text) writes them with BC"
            );
        }
        as_given(values, given)
    }
}
