//! Sorted entries of several inputs as one sorted stream, by a tournament of losers (Knuth, The Art of Computer Programming 3, 5.4.1).

use super::chunk::{Chunk, prefix};
use crate::{Result, base::btree::TreeCursor, record::Record};

/// What a merge compares of an input's next entry.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// The first bytes of its key, see [`prefix`], which decide most comparisons.
    pub(super) prefix: u64,
    pub(super) rank: Rank,
}

/// The order of entries with the same key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Live,
    Deleted,
    /// There is no entry: behind all keys.
    End,
}

impl Head {
    const END: Self = Self { prefix: u64::MAX, rank: Rank::End };
}

/// Entries of one input that are left, below a bound.
pub(super) enum Input<'c> {
    Chunk { chunk: &'c Chunk, next: usize, end: usize },
    Tree(Box<TreeRange>),
}

/// Entries of a tree below a bound.
pub(super) struct TreeRange {
    cursor: TreeCursor,
    upper: Option<Vec<u8>>,
}

impl<'c> Input<'c> {
    /// Entries of a chunk from `lower` to below `upper`.
    pub(super) fn of_chunk(chunk: &'c Chunk, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Self {
        let next = lower.map_or(0, |lower| chunk.lower_bound(lower));
        let end = upper.map_or(chunk.len(), |upper| chunk.lower_bound(upper));
        Self::Chunk { chunk, next, end }
    }

    /// Entries of a tree from `lower` to below `upper`.
    pub(super) fn of_tree(
        mut cursor: TreeCursor,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> Result<Self> {
        match lower {
            Some(lower) => cursor.seek_ge(lower)?,
            None => cursor.seek_first()?,
        };
        Ok(Self::Tree(Box::new(TreeRange { cursor, upper: upper.map(<[u8]>::to_vec) })))
    }

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

    fn record(&self) -> Record<'_> {
        match self {
            Self::Chunk { chunk, next, .. } => chunk.record(*next),
            Self::Tree(tree) => tree.cursor.record(),
        }
    }

    fn step(&mut self) -> Result<()> {
        match self {
            Self::Chunk { next, .. } => *next += 1,
            Self::Tree(tree) => {
                tree.cursor.next()?;
            }
        }
        Ok(())
    }
}

impl TreeRange {
    fn head(&self) -> Head {
        let Self { cursor, upper } = self;
        if !cursor.is_valid() || upper.as_deref().is_some_and(|upper| cursor.key() >= upper) {
            return Head::END;
        }
        let rank = if cursor.record().is_tombstone() { Rank::Deleted } else { Rank::Live };
        Head { prefix: prefix(cursor.key()), rank }
    }
}

/// An input in the tournament: its number, and the head of its next entry.
#[derive(Clone, Copy)]
struct Player {
    head: Head,
    input: usize,
}

/// See the module.
pub(super) struct Tournament<'c> {
    inputs: Vec<Input<'c>>,
    /// The loser of each match; the winner of the match at `n` plays in that at `n / 2`. The one at 0 has won all.
    losers: Vec<Player>,
}

impl<'c> Tournament<'c> {
    /// Of inputs in any order.
    pub(super) fn new(inputs: Vec<Input<'c>>) -> Self {
        let count = inputs.len();
        let mut this = Self { inputs, losers: Vec::new() };
        // The inputs stand behind the matches, whose first is that of the last two winners.
        let player = |input: usize| Player { head: this.inputs[input].head(), input };
        let mut winners: Vec<_> = (0..2 * count).map(|place| player(place.saturating_sub(count))).collect();
        let mut losers = winners[..count].to_vec();
        for game in (1..count).rev() {
            let (a, b) = (winners[2 * game], winners[2 * game + 1]);
            (winners[game], losers[game]) = if this.is_before(a, b) { (a, b) } else { (b, a) };
        }
        if let Some(champion) = losers.first_mut() {
            *champion = winners[1];
        }
        this.losers = losers;
        this
    }

    /// Whether the next entry of `a` comes first.
    #[inline]
    fn is_before(&self, a: Player, b: Player) -> bool {
        match a.head.prefix == b.head.prefix {
            true => self.is_before_by_rest(a, b),
            false => a.head.prefix < b.head.prefix,
        }
    }

    fn is_before_by_rest(&self, a: Player, b: Player) -> bool {
        if a.head.rank == Rank::End || b.head.rank == Rank::End {
            return a.head.rank < b.head.rank;
        }
        let keys = self.inputs[a.input].key().cmp(self.inputs[b.input].key());
        keys.then(a.head.rank.cmp(&b.head.rank)).is_lt()
    }

    /// The next entry; `None` if there is none.
    pub(super) fn peek(&self) -> Option<(&[u8], Record<'_>)> {
        let Player { head, input } = *self.losers.first()?;
        (head.rank != Rank::End).then(|| (self.inputs[input].key(), self.inputs[input].record()))
    }

    /// Goes on to the entry behind it. REQUIRES: there is a next entry.
    pub(super) fn step(&mut self) -> Result<()> {
        let input = self.losers[0].input;
        self.inputs[input].step()?;
        let mut winner = Player { head: self.inputs[input].head(), input };
        let mut game = (input + self.inputs.len()) / 2;
        while game > 0 {
            let loser = self.losers[game];
            if self.is_before(loser, winner) {
                (self.losers[game], winner) = (winner, loser);
            }
            game /= 2;
        }
        self.losers[0] = winner;
        Ok(())
    }
}
