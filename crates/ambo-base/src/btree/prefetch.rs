//! Asking for cache lines before they are needed.

/// Bytes of the cache lines that are asked for: header and keys of most leaves.
const BYTES: usize = 512;
const LINE: usize = 64;

/// Begins loading the first lines of a page, all at once: a search would ask for one after the other, as
/// each comparison decides on the next. Costs a few instructions where they are in the cache already.
#[inline]
pub(super) fn page_front(page: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in page[..page.len().min(BYTES)].chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect that a program can see, whatever the address; this one is of a live slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (page, BYTES, LINE);
}
