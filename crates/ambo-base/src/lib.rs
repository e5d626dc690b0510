//! Bases: the compacted, immutable part of a table, in the shape that its owner chose.
//!
//! [`BaseOps`] says what a base has to do, [`Base`] is one of any storage. A base decides what is to be merged and builds it; the engine
//! says when, and makes visible what was built. So a storage is a folder here, an arm of [`Base`], and its
//! [`traits`](ambo_types::Storage::traits).

mod any;
pub mod append;
pub mod btree;
pub mod column;
mod compaction;
#[cfg(test)]
pub(crate) mod conformance;
pub mod key_filter;
pub mod lsm;
pub mod merge;
mod ops;
pub mod root;
pub mod runs;
#[cfg(feature = "stub")]
mod stub;

#[cfg(test)]
mod tests;

pub use any::{Base, Stores};
pub use compaction::{Built, Compacted, Compaction, CopyBlob, LeaveOut, Made, Workshop};
pub use ops::{BaseCursor, BaseOps, BaseRecord, BaseReport, Crowding, Lowest, Prober};
pub use root::Root;
