//! Asking for memory before it is needed.
//!
//! A row of a column store lies in as many places as it has columns, and each is a cache miss. Who asks for all of them first waits for
//! them together, not for one after the other.

#![allow(unsafe_code, reason = "an instruction that has no other name")]

/// Asks for the cache line at `at`, which need not be memory of this process: nothing is read that anybody could see.
#[inline(always)]
pub fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86_64; a prefetch of any address reads nothing, writes nothing and does not fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{at}]", at = in(reg) at, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

/// Asks for the cache line of a byte, if there is such a byte.
#[inline(always)]
pub(crate) fn prefetch_byte(bytes: &[u8], index: usize) {
    if let Some(byte) = bytes.get(index) {
        prefetch(byte);
    }
}
