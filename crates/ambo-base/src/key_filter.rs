//! A filter of keys: says "certainly not here" for most keys that a run does not have, without looking into it.
//!
//! A split block Bloom filter (Apple and others; Putze, Sanders, Singler 2007, and arXiv 2101.01719): a key belongs to one block
//! of 32 bytes and sets one bit in each of its eight words, so a question costs one cache line. At 10 bits a key about one foreign key in
//! a hundred is let through. It is in memory only: runs of rows have theirs from when they are written; segments have one
//! made when it is worth it (`column/key_filter.rs`).

use ambo_codec::column::simd::{self, Kernel, Level};
use rapidhash::v3::rapidhash_v3;

const WORDS: usize = 8;
const WORD_BYTES: usize = size_of::<u32>();
const BLOCK_BYTES: usize = WORDS * WORD_BYTES;
/// Bits of a key with which about one foreign key in a hundred is let through.
pub const FEW_BITS: usize = 10;
/// … and about one in a thousand.
pub const MANY_BITS: usize = 16;
/// Filters that would be larger are not made: runs are few, and memory is bounded.
pub const BYTES_MAX: usize = 4 << 20;

/// Odd multipliers that turn one hash into eight bit positions.
const SALTS: [u32; WORDS] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The keys of one run or segment, roughly, in these bytes.
pub struct KeyFilter<B = Vec<u8>> {
    bytes: B,
}

/// The bytes of a filter for about so many keys, of so many bits each.
pub const fn bytes_for(keys: usize, bits: usize) -> usize {
    let blocks = (keys * bits).div_ceil(BLOCK_BYTES * 8);
    if blocks == 0 { BLOCK_BYTES } else { blocks * BLOCK_BYTES }
}

impl KeyFilter {
    /// An empty filter for about `keys` keys, of so many bits each; `None` if it would be too large.
    pub fn new(keys: usize, bits: usize) -> Option<Self> {
        let bytes = bytes_for(keys, bits);
        (bytes <= BYTES_MAX).then(|| Self { bytes: vec![0; bytes] })
    }

    /// Adds a key.
    pub fn insert(&mut self, key: &[u8]) {
        add(&mut self.bytes, KeyHash::of(key));
        debug_assert!(self.may_have(key), "what is in it is not denied");
    }

    /// Adds many keys.
    pub fn insert_all(&mut self, keys: impl Iterator<Item = KeyHash>) {
        simd::run(InsertAll { bytes: &mut self.bytes, keys });
    }

    /// Its bytes, for [`KeyFilter::of`].
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl<B: AsRef<[u8]>> KeyFilter<B> {
    /// The filter with these bytes, which are those of [`KeyFilter::into_bytes`].
    pub fn of(bytes: B) -> Self {
        let len = bytes.as_ref().len();
        assert!(len > 0 && len.is_multiple_of(BLOCK_BYTES), "a filter consists of whole blocks");
        Self { bytes }
    }

    /// False if the key was certainly not added.
    #[inline]
    pub fn may_have(&self, key: &[u8]) -> bool {
        is_maybe_in(self.bytes.as_ref(), KeyHash::of(key))
    }

    /// The numbers of those keys that it does not deny.
    pub fn not_denied(&self, keys: impl ExactSizeIterator<Item = (usize, KeyHash)>) -> Vec<usize> {
        simd::run(NotDenied { bytes: self.bytes.as_ref(), keys })
    }
}

/// Sets the bits of a key in the words of its block.
#[inline(always)]
fn add(bytes: &mut [u8], hash: KeyHash) {
    let (block, bits) = hash.place(bytes.len());
    let words = bytes.as_chunks_mut::<BLOCK_BYTES>().0[block].as_chunks_mut::<WORD_BYTES>().0;
    for (word, bit) in words.iter_mut().zip(bits) {
        *word = (u32::from_ne_bytes(*word) | bit).to_ne_bytes();
    }
}

/// [`KeyFilter::insert_all`], for processors that shift eight words by eight numbers at once.
struct InsertAll<'f, I> {
    bytes: &'f mut [u8],
    keys: I,
}

impl<I: Iterator<Item = KeyHash>> Kernel for InsertAll<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        self.keys.for_each(|hash| add(self.bytes, hash));
    }
}

/// Whether the words of a key's block have its bits. It branches nowhere, so that many in turn wait for memory together.
#[inline(always)]
fn is_maybe_in(bytes: &[u8], hash: KeyHash) -> bool {
    let (block, bits) = hash.place(bytes.len());
    let words = bytes.as_chunks::<BLOCK_BYTES>().0[block].as_chunks::<WORD_BYTES>().0;
    let missing = words.iter().zip(bits).map(|(word, bit)| bit & !u32::from_ne_bytes(*word));
    missing.fold(0, |missing, bit| missing | bit) == 0
}

/// [`KeyFilter::not_denied`], for processors that shift eight words by eight numbers at once.
struct NotDenied<'f, I> {
    bytes: &'f [u8],
    keys: I,
}

impl<I: ExactSizeIterator<Item = (usize, KeyHash)>> Kernel for NotDenied<'_, I> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn run(self, _: Level) -> Vec<usize> {
        let mut maybe = vec![0; self.keys.len()];
        let mut count = 0;
        for (number, hash) in self.keys {
            maybe[count] = number;
            count += usize::from(is_maybe_in(self.bytes, hash));
        }
        maybe.truncate(count);
        maybe
    }
}

/// What filters know of a key.
#[derive(Clone, Copy)]
pub struct KeyHash(u64);

impl KeyHash {
    /// That of a key.
    #[inline]
    pub fn of(key: &[u8]) -> Self {
        Self(rapidhash_v3(key))
    }

    /// The block of the key in a filter of so many bytes, and one bit for each of its words.
    #[inline(always)]
    fn place(self, bytes: usize) -> (usize, [u32; WORDS]) {
        let Self(hash) = self;
        let block = (((hash >> 32) * (bytes / BLOCK_BYTES) as u64) >> 32) as usize;
        (block, SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a key that a run has and its filter denies, which would be a lost row; and a filter that lets everything
    /// through.
    #[test]
    fn keys_are_never_denied_and_foreign_ones_mostly() {
        for (keys, bits, most) in [
            (1, FEW_BITS, 2_500),
            (100, FEW_BITS, 2_500),
            (30_000, FEW_BITS, 2_500),
            (30_000, MANY_BITS, 250),
        ] {
            let mut filter = KeyFilter::new(keys, bits).unwrap();
            let key = |number: usize| format!("key {number}").into_bytes();
            (0..keys).for_each(|number| filter.insert(&key(number)));
            assert!((0..keys).all(|number| filter.may_have(&key(number))));
            let others = keys..keys + 100_000;
            let let_through: Vec<_> =
                others.clone().filter(|number| filter.may_have(&key(*number))).collect();
            assert!(let_through.len() < most, "{} of 100,000 for {keys} keys", let_through.len());
            // Many at once are answered like one after the other, with eight words at once and without.
            let hashes = || others.clone().map(|number| (number, KeyHash::of(&key(number))));
            assert_eq!(filter.not_denied(hashes()), let_through);
            let scalar = NotDenied { bytes: &filter.bytes, keys: hashes() };
            assert_eq!(scalar.run(Level::Base), let_through);
            let mut at_once = KeyFilter::new(keys, bits).unwrap();
            at_once.insert_all((0..keys).map(|number| KeyHash::of(&key(number))));
            assert_eq!(at_once.bytes, filter.bytes);
            let again = KeyFilter::of(filter.into_bytes());
            assert!((0..keys).all(|number| again.may_have(&key(number))));
        }
        assert!(KeyFilter::new(1 << 30, FEW_BITS).is_none());
    }
}
