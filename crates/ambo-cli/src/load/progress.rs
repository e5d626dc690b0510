//! How far a load is: bytes, rows a second and the time that is left, on standard error.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ambo_files::Position;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// A line that is drawn anew several times a second when somebody watches.
pub struct Progress {
    bar: ProgressBar,
    position: Position,
    start: Instant,
}

/// Looking at the clock for each row would cost more than the row.
const ROWS_PER_LOOK: u64 = 512;

impl Progress {
    /// For files of so many bytes. Nothing is drawn unless standard error is a terminal.
    pub fn new(what: &'static str, bytes: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template(
            "{prefix} [{bar:30}] {percent:>3} % of {total_bytes}  {msg}  {eta} left",
        );
        bar.set_style(style.expect("the template is ours").progress_chars("█▌░"));
        bar.set_prefix(what);
        Self { bar, position: Position::default(), start: Instant::now() }
    }

    /// How many bytes were read, for those who read.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Shows that so many rows are done.
    pub fn rows(&self, rows: u64) {
        if rows.is_multiple_of(ROWS_PER_LOOK) {
            self.show(rows);
        }
    }

    /// The same, whatever their number: for those who count by the thousand.
    pub fn show(&self, rows: u64) {
        let rate = output::rate(rows, self.start.elapsed());
        self.bar.set_position(self.position.load(Ordering::Relaxed));
        self.bar.set_message(format!("{} rows, {} a second", output::count(rows), output::count(rate)));
    }

    /// Shows that all rows are read, and what is left is to compare keys and to publish.
    pub fn finishing(&self) {
        self.bar.set_position(self.position.load(Ordering::Relaxed));
        self.bar.set_message("comparing keys");
    }

    /// Shows that the rows are there, and runs of segments are merged.
    pub fn merging(&self) {
        self.bar.set_message("merging");
    }

    /// Says something without disturbing the line.
    pub fn say(&self, text: &str) {
        self.bar.suspend(|| output::remark(text));
    }

    /// How long it has taken.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
