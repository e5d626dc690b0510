//! A table at one moment, for the planner.

use std::sync::Arc;

use ambo::{Snapshot, Table};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::{
    catalog::{Session, TableProvider},
    common::{Constraint, Constraints, DFSchema, Result},
    logical_expr::{Expr, TableProviderFilterPushDown, TableType, utils::conjunction},
    physical_plan::{ExecutionPlan, filter::FilterExecBuilder},
};

use super::{filter::filter, scan::TableScanExec, statistics::Figures};
use crate::{error::outer, value::field_of};

/// What the number of a row is called, in tables without a primary key.
pub(crate) const ROW_NUMBER: &str = "\u{1}row";

/// A table as it is seen at one moment.
pub(crate) struct StoredTable {
    table: Table,
    view: Arc<Snapshot>,
    schema: SchemaRef,
    constraints: Constraints,
    figures: Arc<Figures>,
}

impl StoredTable {
    /// A table in a view, which says nothing of its key. With `row_number` it has the number of its rows as its last column.
    pub(crate) fn new(table: Table, view: Arc<Snapshot>, row_number: bool) -> Self {
        let definition = table.definition();
        let mut fields: Vec<_> = definition.columns.iter().map(field_of).collect();
        if row_number && definition.is_numbered() {
            fields.push(Field::new(ROW_NUMBER, DataType::UInt64, false));
        }
        let schema = Arc::new(Schema::new(fields));
        let figures = Figures::new(view.clone(), table.clone());
        Self { schema, constraints: Constraints::default(), table, view, figures }
    }

    /// The same, as a table that says what its key is.
    pub(crate) fn with_key(self) -> Self {
        let definition = self.table.definition();
        let key = definition.primary_columns();
        let keys = match key.is_empty() || definition.duplicates {
            true => Vec::new(),
            false => vec![Constraint::PrimaryKey(key.to_vec())],
        };
        Self { constraints: Constraints::new_unverified(keys), ..self }
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// What is known of the table.
    pub(crate) fn figures(&self) -> &Arc<Figures> {
        &self.figures
    }

    pub(crate) fn view(&self) -> &Arc<Snapshot> {
        &self.view
    }

    /// Which table in which view, for as long as this is there.
    pub(super) fn identity(&self) -> String {
        format!("{} in {:p}", self.table.definition().name, self.view)
    }
}

impl std::fmt::Debug for StoredTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredTable").field("name", &self.table.definition().name).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for StoredTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let can = |expr: &&Expr| match self.answers(expr) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(can).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let columns = projection.unwrap_or(&all);
        let (known, other): (Vec<_>, Vec<_>) = filters.iter().partition(|expr| self.answers(expr));
        let Some(condition) = conjunction(other.into_iter().cloned()) else {
            return self.scan_columns(state, columns, &known, limit);
        };
        // What was promised may have become another condition since: one of constants, where a column cannot be NULL.
        let condition = state.create_physical_expr(condition, &DFSchema::try_from(self.schema.clone())?)?;
        let rows = self.scan_columns(state, &all, &known, None)?;
        let wanted = FilterExecBuilder::new(condition, rows).apply_projection(projection.cloned())?;
        Ok(Arc::new(wanted.with_fetch(limit).build()?))
    }
}

impl StoredTable {
    /// Whether scans answer a condition exactly.
    fn answers(&self, condition: &Expr) -> bool {
        filter(condition).is_some_and(|(name, test)| {
            let select = self.table.select(&[]).and_then(|select| select.filter(&name, test));
            select.is_ok_and(|select| select.check().is_ok())
        })
    }

    fn scan_columns(
        &self,
        state: &dyn Session,
        columns: &[usize],
        filters: &[&Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut select = self.table.select(&[]).and_then(|select| select.columns(columns)).map_err(outer)?;
        for (name, test) in filters.iter().filter_map(|expr| filter(expr)) {
            select = select.filter(&name, test).map_err(outer)?;
        }
        let schema = Arc::new(self.schema.project(columns)?);
        let partitions = state.config().target_partitions();
        Ok(Arc::new(TableScanExec::new(self, select, schema, partitions, limit)?))
    }
}
