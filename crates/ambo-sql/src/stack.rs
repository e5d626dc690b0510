//! Stack for plans.
//!
//! What walks through a plan calls itself for each operator below another: the planner's rules, most of which grow the stack where they
//! need it (DataFusion 55), and ours; and operators ask those below them for rows. `optimizer/depth.rs` bounds how many stand over one
//! another. Threads of callers may have 2 MiB of stack and less, so plans are made and asked for rows where this much is left.

/// Bytes that a plan of the greatest depth needs, with room to spare.
const NEEDED: usize = 4 << 20;

/// Bytes of threads that work on plans; they take memory as they are used.
pub(crate) const OF_THREADS: usize = 2 * NEEDED;

/// Does something where the stack is large enough for plans.
pub(crate) fn with_enough<R>(act: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(NEEDED, 2 * NEEDED, act)
}
