//! Byte strings that are owned.

use super::{
    copy::{self, SLACK},
    BytesView,
};

/// Strings one after the other, followed by [`SLACK`] bytes so that they can be copied by [`copy::copy`].
#[derive(Clone, Debug)]
pub(super) struct Strings {
    offsets: Vec<u32>,
    padded: Vec<u8>,
}

impl Strings {
    /// From offsets and data as they are decoded.
    pub(super) fn new(offsets: Vec<u32>, mut data: Vec<u8>) -> Self {
        data.resize(data.len() + SLACK, 0);
        Self { offsets, padded: data }
    }

    pub(super) fn view(&self) -> BytesView<'_> {
        BytesView::new(&self.offsets, &self.padded[..self.padded.len() - SLACK])
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The strings of `strings`, one after the other.
    pub(super) fn collect<'s>(strings: impl Iterator<Item = &'s [u8]>) -> Self {
        let (mut offsets, mut data) = (vec![0], Vec::new());
        for string in strings {
            data.extend_from_slice(string);
            offsets.push(data.len() as u32);
        }
        Self::new(offsets, data)
    }

    /// Where string `index` lies.
    #[inline]
    pub(super) fn bounds(&self, index: usize) -> (usize, usize) {
        let (start, end) = (self.offsets[index], self.offsets[index + 1]);
        (start as usize, (end - start) as usize)
    }

    /// Copies `len` bytes from `start` on to `to[at..]`, as [`copy::copy`] does.
    #[inline]
    pub(super) fn copy(&self, start: usize, len: usize, to: &mut [u8], at: usize) {
        copy::copy(&self.padded, start, len, to, at);
    }

    /// Appends the strings with these numbers to `offsets` and `data`, which have the same layout.
    /// `None`, and nothing is appended, when a number is out of range or `data` would be longer than `limit`.
    pub(super) fn pick(
        &self,
        codes: &[u32],
        limit: usize,
        offsets: &mut Vec<u32>,
        data: &mut Vec<u8>,
    ) -> Option<()> {
        let (first_offset, base) = (offsets.len(), data.len());
        let mut end = base;
        offsets.reserve(codes.len());
        let in_range = codes.iter().try_for_each(|code| {
            let code = *code as usize;
            let (start, behind) = (*self.offsets.get(code)?, *self.offsets.get(code + 1)?);
            end += (behind - start) as usize;
            offsets.push(end as u32);
            Some(())
        });
        if in_range.is_none() || end > limit {
            offsets.truncate(first_offset);
            return None;
        }
        data.resize(end + SLACK, 0);
        let mut at = base;
        for code in codes {
            let (start, len) = self.bounds(*code as usize);
            copy::copy(&self.padded, start, len, data, at);
            at += len;
        }
        data.truncate(end);
        Some(())
    }
}
