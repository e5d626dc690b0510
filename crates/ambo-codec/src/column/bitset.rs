//! Encoded bits: which rows are valid, and columns of booleans.
//!
//! # Format
//! The form is a byte of the block's header.
//!
//! | form | bytes | meaning |
//! |---|---|---|
//! | 1 ones | 0 | every bit is set |
//! | 2 zeros | 0 | no bit is set |
//! | 3 plain | ceil(count / 8) | bit `i` is bit `i % 8` of byte `i / 8`; those behind the end are zero |
//! | 4 runs | any | a byte, 0 or 1: the first run's bit; 4 bytes: how many runs; [`super::frames`] of the positions behind each run, 4-byte codes. The bits of the runs alternate. |

use std::ops::Range;

use super::{
    BitsView, Mask, VECTOR,
    frames::{self, Frames, Same},
    section::{put_count, take, take_count},
};
use crate::{Error, Result};

pub(crate) const ONES: u8 = 1;
pub(crate) const ZEROS: u8 = 2;
pub(crate) const PLAIN: u8 = 3;
pub(crate) const RUNS: u8 = 4;

/// Encoded bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits<'a> {
    form: Form<'a>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Ones,
    Zeros,
    Plain(&'a [u8]),
    Runs { first: bool, ends: Frames<'a, u32> },
}

/// Appends the smallest form of `bits`, and returns which it is.
pub(crate) fn encode(bits: BitsView<'_>, out: &mut Vec<u8>) -> u8 {
    let set = bits.count();
    if set == bits.len() {
        return ONES;
    }
    if set == 0 {
        return ZEROS;
    }
    let plain = bits.len().div_ceil(8);
    // A run costs more than a byte.
    let runs = count_runs(bits);
    if runs < plain {
        let ends = run_ends(bits, runs);
        if 5 + frames::encoded_len(&ends) < plain {
            out.push(bits.get(0).into());
            put_count(runs, out);
            frames::encode(&ends, out);
            return RUNS;
        }
    }
    let at = out.len();
    (0..bits.words().len()).for_each(|index| out.extend_from_slice(&bits.word(index).to_le_bytes()));
    out.truncate(at + plain);
    PLAIN
}

/// The bits that differ from the bit before; the first bit never does.
fn changes(bits: BitsView<'_>) -> impl Iterator<Item = u64> {
    let mut before = bits.get(0) as u64;
    (0..bits.words().len()).map(move |index| {
        let word = bits.words()[index];
        let changes = word ^ (word << 1 | before);
        before = word >> 63;
        changes & super::mask::word_mask(index, bits.len())
    })
}

fn count_runs(bits: BitsView<'_>) -> usize {
    1 + changes(bits).map(|word| word.count_ones() as usize).sum::<usize>()
}

fn run_ends(bits: BitsView<'_>, runs: usize) -> Vec<u32> {
    let mut ends = Vec::with_capacity(runs);
    for (index, word) in changes(bits).enumerate() {
        ends.extend(super::mask::ones(word).map(|bit| (index * 64 + bit) as u32));
    }
    ends.push(bits.len() as u32);
    ends
}

impl<'a> Bits<'a> {
    /// Takes `count` bits of a form from the front of `bytes`.
    pub(crate) fn parse(form: u8, bytes: &mut &'a [u8], count: usize) -> Result<Self> {
        let form = match form {
            ONES => Form::Ones,
            ZEROS => Form::Zeros,
            PLAIN => Form::Plain(take(bytes, count.div_ceil(8))?),
            RUNS => {
                let first = match take(bytes, 1)? {
                    [0] => false,
                    [1] => true,
                    _ => return Err(Error::malformed(0, "a bit that is neither 0 nor 1")),
                };
                let runs = take_count(bytes, count)?;
                let ends = Frames::parse(bytes, runs)?;
                if runs == 0 || ends.get(runs - 1) as usize != count {
                    return Err(Error::malformed(0, "the last run of bits ends elsewhere than its block"));
                }
                Form::Runs { first, ends }
            }
            _ => return Err(Error::malformed(0, "unknown form of bits")),
        };
        Ok(Self { form, count })
    }

    /// Whether every bit is known to be set.
    #[inline]
    pub(crate) fn is_ones(&self) -> bool {
        matches!(self.form, Form::Ones)
    }

    /// Whether every bit is known to be clear.
    #[inline]
    pub(crate) fn is_zeros(&self) -> bool {
        matches!(self.form, Form::Zeros)
    }

    /// Bit `index`. Panics when there is none.
    pub(crate) fn get(&self, index: usize) -> bool {
        assert!(index < self.count);
        match self.form {
            Form::Ones => true,
            Form::Zeros => false,
            Form::Plain(bytes) => bytes[index / 8] >> (index % 8) & 1 != 0,
            Form::Runs { first, ends } => {
                let (mut low, mut high) = (0, ends.len() - 1);
                while low < high {
                    let middle = (low + high) / 2;
                    if ends.get(middle) as usize > index { high = middle } else { low = middle + 1 }
                }
                first ^ (low % 2 == 1)
            }
        }
    }

    /// Clears the bits of `mask` that are not `to` here.
    pub(crate) fn keep(&self, to: bool, mask: &mut Mask) {
        match self.form {
            Form::Ones if to => {}
            Form::Zeros if !to => {}
            Form::Ones | Form::Zeros => mask.clear(),
            Form::Plain(bytes) => {
                let flip = if to { 0 } else { u64::MAX };
                for (word, bytes) in mask.words_mut().iter_mut().zip(bytes.chunks(8)) {
                    let mut padded = [0; 8];
                    padded[..bytes.len()].copy_from_slice(bytes);
                    *word &= u64::from_le_bytes(padded) ^ flip;
                }
            }
            Form::Runs { first, ends } => each_run(ends, first, self.count, |bit, rows| {
                if bit != to {
                    mask.clear_range(rows);
                }
            }),
        }
    }

    /// All bits.
    pub(crate) fn to_mask(self) -> Mask {
        let mut mask = Mask::all(self.count);
        self.keep(true, &mut mask);
        mask
    }

    /// Writes the bits of `range` to `out`, of the same length.
    pub(crate) fn decode(&self, range: Range<usize>, out: &mut [bool]) {
        assert!(range.start <= range.end && range.end <= self.count && range.len() == out.len());
        match self.form {
            Form::Ones => out.fill(true),
            Form::Zeros => out.fill(false),
            Form::Plain(bytes) => {
                let bit = |index: usize| bytes[index / 8] >> (index % 8) & 1 != 0;
                out.iter_mut().zip(range).for_each(|(out, index)| *out = bit(index));
            }
            Form::Runs { first, ends } => each_run(ends, first, self.count, |bit, rows| {
                let rows = rows.start.max(range.start)..rows.end.min(range.end);
                if rows.start < rows.end {
                    out[rows.start - range.start..rows.end - range.start].fill(bit);
                }
            }),
        }
    }

    /// Writes the bits at `positions` to `out`, of the same length.
    pub(crate) fn gather(&self, positions: &[u32], out: &mut [bool]) {
        out.iter_mut().zip(positions).for_each(|(out, &position)| *out = self.get(position as usize));
    }

    /// Whether the runs rise and nothing is set behind the end.
    pub(crate) fn verify(&self) -> Result<()> {
        let sound = match self.form {
            Form::Ones | Form::Zeros => true,
            Form::Plain(bytes) => {
                self.count.is_multiple_of(8) || bytes.last().is_none_or(|last| last >> (self.count % 8) == 0)
            }
            Form::Runs { ends, .. } => (1..ends.len()).all(|index| ends.get(index - 1) < ends.get(index)),
        };
        if sound { Ok(()) } else { Err(Error::malformed(0, "bits out of order")) }
    }
}

/// Calls `each` with the bit and the positions of every run.
fn each_run(ends: Frames<'_, u32>, first: bool, count: usize, mut each: impl FnMut(bool, Range<usize>)) {
    let mut some = [0; VECTOR];
    let (mut at, mut bit) = (0, first);
    for from in (0..ends.len()).step_by(VECTOR) {
        let some = &mut some[..VECTOR.min(ends.len() - from)];
        ends.decode(from..from + some.len(), some, Same);
        for &mut end in some {
            let end = (end as usize).clamp(at, count);
            each(bit, at..end);
            (at, bit) = (end, !bit);
        }
    }
}
