//! Numbers in statements: of what type they are beside each other, and that what does not fit is an error.
//!
//! | file | what is wrong without it |
//! |---|---|
//! | `doubles`, `beside` | a double beside a decimal becomes `DECIMAL(30, 15)`: values that differ are equal, large ones and infinity fail (apache/datafusion#14272) |
//! | `checked` | integers and decimals wrap in `+`, `-`, `*`, `<<` (apache/datafusion#16406, #17539) |
//! | `casts` | casts to integers cut, decimals become other doubles than their text |
//! | `texts` | `'1e3'`, `'1.5'` and `'0xFF'` are no integers, `'1e3'` is no decimal |
//! | `sum`, `groups`, `total`, `sliding`, `running` | sums wrap, averages depend on the order of rows |
//! | `whole_quotients` | `90::hugeint // 20::hugeint` is 4.5 |
//! | `round` | `round(x, 1000)` is NaN |
//! | `whole_parts` | `ceil(0.5)` is an error, `trunc` makes doubles of whole numbers, which lose digits |
//! | `abs` | its error has names of other types |
//! | `powers` | `sqrt(-1)` and `power(0, -1)` are errors, where `ln(-1)` and `1e0 / 0` are not |
//!
//! All of them say the same of a value that does not fit: [`out_of_range`].

mod abs;
mod beside;
mod casts;
mod checked;
mod digits;
mod doubles;
mod groups;
mod kernel;
mod mean_times;
mod nested_casts;
mod powers;
mod round;
mod running;
mod sliding;
mod sum;
mod texts;
mod total;
mod whole_parts;
mod whole_quotients;
mod wide_bits;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::{
    common::Result as PlannerResult,
    error::DataFusionError,
    logical_expr::{ReturnFieldArgs, ScalarUDFImpl},
};

pub(crate) use abs::Abs;
pub(crate) use beside::with_floats;
pub(crate) use casts::{CASTS, cast_numbers, fitted_sum};
pub(crate) use checked::{CHECKED, Operation, operation, typed};
pub(crate) use digits::divided;
pub(crate) use doubles::{Doubles, beside_doubles, in_plan as beside_doubles_in_plan};
pub(crate) use nested_casts::{cast as cast_nested, map_of, parts};
pub(crate) use powers::{Power, Root};
pub(crate) use round::Round;
pub(crate) use sum::{Average, Sum, running_totals, sum};
pub(crate) use whole_parts::WholePart;
pub(crate) use whole_quotients::WholeQuotients;
pub(crate) use wide_bits::WideBits;

use crate::{Error, ErrorKind, statement::type_text, value::column_type};

/// The most digits of a decimal.
pub(crate) const DIGITS_MAX: u8 = 38;

/// The error of a result that its type cannot hold.
pub(crate) fn out_of_range(what: impl std::fmt::Display, ty: &DataType) -> Error {
    let ty = column_type(ty).map_or_else(|| ty.to_string().to_lowercase(), type_text);
    Error::new(ErrorKind::Execution, format!("{what} is out of range for {ty}"))
}

/// The same, on its way through the planner's operators.
fn range_error(what: impl std::fmt::Display, ty: &DataType) -> DataFusionError {
    crate::error::outer(out_of_range(what, ty))
}

/// The result of a function, NULL only where an argument is.
fn field(
    function: &dyn ScalarUDFImpl,
    args: &ReturnFieldArgs<'_>,
    may_be_null: bool,
) -> PlannerResult<FieldRef> {
    let types: Vec<_> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
    let is_nullable = may_be_null || args.arg_fields.iter().any(|field| field.is_nullable());
    Ok(Arc::new(Field::new(function.name(), function.return_type(&types)?, is_nullable)))
}

/// Whether a decimal has no more digits than its type.
fn has_at_most(unscaled: i128, digits: u8) -> bool {
    10u128.checked_pow(digits.into()).is_some_and(|limit| unscaled.unsigned_abs() < limit)
}
