//! Plans of queries that name no table: they hold until the schema changes, and are kept with the statement.
//!
//! A plan is kept for the types of the parameters, with places for their values, as the optimizer left it. What the optimizer computes once
//! for a statement, as `now()`, is in no plan that is kept. Functions of users are written out in it, so it ends with the schema.

use std::sync::{Arc, Mutex, PoisonError, atomic::Ordering};

use ambo::SchemaStamp;
use arrow::datatypes::DataType;
use datafusion::{
    common::{
        Result as PlanResult, ScalarValue,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Expr, LogicalPlan, Volatility},
    sql::sqlparser::ast::{self, SetExpr},
};

use crate::{
    Connection, Result, Rows,
    parse::Statement,
    planner::{Planner, schema_of_result, tables_of},
    rows::Source,
    times::Zone,
};

/// What is kept of a statement.
#[derive(Default)]
pub(crate) struct KeptPlan(Mutex<Kept>);

#[derive(Clone, Default)]
enum Kept {
    #[default]
    Nothing,
    /// It has no plan of this kind.
    Impossible,
    Plan(Arc<Optimized>),
}

struct Optimized {
    /// The schema that it was made for.
    stamp: SchemaStamp,
    types: Vec<DataType>,
    /// Of the session that it was made for.
    zone: Zone,
    plan: LogicalPlan,
}

impl KeptPlan {
    /// For a statement that may have one.
    pub(crate) fn of(statement: &Statement) -> Option<Self> {
        let Statement::Sql(tree) = statement else { return None };
        let ast::Statement::Query(query) = tree.as_ref() else { return None };
        let is_query = matches!(
            *query.body,
            SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Query(_) | SetExpr::SetOperation { .. }
        );
        (is_query && query.locks.is_empty() && tables_of(query).is_empty()).then(Self::default)
    }

    /// The rows of the statement; `None` if it is to be planned as others are.
    pub(crate) fn run(
        &self,
        connection: &Connection,
        statement: &Statement,
        params: &[ScalarValue],
    ) -> Result<Option<Rows<'static>>> {
        let Statement::Sql(tree) = statement else { return Ok(None) };
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let planner = match kept {
            Kept::Impossible => return Ok(None),
            Kept::Nothing | Kept::Plan(_) => connection.reader()?,
        };
        let stamp = planner.definitions().stamp();
        let types = || params.iter().map(ScalarValue::data_type);
        let optimized = match kept {
            Kept::Plan(optimized)
                if optimized.stamp == stamp
                    && optimized.zone == planner.zone()
                    && optimized.types.iter().cloned().eq(types()) =>
            {
                optimized
            }
            _ => match made(&planner, tree, params) {
                Some(plan) => {
                    Arc::new(Optimized { stamp, types: types().collect(), zone: planner.zone(), plan })
                }
                None => {
                    *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kept::Impossible;
                    return Ok(None);
                }
            },
        };
        let plan = planner.bind(optimized.plan.clone(), params)?;
        let (stream, interrupter, threads) = planner.stream_optimized(&plan)?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kept::Plan(optimized);
        let schema = schema_of_result(&plan, &stream.schema());
        Ok(Some(Rows::new(schema, Source::Stream { stream, interrupter, threads })))
    }
}

/// A plan to keep. What goes wrong is told when the statement is planned as others are.
fn made(planner: &Planner<'_>, tree: &ast::Statement, params: &[ScalarValue]) -> Option<LogicalPlan> {
    let plan = planner.unbound(tree.clone(), params).ok()?;
    let is_steady = is_steady(&plan).ok()? && !planner.asked.load(Ordering::Relaxed);
    is_steady.then(|| planner.optimized(&plan).ok()).flatten()
}

/// Whether a plan reads nothing and is the same for each statement.
fn is_steady(plan: &LogicalPlan) -> PlanResult<bool> {
    let mut is_steady = true;
    plan.apply_with_subqueries(|node| {
        is_steady &= !matches!(node, LogicalPlan::TableScan(_));
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::ScalarFunction(function) = expr {
                    is_steady &= function.func.signature().volatility == Volatility::Immutable;
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        Ok(if is_steady { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(is_steady)
}
