//! The key list of a leaf whose keys are integers in compressed blocks.
//!
//! # Format
//! Key encoding 3 (see [`super::key_list`]). All keys are of 4 bytes, or with the header's flag bit 2 of 8; read as
//! big-endian numbers they are in the order of their bytes. They are cut into blocks of the codec's length, only the
//! last of which may be shorter; the header's byte 23 is the codec's number
//! ([`IntegerCodec`](ambo_codec::integer::IntegerCodec)). There is no common prefix.
//!
//! | part | size | meaning |
//! |---|---|---|
//! | firsts | blocks × 4 or 8 | the first key of each block, as a little-endian number |
//! | starts | blocks × 2 or 4 | where each block begins in the heap |
//! | heap | header's suffix | the blocks, one after the other, without their first keys |
//!
//! A search looks for the block among the firsts, which are together, and then for the key in that block alone.
//!
//! Example: the 4-byte keys 10, 11, 15 under `vbyte` are firsts `0a 00 00 00`, starts `00 00`, heap `00 03`: the
//! gaps, less one each.

use ambo_codec::integer::{Block, BlockMeasure, IntegerCodec, Word};

use super::{
    Found,
    node::{FLAG_KEYS_64, NodeHeader, offset, section_end, write_offset},
};

/// Keys in compressed blocks.
pub(super) const BLOCKS: u8 = 3;
/// The most keys of a block of any codec.
const BLOCK_MAX: usize = 256;

/// A word as keys have it: big-endian in a key, little-endian in a page.
pub(super) trait KeyWord: Word {
    const WIDTH: usize;
    /// The first bytes of a key, and zeros where it is shorter.
    fn from_key(key: &[u8]) -> Self;
    fn put_key(self, key: &mut [u8]);
    /// REQUIRES: `bytes` has [`KeyWord::WIDTH`] bytes.
    fn from_page(bytes: &[u8]) -> Self;
    fn put_page(self, bytes: &mut [u8]);
    fn wide(self) -> u64;
}

macro_rules! key_word {
    ($word:ty) => {
        impl KeyWord for $word {
            const WIDTH: usize = size_of::<$word>();
            #[inline]
            fn from_key(key: &[u8]) -> Self {
                if let Some(bytes) = key.first_chunk() {
                    return Self::from_be_bytes(*bytes);
                }
                let mut bytes = [0; Self::WIDTH];
                bytes[..key.len()].copy_from_slice(key);
                Self::from_be_bytes(bytes)
            }
            #[inline]
            fn put_key(self, key: &mut [u8]) {
                key.copy_from_slice(&self.to_be_bytes());
            }
            #[inline]
            fn from_page(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |bytes| Self::from_le_bytes(*bytes))
            }
            #[inline]
            fn put_page(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn wide(self) -> u64 {
                u64::from(self)
            }
        }
    };
}

key_word!(u32);
key_word!(u64);

/// Runs the expression with `$word` as the type of the keys.
macro_rules! with_word {
    ($wide:expr, $word:ident => $run:expr) => {
        if $wide {
            type $word = u64;
            $run
        } else {
            type $word = u32;
            $run
        }
    };
}

/// Where the parts of such a list are. Made by [`KeyBlocks::parse`], which checks that they lie inside the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyBlocks {
    codec: IntegerCodec,
    /// Keys of 8 bytes.
    wide: bool,
    offset_bytes: usize,
    count: usize,
    firsts_at: usize,
    starts_at: usize,
    heap_at: usize,
    end: usize,
}

impl KeyBlocks {
    /// Finds the parts and checks that they lie inside the page.
    pub(super) fn parse(page: &[u8], header: &NodeHeader, at: usize) -> Found<Self> {
        let codec = IntegerCodec::from_u8(header.key_codec).ok_or("unknown codec of keys")?;
        let wide = header.flags & FLAG_KEYS_64 != 0;
        let count = header.keys as usize;
        let offset_bytes = header.offset_bytes();
        let blocks = count.div_ceil(codec.block_len());
        let starts_at = section_end(page, at, blocks, if wide { 8 } else { 4 })?;
        let heap_at = section_end(page, starts_at, blocks, offset_bytes)?;
        let end = section_end(page, heap_at, header.suffix as usize, 1)?;
        Ok(Self { codec, wide, offset_bytes, count, firsts_at: at, starts_at, heap_at, end })
    }

    /// Where the list ends in the page.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Bytes of a key.
    #[inline]
    pub(super) fn width(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// The block of key `index`, and the key's place in it.
    #[inline]
    pub(super) fn place(&self, index: usize) -> (usize, usize) {
        (index / self.codec.block_len(), index % self.codec.block_len())
    }

    /// How many blocks.
    fn blocks(&self) -> usize {
        self.count.div_ceil(self.codec.block_len())
    }

    #[inline]
    fn first<W: KeyWord>(&self, page: &[u8], block: usize) -> W {
        let at = self.firsts_at + block * W::WIDTH;
        W::from_page(&page[at..at + W::WIDTH])
    }

    /// Block `block` of the list: what follows it in the page is slack for wide loads.
    #[inline]
    fn block<'p, W: KeyWord>(&self, page: &'p [u8], block: usize) -> Found<Block<'p, W>> {
        let start = self.heap_at + offset(page, self.starts_at, self.offset_bytes, block)?;
        if start > self.end {
            return Err("a block of keys begins beyond the key list");
        }
        let count = (self.count - block * self.codec.block_len()).min(self.codec.block_len());
        self.codec.block(&page[start..], self.first(page, block), count).map_err(|damage| damage.0)
    }

    /// The number of keys smaller than `key`, which may have any length, and whether the next one is `key` itself.
    #[inline]
    pub(super) fn search(&self, page: &[u8], key: &[u8]) -> Found<(usize, bool)> {
        let (index, equal) = with_word!(self.wide, W => self.search_word(page, W::from_key(key))?);
        Ok(match key.len().cmp(&self.width()) {
            std::cmp::Ordering::Equal => (index, equal),
            // A key that begins with `key` and goes on is greater.
            std::cmp::Ordering::Less => (index, false),
            // A key that `key` begins with is smaller.
            std::cmp::Ordering::Greater => (index + usize::from(equal), false),
        })
    }

    fn search_word<W: KeyWord>(&self, page: &[u8], key: W) -> Found<(usize, bool)> {
        let above = super::key_list::partition(0, self.blocks(), |block| self.first::<W>(page, block) <= key);
        let Some(block) = above.checked_sub(1) else { return Ok((0, false)) };
        let (within, equal) = self.block::<W>(page, block)?.lower_bound(key).map_err(|damage| damage.0)?;
        Ok((block * self.codec.block_len() + within, equal))
    }

    /// Puts key `index` into `key`, in place of what was there.
    pub(super) fn key_into(&self, page: &[u8], index: usize, key: &mut Vec<u8>) -> Found<()> {
        key.clear();
        key.resize(self.width(), 0);
        let (block, within) = self.place(index);
        with_word!(self.wide, W => {
            let word = self.block::<W>(page, block)?.select(within).map_err(|damage| damage.0)?;
            word.put_key(key);
        });
        Ok(())
    }

    /// Puts the keys of a block into `keys`, in place of what was there, one after the other.
    pub(super) fn block_into(&self, page: &[u8], block: usize, keys: &mut Vec<u8>) -> Found<()> {
        with_word!(self.wide, W => {
            let mut words = [W::default(); BLOCK_MAX];
            let block = self.block::<W>(page, block)?;
            let words = &mut words[..block.len()];
            block.decode(words).map_err(|damage| damage.0)?;
            keys.clear();
            keys.resize(words.len() * W::WIDTH, 0);
            for (word, key) in words.iter().zip(keys.chunks_exact_mut(W::WIDTH)) {
                word.put_key(key);
            }
        });
        Ok(())
    }

    /// The sum of keys `from..to`, read as big-endian numbers.
    pub(super) fn sum(&self, page: &[u8], from: usize, to: usize) -> Found<u128> {
        with_word!(self.wide, W => self.sum_words::<W>(page, from, to))
    }

    fn sum_words<W: KeyWord>(&self, page: &[u8], from: usize, to: usize) -> Found<u128> {
        let mut sum = 0u128;
        let mut at = from;
        while at < to {
            let (number, within) = self.place(at);
            let block = self.block::<W>(page, number)?;
            let take = (to - at).min(block.len() - within);
            if take == block.len() {
                sum += block.sum().map_err(|damage| damage.0)?;
            } else {
                let mut words = [W::default(); BLOCK_MAX];
                let words = &mut words[..block.len()];
                block.decode(words).map_err(|damage| damage.0)?;
                sum += words[within..within + take].iter().map(|word| u128::from(word.wide())).sum::<u128>();
            }
            at += take;
        }
        Ok(sum)
    }
}

/// How large such a list would be, kept up to date key by key.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlocksMeasure {
    codec: IntegerCodec,
    blocks: usize,
    /// Bytes of all blocks but the last.
    full: usize,
    last: LastBlock,
}

#[derive(Clone, Copy, Debug)]
enum LastBlock {
    Narrow(BlockMeasure<u32>),
    Wide(BlockMeasure<u64>),
}

impl BlocksMeasure {
    /// The measure of a list without keys, of `width` bytes each: 4 or 8.
    pub(super) fn new(codec: IntegerCodec, width: usize) -> Self {
        let last = match width {
            4 => LastBlock::Narrow(BlockMeasure::new(codec)),
            8 => LastBlock::Wide(BlockMeasure::new(codec)),
            _ => panic!("keys of {width} bytes are no integers of 4 or 8 bytes"),
        };
        Self { codec, blocks: 0, full: 0, last }
    }

    /// The codec.
    pub(super) fn codec(&self) -> IntegerCodec {
        self.codec
    }

    /// The measure with one more key; `None` if that is of another length.
    #[inline]
    pub(super) fn with(&self, key: &[u8]) -> Option<Self> {
        if key.len() != self.width() {
            return None;
        }
        let mut next = *self;
        match &mut next.last {
            LastBlock::Narrow(last) => grow(self.codec, last, key, &mut next.blocks, &mut next.full),
            LastBlock::Wide(last) => grow(self.codec, last, key, &mut next.blocks, &mut next.full),
        }
        Some(next)
    }

    /// Bytes of a key.
    pub(super) fn width(&self) -> usize {
        match self.last {
            LastBlock::Narrow(_) => 4,
            LastBlock::Wide(_) => 8,
        }
    }

    /// Bytes of the encoded list.
    #[inline]
    pub(super) fn size(&self, offset_bytes: usize) -> usize {
        let (width, last) = match &self.last {
            LastBlock::Narrow(last) => (4, last.bytes()),
            LastBlock::Wide(last) => (8, last.bytes()),
        };
        self.blocks * (width + offset_bytes) + self.full + last
    }
}

#[inline]
fn grow<W: KeyWord>(
    codec: IntegerCodec,
    last: &mut BlockMeasure<W>,
    key: &[u8],
    blocks: &mut usize,
    full: &mut usize,
) {
    if last.len() == codec.block_len() {
        *full += last.bytes();
        *last = BlockMeasure::new(codec);
    }
    *blocks += usize::from(last.is_empty());
    *last = last.with(W::from_key(key));
}

/// Writes a key list at `at`: `keys` are the bytes of all keys, one after the other, `width` of each. Bytes of the heap, and where the list ends.
pub(super) fn encode(
    page: &mut [u8],
    at: usize,
    offset_bytes: usize,
    measure: &BlocksMeasure,
    keys: &[u8],
) -> (u32, usize) {
    with_word!(measure.width() == 8, W => encode_words::<W>(page, at, offset_bytes, measure.codec, keys))
}

fn encode_words<W: KeyWord>(
    page: &mut [u8],
    at: usize,
    offset_bytes: usize,
    codec: IntegerCodec,
    keys: &[u8],
) -> (u32, usize) {
    let block_bytes = codec.block_len() * W::WIDTH;
    let blocks = keys.len().div_ceil(block_bytes);
    let starts_at = at + blocks * W::WIDTH;
    let heap_at = starts_at + blocks * offset_bytes;
    let mut end = heap_at;
    let mut words = Vec::with_capacity(codec.block_len());
    let mut heap = Vec::new();
    for (index, keys) in keys.chunks(block_bytes).enumerate() {
        words.clear();
        words.extend(keys.chunks_exact(W::WIDTH).map(W::from_key));
        heap.clear();
        codec.encode(&words, &mut heap);
        words[0].put_page(&mut page[at + index * W::WIDTH..at + (index + 1) * W::WIDTH]);
        write_offset(page, starts_at, offset_bytes, index, end - heap_at);
        page[end..end + heap.len()].copy_from_slice(&heap);
        end += heap.len();
    }
    ((end - heap_at) as u32, end)
}
