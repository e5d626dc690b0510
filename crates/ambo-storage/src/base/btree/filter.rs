//! A filter of keys: says "certainly not here" for most keys that a run does not have, without looking into it.
//!
//! A split block Bloom filter (Apple and others; Putze, Sanders, Singler 2007, and arXiv 2101.01719): a key belongs to one block
//! of 32 bytes and sets one bit in each of its eight words, so a question costs one cache line. At 10 bits a key about one foreign key in
//! a hundred is let through. It is kept in memory only: after a reopening runs are looked into until they are merged.

use rapidhash::v3::rapidhash_v3;

const WORDS: usize = 8;
const BITS_A_KEY: usize = 10;
/// Filters that would be larger are not made: runs are few, and memory is bounded.
const BYTES_MAX: usize = 4 << 20;

/// Odd multipliers that turn one hash into eight bit positions.
const SALTS: [u32; WORDS] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The keys of one run, roughly.
pub struct KeyFilter {
    blocks: Box<[[u32; WORDS]]>,
}

impl KeyFilter {
    /// An empty filter for about `keys` keys; `None` if it would be too large.
    pub fn new(keys: usize) -> Option<Self> {
        let blocks = (keys * BITS_A_KEY).div_ceil(WORDS * 32).max(1);
        (blocks * WORDS * 4 <= BYTES_MAX).then(|| Self { blocks: vec![[0; WORDS]; blocks].into() })
    }

    /// The block of a key, and one bit for each of its words.
    #[inline]
    fn place(&self, key: &[u8]) -> (usize, [u32; WORDS]) {
        let hash = rapidhash_v3(key);
        let block = (((hash >> 32) * self.blocks.len() as u64) >> 32) as usize;
        (block, SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27)))
    }

    /// Adds a key.
    pub fn insert(&mut self, key: &[u8]) {
        let (block, bits) = self.place(key);
        self.blocks[block].iter_mut().zip(bits).for_each(|(word, bit)| *word |= bit);
    }

    /// False if the key was certainly not added.
    #[inline]
    pub fn may_have(&self, key: &[u8]) -> bool {
        let (block, bits) = self.place(key);
        self.blocks[block].iter().zip(bits).all(|(word, bit)| word & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a key that a run has and its filter denies, which would be a lost row; and a filter that lets everything
    /// through.
    #[test]
    fn keys_are_never_denied_and_foreign_ones_mostly() {
        for keys in [1, 100, 30_000] {
            let mut filter = KeyFilter::new(keys).unwrap();
            let key = |number: usize| format!("key {number}").into_bytes();
            (0..keys).for_each(|number| filter.insert(&key(number)));
            assert!((0..keys).all(|number| filter.may_have(&key(number))));
            let let_through = (keys..keys + 100_000).filter(|number| filter.may_have(&key(*number))).count();
            assert!(let_through < 2_500, "{let_through} of 100,000 for {keys} keys");
        }
        assert!(KeyFilter::new(1 << 30).is_none());
    }
}
