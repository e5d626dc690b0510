//! The `btree` base: packed, immutable B+trees.
//!
//! A tree is built once, from a sorted stream or by merging other trees ([`TreeBuilder`], [`merge`]), and
//! never edited. So pages are full, compression is paid once, and a reader needs no latch: a [`Tree`] is
//! its description ([`TreeMeta`]) and a store of pages.
//!
//! Nothing that is read from a page is trusted. A page's header is checked when the page is entered (that
//! its lists lie inside it), and each offset when it is followed; both cost a few predictable branches. So
//! a damaged or hostile page gives [`Error::Damaged`], and neither a panic nor a read outside of the page.

mod base;
mod builder;
mod check;
mod copy;
mod cursor;
mod draft;
mod hot;
mod inner;
mod key_blocks;
mod key_list;
mod key_reader;
mod leaf;
mod leaf_filter;
mod merge;
mod meta;
mod node;
mod packed;
mod part;
mod prefetch;
mod space;
mod split;
mod stretch;
mod sum;
mod tree;
mod value;
mod walk;

#[cfg(test)]
mod compressed_tests;
#[cfg(test)]
mod measure;
#[cfg(test)]
mod tests;

pub(crate) use base::is_outdated;
pub use base::{DICTIONARY_BYTES, TRAINING_BYTES_MIN, TreeBase};
pub use builder::{BuildOptions, RowStream, TreeBuilder};
pub use check::{CheckOptions, TreeProblem, TreeReport};
pub use copy::TreeCopy;
pub use cursor::TreeCursor;
pub use merge::{MergeOptions, Merged, merge};
pub use meta::{TreeCompression, TreeMeta};
pub use packed::RecordCompression;
pub use space::TreeSpace;
pub use split::{Split, split};
pub use sum::KeySum;
pub use tree::{Tree, TreeRecord};

use ambo_pages::page::PageStore;
use ambo_types::{Error, id::PagePtr};

/// A result of decoding; the error says what is wrong, the caller knows with which page.
type Found<T> = Result<T, &'static str>;

/// That `what` is wrong with a page.
fn damaged(store: &PageStore, ptr: PagePtr, what: &str) -> Error {
    let offset = ptr.number().0.saturating_mul(store.page_size() as u64);
    Error::damaged(ambo_pages::page::NAME, offset, format!("page {}: {what}", ptr.number()))
}
