//! What is in a group: transactions of operations. All fixed numbers are little-endian.
//!
//! **Transaction**
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 8 | timestamp; greater than that of the transaction before |
//! | 8 | 4 | operations |
//! | 12 | 4 | bytes of all operations |
//! | 16 | | operations |
//!
//! **Operation**; a *varint* has seven bits a byte, the least first; the high bit says that more follow
//!
//! | size | meaning |
//! |---|---|
//! | varint | table |
//! | 1 | [`RecordKind`] |
//! | varint | key bytes |
//! | | key |
//! | varint | value bytes; absent for a tombstone |
//! | | value; absent for a tombstone |
//!
//! What tables, keys and values mean is the engine's matter. Table 0 is the catalog. Under table 4,294,967,295 are ranges of keys that
//! were deleted: the key is the table's id, 4 bytes, the most significant first, and the lower bound; the value is the upper bound, or
//! empty where there is none. It comes before the rows of its transaction. Under table 4,294,967,294 are notes for who restores an archived
//! log, which recovery passes over: the key is a kind, one byte, and a table's id, 4 bytes, the most significant first. Kind 1: rows of the
//! table are not in the log. Kind 2: the value is the long value that the next operation refers to.

use std::time::Duration;

use ambo_codec::varint;
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::{Record, RecordKind},
};

/// Bytes before a transaction's operations.
pub const TRANSACTION_HEADER_BYTES: usize = 16;
const _: () = assert!(TRANSACTION_HEADER_BYTES == 8 + 4 + 4);

/// Appends an operation.
#[inline]
pub(super) fn put_operation(out: &mut Vec<u8>, table: TableId, key: &[u8], record: Record<'_>) {
    out.reserve(3 * varint::LEN_MAX + 1 + key.len() + record.bytes.len());
    varint::encode(u64::from(table.0), out);
    out.push(record.kind as u8);
    varint::encode(key.len() as u64, out);
    out.extend_from_slice(key);
    if record.is_tombstone() {
        debug_assert!(record.bytes.is_empty(), "a tombstone has no value");
    } else {
        varint::encode(record.bytes.len() as u64, out);
        out.extend_from_slice(record.bytes);
    }
}

/// The bytes before the operations of a transaction.
pub(super) fn transaction_header(
    ts: Timestamp,
    operations: u32,
    bytes: u32,
) -> [u8; TRANSACTION_HEADER_BYTES] {
    let mut header = [0; TRANSACTION_HEADER_BYTES];
    header[..8].copy_from_slice(&ts.0.to_le_bytes());
    header[8..12].copy_from_slice(&operations.to_le_bytes());
    header[12..].copy_from_slice(&bytes.to_le_bytes());
    header
}

/// What one operation did: this key of this table became this record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation<'a> {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: &'a [u8],
    /// What the key maps to.
    pub record: Record<'a>,
}

/// Where bytes come from, for errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    pub file: &'a str,
    pub offset: u64,
}

impl Origin<'_> {
    pub fn damaged(&self, what: &str) -> Error {
        Error::damaged(self.file, self.offset, what)
    }
}

/// The transactions of a group's raw bytes, with their timestamps.
#[derive(Debug)]
pub(super) struct Transactions<'a> {
    bytes: &'a [u8],
    time: Option<Duration>,
    source: Origin<'a>,
}

impl<'a> Transactions<'a> {
    pub fn new(bytes: &'a [u8], time: Option<Duration>, source: Origin<'a>) -> Self {
        Self { bytes, time, source }
    }

    fn take(&mut self) -> Option<(Timestamp, Operations<'a>)> {
        let (header, rest) = self.bytes.split_first_chunk::<TRANSACTION_HEADER_BYTES>()?;
        let (ts, numbers) = header.split_first_chunk::<8>()?;
        let (count, len) = numbers.split_first_chunk::<4>()?;
        let len = u32::from_le_bytes(*len.first_chunk()?) as usize;
        let (bytes, rest) = rest.split_at_checked(len)?;
        self.bytes = rest;
        let operations =
            Operations { bytes, left: u32::from_le_bytes(*count), time: self.time, source: self.source };
        Some((Timestamp(u64::from_le_bytes(*ts)), operations))
    }
}

impl<'a> Iterator for Transactions<'a> {
    type Item = Result<(Timestamp, Operations<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let taken = self.take();
        if taken.is_none() {
            self.bytes = &[];
        }
        Some(taken.ok_or_else(|| self.source.damaged("a transaction in this group is cut off")))
    }
}

/// The operations of one transaction, in the order in which they were made. An error is damage; nothing comes after it.
#[derive(Clone, Debug)]
pub struct Operations<'a> {
    bytes: &'a [u8],
    left: u32,
    time: Option<Duration>,
    source: Origin<'a>,
}

impl Operations<'_> {
    /// When the transaction was written to the log, since 1970 began; none in a log of before that was noted.
    pub fn time(&self) -> Option<Duration> {
        self.time
    }

    /// How many there are still to come, as far as the bytes say the truth.
    #[expect(clippy::len_without_is_empty, reason = "a count of what is to come")]
    pub fn len(&self) -> usize {
        self.left as usize
    }
}

impl<'a> Operations<'a> {
    fn take(&mut self) -> Option<Operation<'a>> {
        let table = TableId(u32::try_from(varint::take(&mut self.bytes)?).ok()?);
        let (kind, rest) = self.bytes.split_first()?;
        let kind = RecordKind::from_u8(*kind)?;
        self.bytes = rest;
        let key = self.take_bytes()?;
        let bytes = if kind == RecordKind::Tombstone { &[] } else { self.take_bytes()? };
        Some(Operation { table, key, record: Record { kind, bytes } })
    }

    fn take_bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(varint::take(&mut self.bytes)?).ok()?;
        let (bytes, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(bytes)
    }
}

impl<'a> Iterator for Operations<'a> {
    type Item = Result<Operation<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            let excess = !std::mem::take(&mut self.bytes).is_empty();
            return excess
                .then(|| Err(self.source.damaged("a transaction in this group has bytes left over")));
        }
        match self.take() {
            Some(operation) => {
                self.left -= 1;
                Some(Ok(operation))
            }
            None => {
                (self.bytes, self.left) = (&[], 0);
                Some(Err(self.source.damaged("an operation in this group cannot be read")))
            }
        }
    }
}
