//! A large, lazily touched, zeroed stretch of anonymous memory.
//!
//! It is reserved without being committed: what is never touched costs nothing. Huge pages are asked for, so
//! that a cache of a gigabyte needs 512 entries of the processor's address cache and not 262,144.

use std::{ffi::c_void, io, ptr};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Huge pages begin at multiples of this.
const HUGE_BYTES: usize = 2 << 20;

/// A mapping of `len` bytes that live until it is dropped.
pub(super) struct Arena {
    mapping: *mut c_void,
    mapped: usize,
    base: *mut u8,
    len: usize,
}

// SAFETY: the arena only hands out raw pointers; those who read or write through them synchronise (see `frame`).
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Reserves `len` bytes, all zero, beginning at a multiple of a huge page.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        assert!(len > 0, "memory has bytes");
        let mapped = len.next_multiple_of(HUGE_BYTES) + HUGE_BYTES;
        // SAFETY: a fresh anonymous mapping at an address that the system chooses touches no memory of ours.
        let mapping = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        };
        let base = mapping.cast::<u8>();
        let base = base.wrapping_add(base.align_offset(HUGE_BYTES));
        debug_assert!(
            base.addr() + len <= mapping.addr() + mapped && base.addr().is_multiple_of(HUGE_BYTES),
            "the memory lies in its mapping, and begins as huge pages do"
        );
        #[cfg(target_os = "linux")]
        if len >= HUGE_BYTES {
            // SAFETY: the range lies in our own mapping; the advice changes no contents. Its refusal only costs speed.
            let _ = unsafe { madvise(base.cast(), len, Advice::LinuxHugepage) };
        }
        Ok(Self { mapping, mapped, base, len })
    }

    /// The first byte.
    pub(super) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Gives the memory of a range back to the system; its bytes are zero again.
    ///
    /// # Safety
    /// Nobody reads or writes the range meanwhile.
    pub(super) unsafe fn discard(&self, offset: usize, len: usize) {
        assert!(offset <= self.len && len <= self.len - offset, "the range is in the memory");
        // SAFETY: the range lies in our own private mapping, and the caller answers for nobody using it.
        // A refusal leaves the old bytes, which the caller must not rely on either.
        let _ = unsafe { madvise(self.base.add(offset).cast(), len, Advice::LinuxDontNeed) };
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, whole, and no reference into it outlives the arena.
        let _ = unsafe { munmap(self.mapping, self.mapped) };
    }
}
