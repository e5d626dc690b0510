//! Forks: a child has the memory of its parent, but none of its threads. What was opened before is of no use there: it would wait for ever
//! for what no thread does, and write to files that the parent writes to.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Class, Error, Result};

/// How often this process is the child of one that had Ambo loaded.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// To be called in the child of a fork, before anything else is: everything that was opened before is then refused with
/// [`Class::InUse`], and not closed.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

/// Between which forks something was opened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Era(u64);

impl Era {
    /// This one.
    pub(crate) fn now() -> Self {
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether what was opened then may be used.
    ///
    /// # Errors
    /// [`Class::InUse`]: this process was forked since.
    #[inline]
    pub fn check(self) -> Result<()> {
        match self == Self::now() {
            true => Ok(()),
            false => Err(Error::new(Class::InUse, "the database was opened before this process was forked")
                .with_hint("open it again in the child, once the parent has closed it")),
        }
    }
}
