//! `<`, `<=`, `>` and `>=` of lists and structs: NULL within them is greater than all else, as ORDER BY has it.
//!
//! The planner's operators have it smaller.

use std::sync::Arc;

use arrow::{
    array::{Array, BooleanArray},
    compute::SortOptions,
    datatypes::DataType,
};
use datafusion::{
    common::{Result, arrow::array::make_comparator, plan_datafusion_err, plan_err},
    logical_expr::{
        ColumnarValue, Operator, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        type_coercion::binary::comparison_coercion,
    },
};

/// By which lists are put in order.
pub(super) const ORDER: SortOptions = SortOptions { descending: false, nulls_first: false };

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct NestedOrder {
    operator: Operator,
    signature: Signature,
}

impl NestedOrder {
    /// What compares by an operator, if it is one of order.
    pub(crate) fn of(operator: Operator) -> Option<Self> {
        use Operator::{Gt, GtEq, Lt, LtEq};
        let signature = Signature::user_defined(Volatility::Immutable);
        matches!(operator, Lt | LtEq | Gt | GtEq).then_some(Self { operator, signature })
    }
}

impl ScalarUDFImpl for NestedOrder {
    fn name(&self) -> &str {
        match self.operator {
            Operator::Lt => "<",
            Operator::LtEq => "<=",
            Operator::Gt => ">",
            _ => ">=",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [left, right] = types else { return plan_err!("{} is between two values", self.name()) };
        let common = comparison_coercion(left, right)
            .ok_or_else(|| plan_datafusion_err!("{}: the values are not of one kind", self.name()))?;
        Ok(vec![common; 2])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let (left, right) = (args.args[0].to_array(rows)?, args.args[1].to_array(rows)?);
        let order = make_comparator(left.as_ref(), right.as_ref(), ORDER)?;
        let is_so = |row: usize| match (self.operator, order(row, row)) {
            (Operator::Lt, order) => order.is_lt(),
            (Operator::LtEq, order) => order.is_le(),
            (Operator::Gt, order) => order.is_gt(),
            (_, order) => order.is_ge(),
        };
        let both = |row: &usize| left.is_valid(*row) && right.is_valid(*row);
        let answers: BooleanArray = (0..rows).map(|row| both(&row).then(|| is_so(row))).collect();
        Ok(ColumnarValue::Array(Arc::new(answers)))
    }
}
