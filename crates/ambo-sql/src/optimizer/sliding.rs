//! Windows over frames that move, or leave rows out.
//!
//! The planner (DataFusion 55) adds what comes into a frame and subtracts what leaves it. Of doubles something stays: what was rounded, and
//! infinity and NaN for ever, so that a window of two rows was NaN behind the first NaN. Where a frame moves, other accumulators are put in
//! their places, which add and forget ([`super::frames`]). Aggregates that nothing can be taken out of it refuses; they, and frames with
//! EXCLUDE, are computed anew for each row ([`framed`]).
//!
//! It reads over DISTINCT in window functions that are no aggregates; that is refused, as in PostgreSQL.

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result, ScalarValue, plan_err,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Cast, Expr, ExprSchemable, WindowFunctionDefinition, expr::WindowFunction},
};

use super::{expressions::ExpressionRule, frames::over_frames};
use crate::{
    parse::EXCLUDE,
    window::{Exclude, framed, in_order_without},
};

pub(super) const SLIDING: ExpressionRule = ExpressionRule {
    name: "sliding",
    wanted: |expr| matches!(expr, Expr::WindowFunction(_)),
    change: |expr, schema, _| expr.transform_up(|expr| changed(expr, schema)),
};

/// Aggregates that the planner can take rows out of again.
const WITH_WAY_BACK: [&str; 7] = ["count", "sum", "avg", "min", "max", "array_agg", "median"];

fn changed(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::WindowFunction(mut window) = expr else { return Ok(Transformed::no(expr)) };
    let excluded = exclusion(&mut window);
    if let WindowFunctionDefinition::WindowUDF(function) = &window.fun {
        let name = function.name();
        if window.params.distinct {
            return plan_err!("DISTINCT stands in {name}, which is no aggregate");
        }
    }
    let is_other = match excluded {
        None | Some(Exclude::NoOthers) => sliding(&mut window, schema)?,
        Some(excluded) => by_frame(&mut window, excluded),
    };
    Ok(Transformed::new_transformed(Expr::WindowFunction(window), is_other || excluded.is_some()))
}

/// Takes out what says which rows a frame leaves out.
fn exclusion(window: &mut WindowFunction) -> Option<Exclude> {
    let Some(Expr::Literal(ScalarValue::Utf8(Some(mark)), _)) = window.params.partition_by.last() else {
        return None;
    };
    let excluded = Exclude::named(mark.strip_prefix(EXCLUDE)?)?;
    window.params.partition_by.pop();
    Some(excluded)
}

/// What a frame needs that moves; whether it is another function then.
fn sliding(window: &mut WindowFunction, schema: &DFSchema) -> Result<bool> {
    let WindowFunctionDefinition::AggregateUDF(planners) = &window.fun else { return Ok(false) };
    let params = &window.params;
    if params.window_frame.start_bound.is_unbounded() {
        return Ok(false);
    }
    let types = params.args.iter().map(|arg| arg.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let ours = over_frames(planners.name(), types.len());
    let is_double = Expr::from(window.clone()).get_type(schema)? == DataType::Float64;
    if let Some(ours) = ours.filter(|_| !params.distinct && types.iter().all(DataType::is_floating))
        && is_double
    {
        for (arg, of) in window.params.args.iter_mut().zip(types) {
            if of != DataType::Float64 {
                *arg = Expr::Cast(Cast::new(Box::new(std::mem::take(arg)), DataType::Float64));
            }
        }
        window.fun = WindowFunctionDefinition::AggregateUDF(ours);
        return Ok(true);
    }
    let name = planners.name();
    let has_way_back = match params.distinct {
        true => name == "count" || name == "sum" && types == [DataType::Int64],
        false => WITH_WAY_BACK.contains(&name) || over_frames(name, types.len()).is_some(),
    };
    Ok(!has_way_back && by_frame(window, Exclude::NoOthers))
}

/// Computes a function anew for each frame, if it looks at frames.
fn by_frame(window: &mut WindowFunction, exclude: Exclude) -> bool {
    if let Some(in_order) = in_order_without(window.fun.name(), exclude) {
        window.fun = WindowFunctionDefinition::WindowUDF(in_order.into());
        return true;
    }
    let params = &mut window.params;
    let aggregate = match &window.fun {
        WindowFunctionDefinition::AggregateUDF(of) => Some((of.clone(), params.distinct)),
        WindowFunctionDefinition::WindowUDF(_) => None,
    };
    let (arguments, has_filter) = (params.args.len(), params.filter.is_some());
    let Some(framed) = framed(window.fun.name(), aggregate, arguments, has_filter, exclude) else {
        return false;
    };
    params.args.extend(params.filter.take().map(|filter| *filter));
    params.distinct = false;
    window.fun = WindowFunctionDefinition::WindowUDF(framed.into());
    true
}
