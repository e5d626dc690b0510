//! The end of threads that go on until they are told to stop, and of tests that would not end.
//!
//! Shared by the tests of several crates (`#[path]`).

use std::{
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread::{self, Scope},
    time::Duration,
};

/// How long a scope may take, on a machine that is busy with other things, too.
const LIMIT: Duration = Duration::from_secs(900);

/// Tells threads to stop.
#[derive(Default)]
pub struct Stop(AtomicBool);

impl Stop {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the threads are to go on.
    pub fn goes_on(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    /// Tells the threads to stop.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Tells the threads to stop when it is dropped.
    pub fn at_end(&self) -> AtEnd<'_> {
        AtEnd(self)
    }

    /// As [`thread::scope`]. The threads are told to stop when `body` is at its end, by a panic, too, which is reported at once. When all
    /// of it takes too long, what every thread is doing is printed and the process ends.
    pub fn scope<'env, T>(&'env self, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
        self.scope_within(LIMIT, body)
    }

    fn scope_within<'env, T>(
        &'env self,
        limit: Duration,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    ) -> T {
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let (ended, end) = channel::<()>();
        let watch = thread::spawn(move || {
            if end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                report(&format!("{test} has not ended after {limit:?}; its threads:"));
                stacks::print_all();
                std::process::abort();
            }
        });
        let result = thread::scope(|scope| {
            let _end = self.at_end();
            catch_unwind(AssertUnwindSafe(|| body(scope))).unwrap_or_else(|panic| {
                // If a thread does not stop, nothing else of what has happened is ever printed.
                report(&format!("the main thread of a test failed: {}", message(&*panic)));
                resume_unwind(panic)
            })
        });
        drop(ended);
        watch.join().expect("it only waits");
        result
    }
}

/// See [`Stop::at_end`].
pub struct AtEnd<'a>(&'a Stop);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.now();
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}

/// Prints past what the test runner keeps until a test has ended.
fn report(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Stacks of all threads: each is interrupted by a signal and prints its own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod stacks {
    use std::{backtrace::Backtrace, ffi::c_int, fs, thread::sleep, time::Duration};

    use super::report;

    const SIGUSR2: c_int = 12;

    unsafe extern "C" {
        fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
        fn tgkill(process: c_int, thread: c_int, number: c_int) -> c_int;
    }

    extern "C" fn print_own(_: c_int) {
        // Not all that this does is allowed in a handler; the process ends anyway, at the latest when the time given to it is over.
        report(&Backtrace::force_capture().to_string());
    }

    pub fn print_all() {
        // SAFETY: the handler has the type that the function takes.
        unsafe { signal(SIGUSR2, print_own) };
        let process = std::process::id() as c_int;
        for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            let Ok(id) = task.file_name().to_string_lossy().parse() else { continue };
            report(&format!("\nthread {id} {}", name.trim()));
            // SAFETY: it takes numbers only; a thread that has ended is an error that is passed over.
            unsafe { tgkill(process, id, SIGUSR2) };
            // One after the other, so that what they print is not mixed.
            sleep(Duration::from_secs(1));
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod stacks {
    pub fn print_all() {
        super::report("(stacks are printed on Linux only)");
    }
}
