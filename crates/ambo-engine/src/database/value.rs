//! A value where it lies: in a cached page or a memtable, kept there for as long as the caller holds it.

use std::{ops::Deref, sync::Arc};

use arc_swap::Guard;

use super::version::{DatabaseVersion, Found};

/// What keeps the memory under a [`Value`] alive.
pub(super) enum Keeper {
    /// The version of a single read.
    Guard(Guard<Arc<DatabaseVersion>>),
    /// The version of a snapshot.
    Arc(Arc<DatabaseVersion>),
}

impl Deref for Keeper {
    type Target = DatabaseVersion;
    fn deref(&self) -> &DatabaseVersion {
        match self {
            Self::Guard(guard) => guard,
            Self::Arc(arc) => arc,
        }
    }
}

enum Bytes {
    /// Still in a page or memtable of the version behind `Keeper`. The lifetime is a white lie: see `Value::found`.
    Found(Found<'static>),
    /// A copy: the transaction's own write, or a blob that was read whole.
    Owned(Box<[u8]>),
}

/// The bytes of a value, without a copy where they lie in memory already. Derefs to `[u8]`.
///
/// Holding it keeps the page in the cache, and the version of the table that it was read from; take `to_vec`
/// to keep a value for long.
pub struct Value {
    // Declared before `keeper`, so dropped before it.
    bytes: Bytes,
    /// So many at the end are not the user's.
    hidden: usize,
    keeper: Option<Keeper>,
}

impl Value {
    /// Looks something up in the version behind `keeper` and keeps both together.
    pub(super) fn find<E>(
        keeper: Keeper,
        look_up: impl for<'a> FnOnce(&'a DatabaseVersion) -> Result<Option<Found<'a>>, E>,
    ) -> Result<Option<Self>, E> {
        let Some(found) = look_up(&keeper)? else { return Ok(None) };
        // SAFETY: `found` borrows from the `DatabaseVersion` that `keeper` holds by reference count; that heap object
        // neither moves nor goes away while `keeper` lives. Both go into one `Value`, whose field order drops `found`
        // first, and every borrow that is handed out is bounded by a borrow of the `Value`.
        let found = unsafe { std::mem::transmute::<Found<'_>, Found<'static>>(found) };
        Ok(Some(Self { bytes: Bytes::Found(found), hidden: 0, keeper: Some(keeper) }))
    }

    /// A value that owns its bytes.
    pub(super) fn owned(bytes: impl Into<Box<[u8]>>) -> Self {
        Self { bytes: Bytes::Owned(bytes.into()), hidden: 0, keeper: None }
    }

    /// The same without so many bytes at its end.
    pub(super) fn hiding(mut self, bytes: usize) -> Self {
        self.hidden = bytes;
        self
    }

    /// The version that it was found in.
    ///
    /// # Panics
    /// If the value is a copy.
    pub(super) fn version(&self) -> &DatabaseVersion {
        self.keeper.as_ref().expect("a value that was found has the version that it is in")
    }

    /// What was found, if the value still lies where it was found.
    pub(super) fn found(&self) -> Option<&Found<'_>> {
        match &self.bytes {
            Bytes::Found(found) => Some(found),
            Bytes::Owned(_) => None,
        }
    }
}

impl Deref for Value {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        let bytes = match &self.bytes {
            Bytes::Found(found) => found.record().bytes,
            Bytes::Owned(bytes) => bytes,
        };
        &bytes[..bytes.len().saturating_sub(self.hidden)]
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Value").field(&&**self).finish()
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Value {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}
