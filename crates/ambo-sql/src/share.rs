//! The part of the memory of all statements that one statement may use: `statement_memory`.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use datafusion::{
    common::{DataFusionError, Result},
    execution::{
        SessionState, TaskContext,
        memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation},
        runtime_env::RuntimeEnv,
    },
};

/// What operators of a statement run in. With a share, what they reserve is counted against that, and against what all have.
pub(crate) fn context(state: &SessionState, share: Option<usize>) -> Arc<TaskContext> {
    let Some(bytes) = share else { return state.task_ctx() };
    let all = state.runtime_env();
    let pool = Share { all: all.memory_pool.clone(), bytes, used: AtomicUsize::new(0) };
    let runtime = RuntimeEnv { memory_pool: Arc::new(pool), ..RuntimeEnv::clone(all) };
    Arc::new(TaskContext::from(state).with_runtime(Arc::new(runtime)))
}

/// A part of a pool.
#[derive(Debug)]
struct Share {
    all: Arc<dyn MemoryPool>,
    bytes: usize,
    used: AtomicUsize,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.bytes, self.all)
    }
}

impl MemoryPool for Share {
    fn name(&self) -> &str {
        "statement"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.all.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.all.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.used.fetch_add(additional, Ordering::Relaxed);
        self.all.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.used.fetch_sub(shrink, Ordering::Relaxed);
        self.all.shrink(reservation, shrink);
    }

    /// Operators that can write what they hold to files do so when they are refused; others fail.
    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let used = self.used.fetch_add(additional, Ordering::Relaxed);
        let grown = match used.checked_add(additional).is_some_and(|wanted| wanted <= self.bytes) {
            true => self.all.try_grow(reservation, additional),
            false => Err(DataFusionError::ResourcesExhausted(format!(
                "the statement would use more than the {} bytes of its statement_memory",
                self.bytes
            ))),
        };
        if grown.is_err() {
            self.used.fetch_sub(additional, Ordering::Relaxed);
        }
        grown
    }

    fn reserved(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}
