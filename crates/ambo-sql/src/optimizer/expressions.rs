//! Changing the expressions of a plan before the planner's rules see them.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        Column, DFSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Cast, Expr, LogicalPlan, Projection, expr_rewriter::NamePreserver, utils::merge_schema},
    optimizer::AnalyzerRule,
};

/// Changes each expression of a plan and of its subqueries that has a `wanted` one in it; columns keep their names. `change` gets the
/// schema of the rows that the expression is of, and whether it is a condition: then only what is true counts.
#[derive(Debug)]
pub(crate) struct ExpressionRule {
    pub(crate) name: &'static str,
    pub(crate) wanted: fn(&Expr) -> bool,
    pub(crate) change: fn(Expr, &DFSchema, bool) -> Result<Transformed<Expr>>,
}

impl AnalyzerRule for ExpressionRule {
    fn name(&self) -> &str {
        self.name
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(|plan| self.changed(plan))?.data)
    }
}

impl ExpressionRule {
    fn is_wanted(&self, expr: &Expr) -> Result<bool> {
        expr.exists(|expr| Ok((self.wanted)(expr)))
    }

    fn concerns(&self, plan: &LogicalPlan) -> Result<bool> {
        let mut is_there = false;
        plan.apply_expressions(|expr| {
            is_there = self.is_wanted(expr)?;
            Ok(if is_there { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(is_there)
    }

    /// The expressions of one operator.
    fn changed(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        if !self.concerns(&plan)? {
            return Ok(Transformed::no(plan));
        }
        let schema = schema_of_rows(&plan);
        let is_condition = matches!(plan, LogicalPlan::Filter(_));
        map_named(plan, |expr| self.is_wanted(expr), |expr| (self.change)(expr, &schema, is_condition))
    }
}

/// The rows that the expressions of an operator are of.
pub(crate) fn schema_of_rows(plan: &LogicalPlan) -> DFSchema {
    match plan {
        LogicalPlan::TableScan(scan) => scan.projected_schema.as_ref().clone(),
        plan => merge_schema(&plan.inputs()),
    }
}

/// Changes those expressions of one operator that are wanted; columns keep their names.
pub(crate) fn map_named(
    plan: LogicalPlan,
    wanted: impl Fn(&Expr) -> Result<bool>,
    mut change: impl FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        if !wanted(&expr)? {
            return Ok(Transformed::no(expr));
        }
        let name = names.save(&expr);
        let changed = change(expr)?;
        Ok(if changed.transformed { changed.update_data(|expr| name.restore(expr)) } else { changed })
    })
}

/// The rows of a plan with each column as one of the type that `to` says for its place and type; columns keep their names.
pub(crate) fn with_types(
    plan: LogicalPlan,
    to: impl Fn(usize, &DataType) -> DataType,
) -> Result<LogicalPlan> {
    let schema = plan.schema().clone();
    let types: Vec<_> =
        schema.fields().iter().enumerate().map(|(place, field)| to(place, field.data_type())).collect();
    if schema.fields().iter().zip(&types).all(|(field, ty)| field.data_type() == ty) {
        return Ok(plan);
    }
    let columns = schema.iter().zip(types).map(|((table, field), ty)| {
        let column = Expr::Column(Column::from((table, field)));
        match ty == *field.data_type() {
            true => column,
            false => {
                Expr::Cast(Cast::new(Box::new(column), ty)).alias_qualified(table.cloned(), field.name())
            }
        }
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(plan))?))
}
