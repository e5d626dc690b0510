//! `_pg_expandarray(list)` of PostgreSQL's `information_schema`: rows of the items of a list with their places. It is `unnest` of a list of
//! pairs, which are made here.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, ListArray, StructArray},
    compute::cast,
    datatypes::{DataType, Field, Fields, Int64Type},
};
use datafusion::{
    common::Result,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility},
};

use crate::value::returned;

/// Makes the list of pairs.
pub(super) const NAME: &str = "pg_expandarray";

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(Expand { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Expand {
    signature: Signature,
}

fn fields() -> Fields {
    vec![Field::new("x", DataType::Int64, true), Field::new("n", DataType::Int32, true)].into()
}

fn item() -> Arc<Field> {
    Arc::new(Field::new_list_field(DataType::Struct(fields()), true))
}

impl ScalarUDFImpl for Expand {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(item()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = matches!(args.args[0], ColumnarValue::Scalar(_));
        let lists = args.args[0].to_array(if is_one { 1 } else { args.number_rows })?;
        let lists = cast(&lists, &DataType::List(Arc::new(Field::new_list_field(DataType::Int64, true))))?;
        let lists = lists.as_list::<i32>();
        let (mut values, mut places, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for list in lists.iter() {
            let items =
                list.iter().flat_map(|list| list.as_primitive::<Int64Type>().iter().collect::<Vec<_>>());
            let before = values.len();
            values.extend(items);
            let count = values.len() - before;
            places.extend((1..=count).map(|nth| nth as i32));
            lengths.push(count);
        }
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from(values)), Arc::new(Int32Array::from(places))];
        let pairs = StructArray::try_new(fields(), columns, None)?;
        let offsets = arrow::buffer::OffsetBuffer::from_lengths(lengths);
        let made = ListArray::try_new(item(), offsets, Arc::new(pairs), lists.nulls().cloned())?;
        returned(Arc::new(made), is_one)
    }
}
