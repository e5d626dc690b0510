//! Sorted entries as inputs of a merge: those of a chunk, or of a tree.

use ambo_base::{
    btree::TreeCursor,
    merge::{Head, Input},
};
use ambo_types::{Result, record::Record};

use super::chunk::Chunk;

/// Of entries with the same key those that are there come first …
pub(super) const LIVE_RANK: u32 = 0;
/// … and then those that are deleted.
pub(super) const DELETED_RANK: u32 = 1;

/// Entries of one input that are left, below a bound.
pub(super) enum Entries<'c> {
    Chunk { chunk: &'c Chunk, next: usize, end: usize },
    Tree(Box<TreeRange>),
}

/// Entries of a tree below a bound.
pub(super) struct TreeRange {
    cursor: TreeCursor,
    upper: Option<Vec<u8>>,
}

impl<'c> Entries<'c> {
    /// Entries of a chunk from `lower` to below `upper`.
    pub(super) fn of_chunk(chunk: &'c Chunk, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Self {
        let next = lower.map_or(0, |lower| chunk.lower_bound(lower));
        let end = upper.map_or(chunk.len(), |upper| chunk.lower_bound(upper));
        debug_assert!(next <= end, "a range begins before it ends");
        Self::Chunk { chunk, next, end }
    }

    /// Entries of a tree from `lower` to below `upper`.
    pub(super) fn of_tree(
        mut cursor: TreeCursor,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> Result<Self> {
        debug_assert!(
            lower.zip(upper).is_none_or(|(lower, upper)| lower < upper),
            "a range begins before it ends"
        );
        match lower {
            Some(lower) => cursor.seek_ge(lower)?,
            None => cursor.seek_first()?,
        };
        Ok(Self::Tree(Box::new(TreeRange { cursor, upper: upper.map(<[u8]>::to_vec) })))
    }

    /// The record of its next entry.
    pub(super) fn record(&self) -> Record<'_> {
        match self {
            Self::Chunk { chunk, next, .. } => chunk.record(*next),
            Self::Tree(tree) => tree.cursor.record(),
        }
    }

    /// Goes on to the entry behind it.
    pub(super) fn step(&mut self) -> Result<()> {
        match self {
            Self::Chunk { next, .. } => *next += 1,
            Self::Tree(tree) => {
                tree.cursor.next()?;
            }
        }
        Ok(())
    }
}

impl Input for Entries<'_> {
    fn head(&self) -> Head {
        match self {
            Self::Chunk { chunk, next, end } if next < end => chunk.head(*next),
            Self::Tree(tree) => tree.head(),
            Self::Chunk { .. } => Head::END,
        }
    }

    fn key(&self) -> &[u8] {
        match self {
            Self::Chunk { chunk, next, .. } => chunk.key(*next),
            Self::Tree(tree) => tree.cursor.key(),
        }
    }
}

impl TreeRange {
    fn head(&self) -> Head {
        let Self { cursor, upper } = self;
        if !cursor.is_valid() || upper.as_deref().is_some_and(|upper| cursor.key() >= upper) {
            return Head::END;
        }
        let rank = if cursor.record().is_tombstone() { DELETED_RANK } else { LIVE_RANK };
        Head::new(cursor.key(), rank)
    }
}
