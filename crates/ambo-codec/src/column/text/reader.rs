//! Reads the parts of a block one after the other.

use super::bits::{Packed, packed_len};
use crate::{Error, Result, varint};

/// What is left of a block, and how far in that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    /// The error that `what` is wrong here.
    pub(super) fn damaged(&self, what: &'static str) -> Error {
        Error::malformed(self.at, what)
    }

    /// The next `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.damaged("the block is cut off"));
        };
        self.rest = rest;
        self.at += len;
        Ok(taken)
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// The next varint, a length or a count below 2^31.
    pub(super) fn length(&mut self) -> Result<usize> {
        let (value, len) = varint::decode(self.rest).ok_or(self.damaged("not a number"))?;
        if value > super::DECODED_MAX as u64 {
            return Err(self.damaged("a length is too large"));
        }
        self.take(len)?;
        Ok(value as usize)
    }

    /// The next `count` values of `width` bits.
    pub(super) fn packed(&mut self, count: usize, width: u8) -> Result<Packed<'a>> {
        if width > 32 {
            return Err(self.damaged("a width of more than 32 bits"));
        }
        let bytes = self.take(packed_len(count, width))?;
        Packed::new(bytes, count, width).ok_or(self.damaged("the block is cut off"))
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        self.at += self.rest.len();
        std::mem::take(&mut self.rest)
    }

    /// That nothing is left.
    pub(super) fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.damaged("bytes after the end of the block")) }
    }
}
