//! Forks: a child has the memory of its parent, but none of its threads. What was opened before is of no use there: it would wait for ever
//! for what no thread does, and write to files that the parent writes to.

use std::{
    ffi::c_int,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{Class, Error, Result};

/// How often this process is the child of one that had Ambo loaded.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Has the children of forks know that they are: everything that was opened before is refused there with [`Class::InUse`], and not
/// closed. It is asked for once, however often this is called.
///
/// # Errors
/// [`Class::Operational`]: the system has no memory for it.
pub(crate) fn mind() -> Result<()> {
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> c_int;
    }
    extern "C" fn forked() {
        FORKS.fetch_add(1, Ordering::SeqCst);
    }
    // SAFETY: the function is there for as long as the library is, which is not unloaded. It adds to an atomic, and nothing else.
    static DONE: LazyLock<c_int> = LazyLock::new(|| unsafe { pthread_atfork(None, None, Some(forked)) });
    match *DONE {
        0 => Ok(()),
        code => Err(Error::new(Class::Operational, format!("forks cannot be noticed: error {code}"))),
    }
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
