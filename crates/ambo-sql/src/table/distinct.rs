//! The different values of a column, read off an index or a key that has them in order: for SELECT DISTINCT, GROUP BY without aggregates,
//! and `count(DISTINCT …)`, which the planner makes of such a grouping.

use std::sync::Arc;

use ambo::{PartialsUsed, Snapshot, Table, Type};
use arrow::datatypes::SchemaRef;

use super::{
    StoredTable,
    computed::{Computation, Computed},
};
use crate::{Result, value};

/// What one value costs in an index, and what one row costs in a scan of a column table with its share of a grouping, in nanoseconds.
const SEEK_COST: f64 = 1000.0;
const ROW_COST: f64 = 2.0;

/// See the module.
pub(super) struct DistinctPlan {
    view: Arc<Snapshot>,
    table: Table,
    column: usize,
    path: String,
    of: String,
    rows: usize,
}

impl DistinctPlan {
    /// None if no index has the values in order, or a scan is likely to be faster.
    pub(super) fn new(table: &StoredTable, column: usize) -> Option<Self> {
        let definition = table.table().definition();
        // What is no number, and zeros of both signs, are groups of the planner otherwise than values in an index.
        let is_float = matches!(definition.columns[column].kind, Type::F32 | Type::F64);
        let is_ordered = definition.columns[column].logical.as_ref().is_none_or(ambo::Logical::is_ordered);
        if is_float || !is_ordered || (definition.storage.traits().by_column && !is_cheap(table, column)) {
            return None;
        }
        let values = table.view().distinct_values(table.table(), column).ok()??;
        let path = values.path().to_owned();
        let rows = table.figures().distinct(column).map_or(1, |distinct| distinct as usize);
        let (view, of) = (table.view().clone(), table.identity());
        Some(Self { view, table: table.table().clone(), column, path, of, rows })
    }
}

/// Whether there are so few values that looking them up is less work than a scan.
fn is_cheap(table: &StoredTable, column: usize) -> bool {
    let figures = table.figures();
    let rows = figures.get().map_or(0, |known| known.rows.value) as f64;
    figures.distinct(column).is_some_and(|distinct| distinct * SEEK_COST < rows * ROW_COST)
}

impl Computation for DistinctPlan {
    fn run(&self, schema: &SchemaRef, _: usize) -> Result<Computed> {
        let values = self.view.distinct_values(&self.table, self.column)?;
        let rows = values.into_iter().flatten().map(|value| Ok(vec![value?]));
        let rows = value::batch(schema, &rows.collect::<Result<Vec<_>>>()?)?;
        Ok(Computed { rows, used: PartialsUsed::default() })
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn identity(&self) -> String {
        format!("{}, values of {}", self.of, self.column)
    }

    fn describe(&self) -> String {
        let definition = self.table.definition();
        let column = &definition.columns[self.column].name;
        format!("{}, values of {column} by {}", definition.name, self.path)
    }
}
