//! Where memtables come from: address space for what the budget allows, and the memory of memtables that are gone.

use std::sync::Arc;

use ambo_types::{Result, Storage};

use super::options::Options;
use crate::memtable::{MemoryPool, Memtable};

/// Address space reserved for a memtable beyond its share of the budget; memory is taken only as it is used.
const SLACK: usize = 256 << 20;
/// The reach of a memtable's references.
const RESERVE_MAX: usize = 32 << 30;

/// Makes the memtables of one database.
#[derive(Clone)]
pub(super) struct Memtables {
    /// Memory that was touched once is kept for the next memtable: the first touch costs more than all else of a put. At
    /// most half of the budget is kept, and memtables take from it first, so that both together stay within the budget as
    /// long as they do.
    pool: Arc<MemoryPool>,
    reserve: usize,
}

impl Memtables {
    pub(super) fn new(options: &Options) -> Self {
        let reserve =
            options.memtable_bytes.saturating_mul(2).saturating_add(options.transaction_bytes_max * 2);
        Self {
            pool: MemoryPool::new(options.memtable_bytes / 2),
            reserve: reserve.saturating_add(SLACK).min(RESERVE_MAX),
        }
    }

    /// An empty memtable for a table of a storage. Scans by column ask for what was written since the last one.
    pub(super) fn make(&self, storage: Storage) -> Result<Arc<Memtable>> {
        let memtable = Memtable::new_in(&self.pool, self.reserve)?;
        Ok(Arc::new(if storage.traits().by_column { memtable.with_journal() } else { memtable }))
    }
}
