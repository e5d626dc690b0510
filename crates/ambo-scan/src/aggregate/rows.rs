//! Rows of a morsel that are computed together, and their columns as numbers.

use std::ops::Range;

use ambo_codec::{
    Result,
    column::{Block, Kind, Mask},
};

/// The most rows of a [`Rows`] that steps are computed for at once.
pub(super) const CHUNK: usize = ambo_codec::column::VECTOR;
/// A bit for each row of a chunk.
pub(super) type Words = [u64; CHUNK / 64];

/// Rows of a group, by their places in its blocks.
#[derive(Clone, Debug)]
pub(super) enum Rows<'a> {
    /// All of these, of which only those whose bit is set in the words count. They begin at a multiple of 64.
    Range(Range<usize>, &'a [u64]),
    /// These alone.
    Places(&'a [u32]),
}

impl<'a> Rows<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(range, _) => range.len(),
            Self::Places(places) => places.len(),
        }
    }

    /// The place of a row.
    pub(super) fn place(&self, row: usize) -> u32 {
        match self {
            Self::Range(range, _) => (range.start + row) as u32,
            Self::Places(places) => places[row],
        }
    }

    /// Some of them. REQUIRES: they begin at a multiple of 64.
    pub(super) fn part(&self, rows: Range<usize>) -> Rows<'a> {
        match self {
            Self::Range(range, words) => {
                debug_assert!(rows.start.is_multiple_of(64) && rows.end <= range.len());
                Rows::Range(range.start + rows.start..range.start + rows.end, words)
            }
            Self::Places(places) => Rows::Places(&places[rows]),
        }
    }

    /// 64 bits of rows that count, from row `64 * index` on.
    #[inline]
    pub(super) fn word(&self, index: usize) -> u64 {
        debug_assert!(index * 64 < self.len(), "a word has rows");
        match self {
            Self::Range(range, words) => words[range.start / 64 + index] & low_bits(range.len() - index * 64),
            Self::Places(places) => low_bits(places.len() - index * 64),
        }
    }

    /// Whether every row counts.
    pub(super) fn all_count(&self) -> bool {
        match self {
            Self::Range(range, _) => (0..range.len().div_ceil(64))
                .all(|index| self.word(index) == low_bits(range.len() - index * 64)),
            Self::Places(_) => true,
        }
    }

    /// Those that count, whose places may be written down for that.
    pub(super) fn counting<'b>(&'b self, places: &'b mut Vec<u32>) -> Rows<'b> {
        if self.all_count() {
            return self.clone();
        }
        places.clear();
        let counts = |row: &usize| self.word(row / 64) >> (row % 64) & 1 == 1;
        places.extend((0..self.len()).filter(counts).map(|row| self.place(row)));
        Rows::Places(places)
    }

    /// Which of the rows, at most a chunk, are in a set of all rows of the group.
    pub(super) fn bits(&self, set: &Mask) -> Words {
        debug_assert!(self.len() <= CHUNK, "there is a bit for each row of a chunk");
        let mut words = Words::default();
        match self {
            Self::Range(range, _) => {
                let from = &set.words()[range.start / 64..range.end.div_ceil(64)];
                words[..from.len()].copy_from_slice(from);
            }
            Self::Places(places) => {
                let bits = places.iter().enumerate();
                bits.for_each(|(row, place)| {
                    words[row / 64] |= u64::from(set.get(*place as usize)) << (row % 64)
                });
            }
        }
        words
    }

    /// The integers of a block, which 64 bits hold.
    pub(super) fn integers(&self, block: &Block<'_>, out: &mut Vec<i64>) -> Result<()> {
        out.resize(self.len(), 0);
        match self {
            Self::Range(range, _) => block.decode_integers(range.clone(), out),
            Self::Places(places) => block.gather_integers(places, out),
        }
    }

    /// The values of a block of `E`.
    fn values<E: ambo_codec::column::Element>(&self, block: &Block<'_>) -> Result<Vec<E>> {
        let mut out = vec![E::default(); self.len()];
        match self {
            Self::Range(range, _) => block.decode(range.clone(), &mut out)?,
            Self::Places(places) => block.gather(places, &mut out)?,
        }
        Ok(out)
    }

    /// The integers of a block, some of which need more than 64 bits.
    pub(super) fn wide_integers(&self, block: &Block<'_>, out: &mut Vec<i128>) -> Result<()> {
        out.clear();
        match block.kind() {
            Kind::I128 => out.extend(self.values::<i128>(block)?),
            Kind::U64 => out.extend(self.values::<u64>(block)?.into_iter().map(i128::from)),
            _ => {
                let mut narrow = Vec::new();
                self.integers(block, &mut narrow)?;
                out.extend(narrow.into_iter().map(i128::from));
            }
        }
        Ok(())
    }

    /// The floats of a block.
    pub(super) fn floats(&self, block: &Block<'_>, out: &mut Vec<f64>) -> Result<()> {
        out.clear();
        match block.kind() {
            Kind::F32 => out.extend(self.values::<f32>(block)?.into_iter().map(f64::from)),
            _ => out.extend(self.values::<f64>(block)?),
        }
        Ok(())
    }

    /// The text of a block, in Arrow's layout.
    pub(super) fn texts(&self, block: &Block<'_>, offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        offsets.clear();
        data.clear();
        match (block.text(), self) {
            (None, _) => offsets.resize(self.len() + 1, 0),
            (Some(text), Self::Range(range, _)) => text.decode(range.clone(), offsets, data)?,
            (Some(text), Self::Places(places)) => text.gather(places, offsets, data)?,
        }
        debug_assert_eq!(offsets.len(), self.len() + 1, "each row has a text");
        Ok(())
    }
}

/// The text of rows in a block, once it was needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    /// One more than rows; none before.
    offsets: Vec<u32>,
    data: Vec<u8>,
}

impl Texts {
    /// Decodes them, unless that was done.
    pub(super) fn need(&mut self, rows: &Rows<'_>, block: &Block<'_>) -> Result<()> {
        match self.offsets.is_empty() {
            true => rows.texts(block, &mut self.offsets, &mut self.data),
            false => Ok(()),
        }
    }

    /// That of a row. REQUIRES: it was decoded.
    pub(super) fn get(&self, row: usize) -> &[u8] {
        &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// That of other rows is needed from now on.
    pub(super) fn clear(&mut self) {
        self.offsets.clear();
    }
}

/// The bit of a row of a chunk.
#[inline]
pub(super) fn bit(words: &Words, row: usize) -> bool {
    words[row / 64] >> (row % 64) & 1 == 1
}

/// A word with the low `bits` bits set.
#[inline]
pub(super) fn low_bits(bits: usize) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
