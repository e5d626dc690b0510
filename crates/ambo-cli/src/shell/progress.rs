//! A sign of life for statements that take more than a second: a line on standard error, if that is a terminal.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// Shorter statements need none.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// See the module. The line goes when this is dropped.
pub struct Progress {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    rows: AtomicU64,
    is_done: AtomicBool,
}

impl Progress {
    /// From now on.
    pub fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let mut thread = None;
        if std::io::stderr().is_terminal() {
            let shared = shared.clone();
            let start = Instant::now();
            // Without it there is no sign of life, and nothing else is lost.
            thread = std::thread::Builder::new().spawn(move || shared.show(start)).ok();
        }
        Self { shared, thread }
    }

    /// So many rows have come.
    pub fn rows(&self, rows: u64) {
        self.shared.rows.store(rows, Ordering::Relaxed);
    }

    /// Takes the line away, before something else is written.
    pub fn stop(&mut self) {
        self.shared.is_done.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            thread.join().ok();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn show(&self, start: Instant) {
        while start.elapsed() < PATIENCE {
            if self.is_done.load(Ordering::Acquire) {
                return;
            }
            std::thread::park_timeout(PATIENCE.saturating_sub(start.elapsed()));
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("{spinner} {msg}");
        bar.set_style(style.expect("the template is ours"));
        while !self.is_done.load(Ordering::Acquire) {
            let rows = match self.rows.load(Ordering::Relaxed) {
                0 => String::new(),
                rows => format!("{} rows, ", output::count(rows)),
            };
            let seconds = start.elapsed().as_secs();
            let time = if seconds < 60 {
                format!("{seconds} s")
            } else {
                format!("{} min {} s", seconds / 60, seconds % 60)
            };
            bar.set_message(format!("{rows}{time}, Ctrl-C ends it"));
            bar.tick();
            std::thread::park_timeout(TICK);
        }
        bar.finish_and_clear();
    }
}
