//! Transactions: from buffered writes to published commits.
//!
//! # The commit path
//!
//! Every write of every table takes these steps, in this order ([`pipeline`] has the shared parts):
//!
//! 1. *Latch* the keys ([`latch`]): until step 6 nobody else commits to them, so versions of one key are
//!    installed in timestamp order.
//! 2. *Check* row locks of others ([`row_lock`]) and, for a transaction with a snapshot, that nothing newer than it was committed to
//!    the keys (first committer wins).
//! 3. *Sequence*: under one short lock take the next timestamp and append to the log's group buffer, so the log's
//!    order is the order of timestamps.
//! 4. *Write* the group to the log (one thread for all who wait) and sync it when asked. A failure fails exactly the
//!    transactions of that group; none of them was installed.
//! 5. *Install* the rows into the active memtables, in parallel with other commits.
//! 6. Unlatch.
//! 7. *Publish* in timestamp order ([`publish`]): a snapshot taken later sees the commit.
//!
//! A panic between 3 and 7 stops the pipeline ([`fuse`]): nothing from that commit on is published, and nobody waits for it.
//!
//! # Lock order
//!
//! `loading` → `merging_segments` → `merging` → `checkpoint` → `versions` (`database/apply.rs`) → latches (ascending) → `writer` →
//! `sequencer`. A load that is published alone takes all latches before the checkpoint, and waits for `merging_segments` only where the
//! disk is almost full; no commit waits for those before the latches while it has one. The registry of snapshots and the row-lock table
//! are leaves: nothing is taken under them.

pub mod fuse;
pub mod latch;
pub mod pipeline;
pub mod publish;
pub mod row_lock;
pub mod snapshots;
mod write_list;
pub mod write_set;
