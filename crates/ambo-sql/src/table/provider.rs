//! A table at one moment, for the planner.

use std::sync::Arc;

use ambo::{Snapshot, Table, Test};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::{
    catalog::{Session, TableProvider},
    common::{
        Column, Constraint, Constraints, DFSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType,
        utils::{conjunction, split_binary},
    },
    physical_plan::{ExecutionPlan, filter::FilterExecBuilder},
};

use super::{filter::filter, scan::TableScanExec, statistics::Figures};
use crate::{error::outer, hidden::seen, value::field_of};

/// What the number of a row is called, in tables without a primary key.
pub(crate) const ROW_NUMBER: &str = "\u{1}row";

/// A table as it is seen at one moment.
pub(crate) struct StoredTable {
    table: Table,
    view: Arc<Snapshot>,
    schema: SchemaRef,
    /// The places of its columns in the table.
    places: Vec<usize>,
    /// What columns that are not among them are made of.
    hidden: Vec<Hidden>,
    constraints: Constraints,
    figures: Arc<Figures>,
}

/// A column for an index over an expression, or over a part of the rows: its name, the value, and the conditions that have to hold.
pub(crate) struct Hidden {
    pub name: String,
    pub value: Expr,
    pub conditions: Vec<Expr>,
}

impl StoredTable {
    /// A table in a view, which says nothing of its key: its columns that are seen. With `whole` all columns, and the number of its rows as
    /// its last.
    pub(crate) fn new(table: Table, view: Arc<Snapshot>, whole: bool) -> Self {
        let definition = table.definition();
        let mut places: Vec<usize> = match whole {
            true => (0..definition.columns.len()).collect(),
            false => seen(definition).collect(),
        };
        let mut fields: Vec<_> = places.iter().map(|place| field_of(&definition.columns[*place])).collect();
        if whole && definition.is_numbered() {
            places.push(definition.columns.len());
            fields.push(Field::new(ROW_NUMBER, DataType::UInt64, false));
        }
        let schema = Arc::new(Schema::new(fields));
        let figures = Figures::new(view.clone(), table.clone());
        Self { schema, places, hidden: Vec::new(), constraints: Constraints::default(), table, view, figures }
    }

    /// The same, with what its other columns are made of.
    pub(crate) fn with_hidden(self, hidden: Vec<Hidden>) -> Self {
        Self { hidden, ..self }
    }

    /// The same, as a table that says what its key is.
    pub(crate) fn with_key(self) -> Self {
        let definition = self.table.definition();
        let key = definition.primary_columns();
        let keys = match key.is_empty() || definition.duplicates {
            true => Vec::new(),
            false => {
                let place = |column: &usize| self.places.iter().position(|place| place == column);
                vec![Constraint::PrimaryKey(key.iter().filter_map(place).collect())]
            }
        };
        Self { constraints: Constraints::new_unverified(keys), ..self }
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// The place in the table of a column at a place here.
    pub(crate) fn place(&self, column: usize) -> Option<usize> {
        self.places.get(column).copied()
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
            // The scan may leave rows out by an index, and they are asked again.
            false if self.either(expr).is_some() => TableProviderFilterPushDown::Inexact,
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
        // Those that narrow are asked again above.
        let (narrowing, other): (Vec<_>, Vec<_>) =
            other.into_iter().partition(|expr| self.either(expr).is_some());
        let known: Vec<_> = known.into_iter().chain(narrowing).collect();
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
        self.test(condition).is_some_and(|(name, test)| {
            let select = self.table.select(&[]).and_then(|select| select.filter(&name, test));
            select.is_ok_and(|select| select.check().is_ok())
        })
    }

    /// A condition of which one of several questions about columns is to be answered with yes, where indexes say which rows do so.
    fn either(&self, condition: &Expr) -> Option<Vec<(String, Test)>> {
        let Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) = condition else { return None };
        let parts = split_binary(condition, Operator::Or);
        let tests: Vec<_> = parts.into_iter().map(|part| self.test(part)).collect::<Option<_>>()?;
        let select = self.table.select(&[]).and_then(|select| select.either(tests.clone())).ok()?;
        select.postings().is_ok_and(|asked| !asked.is_empty()).then_some(tests)
    }

    /// A condition as one over a column, also one that an expression is kept in.
    fn test(&self, condition: &Expr) -> Option<(String, Test)> {
        let of_expressions = || {
            self.hidden.iter().filter(|hidden| hidden.conditions.is_empty()).find_map(|of| of.test(condition))
        };
        filter(condition).or_else(of_expressions)
    }

    fn scan_columns(
        &self,
        state: &dyn Session,
        columns: &[usize],
        filters: &[&Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let places: Vec<usize> = columns.iter().map(|column| self.places[*column]).collect();
        let mut select = self.table.select(&[]).and_then(|select| select.columns(&places)).map_err(outer)?;
        let own = filters.iter().filter(|expr| self.answers(expr)).filter_map(|expr| self.test(expr));
        for (name, test) in own.chain(self.of_parts(filters)) {
            select = select.filter(&name, test).map_err(outer)?;
        }
        for either in filters.iter().filter(|expr| !self.answers(expr)).filter_map(|expr| self.either(expr)) {
            select = select.either(either).map_err(outer)?;
        }
        let schema = Arc::new(self.schema.project(columns)?);
        let partitions = state.config().target_partitions();
        Ok(Arc::new(TableScanExec::new(self, select, schema, partitions, limit)?))
    }

    /// What follows for columns of a part of the rows from conditions that choose from this part.
    fn of_parts(&self, filters: &[&Expr]) -> Vec<(String, Test)> {
        let parts = self.hidden.iter().filter(|hidden| !hidden.conditions.is_empty());
        let mut tests = Vec::new();
        for part in parts {
            let bare: Vec<_> = filters.iter().map(|expr| bare(expr)).collect();
            if part.conditions.iter().all(|condition| bare.contains(condition)) {
                let is_value = |(_, test): &(String, Test)| !matches!(test, Test::IsNull | Test::IsNotNull);
                tests.extend(filters.iter().filter_map(|expr| part.test(expr)).filter(is_value));
            }
        }
        tests
    }
}

impl Hidden {
    /// A condition over the value as one over the column.
    fn test(&self, condition: &Expr) -> Option<(String, Test)> {
        let own = |expr: Expr| match expr == self.value {
            true => Ok(Transformed::new(column(&self.name), true, TreeNodeRecursion::Jump)),
            false => Ok(Transformed::no(expr)),
        };
        let said = bare(condition).transform_down(own).ok().filter(|said| said.transformed)?.data;
        filter(&said).filter(|(name, _)| *name == self.name)
    }
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// An expression without the names of tables before columns.
pub(crate) fn bare(expr: &Expr) -> Expr {
    let bare = expr.clone().transform_up(|expr| {
        Ok(match expr {
            Expr::Column(of) if of.relation.is_some() => Transformed::yes(column(&of.name)),
            expr => Transformed::no(expr),
        })
    });
    bare.map_or_else(|_| expr.clone(), |bare| bare.data)
}
