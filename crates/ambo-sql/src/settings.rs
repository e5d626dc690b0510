//! Settings that can be changed while the database is open, for all its connections.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use ambo::Storage;
use datafusion::execution::SessionState;

use crate::{SqlOptions, times::Zone};

/// What SET sets.
pub(crate) struct Settings {
    threads: AtomicUsize,
    memory_bytes: AtomicUsize,
    storage: AtomicU8,
}

fn number(storage: Storage) -> u8 {
    Storage::ALL.iter().position(|known| *known == storage).unwrap_or(0) as u8
}

impl Settings {
    pub(crate) fn new(options: &SqlOptions) -> Self {
        let (threads, memory, storage) = options.parts();
        Self {
            threads: AtomicUsize::new(threads),
            memory_bytes: AtomicUsize::new(memory),
            storage: AtomicU8::new(number(storage)),
        }
    }

    /// How much memory the operators of all statements may use together.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn set_memory_bytes(&self, bytes: usize) {
        self.memory_bytes.store(bytes, Ordering::Relaxed);
    }

    /// How many parts a statement's work is split into.
    pub(crate) fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    pub(crate) fn set_threads(&self, threads: usize) {
        self.threads.store(threads, Ordering::Relaxed);
    }

    /// The storage of tables whose CREATE TABLE does not say.
    pub(crate) fn storage(&self) -> Storage {
        Storage::ALL[self.storage.load(Ordering::Relaxed) as usize]
    }

    pub(crate) fn set_storage(&self, storage: Storage) {
        self.storage.store(number(storage), Ordering::Relaxed);
    }

    /// Tells the planner, before a statement.
    pub(crate) fn apply(&self, state: &mut SessionState, zone: Zone) {
        let threads = self.threads();
        let config = state.config_mut();
        if config.target_partitions() != threads {
            config.options_mut().execution.target_partitions = threads;
        }
        if zone != Zone::UTC {
            config.options_mut().execution.time_zone = Some(zone.name());
        }
    }
}
