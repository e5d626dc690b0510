//! The synchronisation primitives that lock-free code uses, so that a schedule explorer can stand in
//! for the real ones: `--features shuttle` swaps them.

#[cfg(feature = "shuttle")]
pub use shuttle::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::yield_now,
};
#[cfg(not(feature = "shuttle"))]
pub use std::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::yield_now,
};
