//! Encoding groups of rows, beside the thread that gathers them.
//!
//! Gathering rows into columns and encoding columns take about as long, so a segment of several groups is written by two threads. What is
//! written does not depend on that.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use ambo_codec::{
    Error, Result,
    column::{ColumnSlice, Goal, Kind, encode, encode_raw, encode_text, text::TextTable},
};
use ambo_pages::checksum::crc32c;

use super::{directory::BlockEntry, posting::Gatherer, schema::ColumnSchema};
use crate::append::RecordWriter;
use ambo_scan::{Bounds, buffer::ColumnBuffer};

/// Groups that wait to be encoded: they are in memory.
const WAITING_MAX: usize = 2;

/// The encoded part of a column.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) table: Option<TextTable>,
    pub(super) bytes: Vec<u8>,
    /// Offsets are relative to the first block.
    pub(super) blocks: Vec<BlockEntry>,
}

impl Chunk {
    /// Encodes one more block.
    fn push(&mut self, buffer: &ColumnBuffer) -> Result<()> {
        let start = self.bytes.len();
        let values = buffer.slice();
        let summary = match values {
            ColumnSlice::Bytes(strings) => {
                let table = self.table.get_or_insert_with(|| TextTable::train(&strings, Goal::Speed));
                encode_text(strings, buffer.validity(), Goal::Speed, table, &mut self.bytes)?
            }
            _ => encode(values, buffer.validity(), Goal::Speed, &mut self.bytes)?,
        };
        assert_eq!(summary.nulls, buffer.nulls(), "the encoder saw the values that are there");
        let block = &self.bytes[start..];
        self.blocks.push(BlockEntry {
            offset: start as u64,
            len: u32::try_from(block.len()).map_err(|_| Error::invalid("a block of more than 4 GiB"))?,
            crc: crc32c(block),
            nulls: summary.nulls as u32,
            bounds: Bounds::of(Kind::of(buffer.ty()), &summary),
        });
        Ok(())
    }

    /// Notes the heap of a page, and what lies between its bounds, whose values are in records.
    fn push_heap(&mut self, buffer: &ColumnBuffer, heap: Option<Vec<u8>>) -> Result<()> {
        // The summary of a block that is thrown away.
        let summary = encode_raw(buffer.slice(), buffer.validity(), &mut Vec::new())?;
        assert_eq!(summary.nulls, buffer.nulls(), "the encoder saw the values that are there");
        let start = self.bytes.len();
        let mut entry = BlockEntry {
            offset: start as u64,
            len: 0,
            crc: 0,
            nulls: summary.nulls as u32,
            bounds: Bounds::of(Kind::of(buffer.ty()), &summary),
        };
        if let Some(heap) = heap {
            entry.len = u32::try_from(heap.len()).map_err(|_| Error::invalid("a heap of more than 4 GiB"))?;
            entry.crc = crc32c(&heap);
            self.bytes.extend_from_slice(&heap);
        }
        self.blocks.push(entry);
        Ok(())
    }
}

/// What groups are encoded to.
#[derive(Default)]
pub(super) struct Encoded {
    /// A chunk for each column.
    pub(super) chunks: Vec<Chunk>,
    /// The records, where rows are stored as these; chunks have heaps then.
    pub(super) records: Option<RecordWriter>,
    /// The postings of indexes that are in files.
    pub(super) postings: Vec<Gatherer>,
}

impl Encoded {
    /// Nothing yet, of rows of this schema.
    pub(super) fn new(schema: &ColumnSchema) -> Self {
        let chunks = std::iter::repeat_with(Chunk::default).take(schema.types().len()).collect();
        let gatherer = |spec| Gatherer::new(spec, schema.types());
        let postings = schema.indexed().iter().map(gatherer).collect();
        Self { chunks, records: schema.records().map(RecordWriter::new), postings }
    }

    fn push(&mut self, group: &[ColumnBuffer]) -> Result<()> {
        assert_eq!(self.chunks.len(), group.len(), "a chunk for each column");
        let rows = group[0].len();
        assert!(
            rows > 0 && group.iter().all(|buffer| buffer.len() == rows),
            "columns of a group have the same rows"
        );
        for gatherer in &mut self.postings {
            let columns: Vec<_> = gatherer.columns().iter().map(|column| &group[*column]).collect();
            gatherer.push(&columns)?;
        }
        let mut pairs = self.chunks.iter_mut().zip(group);
        let Some(records) = &mut self.records else {
            return pairs.try_for_each(|(chunk, buffer)| chunk.push(buffer));
        };
        let heaps = records.push(group)?;
        pairs.zip(heaps).try_for_each(|((chunk, buffer), heap)| chunk.push_heap(buffer, heap))
    }

    fn bytes(&self) -> usize {
        let chunks = self.chunks.iter().map(|chunk| chunk.bytes.len()).sum::<usize>();
        chunks + self.records.as_ref().map_or(0, RecordWriter::bytes)
    }
}

/// What the encoding thread is told.
enum Message {
    /// Before all others: where to encode to.
    Begin(Encoded),
    Group(Vec<ColumnBuffer>),
}

/// The encoding thread.
struct Worker {
    messages: SyncSender<Message>,
    /// Buffers of groups that are encoded, to be filled again.
    used: Receiver<Vec<ColumnBuffer>>,
    thread: JoinHandle<Result<Encoded>>,
}

/// Where groups are encoded.
enum Destination {
    /// Here: as long as there was none, when no thread can be had, and when none is wanted.
    Here(Encoded),
    Beside(Worker),
    /// Finished, or failed.
    Nowhere,
}

/// Encodes the groups of one segment in their order.
pub(super) struct Encoder {
    place: Destination,
    /// Whether a thread is wanted.
    beside: bool,
    bytes: Arc<AtomicUsize>,
}

impl Encoder {
    /// An encoder of segments of these columns, with a thread of its own for more than one group.
    pub(super) fn beside(schema: &ColumnSchema) -> Self {
        Self::new(Encoded::new(schema), true)
    }

    /// An encoder in the calling thread.
    pub(super) fn here(schema: &ColumnSchema) -> Self {
        Self::new(Encoded::new(schema), false)
    }

    fn new(encoded: Encoded, beside: bool) -> Self {
        Self { place: Destination::Here(encoded), beside, bytes: Arc::default() }
    }

    /// Bytes of blocks so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes a group, and leaves buffers to be filled in its place.
    pub(super) fn push(&mut self, group: &mut Vec<ColumnBuffer>) -> Result<()> {
        self.start();
        match &mut self.place {
            Destination::Here(encoded) => {
                encoded.push(group)?;
                self.bytes.store(encoded.bytes(), Ordering::Relaxed);
                group.iter_mut().for_each(ColumnBuffer::clear);
                Ok(())
            }
            Destination::Beside(worker) => {
                let empty = || group.iter().map(|buffer| ColumnBuffer::new(buffer.ty())).collect();
                let mut next: Vec<_> = worker.used.try_recv().unwrap_or_else(|_| empty());
                next.iter_mut().for_each(ColumnBuffer::clear);
                let full = std::mem::replace(group, next);
                match worker.messages.send(Message::Group(full)) {
                    Ok(()) => Ok(()),
                    // It only stops early with an error, which the end tells.
                    Err(_) => self.finish().map(drop),
                }
            }
            Destination::Nowhere => Err(Error::invalid("a segment goes on after its encoder failed")),
        }
    }

    /// Moves to a thread of its own, if there is one to be had.
    fn start(&mut self) {
        let (true, Destination::Here(encoded)) = (self.beside, &mut self.place) else { return };
        let (messages, waiting) = sync_channel(WAITING_MAX);
        let (give_back, used) = sync_channel(WAITING_MAX);
        let bytes = self.bytes.clone();
        let work = move || work(&waiting, &give_back, &bytes);
        let Ok(thread) = std::thread::Builder::new().name("ambo-encode".into()).spawn(work) else { return };
        if messages.send(Message::Begin(std::mem::take(encoded))).is_ok() {
            self.place = Destination::Beside(Worker { messages, used, thread });
        }
    }

    /// Takes the last group, and gives all of it.
    pub(super) fn finish_with(&mut self, last: &[ColumnBuffer]) -> Result<Encoded> {
        let mut encoded = self.finish()?;
        if !last[0].is_empty() {
            encoded.push(last)?;
        }
        Ok(encoded)
    }

    fn finish(&mut self) -> Result<Encoded> {
        match std::mem::replace(&mut self.place, Destination::Nowhere) {
            Destination::Here(encoded) => Ok(encoded),
            Destination::Beside(Worker { messages, used, thread }) => {
                drop((messages, used));
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            Destination::Nowhere => Err(Error::invalid("a segment is finished after its encoder failed")),
        }
    }
}

/// What the thread does until nobody sends any more.
fn work(
    messages: &Receiver<Message>,
    give_back: &SyncSender<Vec<ColumnBuffer>>,
    bytes: &AtomicUsize,
) -> Result<Encoded> {
    let mut encoded = Encoded::default();
    for message in messages {
        match message {
            Message::Begin(begun) => encoded = begun,
            Message::Group(group) => {
                encoded.push(&group)?;
                bytes.store(encoded.bytes(), Ordering::Relaxed);
                // Buffers that nobody waits for are dropped.
                let _ = give_back.try_send(group);
            }
        }
    }
    Ok(encoded)
}

impl Drop for Encoder {
    fn drop(&mut self) {
        if let Destination::Beside(Worker { messages, used, thread }) =
            std::mem::replace(&mut self.place, Destination::Nowhere)
        {
            // Nobody takes what it still encodes, but the thread ends first.
            drop((messages, used));
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use ambo_codec::{Type, ValueRef};
    use ambo_types::TableDefinition;

    use super::*;

    fn schema() -> ColumnSchema {
        let table = TableDefinition::new("t").column("key", Type::I64).column("text", Type::Utf8);
        ColumnSchema::new(&table.primary_key(&["key"])).unwrap()
    }

    fn group(from: i64, rows: i64) -> Vec<ColumnBuffer> {
        let mut group = vec![ColumnBuffer::new(Type::I64), ColumnBuffer::new(Type::Utf8)];
        for row in from..from + rows {
            group[0].push(ValueRef::I64(row * 7)).unwrap();
            group[1].push(ValueRef::Utf8(["a", "bc", "def"][row as usize % 3])).unwrap();
        }
        group
    }

    /// Keeps away: bytes that depend on which thread wrote them, groups that are lost or out of order, and buffers that come back with
    /// rows.
    #[test]
    fn a_thread_writes_the_same() {
        let groups = [(0, 1000), (1000, 3000), (4000, 1), (4001, 5000), (9001, 10)];
        let schema = schema();
        let mut here = Encoded::new(&schema);
        let mut encoder = Encoder::beside(&schema);
        for (from, rows) in &groups[..4] {
            let mut full = group(*from, *rows);
            here.push(&full).unwrap();
            encoder.push(&mut full).unwrap();
            assert!(full.iter().all(ColumnBuffer::is_empty));
        }
        let last = group(groups[4].0, groups[4].1);
        here.push(&last).unwrap();
        let beside = encoder.finish_with(&last).unwrap();
        for (here, beside) in here.chunks.iter().zip(&beside.chunks) {
            assert_eq!((&here.bytes, &here.blocks), (&beside.bytes, &beside.blocks));
        }
        assert!(encoder.push(&mut group(0, 1)).is_err(), "it goes on after its end");
        // Nobody waits for one that is dropped.
        let mut dropped = Encoder::beside(&schema);
        dropped.push(&mut group(0, 1000)).unwrap();
    }
}
