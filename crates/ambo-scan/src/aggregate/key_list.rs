//! Keys of groups, one behind the other, in a form that compares and sorts quickly.

use crate::key_words::slice;

use super::order::{head, sort_rest, sorted};

/// Keys of one form ([`super::key_form`]).
#[derive(Debug)]
pub(super) enum KeyList {
    Words(Vec<u128>),
    /// Bytes one behind the other, and where each key ends.
    Bytes {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
}

impl Default for KeyList {
    fn default() -> Self {
        Self::Bytes { bytes: Vec::new(), ends: Vec::new() }
    }
}

impl KeyList {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Words(words) => words.len(),
            Self::Bytes { ends, .. } => ends.len(),
        }
    }

    /// Gives up memory for further keys.
    pub(super) fn shrink(&mut self) {
        match self {
            Self::Words(words) => words.shrink_to_fit(),
            Self::Bytes { bytes, ends } => {
                bytes.shrink_to_fit();
                ends.shrink_to_fit();
            }
        }
    }

    /// Bytes that they take.
    pub(super) fn bytes_taken(&self) -> usize {
        match self {
            Self::Words(words) => size_of_val(&**words),
            Self::Bytes { bytes, ends } => bytes.len() + size_of_val(&**ends),
        }
    }

    /// Removes all keys.
    pub(super) fn clear(&mut self) {
        match self {
            Self::Words(words) => words.clear(),
            Self::Bytes { bytes, ends } => {
                bytes.clear();
                ends.clear();
            }
        }
    }

    /// Appends a key to a list of bytes. Panics where keys are numbers.
    pub(super) fn push_bytes(&mut self, key: &[u8]) {
        let Self::Bytes { bytes, ends } = self else { unreachable!("keys are bytes") };
        debug_assert_eq!(
            ends.last().copied().unwrap_or_default(),
            bytes.len(),
            "keys lie one behind the other"
        );
        bytes.extend_from_slice(key);
        ends.push(bytes.len());
    }

    /// A hash of each key, in the place of others.
    pub(super) fn hash(&self, hashes: &mut Vec<u64>) {
        hashes.clear();
        match self {
            Self::Words(words) => hashes.extend(words.iter().map(|word| hash_word(*word))),
            Self::Bytes { bytes, ends } => {
                let keys = (0..ends.len()).map(|number| slice(bytes, ends, number));
                hashes.extend(keys.map(rapidhash::v3::rapidhash_v3));
            }
        }
    }

    /// Whether a key is that of another list of the same form.
    #[inline]
    pub(super) fn is(&self, number: usize, other: &Self, of_other: usize) -> bool {
        match (self, other) {
            (Self::Words(words), Self::Words(others)) => words[number] == others[of_other],
            (Self::Bytes { bytes, ends }, Self::Bytes { bytes: others, ends: of_others }) => {
                slice(bytes, ends, number) == slice(others, of_others, of_other)
            }
            _ => unreachable!("lists of one form"),
        }
    }

    /// Appends a key of another list of the same form.
    pub(super) fn push(&mut self, other: &Self, of_other: usize) {
        match other {
            Self::Words(others) => {
                let Self::Words(words) = self else { unreachable!("lists of one form") };
                words.push(others[of_other]);
            }
            Self::Bytes { .. } => self.push_bytes(other.bytes(of_other)),
        }
    }

    /// The key of a list of bytes. Panics where keys are numbers.
    pub(super) fn bytes(&self, number: usize) -> &[u8] {
        let Self::Bytes { bytes, ends } = self else { unreachable!("keys are bytes") };
        slice(bytes, ends, number)
    }

    /// The numbers of all keys, each of which is there once, in the order of the keys.
    pub(super) fn order(&self, threads: usize) -> Vec<u32> {
        let order = match self {
            Self::Words(words) => sorted(words.iter().copied(), threads, &|_| {}),
            Self::Bytes { ends, .. } => {
                let key = |number| self.bytes(number as usize);
                let heads = (0..ends.len() as u32).map(|number| head(key(number), 0));
                sorted(heads, threads, &|part| sort_rest(part, &key, 0))
            }
        };
        debug_assert_eq!(order.len(), self.len(), "each key has a place in the order");
        let is_less = |one: &u32, next: &u32| match self {
            Self::Words(words) => words[*one as usize] < words[*next as usize],
            Self::Bytes { .. } => self.bytes(*one as usize) < self.bytes(*next as usize),
        };
        debug_assert!(order.is_sorted_by(is_less), "keys are there once, and sorted");
        order
    }
}

/// Both halves of a product of 128 bits, folded (as in wyhash).
fn hash_word(word: u128) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let low = fold(word as u64 ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03);
    fold(low ^ (word >> 64) as u64 ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db)
}
