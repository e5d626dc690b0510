//! Notes in the log for who restores an archive of it: what a commit did that is not among its operations. Recovery passes over them.
//!
//! They are written while the log is archived only ([`super::archive`]).

use ambo_pages::{log::Operation, page::blob::BlobRef};
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::{Record, RecordKind},
};

use super::{blobs::read_whole, engine::Engine, version::DatabaseVersion};
use crate::transaction::fuse::Fuse;

/// Under this table the log has notes. No table has this id.
pub(super) const NOTES_TABLE: TableId = TableId(u32::MAX - 1);

/// Long values of one commit that the log takes, together.
const LONG_BYTES_MAX: u64 = 256 << 20;

const UNLOGGED: u8 = 1;
const LONG_VALUE: u8 = 2;
const BEGIN: u8 = 3;

/// What a note says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Note<'a> {
    /// Rows of this table were written that are not in the log.
    Unlogged(TableId),
    /// The value that the next operation refers to.
    LongValue(&'a [u8]),
    /// From here on the log is archived.
    Begin,
}

impl<'a> Note<'a> {
    /// What an operation of [`NOTES_TABLE`] says; none if its bytes are not a note.
    pub fn decode(operation: &Operation<'a>) -> Option<Self> {
        debug_assert_eq!(operation.table, NOTES_TABLE);
        let (kind, table) = operation.key.split_first()?;
        let table = TableId(u32::from_be_bytes(table.try_into().ok()?));
        match *kind {
            UNLOGGED => Some(Self::Unlogged(table)),
            LONG_VALUE => Some(Self::LongValue(operation.record.bytes)),
            BEGIN => Some(Self::Begin),
            _ => None,
        }
    }
}

fn key(kind: u8, table: TableId) -> [u8; 5] {
    let [a, b, c, d] = table.0.to_be_bytes();
    [kind, a, b, c, d]
}

/// The key of the note that rows of a table are not in the log.
pub(super) fn unlogged(table: TableId) -> [u8; 5] {
    key(UNLOGGED, table)
}

/// What is to be noted of long values.
pub(super) struct LongValues(std::vec::IntoIter<([u8; 5], Vec<u8>)>);

impl LongValues {
    /// None are noted.
    pub fn none() -> Self {
        Self(Vec::new().into_iter())
    }

    /// The long values that operations on logged tables refer to, in their order.
    pub fn of<'o>(
        version: &DatabaseVersion,
        operations: impl Iterator<Item = &'o Operation<'o>>,
    ) -> Result<Self> {
        let (mut notes, mut bytes) = (Vec::new(), 0);
        for op in operations.filter(|op| op.record.kind == RecordKind::Blob) {
            let blob: BlobRef = Engine::decode_blob(op.record.bytes, op.table)?;
            bytes += blob.bytes();
            notes.push(match bytes <= LONG_BYTES_MAX {
                true => {
                    let store = &version.table(op.table)?.shared.store;
                    (key(LONG_VALUE, op.table), read_whole(store, &blob)?)
                }
                false => (unlogged(op.table), Vec::new()),
            });
        }
        Ok(Self(notes.into_iter()))
    }

    /// The next note, as key and value.
    pub fn next(&mut self) -> Option<([u8; 5], Vec<u8>)> {
        self.0.next()
    }
}

impl Engine {
    /// Notes, durably, that rows of tables come or go past the log, if that is archived.
    pub(super) fn note_unlogged(&self, tables: &[TableId]) -> Result<()> {
        match self.pipeline.is_archived() {
            true => self.note(tables.iter().map(|table| unlogged(*table))),
            false => Ok(()),
        }
    }

    /// Notes, durably, that the log is archived from the next commit on.
    pub(super) fn note_begin(&self) -> Result<()> {
        self.note(std::iter::once(key(BEGIN, TableId(0))))
    }

    /// A commit of notes alone.
    fn note(&self, keys: impl Iterator<Item = [u8; 5]>) -> Result<()> {
        let mut sequencer = self.pipeline.sequence();
        self.pipeline.check_poison()?;
        let at = Timestamp(sequencer.last.0 + 1);
        sequencer.group.begin(at);
        for key in keys {
            sequencer.group.op(NOTES_TABLE, &key, Record::inline(&[]));
        }
        sequencer.group.end()?;
        sequencer.last = at;
        sequencer.note_logged(false);
        let in_flight = Fuse::in_flight(&self.pipeline, at);
        drop(sequencer);
        let written = self.pipeline.flush(at, true);
        in_flight.complete();
        written?;
        self.pipeline.wait(at)
    }
}

/// The error for a note that cannot be read.
pub(super) fn damaged(at: Timestamp) -> Error {
    Error::damaged("log", 0, format!("the transaction {at} has a note that cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: notes that are read otherwise than they were written.
    #[test]
    fn notes_are_read_as_written() {
        let read = |key: &'static [u8; 5], bytes: &'static [u8]| {
            Note::decode(&Operation { table: NOTES_TABLE, key, record: Record::inline(bytes) })
        };
        assert_eq!(read(&[1, 0, 0, 1, 2], b""), Some(Note::Unlogged(TableId(258))));
        assert_eq!(read(&[2, 0, 0, 0, 2], b"long"), Some(Note::LongValue(b"long")));
        assert_eq!(read(&[3, 0, 0, 0, 0], b""), Some(Note::Begin));
        assert_eq!(read(&[4, 0, 0, 0, 0], b""), None);
        assert_eq!(unlogged(TableId(258)), [1, 0, 0, 1, 2]);
    }
}
