//! Bitmaps as bytes, and the bitmap that reads them where they are.
//!
//! # Format 1
//! All numbers little-endian, nothing aligned. The owner of the bytes has their checksum. `n` containers:
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | version | 1 | `01` |
//! | widths | 1 | bits 0–2: bytes of a key (0, 1, 2, 4, 6); bit 3: a count has 2 bytes, not 1; bits 4–5: 1, 2, 3 for ends of 2, 4, 8 bytes |
//! | containers | LEB128 | `n` |
//! | base | LEB128 | the key of the first container; a key is a position without its low 16 bits |
//! | keys | n × width | key less base; with width 0 they are 0, 1, 2, … |
//! | counts | n × width | set positions less one |
//! | ends | n × width | where the container's data ends, from the beginning of the data; the lowest bit says that it is runs |
//! | data | the last end | the containers one behind the other |
//!
//! A container that is not runs is what its count says: up to 4,095 an array of the low 16 bits of its positions, from 61,441
//! an array of those that are *not* set (nothing at all at 65,536), 1,024 words of 64 bits between. Runs are pairs of first position
//! and number of further ones, two bytes each, and only where they are smaller. The smallest widths are used. So equal sets have
//! equal bytes.
//!
//! Example: the positions 3, 5 and 65,536 to 131,071 are `01 18 02 00`, counts `01 00, FF FF`, ends `04 00, 04 00`,
//! data `03 00, 05 00`.

use super::{
    container::{Container, Kind, Run, SPAN, WORDS, Words, run_bounds},
    kernel,
    owned::Bitmap,
    positions::Containers,
    store::{runs_of_list, runs_of_words},
};
use crate::{Error, Result, varint};

const VERSION: u8 = 1;
/// Keys are below.
const KEY_END: u64 = 1 << 48;

/// A set of row positions in serialised bytes, read where they are. What reads it is in [`Positions`](super::Positions).
#[derive(Clone, Copy)]
pub struct BitmapRef<'a> {
    len: usize,
    base: u64,
    key_width: usize,
    count_width: usize,
    end_width: usize,
    keys: &'a [u8],
    counts: &'a [u8],
    ends: &'a [u8],
    data: &'a [u8],
}

/// Number `index` of an array of little-endian numbers of `width` bytes.
#[inline]
fn number(array: &[u8], width: usize, index: usize) -> u64 {
    let read = |at: usize| u64::from(array[at]);
    let at = index * width;
    match width {
        1 => read(at),
        2 => u64::from(u16::from_le_bytes([array[at], array[at + 1]])),
        4 => u64::from(u32::from_le_bytes(array[at..at + 4].try_into().expect("4 bytes"))),
        _ => (0..width).rev().fold(0, |number, byte| number << 8 | read(at + byte)),
    }
}

impl<'a> BitmapRef<'a> {
    /// Reads the directory and checks it: keys ascend, each container has the bytes that it must have, nothing is left over.
    ///
    /// What is inside the containers is not looked at, so this costs nanoseconds a container. On damaged bytes every operation
    /// is still safe and ends, but its answer may be any; [`BitmapRef::check`] looks at everything.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut rest = bytes;
        let bad = |rest: &[u8], what| Error::malformed(bytes.len() - rest.len(), what);
        let [version, widths, after @ ..] = rest else { return Err(bad(rest, "a bitmap is cut off")) };
        if *version != VERSION {
            return Err(bad(rest, "unknown version of a bitmap"));
        }
        rest = after;
        let key_width = usize::from(widths & 7);
        let count_width = usize::from(widths >> 3 & 1) + 1;
        let end_width = match widths >> 4 {
            end @ 1..=3 => 1 << end,
            _ => return Err(bad(rest, "unknown width of ends")),
        };
        if !matches!(key_width, 0 | 1 | 2 | 4 | 6) {
            return Err(bad(rest, "unknown width of keys"));
        }
        let len = varint::take(&mut rest).ok_or_else(|| bad(rest, "no number of containers"))?;
        let base = varint::take(&mut rest).ok_or_else(|| bad(rest, "no base"))?;
        let width = (key_width + count_width + end_width) as u64;
        if base >= KEY_END || len.checked_mul(width).is_none_or(|size| size > rest.len() as u64) {
            return Err(bad(rest, "more containers than bytes"));
        }
        let len = len as usize;
        let (keys, after) = rest.split_at(len * key_width);
        let (counts, after) = after.split_at(len * count_width);
        let (ends, data) = after.split_at(len * end_width);
        let bitmap = Self { len, base, key_width, count_width, end_width, keys, counts, ends, data };
        match bitmap.check_directory() {
            Ok(()) => Ok(bitmap),
            Err(what) => Err(bad(rest, what)),
        }
    }

    fn check_directory(&self) -> Result<(), &'static str> {
        let mut key_least = self.base;
        let mut start = 0;
        for index in 0..self.len {
            let key = self.key(index);
            if key < key_least || key >= KEY_END || (index == 0 && key != self.base) {
                return Err("keys of a bitmap do not ascend");
            }
            key_least = key + 1;
            let end = number(self.ends, self.end_width, index);
            let (runs, end) = (end & 1 != 0, end & !1);
            let size = end.checked_sub(start).ok_or("ends of a bitmap do not ascend")?;
            let plain = Kind::of(self.count(index)).bytes(self.count(index)).map(|size| size as u64);
            let fits =
                if runs { size > 0 && size % 4 == 0 && Some(size) < plain } else { Some(size) == plain };
            if !fits {
                return Err("a container has another size than its count says");
            }
            start = end;
        }
        if start != self.data.len() as u64 {
            return Err("the data of a bitmap ends elsewhere");
        }
        if self.len == 0 && self.base != 0 { Err("an empty bitmap has a base") } else { Ok(()) }
    }

    /// Looks at all containers: lists and runs ascend, counts are right.
    ///
    /// # Errors
    /// [`Error::Malformed`] with the offset in the containers' data.
    pub fn check(&self) -> Result<()> {
        for index in 0..self.len {
            let count = self.count(index);
            let right = match self.container(index) {
                Container::Array(list) | Container::Inverted(list) => {
                    list.windows(2).all(|pair| u16::from_le_bytes(pair[0]) < u16::from_le_bytes(pair[1]))
                }
                Container::Bits(words) => kernel::count(words) == count,
                Container::Runs(runs) => runs_are_right(runs, count),
                Container::Full => true,
            };
            if !right {
                return Err(Error::malformed(self.span(index).0, "a container is not what its count says"));
            }
        }
        Ok(())
    }

    /// First byte and end of a container in the data.
    #[inline]
    fn span(&self, index: usize) -> (usize, usize) {
        let end = |index| (number(self.ends, self.end_width, index) & !1) as usize;
        (if index == 0 { 0 } else { end(index - 1) }, end(index))
    }

    /// The set in memory of its own.
    pub fn to_bitmap(&self) -> Bitmap {
        Bitmap::copy_of(self)
    }
}

/// Whether runs ascend with a gap between them, end inside the container and have `count` positions.
fn runs_are_right(runs: &[Run], count: u32) -> bool {
    let mut least = 0;
    let mut positions = 0;
    for &run in runs {
        let (first, last) = run_bounds(run);
        let further = u32::from(u16::from_le_bytes([run[2], run[3]]));
        if u32::from(first) < least || u32::from(first) + further >= SPAN {
            return false;
        }
        least = u32::from(last) + 2;
        positions += further + 1;
    }
    positions == count
}

impl Bitmap {
    /// The set in `bytes`, which are checked in full.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bitmap = BitmapRef::parse(bytes)?;
        bitmap.check()?;
        Ok(bitmap.to_bitmap())
    }
}

impl Containers for BitmapRef<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn key(&self, index: usize) -> u64 {
        match self.key_width {
            0 => self.base + index as u64,
            width => self.base + number(self.keys, width, index),
        }
    }

    #[inline]
    fn count(&self, index: usize) -> u32 {
        number(self.counts, self.count_width, index) as u32 + 1
    }

    #[inline]
    fn container(&self, index: usize) -> Container<'_> {
        let (start, end) = self.span(index);
        let runs = number(self.ends, self.end_width, index) & 1 != 0;
        let kind = if runs { Kind::Runs } else { Kind::of(self.count(index)) };
        Container::new(kind, &self.data[start..end])
    }

    fn lower_bound(&self, key: u64) -> usize {
        if self.key_width == 0 {
            return (key.saturating_sub(self.base)).min(self.len as u64) as usize;
        }
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        low
    }
}

impl std::fmt::Debug for BitmapRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BitmapRef").field("containers", &self.len).field("bytes", &self.data.len()).finish()
    }
}

/// The smallest form of a container, and how many bytes it has.
fn smallest(container: Container<'_>, count: u32) -> (Kind, usize) {
    let kind = Kind::of(count);
    let bytes = container.bytes().len();
    let runs = match container {
        Container::Full => return (Kind::Full, 0),
        // Runs are only made where they are smaller.
        Container::Runs(_) => return (Kind::Runs, bytes),
        Container::Array(list) => 1 + kernel::count_steps(list),
        Container::Inverted(list) => {
            let between = kernel::count_steps(list);
            between
                + usize::from(list.first() != Some(&[0; 2]))
                + usize::from(list.last() != Some(&[0xff; 2]))
        }
        Container::Bits(words) => kernel::count_runs(words) as usize,
    };
    if 4 * runs < bytes { (Kind::Runs, 4 * runs) } else { (kind, bytes) }
}

/// Appends the runs of a container that has another form.
fn push_runs(container: Container<'_>, bytes: usize, out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + bytes, 0);
    let runs = out[at..].as_chunks_mut().0;
    if let Container::Array(list) = container {
        runs_of_list(list, runs);
    } else {
        let mut words: Words = [[0; 8]; WORDS];
        container.expand(&mut words);
        runs_of_words(&words, runs);
    }
}

/// The smallest of `widths` that holds `most`.
fn width_of(most: u64, widths: &[usize]) -> usize {
    let bytes = (64 - most.leading_zeros() as usize).div_ceil(8);
    widths.iter().copied().find(|&width| width >= bytes).expect("the last width holds all")
}

/// Appends the bytes of a set.
pub(super) fn encode(set: &impl Containers, out: &mut Vec<u8>) {
    let len = set.len();
    let forms: Vec<_> = (0..len).map(|index| smallest(set.container(index), set.count(index))).collect();
    let (base, most_key) = if len == 0 { (0, 0) } else { (set.key(0), set.key(len - 1) - set.key(0)) };
    let data: usize = forms.iter().map(|&(_, bytes)| bytes).sum();
    let contiguous = most_key + 1 == len as u64 || len == 0;
    let key_width = if contiguous { 0 } else { width_of(most_key, &[1, 2, 4, 6]) };
    let most_count = (0..len).map(|index| set.count(index) - 1).max().unwrap_or(0);
    let count_width = width_of(u64::from(most_count), &[1, 2]);
    let end_width = width_of(data as u64 | 1, &[2, 4, 8]);
    out.reserve(32 + len * (key_width + count_width + end_width) + data);
    let widths = key_width | (count_width - 1) << 3 | (end_width.trailing_zeros() as usize) << 4;
    out.extend_from_slice(&[VERSION, widths as u8]);
    varint::encode(len as u64, out);
    varint::encode(base, out);
    if key_width > 0 {
        (0..len).for_each(|index| push(out, set.key(index) - base, key_width));
    }
    (0..len).for_each(|index| push(out, u64::from(set.count(index) - 1), count_width));
    let mut end = 0;
    for &(kind, bytes) in &forms {
        end += bytes as u64;
        push(out, end | u64::from(kind == Kind::Runs), end_width);
    }
    for (index, &(kind, bytes)) in forms.iter().enumerate() {
        let container = set.container(index);
        if kind == Kind::Runs && container.kind() != Kind::Runs {
            push_runs(container, bytes, out);
        } else {
            out.extend_from_slice(container.bytes());
        }
    }
}

#[inline]
fn push(out: &mut Vec<u8>, number: u64, width: usize) {
    out.extend_from_slice(&number.to_le_bytes()[..width]);
}
