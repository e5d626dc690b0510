//! Waiting for the planner's futures without a runtime around the caller, and interrupting that.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
};

use crate::{Error, ErrorKind, Result, stack};

/// Ends statements of a connection from another thread.
///
/// ```
/// let db = ambo_sql::Database::in_memory()?;
/// let mut connection = db.connect();
/// let interrupter = connection.interrupter();
/// std::thread::spawn(move || interrupter.interrupt()).join().unwrap();
/// // Nothing ran: the next statement is not meant.
/// assert_eq!(connection.sql("select 1")?.count(), 1);
/// # Ok::<(), ambo_sql::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Interrupter(Arc<State>);

#[derive(Default)]
struct State {
    asked: AtomicBool,
    /// The thread that waits for a statement.
    waiting: Mutex<Option<Thread>>,
}

impl Interrupter {
    /// Ends the statement that runs; it fails with [`ErrorKind::Cancelled`] and changes nothing.
    pub fn interrupt(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        if let Some(thread) = &*self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            thread.unpark();
        }
    }

    /// Forgets what was asked before a statement began.
    pub(crate) fn begin(&self) {
        self.0.asked.store(false, Ordering::SeqCst);
    }

    /// # Errors
    /// [`ErrorKind::Cancelled`] if the statement is to end.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.asked.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Cancelled, "the statement was interrupted")),
            false => Ok(()),
        }
    }

    /// Waits for a future in this thread.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`]; then the future is dropped.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        let thread = std::thread::current();
        *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread.clone());
        let waker = Waker::from(Arc::new(Unpark(thread)));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        let result = stack::with_enough(|| {
            loop {
                self.check()?;
                match future.as_mut().poll(&mut context) {
                    Poll::Ready(value) => return Ok(value),
                    // Whoever unparked before this is not missed.
                    Poll::Pending => std::thread::park(),
                }
            }
        });
        *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
        result
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_future_that_never_comes_can_be_given_up() {
        let interrupter = Interrupter::default();
        let other = interrupter.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            other.interrupt();
        });
        let error = interrupter.wait(std::future::pending::<()>()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        thread.join().unwrap();
        interrupter.begin();
        assert_eq!(interrupter.wait(std::future::ready(5)).unwrap(), 5);
    }
}
