//! What GROUPING SETS, ROLLUP and CUBE group by is computed below them, under the name that it has above.
//!
//! Rules that change an expression leave its name as it was. In a set that is not possible: `GROUP BY ROLLUP (date_trunc('month', d))` lost
//! the column that the list of SELECT asks for, as soon as one of the rules changed the function.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder},
    optimizer::AnalyzerRule,
};

/// See the module. To be run before expressions are changed.
#[derive(Debug)]
pub(super) struct GroupExpressions;

impl AnalyzerRule for GroupExpressions {
    fn name(&self) -> &str {
        "group_expressions"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(below)?.data)
    }
}

fn below(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
    let [Expr::GroupingSet(sets)] = &aggregate.group_expr[..] else { return Ok(Transformed::no(plan)) };
    let computed: Vec<Expr> =
        sets.distinct_expr().into_iter().filter(|expr| !matches!(expr, Expr::Column(_))).cloned().collect();
    if computed.is_empty() {
        return Ok(Transformed::no(plan));
    }
    let given = aggregate.input.schema().columns().into_iter().map(Expr::Column);
    let named = computed.iter().map(|expr| expr.clone().alias(name_of(expr)));
    let rows = LogicalPlanBuilder::from(aggregate.input.clone()).project(given.chain(named))?.build()?;

    let in_place = |expr: Expr| match computed.contains(&expr) {
        true => {
            let column = Expr::Column(Column::new_unqualified(name_of(&expr)));
            Transformed::new(column, true, TreeNodeRecursion::Jump)
        }
        false => Transformed::no(expr),
    };
    let groups = aggregate
        .group_expr
        .iter()
        .map(|sets| Ok(sets.clone().transform_down(|expr| Ok(in_place(expr)))?.data));
    // `grouping(x)` has to be of a group.
    let of_grouping = |expr: &Expr| {
        let expr = expr.clone().transform_down(|expr| match expr {
            Expr::AggregateFunction(mut function) if function.func.name() == "grouping" => {
                let args = std::mem::take(&mut function.params.args).into_iter();
                function.params.args = args.map(|arg| in_place(arg).data).collect();
                Ok(Transformed::yes(Expr::AggregateFunction(function)))
            }
            expr => Ok(Transformed::no(expr)),
        });
        Ok(expr?.data)
    };
    let groups = groups.collect::<Result<Vec<_>>>()?;
    let asked = aggregate.aggr_expr.iter().map(of_grouping).collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(rows), groups, asked)?)))
}

fn name_of(expr: &Expr) -> String {
    expr.schema_name().to_string()
}
