//! Work that is cut into parts, which several threads take one after the other.

use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::Result;

/// Does all parts, in any order, by up to `threads` threads, each with a state of its own. Returns the states, one at least.
///
/// # Errors
/// The first of any thread; the others stop with the part that they are at.
pub fn fold_parts<S: Send>(
    parts: usize,
    threads: usize,
    init: impl Fn() -> S + Sync,
    step: impl Fn(&mut S, usize) -> Result<()> + Sync,
) -> Result<Vec<S>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<S> {
        let mut state = init();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts {
                return Ok(state);
            }
            if let Err(error) = step(&mut state, part) {
                next.store(parts, Ordering::Relaxed);
                return Err(error);
            }
        }
    };
    let others = threads.min(parts).saturating_sub(1);
    thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
        let own = work();
        let join = |other: thread::ScopedJoinHandle<'_, Result<S>>| {
            other.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        std::iter::once(own).chain(others.into_iter().map(join)).collect()
    })
}
