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
                debug_assert!(bytes.len() >= Self::WIDTH, "a word of a page is whole");
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
        debug_assert!(
            block < self.blocks() && W::WIDTH == self.width(),
            "a block of this list, read as it is"
        );
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
        debug_assert!(index < self.count, "a key of the list");
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
        debug_assert!(to <= self.count, "keys of the list are summed up");
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

/// Such a list in the making. The keys are with the caller, one after the other; blocks are encoded as they fill, so that
/// no key is looked at more than once, but near the end of the page.
#[derive(Debug)]
pub(super) struct BlocksDraft {
    codec: IntegerCodec,
    width: usize,
    /// The full blocks, and where each begins.
    heap: Vec<u8>,
    starts: Vec<u32>,
    /// The last block, if it was measured.
    last: LastBlock,
}

/// The measure of the first keys of a block that is not full.
#[derive(Clone, Copy, Debug)]
enum LastBlock {
    Narrow(BlockMeasure<u32>),
    Wide(BlockMeasure<u64>),
}

impl LastBlock {
    fn new(codec: IntegerCodec, width: usize) -> Self {
        if width == 8 { Self::Wide(BlockMeasure::new(codec)) } else { Self::Narrow(BlockMeasure::new(codec)) }
    }

    fn len(&self) -> usize {
        match self {
            Self::Narrow(block) => block.len(),
            Self::Wide(block) => block.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Narrow(block) => block.bytes(),
            Self::Wide(block) => block.bytes(),
        }
    }

    fn with(&self, key: &[u8]) -> Self {
        match self {
            Self::Narrow(block) => Self::Narrow(block.with(u32::from_key(key))),
            Self::Wide(block) => Self::Wide(block.with(u64::from_key(key))),
        }
    }
}

impl BlocksDraft {
    /// A list without keys, of `width` bytes each: 4 or 8.
    pub(super) fn new(codec: IntegerCodec, width: usize) -> Self {
        assert!(width == 4 || width == 8, "keys of {width} bytes are no integers of 4 or 8 bytes");
        let last = LastBlock::new(codec, width);
        Self { codec, width, heap: Vec::new(), starts: Vec::new(), last }
    }

    /// As new.
    pub(super) fn clear(&mut self) {
        self.heap.clear();
        self.starts.clear();
        self.last = LastBlock::new(self.codec, self.width);
    }

    /// The codec.
    pub(super) fn codec(&self) -> IntegerCodec {
        self.codec
    }

    /// Bytes of a key.
    #[inline]
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The keys of the block that is not full.
    #[inline]
    fn rest<'k>(&self, keys: &'k [u8]) -> &'k [u8] {
        &keys[self.starts.len() * self.codec.block_len() * self.width..]
    }

    /// Whether the list has room in `room` bytes with `key` behind `keys`.
    #[inline]
    pub(super) fn fits(&mut self, keys: &[u8], key: &[u8], offset_bytes: usize, room: usize) -> bool {
        let rest = self.rest(keys).len() / self.width + 1;
        let without_last = (self.starts.len() + 1) * (self.width + offset_bytes) + self.heap.len();
        // The longest integers of all codecs are those of seven bits a byte.
        let last_max = rest * (self.width + self.width / 4) + 64;
        let Some(room) = room.checked_sub(without_last) else { return false };
        last_max <= room || self.fits_measured(keys, key, room)
    }

    /// Whether the last block has room with `key`; if so, it is taken to come.
    fn fits_measured(&mut self, keys: &[u8], key: &[u8], room: usize) -> bool {
        self.last = self.measured(keys);
        let with = self.last.with(key);
        let fits = with.bytes() <= room;
        if fits {
            self.last = with;
        }
        fits
    }

    /// The measure of the block that is not full.
    fn measured(&self, keys: &[u8]) -> LastBlock {
        let rest = self.rest(keys);
        debug_assert!(
            rest.len() <= self.codec.block_len() * self.width,
            "a block is encoded once it is full"
        );
        if self.last.len() * self.width == rest.len() {
            return self.last;
        }
        let none = LastBlock::new(self.codec, self.width);
        rest.chunks_exact(self.width).fold(none, |block, key| block.with(key))
    }

    /// Takes note of a key that has been added to `keys`.
    #[inline]
    pub(super) fn pushed(&mut self, keys: &[u8]) {
        debug_assert!(keys.len().is_multiple_of(self.width), "all keys have one width");
        if self.rest(keys).len() == self.codec.block_len() * self.width {
            self.fill_block(keys);
        }
    }

    fn fill_block(&mut self, keys: &[u8]) {
        let start = self.heap.len() as u32;
        let measured = if cfg!(debug_assertions) { self.measured(keys).bytes() } else { 0 };
        encode_block(self.codec, self.width, self.rest(keys), &mut self.heap);
        debug_assert_eq!(self.heap.len() - start as usize, measured, "a block is as long as it was measured");
        self.starts.push(start);
        self.last = LastBlock::new(self.codec, self.width);
    }

    /// Bytes of the encoded list.
    pub(super) fn size(&self, keys: &[u8], offset_bytes: usize) -> usize {
        let blocks = self.starts.len() + usize::from(!self.rest(keys).is_empty());
        blocks * (self.width + offset_bytes) + self.heap.len() + self.measured(keys).bytes()
    }

    /// Writes the list at `at`. Bytes of the heap, and where the list ends.
    pub(super) fn encode(
        &mut self,
        page: &mut [u8],
        at: usize,
        offset_bytes: usize,
        keys: &[u8],
    ) -> (u32, usize) {
        let (full, full_heap) = (self.starts.len(), self.heap.len());
        if !self.rest(keys).is_empty() {
            self.fill_block(keys);
        }
        let starts_at = at + self.starts.len() * self.width;
        let heap_at = starts_at + self.starts.len() * offset_bytes;
        let block_bytes = self.codec.block_len() * self.width;
        assert_eq!(self.starts.len(), keys.len().div_ceil(block_bytes), "each block has a start");
        for (index, (keys, start)) in keys.chunks(block_bytes).zip(&self.starts).enumerate() {
            let first = &mut page[at + index * self.width..at + (index + 1) * self.width];
            with_word!(self.width == 8, W => W::from_key(&keys[..W::WIDTH]).put_page(first));
            write_offset(page, starts_at, offset_bytes, index, *start as usize);
        }
        let end = heap_at + self.heap.len();
        page[heap_at..end].copy_from_slice(&self.heap);
        let heap_bytes = self.heap.len() as u32;
        self.starts.truncate(full);
        self.heap.truncate(full_heap);
        (heap_bytes, end)
    }
}

/// Appends the block of `keys`, each of `width` bytes.
fn encode_block(codec: IntegerCodec, width: usize, keys: &[u8], heap: &mut Vec<u8>) {
    assert!(
        keys.len().is_multiple_of(width) && keys.len() / width <= codec.block_len(),
        "a block has whole keys, and no more than its codec takes"
    );
    with_word!(width == 8, W => {
        let mut words = [W::default(); BLOCK_MAX];
        let words = &mut words[..keys.len() / W::WIDTH];
        for (word, key) in words.iter_mut().zip(keys.chunks_exact(W::WIDTH)) {
            *word = W::from_key(key);
        }
        codec.encode(words, heap);
    });
}
