//! A sealed file: units of 4 KiB, each followed by its trailer; the last may be shorter.
//!
//! A unit is bound to its number, so none can take the place of another of the file. Sealed units of zeros alone, as a hole or reserved
//! space has them, were never written, and read as zeros; no trailer is zero, for generations begin at 1.
//!
//! What is written in whole units never touches the bytes of another unit: pages are. A write or cut in the middle of a unit seals that
//! unit anew, so after a crash all of the unit may be lost. REQUIRES: what is durable in a file is only edited in whole units. To seal the
//! same bytes again is to write other ones, so what counts is never written over with itself but by [`File::write_again`].

use std::{cell::RefCell, io, sync::Arc};

use parking_lot::Mutex;

use super::cipher::{Keys, Kind, Sealer, TRAILER_BYTES};
use crate::io::File;

/// Plain bytes of a unit.
pub(super) const UNIT_BYTES: u64 = 4096;
/// The same when sealed.
pub(super) const SEALED_BYTES: u64 = UNIT_BYTES + TRAILER_BYTES as u64;
/// Units that are read or written at once.
const UNITS_AT_ONCE: u64 = 64;

thread_local! {
    /// Sealed units on their way.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[derive(Debug)]
pub(super) struct SealedFile {
    inner: Arc<dyn File>,
    keys: Arc<Keys>,
    kind: Kind,
    /// None if it is only read.
    sealer: Option<Sealer>,
    /// Held while a unit is written of which a part stays.
    edge: Mutex<()>,
}

/// Where the byte at a plain offset would be if everything before it is whole; at the beginning of a unit exactly there.
fn sealed_offset(plain: u64) -> io::Result<u64> {
    let units = plain / UNIT_BYTES;
    let at = units.checked_mul(SEALED_BYTES).and_then(|at| at.checked_add(plain % UNIT_BYTES));
    at.filter(|at| *at < i64::MAX as u64).ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

/// The length of a sealed file with so many plain bytes.
fn sealed_len(plain: u64) -> io::Result<u64> {
    let trailer = if plain.is_multiple_of(UNIT_BYTES) { 0 } else { TRAILER_BYTES as u64 };
    Ok(sealed_offset(plain)? + trailer)
}

/// The plain bytes of a sealed file. What is left of a trailer that was cut has none.
fn plain_len(sealed: u64) -> u64 {
    let rest = (sealed % SEALED_BYTES).saturating_sub(TRAILER_BYTES as u64);
    sealed / SEALED_BYTES * UNIT_BYTES + rest
}

impl SealedFile {
    pub fn new(inner: Arc<dyn File>, keys: Arc<Keys>, kind: Kind, sealer: Option<Sealer>) -> Self {
        Self { inner, keys, kind, sealer, edge: Mutex::new(()) }
    }

    /// Hands the plain bytes of consecutive units to `take`, with the number of each. The file has `len` plain bytes.
    fn read_units(
        &self,
        first: u64,
        count: u64,
        len: u64,
        mut take: impl FnMut(u64, &[u8]),
    ) -> io::Result<()> {
        SCRATCH.with_borrow_mut(|scratch| {
            let end = ((first + count) * UNIT_BYTES).min(len);
            let bytes = (sealed_len(end)? - sealed_offset(first * UNIT_BYTES)?) as usize;
            scratch.resize(scratch.len().max(bytes), 0);
            let scratch = &mut scratch[..bytes];
            self.inner.read_at(scratch, sealed_offset(first * UNIT_BYTES)?)?;
            for (number, sealed) in (first..).zip(scratch.chunks_mut(SEALED_BYTES as usize)) {
                take(number, self.open_unit(number, sealed)?);
            }
            Ok(())
        })
    }

    fn open_unit<'b>(&self, number: u64, sealed: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let plain = sealed.len() - TRAILER_BYTES;
        if sealed[plain..].iter().all(|byte| *byte == 0) && sealed.iter().all(|byte| *byte == 0) {
            return Ok(&sealed[..plain]);
        }
        match self.keys.open(self.kind, &number.to_le_bytes(), sealed) {
            Some(plain) => Ok(plain),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the sealed bytes from {} on are not what was written there", number * SEALED_BYTES),
            )),
        }
    }

    /// The plain bytes of one unit, of which the file has `len` in all.
    fn read_unit(&self, number: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut plain = Vec::with_capacity(UNIT_BYTES as usize);
        if number * UNIT_BYTES < len {
            self.read_units(number, 1, len, |_, bytes| plain.extend_from_slice(bytes))?;
        }
        Ok(plain)
    }

    /// The plain bytes of the last unit of a file of `len`, if it is shorter than others. None if it was torn: a crash left a part of what
    /// was never durable there, and it stays what cannot be read.
    fn read_rest(&self, last: u64, len: u64) -> io::Result<Vec<u8>> {
        match len.is_multiple_of(UNIT_BYTES) {
            true => Ok(Vec::new()),
            false => match self.read_unit(last, len) {
                Err(e) if e.kind() == io::ErrorKind::InvalidData => Ok(Vec::new()),
                unit => unit,
            },
        }
    }

    /// Fills `buffer` from `offset`, of a file of at least `len` plain bytes, which end a unit or the file.
    fn read_within(&self, buffer: &mut [u8], offset: u64, len: u64) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        let (mut number, last) = (offset / UNIT_BYTES, (end - 1) / UNIT_BYTES);
        while number <= last {
            let count = (last + 1 - number).min(UNITS_AT_ONCE);
            self.read_units(number, count, len, |number, plain| {
                let start = number * UNIT_BYTES;
                let (from, to) = (start.max(offset), (start + plain.len() as u64).min(end));
                buffer[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&plain[(from - start) as usize..(to - start) as usize]);
            })?;
            number += count;
        }
        Ok(())
    }

    fn sealer(&self) -> io::Result<&Sealer> {
        self.sealer.as_ref().ok_or_else(|| io::Error::other("the file is open for reading only"))
    }

    /// Seals the bytes of whole units (the last one may be shorter) and writes them.
    fn write_units(&self, first: u64, bytes: &[u8]) -> io::Result<()> {
        let sealer = self.sealer()?;
        let mut sealed =
            Vec::with_capacity(bytes.len().div_ceil(UNIT_BYTES as usize) * SEALED_BYTES as usize);
        for (number, unit) in (first..).zip(bytes.chunks(UNIT_BYTES as usize)) {
            let at = sealed.len();
            sealed.extend_from_slice(unit);
            let trailer = sealer.seal(&number.to_le_bytes(), &mut sealed[at..]).map_err(io::Error::other)?;
            sealed.extend_from_slice(&trailer);
        }
        self.inner.write_at(&sealed, sealed_offset(first * UNIT_BYTES)?)
    }

    /// Grows the file to `to` bytes, the new ones zero. What there is of the last unit is sealed with the zeros that follow it.
    fn grow(&self, from: u64, to: u64) -> io::Result<()> {
        if to <= from {
            return Ok(());
        }
        let last = from / UNIT_BYTES;
        let rest = self.read_rest(last, from)?;
        self.inner.set_len(sealed_len(to)?)?;
        if rest.is_empty() {
            return Ok(());
        }
        let mut unit = rest;
        unit.resize((to - last * UNIT_BYTES).min(UNIT_BYTES) as usize, 0);
        self.write_units(last, &unit)
    }

    /// Writes within units, whose other bytes stay.
    fn write_edges(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let _edge = self.edge.lock();
        let end = offset + bytes.len() as u64;
        let mut len = self.len()?;
        if len < offset {
            self.grow(len, offset)?;
            len = offset;
        }
        let (mut at, mut bytes) = (offset, bytes);
        while at < end {
            let (number, within) = (at / UNIT_BYTES, (at % UNIT_BYTES) as usize);
            let whole = bytes.len() as u64 / UNIT_BYTES * UNIT_BYTES;
            if within == 0 && whole > 0 {
                let take = whole.min(UNITS_AT_ONCE * UNIT_BYTES) as usize;
                self.write_units(number, &bytes[..take])?;
                (at, bytes) = (at + take as u64, &bytes[take..]);
                continue;
            }
            let take = bytes.len().min(UNIT_BYTES as usize - within);
            let mut unit = self.read_unit(number, len)?;
            unit.resize(unit.len().max(within + take), 0);
            unit[within..within + take].copy_from_slice(&bytes[..take]);
            self.write_units(number, &unit)?;
            (at, bytes) = (at + take as u64, &bytes[take..]);
        }
        Ok(())
    }
}

/// The sealed bytes of the units that a range is in.
fn sealed_range(offset: u64, len: u64) -> Option<(u64, u64)> {
    let from = sealed_offset(offset / UNIT_BYTES * UNIT_BYTES).ok()?;
    let to = sealed_offset(offset.checked_add(len)?.checked_next_multiple_of(UNIT_BYTES)?).ok()?;
    Some((from, to - from))
}

fn end_of(offset: u64, len: usize) -> io::Result<u64> {
    let end = offset.checked_add(len as u64).filter(|end| *end < i64::MAX as u64);
    end.ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

impl File for SealedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let end = end_of(offset, buffer.len())?;
        if buffer.is_empty() {
            return Ok(());
        }
        // Only the last unit of a file may be shorter: where there is none, the file's length is not asked for.
        match self.read_within(buffer, offset, end.next_multiple_of(UNIT_BYTES)) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof && !end.is_multiple_of(UNIT_BYTES) => {
                let len = self.len()?;
                if len < end { Err(e) } else { self.read_within(buffer, offset, len) }
            }
            read => read,
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let end = end_of(offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let is_whole = offset.is_multiple_of(UNIT_BYTES) && end.is_multiple_of(UNIT_BYTES);
        if !is_whole || self.len()? < offset {
            return self.write_edges(bytes, offset);
        }
        let at_once = (UNITS_AT_ONCE * UNIT_BYTES) as usize;
        for (index, part) in bytes.chunks(at_once).enumerate() {
            self.write_units(offset / UNIT_BYTES + index as u64 * UNITS_AT_ONCE, part)?;
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len().map(plain_len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let _edge = self.edge.lock();
        let before = self.len()?;
        if before < len {
            return self.grow(before, len);
        }
        if before == len || len.is_multiple_of(UNIT_BYTES) {
            return self.inner.set_len(sealed_len(len)?);
        }
        let mut unit = self.read_unit(len / UNIT_BYTES, before)?;
        unit.truncate((len % UNIT_BYTES) as usize);
        self.inner.set_len(sealed_len(len)?)?;
        self.write_units(len / UNIT_BYTES, &unit)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        let end = offset.checked_add(len).ok_or(io::ErrorKind::FileTooLarge)?;
        let _edge = self.edge.lock();
        let before = self.len()?;
        let start = sealed_offset(offset / UNIT_BYTES * UNIT_BYTES)?;
        self.inner.allocate(start, sealed_len(end.max(before))?.saturating_sub(start))?;
        if end <= before {
            return Ok(());
        }
        let last = before / UNIT_BYTES;
        let mut unit = self.read_rest(last, before)?;
        if unit.is_empty() {
            return Ok(());
        }
        unit.resize((end - last * UNIT_BYTES).min(UNIT_BYTES) as usize, 0);
        self.write_units(last, &unit)
    }

    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        let end = offset.checked_add(len).ok_or(io::ErrorKind::FileTooLarge)?.min(self.len()?);
        let (first, last) = (offset.next_multiple_of(UNIT_BYTES), end / UNIT_BYTES * UNIT_BYTES);
        if end <= offset {
            return Ok(());
        }
        if first >= last {
            return self.write_at(&vec![0; (end - offset) as usize], offset);
        }
        self.write_at(&vec![0; (first - offset) as usize], offset)?;
        let (from, to) = (sealed_offset(first)?, sealed_offset(last)?);
        self.inner.punch_hole(from, to - from)?;
        self.write_at(&vec![0; (end - last) as usize], last)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn will_need(&self, offset: u64, len: u64) {
        if let Some((from, bytes)) = sealed_range(offset, len) {
            self.inner.will_need(from, bytes);
        }
    }

    fn start_writeback(&self, offset: u64, len: u64) {
        if let Some((from, bytes)) = sealed_range(offset, len) {
            self.inner.start_writeback(from, bytes);
        }
    }

    fn write_again(&self, offset: u64, len: u64) -> io::Result<()> {
        // Sealing anew would write other bytes over what counts.
        let (from, bytes) = sealed_range(offset, len).ok_or(io::ErrorKind::InvalidInput)?;
        let end = self.inner.len()?.min(from.saturating_add(bytes));
        self.inner.write_again(from, end.saturating_sub(from))
    }

    fn allocated_len(&self) -> io::Result<u64> {
        self.inner.allocated_len()
    }
}
