//! Rows that several readers have in common.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, PoisonError},
};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    common::{Result, runtime::SpawnedTask},
    error::DataFusionError,
    execution::{
        SendableRecordBatchStream, SpillFile, TaskContext,
        memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation},
    },
    physical_plan::{ExecutionPlan, SpillManager, metrics::SpillMetrics, stream::RecordBatchStreamAdapter},
};
use futures::{
    FutureExt, TryStreamExt,
    future::{BoxFuture, Shared},
    stream,
};

/// At most this part of the statement's memory is for such rows: those who read them need some, too.
const SHARE_MOST: usize = 4;

/// Rows, as soon as somebody asked for them.
#[derive(Default)]
pub(super) struct SharedRows(Mutex<Option<Shared<BoxFuture<'static, Computed>>>>);

type Computed = std::result::Result<Arc<Rows>, Arc<DataFusionError>>;

/// All rows: in memory, or in a file where memory did not suffice.
pub(super) enum Rows {
    Memory { batches: Vec<RecordBatch>, _memory: MemoryReservation },
    File { file: Arc<dyn SpillFile>, manager: SpillManager },
}

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRows")
    }
}

impl SharedRows {
    /// The rows, which the first who asks lets `input` compute. That is a task of its own: it goes on while the one who asked first is not
    /// asked for rows, because those who read it wait for another reader of these rows.
    pub(super) async fn get(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        spilled: SpillMetrics,
    ) -> Result<Arc<Rows>> {
        let computed = {
            let mut started = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            started.get_or_insert_with(|| start(input.clone(), context.clone(), spilled)).clone()
        };
        computed.await.map_err(DataFusionError::Shared)
    }
}

fn start(
    input: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    spilled: SpillMetrics,
) -> Shared<BoxFuture<'static, Computed>> {
    let task = SpawnedTask::spawn(compute(input, context, spilled));
    let computed = async move {
        match task.join_unwind().await {
            Ok(rows) => rows.map(Arc::new).map_err(Arc::new),
            Err(ended) => Err(Arc::new(DataFusionError::ExecutionJoin(Box::new(ended)))),
        }
    };
    computed.boxed().shared()
}

async fn compute(
    input: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    spilled: SpillMetrics,
) -> Result<Rows> {
    let memory = MemoryConsumer::new("OnceExec").with_can_spill(true).register(context.memory_pool());
    let most = match context.memory_pool().memory_limit() {
        MemoryLimit::Finite(bytes) => bytes / SHARE_MOST,
        _ => usize::MAX,
    };
    let mut batches = Vec::new();
    let mut stream = input.execute(0, context.clone())?;
    while let Some(batch) = stream.try_next().await? {
        let bytes = batch.get_array_memory_size();
        let has_room = memory.size() + bytes <= most && memory.try_grow(bytes).is_ok();
        batches.push(batch);
        if !has_room {
            let before = mem::take(&mut batches);
            memory.free();
            let manager = SpillManager::new(context.runtime_env(), spilled, input.schema());
            return to_file(before, stream, manager).await;
        }
    }
    Ok(Rows::Memory { batches, _memory: memory })
}

/// Writes rows that memory has no room for to a file, those that are still to come behind them.
async fn to_file(
    before: Vec<RecordBatch>,
    mut stream: SendableRecordBatchStream,
    manager: SpillManager,
) -> Result<Rows> {
    let mut file = manager.create_in_progress_file("rows that are read several times")?;
    for batch in before {
        file.append_batch(&batch)?;
    }
    while let Some(batch) = stream.try_next().await? {
        file.append_batch(&batch)?;
    }
    match file.finish()? {
        Some(file) => Ok(Rows::File { file, manager }),
        None => Err(DataFusionError::Internal("a file of no rows".to_owned())),
    }
}

impl Rows {
    /// The rows, for one reader.
    pub(super) fn stream(&self, schema: &SchemaRef) -> Result<SendableRecordBatchStream> {
        match self {
            Self::Memory { batches, .. } => {
                let rows = stream::iter(batches.clone().into_iter().map(Ok));
                Ok(Box::pin(RecordBatchStreamAdapter::new(schema.clone(), rows)))
            }
            Self::File { file, manager } => manager.read_spill_as_stream(file.clone(), None),
        }
    }
}
