//! Stack for statements and plans.
//!
//! What walks through a statement's tree, or a plan, calls itself for each level: the planner's rules, most of which grow the stack where
//! they need it (DataFusion 55), and ours; and operators ask those below them for rows. `parse/depth.rs` and `optimizer/depth.rs` bound how
//! many levels there are. Threads of callers may have 2 MiB of stack and less, so statements are run where enough is left. Functions that
//! were not optimised take some times as much.

/// How many times the stack it takes where functions are not optimised, as in the builds of developers.
const TIMES: usize = if cfg!(debug_assertions) { 4 } else { 1 };
/// Bytes that a plan of the greatest depth needs, with room to spare.
const NEEDED: usize = TIMES * (4 << 20);
/// What walking through one level of a statement's tree takes, with room to spare.
const A_LEVEL: usize = TIMES * (4 << 10);
/// What dropping one level of a tree takes, with room to spare.
const A_DROP: usize = 512;
/// Texts of so many bytes are never deep.
const SHORT: usize = 256;

/// Bytes of stack for threads that run statements: with so many they need no other, which costs more than a short statement. They take
/// memory as they are used.
pub const OF_THREADS: usize = 2 * NEEDED;

/// Does something where the stack is large enough for plans.
pub(crate) fn with_enough<R>(act: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(NEEDED, 2 * NEEDED, act)
}

/// Does something with what a text says, where the stack is large enough for it.
pub(crate) fn for_text<R>(text: &str, act: impl FnOnce() -> R) -> R {
    if text.len() <= SHORT { act() } else { with_enough(act) }
}

/// Does something where a tree of so many levels can be walked through, and one of `dropped` levels can be dropped.
pub(crate) fn for_levels<R>(levels: usize, dropped: usize, act: impl FnOnce() -> R) -> R {
    let needed = levels * A_LEVEL + dropped * A_DROP;
    stacker::maybe_grow(needed, needed, act)
}
