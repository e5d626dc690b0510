//! The lock of a node: a version that readers compare and a bit that writers set.
//!
//! After V. Leis, M. Haubenschild, T. Neumann: "Optimistic Lock Coupling: A Scalable and Efficient
//! General-Purpose Synchronization Method" (IEEE Data Engineering Bulletin 42(1), 2019).
//!
//! **Thread safety.**
//!
//! 1. The word is even when nobody writes and odd while one does; each writing leaves it 2 higher. It never wraps:
//!    2⁶³ writings take centuries.
//! 2. What a reader loads between [`VersionLock::read`] and a [`VersionLock::check`] that passes is what one state
//!    of the node held. All of it must be atomic loads, since without a pass they may be of several states.

use ambo_pages::sync::{AtomicU64, Ordering, fence, yield_now};

/// The node changed while it was being read: begin again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Restart;

/// How often to look at a held lock before giving the processor away. The holder needs some tens of nanoseconds unless it
/// was preempted, and then spinning keeps it from going on.
const SPINS: u32 = if cfg!(feature = "shuttle") { 1 } else { 64 };

/// See the module.
pub(super) struct VersionLock(AtomicU64);

impl VersionLock {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The version to read under; waits while a writer is at work.
    pub(super) fn read(&self) -> u64 {
        let version = self.0.load(Ordering::Acquire);
        if version & 1 == 0 { version } else { self.wait() }
    }

    #[cold]
    fn wait(&self) -> u64 {
        for round in 0.. {
            if round < SPINS {
                std::hint::spin_loop();
            } else {
                yield_now();
            }
            let version = self.0.load(Ordering::Acquire);
            if version & 1 == 0 {
                return version;
            }
        }
        unreachable!("the loop has no end")
    }

    /// Whether everything read since `version` was had is of that one version.
    pub(super) fn check(&self, version: u64) -> Result<(), Restart> {
        // Loads before the fence that saw a write of a later version make the load after it see that version's
        // lock bit or more: the writer's fence in `lock` pairs with this one.
        fence(Ordering::Acquire);
        if self.0.load(Ordering::Relaxed) == version { Ok(()) } else { Err(Restart) }
    }

    /// Locks for writing if the node is still at `version`.
    pub(super) fn lock(&self, version: u64) -> Result<WriteGuard<'_>, Restart> {
        debug_assert!(version & 1 == 0, "a version that was read is that of a node that nobody writes");
        self.0
            .compare_exchange(version, version + 1, Ordering::Acquire, Ordering::Relaxed)
            .map_err(|_| Restart)?;
        fence(Ordering::Release);
        Ok(WriteGuard { lock: self, version })
    }
}

/// The right to write to a node; dropping it publishes what was written.
pub(super) struct WriteGuard<'a> {
    lock: &'a VersionLock,
    version: u64,
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        debug_assert_eq!(self.lock.0.load(Ordering::Relaxed), self.version + 1, "nobody else has the lock");
        self.lock.0.store(self.version + 2, Ordering::Release);
    }
}
