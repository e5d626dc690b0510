//! Sequencing, group commit and the state in which writes are refused.
//!
//! # Thread safety and invariants
//!
//! 1. Timestamps are given out, and transactions appended to the group, under the `sequencer` lock: the log's order is the
//!    order of timestamps.
//! 2. Groups are written one after the other under the `writer` lock. Whoever has it writes for all who were sequenced before it took the
//!    group: the others find their timestamp at or below `written`. One thread at a time syncs, outside of that lock; the others find
//!    theirs at or below `durable`.
//! 3. When a group cannot be written for lack of space, exactly its transactions fail, and the log is as before.
//! 4. After any other failed write, a failed sync, or a panic in one of them, the pipeline is poisoned: nothing is sequenced any more.
//! 5. While a serializable commit validates its reads, nothing is sequenced, so what it saw is true at its timestamp.

use std::sync::Arc;

use ambo_pages::{
    log::{GroupBuffer, LogWriter},
    page::PageStore,
    sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, yield_now},
};
use ambo_types::{
    Error, Result,
    id::{Lsn, Timestamp},
};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::{fuse::Fuse, publish::Publisher};

/// The memory that an empty group keeps for the next; a giant transaction's is given back.
const GROUP_BYTES_KEPT: usize = 1 << 20;

/// How often a commit looks for its group to be written by another: at first without giving up its core, then giving it up.
const SPINS: u32 = 100;
const YIELDS: u32 = 1000;
/// The most yields before a sync.
const GATHER_MAX: usize = 32;

/// What a commit holds while it is given its place in the order.
pub struct Sequencer {
    /// The newest timestamp that was given out.
    pub last: Timestamp,
    /// The transactions to be written next.
    pub group: GroupBuffer,
    /// The newest timestamp in `group`.
    group_last: Timestamp,
    /// How many transactions are in `group`.
    group_count: usize,
    /// Whether `group` refers to blobs, whose pages have to be durable before it is written.
    group_has_blobs: bool,
    /// Whether a serializable commit is validating.
    validating: bool,
}

impl Sequencer {
    /// Notes that the transaction at `last` was appended to `group`.
    pub fn note_logged(&mut self, has_blobs: bool) {
        debug_assert!(self.last > self.group_last, "the log has commits in their order");
        self.group_last = self.last;
        self.group_count += 1;
        self.group_has_blobs |= has_blobs;
    }
}

struct Writer {
    log: LogWriter,
    /// The group that is being written; swapped with the sequencer's.
    group: GroupBuffer,
    failed: Vec<FailedGroup>,
}

/// Where durable commits wait for the one that syncs.
#[derive(Default)]
struct Gate {
    is_syncing: bool,
    /// How many commits the last group had.
    companions: usize,
}

/// A group that was not written for lack of space.
struct FailedGroup {
    first: Timestamp,
    last: Timestamp,
    /// How many of its transactions have not asked yet.
    waiting: usize,
    why: String,
}

/// The commit pipeline of one database.
pub struct Pipeline {
    sequencer: Mutex<Sequencer>,
    validated: Condvar,
    /// None when the database is read-only.
    writer: Mutex<Option<Writer>>,
    gate: Mutex<Gate>,
    synced: Condvar,
    /// Every logged commit at or before this is in the log, or failed.
    written: AtomicU64,
    /// Every logged commit at or before this is on the device.
    durable: AtomicU64,
    /// Where the log ends; for checkpoints.
    written_lsn: AtomicU64,
    /// How many failed groups still have transactions that have not asked.
    failures: AtomicUsize,
    /// Whether a checkpoint is due to make room for the log.
    crowded: AtomicBool,
    /// Whether what the disk has left is kept for deletes and checkpoints.
    tight: AtomicBool,
    /// What a checkpoint writes besides the rows of the log, in bytes.
    checkpoint_bytes: AtomicU64,
    /// Whether the log is archived: it has notes then of what goes past it.
    archived: AtomicBool,
    poison: Mutex<Option<Arc<str>>>,
    poisoned: AtomicUsize,
    /// The newest of what snapshots see.
    pub publisher: Publisher,
    pages: Arc<PageStore>,
}

impl Pipeline {
    /// A pipeline whose next commit comes after `last`. Without a log writer it refuses writes.
    pub fn new(last: Timestamp, log: Option<LogWriter>, pages: Arc<PageStore>) -> Self {
        let lsn = log.as_ref().map_or(0, |log| log.next_lsn().0);
        let archived = log.as_ref().is_some_and(LogWriter::is_archived);
        Self {
            sequencer: Mutex::new(Sequencer {
                last,
                group: GroupBuffer::new(),
                group_last: last,
                group_count: 0,
                group_has_blobs: false,
                validating: false,
            }),
            validated: Condvar::new(),
            writer: Mutex::new(log.map(|log| Writer { log, group: GroupBuffer::new(), failed: Vec::new() })),
            gate: Mutex::default(),
            synced: Condvar::new(),
            written: AtomicU64::new(last.0),
            durable: AtomicU64::new(last.0),
            written_lsn: AtomicU64::new(lsn),
            failures: AtomicUsize::new(0),
            crowded: AtomicBool::new(false),
            tight: AtomicBool::new(false),
            checkpoint_bytes: AtomicU64::new(0),
            archived: AtomicBool::new(archived),
            poison: Mutex::new(None),
            poisoned: AtomicUsize::new(0),
            publisher: Publisher::new(last),
            pages,
        }
    }

    /// Refuses writes from now on.
    pub fn poison(&self, why: &str) {
        self.poison.lock().get_or_insert_with(|| why.into());
        self.poisoned.store(1, Ordering::Release);
    }

    /// As [`Pipeline::poison`]; also gives the error for whoever was at it.
    pub fn poisoned(&self, why: &str) -> Error {
        self.poison(why);
        self.poison_error()
    }

    /// # Errors
    /// [`Error::Poisoned`] after a failed write or sync.
    #[inline]
    pub fn check_poison(&self) -> Result<()> {
        match self.poisoned.load(Ordering::Acquire) {
            0 => Ok(()),
            _ => Err(self.poison_error()),
        }
    }

    #[cold]
    fn poison_error(&self) -> Error {
        Error::Poisoned(self.poison.lock().as_deref().unwrap_or("unknown").to_owned())
    }

    /// Takes the sequencer for a commit: no validation is under way and there is room for a timestamp.
    pub fn sequence(&self) -> MutexGuard<'_, Sequencer> {
        let mut sequencer = self.sequencer.lock();
        loop {
            if sequencer.validating {
                self.validated.wait(&mut sequencer);
            } else if !self.publisher.has_room(Timestamp(sequencer.last.0 + 1)) {
                let oldest = Timestamp(sequencer.last.0 + 2 - super::publish::WINDOW);
                // Where it will never be published, there is room.
                MutexGuard::unlocked(&mut sequencer, || {
                    let _: bool = self.publisher.wait(oldest);
                });
            } else {
                debug_assert!(
                    self.publisher.published() <= sequencer.last,
                    "what is published was sequenced"
                );
                return sequencer;
            }
        }
    }

    /// Takes the sequencer for a moment, whatever else is under way.
    pub fn peek(&self) -> MutexGuard<'_, Sequencer> {
        self.sequencer.lock()
    }

    /// Stops the sequencing of other commits until the returned guard is dropped, and waits until
    /// everything sequenced so far is installed.
    ///
    /// # Errors
    /// [`Error::Poisoned`] if a commit was left in the middle.
    pub fn validate(&self) -> Result<Validation<'_>> {
        let mut sequencer = self.sequence();
        sequencer.validating = true;
        let last = sequencer.last;
        drop(sequencer);
        let validation = Validation { pipeline: self };
        self.wait(last)?;
        Ok(validation)
    }

    /// Waits until everything up to `at` is published.
    ///
    /// # Errors
    /// [`Error::Poisoned`] if it will never be, because a commit before it was left in the middle.
    #[inline]
    pub fn wait(&self, at: Timestamp) -> Result<()> {
        if self.publisher.wait(at) { Ok(()) } else { Err(self.poison_error()) }
    }

    /// Waits until everything is published that was sequenced so far.
    ///
    /// # Errors
    /// As [`Pipeline::wait`].
    pub fn wait_for_all(&self) -> Result<()> {
        let last = self.sequence().last;
        self.wait(last)
    }

    /// Makes sure that the commit at `at` is in the log, and on the device when `durable` is asked.
    ///
    /// # Errors
    /// [`Error::DiskFull`] if its group could not be written; [`Error::Poisoned`] or the failure itself if the
    /// outcome is unknown until the database is reopened.
    pub fn flush(&self, at: Timestamp, durable: bool) -> Result<()> {
        if durable {
            self.flush_durable(at)?
        } else {
            self.flush_written(at)?
        }
        if self.failures.load(Ordering::Acquire) > 0 { self.claim_failure(at) } else { Ok(()) }
    }

    /// A write takes a few microseconds, less than to park a thread and wake it: whoever finds the writer busy looks again
    /// soon, and mostly finds its own commit written by then.
    fn flush_written(&self, at: Timestamp) -> Result<()> {
        let mut looks = 0;
        while self.written.load(Ordering::Acquire) < at.0 {
            let writer = match self.writer.try_lock() {
                None if looks < SPINS => {
                    std::hint::spin_loop();
                    None
                }
                None if looks < SPINS + YIELDS => {
                    yield_now();
                    None
                }
                None => Some(self.writer.lock()),
                free => free,
            };
            looks += 1;
            if let Some(mut writer) = writer
                && self.written.load(Ordering::Acquire) < at.0
            {
                self.write_pending(writer.as_mut().ok_or_else(read_only)?)?;
            }
        }
        Ok(())
    }

    /// One thread writes and syncs, for all who come before it takes the group; the others wait for it, or for
    /// the next.
    fn flush_durable(&self, at: Timestamp) -> Result<()> {
        let mut gate = self.gate.lock();
        while self.durable.load(Ordering::Acquire) < at.0 {
            self.check_poison()?;
            if gate.is_syncing {
                self.synced.wait(&mut gate);
                continue;
            }
            gate.is_syncing = true;
            let companions = gate.companions;
            drop(gate);
            let open = OpenGate(self);
            self.gather(companions);
            let result = self.write_and_sync();
            drop(open);
            gate = self.gate.lock();
            gate.companions = result?;
        }
        Ok(())
    }

    /// Lets the threads that were woken by the last sync come along: a sync costs far more than these few yields.
    fn gather(&self, companions: usize) {
        let mut yields = companions.min(GATHER_MAX);
        while yields > 1 && self.sequencer.lock().group_count < companions {
            yield_now();
            yields -= 1;
        }
    }

    /// Writes and syncs everything that was sequenced. Commits that need no sync are written meanwhile. Returns the size of the
    /// group.
    fn write_and_sync(&self) -> Result<usize> {
        let mut writer = self.writer.lock();
        let open = writer.as_mut().ok_or_else(read_only)?;
        let (last, count) = self.write_pending(open)?;
        let ticket = open.log.sync_ticket();
        drop(writer);
        let fuse = Fuse::new(self, "the log was left in the middle of a sync, by a panic");
        let synced = ticket.sync();
        fuse.take_out();
        let mut writer = self.writer.lock();
        let log = &mut writer.as_mut().ok_or_else(read_only)?.log;
        match synced {
            Ok(()) => {
                log.note_durable(ticket.end());
                debug_assert!(last.0 <= self.written.load(Ordering::Acquire), "what is durable was written");
                self.durable.fetch_max(last.0, Ordering::Release);
                Ok(count)
            }
            Err(error) => {
                log.poison(error.to_string());
                self.poison(&error.to_string());
                Err(error)
            }
        }
    }

    /// Writes what is pending. Returns the newest timestamp that is written now, and how many transactions were.
    fn write_pending(&self, writer: &mut Writer) -> Result<(Timestamp, usize)> {
        self.check_poison()?;
        // Taken out of the sequencer, the group would be lost; the caller has the lock until after this.
        let fuse = Fuse::new(self, "a group of commits was left in the middle of being written, by a panic");
        let mut sequencer = self.sequencer.lock();
        let (last, count) = (sequencer.group_last, sequencer.group_count);
        let has_blobs = std::mem::take(&mut sequencer.group_has_blobs);
        sequencer.group_count = 0;
        std::mem::swap(&mut sequencer.group, &mut writer.group);
        drop(sequencer);
        let written = if count > 0 { self.write_group(writer, last, count, has_blobs) } else { Ok(()) };
        fuse.take_out();
        written.map(|()| (last, count))
    }

    fn write_group(&self, writer: &mut Writer, last: Timestamp, count: usize, has_blobs: bool) -> Result<()> {
        if has_blobs {
            // Even for lack of space: what a failed sync has lost, no later one brings back.
            self.pages.sync().map_err(|error| self.poisoned(&error.to_string()))?;
        }
        writer.log.keep_room(self.checkpoint_bytes.load(Ordering::Relaxed));
        let result = writer.log.write_group(&mut writer.group);
        self.tight.store(writer.log.is_tight(), Ordering::Relaxed);
        let first = Timestamp(self.written.load(Ordering::Relaxed) + 1);
        assert!(first <= last, "groups are written in their order");
        match result {
            Ok(end) => {
                let before = self.written_lsn.swap(end.0, Ordering::Release);
                debug_assert!(before <= end.0, "the log only grows");
                if writer.log.take_crowded() {
                    self.crowded.store(true, Ordering::Relaxed);
                }
            }
            Err(Error::DiskFull(why)) => {
                writer.failed.push(FailedGroup { first, last, waiting: count, why });
                self.failures.fetch_add(1, Ordering::Release);
            }
            Err(error) => {
                self.poison(&error.to_string());
                writer.group.clear(GROUP_BYTES_KEPT);
                return Err(error);
            }
        }
        writer.group.clear(GROUP_BYTES_KEPT);
        self.written.store(last.0, Ordering::Release);
        Ok(())
    }

    #[cold]
    fn claim_failure(&self, at: Timestamp) -> Result<()> {
        let mut writer = self.writer.lock();
        let failed = &mut writer.as_mut().ok_or_else(read_only)?.failed;
        let Some(index) = failed.iter().position(|group| (group.first..=group.last).contains(&at)) else {
            return Ok(());
        };
        let group = &mut failed[index];
        group.waiting -= 1;
        let error = Error::DiskFull(group.why.clone());
        if group.waiting == 0 {
            failed.swap_remove(index);
            self.failures.fetch_sub(1, Ordering::Release);
        }
        Err(error)
    }

    /// Writes and syncs everything that was sequenced.
    pub fn sync_all(&self) -> Result<()> {
        let last = self.sequencer.lock().group_last;
        self.flush_durable(last)
    }

    /// Runs `act` on the log between two groups.
    pub fn with_log<R>(&self, act: impl FnOnce(&mut LogWriter) -> Result<R>) -> Result<R> {
        act(&mut self.writer.lock().as_mut().ok_or_else(read_only)?.log)
    }

    /// Whether the log fills a small disk, so that a checkpoint is due; says so once.
    #[inline]
    pub fn take_crowded(&self) -> bool {
        self.crowded.load(Ordering::Relaxed) && self.crowded.swap(false, Ordering::Relaxed)
    }

    /// Says what a checkpoint writes besides the rows of the log: the log leaves room for it.
    pub fn keep_room(&self, checkpoint_bytes: u64) {
        self.checkpoint_bytes.store(checkpoint_bytes, Ordering::Relaxed);
    }

    /// Whether only deletes are to be committed, because the disk is as good as full.
    #[inline]
    pub fn is_tight(&self) -> bool {
        self.tight.load(Ordering::Relaxed)
    }

    /// As [`Pipeline::is_tight`], after another look at the disk.
    pub fn weigh_room(&self) -> Result<bool> {
        self.with_log(|log| {
            let tight = log.weigh_room();
            self.tight.store(tight, Ordering::Relaxed);
            Ok(tight)
        })
    }

    /// Whether the log is archived, and has to have what is needed for that.
    #[inline]
    pub fn is_archived(&self) -> bool {
        self.archived.load(Ordering::Relaxed)
    }

    /// Says whether the log is archived from now on.
    pub fn set_archived(&self, on: bool) {
        self.archived.store(on, Ordering::SeqCst);
    }

    /// Where the log ends that was written so far. Nothing in it is newer than the newest timestamp given out.
    pub fn written_lsn(&self) -> Lsn {
        Lsn(self.written_lsn.load(Ordering::Acquire))
    }
}

/// Lets the next sync begin when it is dropped, whatever became of this one.
struct OpenGate<'a>(&'a Pipeline);

impl Drop for OpenGate<'_> {
    fn drop(&mut self) {
        let was_syncing = std::mem::replace(&mut self.0.gate.lock().is_syncing, false);
        debug_assert!(was_syncing, "one thread at a time syncs");
        self.0.synced.notify_all();
    }
}

fn read_only() -> Error {
    Error::Invalid("the database was opened read-only".into())
}

/// While this lives nothing else is sequenced. Dropping it lets the others go on.
pub struct Validation<'a> {
    pipeline: &'a Pipeline,
}

impl Validation<'_> {
    /// Takes the sequencer for the validated commit itself.
    pub fn sequence(&self) -> MutexGuard<'_, Sequencer> {
        self.pipeline.sequencer.lock()
    }
}

impl Drop for Validation<'_> {
    fn drop(&mut self) {
        let was_validating = std::mem::replace(&mut self.pipeline.sequencer.lock().validating, false);
        debug_assert!(was_validating, "one commit at a time validates");
        self.pipeline.validated.notify_all();
    }
}
