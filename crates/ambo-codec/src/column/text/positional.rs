//! Strings of one length, each place of which takes its bytes from a small alphabet: UUIDs, phone numbers, dates as text.
//! A place with one byte takes no bits, a hexadecimal digit takes four.
//!
//! # Format
//! | part | size | meaning |
//! |---|---|---|
//! | length | varint | bytes of a string, 1 to 255 |
//! | alphabets | 1 | how many, 1 to 255 |
//! | | for each | its size (1 byte, 0 for 256), then its bytes in ascending order |
//! | places | length | the alphabet of each place |
//! | codes | packed | for each string, for each place, which byte of the alphabet, in as many bits as the alphabet needs |
//!
//! Strings follow each other without gaps, the first in the lowest bits. Example: `a-0`, `a-1`, `b-1` are length `03`,
//! alphabets `03`: `02 61 62`, `01 2D`, `02 30 31`, places `00 01 02`, codes of 2 bits 0, 2, 3: `38`.

use std::ops::Range;

use super::{
    bits::{packed_len, width_of},
    copy::SLACK,
    reader::Reader,
    BytesView,
};
use crate::{Error, Result, varint};

/// The longest strings that are stored so.
pub(super) const LENGTH_MAX: usize = 255;
/// Bits of the codes that are decoded at once.
const STEP_BITS: u8 = 8;
/// Places that are decoded at once; the byte above them says that a code is in no alphabet.
const STEP_PLACES: usize = 7;
const INVALID: u64 = 0xff << 56;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Alphabet([u64; 4]);

impl Alphabet {
    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte / 64)] |= 1 << (byte % 64);
    }

    fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    fn width(&self) -> u8 {
        width_of(self.len() - 1)
    }

    fn union(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=255).filter(|byte: &u8| self.0[usize::from(byte / 64)] >> (byte % 64) & 1 == 1)
    }
}

/// How strings are taken apart.
pub(super) struct Plan {
    alphabets: Vec<Alphabet>,
    places: Vec<u8>,
}

impl Plan {
    /// The alphabets of `strings`; `None` when they are not of one length from 1 to [`LENGTH_MAX`].
    pub(super) fn new(strings: &BytesView<'_>) -> Option<Self> {
        let length = strings.iter().next()?.len();
        if length == 0 || length > LENGTH_MAX || strings.iter().any(|string| string.len() != length) {
            return None;
        }
        let mut seen = vec![[false; 256]; length];
        for string in strings.iter() {
            for (place, byte) in seen.iter_mut().zip(string) {
                place[usize::from(*byte)] = true;
            }
        }
        let mut plan = Self { alphabets: Vec::new(), places: Vec::new() };
        for seen in seen {
            let mut alphabet = Alphabet::default();
            (0..=255u8).filter(|byte| seen[usize::from(*byte)]).for_each(|byte| alphabet.insert(byte));
            let place = plan.place(alphabet);
            plan.places.push(place);
        }
        Some(plan)
    }

    /// The number of an alphabet that takes no more bits with these bytes in it, or of a new one.
    fn place(&mut self, alphabet: Alphabet) -> u8 {
        let width = alphabet.width();
        let fits = |other: &Alphabet| other.width() == width && other.union(&alphabet).width() == width;
        let place = match self.alphabets.iter().position(fits) {
            Some(place) => {
                self.alphabets[place] = self.alphabets[place].union(&alphabet);
                place
            }
            None => {
                self.alphabets.push(alphabet);
                self.alphabets.len() - 1
            }
        };
        place as u8
    }

    fn bits(&self) -> usize {
        self.places.iter().map(|place| usize::from(self.alphabets[usize::from(*place)].width())).sum()
    }

    /// The bytes that [`Plan::encode`] appends for `rows` strings.
    pub(super) fn encoded_len(&self, rows: usize) -> usize {
        let alphabets: usize = self.alphabets.iter().map(|alphabet| 1 + alphabet.len() as usize).sum();
        varint::len(self.places.len() as u64)
            + 1
            + alphabets
            + self.places.len()
            + (rows * self.bits()).div_ceil(8)
    }

    /// Appends `strings`, which the plan was made of.
    pub(super) fn encode(&self, strings: &BytesView<'_>, out: &mut Vec<u8>) {
        varint::encode(self.places.len() as u64, out);
        out.push(self.alphabets.len() as u8);
        let mut codes = vec![[0u8; 256]; self.alphabets.len()];
        for (alphabet, codes) in self.alphabets.iter().zip(&mut codes) {
            out.push(alphabet.len() as u8);
            out.extend(alphabet.bytes());
            for (code, byte) in alphabet.bytes().enumerate() {
                codes[usize::from(byte)] = code as u8;
            }
        }
        out.extend_from_slice(&self.places);
        let places: Vec<(usize, u32)> = self
            .places
            .iter()
            .map(|place| (usize::from(*place), u32::from(self.alphabets[usize::from(*place)].width())))
            .collect();
        let (mut pending, mut bits) = (0u64, 0u32);
        for string in strings.iter() {
            for (byte, (alphabet, width)) in string.iter().zip(&places) {
                pending |= u64::from(codes[*alphabet][usize::from(*byte)]) << bits;
                bits += width;
                if bits >= 32 {
                    out.extend_from_slice(&(pending as u32).to_le_bytes());
                    pending >>= 32;
                    bits -= 32;
                }
            }
        }
        out.extend_from_slice(&pending.to_le_bytes()[..(bits as usize).div_ceil(8)]);
    }
}

/// Some places of a string that are decoded at once.
#[derive(Clone, Debug)]
struct Step {
    /// Bits of their codes.
    width: u8,
    /// How many.
    places: usize,
    /// Which table.
    table: usize,
}

/// What decodes whole strings: made once for many of them.
struct Steps {
    steps: Vec<Step>,
    /// The bytes for every value of the codes, the first place lowest, [`INVALID`] above them.
    tables: Vec<Vec<u64>>,
}

#[derive(Clone, Debug)]
pub(super) struct Positional<'a> {
    alphabets: Vec<&'a [u8]>,
    places: &'a [u8],
    /// Bits of a string's codes.
    bits: usize,
    codes: &'a [u8],
}

impl<'a> Positional<'a> {
    pub(super) fn parse(reader: &mut Reader<'a>, rows: usize, decoded: usize) -> Result<Self> {
        let length = reader.length()?;
        if length == 0 || length > LENGTH_MAX || length * rows != decoded {
            return Err(reader.damaged("the length of the strings is wrong"));
        }
        let mut alphabets = Vec::new();
        for _ in 0..reader.byte()? {
            let len = usize::from(reader.byte()?);
            let bytes = reader.take(if len == 0 { 256 } else { len })?;
            if !bytes.is_sorted_by(|a, b| a < b) {
                return Err(reader.damaged("an alphabet is not in order"));
            }
            alphabets.push(bytes);
        }
        let places = reader.take(length)?;
        if places.iter().any(|place| usize::from(*place) >= alphabets.len()) {
            return Err(reader.damaged("a place has no alphabet"));
        }
        let bits = places.iter().map(|place| usize::from(width(alphabets[usize::from(*place)]))).sum();
        let codes = reader.take(packed_len(rows * bits, 1))?;
        Ok(Self { alphabets, places, bits, codes })
    }

    /// The length of every string.
    pub(super) fn length(&self) -> usize {
        self.places.len()
    }

    /// At least 57 bits of the codes from `bit` on; zeros behind their end.
    #[inline]
    fn load(&self, bit: usize) -> u64 {
        let word = match self.codes.get(bit / 8..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => self.tail(bit / 8),
        };
        word >> (bit % 8)
    }

    #[cold]
    fn tail(&self, at: usize) -> u64 {
        let rest = self.codes.get(at..).unwrap_or(&[]);
        rest.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }

    fn alphabet(&self, place: u8) -> &'a [u8] {
        self.alphabets[usize::from(place)]
    }

    /// Puts places together for decoding, at most [`STEP_BITS`] and [`STEP_PLACES`] at once.
    fn steps(&self) -> Steps {
        let mut steps: Vec<Step> = Vec::new();
        let mut tables: Vec<(Vec<u8>, Vec<u64>)> = Vec::new();
        let mut rest = self.places;
        while !rest.is_empty() {
            let (mut width_sum, mut count) = (0, 0);
            for place in rest.iter().take(STEP_PLACES) {
                let width = width(self.alphabet(*place));
                if width_sum + width > STEP_BITS {
                    break;
                }
                width_sum += width;
                count += 1;
            }
            let (places, behind) = rest.split_at(count);
            let table = tables.iter().position(|(known, _)| known == places).unwrap_or_else(|| {
                tables.push((places.to_vec(), self.table(places, width_sum)));
                tables.len() - 1
            });
            steps.push(Step { width: width_sum, places: count, table });
            rest = behind;
        }
        Steps { steps, tables: tables.into_iter().map(|(_, table)| table).collect() }
    }

    /// The bytes of `places` for every value of their codes.
    fn table(&self, places: &[u8], width_sum: u8) -> Vec<u64> {
        let bytes = |mut codes: usize| {
            let mut word = 0;
            for (index, place) in places.iter().enumerate() {
                let alphabet = self.alphabet(*place);
                let width = width(alphabet);
                let Some(byte) = alphabet.get(codes & ((1 << width) - 1)) else { return INVALID };
                word |= u64::from(*byte) << (8 * index);
                codes >>= width;
            }
            word
        };
        (0..1 << width_sum).map(bytes).collect()
    }

    /// Appends the strings of `rows`.
    pub(super) fn decode(&self, rows: Range<usize>, offsets: &mut Vec<u32>, data: &mut Vec<u8>) -> Result<()> {
        let steps = self.steps();
        let mut at = data.len();
        data.resize(at + rows.len() * self.length() + SLACK, 0);
        let mut invalid = 0;
        for row in rows {
            let mut bit = row * self.bits;
            for step in &steps.steps {
                let table = &steps.tables[step.table];
                let code = self.load(bit) as usize & (table.len() - 1);
                let word = table[code];
                invalid |= word;
                data[at..][..8].copy_from_slice(&word.to_le_bytes());
                at += step.places;
                bit += usize::from(step.width);
            }
            offsets.push(at as u32);
        }
        data.truncate(at);
        if invalid & INVALID != 0 {
            return Err(Error::malformed(0, "a code is in no alphabet"));
        }
        Ok(())
    }

    /// Appends string `row`.
    pub(super) fn append(&self, row: usize, data: &mut Vec<u8>) -> Result<()> {
        let mut bit = row * self.bits;
        for place in self.places {
            let alphabet = self.alphabet(*place);
            let width = width(alphabet);
            let code = self.load(bit) as usize & ((1 << width) - 1);
            data.push(*alphabet.get(code).ok_or(Error::malformed(0, "a code is in no alphabet"))?);
            bit += usize::from(width);
        }
        Ok(())
    }
}

/// The bits of a code of this alphabet.
fn width(alphabet: &[u8]) -> u8 {
    width_of(alphabet.len().saturating_sub(1) as u32)
}
