//! The memory of one memtable: a single reserved mapping, handed out front to back and given back whole.
//!
//! **Thread safety.** [`Arena::allocate`] may be called by any number of threads.
//!
//! 1. A byte is handed out at most once and stays mapped, at the same address, until the arena is dropped.
//! 2. An [`At<T>`] is made only where a `T` was written, or stands at the start of a larger `repr(C)` object
//!    that begins with a `T`; it reaches other threads only through an [`AtomicAt`] (release / acquire) or a
//!    hand-over that orders as strongly. So following one always finds an initialised `T`.
//! 3. Memory behind `used` is not touched: what is resident is what is used, rounded up to a page, small or huge.
//! 4. Memory behind `ready` is not handed out: up to there the pool's memory was moved in, as far as it had any.

use std::{alloc::Layout, fmt, marker::PhantomData, ptr::NonNull, sync::Arc};

use ambo_pages::sync::{AtomicU32, AtomicUsize, Ordering};
use ambo_types::Result;
use parking_lot::Mutex;

use super::memory::{CHUNK, Mapping, MemoryPool};

/// The memtable has no room left for what was to be inserted: nothing was inserted. Freeze it and go on in a new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the memtable's reserved memory is used up")]
pub struct Full;

/// Every allocation begins on a multiple of this, and [`At`] counts in it.
pub(super) const UNIT: usize = 8;
/// What a 32-bit count of units can reach: 32 GiB.
const REACH: usize = UNIT << 32;
/// Reservations are whole pages.
const PAGE: usize = 4096;
/// From this offset on the kernel is asked for huge pages. A memtable below it costs what it uses to within 4 KiB;
/// above it at most one huge page (2 MiB, a quarter of what is there already) is resident in advance.
const HUGE_PAGES_FROM: usize = 8 << 20;
const _: () = assert!(HUGE_PAGES_FROM.is_multiple_of(CHUNK));

/// Where in its arena a `T` is.
pub(super) struct At<T>(u32, PhantomData<fn() -> T>);

impl<T> Clone for At<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for At<T> {}
impl<T> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> fmt::Debug for At<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "At({})", self.0)
    }
}

impl<T> At<T> {
    /// Nowhere. The arena's first unit is never handed out.
    pub(super) const NULL: Self = Self(0, PhantomData);

    pub(super) fn is_null(self) -> bool {
        self.0 == 0
    }
    /// The same place seen as another type.
    ///
    /// # Safety
    /// A `U` must be there (invariant 2).
    pub(super) unsafe fn cast<U>(self) -> At<U> {
        At(self.0, PhantomData)
    }
    /// The place `bytes` further on.
    ///
    /// # Safety
    /// A `U` must be there, or be written there before the place is used.
    pub(super) unsafe fn offset<U>(self, bytes: usize) -> At<U> {
        debug_assert!(bytes.is_multiple_of(UNIT));
        At(self.0 + (bytes / UNIT) as u32, PhantomData)
    }
}

/// An [`At`], or nothing, that threads share.
pub(super) struct AtomicAt<T>(AtomicU32, PhantomData<fn() -> T>);

impl<T> AtomicAt<T> {
    pub(super) fn new(at: At<T>) -> Self {
        Self(AtomicU32::new(at.0), PhantomData)
    }
    /// What was stored last, possibly [`At::NULL`]; if not, what is there can be read.
    pub(super) fn load(&self) -> At<T> {
        At(self.0.load(Ordering::Acquire), PhantomData)
    }
    /// Publishes `at` and everything written before.
    pub(super) fn store(&self, at: At<T>) {
        self.0.store(at.0, Ordering::Release);
    }
}

/// See the module.
pub(super) struct Arena {
    /// Of the mapping; kept beside it so that every access is one addition.
    base: NonNull<u8>,
    mapping: Option<Mapping>,
    reserved: usize,
    used: AtomicUsize,
    pool: Option<Arc<MemoryPool>>,
    /// Up to here the pool was asked for memory; grows under the lock `growing`.
    ready: AtomicUsize,
    growing: Mutex<()>,
}

// SAFETY: the mapping belongs to the arena alone; hand-outs never overlap (invariant 1), and what is in them is
// shared under the rules of their types.
unsafe impl Send for Arena {}
// SAFETY: as above; what changes is atomic or under its lock.
unsafe impl Sync for Arena {}

impl Arena {
    /// Reserves addresses for `bytes` (at most 32 GiB), without taking memory for them.
    pub(super) fn new(bytes: usize, pool: Option<Arc<MemoryPool>>) -> Result<Self> {
        let reserved = bytes.clamp(PAGE, REACH).next_multiple_of(PAGE);
        let mapping = Mapping::new(reserved)?;
        mapping.use_huge_pages(HUGE_PAGES_FROM);
        let ready = if pool.is_some() { HUGE_PAGES_FROM } else { usize::MAX };
        Ok(Self {
            base: mapping.base(),
            mapping: Some(mapping),
            reserved,
            used: AtomicUsize::new(UNIT),
            pool,
            ready: AtomicUsize::new(ready),
            growing: Mutex::new(()),
        })
    }

    /// Bytes handed out.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Memory for a `T` and `tail` bytes behind it, with any contents.
    ///
    /// # Safety
    /// A `T` must be written there ([`Arena::write`]) before the place is used or published.
    pub(super) unsafe fn allocate<T>(&self, tail: usize) -> Result<At<T>, Full> {
        let layout = Layout::new::<T>();
        // Only units are aligned, so a stronger alignment is found inside a little more memory.
        let padding = layout.align().saturating_sub(UNIT);
        let bytes = (layout.size() + tail).next_multiple_of(UNIT) + padding;
        // Asking first keeps one request that is too large from failing others while it gives its part back.
        if bytes > self.reserved.saturating_sub(self.used()) {
            return Err(Full);
        }
        let start = self.used.fetch_add(bytes, Ordering::Relaxed);
        if start + bytes > self.reserved {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(Full);
        }
        if start + bytes > self.ready.load(Ordering::Acquire) {
            self.grow(start + bytes);
        }
        let start = start.next_multiple_of(layout.align().max(UNIT));
        Ok(At((start / UNIT) as u32, PhantomData))
    }

    /// Has the pool's memory moved to the chunks up to `end`. Nobody touches a chunk before, because every
    /// hand-out that reaches beyond `ready` comes here first.
    #[cold]
    fn grow(&self, end: usize) {
        let _growing = self.growing.lock();
        let mut ready = self.ready.load(Ordering::Relaxed);
        while ready < end {
            // A last chunk that is not whole stays as it is.
            if let Some(pool) = self.pool.as_ref().filter(|_| ready + CHUNK <= self.reserved) {
                // SAFETY: the chunk is the arena's own, aligned as the mapping and `ready` are, and untouched.
                unsafe { pool.take(self.base.add(ready)) };
            }
            ready += CHUNK;
        }
        self.ready.store(ready, Ordering::Release);
    }

    /// Puts `value` in its place.
    ///
    /// # Safety
    /// `at` must be newly allocated for a `T`, by this thread, and not yet published.
    pub(super) unsafe fn write<T>(&self, at: At<T>, value: T) {
        // SAFETY: the place is ours alone, large enough and aligned, says the caller.
        unsafe { self.pointer(at).write(value) };
    }

    /// Copies `bytes` to the memory behind the `T` at `at`.
    ///
    /// # Safety
    /// The range must be newly allocated, by this thread, and not yet published.
    pub(super) unsafe fn write_tail<T>(&self, at: At<T>, bytes: &[u8]) {
        debug_assert!(self.has_tail(at, bytes.len()), "the range was handed out");
        // SAFETY: the range was handed out to this thread and nobody else knows of it, says the caller.
        unsafe {
            self.pointer(at).add(1).cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// The `T` at `at`, which must be a place in this arena and not null.
    pub(super) fn get<T>(&self, at: At<T>) -> &T {
        debug_assert!(!at.is_null());
        // SAFETY: invariants 1 and 2.
        unsafe { &*self.pointer(at) }
    }

    /// The `len` bytes behind the `T` at `at`.
    ///
    /// # Safety
    /// They must have been written before the place was published, and never be written again.
    pub(super) unsafe fn tail<T>(&self, at: At<T>, len: usize) -> &[u8] {
        debug_assert!(self.has_tail(at, len), "the range was handed out");
        // SAFETY: initialised and immutable, says the caller; mapped, says invariant 1.
        unsafe { std::slice::from_raw_parts(self.pointer(at).add(1).cast::<u8>(), len) }
    }

    /// Asks the processor to bring `bytes` from `at` on into its cache.
    pub(super) fn prefetch<T>(&self, at: At<T>, bytes: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in 0..bytes.div_ceil(64) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let pointer = self.pointer(at).cast::<i8>().wrapping_add(line * 64);
            // SAFETY: a prefetch is a hint and is harmless for any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(pointer) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (at, bytes);
    }

    /// Whether so many bytes behind the `T` at `at` were handed out; for assertions.
    fn has_tail<T>(&self, at: At<T>, bytes: usize) -> bool {
        at.0 as usize * UNIT + size_of::<T>() + bytes <= self.used()
    }
    fn pointer<T>(&self, at: At<T>) -> *mut T {
        let offset = at.0 as usize * UNIT;
        debug_assert!(offset < self.reserved);
        // SAFETY: places are made by `allocate`, which stays inside the mapping.
        unsafe { self.base.as_ptr().add(offset).cast::<T>() }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // Nothing in it owns anything outside, so nothing is left to drop but the memory.
        if let (Some(pool), Some(mapping)) = (&self.pool, self.mapping.take()) {
            let end = self.used().min(self.reserved).next_multiple_of(CHUNK);
            pool.give(mapping, HUGE_PAGES_FROM, end);
        }
    }
}
