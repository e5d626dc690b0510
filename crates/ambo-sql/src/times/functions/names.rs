//! `name_in_moment(moment, format)`: what a format says of a moment, as the day of its week; NULL of one without end. `dayname` and
//! `monthname` are made of it.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::{DataType, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, plan_err},
    functions::datetime,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::{times::MOMENT, value::returned};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct NameInMoment(Signature);

impl NameInMoment {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for NameInMoment {
    fn name(&self) -> &str {
        "name_in_moment"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [_, _] => Ok(vec![MOMENT, DataType::Utf8]),
            _ => plan_err!("{} has a moment and a format", self.name()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = matches!(args.args[0], ColumnarValue::Scalar(_));
        let moments = args.args[0].to_array(if is_one { 1 } else { args.number_rows })?;
        let moments = moments.as_primitive::<TimestampMicrosecondType>();
        let with_end = moments
            .unary_opt::<_, TimestampMicrosecondType>(|moment| (!moment.is_endless()).then_some(moment));
        let with_end: ArrayRef = Arc::new(with_end.with_data_type(moments.data_type().clone()));
        args.args[0] = returned(with_end, is_one)?;
        datetime::to_char().invoke_with_args(args)
    }
}
