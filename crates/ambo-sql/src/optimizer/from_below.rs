//! Changes of operators from below upward, by which columns get other types than the planner took them for.
//!
//! A subquery comes behind what is below its operator, and its columns from outside get the types that they have there by then: whatever is
//! computed of them in the subquery hangs on those.

use std::sync::Arc;

use datafusion::{
    common::{
        DFSchema, ExprSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Expr, LogicalPlan, Subquery},
};

use super::expressions::schema_of_rows;
use crate::{joins::is_subquery, stack};

/// Changes each operator, also in subqueries. Schemas follow from what is below.
pub(crate) fn change_from_below(
    plan: LogicalPlan,
    change: &mut impl FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
) -> Result<LogicalPlan> {
    Walk { change, outer: Vec::new(), is_changed: false }.walk(plan)
}

struct Walk<'c, C> {
    change: &'c mut C,
    /// The rows of the queries around, the nearest last.
    outer: Vec<DFSchema>,
    is_changed: bool,
}

impl<C: FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>> Walk<'_, C> {
    fn walk(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        stack::with_enough(|| {
            let plan = self.below(plan)?;
            let plan = self.subqueries(self.with_outside(plan)?)?;
            let changed = (self.change)(plan)?;
            self.is_changed |= changed.transformed;
            if self.is_changed { changed.data.recompute_schema() } else { Ok(changed.data) }
        })
    }

    fn below(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let LogicalPlan::Join(mut join) = plan else {
            return Ok(plan.map_children(|input| self.walk(input).map(Transformed::yes))?.data);
        };
        let is_lateral = is_lateral(&join.right);
        join.left = Arc::new(self.walk(Arc::unwrap_or_clone(join.left))?);
        if is_lateral {
            self.outer.push(join.left.schema().as_ref().clone());
        }
        join.right = Arc::new(self.walk(Arc::unwrap_or_clone(join.right))?);
        if is_lateral {
            self.outer.pop();
        }
        Ok(LogicalPlan::Join(join))
    }

    fn subqueries(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let mut has_some = false;
        plan.apply_expressions(|expr| {
            has_some |= expr.exists(|expr| Ok(is_subquery(expr)))?;
            Ok(if has_some { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if !has_some {
            return Ok(plan);
        }
        self.outer.push(schema_of_rows(&plan));
        let plan = plan.map_subqueries(|query| self.walk(query).map(Transformed::yes))?.data;
        self.outer.pop();
        Ok(plan)
    }

    /// An operator with the types of columns from outside as they are there.
    fn with_outside(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if !self.is_changed || self.outer.is_empty() {
            return Ok(plan);
        }
        let known = |expr: Expr| expr.transform_up(|expr| Ok(self.as_outside(expr)));
        if let LogicalPlan::Subquery(Subquery { outer_ref_columns, .. }) = &plan {
            let columns = outer_ref_columns.iter().cloned().map(|column| Ok(known(column)?.data));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let LogicalPlan::Subquery(query) = plan else { unreachable!("it is a subquery") };
            return Ok(LogicalPlan::Subquery(Subquery { outer_ref_columns: columns, ..query }));
        }
        Ok(plan.map_expressions(known)?.data)
    }

    fn as_outside(&self, expr: Expr) -> Transformed<Expr> {
        let Expr::OuterReferenceColumn(field, column) = &expr else { return Transformed::no(expr) };
        let own = self.outer.iter().rev().find_map(|schema| schema.field_from_column(column).ok());
        match own {
            Some(own) if own.data_type() != field.data_type() => {
                Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(own), column.clone()))
            }
            _ => Transformed::no(expr),
        }
    }
}

/// Whether a side of a join may have columns of the other.
fn is_lateral(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Subquery(_) => true,
        LogicalPlan::SubqueryAlias(of) => is_lateral(&of.input),
        _ => false,
    }
}
