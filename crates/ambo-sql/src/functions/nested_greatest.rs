//! `greatest` and `least` of intervals, by their lengths, and of lists, structs and maps: NULL within them is greater than all else, as
//! ORDER BY has it; arguments that are NULL do not count.
//!
//! The planner's take NULL within them for not comparable, and keep what they have.

use arrow::{
    array::{Array, ArrayRef, make_comparator},
    compute::interleave,
    datatypes::DataType,
};
use datafusion::{
    common::{Result, exec_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::nested_order::ORDER;
use crate::times::interval_lengths;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct NestedGreatest {
    is_greatest: bool,
    signature: Signature,
}

impl NestedGreatest {
    pub(crate) fn new(is_greatest: bool) -> Self {
        Self { is_greatest, signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for NestedGreatest {
    fn name(&self) -> &str {
        if self.is_greatest { "nested_greatest" } else { "nested_least" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let values = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<ArrayRef>>>()?;
        let Some(first) = values.first() else { return exec_err!("{} of nothing", self.name()) };
        // Which argument each row takes.
        let mut taken = vec![0; rows];
        for (nth, value) in values.iter().enumerate().skip(1) {
            let mut compared = Vec::with_capacity(nth);
            let by = interval_lengths(value)?;
            for before in &values[..nth] {
                compared.push(make_comparator(&by, &interval_lengths(before)?, ORDER)?);
            }
            for (row, taken) in taken.iter_mut().enumerate().filter(|(row, _)| value.is_valid(*row)) {
                let order = compared[*taken](row, row);
                let is_better = if self.is_greatest { order.is_gt() } else { order.is_lt() };
                if values[*taken].is_null(row) || is_better {
                    *taken = nth;
                }
            }
        }
        if values.len() == 1 {
            return Ok(ColumnarValue::Array(first.clone()));
        }
        let places: Vec<_> = taken.into_iter().enumerate().map(|(row, nth)| (nth, row)).collect();
        let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(interleave(&values, &places)?))
    }
}
