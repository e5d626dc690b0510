//! Indexes: tables of entries that follow from the rows of another table.
//!
//! # Rules
//! 1. An index that is ready has exactly one entry for each row of its table, in every snapshot: entries are written by the transaction
//!    that writes the row, with its timestamp, through the same log, memtables and trees. So snapshots, recovery, savepoints and conflicts
//!    need nothing of their own.
//! 2. The key of an entry of a unique index names the values alone, so two transactions that give two rows the same values write the same
//!    key, and the second to commit has a conflict.
//! 3. What an entry says follows from the row's stored key and value ([`EntryFormat`]); a change of a row writes the entries that differ.
//! 4. A commit that writes to a table must have looked at the table's indexes as they are when it is sequenced; otherwise it is a conflict.
//!
//! | file | idea |
//! |---|---|
//! | `entry` | what an entry looks like |
//! | `chunk` | entries in memory, gathered and sorted |
//! | `entries` | sorted entries of chunks and trees, as inputs of a merge |
//! | `sorter` | entries in any order into one packed tree |

mod chunk;
mod entries;
mod entry;
mod sorter;
#[cfg(test)]
mod tests;

pub use entry::{Entry, EntryFormat};
pub use sorter::{EntryGatherer, EntrySorter, SortedEntries};
