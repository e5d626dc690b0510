//! Waiting for the planner's futures without a runtime around the caller, and interrupting that.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError, TryLockError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::{Duration, Instant},
};

use datafusion::physical_plan::{ExecutionPlan, empty::EmptyExec};

use crate::{Error, ErrorKind, Progress, Result, stack};

/// Ends statements of a connection from another thread, and says how far they are.
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
pub struct Interrupter {
    state: Arc<State>,
    /// When the statement is to have ended.
    deadline: Option<Deadline>,
}

#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    timeout: Duration,
}

struct State {
    asked: Arc<AtomicBool>,
    /// The threads that wait for rows of statements.
    waiting: Mutex<Vec<Thread>>,
    /// Whether there is a hook: so that nothing is locked where there is none.
    has_hook: AtomicBool,
    hook: Mutex<Option<Hook>>,
    /// What runs, or ran last.
    running: Mutex<Weak<dyn ExecutionPlan>>,
}

impl Default for State {
    fn default() -> Self {
        let none: Weak<EmptyExec> = Weak::new();
        Self {
            asked: Arc::default(),
            waiting: Mutex::default(),
            has_hook: AtomicBool::new(false),
            hook: Mutex::default(),
            running: Mutex::new(none),
        }
    }
}

/// What a thread does from time to time while it waits.
struct Hook {
    every: Duration,
    last: Instant,
    act: Box<dyn FnMut() -> bool + Send>,
}

impl Interrupter {
    /// Ends the statement that runs, and all whose rows are still taken; they fail with [`ErrorKind::Cancelled`] and change nothing.
    pub fn interrupt(&self) {
        self.state.asked.store(true, Ordering::SeqCst);
        for thread in &*self.state.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            thread.unpark();
        }
    }

    /// How far the query is that runs, or that ran last; `None` if none did, or nothing is left of it.
    pub fn progress(&self) -> Option<Progress> {
        let running = self.state.running.lock().unwrap_or_else(PoisonError::into_inner).upgrade()?;
        Some(Progress::of(&running))
    }

    /// Takes note of what runs.
    pub(crate) fn note(&self, plan: &Arc<dyn ExecutionPlan>) {
        *self.state.running.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(plan);
    }

    /// Forgets what was asked before a statement began.
    pub(crate) fn begin(&self) {
        self.state.asked.store(false, Ordering::SeqCst);
    }

    /// What becomes true when a statement is to end.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.state.asked.clone()
    }

    pub(crate) fn set_hook(&self, every: Duration, act: Box<dyn FnMut() -> bool + Send>) {
        let hook = Hook { every, last: Instant::now(), act };
        *self.state.hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(hook);
        self.state.has_hook.store(true, Ordering::SeqCst);
    }

    /// Also calls the hook, if it is time.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] if the statement is to end.
    pub(crate) fn check(&self) -> Result<()> {
        self.call_hook();
        match self.state.asked.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Cancelled, "the statement was interrupted")),
            false => self.check_time(),
        }
    }

    /// Has the statement that begins, and its rows, end after so long.
    pub(crate) fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.deadline = timeout.map(|timeout| Deadline { at: Instant::now() + timeout, timeout });
    }

    /// The same without an end of its own.
    pub(crate) fn without_timeout(&self) -> Self {
        Self { state: self.state.clone(), deadline: None }
    }

    /// How long it may still take.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.at.saturating_duration_since(Instant::now()))
    }

    /// # Errors
    /// [`ErrorKind::Cancelled`] if the time of the statement is over.
    pub(crate) fn check_time(&self) -> Result<()> {
        match self.deadline {
            Some(deadline) if deadline.at <= Instant::now() => {
                let timeout = deadline.timeout.as_millis();
                let message = format!("the statement took longer than the statement_timeout of {timeout} ms");
                Err(Error::new(ErrorKind::Cancelled, message)
                    .with_hint("SET statement_timeout = 0 has statements take as long as they do"))
            }
            _ => Ok(()),
        }
    }

    /// How long to wait before something is to be looked at again.
    fn pause(&self) -> Duration {
        let hook = self.call_hook();
        let hook = hook.or_else(|| self.state.has_hook.load(Ordering::Relaxed).then_some(OTHERS_HOOK));
        [hook, self.time_left()].into_iter().flatten().min().unwrap_or(OTHERS_HOOK)
    }

    /// Calls the hook, if it is time and nobody does already. Returns how long it is until the next time.
    fn call_hook(&self) -> Option<Duration> {
        if !self.state.has_hook.load(Ordering::Relaxed) {
            return None;
        }
        let mut hook = match self.state.hook.try_lock() {
            Ok(hook) => hook,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Some(OTHERS_HOOK),
        };
        let hook = hook.as_mut()?;
        if hook.last.elapsed() < hook.every {
            return Some(hook.every);
        }
        let goes_on = (hook.act)();
        hook.last = Instant::now();
        if !goes_on {
            self.state.asked.store(true, Ordering::SeqCst);
        }
        Some(hook.every)
    }

    /// Waits for a future in this thread.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`]; then the future is dropped.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        let thread = std::thread::current();
        self.waiting(|waiting| waiting.push(thread.clone()));
        let waker = Waker::from(Arc::new(Unpark(thread.clone())));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        let result = loop {
            // The hook, which may be anything, is called on the thread's own stack.
            if let Err(cancelled) = self.check() {
                break Err(cancelled);
            }
            let polled = stack::with_enough(|| {
                loop {
                    match future.as_mut().poll(&mut context) {
                        Poll::Ready(value) => return Ok(Some(value)),
                        Poll::Pending
                            if self.deadline.is_some() || self.state.has_hook.load(Ordering::Relaxed) =>
                        {
                            return Ok(None);
                        }
                        // Whoever unparked before this is not missed.
                        Poll::Pending => std::thread::park(),
                    }
                    self.check()?;
                }
            });
            match polled {
                Ok(Some(value)) => break Ok(value),
                Ok(None) => std::thread::park_timeout(self.pause()),
                Err(cancelled) => break Err(cancelled),
            }
        };
        self.waiting(|waiting| {
            let place = waiting.iter().position(|waiting| waiting.id() == thread.id());
            drop(place.map(|place| waiting.swap_remove(place)));
        });
        result
    }

    /// Does something that takes long and knows when it is to end. Where there is a hook or a time, this thread goes on looking at it.
    pub(crate) fn watch<T: Send>(&self, act: impl FnOnce(&AtomicBool) -> T + Send) -> T {
        if self.deadline.is_none() && !self.state.has_hook.load(Ordering::Relaxed) {
            return act(&self.state.asked);
        }
        let (this, is_over, ends) = (std::thread::current(), AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let acting = scope.spawn(|| {
                let done = act(&ends);
                is_over.store(true, Ordering::SeqCst);
                this.unpark();
                done
            });
            // Whoever panics only ends.
            while !is_over.load(Ordering::SeqCst) && !acting.is_finished() {
                let next = self.pause().min(OTHERS_HOOK);
                ends.store(self.check().is_err(), Ordering::SeqCst);
                std::thread::park_timeout(next);
            }
            acting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn waiting(&self, act: impl FnOnce(&mut Vec<Thread>)) {
        act(&mut self.state.waiting.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// How long a thread waits while another one calls the hook.
const OTHERS_HOOK: Duration = Duration::from_millis(50);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_called_while_a_thread_waits_and_may_end_it() {
        let interrupter = Interrupter::default();
        let mut calls = 0;
        interrupter.set_hook(
            Duration::from_millis(1),
            Box::new(move || {
                calls += 1;
                calls < 5
            }),
        );
        let begun = Instant::now();
        let error = interrupter.wait(std::future::pending::<()>()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(begun.elapsed() >= Duration::from_millis(5));
    }

    #[test]
    fn all_threads_that_wait_are_woken() {
        let interrupter = Interrupter::default();
        let wait = |interrupter: Interrupter| {
            std::thread::spawn(move || interrupter.wait(std::future::pending::<()>()).unwrap_err().kind())
        };
        let threads = [wait(interrupter.clone()), wait(interrupter.clone())];
        while interrupter.state.waiting.lock().unwrap().len() < 2 {
            std::thread::yield_now();
        }
        interrupter.interrupt();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == ErrorKind::Cancelled));
        assert!(interrupter.state.waiting.lock().unwrap().is_empty());
    }

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
