//! Moments of files, which come in the units and zones of who wrote them. Where a query only hands them on, sorts or groups by them, or
//! compares them with their like, they stay as they are: nothing is cut off. Wherever else something is computed of them, they are moments
//! of ours, in microseconds.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    error::DataFusionError,
    logical_expr::{
        BinaryExpr, Expr, ExprSchemable, Join, LogicalPlan, Subquery, TableScan, WindowFrameBound,
        WindowFrameUnits,
        expr::{Alias, InSubquery, WindowFunction},
    },
};

use super::rules::{is_comparison, own};
use crate::{files, optimizer::with_types};

/// Functions whose result is one of their values, or their number.
const KEEPING: [&str; 8] =
    ["min", "max", "count", "first_value", "last_value", "any_value", "array_agg", "arrow_typeof"];

fn is_foreign(ty: &DataType) -> bool {
    own(ty) != *ty
}

/// What a plan has to do with moments of files.
#[derive(Clone, Copy, Default)]
pub(super) struct Foreign {
    /// Whether it reads files that may have them.
    pub is_read: bool,
    /// Whether it computes its own rows again: then what comes in has to have the types of what comes out.
    is_recursive: bool,
}

impl Foreign {
    pub(super) fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut found = Self::default();
        plan.apply_with_subqueries(|plan| {
            match plan {
                LogicalPlan::TableScan(scan) => found.is_read |= files::is_file(&scan.source),
                LogicalPlan::RecursiveQuery(_) => found.is_recursive = true,
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(found)
    }

    /// Whether the moments of a scan stay as they are.
    pub(super) fn stays(self, scan: &TableScan) -> bool {
        !self.is_recursive && files::is_file(&scan.source)
    }
}

/// An expression with all that is computed of moments of files computed in microseconds.
pub(super) fn computed_in_micros(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Column(_) => Ok(Transformed::no(expr)),
        Expr::Alias(Alias { expr, relation, name, metadata }) => {
            let alias = |expr| Expr::Alias(Alias { expr: Box::new(expr), relation, name, metadata });
            Ok(computed_in_micros(*expr, schema)?.update_data(alias))
        }
        expr => within(expr, schema),
    }
}

fn within(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let keeps = keeps(&expr, schema);
    let changed = expr.map_children(|inner| {
        let is_source =
            matches!(inner, Expr::Column(_) | Expr::OuterReferenceColumn(..) | Expr::ScalarSubquery(_));
        if !is_source {
            return within(inner, schema);
        }
        match inner.get_type(schema) {
            Ok(ty) if !keeps && is_foreign(&ty) => Ok(Transformed::yes(inner.cast_to(&own(&ty), schema)?)),
            _ => Ok(Transformed::no(inner)),
        }
    })?;
    changed.transform_data(|expr| match expr {
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let subquery = in_micros(&subquery)?;
            let is_changed = subquery.transformed;
            let expr = Expr::InSubquery(InSubquery { expr, subquery: subquery.data, negated });
            Ok(Transformed::new_transformed(expr, is_changed))
        }
        expr => Ok(Transformed::no(expr)),
    })
}

/// A subquery whose rows have moments of ours.
fn in_micros(subquery: &Subquery) -> Result<Transformed<Subquery>> {
    let plan = subquery.subquery.as_ref();
    if !plan.schema().fields().iter().any(|field| is_foreign(field.data_type())) {
        return Ok(Transformed::no(subquery.clone()));
    }
    let plan = with_types(plan.clone(), |_, ty| own(ty))?;
    Ok(Transformed::yes(subquery.with_plan(Arc::new(plan))))
}

/// Whether columns that stand right within an expression may be of any unit.
fn keeps(expr: &Expr, schema: &DFSchema) -> bool {
    let is_kept = |name: &str| KEEPING.contains(&name);
    match expr {
        Expr::Alias(_) | Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::GroupingSet(_) => true,
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            let are_columns = [left, right].iter().all(|side| matches!(side.as_ref(), Expr::Column(_)));
            let are_alike = || Ok::<_, DataFusionError>(left.get_type(schema)? == right.get_type(schema)?);
            are_columns && are_alike().unwrap_or(false)
        }
        Expr::AggregateFunction(aggregate) => is_kept(aggregate.func.name()),
        Expr::ScalarFunction(function) => is_kept(function.name()),
        Expr::WindowFunction(window) => keeps_in_window(window, schema),
        _ => false,
    }
}

/// Whether a window hands on moments and finds its rows by their order alone.
fn keeps_in_window(window: &WindowFunction, schema: &DFSchema) -> bool {
    let frame = &window.params.window_frame;
    let is_distance = |bound: &WindowFrameBound| {
        let (WindowFrameBound::Preceding(value) | WindowFrameBound::Following(value)) = bound else {
            return false;
        };
        !value.is_null()
    };
    let by_distance = frame.units == WindowFrameUnits::Range
        && (is_distance(&frame.start_bound) || is_distance(&frame.end_bound));
    let is_moment = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Timestamp(..)));
    let args = &window.params.args;
    let hands_on = match args.first() {
        Some(first) => matches!(first, Expr::Column(_)) || !is_moment(first),
        None => true,
    };
    hands_on && !by_distance && !args.iter().skip(1).any(is_moment)
}

/// An operator of several inputs, with moments of ours where the inputs have different ones.
pub(super) fn alike(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Join(join) => alike_in_join(join),
        plan => Ok(Transformed::no(plan)),
    }
}

fn alike_in_join(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    for (left, right) in &mut join.on {
        let types = (left.get_type(join.left.schema())?, right.get_type(join.right.schema())?);
        if types.0 == types.1 || !(is_foreign(&types.0) || is_foreign(&types.1)) {
            continue;
        }
        changed = true;
        *left = left.clone().cast_to(&own(&types.0), join.left.schema())?;
        *right = right.clone().cast_to(&own(&types.1), join.right.schema())?;
    }
    Ok(Transformed::new_transformed(LogicalPlan::Join(join), changed))
}
