//! The key list of a page: the common prefix once, then what is left of each key.
//!
//! # Format
//! | part | size | meaning |
//! |---|---|---|
//! | prefix | header's prefix | what all keys of this page begin with |
//! | encoding 1 | keys × width | the suffixes as a plain array, all of one width |
//! | encoding 2 | (keys + 1) × 2 or 4 | where each suffix begins in the heap, and where the last ends |
//! | | header's suffix | the heap: the suffixes one after the other |
//!
//! Example: the keys `abc1`, `abc2` are encoding 1, prefix `61 62 63`, width 1, `31 32`. The keys `ab`,
//! `abc` are encoding 2, prefix `61 62`, offsets `00 00, 00 00, 01 00`, heap `63`.
//!
//! Keys are strictly increasing as byte strings, so the suffixes are too. Encoding 3, compressed integers, is
//! [`super::key_blocks`]; a leaf has it where it is smaller.

use std::{cmp::Ordering, hint::select_unpredictable, ops::Range};

use ambo_types::record::key_head;

use super::{
    Found,
    key_blocks::{BLOCKS, KeyBlocks},
    node::{BODY, FLAG_KEYS_64, NodeHeader, TAIL, offset, section_end, write_offset},
};

/// Suffixes of one width.
pub(super) const FIXED: u8 = 1;
/// Suffixes of any length, with offsets.
pub(super) const VARIABLE: u8 = 2;

/// How many bytes `a` and `b` have in common at their beginning.
#[inline]
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let mut at = 0;
    while let (Some(x), Some(y)) = (a[at..].first_chunk::<8>(), b[at..].first_chunk::<8>()) {
        let difference = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if difference != 0 {
            return at + (difference.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < len && a[at] == b[at] {
        at += 1;
    }
    at
}

/// How the keys are stored.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Fixed,
    Variable,
    Blocks(KeyBlocks),
}

/// Where the parts of a key list are. Made by [`KeyList::parse`], which checks that they lie inside the
/// page; it is only meaningful with the page that it was parsed from.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyList {
    count: usize,
    shape: Shape,
    offset_bytes: usize,
    prefix_at: usize,
    prefix_len: usize,
    /// Fixed: the array. Variable: the offsets.
    suffixes_at: usize,
    /// Fixed: the width. Variable: bytes of the heap.
    suffix: usize,
    /// Variable: the heap.
    heap_at: usize,
    end: usize,
}

impl KeyList {
    /// Finds the parts and checks that they lie inside the page.
    #[inline]
    pub(super) fn parse(page: &[u8], header: &NodeHeader) -> Found<Self> {
        let prefix_at = header.key_list as usize;
        if header.key_encoding == BLOCKS {
            return Self::parse_blocks(page, header, prefix_at);
        }
        let count = header.keys as usize;
        let prefix_len = header.prefix as usize;
        let suffix = header.suffix as usize;
        let offset_bytes = header.offset_bytes();
        if prefix_at < BODY {
            return Err("the key list begins inside the header");
        }
        if header.key_codec != 0 || header.flags & FLAG_KEYS_64 != 0 {
            return Err("a codec of keys that are not compressed");
        }
        if count > page.len() {
            return Err("more keys than the page has bytes");
        }
        let suffixes_at = section_end(page, prefix_at, prefix_len, 1)?;
        let (shape, heap_at, end) = if header.key_encoding == FIXED {
            (Shape::Fixed, suffixes_at, section_end(page, suffixes_at, count, suffix)?)
        } else if header.key_encoding == VARIABLE {
            let heap_at = section_end(page, suffixes_at, count + 1, offset_bytes)?;
            (Shape::Variable, heap_at, section_end(page, heap_at, suffix, 1)?)
        } else {
            return Err("unknown key encoding");
        };
        Ok(Self { count, shape, offset_bytes, prefix_at, prefix_len, suffixes_at, suffix, heap_at, end })
    }

    fn parse_blocks(page: &[u8], header: &NodeHeader, at: usize) -> Found<Self> {
        if at < BODY || header.prefix != 0 {
            return Err("compressed keys with a prefix, or inside the header");
        }
        let blocks = KeyBlocks::parse(page, header, at)?;
        Ok(Self {
            count: header.keys as usize,
            shape: Shape::Blocks(blocks),
            offset_bytes: header.offset_bytes(),
            prefix_at: at,
            prefix_len: 0,
            suffixes_at: at,
            suffix: blocks.width(),
            heap_at: at,
            end: blocks.end(),
        })
    }

    /// How many keys.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Where the list ends in the page.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// The common prefix.
    #[inline]
    pub(super) fn prefix<'p>(&self, page: &'p [u8]) -> &'p [u8] {
        &page[self.prefix_at..self.prefix_at + self.prefix_len]
    }

    /// The blocks, if the keys are compressed.
    #[inline]
    pub(super) fn blocks(&self) -> Option<&KeyBlocks> {
        match &self.shape {
            Shape::Blocks(blocks) => Some(blocks),
            Shape::Fixed | Shape::Variable => None,
        }
    }

    /// Where the suffix of key `index` lies in the page. REQUIRES: the keys are not compressed.
    #[inline]
    fn suffix_range(&self, page: &[u8], index: usize) -> Found<Range<usize>> {
        if index >= self.count {
            return Err("an entry lies beyond the key list");
        }
        if let Shape::Fixed = self.shape {
            let at = self.suffixes_at + index * self.suffix;
            return Ok(at..at + self.suffix);
        }
        let start = offset(page, self.suffixes_at, self.offset_bytes, index)?;
        let end = offset(page, self.suffixes_at, self.offset_bytes, index + 1)?;
        if start > end || end > self.suffix {
            return Err("the key offsets are not in order");
        }
        Ok(self.heap_at + start..self.heap_at + end)
    }

    /// The suffix of key `index`. REQUIRES: the keys are not compressed; see [`super::key_reader`] for any.
    #[inline]
    pub(super) fn suffix<'p>(&self, page: &'p [u8], index: usize) -> Found<&'p [u8]> {
        let range = self.suffix_range(page, index)?;
        page.get(range).ok_or("a key lies beyond the page")
    }

    /// Puts key `index` into `key`, in place of what was there.
    pub(super) fn key_into(&self, page: &[u8], index: usize, key: &mut Vec<u8>) -> Found<()> {
        if let Shape::Blocks(blocks) = &self.shape {
            if index >= self.count {
                return Err("an entry lies beyond the key list");
            }
            return blocks.key_into(page, index, key);
        }
        let suffix = self.suffix(page, index)?;
        key.clear();
        key.extend_from_slice(self.prefix(page));
        key.extend_from_slice(suffix);
        Ok(())
    }

    /// The number of keys smaller than `key`, and whether the next one is `key` itself.
    #[inline]
    pub(super) fn search(&self, page: &[u8], key: &[u8]) -> Found<(usize, bool)> {
        if let Shape::Blocks(blocks) = &self.shape {
            return blocks.search(page, key);
        }
        let prefix = self.prefix(page);
        let Some(rest) = key.strip_prefix(prefix) else {
            return Ok(if key < prefix { (0, false) } else { (self.count, false) });
        };
        if let Shape::Fixed = self.shape {
            self.search_fixed(page, rest)
        } else {
            self.search_variable(page, rest)
        }
    }

    /// Compares the first 8 bytes as numbers, without a branch that depends on them, and whole suffixes only
    /// where those are equal.
    #[inline]
    fn search_fixed(&self, page: &[u8], rest: &[u8]) -> Found<(usize, bool)> {
        let width = self.suffix;
        let array = &page[self.suffixes_at..self.end + TAIL];
        let mask = if width >= 8 { u64::MAX } else { !(u64::MAX >> (8 * width)) };
        let head = |index: usize| -> u64 {
            let at = index * width;
            // The slice cannot fail: `parse` left TAIL bytes after the last suffix.
            array[at..at + 8].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes)) & mask
        };
        let target = key_head(rest);
        let low = partition(0, self.count, |index| head(index) < target);
        if low == self.count || head(low) != target {
            return Ok((low, false));
        }
        let mut high = low + 1;
        if width > 8 && high < self.count && head(high) == target {
            high = partition(high, self.count, |index| head(index) <= target);
        }
        let mut low = low;
        while low < high {
            let middle = low + (high - low) / 2;
            let at = middle * width;
            match array[at..at + width].cmp(rest) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok((middle, true)),
                Ordering::Greater => high = middle,
            }
        }
        Ok((low, false))
    }

    /// The sum of keys `from..to`, read as big-endian numbers of up to 8 bytes.
    pub(super) fn sum(&self, page: &[u8], from: usize, to: usize) -> Found<u128> {
        match &self.shape {
            _ if from > to || to > self.count => Err("an entry lies beyond the key list"),
            Shape::Blocks(blocks) => blocks.sum(page, from, to),
            Shape::Fixed if self.prefix_len + self.suffix <= 8 => Ok(self.sum_fixed(page, from, to)),
            Shape::Fixed | Shape::Variable => Err("the keys are no integers"),
        }
    }

    fn sum_fixed(&self, page: &[u8], from: usize, to: usize) -> u128 {
        let array = &page[self.suffixes_at + from * self.suffix..self.suffixes_at + to * self.suffix];
        let suffixes = match self.suffix {
            0 => 0,
            1 => sum_words::<1>(array),
            2 => sum_words::<2>(array),
            3 => sum_words::<3>(array),
            4 => sum_words::<4>(array),
            5 => sum_words::<5>(array),
            6 => sum_words::<6>(array),
            7 => sum_words::<7>(array),
            _ => sum_words::<8>(array),
        };
        let prefix = self.prefix(page).iter().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
        suffixes + (prefix << (8 * self.suffix)) * (to - from) as u128
    }

    fn search_variable(&self, page: &[u8], rest: &[u8]) -> Found<(usize, bool)> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.suffix(page, middle)?.cmp(rest) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok((middle, true)),
                Ordering::Greater => high = middle,
            }
        }
        Ok((low, false))
    }
}

/// The sum of big-endian numbers of `WIDTH` bytes each.
fn sum_words<const WIDTH: usize>(array: &[u8]) -> u128 {
    let (words, _) = array.as_chunks::<WIDTH>();
    // So many 32-bit halves fit 64 bits; halves are summed as vectors.
    let sums = words.chunks(1 << 16).map(|words| {
        let (mut high, mut low) = (0u64, 0u64);
        for word in words {
            let mut bytes = [0; 8];
            bytes[8 - WIDTH..].copy_from_slice(word);
            let number = u64::from_be_bytes(bytes);
            high += number >> 32;
            low += number & u64::from(u32::MAX);
        }
        (u128::from(high) << 32) + u128::from(low)
    });
    sums.sum()
}

/// The first index in `low..high` for which `below` is false; it is true for all before and false for all
/// after.
#[inline]
pub(super) fn partition(low: usize, high: usize, below: impl Fn(usize) -> bool) -> usize {
    if low == high {
        return low;
    }
    let mut base = low;
    let mut size = high - low;
    while size > 1 {
        let half = size / 2;
        base = select_unpredictable(below(base + half - 1), base + half, base);
        size -= half;
    }
    base + usize::from(below(base))
}

/// What [`encode`] put into the page, for its header.
#[derive(Clone, Copy, Debug)]
pub(super) struct EncodedKeys {
    pub encoding: u8,
    pub suffix: u32,
    pub end: usize,
}

/// Writes a key list at `at`: all `keys` begin with the same `prefix` bytes. `width` is their common
/// length, if they have one.
pub(super) fn encode<'k>(
    page: &mut [u8],
    at: usize,
    offset_bytes: usize,
    prefix: &[u8],
    width: Option<usize>,
    count: usize,
    keys: impl Iterator<Item = &'k [u8]>,
) -> EncodedKeys {
    page[at..at + prefix.len()].copy_from_slice(prefix);
    let at = at + prefix.len();
    if let Some(width) = width {
        let width = width - prefix.len();
        let mut end = at;
        for key in keys {
            debug_assert!(key.starts_with(prefix), "the prefix is that of all keys");
            page[end..end + width].copy_from_slice(&key[prefix.len()..]);
            end += width;
        }
        assert_eq!(end, at + count * width, "one key for each entry");
        return EncodedKeys { encoding: FIXED, suffix: width as u32, end };
    }
    let heap_at = at + (count + 1) * offset_bytes;
    let mut end = heap_at;
    let mut index = 0;
    for key in keys {
        debug_assert!(key.starts_with(prefix), "the prefix is that of all keys");
        write_offset(page, at, offset_bytes, index, end - heap_at);
        let suffix = &key[prefix.len()..];
        page[end..end + suffix.len()].copy_from_slice(suffix);
        end += suffix.len();
        index += 1;
    }
    assert_eq!(index, count, "one key for each entry");
    write_offset(page, at, offset_bytes, index, end - heap_at);
    EncodedKeys { encoding: VARIABLE, suffix: (end - heap_at) as u32, end }
}

/// How large a key list would be, kept up to date key by key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyMeasure {
    pub count: usize,
    pub prefix: usize,
    /// Bytes of all keys, whole.
    pub bytes: usize,
    /// Their common length; meaningless once `mixed`.
    width: usize,
    mixed: bool,
}

impl KeyMeasure {
    /// The measure with one more key, given the list's first.
    #[inline]
    pub(super) fn with(&self, first: &[u8], key: &[u8]) -> Self {
        if self.count == 0 {
            return Self { count: 1, prefix: key.len(), bytes: key.len(), width: key.len(), mixed: false };
        }
        Self {
            count: self.count + 1,
            prefix: common_prefix(&first[..self.prefix], key),
            bytes: self.bytes + key.len(),
            width: self.width,
            mixed: self.mixed || key.len() != self.width,
        }
    }

    /// The keys' common length, if they have one.
    #[inline]
    pub(super) fn width(&self) -> Option<usize> {
        (!self.mixed).then_some(self.width)
    }

    /// Bytes of the encoded list.
    #[inline]
    pub(super) fn size(&self, offset_bytes: usize) -> usize {
        let suffixes = self.bytes - self.count * self.prefix;
        let offsets = if self.mixed { (self.count + 1) * offset_bytes } else { 0 };
        self.prefix + offsets + suffixes
    }
}
