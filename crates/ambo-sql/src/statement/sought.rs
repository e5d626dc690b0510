//! The query of a statement that changes rows: which rows are meant, and what becomes of them.

use datafusion::{
    common::{DFSchemaRef, ScalarValue},
    logical_expr::LogicalPlan,
    sql::sqlparser::ast,
};

use super::{incoming::Stream, target::Target};
use crate::{Result, connection::Work, planner::Planner};

/// See the module.
pub(super) struct Sought {
    pub target: Target,
    pub query: ast::Query,
    pub params: Vec<ScalarValue>,
}

impl Sought {
    /// The rows. Those that the statement has written before they are read are not among them.
    pub(super) fn stream(&self, work: &Work<'_>) -> Result<(DFSchemaRef, Stream)> {
        let (planner, plan) = self.plan(work)?;
        Ok((plan.schema().clone(), Stream::new(&planner, &plan)?))
    }

    /// The plan of the query, and who made it.
    pub(super) fn plan<'w>(&self, work: &'w Work<'_>) -> Result<(Planner<'w>, LogicalPlan)> {
        let planner = self.target.planner(work)?;
        let plan = planner.plan_query(&self.query, &self.params)?;
        Ok((planner, plan))
    }
}
