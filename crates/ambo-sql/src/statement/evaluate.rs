//! Expressions over rows that a statement has at hand: what RETURNING returns, what ON CONFLICT sets.

use std::{collections::HashSet, sync::Arc};

use ambo::TableDefinition;
use arrow::{
    array::RecordBatch,
    datatypes::{Field, Schema, SchemaRef},
};
use datafusion::{
    catalog::MemTable,
    common::{Column, ScalarValue, TableReference, tree_node::TreeNode},
    datasource::provider_as_source,
    logical_expr::{Expr as Planned, LogicalPlanBuilder},
    sql::sqlparser::ast::{Expr, SelectItem, SelectItemQualifiedWildcardKind},
};

use super::incoming::{row_schema, rows_of};
use crate::{
    Error, Result,
    hidden::HIDDEN,
    names::{ident, written},
    planner::{Planner, marked, tell_apart},
};

/// Rows whose columns have the names of the tables that they are from.
pub(super) struct Frame {
    names: Vec<(Option<TableReference>, String)>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Frame {
    /// Columns of a table's definition under a name.
    pub(super) fn table(alias: &str, definition: &TableDefinition) -> Vec<(Option<TableReference>, Field)> {
        let field = |field: &Arc<Field>| (Some(TableReference::bare(alias)), field.as_ref().clone());
        row_schema(definition).fields().iter().map(field).collect()
    }

    /// Batches with such columns. REQUIRES: they have their types.
    pub(super) fn new(
        columns: Vec<(Option<TableReference>, Field)>,
        batches: Vec<RecordBatch>,
    ) -> Result<Self> {
        let names = columns.iter().map(|(table, field)| (table.clone(), field.name().clone())).collect();
        // A name of its own for each, whatever they are called.
        let own =
            |(nth, (_, field)): (usize, (_, Field))| field.with_name(format!("c{nth}")).with_nullable(true);
        let schema = Arc::new(Schema::new(columns.into_iter().enumerate().map(own).collect::<Vec<_>>()));
        let batches = batches.into_iter().map(|batch| {
            let rows = batch.num_rows();
            rows_of(schema.clone(), batch.columns().to_vec(), rows)
        });
        Ok(Self { names, batches: batches.collect::<Result<_>>()?, schema })
    }

    /// The columns of all rows, in order, which a wildcard means, or those of a table.
    fn wildcard(&self, of: Option<&str>) -> Result<Vec<Planned>> {
        let of_table = |table: &Option<TableReference>| {
            of.is_none_or(|of| table.as_ref().is_some_and(|table| table.table() == of))
        };
        let columns =
            self.names.iter().filter(|(table, name)| of_table(table) && !name.starts_with(['\u{1}', HIDDEN]));
        let columns: Vec<_> =
            columns.map(|(table, name)| Planned::Column(Column::new(table.clone(), name))).collect();
        match columns.is_empty() {
            true => Err(Error::not_found("table", of.unwrap_or_default(), std::iter::empty())),
            false => Ok(columns),
        }
    }

    /// Values for a select list, in no order that is promised.
    ///
    /// # Errors
    /// Unknown columns, aggregates.
    pub(super) fn select(
        self,
        planner: &Planner<'_>,
        items: &[SelectItem],
        params: &[ScalarValue],
    ) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let rows = MemTable::try_new(self.schema.clone(), vec![self.batches.clone()])?;
        let named = self.names.iter().enumerate().map(|(nth, (table, name))| {
            Planned::Column(Column::new(Some("rows"), format!("c{nth}"))).alias_qualified(table.clone(), name)
        });
        let plan = LogicalPlanBuilder::scan("rows", provider_as_source(Arc::new(rows)), None)?
            .project(named.collect::<Vec<_>>())?
            .build()?;
        let mut exprs: Vec<Planned> = Vec::new();
        let mut items = items.to_vec();
        tell_apart(&mut items);
        for item in &items {
            let expr = |expr: &Expr| planner.expr(expr.clone(), plan.schema(), params);
            match item {
                SelectItem::UnnamedExpr(of) => exprs.push(expr(of)?),
                SelectItem::ExprWithAlias { expr: of, alias } => exprs.push(expr(of)?.alias(ident(alias))),
                SelectItem::Wildcard(options) if *options == Default::default() => {
                    exprs.extend(self.wildcard(None)?);
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                    if *options == Default::default() =>
                {
                    exprs.extend(self.wildcard(Some(&written(name)?))?);
                }
                other => return Err(Error::invalid(format!("not supported here: {other}"))),
            }
        }
        for expr in &exprs {
            let is_aggregate = |expr: &Planned| {
                Ok(matches!(expr, Planned::AggregateFunction(_) | Planned::WindowFunction(_)))
            };
            if expr.exists(is_aggregate)? {
                let (_, name) = expr.qualified_name();
                return Err(Error::invalid(format!("{name} is computed of several rows, not of each")));
            }
        }
        tell_columns_apart(&mut exprs);
        let plan = LogicalPlanBuilder::from(plan).project(exprs)?.build()?;
        let plan = planner.bind(plan, params)?;
        planner.collect_named(&plan)
    }
}

/// A column that a wildcard has and another item asks for is there twice.
fn tell_columns_apart(exprs: &mut [Planned]) {
    let mut seen = HashSet::new();
    for (nth, expr) in exprs.iter_mut().enumerate() {
        if let Planned::Column(column) = expr
            && !seen.insert(column.clone())
        {
            let name = marked(&column.name, nth).value;
            *expr = expr.clone().alias(name);
        }
    }
}
