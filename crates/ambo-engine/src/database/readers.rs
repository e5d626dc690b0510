//! What a process that writes does for readers in others. What is between them is the matter of [`ambo_pages::readers`].
//!
//! 1. What a checkpoint retires waits as long as a reader holds one before it: [`Engine::sweep`].
//! 2. When something was committed since the last checkpoint and that is older than half a second, another one is made, if there are
//!    readers. So what they see is a second old at most, unless a flush takes longer.
//! 3. A reader that asks for a checkpoint gets one at once, of one moment.
//!
//! Nobody waits for a reader. One that never ends costs what it holds: pages and files that are not reused.

use std::time::Duration;

use ambo_types::{Error, Result};

use super::engine::Engine;

/// How old a checkpoint becomes while there are readers and something was committed.
const AGE: Duration = Duration::from_millis(500);
/// How soon the first reader is noticed.
const ALONE: Duration = Duration::from_secs(1);
/// How soon a reader is noticed where there have been some.
const QUIET: Duration = Duration::from_millis(200);
/// How soon a request of a reader is noticed.
const BUSY: Duration = Duration::from_millis(20);
/// How long a checkpoint for readers waits for changes of definitions that are under way: with them, it may not be of one moment.
const DEFINING: Duration = Duration::from_millis(50);

/// Readers in other processes, as the process that writes sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadersInfo {
    /// How many there are.
    pub readers: u64,
    /// How long ago the oldest checkpoint was made that one of them reads; if that was before the database was opened, how long it is open.
    pub oldest_age: Option<Duration>,
    /// Pages that are not reused as long as that is read.
    pub held_pages: u64,
    /// Bytes of files of segments that are kept as long.
    pub held_segment_bytes: u64,
}

impl Engine {
    /// The oldest checkpoint that a reader in another process holds, if that is to be known.
    pub(super) fn oldest_held(&self, is_wanted: bool) -> Option<u64> {
        self.readers.as_ref().filter(|_| is_wanted)?.held().oldest
    }

    /// How many readers in other processes there are, and the oldest checkpoint that they hold.
    pub fn readers(&self) -> (usize, Option<u64>) {
        let held = self.readers.as_ref().map(|readers| readers.held()).unwrap_or_default();
        (held.readers, held.oldest)
    }

    /// The same, how old what they read is, and what they hold back.
    pub fn readers_info(&self) -> ReadersInfo {
        let (readers, oldest) = self.readers();
        if readers == 0 {
            return ReadersInfo::default();
        }
        let checkpoint = self.checkpoint.lock();
        let held = checkpoint.held_back(oldest);
        let now = self.clock.now();
        let age = |sequence| now.saturating_sub(checkpoint.time_of(sequence).unwrap_or_default());
        ReadersInfo {
            readers: readers as u64,
            oldest_age: oldest.map(age),
            held_pages: held.pages,
            held_segment_bytes: held.segment_bytes,
        }
    }

    /// Does what readers in other processes wait for, if it is time. Returns when that is to be asked again.
    pub fn serve_readers(&self) -> Duration {
        let Some(readers) = self.readers.as_ref().filter(|readers| readers.is_used()) else { return ALONE };
        if let Ok(Some(request)) = readers.asked()
            && self.publish_moment().is_some_and(|is_whole| is_whole)
        {
            // Whoever asks and gets no answer asks again, or says so.
            let _unanswered = readers.answer(request);
        }
        let now = self.clock.now();
        let (held, is_new) = readers.held_lately(now, QUIET);
        let Some(mut checkpoint) = self.checkpoint.try_lock() else { return BUSY };
        if is_new && checkpoint.waits_for_others() {
            self.sweep(&mut checkpoint);
        }
        if held.readers == 0 {
            return QUIET;
        }
        let moment = checkpoint.moment();
        let is_behind = self.pipeline.publisher.published() > moment.timestamp || !checkpoint.is_whole();
        let is_old = now.saturating_sub(checkpoint.at()) >= AGE;
        drop(checkpoint);
        if is_behind && is_old {
            self.publish_moment();
        }
        BUSY
    }

    /// Publishes a checkpoint of everything that was committed until now. Whether it is of one moment; nothing if it could not be made.
    fn publish_moment(&self) -> Option<bool> {
        match self.flush_whole() {
            Ok(is_whole) => Some(is_whole),
            // There may be room later.
            Err(Error::DiskFull(_)) => None,
            Err(error) => {
                self.pipeline.poison(&format!("flushing: {error}"));
                None
            }
        }
    }

    fn flush_whole(&self) -> Result<bool> {
        if self.pipeline.check_poison().is_err() {
            return Ok(false);
        }
        self.limit_runs()?;
        let _defining = self.defining.try_write_for(DEFINING);
        let mut checkpoint = self.checkpoint.lock();
        self.flush_within(&mut checkpoint)?;
        Ok(checkpoint.is_whole())
    }
}
