//! Values too long for a row: written to pages of their own while they arrive, referred to by the commit.
//!
//! The pages of a blob belong to nobody until the commit that refers to them is in the log; from then on to the
//! memtable, and once that is flushed to the base, or, when a later write replaced it in the same memtable, to the
//! graveyard.

use std::{
    borrow::Cow,
    io::{self, Read, Write},
    sync::Arc,
};

use ambo_base::CopyBlob;
use ambo_codec::record::RecordCodec;
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::{Record, RecordKind, VALUE_BYTES_MAX},
};

use super::{
    commit::Terms,
    engine::Engine,
    expiry::STAMP_BYTES,
    value::Value,
    version::{DatabaseVersion, TableShared},
};
use crate::transaction::write_set::OwnedRecord;
use ambo_pages::{
    log::Operation,
    page::{
        PageStore,
        blob::{BlobReader, BlobRef, BlobWriter},
    },
};

/// Values longer than this are written to blob pages at once instead of passing through log and memtable.
pub(super) const INLINE_BYTES_MAX: usize = 1 << 20;

/// A blob that a commit referred to.
pub(super) struct FreshBlob {
    pub table: TableId,
    pub store: Arc<PageStore>,
    pub at: Timestamp,
    pub blob: BlobRef,
}

impl Engine {
    pub(super) fn decode_blob(bytes: &[u8], table: TableId) -> Result<BlobRef> {
        BlobRef::decode(bytes).ok_or_else(|| {
            Error::damaged(
                ambo_pages::page::NAME,
                0,
                format!("a row of table {table} has a blob reference that cannot be read"),
            )
        })
    }

    pub(super) fn note_fresh_blob(&self, table: &TableShared, at: Timestamp, bytes: &[u8]) {
        // It was encoded by the writer of this very commit.
        let blob = BlobRef::decode(bytes).expect("a reference of our own");
        self.fresh_blobs.lock().push(FreshBlob { table: table.id, store: table.store.clone(), at, blob });
    }

    /// Reads a blob whole that `version` refers to: a newer one may not have the table any more.
    pub(super) fn load_blob(version: &DatabaseVersion, table: TableId, reference: &[u8]) -> Result<Value> {
        let store = &version.table(table)?.shared.store;
        read_whole(store, &Self::decode_blob(reference, table)?).map(Value::owned)
    }

    /// The value that a transaction wrote; `None` if it deleted the row.
    pub(super) fn own_value(
        version: &DatabaseVersion,
        table: TableId,
        own: &OwnedRecord,
    ) -> Result<Option<Value>> {
        match own.kind {
            RecordKind::Tombstone => Ok(None),
            RecordKind::Inline => Ok(Some(Value::owned(own.bytes.clone().into_boxed_slice()))),
            RecordKind::Blob => Self::load_blob(version, table, &own.bytes).map(Some),
        }
    }

    /// Begins a value of any length under `key`; it is committed when the writer is finished.
    pub fn put_stream(self: &Arc<Self>, table: TableId, key: &[u8]) -> Result<ValueWriter> {
        self.check_writable()?;
        Self::check_key(key)?;
        let version = self.versions.load();
        let shared = &version.table(table)?.shared;
        let (store, stamped) = (&shared.store, shared.stamped);
        Ok(ValueWriter {
            engine: self.clone(),
            table,
            key: key.to_vec(),
            store: store.clone(),
            blob: Some(BlobWriter::new(store, version.blob_codec(table))),
            written: 0,
            stamped,
        })
    }

    /// Writes a long value to pages of a table as `version` has it, for a commit to refer to. Returns where, too.
    pub(super) fn write_blob(
        version: &DatabaseVersion,
        table: TableId,
        bytes: &[u8],
    ) -> Result<(Arc<PageStore>, BlobRef)> {
        let store = version.table(table)?.shared.store.clone();
        let mut writer = BlobWriter::new(&store, version.blob_codec(table));
        writer.write_all(bytes)?;
        let blob = writer.finish()?;
        assert_eq!(blob.bytes(), bytes.len() as u64, "all of it is written");
        Ok((store, blob))
    }

    /// Maps `key` to a blob that was written for it to `store`. If that certainly fails, the blob's pages are given back.
    pub(super) fn commit_blob(
        self: &Arc<Self>,
        table: TableId,
        key: &[u8],
        (mut store, mut blob): (Arc<PageStore>, BlobRef),
    ) -> Result<()> {
        loop {
            let encoded = blob.encode();
            let record = Record { kind: RecordKind::Blob, bytes: &encoded };
            let terms = Terms { blobs_in: Some(&store), ..Terms::default() };
            let result = self.commit(&[Operation { table, key, record }], terms);
            if result.is_ok() || self.pipeline.check_poison().is_err() {
                return result.map(drop);
            }
            let moved = match result {
                // The table has moved meanwhile, and the value follows it.
                Err(Error::Conflict(_)) => self.follow_table(table, &store, &blob),
                result => result.map(|_| unreachable!("it failed")),
            };
            store.free(blob.pages().iter().copied());
            (store, blob) = moved?;
        }
    }

    /// Writes a blob once more, to where the table is now.
    fn follow_table(
        &self,
        table: TableId,
        from: &Arc<PageStore>,
        blob: &BlobRef,
    ) -> Result<(Arc<PageStore>, BlobRef)> {
        let version = self.versions.load_full();
        let to = version.table(table)?.shared.store.clone();
        let blob = copy_blob(from, &to, version.blob_codec(table), blob)?;
        Ok((to, blob))
    }
}

/// Bytes of a value that are in memory at once while it is copied.
const COPIED_BYTES: usize = 1 << 20;

/// Writes a blob once more to another store.
pub(super) fn copy_blob(
    from: &Arc<PageStore>,
    to: &Arc<PageStore>,
    codec: Option<RecordCodec>,
    blob: &BlobRef,
) -> Result<BlobRef> {
    let mut reader = BlobReader::new(from, blob.clone())?;
    let mut writer = BlobWriter::new(to, codec);
    let mut buffer = vec![0; COPIED_BYTES.min(reader.len() as usize)];
    let mut position = 0;
    while position < reader.len() {
        let count = reader.read_at(position, &mut buffer)?;
        assert!(count > 0, "there is more of it");
        writer.write_all(&buffer[..count])?;
        position += count as u64;
    }
    let copy = writer.finish()?;
    assert_eq!(copy.bytes(), reader.len(), "a copy is as long as what it is of");
    Ok(copy)
}

/// Copies the long value that a record refers to.
pub(super) type BlobCopier<'a> = Box<CopyBlob<'a>>;

impl DatabaseVersion {
    /// What copies long values of a table from store to store; none if these are the same.
    pub(super) fn blob_copier<'a>(
        &self,
        id: TableId,
        from: &'a Arc<PageStore>,
        to: &'a Arc<PageStore>,
    ) -> Option<BlobCopier<'a>> {
        if Arc::ptr_eq(from, to) {
            return None;
        }
        let codec = self.blob_codec(id);
        Some(Box::new(move |reference| copy_blob(from, to, codec, &Engine::decode_blob(reference, id)?)))
    }
}

/// A blob as one buffer.
pub(super) fn read_whole(store: &Arc<PageStore>, blob: &BlobRef) -> Result<Vec<u8>> {
    BlobReader::new(store, blob.clone())?.read_all()
}

/// The bytes of a record of a tree in `store`, long ones read whole; none of a tombstone.
pub(super) fn whole<'r>(store: &Arc<PageStore>, table: TableId, record: Record<'r>) -> Result<Cow<'r, [u8]>> {
    Ok(match record.kind {
        RecordKind::Blob => read_whole(store, &Engine::decode_blob(record.bytes, table)?)?.into(),
        RecordKind::Inline | RecordKind::Tombstone => record.bytes.into(),
    })
}

/// Takes a value in parts. Dropped before [`ValueWriter::finish`], nothing is written.
pub struct ValueWriter {
    engine: Arc<Engine>,
    table: TableId,
    key: Vec<u8>,
    store: Arc<PageStore>,
    blob: Option<BlobWriter>,
    written: u64,
    /// Whether the time is put behind it.
    stamped: bool,
}

impl ValueWriter {
    /// Commits the value.
    pub fn finish(mut self) -> Result<()> {
        let mut blob = self.blob.take().expect("there until it is finished");
        if self.stamped {
            blob.write_all(&self.engine.stamp())?;
            self.written += STAMP_BYTES as u64;
        }
        let blob = blob.finish()?;
        assert_eq!(blob.bytes(), self.written, "all of it is written");
        self.engine.commit_blob(self.table, &self.key, (self.store.clone(), blob))
    }
}

impl Write for ValueWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written + bytes.len() as u64 > VALUE_BYTES_MAX {
            return Err(io::Error::other(Error::Invalid(format!(
                "a value of more than {VALUE_BYTES_MAX} bytes"
            ))));
        }
        self.blob.as_mut().expect("there until it is finished").write_all(bytes).map_err(io::Error::other)?;
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A value read in parts, as it was when it was opened.
pub struct ValueReader {
    source: ReadSource,
    /// So many bytes at the end are not the user's.
    hidden: u64,
    position: u64,
}

enum ReadSource {
    Memory(Value),
    /// The value keeps the version alive that the blob belongs to.
    Blob {
        _keeper: Value,
        reader: Box<BlobReader>,
    },
}

impl ValueReader {
    pub(super) fn new(table: TableId, value: Value, hidden: usize) -> Result<Self> {
        let is_blob = value.found().is_some_and(|found| found.record().kind == RecordKind::Blob);
        let source = if is_blob {
            let blob = Engine::decode_blob(&value, table)?;
            let store = value.version().table(table)?.shared.store.clone();
            ReadSource::Blob { _keeper: value, reader: Box::new(BlobReader::new(&store, blob)?) }
        } else {
            ReadSource::Memory(value)
        };
        Ok(Self { source, hidden: hidden as u64, position: 0 })
    }

    /// The value's length in bytes.
    pub fn len(&self) -> u64 {
        let stored = match &self.source {
            ReadSource::Memory(value) => value.len() as u64,
            ReadSource::Blob { reader, .. } => reader.len(),
        };
        stored.saturating_sub(self.hidden)
    }

    /// Whether the value has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Continues reading at `position`.
    pub fn seek_to(&mut self, position: u64) {
        self.position = position.min(self.len());
    }
}

impl Read for ValueReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.len() - self.position;
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let buffer = &mut buffer[..count];
        let count = match &mut self.source {
            ReadSource::Memory(value) => {
                let start = self.position as usize;
                buffer.copy_from_slice(&value[start..start + count]);
                count
            }
            ReadSource::Blob { reader, .. } => {
                reader.read_at(self.position, buffer).map_err(io::Error::other)?
            }
        };
        self.position += count as u64;
        Ok(count)
    }
}
