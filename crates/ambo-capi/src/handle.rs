//! Handles: what C has pointers to.
//!
//! 1. A handle begins with a tag that says what it is. Freed, it has none, so that one that is used again is found out as long as its
//!    memory is nothing else; so is one of another kind. That is a help, and no promise.
//! 2. What a handle has of a database is shared with the database, which takes it away when it is closed.
//! 3. In the child of a fork nothing of it is dropped: locks may be held by threads that are not there.

use std::{
    mem::ManuallyDrop,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use ambo_face::Class;

use crate::{
    database::Base,
    error::{Failure, Result},
};

/// What a handle is of.
pub trait Body {
    /// What messages call it.
    const NAME: &'static str;
    /// Eight letters.
    const TAG: u64;
}

/// What C has a pointer to.
#[repr(C)]
pub struct Handle<B> {
    tag: AtomicU64,
    body: B,
}

/// Says what a body is called, and its tag.
macro_rules! body {
    ($body:ty, $name:literal, $tag:literal) => {
        impl $crate::handle::Body for $body {
            const NAME: &'static str = $name;
            const TAG: u64 = u64::from_le_bytes(*$tag);
        }
    };
}
pub(crate) use body;

/// A new handle.
pub(crate) fn give<B: Body>(body: B) -> *mut Handle<B> {
    Box::into_raw(Box::new(Handle { tag: AtomicU64::new(B::TAG), body }))
}

/// What a handle is of. Called from what C calls, as those of [`crate::c`].
pub(crate) fn of<'a, B: Body>(handle: *const Handle<B>) -> Result<&'a B> {
    if handle.is_null() {
        return Err(Failure::misuse(format!("the {} is NULL", B::NAME)));
    }
    match has_tag(handle) {
        // SAFETY: the tag says that it is one, which was not freed.
        true => Ok(unsafe { &(*handle).body }),
        false => Err(Failure::misuse(format!("this is no {}, or one that was freed", B::NAME))),
    }
}

/// As [`of`], where NULL is none.
pub(crate) fn of_some<'a, B: Body>(handle: *const Handle<B>) -> Result<Option<&'a B>> {
    if handle.is_null() { Ok(None) } else { of(handle).map(Some) }
}

fn has_tag<B: Body>(handle: *const Handle<B>) -> bool {
    // SAFETY: it is not NULL, and points to a handle by rule 2 of the crate.
    handle.is_aligned() && unsafe { &(*handle).tag }.load(Ordering::Relaxed) == B::TAG
}

/// Takes a handle back, whose place is NULL then; `None` if there is none.
pub(crate) fn take<B: Body>(place: *mut *mut Handle<B>) -> Option<B> {
    if place.is_null() {
        return None;
    }
    // SAFETY: it is not NULL, and points to a place for a handle by rule 2 of the crate.
    let handle = unsafe { place.replace(std::ptr::null_mut()) };
    if handle.is_null() || !has_tag(handle) {
        return None;
    }
    // SAFETY: as above. An atomic, so that the store is not left out.
    unsafe { &(*handle).tag }.store(0, Ordering::SeqCst);
    // SAFETY: its tag said that it was given by `give`, and was not taken back.
    Some(unsafe { Box::from_raw(handle) }.body)
}

/// What a database takes away from its handles.
pub(crate) trait Close: Send + Sync {
    fn close(&self);
}

/// What one thread uses at a time.
pub(crate) type Single<T> = Mutex<Option<T>>;
/// What many threads use at a time.
pub(crate) type Shared<T> = RwLock<Option<T>>;

impl<T: Send> Close for Single<T> {
    fn close(&self) {
        drop(self.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl<T: Send + Sync> Close for Shared<T> {
    fn close(&self) {
        drop(self.write().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// What a handle has of a database.
pub(crate) struct Child<C: Close + 'static> {
    base: Arc<Base>,
    content: ManuallyDrop<Arc<C>>,
}

pub(crate) fn closed() -> Failure {
    Failure::new(Class::Closed, "the database was closed, or this was ended before")
}

/// What a panic left behind.
pub(crate) fn broken<T>(_: PoisonError<T>) -> Failure {
    Failure::new(Class::Internal, "a fault of Ambo's own happened here before: free the handle")
}

impl<C: Close + 'static> Child<C> {
    /// # Errors
    /// The database is closed.
    pub(crate) fn new(base: &Arc<Base>, content: C) -> Result<Self> {
        let content = Arc::new(content);
        base.keep(content.clone())?;
        Ok(Self { base: base.clone(), content: ManuallyDrop::new(content) })
    }

    pub(crate) fn base(&self) -> &Arc<Base> {
        &self.base
    }

    /// What it has, in a process that may use it.
    pub(crate) fn content(&self) -> Result<&Arc<C>> {
        self.base.check()?;
        Ok(&self.content)
    }
}

impl<C: Close + 'static> Clone for Child<C> {
    fn clone(&self) -> Self {
        Self { base: self.base.clone(), content: self.content.clone() }
    }
}

impl<C: Close + 'static> Drop for Child<C> {
    fn drop(&mut self) {
        // Rule 3.
        if self.base.check().is_ok() {
            // SAFETY: it is dropped here alone.
            unsafe { ManuallyDrop::drop(&mut self.content) }
        }
    }
}

impl<T: Send> Child<Single<T>> {
    /// Does something with it, as the only one.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        act(self.content()?.lock().map_err(broken)?.as_mut().ok_or_else(closed)?)
    }

    /// Takes it away.
    pub(crate) fn end(&self) -> Result<T> {
        self.content()?.lock().map_err(broken)?.take().ok_or_else(closed)
    }
}

impl<T: Send + Sync> Child<Shared<T>> {
    /// Does something with it, beside others.
    #[inline]
    pub(crate) fn with<R>(&self, act: impl FnOnce(&T) -> Result<R>) -> Result<R> {
        act(self.content()?.read().map_err(broken)?.as_ref().ok_or_else(closed)?)
    }
}
