//! CREATE TABLE … AS: the rows of a query as a new table.

use ambo::{IndexDefinition, LoadOptions, Storage, Table, TableDefinition};
use arrow::{
    array::RecordBatch,
    compute::{CastOptions, cast_with_options},
    datatypes::{Schema, SchemaRef},
};
use datafusion::{
    error::DataFusionError, execution::SendableRecordBatchStream, logical_expr::LogicalPlan,
    physical_plan::execute_stream, sql::sqlparser::ast,
};
use futures::StreamExt;

use super::rules::Rules;
use crate::{Connection, Result, value::Values};

/// Rows that one transaction writes, into a table that is not of storage column.
const TRANSACTION_ROWS: usize = 16 << 10;

/// A query whose rows are to be a table's.
pub(super) struct Source {
    plan: LogicalPlan,
    stream: SendableRecordBatchStream,
}

impl Source {
    pub fn new(connection: &Connection, query: &ast::Query) -> Result<Self> {
        let planner = connection.reader()?;
        let plan = planner.plan_query(query, &[])?;
        let physical = planner.physical(&plan)?;
        let _threads = connection.engine().runtime()?.enter();
        let stream = execute_stream(physical, planner.state().task_ctx())?;
        Ok(Self { plan, stream })
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        self.plan.schema().as_arrow()
    }

    fn next(&mut self, connection: &Connection) -> Result<Option<RecordBatch>> {
        let _threads = connection.engine().runtime()?.enter();
        match connection.interrupter_ref().wait(self.stream.next())? {
            Some(batch) => Ok(Some(batch?)),
            None => Ok(None),
        }
    }
}

/// Creates a table with the rows of a query, and then its indexes. Returns how many rows there are.
///
/// # Errors
/// Whatever goes wrong: the table is not there then.
pub(super) fn make(
    connection: &Connection,
    definition: &TableDefinition,
    indexes: &[IndexDefinition],
    source: Source,
) -> Result<u64> {
    let db = &connection.engine().db;
    let rules = Rules::new(&connection.reader()?, definition)?;
    let table = db.create_table(definition.clone())?;
    let filled = fill(connection, &table, &rules, source).and_then(|rows| {
        indexes.iter().try_for_each(|index| db.create_index(index))?;
        Ok(rows)
    });
    if filled.is_err() {
        db.drop_table(&definition.name)?;
    }
    filled
}

fn fill(connection: &Connection, table: &Table, rules: &Rules, mut source: Source) -> Result<u64> {
    let schema = rules.schema().clone();
    let mut next = || -> Result<Option<RecordBatch>> {
        let Some(batch) = source.next(connection)? else { return Ok(None) };
        let batch = cast(&batch, &schema)?;
        rules.check(&batch)?;
        Ok(Some(batch))
    };
    if table.definition().storage == Storage::Column {
        let load = table.load(LoadOptions::default())?;
        let mut writer = load.writer();
        while let Some(batch) = next()? {
            writer.push_batch(&batch)?;
        }
        writer.finish()?;
        return Ok(load.finish()?.rows);
    }
    let mut rows = 0;
    let mut transaction = connection.engine().db.begin()?;
    let mut written = 0;
    while let Some(batch) = next()? {
        let values = Values::new(&batch);
        for row in 0..batch.num_rows() {
            transaction.insert_row(table, &values.row(row)?)?;
        }
        rows += batch.num_rows() as u64;
        written += batch.num_rows();
        if written >= TRANSACTION_ROWS {
            transaction.commit()?;
            transaction = connection.engine().db.begin()?;
            written = 0;
        }
    }
    transaction.commit()?;
    Ok(rows)
}

fn cast(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .map(|(array, field)| cast_with_options(array, field.data_type(), &strict))
        .collect::<Result<Vec<_>, _>>()
        .map_err(DataFusionError::from)?;
    Ok(RecordBatch::try_new(schema.clone(), columns).map_err(DataFusionError::from)?)
}
