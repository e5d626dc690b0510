//! The first rows in the order of a column: a rule that has a scan leave out those that cannot be among them.
//!
//! Where an index of the column has postings in files, its leaves say which value so many rows are no greater than. That becomes a
//! condition of the scan, which indexes and bounds of blocks answer; the sort above it looks at what is left, as before. The rule runs
//! behind all others. It takes the sort of a scan without conditions, with a limit, by a column that comes without NULL or with NULL last.

use std::sync::Arc;

use ambo::Type;
use datafusion::{
    common::{
        Column, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    datasource::source_as_provider,
    logical_expr::{Expr, LogicalPlan, Sort, TableScan, lit},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::{StoredTable, statistics::bound_of};
use crate::projected::Projected;

/// The rule. See the module.
#[derive(Debug)]
pub(crate) struct TopsOfLeaves;

impl OptimizerRule for TopsOfLeaves {
    fn name(&self) -> &str {
        "tops_of_leaves"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Sort(sort) = &plan else { return Ok(Transformed::no(plan)) };
        let Some(condition) = condition(sort)? else { return Ok(Transformed::no(plan)) };
        let filtered = sort.input.as_ref().clone().transform_down(|below| match below {
            LogicalPlan::TableScan(scan) => {
                let scan = TableScan { filters: vec![condition.clone()], ..scan };
                Ok(Transformed::new(LogicalPlan::TableScan(scan), true, TreeNodeRecursion::Stop))
            }
            other => Ok(Transformed::no(other)),
        })?;
        let sort = Sort { input: Arc::new(filtered.data), ..sort.clone() };
        Ok(Transformed::yes(LogicalPlan::Sort(sort)))
    }
}

/// What all rows answer that may be among the first of a scan below; none if nothing is known of them.
fn condition(sort: &Sort) -> Result<Option<Expr>> {
    let (Some(fetch @ 1..), [order, ..]) = (sort.fetch, &sort.expr[..]) else { return Ok(None) };
    let below = Projected::new(&sort.input)?;
    let LogicalPlan::TableScan(scan) = below.input else { return Ok(None) };
    if !scan.filters.is_empty() || scan.fetch.is_some() {
        return Ok(None);
    }
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = (provider.as_ref() as &dyn std::any::Any).downcast_ref::<StoredTable>() else {
        return Ok(None);
    };
    let Expr::Column(column) = below.resolved(order.expr.clone())? else { return Ok(None) };
    let definition = table.table().definition();
    let Some(place) = definition.column_index(&column.name) else { return Ok(None) };
    let of = &definition.columns[place];
    let is_ordered = of.logical.is_none() && !matches!(of.kind, Type::F32 | Type::F64);
    if !definition.storage.traits().by_column || !is_ordered || of.nullable && order.nulls_first {
        return Ok(None);
    }
    let Ok(Some(bound)) = table.view().bound_of_first(table.table(), (place, !order.asc), fetch as u64)
    else {
        return Ok(None);
    };
    let ty = scan.source.schema().field_with_name(&column.name)?.data_type().clone();
    let Some(bound) = bound_of(&bound, &ty) else { return Ok(None) };
    let column = Expr::Column(Column::new(Some(scan.table_name.clone()), column.name));
    let bound = lit(bound);
    Ok(Some(if order.asc { column.lt_eq(bound) } else { column.gt_eq(bound) }))
}
