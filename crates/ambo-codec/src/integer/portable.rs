//! In place of vectors, where there are none: what `simd` has, without vectors.

use super::{Block, Damaged, Word, scalar};

/// What the machine can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Level {
    Scalar,
}

impl Level {
    /// The levels of the machine.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        vec![Self::Scalar]
    }

    /// The best that the machine can do.
    #[inline(always)]
    pub(super) fn best() -> Self {
        Self::Scalar
    }
}

/// See [`Block::decode`].
pub(super) fn decode<W: Word>(_: Level, block: &Block<'_, W>, out: &mut [W]) -> Result<(), Damaged> {
    scalar::decode_any(block, out)
}

/// See [`Block::select`].
pub(super) fn select<W: Word>(_: Level, block: &Block<'_, W>, index: usize) -> Result<W, Damaged> {
    scalar::select(block, index)
}

/// See [`Block::lower_bound`].
pub(super) fn lower_bound<W: Word>(_: Level, block: &Block<'_, W>, key: W) -> Result<(usize, bool), Damaged> {
    scalar::lower_bound(block, key)
}

/// See [`Block::sum`].
pub(super) fn sum<W: Word>(_: Level, block: &Block<'_, W>) -> Result<u128, Damaged> {
    scalar::sum(block)
}
