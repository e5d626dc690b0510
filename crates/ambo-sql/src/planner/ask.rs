//! What has to be known of tables and rows before a statement can be planned.

use std::sync::atomic::Ordering;

use arrow::{array::AsArray, compute::cast, datatypes::DataType};
use datafusion::{
    common::{DFSchemaRef, ScalarValue},
    sql::sqlparser::ast,
};

use super::Planner;
use crate::Result;

/// A row of texts.
pub(super) type Texts = Vec<Option<String>>;

/// Asks in the middle of planning, about queries that are written as they are meant.
pub(super) struct Ask<'a> {
    pub planner: &'a Planner<'a>,
    pub params: &'a [ScalarValue],
}

impl Ask<'_> {
    /// The columns of a query.
    pub fn schema(&self, query: ast::Query) -> Result<DFSchemaRef> {
        let plan = self.planner.planned(ast::Statement::Query(Box::new(query)), self.params)?;
        Ok(plan.schema().clone())
    }

    /// The rows of a query at the moment of the statement, as texts.
    pub fn texts(&self, query: ast::Query) -> Result<Vec<Texts>> {
        self.planner.asked.store(true, Ordering::Relaxed);
        let plan = self.planner.planned(ast::Statement::Query(Box::new(query)), self.params)?;
        let batches = self.planner.collect(&self.planner.bind(plan, self.params)?)?;
        let mut rows = Vec::new();
        for batch in batches {
            let columns = batch.columns().iter().map(|column| cast(column, &DataType::Utf8));
            let columns = columns.collect::<std::result::Result<Vec<_>, _>>();
            let columns = columns.map_err(datafusion::error::DataFusionError::from)?;
            for row in 0..batch.num_rows() {
                let text = |column| {
                    let texts = AsArray::as_string::<i32>(column);
                    arrow::array::Array::is_valid(texts, row).then(|| texts.value(row).to_owned())
                };
                rows.push(columns.iter().map(text).collect());
            }
        }
        Ok(rows)
    }

    /// Whether a function of this name returns a value for several rows.
    pub fn is_aggregate(&self, name: &str) -> bool {
        use datafusion::logical_expr::planner::ContextProvider;
        self.planner.get_aggregate_meta(name).is_some()
    }
}
