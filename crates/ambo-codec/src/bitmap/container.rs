//! One container: which of 2^16 neighbouring positions are in the set, in the form that takes least room.
//!
//! | kind | bytes | kept while |
//! |---|---|---|
//! | array | 2 × set | at most 4,095 are set |
//! | bits | 8,192 | between the two |
//! | inverted | 2 × unset | at most 4,095 are not set |
//! | runs | 4 × runs | smaller than the form above; never made by changing single positions |
//! | full | 0 | all are set |
//!
//! All numbers are little-endian and need no alignment, so a container in memory and one in a page are the same
//! bytes and share all code. A container of a [`BitmapRef`](super::BitmapRef) may hold anything: what is here stays
//! inside its slices whatever it reads, and answers what it will.

/// Positions of a container.
pub(super) const SPAN: u32 = 1 << 16;
/// The longest list of an array or inverted container: one more would be as large as bits.
pub(super) const LIST_MAX: u32 = 4095;
/// Words of 64 positions.
pub(super) const WORDS: usize = 1024;

const _: () = assert!((LIST_MAX as usize + 1) * size_of::<Low>() == WORDS * size_of::<Word>());

/// The low 16 bits of a position, little-endian.
pub type Low = [u8; 2];
/// 64 positions, the first in the lowest bit, little-endian.
pub type Word = [u8; 8];
/// First position and number of further positions, both [`Low`].
pub type Run = [u8; 4];
/// All positions of a container.
pub type Words = [Word; WORDS];

/// First and last position of a run. A damaged run may end beyond the container; it is cut there.
#[inline]
pub(super) fn run_bounds(run: Run) -> (u16, u16) {
    let first = u16::from_le_bytes([run[0], run[1]]);
    (first, first.saturating_add(u16::from_le_bytes([run[2], run[3]])))
}

/// The form of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Array,
    Bits,
    Inverted,
    Runs,
    Full,
}

impl Kind {
    /// The smallest form, runs aside, of `count` positions (1 to 2^16).
    #[inline]
    pub(super) fn of(count: u32) -> Self {
        match count {
            ..=LIST_MAX => Self::Array,
            SPAN.. => Self::Full,
            _ if SPAN - count <= LIST_MAX => Self::Inverted,
            _ => Self::Bits,
        }
    }

    /// The bytes of `count` positions in this form; none for runs, which the count does not tell.
    #[inline]
    pub(super) fn bytes(self, count: u32) -> Option<usize> {
        match self {
            Self::Array => Some(2 * count as usize),
            Self::Bits => Some(8 * WORDS),
            Self::Inverted => Some(2 * (SPAN - count) as usize),
            Self::Full => Some(0),
            Self::Runs => None,
        }
    }
}

/// A container, borrowed.
#[derive(Clone, Copy)]
pub enum Container<'a> {
    Array(&'a [Low]),
    Bits(&'a Words),
    Inverted(&'a [Low]),
    Runs(&'a [Run]),
    Full,
}

impl<'a> Container<'a> {
    /// The container in `bytes`. Bits of a wrong length, which a parsed bitmap does not have, are an empty array.
    #[inline]
    pub(super) fn new(kind: Kind, bytes: &'a [u8]) -> Self {
        match kind {
            Kind::Array => Self::Array(bytes.as_chunks().0),
            Kind::Inverted => Self::Inverted(bytes.as_chunks().0),
            Kind::Runs => Self::Runs(bytes.as_chunks().0),
            Kind::Full => Self::Full,
            Kind::Bits => match bytes.as_chunks().0.try_into() {
                Ok(words) => Self::Bits(words),
                Err(_) => Self::Array(&[]),
            },
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Array(_) => Kind::Array,
            Self::Bits(_) => Kind::Bits,
            Self::Inverted(_) => Kind::Inverted,
            Self::Runs(_) => Kind::Runs,
            Self::Full => Kind::Full,
        }
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Array(list) | Self::Inverted(list) => list.as_flattened(),
            Self::Bits(words) => words.as_flattened(),
            Self::Runs(runs) => runs.as_flattened(),
            Self::Full => &[],
        }
    }

    #[inline]
    pub(super) fn contains(self, low: u16) -> bool {
        match self {
            Self::Array(list) => find(list, low).is_ok(),
            Self::Inverted(list) => find(list, low).is_err(),
            Self::Bits(words) => bit(words, low),
            Self::Runs(runs) => {
                let behind = runs.partition_point(|&run| run_bounds(run).0 <= low);
                behind > 0 && run_bounds(runs[behind - 1]).1 >= low
            }
            Self::Full => true,
        }
    }

    /// How many positions are below `low` (0 to 2^16).
    pub(super) fn rank(self, low: u32) -> u32 {
        match self {
            Self::Array(list) => lower_bound(list, low) as u32,
            Self::Inverted(list) => low.saturating_sub(lower_bound(list, low) as u32),
            Self::Full => low,
            Self::Bits(words) => {
                let (whole, rest) = ((low / 64) as usize, low % 64);
                let below: u32 =
                    words[..whole].iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum();
                match words.get(whole) {
                    Some(word) if rest > 0 => below + (u64::from_le_bytes(*word) << (64 - rest)).count_ones(),
                    _ => below,
                }
            }
            Self::Runs(runs) => runs
                .iter()
                .map(|&run| run_bounds(run))
                .take_while(|&(first, _)| u32::from(first) < low)
                .map(|(first, last)| low.min(u32::from(last) + 1) - u32::from(first))
                .sum(),
        }
    }

    /// The position with `rank` positions below it.
    pub(super) fn select(self, mut rank: u32) -> Option<u16> {
        match self {
            Self::Array(list) => list.get(rank as usize).copied().map(u16::from_le_bytes),
            Self::Full => u16::try_from(rank).ok(),
            Self::Inverted(list) => {
                // The unset positions before the wanted one: those of which at most `rank` set ones are below.
                let mut low = 0;
                let mut high = list.len();
                while low < high {
                    let middle = usize::midpoint(low, high);
                    let set_below = u32::from(u16::from_le_bytes(list[middle])).wrapping_sub(middle as u32);
                    if set_below <= rank { low = middle + 1 } else { high = middle }
                }
                u16::try_from(rank + low as u32).ok()
            }
            Self::Bits(words) => {
                for (index, word) in words.iter().enumerate() {
                    let word = u64::from_le_bytes(*word);
                    if rank < word.count_ones() {
                        return Some((index * 64) as u16 + select_in_word(word, rank) as u16);
                    }
                    rank -= word.count_ones();
                }
                None
            }
            Self::Runs(runs) => {
                for &run in runs {
                    let (first, last) = run_bounds(run);
                    let len = u32::from(last - first) + 1;
                    if rank < len {
                        return Some(first + rank as u16);
                    }
                    rank -= len;
                }
                None
            }
        }
    }

    /// Writes the words from number `from` on; `from + out.len()` is at most [`WORDS`].
    pub(super) fn words(self, from: usize, out: &mut [u64]) {
        let first = from as u32 * 64;
        let end = first + out.len() as u32 * 64;
        match self {
            Self::Bits(words) => {
                for (out, word) in out.iter_mut().zip(&words[from..]) {
                    *out = u64::from_le_bytes(*word);
                }
            }
            Self::Full => out.fill(!0),
            Self::Array(list) => {
                out.fill(0);
                for low in within(list, first, end) {
                    out[(low - first) as usize / 64] |= 1 << (low % 64);
                }
            }
            Self::Inverted(list) => {
                out.fill(!0);
                for low in within(list, first, end) {
                    out[(low - first) as usize / 64] &= !(1 << (low % 64));
                }
            }
            Self::Runs(runs) => {
                out.fill(0);
                let skip = runs.partition_point(|&run| u32::from(run_bounds(run).1) < first);
                for &run in &runs[skip..] {
                    let (run_first, run_last) = run_bounds(run);
                    let (run_first, run_last) = (u32::from(run_first), u32::from(run_last));
                    if run_first >= end {
                        break;
                    }
                    // A damaged list may be out of order; cut to the window it is empty or inside it.
                    let (from, to) = (run_first.max(first), run_last.min(end - 1));
                    if from <= to {
                        set_range(out, from - first, to - first);
                    }
                }
            }
        }
    }

    /// All words, as bytes.
    pub(super) fn expand(self, out: &mut Words) {
        match self {
            Self::Bits(words) => *out = *words,
            Self::Array(list) => {
                *out = [[0; 8]; WORDS];
                list.iter().for_each(|&low| set(out, u16::from_le_bytes(low)));
            }
            Self::Inverted(list) => {
                *out = [[0xff; 8]; WORDS];
                list.iter().for_each(|&low| clear(out, u16::from_le_bytes(low)));
            }
            Self::Full => *out = [[0xff; 8]; WORDS],
            Self::Runs(_) => {
                let mut words = [0; WORDS];
                self.words(0, &mut words);
                for (out, word) in out.iter_mut().zip(words) {
                    *out = word.to_le_bytes();
                }
            }
        }
    }
}

/// The elements of `list` from `first` to below `end`; of a damaged list, only such.
fn within(list: &[Low], first: u32, end: u32) -> impl Iterator<Item = u32> {
    let skip = lower_bound(list, first);
    let values = list[skip..].iter().map(|&low| u32::from(u16::from_le_bytes(low)));
    values.take_while(move |low| (first..end).contains(low))
}

/// Where `low` is, or where it would be.
#[inline]
pub(super) fn find(list: &[Low], low: u16) -> Result<usize, usize> {
    let at = lower_bound(list, u32::from(low));
    if list.get(at) == Some(&low.to_le_bytes()) { Ok(at) } else { Err(at) }
}

/// How many elements are below `low`.
#[inline]
pub(super) fn lower_bound(list: &[Low], low: u32) -> usize {
    list.partition_point(|&element| u32::from(u16::from_le_bytes(element)) < low)
}

#[inline]
pub(super) fn bit(words: &Words, low: u16) -> bool {
    words[usize::from(low) / 64][usize::from(low) / 8 % 8] >> (low % 8) & 1 != 0
}

#[inline]
pub(super) fn set(words: &mut Words, low: u16) {
    words.as_flattened_mut()[usize::from(low) / 8] |= 1 << (low % 8);
}

#[inline]
pub(super) fn clear(words: &mut Words, low: u16) {
    words.as_flattened_mut()[usize::from(low) / 8] &= !(1 << (low % 8));
}

#[inline]
pub(super) fn flip(words: &mut Words, low: u16) {
    words.as_flattened_mut()[usize::from(low) / 8] ^= 1 << (low % 8);
}

/// Sets the bits `first..=last`.
pub(super) fn set_range(words: &mut [u64], first: u32, last: u32) {
    let (from, to) = (first as usize / 64, last as usize / 64);
    let (head, tail) = (!0 << (first % 64), !0 >> (63 - last % 64));
    if from == to {
        words[from] |= head & tail;
    } else {
        words[from] |= head;
        words[from + 1..to].fill(!0);
        words[to] |= tail;
    }
}

/// The number of the set bit with `rank` set bits below it; there is one.
fn select_in_word(mut word: u64, rank: u32) -> u32 {
    for _ in 0..rank {
        word &= word - 1;
    }
    word.trailing_zeros()
}
