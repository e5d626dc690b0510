//! `list_sum(list)`, `list_avg(list)` and so on: an aggregate over the elements of a list. There is one for each aggregate.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray},
    compute::cast,
    datatypes::{DataType, Field, FieldRef, Schema},
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{
        AggregateUDF, ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        function::AccumulatorArgs, type_coercion::functions::fields_with_udf,
    },
    physical_expr::{
        PhysicalExpr,
        expressions::{Column, Literal},
    },
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ListAggregate {
    name: String,
    of: Arc<AggregateUDF>,
    signature: Signature,
}

impl ListAggregate {
    /// By a name of the aggregate.
    pub(super) fn new(name: &str, of: Arc<AggregateUDF>) -> Self {
        Self { name: format!("list_{name}"), of, signature: Signature::user_defined(Volatility::Immutable) }
    }

    /// The arguments of the aggregate, as it wants them.
    fn arguments(&self, types: &[DataType]) -> Result<Vec<FieldRef>> {
        let Some((list, others)) = types.split_first() else {
            return plan_err!("{} takes a list", self.name);
        };
        let element = match list {
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
                // Of NULL alone there is no sum.
                if field.data_type().is_null() { DataType::Int64 } else { field.data_type().clone() }
            }
            DataType::Null => DataType::Int64,
            _ => return plan_err!("{} takes a list first, not {list}", self.name),
        };
        let field = |(nth, ty): (usize, &DataType)| {
            Arc::new(Field::new(format!("c{nth}"), ty.clone(), true)) as FieldRef
        };
        let given: Vec<_> = std::iter::once(&element).chain(others).enumerate().map(field).collect();
        fields_with_udf(&given, self.of.as_ref())
    }
}

impl ScalarUDFImpl for ListAggregate {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let fields = self.arguments(types)?;
        let mut types: Vec<_> = fields.iter().map(|field| field.data_type().clone()).collect();
        types[0] = DataType::new_list(types[0].clone(), true);
        Ok(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(self.of.return_field(&self.arguments(types)?)?.data_type().clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<_> = args.args.iter().map(ColumnarValue::data_type).collect();
        let fields = self.arguments(&types)?;
        let mut exprs: Vec<Arc<dyn PhysicalExpr>> = vec![Arc::new(Column::new(fields[0].name(), 0))];
        for (nth, arg) in args.args.iter().enumerate().skip(1) {
            match arg {
                ColumnarValue::Scalar(value) => exprs.push(Arc::new(Literal::new(value.clone()))),
                ColumnarValue::Array(values) if values.is_empty() => {
                    exprs.push(Arc::new(Literal::new(ScalarValue::try_from(values.data_type())?)));
                }
                ColumnarValue::Array(_) => {
                    return exec_err!("{}: argument {} is another value in each row", self.name, nth + 1);
                }
            }
        }
        let lists = args.args[0].to_array(args.number_rows)?;
        let nothing = ScalarValue::try_from(args.return_type())?;
        if lists.data_type().is_null() {
            return Ok(ColumnarValue::Scalar(nothing));
        }
        let schema = Schema::new(fields.clone());
        let result = self.of.return_field(&fields)?;
        let one = |list: arrow::array::ArrayRef| {
            let mut accumulator = self.of.accumulator(AccumulatorArgs {
                return_field: result.clone(),
                schema: &schema,
                ignore_nulls: false,
                order_bys: &[],
                is_reversed: false,
                name: &self.name,
                is_distinct: false,
                exprs: &exprs,
                expr_fields: &fields,
            })?;
            let mut columns = vec![cast(&list, fields[0].data_type())?];
            for arg in &args.args[1..] {
                columns.push(arg.to_array(list.len())?);
            }
            accumulator.update_batch(&columns)?;
            accumulator.evaluate()
        };
        let values = lists.as_list::<i32>().iter().map(|list| list.map_or_else(|| Ok(nothing.clone()), one));
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(ColumnarValue::Array(match values.is_empty() {
            true => nothing.to_array_of_size(0)?,
            false => ScalarValue::iter_to_array(values)?,
        }))
    }
}
