//! CREATE TABLE … AS: the rows of a query as a new table.

use std::{collections::HashSet, sync::Arc};

use ambo::{CatalogEdit, IndexDefinition, TableDefinition};
use arrow::datatypes::{FieldRef, Fields, Schema, SchemaRef};
use datafusion::{common::ScalarValue, sql::sqlparser::ast};

use super::{
    create_index::create_index,
    incoming::{Stream, complete},
    load::Bulk,
    rules::Rules,
};
use crate::{Connection, Result, value::Values};

/// Rows that one transaction writes, into a table that takes no bulk load.
const TRANSACTION_ROWS: usize = 16 << 10;

/// A query whose rows are to be a table's.
pub(super) struct Source {
    schema: SchemaRef,
    batches: Stream,
}

impl Source {
    pub fn new(connection: &Connection, query: &ast::Query, params: &[ScalarValue]) -> Result<Self> {
        let planner = connection.reader()?;
        let plan = planner.plan_query(query, params)?;
        let batches = Stream::new(&planner, &plan)?;
        Ok(Self { schema: told_apart(&batches.schema(&plan)), batches })
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
}

/// Columns of a query that are called alike get names of their own, as in DuckDB: `k`, `k_1`, `k_2`.
fn told_apart(schema: &SchemaRef) -> SchemaRef {
    let mut taken: HashSet<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut seen = HashSet::new();
    let name = |field: &FieldRef| {
        if seen.insert(field.name().clone()) {
            return field.clone();
        }
        let mut names = (1..).map(|nth| format!("{}_{nth}", field.name()));
        let name = names.find(|name| taken.insert(name.clone())).unwrap_or_default();
        Arc::new(field.as_ref().clone().with_name(name))
    };
    let fields: Fields = schema.fields().iter().map(name).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Creates a table with the rows of a query, and then its indexes. Returns how many rows there are. Messages call it `name`.
///
/// # Errors
/// Whatever goes wrong: the table is not there then, unless a transaction is open, which takes it back.
pub(super) fn make(
    connection: &mut Connection,
    name: &str,
    definition: &TableDefinition,
    indexes: &[IndexDefinition],
    source: Source,
) -> Result<u64> {
    let mut named = definition.clone();
    named.name = name.to_owned();
    let rules = Arc::new(Rules::new(&connection.own_reader()?, &named)?);
    connection.define(&[CatalogEdit::CreateTable(definition.clone())])?;
    let filled = fill(connection, definition, rules, source).and_then(|rows| {
        indexes.iter().try_for_each(|index| create_index(connection, index))?;
        Ok(rows)
    });
    if filled.is_err() && !connection.in_transaction() {
        connection.define(&[CatalogEdit::DropTable(definition.name.clone())])?;
    }
    filled
}

fn fill(
    connection: &mut Connection,
    definition: &TableDefinition,
    rules: Arc<Rules>,
    source: Source,
) -> Result<u64> {
    let table = connection.definitions().table(&definition.name)?.checked_by_caller();
    let columns: Vec<usize> = (0..table.definition().columns.len()).collect();
    if !connection.in_transaction() && Bulk::is_for(&table, &columns) {
        return Bulk::new(table, rules, columns, Box::new(source.batches), None).run(connection);
    }
    let mut rows = 0;
    for batch in source.batches {
        let whole = complete(table.definition(), &rules, &columns, &batch?, rows + 1, None)?;
        for first in (0..whole.num_rows()).step_by(TRANSACTION_ROWS) {
            let part = whole.slice(first, TRANSACTION_ROWS.min(whole.num_rows() - first));
            connection.write(&[], |work| {
                let values = Values::stored(&part);
                for row in 0..part.num_rows() {
                    work.transaction.insert_row(&table, &values.row(row)?)?;
                }
                Ok(())
            })?;
        }
        rows += whole.num_rows() as u64;
        connection.progress().report(rows);
    }
    Ok(rows)
}
