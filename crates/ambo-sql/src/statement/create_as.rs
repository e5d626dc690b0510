//! CREATE TABLE … AS: the rows of a query as a new table.

use std::sync::Arc;

use ambo::{IndexDefinition, Table, TableDefinition};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::{common::ScalarValue, sql::sqlparser::ast};

use super::{
    incoming::{Stream, complete},
    load::Bulk,
    rules::Rules,
};
use crate::{Connection, Result, planner::result_schema, value::Values};

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
        Ok(Self { schema: result_schema(&plan), batches: Stream::new(&planner, &plan)? })
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
}

/// Creates a table with the rows of a query, and then its indexes. Returns how many rows there are. Messages call it `name`.
///
/// # Errors
/// Whatever goes wrong: the table is not there then.
pub(super) fn make(
    connection: &Connection,
    name: &str,
    definition: &TableDefinition,
    indexes: &[IndexDefinition],
    source: Source,
) -> Result<u64> {
    let db = &connection.engine().db;
    let mut named = definition.clone();
    named.name = name.to_owned();
    let rules = Arc::new(Rules::new(&connection.reader()?, &named)?);
    let table = db.create_table(definition.clone())?.checked_by_caller();
    let filled = fill(connection, table, rules, source).and_then(|rows| {
        indexes.iter().try_for_each(|index| db.create_index(index))?;
        Ok(rows)
    });
    if filled.is_err() {
        db.drop_table(&definition.name)?;
    }
    filled
}

fn fill(connection: &Connection, table: Table, rules: Arc<Rules>, source: Source) -> Result<u64> {
    let columns: Vec<usize> = (0..table.definition().columns.len()).collect();
    if Bulk::is_for(&table, &columns) {
        return Bulk::new(table, rules, columns, Box::new(source.batches), None).run(connection);
    }
    let db = &connection.engine().db;
    let (mut rows, mut written) = (0, 0);
    let mut transaction = db.begin()?;
    for batch in source.batches {
        let whole = complete(table.definition(), &rules, &columns, &batch?, rows + 1, None)?;
        let values = Values::new(&whole);
        for row in 0..whole.num_rows() {
            transaction.insert_row(&table, &values.row(row)?)?;
        }
        rows += whole.num_rows() as u64;
        written += whole.num_rows();
        connection.progress().report(rows);
        if written >= TRANSACTION_ROWS {
            transaction.commit()?;
            transaction = db.begin()?;
            written = 0;
        }
    }
    transaction.commit()?;
    Ok(rows)
}
