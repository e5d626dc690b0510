//! Files: devices, pages, the write-ahead log, the budget of memory.
//!
//! Knows bytes, page numbers, log positions and operations on records of numbered tables. Knows no schema, no tree and no transaction.
//!
//! * [`io`]: the file system behind a trait, with a simulated disk that crashes and fails.
//! * [`page`]: the page store: cache, free lists, superblocks.
//! * [`log`]: the write-ahead log: groups, segments, replay.
//! * [`readers`]: what readers in other processes hold.
//! * [`seal`]: encryption at rest.
//! * [`budget`]: who may use how much memory.

pub mod budget;
pub mod checksum;
pub mod io;
pub mod log;
pub mod page;
pub mod priority;
pub mod readers;
pub mod seal;
pub mod sync;
