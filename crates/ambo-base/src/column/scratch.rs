//! What a look-up of one row needs in memory, kept by each thread for its next one: to allocate and free some dozen small buffers took a
//! sixth of a look-up.

use std::{cell::Cell, sync::Arc};

use super::{schema::ColumnSchema, search::Window};
use ambo_scan::buffer::ColumnBuffer;

/// More bytes than this are not kept.
const BYTES_MAX: usize = 256 << 10;

/// See the module.
pub(super) struct Scratch {
    schema: Arc<ColumnSchema>,
    /// For the search.
    pub(super) window: Window,
    /// For the values of a row, without those of its key.
    pub(super) row: Vec<ColumnBuffer>,
}

thread_local! {
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// Calls `then` with buffers of a schema's columns, which are empty.
    pub(super) fn with<R>(schema: &Arc<ColumnSchema>, then: impl FnOnce(&mut Self) -> R) -> R {
        let kept = KEPT.take().filter(|kept| Arc::ptr_eq(&kept.schema, schema));
        let mut scratch = kept.unwrap_or_else(|| {
            Box::new(Self {
                schema: schema.clone(),
                window: Window::new(schema),
                row: schema.buffers().into_iter().skip(schema.key_columns()).collect(),
            })
        });
        debug_assert!(scratch.row.iter().all(ColumnBuffer::is_empty), "nothing is left of the last look-up");
        let result = then(&mut scratch);
        // Blocks are the cache's, and segments of another database may have the same numbers.
        scratch.window.forget();
        let row: usize = scratch.row.iter().map(ColumnBuffer::memory).sum();
        if row + scratch.window.memory() <= BYTES_MAX {
            scratch.row.iter_mut().for_each(ColumnBuffer::clear);
            KEPT.set(Some(scratch));
        }
        result
    }
}
