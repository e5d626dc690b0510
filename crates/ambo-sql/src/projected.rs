//! What the columns of a plan are in terms of the plan below its projections.

use std::collections::HashMap;

use datafusion::{
    common::{
        Column, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, LogicalPlan},
};

/// A plan below projections and aliases, and what the columns above these stand for.
pub(crate) struct Projected<'p> {
    pub(crate) input: &'p LogicalPlan,
    /// None where there is nothing between.
    names: HashMap<Column, Expr>,
}

impl<'p> Projected<'p> {
    pub(crate) fn new(plan: &'p LogicalPlan) -> Result<Self> {
        let (input, own) = match plan {
            LogicalPlan::Projection(projection) => (&projection.input, projection.expr.clone()),
            LogicalPlan::SubqueryAlias(alias) => {
                (&alias.input, alias.input.schema().columns().into_iter().map(Expr::Column).collect())
            }
            _ => return Ok(Self { input: plan, names: HashMap::new() }),
        };
        let below = Self::new(input)?;
        let own = own.into_iter().map(|expr| below.resolved(expr)).collect::<Result<Vec<_>>>()?;
        Ok(Self { input: below.input, names: plan.schema().columns().into_iter().zip(own).collect() })
    }

    /// An expression over the plan, in terms of the columns of the plan below.
    pub(crate) fn resolved(&self, expr: Expr) -> Result<Expr> {
        let resolve = |expr: Expr| {
            Ok(match expr {
                Expr::Column(ref column) => match self.names.get(column) {
                    Some(known) => Transformed::yes(known.clone()),
                    None => Transformed::no(expr),
                },
                Expr::Alias(alias) => Transformed::yes(*alias.expr),
                other => Transformed::no(other),
            })
        };
        Ok(expr.transform_up(resolve)?.data)
    }
}
