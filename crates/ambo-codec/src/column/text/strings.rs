//! Byte strings that are owned.

use super::{
    BytesView,
    copy::{self, SLACK},
};

/// Strings one after the other, followed by [`SLACK`] bytes so that they can be copied by [`copy::copy`].
#[derive(Clone, Debug)]
pub(super) struct Strings {
    offsets: Vec<u32>,
    padded: Vec<u8>,
    longest: usize,
}

impl Strings {
    /// From offsets and data as they are decoded.
    pub(super) fn new(offsets: Vec<u32>, mut data: Vec<u8>) -> Self {
        data.resize(data.len() + SLACK, 0);
        let lengths = offsets.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
        let longest = lengths.max().unwrap_or(0) as usize;
        Self { offsets, padded: data, longest }
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

    /// Sixteen bytes of string `index` and what follows it, and where it lies.
    #[inline]
    pub(super) fn sixteen(&self, index: usize) -> (u128, usize, usize) {
        let (start, len) = self.bounds(index);
        let bytes =
            self.padded[start..].first_chunk::<16>().expect("bytes that may be read follow the strings");
        (u128::from_le_bytes(*bytes), start, len)
    }

    /// Room for the strings with `count` numbers, of which it is known that they have `limit` bytes at most.
    pub(super) fn room(&self, count: usize, limit: usize) -> usize {
        count.saturating_mul(self.longest).min(limit)
    }

    /// Puts the strings with these numbers into `data` from `at` on, and where each ends into `ends`; returns where the
    /// last one ends. `None` when a number is out of range or a string would end less than [`SLACK`] bytes before the end of `data`.
    ///
    /// REQUIRES: `ends` is as long as `codes`.
    pub(super) fn put(&self, codes: &[u32], ends: &mut [u32], data: &mut [u8], at: usize) -> Option<usize> {
        let end = match self.longest {
            0..=16 => self.put_short::<16>(codes, ends, data, at),
            17..=32 => self.put_short::<32>(codes, ends, data, at),
            _ => self.put_any(codes, ends, data, at),
        };
        end.filter(|end| end + SLACK <= data.len())
    }

    /// As [`Strings::put`], of strings of at most `N` bytes, which is at most [`SLACK`]: a copy of `N` bytes for each.
    #[inline(always)]
    fn put_short<const N: usize>(
        &self,
        codes: &[u32],
        ends: &mut [u32],
        data: &mut [u8],
        mut at: usize,
    ) -> Option<usize> {
        for (code, end) in codes.iter().zip(ends) {
            let &[start, behind] = self.offsets.get(*code as usize..)?.first_chunk()?;
            let string = self.padded.get(start as usize..)?.first_chunk::<N>()?;
            *data.get_mut(at..)?.first_chunk_mut()? = *string;
            at += (behind - start) as usize;
            *end = at as u32;
        }
        Some(at)
    }

    fn put_any(&self, codes: &[u32], ends: &mut [u32], data: &mut [u8], mut at: usize) -> Option<usize> {
        for (code, end) in codes.iter().zip(ends) {
            let &[start, behind] = self.offsets.get(*code as usize..)?.first_chunk()?;
            let len = (behind - start) as usize;
            if at + len + SLACK > data.len() {
                return None;
            }
            copy::copy(&self.padded, start as usize, len, data, at);
            at += len;
            *end = at as u32;
        }
        Some(at)
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
        let (first, base) = (offsets.len(), data.len());
        offsets.resize(first + codes.len(), 0);
        data.resize(base + self.room(codes.len(), limit.checked_sub(base)?) + SLACK, 0);
        let end = self.put(codes, &mut offsets[first..], data, base);
        data.truncate(end.unwrap_or(base));
        if end.is_none() {
            offsets.truncate(first);
        }
        end.map(|_| ())
    }
}
