//! CSV and JSON lines in FROM: their columns are inferred from all of them, and read in the order of the files.

use std::{fmt, path::PathBuf, sync::Arc};

use ambo_files::{Format, Reading, TextTable};
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::{
    catalog::Session,
    common::Result as PlanResult,
    datasource::{TableProvider, TableType},
    execution::{SendableRecordBatchStream, SessionState, TaskContext},
    logical_expr::Expr,
    physical_plan::{
        ExecutionPlan,
        stream::RecordBatchReceiverStream,
        streaming::{PartitionStream, StreamingTableExec},
    },
};

use crate::{Error, Result, error::outer, wait::Interrupter};

/// Batches that are read before they are asked for.
const WAITING_BATCHES: usize = 4;

/// Text files as a table.
#[derive(Debug)]
pub(super) struct TextFiles(Arc<TextTable>);

impl TextFiles {
    pub(super) fn open(
        paths: &[PathBuf],
        format: &Format,
        reading: &Reading,
        state: &SessionState,
        interrupter: &Interrupter,
    ) -> Result<Self> {
        let stop = || interrupter.check().is_err();
        let table = TextTable::open_as(paths, format, reading, state.config().target_partitions(), &stop);
        interrupter.check()?;
        Ok(Self(Arc::new(table?)))
    }

    /// The columns that are texts of geometries.
    pub(super) fn geometries(&self) -> Vec<String> {
        self.0.geometries().into_iter().map(str::to_owned).collect()
    }
}

#[async_trait]
impl TableProvider for TextFiles {
    fn schema(&self) -> SchemaRef {
        self.0.schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.0.schema().fields().len()).collect();
        let columns = projection.unwrap_or(&all).clone();
        let schema: SchemaRef = Arc::new(Schema::clone(&self.0.schema().project(&columns)?));
        let threads = state.config().target_partitions();
        let rows = Rows { table: self.0.clone(), columns, schema: schema.clone(), threads };
        Ok(Arc::new(StreamingTableExec::try_new(schema, vec![Arc::new(rows)], None, [], false, limit)?))
    }
}

/// The rows with the columns that are wanted.
struct Rows {
    table: Arc<TextTable>,
    columns: Vec<usize>,
    schema: SchemaRef,
    threads: usize,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl PartitionStream for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStream::builder(self.schema.clone(), WAITING_BATCHES);
        let (out, batches) = (stream.tx(), self.table.batches(&self.columns, self.threads));
        stream.spawn_blocking(move || {
            for batch in batches {
                let batch = batch.map_err(|error| outer(Error::from(error)));
                // Who wanted them may have gone.
                if out.blocking_send(batch).is_err() {
                    break;
                }
            }
            Ok(())
        });
        stream.build()
    }
}
