//! Pages that live in memory only: page `n` is frame `n`, for ever or until it is freed.

use ambo_types::{
    Error, Result,
    id::{PageNo, PagePtr},
};

use super::{NAME, PageRef, frame::Frames, header};

/// The address space reserved for one store, where the system allows that much; it costs nothing until touched.
const RESERVE_BYTES: usize = 256 << 30;

/// In the page word of a frame: this is a further unit of the page with that number. No [`PagePtr`] that is made has this
/// bit: a page has too few units for it.
const FURTHER: u64 = 1 << 63;
const _: () = assert!(super::UNITS_MAX < 1 << 15);

/// The frames of a store without a file.
pub(super) struct MemoryPages {
    frames: Frames,
    page_size: usize,
}

impl MemoryPages {
    /// Reserves as much address space as the system gives.
    ///
    /// # Panics
    /// If not even 64 MiB can be reserved, as with any failed allocation.
    pub(super) fn new(page_size: usize) -> Self {
        let mut bytes = RESERVE_BYTES;
        loop {
            match Frames::new((bytes / page_size) as u32, page_size) {
                Ok(frames) => return Self { frames, page_size },
                Err(error) => {
                    assert!(bytes > 64 << 20, "no address space for pages in memory: {error}");
                    bytes /= 2;
                }
            }
        }
    }

    /// How many pages there can be.
    pub(super) fn pages_max(&self) -> u64 {
        u64::from(self.frames.count())
    }

    #[inline]
    pub(super) fn read(&self, ptr: PagePtr) -> Result<PageRef<'_>> {
        let number = ptr.number().0;
        if ptr.units() == 0 || number + u64::from(ptr.units()) > self.pages_max() {
            return Err(missing(ptr));
        }
        let frame = self.frames.frame(number as u32);
        if !frame.try_pin(ptr.0, 0) {
            return Err(missing(ptr));
        }
        let bytes = self.frames.bytes(number as u32, ptr.units());
        // SAFETY: the frame's page is published and pinned by us. Its further units, if it has any, were written under
        // the same claim and are neither reused nor written before the first unit is claimed again. The mapping lives as
        // long as `self`.
        Ok(unsafe { PageRef::pinned(frame, bytes, usize::from(ptr.units()) * self.page_size) })
    }

    /// Stores consecutive pages of `units` units each; they can be read at once.
    pub(super) fn write(&self, first: PageNo, units: u16, bytes: &mut [u8]) {
        let numbers = (first.0..).step_by(usize::from(units));
        for (number, page) in numbers.zip(bytes.chunks_mut(usize::from(units) * self.page_size)) {
            self.write_page(PageNo(number), units, page);
        }
    }

    fn write_page(&self, number: PageNo, units: u16, page: &mut [u8]) {
        assert_eq!(page.len(), usize::from(units) * self.page_size, "a page has its units");
        header::seal(page, number);
        debug_assert_eq!(header::verify(page, number), Ok(()), "a page that is written can be read");
        let frame = self.frames.frame(number.0 as u32);
        let bytes = self.frames.bytes(number.0 as u32, units);
        assert!(frame.try_claim(), "page {number} is written while it is read");
        // SAFETY: the pages were allocated to the caller alone, the first frame is claimed, and those after it are not
        // readable by themselves; the length was checked by `bytes`.
        unsafe { std::ptr::copy_nonoverlapping(page.as_ptr(), bytes, page.len()) };
        for further in 1..u64::from(units) {
            self.mark(number.0 + further, FURTHER | number.0);
        }
        frame.publish(PagePtr::new(number, units).0, 0, 0);
    }

    fn mark(&self, number: u64, page: u64) {
        let frame = self.frames.frame(number as u32);
        assert!(frame.try_claim(), "page {number} is written while it is read");
        frame.publish(page, 0, 0);
    }

    /// Makes pages unreadable. `false` if one is pinned: then try again later, none may be reused before.
    pub(super) fn forget(&self, first: u64, pages: u64) -> bool {
        let mut all = true;
        for number in first..first + pages {
            let frame = self.frames.frame(number as u32);
            let page = frame.page();
            let whole = page & FURTHER == 0 || (first..number).contains(&(page & !FURTHER));
            assert!(whole, "page {number} is freed without the page that it is a part of");
            if frame.try_claim() {
                frame.publish(super::frame::NO_PAGE, 0, 0);
            } else {
                all = false;
            }
        }
        all
    }

    /// Gives the memory of free pages back to the system.
    ///
    /// # Safety
    /// The pages are free and nobody can be given them meanwhile.
    pub(super) unsafe fn discard(&self, first: u64, pages: u64) {
        // SAFETY: free pages were forgotten, so they cannot be pinned; the rest is passed on.
        unsafe { self.frames.discard(first as u32, pages as u32) };
    }
}

#[cold]
fn missing(ptr: PagePtr) -> Error {
    Error::damaged(NAME, ptr.number().0, format!("{ptr:?} is not a page of this store in memory"))
}
