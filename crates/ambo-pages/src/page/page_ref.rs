//! A pinned page: its bytes stay where they are, and as they are, until it is dropped.

use std::{fmt, ops::Deref, ptr::NonNull, slice, sync::Arc};

use ambo_types::{Result, id::PagePtr};

use super::{Access, PageStore, frame::Frame};

/// What keeps the bytes alive.
enum Hold<'a> {
    /// A pin on a frame of the store.
    Frame(&'a Frame),
    /// Memory of its own: a page of several units, or one for which no frame was to be had.
    Heap(Arc<[u8]>),
}

/// A page that is pinned in memory: dereferences to its bytes, header included.
pub struct PageRef<'a> {
    bytes: NonNull<u8>,
    len: usize,
    hold: Hold<'a>,
}

// SAFETY: the bytes are immutable while the pin, or the `Arc`, is held, and both may be let go by any thread.
unsafe impl Send for PageRef<'_> {}
// SAFETY: as above; there is no interior mutability.
unsafe impl Sync for PageRef<'_> {}

impl<'a> PageRef<'a> {
    /// Takes over a pin that the caller holds on `frame`.
    ///
    /// # Safety
    /// `bytes` and the `len` bytes from there are initialised, belong to `frame`, and are not written while the pin
    /// is held nor unmapped during `'a`.
    #[inline]
    pub(super) unsafe fn pinned(frame: &'a Frame, bytes: *mut u8, len: usize) -> Self {
        debug_assert!(!bytes.is_null() && len > 0, "a page has bytes");
        // SAFETY: not null, as the caller answers for it pointing to `len` bytes.
        let bytes = unsafe { NonNull::new_unchecked(bytes) };
        Self { bytes, len, hold: Hold::Frame(frame) }
    }

    /// A page with memory of its own.
    pub(super) fn heap(page: Arc<[u8]>) -> Self {
        let bytes = NonNull::from(&page[..]).cast();
        Self { bytes, len: page.len(), hold: Hold::Heap(page) }
    }
}

impl Deref for PageRef<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `hold` keeps these bytes alive and unwritten (see `pinned` and `heap`).
        unsafe { slice::from_raw_parts(self.bytes.as_ptr(), self.len) }
    }
}

impl Clone for PageRef<'_> {
    fn clone(&self) -> Self {
        let hold = match &self.hold {
            Hold::Frame(frame) => {
                frame.pin_again();
                Hold::Frame(frame)
            }
            Hold::Heap(page) => Hold::Heap(Arc::clone(page)),
        };
        Self { bytes: self.bytes, len: self.len, hold }
    }
}

impl Drop for PageRef<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Hold::Frame(frame) = &self.hold {
            frame.unpin();
        }
    }
}

impl fmt::Debug for PageRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageRef({} bytes)", self.len)
    }
}

/// A pinned page that also keeps its store alive, for those who live as long as they like: a cursor's leaf, the upper
/// levels of a tree.
pub struct OwnedPage {
    /// Dropped before the store: fields are dropped in order.
    page: PageRef<'static>,
    store: Arc<PageStore>,
}

impl OwnedPage {
    pub(super) fn new(store: Arc<PageStore>, ptr: PagePtr, access: Access) -> Result<Self> {
        let page = store.read(ptr, access)?;
        // SAFETY: the reference borrows from the store, which `self.store` keeps alive (and in place: it is behind an
        // `Arc`) for longer than `self.page`; it is only handed out with the lifetime of `self`.
        let page = unsafe { std::mem::transmute::<PageRef<'_>, PageRef<'static>>(page) };
        Ok(Self { page, store })
    }

    /// Moves on to another page of the same store, without touching the store's reference count. On an error it stays.
    pub fn replace(&mut self, ptr: PagePtr, access: Access) -> Result<()> {
        let page = self.store.read(ptr, access)?;
        // SAFETY: as in `new`.
        self.page = unsafe { std::mem::transmute::<PageRef<'_>, PageRef<'static>>(page) };
        Ok(())
    }

    /// The store that the page is from.
    pub fn store(&self) -> &Arc<PageStore> {
        &self.store
    }
}

impl Deref for OwnedPage {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.page
    }
}

impl Clone for OwnedPage {
    fn clone(&self) -> Self {
        Self { page: self.page.clone(), store: Arc::clone(&self.store) }
    }
}

impl fmt::Debug for OwnedPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.page.fmt(f)
    }
}

/// A page pinned for long, within the share of the pool that is set aside for that. See [`PageStore::read_hot`].
#[derive(Debug)]
pub struct HotPage {
    page: OwnedPage,
    bytes: u64,
}

impl HotPage {
    pub(super) fn new(page: OwnedPage, bytes: u64) -> Self {
        Self { page, bytes }
    }
}

impl Deref for HotPage {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.page
    }
}

impl Drop for HotPage {
    fn drop(&mut self) {
        self.page.store().release_hot(self.bytes);
    }
}
