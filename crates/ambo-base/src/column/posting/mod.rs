//! Postings in files (br64): which rows of a segment have each key of an index, in a file beside the segment.
//!
//! 1. A file `posting-<segment>-<index>` follows from its segment and from what the index is over ([`IndexSpec`]), and from nothing else:
//!    no checkpoint names it, and nothing is wrong where it is missing. Then the segment is asked as without the index, until it is made.
//! 2. It is written in the same pass as its segment, or later for one that is there, and never changed. It goes with its segment or its
//!    index; what a crash leaves behind is swept at opening ([`tend`]).
//! 3. Positions are those of the segment. Rows that are deleted or replaced by newer ones stay in it: who asks subtracts them, as of any
//!    other set of rows.
//! 4. Nothing in it is trusted: trailer, root, leaves and lists have checksums, and what they say is checked where it is used. A file
//!    that is damaged is an error for who asks it, and reported by the check; it is never passed over.
//!
//! The format is in `docs/formats/postings.md`.

mod ask;
mod attached;
mod check;
mod counts;
mod file;
mod gather;
mod keys;
mod leaf;
mod root;
mod tend;
mod trailer;
mod writer;

#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod tests;

pub(super) use ask::{Asked, Way};
pub(super) use attached::AttachedFiles;
pub(super) use file::{Place, PostingFile};
pub(super) use gather::Gatherer;
pub use keys::IndexSpec;
pub use tend::{Tended, Tending, is_posting_file, sweep_postings};
