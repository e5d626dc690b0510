//! Bounds of columns do not follow from comparisons of casts that lose something.
//!
//! To estimate how many rows a filter leaves, the planner (DataFusion 55) narrows the bounds of columns by its comparisons. Through a cast
//! it goes backwards: of `CAST(x AS INT) > 2` with an `x` from 3.75 on it makes an `x` from 3 on, more than there was before, which it
//! takes for an error of its own, and the statement fails. So it is not shown casts that do not keep every value; the rows of such filters
//! are guessed.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Expr, ExprSchemable, Filter, LogicalPlan},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use crate::identity::identity;

/// What hides a cast.
const HIDDEN: &str = "lossy";

/// See the module. To be run when filters are where they stay.
#[derive(Debug)]
pub(super) struct CastBounds;

impl OptimizerRule for CastBounds {
    fn name(&self) -> &str {
        "cast_bounds"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(Filter { predicate, input, .. }) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let hidden = predicate.clone().transform_down(|expr| hidden(expr, input.schema()))?;
        if !hidden.transformed {
            return Ok(Transformed::no(plan));
        }
        Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(hidden.data, input.clone())?)))
    }
}

fn hidden(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let lossy = match &expr {
        Expr::Cast(cast) => !keeps_values(&cast.expr.get_type(schema)?, cast.field.data_type()),
        // It is hidden already.
        Expr::ScalarFunction(function) if function.name() == HIDDEN => {
            return Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump));
        }
        _ => false,
    };
    Ok(match lossy {
        true => {
            let hidden = Arc::new(identity(HIDDEN, 1, true)).call(vec![expr]);
            Transformed::new(hidden, true, TreeNodeRecursion::Jump)
        }
        false => Transformed::no(expr),
    })
}

/// Whether a cast has another value for each value, in the same order.
fn keeps_values(from: &DataType, to: &DataType) -> bool {
    let bits = |ty: &DataType| 8 * ty.primitive_width().unwrap_or(0);
    match (from, to) {
        (from, to) if from == to => true,
        (from, to) if from.is_integer() && to.is_integer() => {
            let is_signed = (from.is_signed_integer(), to.is_signed_integer());
            bits(to) > bits(from) && is_signed != (true, false)
        }
        // A double has 53 bits for digits, a float 24.
        (from, DataType::Float64) if from.is_integer() => bits(from) <= 32,
        (from, DataType::Float32) if from.is_integer() => bits(from) <= 16,
        (DataType::Float32, DataType::Float64)
        | (DataType::Date32, DataType::Timestamp(..) | DataType::Date64) => true,
        // No bounds are made for other types.
        (from, to) => !has_bounds(from) || !has_bounds(to),
    }
}

fn has_bounds(ty: &DataType) -> bool {
    ty.is_integer()
        || matches!(
            ty,
            DataType::Float32
                | DataType::Float64
                | DataType::Date32
                | DataType::Date64
                | DataType::Timestamp(..)
        )
}
