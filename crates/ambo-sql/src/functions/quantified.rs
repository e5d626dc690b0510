//! `x = ANY (list)`, `x < ALL (list)` and the like: NULL where the answer hangs on what is NULL.
//!
//! The planner makes `array_has` of `= ANY`, which is false where the list has a NULL (apache/datafusion#19288).

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, BooleanArray, BooleanBuilder, ListArray, UInt64Array},
    compute::{kernels::cmp, take},
    datatypes::{DataType, Field},
};
use datafusion::{
    common::{Result, ScalarValue, arrow::array::make_comparator, plan_datafusion_err, plan_err},
    logical_expr::{
        ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        expr::InList,
        lit,
        simplify::{ExprSimplifyResult, SimplifyContext},
        type_coercion::binary::comparison_coercion,
    },
};

use super::nested_order::ORDER;
use crate::times::is_text;

/// What is compared by, and what it is called.
const OPERATORS: [(Operator, &str, &str); 6] = [
    (Operator::Eq, "= ANY", "= ALL"),
    (Operator::NotEq, "<> ANY", "<> ALL"),
    (Operator::Lt, "< ANY", "< ALL"),
    (Operator::LtEq, "<= ANY", "<= ALL"),
    (Operator::Gt, "> ANY", "> ALL"),
    (Operator::GtEq, ">= ANY", ">= ALL"),
];

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Quantified {
    name: &'static str,
    operator: Operator,
    is_all: bool,
    signature: Signature,
}

impl Quantified {
    pub(super) fn every() -> impl Iterator<Item = Self> {
        let signature = || Signature::user_defined(Volatility::Immutable);
        OPERATORS.into_iter().flat_map(move |(operator, any, all)| {
            [(any, false), (all, true)].map(|(name, is_all)| Self {
                name,
                operator,
                is_all,
                signature: signature(),
            })
        })
    }

    fn compare(&self, left: &ArrayRef, right: &ArrayRef) -> Result<BooleanArray> {
        if left.data_type().is_nested() {
            return self.compare_nested(left, right);
        }
        Ok(match self.operator {
            Operator::NotEq => cmp::neq(left, right),
            Operator::Lt => cmp::lt(left, right),
            Operator::LtEq => cmp::lt_eq(left, right),
            Operator::Gt => cmp::gt(left, right),
            Operator::GtEq => cmp::gt_eq(left, right),
            _ => cmp::eq(left, right),
        }?)
    }

    fn compare_nested(&self, left: &ArrayRef, right: &ArrayRef) -> Result<BooleanArray> {
        let order = make_comparator(left.as_ref(), right.as_ref(), ORDER)?;
        let is_so = |row: usize| {
            let order = order(row, row);
            match self.operator {
                Operator::NotEq => order.is_ne(),
                Operator::Lt => order.is_lt(),
                Operator::LtEq => order.is_le(),
                Operator::Gt => order.is_gt(),
                Operator::GtEq => order.is_ge(),
                _ => order.is_eq(),
            }
        };
        let both = |row: &usize| left.is_valid(*row) && right.is_valid(*row);
        Ok((0..left.len()).map(|row| both(&row).then(|| is_so(row))).collect())
    }
}

/// Whether a function of this name compares a value with those of a list.
pub(crate) fn is_quantified(name: &str) -> bool {
    OPERATORS.iter().any(|(_, any, all)| name == *any || name == *all)
}

fn element(list: &DataType) -> Option<&DataType> {
    match list {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            Some(field.data_type())
        }
        _ => None,
    }
}

impl ScalarUDFImpl for Quantified {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [value, list] = types else { return plan_err!("{} has a value and a list", self.name) };
        let element = match list {
            DataType::Null => value,
            // A list that is written as a text, as clients of PostgreSQL send it.
            list if is_text(list) => value,
            list => element(list).ok_or_else(|| plan_datafusion_err!("{} takes a list", self.name))?,
        };
        let common = match (value, element) {
            (DataType::Null, other) | (other, DataType::Null) => other.clone(),
            _ => comparison_coercion(value, element).ok_or_else(|| {
                plan_datafusion_err!("{}: the value is not of the kind of the list's", self.name)
            })?,
        };
        let field = Field::new_list_field(common.clone(), true);
        Ok(vec![common, DataType::List(Arc::new(field))])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    /// IN and NOT IN are known to indexes and filters of storages.
    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let negated = match (self.operator, self.is_all) {
            (Operator::Eq, false) => false,
            (Operator::NotEq, true) => true,
            _ => return Ok(ExprSimplifyResult::Original(args)),
        };
        let Some(list) = args.get(1).and_then(literals) else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        let Some(value) = args.into_iter().next() else { return plan_err!("{} has a value", self.name) };
        Ok(ExprSimplifyResult::Simplified(match list {
            None => lit(ScalarValue::Boolean(None)),
            Some(list) => Expr::InList(InList::new(Box::new(value), list, negated)),
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let (values, lists) = (args.args[0].to_array(rows)?, args.args[1].to_array(rows)?);
        let Some(lists) = lists.as_any().downcast_ref::<ListArray>() else {
            return plan_err!("{} takes a list", self.name);
        };
        let offsets = lists.value_offsets();
        let places = |row: usize| offsets[row] as usize..offsets[row + 1] as usize;
        let (first, last) = (offsets[0] as usize, offsets[rows] as usize);
        let row_of: UInt64Array = (0..rows).flat_map(|row| places(row).map(move |_| row as u64)).collect();
        let elements = lists.values().slice(first, last - first);
        let compared = self.compare(&take(&values, &row_of, None)?, &elements)?;
        let mut answers = BooleanBuilder::with_capacity(rows);
        for row in 0..rows {
            let mut answer = Some(self.is_all);
            for at in places(row).map(|at| at - first) {
                match compared.is_valid(at).then(|| compared.value(at)) {
                    Some(is_so) if is_so != self.is_all => {
                        answer = Some(is_so);
                        break;
                    }
                    Some(_) => {}
                    None => answer = None,
                }
            }
            answers.append_option(if lists.is_valid(row) { answer } else { None });
        }
        Ok(ColumnarValue::Array(Arc::new(answers.finish())))
    }
}

/// The values of a list that is a literal: `Some(None)` for NULL.
fn literals(list: &Expr) -> Option<Option<Vec<Expr>>> {
    let Expr::Literal(ScalarValue::List(list), _) = list else { return None };
    if list.is_null(0) {
        return Some(None);
    }
    let values = list.value(0);
    let value = |at| ScalarValue::try_from_array(&values, at).ok().map(lit);
    (0..values.len()).map(value).collect::<Option<Vec<_>>>().map(Some)
}
