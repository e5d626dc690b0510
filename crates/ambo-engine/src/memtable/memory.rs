//! Address ranges for arenas, and what makes them quick: memory that an earlier memtable used and the kernel need
//! not clear again.
//!
//! A first touch of a page costs a fault and its clearing, for rows of 500 bytes as much as the insert itself. So a
//! dropped memtable gives its memory to a [`MemoryPool`], and a growing one takes it from there, 2 MiB at a time, by having
//! the kernel move the pages to the next of its own addresses. Only as much as is used is moved: a small memtable
//! never holds what a large one left.
//!
//! **Thread safety.** A pool may be used by any number of threads; its lock is a leaf.

use std::{ffi::c_void, io, ptr::NonNull, sync::Arc};

use ambo_types::{Error, Result};
use parking_lot::Mutex;
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap_fixed, munmap};

/// What is moved at once, and the boundary it lies on: a huge page, whose move is one entry of a page table.
pub(super) const CHUNK: usize = 2 << 20;
const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);
const PRIVATE: MapFlags = MapFlags::PRIVATE.union(MapFlags::NORESERVE);

/// A mapping that nothing else knows of, unmapped when dropped. It may have holes whose pages were moved away.
pub(super) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: it stands for addresses, which are good in every thread, and owns them alone.
unsafe impl Send for Mapping {}
// SAFETY: shared, it gives away nothing but its addresses.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves `len` bytes of addresses from a multiple of [`CHUNK`] on, without taking memory for them.
    pub(super) fn new(len: usize) -> Result<Self> {
        let wrap = |e: rustix::io::Errno| {
            Error::io(format!("reserve {len} bytes of addresses for a memtable"), io::Error::from(e))
        };
        let around = len + CHUNK;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice overlaps nothing of ours.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), around, ACCESS, PRIVATE) }.map_err(wrap)?;
        let base = NonNull::new(base.cast::<u8>()).expect("mmap does not return null");
        let mut mapping = Self { base, len: around };
        let before = base.as_ptr().align_offset(CHUNK);
        mapping.cut_front(before);
        mapping.cut_back(around - before - len);
        Ok(mapping)
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Asks for huge pages from `offset` on. A kernel without them refuses, which costs speed only.
    pub(super) fn use_huge_pages(&self, offset: usize) {
        if offset < self.len {
            // SAFETY: the range is inside the mapping; the advice changes no contents.
            let _ = unsafe {
                madvise(
                    self.base.add(offset).as_ptr().cast::<c_void>(),
                    self.len - offset,
                    Advice::LinuxHugepage,
                )
            };
        }
    }

    /// Unmaps the first `bytes`, a multiple of the page size.
    fn cut_front(&mut self, bytes: usize) {
        if bytes > 0 {
            assert!(bytes < self.len);
            // SAFETY: the range is the mapping's own, and the mapping ends to cover it.
            let unmapped = unsafe { munmap(self.base.as_ptr().cast::<c_void>(), bytes) };
            debug_assert!(unmapped.is_ok());
            // SAFETY: inside the mapping, as asserted.
            self.base = unsafe { self.base.add(bytes) };
            self.len -= bytes;
        }
    }

    /// Unmaps the last `bytes`, a multiple of the page size.
    fn cut_back(&mut self, bytes: usize) {
        if bytes > 0 {
            assert!(bytes < self.len);
            self.len -= bytes;
            // SAFETY: the range is the mapping's own, and the mapping ends to cover it.
            let unmapped = unsafe { munmap(self.base.add(self.len).as_ptr().cast::<c_void>(), bytes) };
            debug_assert!(unmapped.is_ok());
        }
    }

    /// Moves the memory of the last chunk to `target`, in place of what is there, and forgets the chunk here.
    ///
    /// # Safety
    /// `target` must be the start of a chunk of the caller's own mapping that nothing was put into.
    unsafe fn move_last_chunk(&mut self, target: NonNull<u8>) {
        debug_assert!(self.len >= CHUNK);
        self.len -= CHUNK;
        // SAFETY: the source is this mapping's own and forgotten as of now; the target may be replaced, says the caller.
        let moved = unsafe {
            let source = self.base.add(self.len).as_ptr().cast::<c_void>();
            let target = target.as_ptr().cast::<c_void>();
            mremap_fixed(source, CHUNK, CHUNK, MremapFlags::MAYMOVE, target).inspect_err(|_| {
                let _ = munmap(source, CHUNK);
            })
        };
        if moved.is_err() {
            // The kernel may have cleared the target's addresses before it failed: take them again.
            let flags = PRIVATE | MapFlags::FIXED;
            // SAFETY: as above.
            let again = unsafe { mmap_anonymous(target.as_ptr().cast::<c_void>(), CHUNK, ACCESS, flags) };
            again.expect("addresses that were held a moment ago can be had again");
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the mapping is its own alone, and every reference into it has ended.
            let unmapped = unsafe { munmap(self.base.as_ptr().cast::<c_void>(), self.len) };
            debug_assert!(unmapped.is_ok());
        }
    }
}

/// Memory that dropped memtables leave for later ones; see the module. Without a pool a memtable returns all of its memory to
/// the system.
pub struct MemoryPool {
    keep_bytes_max: usize,
    kept: Mutex<KeptMapping>,
}

#[derive(Default)]
struct KeptMapping {
    mappings: Vec<Mapping>,
    bytes: usize,
}

impl MemoryPool {
    /// A pool that keeps at most `keep_bytes_max` bytes resident.
    pub fn new(keep_bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { keep_bytes_max, kept: Mutex::default() })
    }

    /// Bytes that are resident for no memtable.
    pub fn bytes(&self) -> usize {
        self.kept.lock().bytes
    }

    /// Returns everything kept to the system.
    pub fn clear(&self) {
        let kept = std::mem::take(&mut *self.kept.lock());
        drop(kept);
    }

    /// Takes over the chunks of `mapping` from `from` to `to`, as far as there is room, and unmaps the rest.
    pub(super) fn give(&self, mut mapping: Mapping, from: usize, to: usize) {
        let to = to.min(mapping.len());
        if to < from + CHUNK {
            return;
        }
        mapping.cut_back(mapping.len() - to);
        mapping.cut_front(from);
        let mut kept = self.kept.lock();
        let room = self.keep_bytes_max.saturating_sub(kept.bytes) / CHUNK * CHUNK;
        let chunks = mapping.len() / CHUNK * CHUNK;
        if room.min(chunks) > 0 {
            mapping.cut_back(mapping.len() - room.min(chunks));
            kept.bytes += mapping.len();
            debug_assert!(mapping.len().is_multiple_of(CHUNK) && kept.bytes <= self.keep_bytes_max);
            kept.mappings.push(mapping);
        }
    }

    /// Moves memory to `target` if there is any.
    ///
    /// # Safety
    /// `target` must be the start of a chunk of the caller's own mapping that nothing was put into.
    pub(super) unsafe fn take(&self, target: NonNull<u8>) {
        let mut kept = self.kept.lock();
        let Some(mapping) = kept.mappings.last_mut() else {
            return;
        };
        // SAFETY: as the caller says.
        unsafe { mapping.move_last_chunk(target) };
        if mapping.len() == 0 {
            kept.mappings.pop();
        }
        kept.bytes -= CHUNK;
        debug_assert_eq!(kept.bytes == 0, kept.mappings.is_empty());
    }
}

impl std::fmt::Debug for MemoryPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryPool").field("bytes", &self.bytes()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(len: usize, byte: u8) -> Mapping {
        let mapping = Mapping::new(len).expect("addresses");
        // SAFETY: newly mapped, `len` bytes long.
        unsafe { mapping.base().write_bytes(byte, len) };
        mapping
    }

    // Memory kept beyond the limit, counted twice, or lost.
    #[test]
    fn keeps_whole_chunks_up_to_its_limit() {
        let pool = MemoryPool::new(5 * CHUNK);
        pool.give(filled(CHUNK - 4096, 1), 0, CHUNK);
        assert_eq!(pool.bytes(), 0);
        pool.give(filled(4 * CHUNK, 1), CHUNK, 4 * CHUNK);
        assert_eq!(pool.bytes(), 3 * CHUNK);
        pool.give(filled(4 * CHUNK, 2), 0, 4 * CHUNK);
        assert_eq!(pool.bytes(), 5 * CHUNK);
        let target = Mapping::new(6 * CHUNK).expect("addresses");
        for chunk in 0..6 {
            // SAFETY: each chunk is the mapping's own, aligned and unused.
            unsafe { pool.take(target.base().add(chunk * CHUNK)) };
        }
        assert_eq!(pool.bytes(), 0);
        // SAFETY: mapped, and initialised by `filled` or as zeros.
        let first = |chunk| unsafe { target.base().add(chunk * CHUNK).read() };
        assert_eq!([0, 1, 2, 3, 4, 5].map(first), [2, 2, 1, 1, 1, 0]);
        pool.give(target, 0, 2 * CHUNK);
        pool.clear();
        assert_eq!(pool.bytes(), 0);
    }
}
