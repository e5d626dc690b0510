//! The header that leaf and inner pages share.
//!
//! # Format
//! After the 16 bytes that every page begins with (see `page`):
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 16 | 4 | number of keys (a leaf: entries; an inner page: separators, one less than children) |
//! | 20 | 1 | key encoding: 1 fixed-width suffixes, 2 suffixes with offsets, 3 compressed integers (see [`super::key_list`]) |
//! | 21 | 1 | leaf: record encoding, 1 fixed width, 2 offsets; inner: level, 1 if the children are leaves |
//! | 22 | 1 | flags: bit 0, offsets are u32 (else u16); bit 1, a kinds array follows (leaf only); bit 2, key encoding 3 has keys of 8 bytes (else 4); bit 3, filters of leaves follow (inner, level 1 only) |
//! | 23 | 1 | key encoding 3: the codec; else zero |
//! | 24 | 4 | bytes of the common prefix of all keys |
//! | 28 | 4 | offset in the page of the key list |
//! | 32 | 4 | key encoding 1: bytes of each suffix; 2: bytes of all suffixes; 3: bytes of all blocks |
//! | 36 | 4 | leaf: record encoding 1: bytes of each record; 2: bytes of all records; inner: zero |
//! | 40 | 4 | leaf: tombstones; inner: zero |
//! | 44 | 4 | bytes used, this header and the page's included |
//! | 48 |   | the body |
//!
//! At least [`TAIL`] bytes of a page are unused, so that a suffix can be loaded as one 8-byte word wherever
//! it ends. All numbers are little-endian.

use ambo_pages::page::HEADER_BYTES;
use ambo_types::id::PagePtr;

use super::Found;

/// Where the body begins.
pub(super) const BODY: usize = 48;
/// Bytes that stay free at a page's end.
pub(super) const TAIL: usize = 8;
/// Flag: offset arrays hold u32.
pub(super) const FLAG_WIDE: u8 = 1;
/// Flag: a leaf has a kinds array.
pub(super) const FLAG_KINDS: u8 = 2;
/// Flag: compressed keys have 8 bytes.
pub(super) const FLAG_KEYS_64: u8 = 4;
/// Flag: an inner page has filters of its leaves.
pub(super) const FLAG_FILTERS: u8 = 8;

const KEYS: usize = 16;
const KEY_ENCODING: usize = 20;
const DETAIL: usize = 21;
const FLAGS: usize = 22;
const KEY_CODEC: usize = 23;
const PREFIX: usize = 24;
const KEY_LIST: usize = 28;
const SUFFIX: usize = 32;
const RECORDS: usize = 36;
const TOMBSTONES: usize = 40;
const USED: usize = 44;
const _: () = assert!(KEYS == HEADER_BYTES && USED + 4 == BODY && KEY_CODEC + 1 == PREFIX);

/// The header's fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct NodeHeader {
    pub keys: u32,
    pub key_encoding: u8,
    /// A leaf's record encoding or an inner page's level.
    pub detail: u8,
    pub flags: u8,
    /// The codec of compressed keys, or zero.
    pub key_codec: u8,
    pub prefix: u32,
    pub key_list: u32,
    pub suffix: u32,
    pub records: u32,
    pub tombstones: u32,
    pub used: u32,
}

impl NodeHeader {
    /// Reads the fields; whether they make sense together is for those who use them to check.
    #[inline]
    pub(super) fn parse(page: &[u8]) -> Found<Self> {
        let Some(header) = page.first_chunk::<BODY>() else {
            return Err("page shorter than its header");
        };
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        if header[FLAGS] & !(FLAG_WIDE | FLAG_KINDS | FLAG_KEYS_64 | FLAG_FILTERS) != 0 {
            return Err("unknown flags in the page header");
        }
        Ok(Self {
            keys: word(KEYS),
            key_encoding: header[KEY_ENCODING],
            detail: header[DETAIL],
            flags: header[FLAGS],
            key_codec: header[KEY_CODEC],
            prefix: word(PREFIX),
            key_list: word(KEY_LIST),
            suffix: word(SUFFIX),
            records: word(RECORDS),
            tombstones: word(TOMBSTONES),
            used: word(USED),
        })
    }

    /// Writes the fields.
    pub(super) fn write(&self, page: &mut [u8]) {
        page[KEYS..KEYS + 4].copy_from_slice(&self.keys.to_le_bytes());
        page[KEY_ENCODING] = self.key_encoding;
        page[DETAIL] = self.detail;
        page[FLAGS] = self.flags;
        page[KEY_CODEC] = self.key_codec;
        for (at, value) in [
            (PREFIX, self.prefix),
            (KEY_LIST, self.key_list),
            (SUFFIX, self.suffix),
            (RECORDS, self.records),
            (TOMBSTONES, self.tombstones),
            (USED, self.used),
        ] {
            page[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        debug_assert_eq!(Self::parse(page), Ok(*self), "a header is read as it was written");
    }

    /// Bytes of one offset.
    #[inline]
    pub(super) fn offset_bytes(&self) -> usize {
        if self.flags & FLAG_WIDE != 0 { 4 } else { 2 }
    }
}

/// A section of a page that begins at `at` with `count` items of `bytes` each must end before the tail;
/// its end.
#[inline]
pub(super) fn section_end(page: &[u8], at: usize, count: usize, bytes: usize) -> Found<usize> {
    count
        .checked_mul(bytes)
        .and_then(|len| at.checked_add(len))
        .filter(|end| *end <= page.len().saturating_sub(TAIL))
        .ok_or("a list reaches beyond the page")
}

/// The `index`-th offset of an array at `at`.
#[inline]
pub(super) fn offset(page: &[u8], at: usize, offset_bytes: usize, index: usize) -> Found<usize> {
    let at = at + index * offset_bytes;
    if offset_bytes == 2 {
        page.get(at..).and_then(|rest| rest.first_chunk()).map(|b| usize::from(u16::from_le_bytes(*b)))
    } else {
        page.get(at..).and_then(|rest| rest.first_chunk()).map(|b| u32::from_le_bytes(*b) as usize)
    }
    .ok_or("an offset lies beyond the page")
}

/// Writes the `index`-th offset of an array at `at`.
#[inline]
pub(super) fn write_offset(page: &mut [u8], at: usize, offset_bytes: usize, index: usize, value: usize) {
    debug_assert!(offset_bytes == 2 || offset_bytes == 4, "an offset has two bytes or four");
    let at = at + index * offset_bytes;
    if offset_bytes == 2 {
        let value = u16::try_from(value).expect("the offsets of a page of one unit fit 16 bits");
        page[at..at + 2].copy_from_slice(&value.to_le_bytes());
    } else {
        let value = u32::try_from(value).expect("a page's offsets fit 32 bits");
        page[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}

/// The little-endian u64 at `at`.
#[inline]
pub(super) fn read_u64(page: &[u8], at: usize) -> Found<u64> {
    page.get(at..)
        .and_then(|rest| rest.first_chunk())
        .map(|bytes| u64::from_le_bytes(*bytes))
        .ok_or("a number lies beyond the page")
}

/// The page pointer at `at`; never null.
#[inline]
pub(super) fn read_ptr(page: &[u8], at: usize) -> Found<PagePtr> {
    let ptr = PagePtr(read_u64(page, at)?);
    if ptr.units() == 0 { Err("a child pointer is null") } else { Ok(ptr) }
}
