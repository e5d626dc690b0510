//! Reading the keys of a leaf one after the other.

use super::{Found, key_list::KeyList};

/// Gives the suffixes of a leaf's keys. Of compressed keys it keeps the block that was read last, so that a walk decodes
/// each block once. REQUIRES: [`KeyReader::reset`] whenever it goes to another page.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    /// The block in `keys`, and one; or zero.
    block: usize,
    /// The keys of a block, one after the other.
    keys: Vec<u8>,
}

impl KeyReader {
    /// Forgets the page.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.block = 0;
    }

    /// The suffix of key `index` of the page's list.
    #[inline]
    pub(super) fn suffix<'s>(&'s mut self, page: &'s [u8], list: &KeyList, index: usize) -> Found<&'s [u8]> {
        let Some(blocks) = list.blocks() else { return list.suffix(page, index) };
        if index >= list.len() {
            return Err("an entry lies beyond the key list");
        }
        let (block, within) = blocks.place(index);
        if self.block != block + 1 {
            self.block = 0;
            blocks.block_into(page, block, &mut self.keys)?;
            self.block = block + 1;
        }
        let at = within * blocks.width();
        self.keys.get(at..at + blocks.width()).ok_or("a key lies beyond its block")
    }

    /// Puts key `index` into `key`, in place of what was there.
    pub(super) fn key_into(
        &mut self,
        page: &[u8],
        list: &KeyList,
        index: usize,
        key: &mut Vec<u8>,
    ) -> Found<()> {
        let suffix = self.suffix(page, list, index)?;
        key.clear();
        key.extend_from_slice(list.prefix(page));
        key.extend_from_slice(suffix);
        Ok(())
    }
}
