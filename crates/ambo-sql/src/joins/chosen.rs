//! Aggregates of what one side of a join has where the other says which: `sum(CASE WHEN day = 'Sunday' THEN price END)`.
//!
//! All rows of a group of the side meet the same rows of the other one, so all of them are chosen, or none: what is chosen are parts.

use datafusion::{
    common::{DFSchema, Result, ScalarValue},
    logical_expr::{
        Case, Expr, ExprSchemable, cast,
        expr::{AggregateFunction, AggregateFunctionParams},
        lit,
    },
};

use crate::optimizer::may_fail;

/// See the module.
pub(super) struct Chosen {
    case: Case,
    pub function: AggregateFunction,
}

impl Chosen {
    /// The aggregate as one of `side`; `None` if it is none, or one whose conditions look at the side, too.
    pub(super) fn of(expr: &Expr, side: &DFSchema) -> Option<Self> {
        let Expr::AggregateFunction(function) = expr else { return None };
        let AggregateFunctionParams { args, distinct: false, filter: None, order_by, null_treatment: None } =
            &function.params
        else {
            return None;
        };
        let [Expr::Case(case)] = &args[..] else { return None };
        let is_sum = function.func.name() == "sum";
        if !order_by.is_empty() || !(is_sum || matches!(function.func.name(), "min" | "max")) {
            return None;
        }
        let chosen = Self { case: case.clone(), function: function.clone() };
        let of_other = |expr: &Expr| !expr.column_refs().into_iter().any(|column| side.has_column(column));
        let may_stay = |value: &Expr| match value {
            Expr::Literal(value, _) => value.is_null() || is_sum && is_zero(value),
            value => is_of(value, side) && !may_fail(value, side),
        };
        let conditions = case.expr.iter().chain(case.when_then_expr.iter().map(|(when, _)| when));
        let is_one = conditions.into_iter().all(|condition| of_other(condition))
            && chosen.values().all(may_stay)
            && chosen.values().any(|value| is_of(value, side));
        is_one.then_some(chosen)
    }

    fn values(&self) -> impl Iterator<Item = &Expr> {
        let values = self.case.when_then_expr.iter().map(|(_, then)| &**then);
        values.chain(self.case.else_expr.as_deref())
    }

    /// The choice among parts. `part` makes an aggregate of a value of the side, and the column that it is.
    pub(super) fn of_parts(
        self,
        side: &DFSchema,
        mut part: impl FnMut(&Expr) -> Result<(Expr, Expr)>,
    ) -> Result<Expr> {
        let mut case = self.case;
        let mut kind = None;
        let values = case.when_then_expr.iter_mut().map(|(_, then)| then).chain(case.else_expr.as_mut());
        let mut constants = Vec::new();
        for value in values {
            if is_of(value, side) {
                let (aggregate, column) = part(value)?;
                kind.get_or_insert(aggregate.get_type(side)?);
                **value = column;
            } else {
                constants.push(value);
            }
        }
        let kind = kind.expect("something is of the side");
        for value in constants {
            let is_null = matches!(&**value, Expr::Literal(value, _) if value.is_null());
            **value = match is_null {
                true => lit(ScalarValue::try_new_null(&kind)?),
                false => cast(lit(0i64), kind.clone()),
            };
        }
        Ok(Expr::Case(case))
    }
}

/// Whether an expression has columns, all of a side.
fn is_of(expr: &Expr, side: &DFSchema) -> bool {
    let columns = expr.column_refs();
    !columns.is_empty() && columns.into_iter().all(|column| side.has_column(column))
}

fn is_zero(value: &ScalarValue) -> bool {
    value.data_type().is_numeric()
        && !value.data_type().is_floating()
        && ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero == *value)
}
