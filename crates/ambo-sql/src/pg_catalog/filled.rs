//! `pg_filled(list)`: the list, and an empty one in the place of NULL: what `ARRAY (SELECT …)` is where there are no rows.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, ListArray},
    buffer::OffsetBuffer,
    datatypes::DataType,
};
use datafusion::{
    common::{Result, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility},
};

use crate::value::returned;

pub(super) const NAME: &str = "pg_filled";

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(Filled { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Filled {
    signature: Signature,
}

impl ScalarUDFImpl for Filled {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match &types[0] {
            list @ DataType::List(_) => Ok(list.clone()),
            other => plan_err!("{NAME}() takes a list, not {other}"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = matches!(args.args[0], ColumnarValue::Scalar(_));
        let array = args.args[0].to_array(if is_one { 1 } else { args.number_rows })?;
        let lists = array.as_list::<i32>();
        if lists.null_count() == 0 {
            return returned(array.clone(), is_one);
        }
        let lengths = (0..lists.len()).map(|row| if lists.is_null(row) { 0 } else { lists.value(row).len() });
        let offsets = OffsetBuffer::from_lengths(lengths);
        let values: Vec<_> =
            (0..lists.len()).filter(|row| lists.is_valid(*row)).map(|row| lists.value(row)).collect();
        let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
        let values = match values.is_empty() {
            true => lists.values().slice(0, 0),
            false => arrow::compute::concat(&values)?,
        };
        let DataType::List(item) = lists.data_type() else { return plan_err!("{NAME}() takes a list") };
        returned(Arc::new(ListArray::try_new(item.clone(), offsets, values, None)?), is_one)
    }
}
