//! Arguments of aggregates that are the same in all rows.

use std::sync::Arc;

use arrow::{
    array::RecordBatch,
    compute::cast,
    datatypes::{DataType, Schema},
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::ColumnarValue,
    physical_expr::PhysicalExpr,
};

/// The value of an expression that is none of rows.
pub(super) fn constant(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<ScalarValue> {
    let nothing = RecordBatch::new_empty(Arc::new(schema.clone()));
    match expr.evaluate(&nothing)? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(_) => {
            plan_err!("an argument is another value in each row, where the aggregate takes one for all rows")
        }
    }
}

/// The same as a whole number; `None` of NULL.
pub(super) fn whole(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Option<i64>> {
    match constant(expr, schema)?.cast_to(&DataType::Int64)? {
        ScalarValue::Int64(number) => Ok(number),
        other => plan_err!("{other} is no whole number"),
    }
}

/// The same as doubles, and whether they are a list.
pub(super) fn doubles(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<(Vec<Option<f64>>, bool)> {
    use arrow::{array::AsArray, datatypes::Float64Type};
    let value = constant(expr, schema)?;
    let is_list = value.data_type().is_list();
    let array = match is_list {
        true => {
            let lists = cast(&value.to_array()?, &DataType::new_list(DataType::Float64, true))?;
            lists.as_list::<i32>().value(0)
        }
        false => cast(&value.to_array()?, &DataType::Float64)?,
    };
    Ok((array.as_primitive::<Float64Type>().iter().collect(), is_list))
}
