//! The crate `parquet` was not made for hostile files: what it takes for impossible becomes an error here, without a trace of a panic.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Once,
};

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs what may panic. `None` if it did; nothing is printed then.
pub fn guarded<T>(act: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                others(panic);
            }
        }));
    });
    let before = IS_QUIET.replace(true);
    let done = catch_unwind(AssertUnwindSafe(act));
    IS_QUIET.set(before);
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: a panic that goes on, and one elsewhere that is not told.
    #[test]
    fn panics_end_here() {
        assert_eq!(guarded(|| 5), Some(5));
        let none: Option<u8> = guarded(|| std::panic::panic_any("none of your business"));
        assert_eq!(none, None);
        assert!(!IS_QUIET.get());
    }
}
