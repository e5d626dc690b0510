//! Frames by peers, whatever rows are ordered by.
//!
//! The planner (DataFusion 55) takes RANGE for numbers, texts and moments only, as if each frame had distances: `sum(x) OVER
//! (ORDER BY b)` is refused where `b` is a blob, a time or a struct. A frame of RANGE that has no distances is one of GROUPS,
//! which asks only which rows are equal.

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result, plan_err,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, ExprSchemable, WindowFrameBound, WindowFrameUnits},
};

use super::expressions::ExpressionRule;

pub(super) const PEERS: ExpressionRule = ExpressionRule {
    name: "peers",
    wanted: |expr| matches!(expr, Expr::WindowFunction(_)),
    change: |expr, schema, _| expr.transform_up(|expr| by_peers(expr, schema)),
};

fn by_peers(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::WindowFunction(mut window) = expr else { return Ok(Transformed::no(expr)) };
    let params = &mut window.params;
    let of_range = params.window_frame.units == WindowFrameUnits::Range;
    let first = params.order_by.first().filter(|_| of_range);
    let Some(ty) = first.and_then(|sort| sort.expr.get_type(schema).ok()).filter(|ty| !has_distances(ty))
    else {
        return Ok(Transformed::no(Expr::WindowFunction(window)));
    };
    let frame = &mut params.window_frame;
    if [&frame.start_bound, &frame.end_bound].into_iter().any(is_distance) {
        return plan_err!("RANGE with distances does not take ORDER BY {ty}");
    }
    frame.units = WindowFrameUnits::Groups;
    Ok(Transformed::yes(Expr::WindowFunction(window)))
}

/// Whether the planner takes a type for one of RANGE.
fn has_distances(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, values) => has_distances(values),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Boolean => true,
        ty => ty.is_numeric() || ty.is_string() || ty.is_null() || ty.is_list(),
    }
}

fn is_distance(bound: &WindowFrameBound) -> bool {
    match bound {
        WindowFrameBound::Preceding(by) | WindowFrameBound::Following(by) => !by.is_null(),
        WindowFrameBound::CurrentRow => false,
    }
}
