//! Transactions on their way into the log.

use std::mem;

use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::Record,
};

use super::{
    format::{GROUP_BYTES_MAX, GROUP_HEADER_BYTES, TIME_BYTES},
    transaction::{Origin, TRANSACTION_HEADER_BYTES, Transactions, put_operation, transaction_header},
};

/// The operations of one transaction, encoded outside of any lock.
#[derive(Clone, Debug, Default)]
pub struct EncodedOps {
    bytes: Vec<u8>,
    count: u32,
}

impl EncodedOps {
    /// No operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operation.
    pub fn op(&mut self, table: TableId, key: &[u8], record: Record<'_>) {
        put_operation(&mut self.bytes, table, key, record);
        self.count = self.count.checked_add(1).expect("more operations than a transaction may have bytes");
    }

    /// The encoded bytes so far.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// How many operations there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Forgets all operations; keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }
}

/// The group that is being filled. Adding copies bytes and does nothing else; the memory is kept for the
/// next group.
#[derive(Debug)]
pub struct GroupBuffer {
    /// Room for the group's header, then the transactions.
    bytes: Vec<u8>,
    transactions: u32,
    first_ts: Timestamp,
    last_ts: Timestamp,
    open: Option<Open>,
}

/// The transaction between [`GroupBuffer::begin`] and [`GroupBuffer::end`].
#[derive(Clone, Copy, Debug)]
struct Open {
    at: usize,
    ts: Timestamp,
    count: u32,
}

impl Default for GroupBuffer {
    fn default() -> Self {
        Self::new()
    }
}

impl GroupBuffer {
    /// An empty group.
    pub fn new() -> Self {
        Self {
            bytes: vec![0; GROUP_HEADER_BYTES],
            transactions: 0,
            first_ts: Timestamp(0),
            last_ts: Timestamp(0),
            open: None,
        }
    }

    /// Begins a transaction.
    ///
    /// # Panics
    /// If one is open, or `ts` is not greater than that of the transaction before.
    #[inline]
    pub fn begin(&mut self, ts: Timestamp) {
        assert!(self.open.is_none() && ts > self.last_ts, "transactions come one by one and in order");
        self.open = Some(Open { at: self.bytes.len(), ts, count: 0 });
        self.bytes.extend_from_slice(&[0; TRANSACTION_HEADER_BYTES]);
    }

    /// Adds an operation to the open transaction.
    ///
    /// # Panics
    /// If no transaction is open.
    #[inline]
    pub fn op(&mut self, table: TableId, key: &[u8], record: Record<'_>) {
        let open = self.open.as_mut().expect("a transaction is open");
        open.count += 1;
        put_operation(&mut self.bytes, table, key, record);
    }

    /// Ends the open transaction. If the group would become too large for the log, the transaction is taken out again and
    /// [`Error::Invalid`] returned.
    ///
    /// # Panics
    /// If no transaction is open.
    #[inline]
    pub fn end(&mut self) -> Result<()> {
        let Open { at, ts, count } = self.open.take().expect("a transaction is open");
        if self.raw_len() + TIME_BYTES > GROUP_BYTES_MAX {
            self.bytes.truncate(at);
            return Err(too_large());
        }
        let len = (self.bytes.len() - at - TRANSACTION_HEADER_BYTES) as u32;
        self.bytes[at..at + TRANSACTION_HEADER_BYTES].copy_from_slice(&transaction_header(ts, count, len));
        debug_assert!(self.is_read(at, ts, count), "a transaction is read as it was written");
        self.note(ts);
        Ok(())
    }

    /// Adds a whole transaction whose operations are encoded already. If the group would become too
    /// large for the log, [`Error::Invalid`] is returned and nothing added.
    ///
    /// # Panics
    /// If a transaction is open, or `ts` is not greater than that of the transaction before.
    #[inline]
    pub fn append_encoded(&mut self, ts: Timestamp, ops: &EncodedOps) -> Result<()> {
        assert!(self.open.is_none() && ts > self.last_ts, "transactions come one by one and in order");
        if self.raw_len() + TRANSACTION_HEADER_BYTES + ops.bytes.len() + TIME_BYTES > GROUP_BYTES_MAX {
            return Err(too_large());
        }
        self.bytes.reserve(TRANSACTION_HEADER_BYTES + ops.bytes.len());
        self.bytes.extend_from_slice(&transaction_header(ts, ops.count, ops.bytes.len() as u32));
        self.bytes.extend_from_slice(&ops.bytes);
        self.note(ts);
        Ok(())
    }

    /// Whether the last transaction, which begins there, is read as one with so many operations; for assertions.
    fn is_read(&self, at: usize, ts: Timestamp, count: u32) -> bool {
        let mut transactions =
            Transactions::new(&self.bytes[at..], None, Origin { file: "a group", offset: 0 });
        let Some(Ok((read, operations))) = transactions.next() else { return false };
        let read_whole =
            operations.len() == count as usize && { operations }.all(|operation| operation.is_ok());
        read == ts && read_whole && transactions.next().is_none()
    }
    fn note(&mut self, ts: Timestamp) {
        if self.transactions == 0 {
            self.first_ts = ts;
        }
        self.last_ts = ts;
        self.transactions += 1;
        debug_assert!(self.first_ts <= self.last_ts, "transactions come in the order of their timestamps");
    }

    /// Whether there is no transaction.
    pub fn is_empty(&self) -> bool {
        self.transactions == 0
    }

    /// How many transactions there are.
    pub fn transactions(&self) -> u32 {
        self.transactions
    }

    /// The bytes of all transactions.
    pub fn raw_len(&self) -> usize {
        self.bytes.len() - GROUP_HEADER_BYTES
    }

    /// The first transaction's timestamp; zero if there is none.
    pub fn first_ts(&self) -> Timestamp {
        self.first_ts
    }

    /// The last transaction's timestamp; zero if there is none.
    pub fn last_ts(&self) -> Timestamp {
        self.last_ts
    }

    /// Forgets all transactions; keeps the memory up to `keep` bytes.
    pub fn clear(&mut self, keep: usize) {
        self.bytes.truncate(GROUP_HEADER_BYTES);
        self.bytes.shrink_to(keep.max(GROUP_HEADER_BYTES));
        (self.transactions, self.open) = (0, None);
        (self.first_ts, self.last_ts) = (Timestamp(0), Timestamp(0));
    }

    /// Takes the filled group out and leaves an empty one with the memory of `spare`.
    pub fn swap(&mut self, mut spare: GroupBuffer) -> GroupBuffer {
        assert!(self.open.is_none(), "a group is whole transactions");
        spare.clear(usize::MAX);
        mem::replace(self, spare)
    }

    /// Puts a time behind the transactions, which is among the raw bytes until [`GroupBuffer::unstamp`].
    pub(super) fn stamp(&mut self, micros: u64) {
        self.bytes_mut().extend_from_slice(&micros.to_le_bytes());
    }

    /// Takes the time away that was put there.
    pub(super) fn unstamp(&mut self) {
        let transactions = self.raw_len().checked_sub(TIME_BYTES).expect("a time was put there");
        self.bytes.truncate(GROUP_HEADER_BYTES + transactions);
    }

    /// All transactions.
    pub(super) fn raw(&self) -> &[u8] {
        assert!(self.open.is_none(), "a group is whole transactions");
        &self.bytes[GROUP_HEADER_BYTES..]
    }

    /// Header room and transactions.
    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        assert!(self.open.is_none(), "a group is whole transactions");
        &mut self.bytes
    }
}

fn too_large() -> Error {
    Error::Invalid(format!("the transaction is larger than the log takes ({GROUP_BYTES_MAX} bytes)"))
}
