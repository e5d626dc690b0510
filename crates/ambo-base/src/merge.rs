//! Sorted inputs as one sorted stream, by a tournament of losers (Knuth, The Art of Computer Programming 3, 5.4.1).
//!
//! What decides most matches is a *head*, which lies in the tournament itself: the first bytes of a key as a number. The keys are looked at
//! only where these are the same.

use std::cmp::Ordering;

use ambo_types::Result;

/// What is compared of the next entry of an input.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    prefix: u64,
    rank: u32,
}

impl Head {
    /// There is no entry: behind all keys.
    pub const END: Self = Self { prefix: u64::MAX, rank: u32::MAX };

    /// The head of an entry. Of entries with the same key the one of a lesser rank comes first.
    #[inline]
    pub fn new(key: &[u8], rank: u32) -> Self {
        Self::of_prefix(prefix(key), rank)
    }

    /// The same by the [`prefix`] of the key.
    #[inline]
    pub fn of_prefix(prefix: u64, rank: u32) -> Self {
        debug_assert!(rank < u32::MAX, "the rank of the end");
        Self { prefix, rank }
    }

    fn is_end(self) -> bool {
        self.rank == u32::MAX
    }
}

/// The first eight bytes, zeros behind shorter keys: as numbers they are in the order of the keys, if they differ.
#[inline]
pub fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

/// An input of a merge.
pub trait Input {
    /// The head of its next entry.
    fn head(&self) -> Head;
    /// The key of its next entry. REQUIRES: there is one.
    fn key(&self) -> &[u8];
}

/// An input in the tournament: its number, and the head of its next entry.
#[derive(Clone, Copy)]
struct Player {
    head: Head,
    input: usize,
}

/// See the module.
pub struct Tournament<I> {
    inputs: Vec<I>,
    /// The loser of each match; the winner of the match at `n` plays in that at `n / 2`. The one at 0 has won all.
    losers: Vec<Player>,
}

impl<I: Input> Tournament<I> {
    /// Of inputs in any order.
    pub fn new(inputs: Vec<I>) -> Self {
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
        debug_assert!(this.is_decided());
        this
    }

    /// Whether nobody comes before the winner; for assertions.
    fn is_decided(&self) -> bool {
        let Some(&winner) = self.losers.first() else { return true };
        let head = |input: usize| Player { head: self.inputs[input].head(), input };
        (0..self.inputs.len()).all(|input| input == winner.input || !self.is_before(head(input), winner))
    }

    /// Whether the next entry of `a` comes first.
    #[inline]
    fn is_before(&self, a: Player, b: Player) -> bool {
        match a.head.prefix.cmp(&b.head.prefix) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.is_before_by_rest(a, b),
        }
    }

    fn is_before_by_rest(&self, a: Player, b: Player) -> bool {
        if a.head.is_end() || b.head.is_end() {
            return a.head.rank < b.head.rank;
        }
        let keys = self.inputs[a.input].key().cmp(self.inputs[b.input].key());
        keys.then(a.head.rank.cmp(&b.head.rank)).is_lt()
    }

    /// The input with the next entry; `None` if there is none.
    #[inline]
    pub fn winner(&self) -> Option<&I> {
        let Player { head, input } = *self.losers.first()?;
        (!head.is_end()).then(|| &self.inputs[input])
    }

    /// The same, to be moved on. REQUIRES: [`Tournament::replay`] follows.
    #[inline]
    pub fn winner_mut(&mut self) -> Option<&mut I> {
        let Player { head, input } = *self.losers.first()?;
        (!head.is_end()).then(|| &mut self.inputs[input])
    }

    /// The input whose entry would be next if it were not for the winner's.
    pub fn second(&self) -> Option<&I> {
        // Whoever lost to the winner alone lost to nobody else.
        let mut second: Option<Player> = None;
        let mut game = (self.losers.first()?.input + self.inputs.len()) / 2;
        while game > 0 {
            let loser = self.losers[game];
            if second.is_none_or(|second| self.is_before(loser, second)) {
                second = Some(loser);
            }
            game /= 2;
        }
        second.filter(|second| !second.head.is_end()).map(|second| &self.inputs[second.input])
    }

    /// Finds the next winner after the last one has moved on.
    #[inline]
    pub fn replay(&mut self) {
        let Some(&Player { input, .. }) = self.losers.first() else { return };
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
        debug_assert!(self.is_decided());
    }

    /// Moves the winner on, and finds the next.
    pub fn step(&mut self, step: impl FnOnce(&mut I) -> Result<()>) -> Result<()> {
        if let Some(winner) = self.winner_mut() {
            step(winner)?;
            self.replay();
        }
        Ok(())
    }

    /// All inputs, in any order.
    pub fn into_inputs(self) -> Vec<I> {
        self.inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys, the last one first, and a rank.
    struct Keys(Vec<&'static [u8]>, u32);

    impl Input for Keys {
        fn head(&self) -> Head {
            self.0.last().map_or(Head::END, |key| Head::new(key, self.1))
        }

        fn key(&self) -> &[u8] {
            self.0.last().expect("it has an entry")
        }
    }

    /// Keys with many that differ behind their heads, or are heads of others, and the greatest of heads.
    const KEYS: [&[u8]; 12] = [
        b"",
        b"\0",
        b"\0\0",
        b"12345678",
        b"12345678\0",
        b"12345678a",
        b"12345678b",
        b"2",
        b"2\0",
        b"3",
        &[0xff; 8],
        &[0xff; 9],
    ];

    // Keeps away: entries out of order, lost or twice, among equal keys the older one first, and a wrong second.
    #[test]
    fn entries_come_in_order() {
        for seed in 0..2000u64 {
            let mut random = crate::merge::prefix(&seed.to_le_bytes()) | 1;
            let mut next = |below: u64| {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(seed);
                (random >> 33) % below
            };
            let count = next(9) as usize;
            let mut inputs: Vec<Keys> = (0..count).map(|rank| Keys(Vec::new(), rank as u32)).collect();
            let mut expected = Vec::new();
            for input in &mut inputs {
                for key in KEYS.iter().rev().filter(|_| next(3) > 0) {
                    input.0.push(key);
                    expected.push((*key, input.1));
                }
            }
            expected.sort_unstable();
            let mut merge = Tournament::new(inputs);
            let mut found = Vec::new();
            while let Some(winner) = merge.winner() {
                found.push((*winner.0.last().unwrap(), winner.1));
                let second = merge.second().map(|second| (*second.0.last().unwrap(), second.1));
                let least = expected[found.len()..].iter().find(|(_, rank)| *rank != found.last().unwrap().1);
                assert_eq!(second, least.copied(), "seed {seed}");
                merge
                    .step(|winner| {
                        winner.0.pop();
                        Ok(())
                    })
                    .unwrap();
            }
            assert_eq!(found, expected, "seed {seed}");
            assert!(merge.second().is_none() && merge.into_inputs().len() == count);
        }
    }
}
