//! Run lengths: each value once, and where its run ends.
//!
//! # Format
//! | part | bytes | meaning |
//! |---|---|---|
//! | runs | 4 | how many, at least 1 |
//! | values | any | [`super::frames`] of the runs' codes |
//! | ends | any | [`super::frames`] of the positions behind each run, 4-byte codes, rising to the count of the block |
//!
//! A position is found by binary search in the ends. A reader takes ends that do not rise, or end elsewhere, for
//! damage when it verifies a block; else it reads some value of the block there.

use std::ops::Range;

use super::{
    Code, VECTOR,
    frames::{self, Frames, Map, Same},
    mask::BitsView,
    ranges::{Point, Ranges},
    section::{put_count, take_count},
};
use crate::{Error, Result};

/// Codes as runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs<'a, C> {
    values: Frames<'a, C>,
    ends: Frames<'a, u32>,
    count: usize,
}

/// How many runs `codes` have.
pub(crate) fn count<C: Code>(codes: &[C]) -> usize {
    let changes = codes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    changes + usize::from(!codes.is_empty())
}

/// The codes of the runs, and where each ends.
pub(crate) fn split<C: Code>(codes: &[C]) -> (Vec<C>, Vec<u32>) {
    let mut end = 0;
    let runs = codes.chunk_by(|a, b| a == b).map(|run| {
        end += run.len() as u32;
        (run[0], end)
    });
    runs.unzip()
}

/// The bytes that [`encode`] appends.
pub(crate) fn encoded_len<C: Code>(values: &[C], ends: &[u32]) -> usize {
    4 + frames::encoded_len(values) + frames::encoded_len(ends)
}

/// Appends runs as [`split`] gives them.
pub(crate) fn encode<C: Code>(values: &[C], ends: &[u32], out: &mut Vec<u8>) {
    put_count(values.len(), out);
    frames::encode(values, out);
    frames::encode(ends, out);
}

impl<'a, C: Code + Point> Runs<'a, C> {
    pub(crate) fn parse(bytes: &mut &'a [u8], count: usize) -> Result<Self> {
        let runs = take_count(bytes, count)?;
        if runs == 0 {
            return Err(Error::malformed(0, "no runs"));
        }
        let values = Frames::parse(bytes, runs)?;
        let ends = Frames::parse(bytes, runs)?;
        if ends.get(runs - 1) as usize != count {
            return Err(Error::malformed(0, "the last run ends elsewhere than its block"));
        }
        Ok(Self { values, ends, count })
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Whether all ends rise.
    pub(crate) fn verify(&self) -> Result<()> {
        let mut before = 0;
        let mut rise = true;
        self.each(0..self.count, |_, rows| {
            rise &= rows.start == before && rows.start < rows.end;
            before = rows.end;
        });
        let mut last = 0;
        for index in 0..self.ends.len() {
            let end = self.ends.get(index);
            rise &= end > last;
            last = end;
        }
        if rise { Ok(()) } else { Err(Error::malformed(0, "runs do not rise")) }
    }

    /// The run that position `index` lies in.
    fn find(&self, index: usize) -> usize {
        let (mut low, mut high) = (0, self.ends.len() - 1);
        while low < high {
            let middle = (low + high) / 2;
            if self.ends.get(middle) as usize > index { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Code `index`. Panics when there is none.
    pub(crate) fn get(&self, index: usize) -> C {
        assert!(index < self.count);
        self.values.get(self.find(index))
    }

    /// Calls `each` with the codes of all runs that reach into `range`, in order, and their positions in it.
    pub(crate) fn each(&self, range: Range<usize>, mut each: impl FnMut(C, Range<usize>)) {
        if range.is_empty() {
            return;
        }
        let mut values = [C::default(); VECTOR];
        let mut ends = [0; VECTOR];
        let mut at = range.start;
        let mut run = self.find(range.start);
        while run < self.ends.len() && at < range.end {
            // Whole vectors are decoded fastest.
            let behind = ((run / VECTOR + 1) * VECTOR).min(self.ends.len());
            let some = behind - run;
            self.values.decode(run..behind, &mut values[..some], Same);
            self.ends.decode(run..behind, &mut ends[..some], Same);
            for (&value, &end) in values[..some].iter().zip(&ends) {
                let end = (end as usize).clamp(at, range.end);
                if end > at {
                    each(value, at..end);
                }
                at = end;
                if at == range.end {
                    break;
                }
            }
            run = behind;
        }
    }

    /// Writes `map(code)` for the codes of `range` to `out`, of the same length.
    pub(crate) fn decode<T: Copy, F: Map<C, T>>(&self, range: Range<usize>, out: &mut [T], map: F) {
        assert!(range.start <= range.end && range.end <= self.count && range.len() == out.len());
        let start = range.start;
        self.each(range, |code, rows| out[rows.start - start..rows.end - start].fill(map.map(code)));
    }

    /// Clears the bits of `mask` whose codes are not in `set`.
    pub(crate) fn filter(&self, set: &Ranges<C>, mask: &mut super::Mask) {
        let mut selected = super::Mask::all(self.ends.len());
        self.values.filter(set, selected.words_mut());
        let mut run = 0;
        let mut ends = [0; VECTOR];
        let mut at = 0;
        while run < self.ends.len() {
            let some = VECTOR.min(self.ends.len() - run);
            self.ends.decode(run..run + some, &mut ends[..some], Same);
            for (index, &end) in ends[..some].iter().enumerate() {
                let end = (end as usize).clamp(at, self.count);
                if !selected.get(run + index) {
                    mask.clear_range(at..end);
                }
                at = end;
            }
            run += some;
        }
    }

    /// Calls `each` with the code of every run and how many of its rows are in `rows`, those with none left out.
    pub(crate) fn weigh(&self, rows: Option<BitsView<'_>>, mut each: impl FnMut(C, usize)) {
        self.each(0..self.count, |code, run| {
            let weight = match rows {
                None => run.len(),
                Some(rows) => rows.count_range(run),
            };
            if weight > 0 {
                each(code, weight);
            }
        });
    }
}
