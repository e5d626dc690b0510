//! Writing a segment: rows in key order, gathered into groups, encoded column by column.

use std::sync::Arc;

use ambo_pages::{checksum::crc32c, io::File};
use ambo_types::{Error, Result};
use smallvec::SmallVec;

use super::{
    directory::{self, BlockEntry, ColumnEntry, Directory, HEADER_BYTES, SEGMENT_ROWS_MAX, TableEntry},
    encoder::{Chunk, Encoded, Encoder},
    posting::{Gatherer, PostingFile},
    schema::ColumnSchema,
    segment::{Segment, SegmentStore},
};
use crate::append::{Head, Records};
use ambo_scan::{buffer::ColumnBuffer, stretch::Stretch};

/// Rows of a group, if they are not very long.
pub(super) const GROUP_ROWS: usize = 8 << 10;
/// A group ends before it has more text than this in a column, unless a single row has more.
const GROUP_TEXT_BYTES: usize = 4 << 20;
/// A segment ends when its blocks have so many bytes: they are in memory until then.
const SEGMENT_BYTES: usize = 256 << 20;
/// How much is handed to the file at once.
const WRITE_BYTES: usize = 1 << 20;

/// Which thread encodes the groups of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Encoding {
    /// One of its own, as soon as there is a whole group: where one thread has all the rows.
    Beside,
    /// The one that brings the rows: where there are several.
    Here,
}

/// Writes one segment.
pub(super) struct SegmentWriter {
    store: Arc<SegmentStore>,
    schema: Arc<ColumnSchema>,
    /// The group that is being gathered.
    group: Vec<ColumnBuffer>,
    encoder: Encoder,
    group_rows: Vec<u32>,
    fences: Vec<Box<[u8]>>,
    last_key: Vec<u8>,
    rows: usize,
    bytes_max: usize,
    /// The most rows of a group.
    rows_max: usize,
}

impl SegmentWriter {
    /// A writer of a new segment; its file is created when it is finished.
    pub(super) fn new(store: &Arc<SegmentStore>, schema: &Arc<ColumnSchema>, encoding: Encoding) -> Self {
        Self {
            store: store.clone(),
            group: schema.buffers(),
            encoder: match encoding {
                Encoding::Beside => Encoder::beside(schema),
                Encoding::Here => Encoder::here(schema),
            },
            schema: schema.clone(),
            group_rows: Vec::new(),
            fences: Vec::new(),
            last_key: Vec::new(),
            rows: 0,
            bytes_max: SEGMENT_BYTES,
            rows_max: schema.records().map_or(GROUP_ROWS, |records| records.page_rows()),
        }
    }

    /// The same, ending when its blocks have so many bytes.
    pub(super) fn at_most(mut self, bytes: usize) -> Self {
        self.bytes_max = self.bytes_max.min(bytes);
        self
    }

    /// Rows so far.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the segment has as much as one should have.
    pub(super) fn is_full(&self) -> bool {
        self.rows == SEGMENT_ROWS_MAX || self.encoder.bytes() >= self.bytes_max
    }

    /// Appends a row, greater than those before. REQUIRES: the segment is not full.
    pub(super) fn push(&mut self, key: &[u8], record: &[u8]) -> Result<()> {
        debug_assert!(self.rows == 0 || *self.key_so_far() < *key, "rows come in key order");
        if self.group_is_full(key.len() + record.len()) {
            self.end_group()?;
        }
        self.schema.push(key, record, &mut self.group).map_err(|error| {
            Error::Invalid(format!("a row that its table's columns cannot hold: {error}"))
        })?;
        self.rows += 1;
        Ok(())
    }

    /// Appends rows that are columns already, from `buffers`, greater than those before. As many as fit the group; returns how
    /// many. REQUIRES: the segment is not full.
    pub(super) fn append(&mut self, buffers: &[ColumnBuffer], rows: std::ops::Range<usize>) -> Result<usize> {
        let room = self.room(&[buffers])?;
        let rows = rows.start..rows.end.min(rows.start + room);
        assert_eq!(buffers.len(), self.group.len(), "all stored columns come");
        for (to, from) in self.group.iter_mut().zip(buffers) {
            to.append(from, rows.clone()).map_err(unstorable)?;
        }
        self.rows += rows.len();
        Ok(rows.len())
    }

    /// As [`Self::append`], of rows of `buffers` in this order.
    pub(super) fn gather(&mut self, buffers: &[ColumnBuffer], rows: &[u32]) -> Result<usize> {
        let room = self.room(&[buffers])?;
        let rows = &rows[..rows.len().min(room)];
        assert_eq!(buffers.len(), self.group.len(), "all stored columns come");
        for (to, from) in self.group.iter_mut().zip(buffers) {
            to.gather(from, rows).map_err(unstorable)?;
        }
        self.rows += rows.len();
        Ok(rows.len())
    }

    /// As [`Self::append`], of rows of several sources. REQUIRES: there is [room](Self::room) for them.
    pub(super) fn append_stretches(
        &mut self,
        sources: &[&[ColumnBuffer]],
        stretches: &[Stretch],
    ) -> Result<()> {
        for (column, to) in self.group.iter_mut().enumerate() {
            let from: SmallVec<[_; 8]> = sources.iter().map(|buffers| &buffers[column]).collect();
            to.append_stretches(&from, stretches).map_err(unstorable)?;
        }
        self.rows += stretches.iter().map(Stretch::count).sum::<usize>();
        assert!(
            self.group[0].len() <= self.rows_max && self.rows <= SEGMENT_ROWS_MAX,
            "there was room for them"
        );
        Ok(())
    }

    /// How many rows like those of `sources` the group takes, a new one if the last is full. REQUIRES: the segment is not full.
    pub(super) fn room(&mut self, sources: &[&[ColumnBuffer]]) -> Result<usize> {
        let average = |buffers: &&[ColumnBuffer]| {
            let text = buffers.iter().map(ColumnBuffer::data_bytes).max().unwrap_or(0);
            text / buffers[0].len().max(1)
        };
        let average = sources.iter().map(average).max().unwrap_or(0);
        if self.group_is_full(average) {
            self.end_group()?;
        }
        let room = (self.rows_max - self.group[0].len()).min(SEGMENT_ROWS_MAX - self.rows);
        let by_text = GROUP_TEXT_BYTES.checked_div(average).unwrap_or(room).max(1);
        let room = room.min(by_text);
        assert!(room > 0, "a segment that is not full takes a row");
        Ok(room)
    }

    fn group_is_full(&self, more_text: usize) -> bool {
        let gathered = self.group[0].len();
        let text = self.group.iter().map(ColumnBuffer::data_bytes).max().unwrap_or(0);
        gathered == self.rows_max || gathered > 0 && text + more_text > GROUP_TEXT_BYTES
    }

    /// The key of the last row; for assertions.
    fn key_so_far(&self) -> Vec<u8> {
        let mut key = Vec::new();
        match self.group[0].len() {
            0 => key.clone_from(&self.last_key),
            rows => self.schema.key_of(&self.group, rows - 1, &mut key).expect("what was pushed"),
        }
        key
    }

    /// Has the group encoded.
    fn end_group(&mut self) -> Result<()> {
        self.note_group()?;
        self.encoder.push(&mut self.group).map_err(unstorable)
    }

    /// Notes the rows and the keys of the group, which is not empty.
    fn note_group(&mut self) -> Result<()> {
        let rows = self.group[0].len();
        debug_assert!(
            self.group.iter().all(|buffer| buffer.len() == rows),
            "columns of a group have the same rows"
        );
        let mut fence = Vec::new();
        self.schema.key_of(&self.group, 0, &mut fence).map_err(unstorable)?;
        self.last_key.clear();
        self.schema.key_of(&self.group, rows - 1, &mut self.last_key).map_err(unstorable)?;
        self.group_rows.push(rows as u32);
        self.fences.push(fence.into());
        Ok(())
    }

    /// Writes and syncs the file. The directory is still to be synced ([`SegmentStore::sync_directory`]), and the segment to be kept
    /// ([`Segment::keep`]). REQUIRES: there are rows.
    pub(super) fn finish(mut self) -> Result<Arc<Segment>> {
        if !self.group[0].is_empty() {
            self.note_group()?;
        }
        let noted = self.group_rows.iter().map(|rows| *rows as usize).sum::<usize>();
        assert!(noted > 0 && noted == self.rows, "each row is in a group");
        let encoded = self.encoder.finish_with(&self.group).map_err(unstorable)?;
        let (id, file) = self.store.create()?;
        // From here on the file goes if anything fails.
        let mut orphan = Orphan { store: self.store.clone(), id: Some(id) };
        let written = self.write(id, encoded, &*file);
        let Written { directory, records, bytes, postings } = written.map_err(|error| match error {
            WriteError::Io(error) => Error::io(format!("writing {}", SegmentStore::name(id)), error),
            WriteError::Other(error) => error,
        })?;
        let mut files: Vec<Arc<PostingFile>> = Vec::new();
        for gathered in postings {
            match gathered.write(&self.store, id) {
                Ok(file) => files.push(file),
                Err(error) => {
                    files.iter().for_each(|file| file.discard());
                    return Err(error);
                }
            }
        }
        orphan.id = None;
        drop(orphan);
        let segment = Segment::new(self.store.clone(), id, file, bytes, directory, records);
        files.into_iter().for_each(|file| segment.postings_files().attach(file));
        Ok(Arc::new(segment))
    }

    fn write(&mut self, id: u64, encoded: Encoded, file: &dyn File) -> Result<Written, WriteError> {
        let Encoded { chunks, records, postings } = encoded;
        let mut out = FileWriter { file, at: 0, pending: Vec::new() };
        let head = match records {
            None => {
                out.put(&directory::header(id, self.store.database()))?;
                debug_assert_eq!(out.offset(), HEADER_BYTES as u64);
                None
            }
            Some(records) => {
                let (bytes, head) = records.finish(&self.group_rows);
                out.put_all(&bytes)?;
                assert_eq!(out.offset(), head.records_end(), "a record is found by multiplication");
                Some(head)
            }
        };
        let columns = self.write_chunks(chunks, &mut out)?;
        let mut fences = std::mem::take(&mut self.fences);
        fences.push(self.last_key.as_slice().into());
        let mut directory = Directory::new(&self.group_rows, columns, fences);
        let magic = if head.is_some() { directory::EXTENT_END } else { directory::SEGMENT_END };
        let mut encoded = head.as_ref().map_or(Vec::new(), |head| head.encode(self.store.database()));
        encoded.extend_from_slice(&directory.encode());
        if let Some(head) = &head {
            head.fill(&mut directory).expect("only texts have heaps");
            debug_assert_eq!(
                Head::decode(&encoded, self.store.database(), out.offset()).as_ref(),
                Ok(&(head.clone(), directory.clone()))
            );
        } else {
            debug_assert_eq!(Directory::decode(&encoded, out.offset()).as_ref(), Ok(&directory));
        }
        if u32::try_from(encoded.len()).is_err() {
            return Err(WriteError::Other(Error::Invalid("keys of more than 4 GiB in one segment".into())));
        }
        out.put(&encoded)?;
        out.put(&directory::trailer(magic, id, &encoded))?;
        let bytes = out.offset();
        out.flush()?;
        file.sync()?;
        Ok(Written { directory, records: head.map(Records::new), bytes, postings })
    }

    fn write_chunks(
        &self,
        chunks: Vec<Chunk>,
        out: &mut FileWriter<'_>,
    ) -> Result<Vec<ColumnEntry>, WriteError> {
        assert_eq!(chunks.len(), self.schema.types().len(), "each column was encoded");
        let mut columns = Vec::with_capacity(chunks.len());
        for (chunk, ty) in chunks.into_iter().zip(self.schema.types()) {
            let table = match &chunk.table {
                Some(table) => {
                    let bytes = table.bytes();
                    let len = u32::try_from(bytes.len()).expect("tables are small");
                    let entry = TableEntry { offset: out.offset(), len, crc: crc32c(bytes) };
                    out.put(bytes)?;
                    Some(entry)
                }
                None => None,
            };
            let first = out.offset();
            out.put(&chunk.bytes)?;
            let moved = |block: BlockEntry| BlockEntry { offset: first + block.offset, ..block };
            let blocks = chunk.blocks.into_iter().map(moved).collect();
            columns.push(ColumnEntry { ty: *ty, table, blocks });
        }
        debug_assert!(
            columns
                .iter()
                .flat_map(|column: &ColumnEntry| &column.blocks)
                .is_sorted_by(|one, next| one.offset + u64::from(one.len) <= next.offset),
            "blocks lie one behind the other"
        );
        Ok(columns)
    }
}

/// What was written to a file.
struct Written {
    directory: Directory,
    records: Option<Records>,
    bytes: u64,
    postings: Vec<Gatherer>,
}

fn unstorable(error: ambo_codec::Error) -> Error {
    Error::Invalid(error.to_string())
}

enum WriteError {
    Io(std::io::Error),
    Other(Error),
}

impl From<std::io::Error> for WriteError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// Removes the file of a segment that was not finished.
struct Orphan {
    store: Arc<SegmentStore>,
    id: Option<u64>,
}

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let _ = self.store.remove(id);
        }
    }
}

/// Writes in large pieces.
struct FileWriter<'f> {
    file: &'f dyn File,
    /// Bytes written.
    at: u64,
    pending: Vec<u8>,
}

impl FileWriter<'_> {
    fn offset(&self) -> u64 {
        self.at + self.pending.len() as u64
    }

    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    /// As [`FileWriter::put`], of many bytes, which are not copied.
    fn put_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.flush()?;
        for piece in bytes.chunks(WRITE_BYTES) {
            self.file.write_at(piece, self.at)?;
            self.file.start_writeback(self.at, piece.len() as u64);
            self.at += piece.len() as u64;
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.write_at(&self.pending, self.at)?;
        self.file.start_writeback(self.at, self.pending.len() as u64);
        self.at += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}
