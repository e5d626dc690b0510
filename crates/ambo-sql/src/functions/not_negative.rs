//! Numbers that are not negative, as those of `uhugeint`.

use arrow::{
    array::{AsArray, BooleanArray},
    compute::nullif,
    datatypes::{DataType, Decimal128Type},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::value::returned;

/// A decimal as it is. A negative one is an error, or NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct NotNegative {
    is_try: bool,
    signature: Signature,
}

impl NotNegative {
    pub(super) fn all() -> [Self; 2] {
        [false, true].map(|is_try| Self { is_try, signature: Signature::any(1, Volatility::Immutable) })
    }
}

impl ScalarUDFImpl for NotNegative {
    fn name(&self) -> &str {
        if self.is_try { "try_not_negative" } else { "not_negative" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match &types[0] {
            ty @ DataType::Decimal128(_, 0) => Ok(ty.clone()),
            ty => plan_err!("{} takes whole decimals, not {ty}", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = &args.args[0];
        let is_one = matches!(of, ColumnarValue::Scalar(_));
        let numbers = of.to_array(if is_one { 1 } else { args.number_rows })?;
        let decimals = numbers.as_primitive::<Decimal128Type>();
        match decimals.iter().flatten().find(|number| *number < 0) {
            None => Ok(of.clone()),
            Some(number) if !self.is_try => exec_err!("{number} is out of range for uhugeint"),
            Some(_) => {
                let are: BooleanArray = decimals.iter().map(|number| Some(number? < 0)).collect();
                returned(nullif(&numbers, &are)?, is_one)
            }
        }
    }
}
