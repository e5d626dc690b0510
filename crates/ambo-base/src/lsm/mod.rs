//! The `lsm` base: a last level that is cut into *parts*, which are merged with the runs above them slot by slot.
//!
//! 1. A part is a packed tree without tombstones, with a *fence*: the parts are in the order of their keys, a part has no key below its
//!    fence, and none at or above the fence of the next. The fence of the first is empty.
//! 2. Runs are trees above the parts, as those of storage `btree` are, and are merged with each other in the same tiers; but not beyond a
//!    few slots, as long as they are not too many.
//! 3. A *slot* is a few neighbouring parts. A merge takes one slot, the one with the most above it for its size (`slots.rs`): what the runs
//!    have within its bounds is cut out of them (`btree/split.rs`: leaves are linked, not rewritten) and merged with its parts, and the
//!    outcome is cut into parts again (`job.rs`). So a merge rewrites a slot and never the table, it takes room for a slot, and a run is
//!    eaten from any side until nothing is left of it.
//! 4. Leaves that overlap nothing are linked by every merge. A run of keys that come in order becomes parts without being rewritten.
//! 5. Only where all is to be written anew, as other compression is wanted, or moved down in the file, one merge goes over all slots.
//!
//! # Format
//! A part is a [`Root`](crate::Root) with the tag [`PART`](crate::root::PART) and its place, from 0 on, as the number; its bytes are the
//! description of its tree ([`TreeMeta`](crate::btree::TreeMeta), 72 bytes), and then its fence. Trees are those of storage `btree`.

mod base;
mod cursor;
mod job;
mod pages;
mod parts;
mod slots;

#[cfg(test)]
mod tests;

pub use base::LsmBase;
pub use cursor::PartsCursor;
pub use parts::Parts;
