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
    column::{ColumnSlice, Goal, Kind, encode, encode_text, text::TextTable},
};
use ambo_pages::checksum::crc32c;

use super::directory::BlockEntry;
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
}

fn push_all(chunks: &mut [Chunk], group: &[ColumnBuffer]) -> Result<()> {
    assert_eq!(chunks.len(), group.len(), "a chunk for each column");
    let rows = group[0].len();
    assert!(
        rows > 0 && group.iter().all(|buffer| buffer.len() == rows),
        "columns of a group have the same rows"
    );
    chunks.iter_mut().zip(group).try_for_each(|(chunk, buffer)| chunk.push(buffer))
}

/// What the encoding thread is told.
enum Message {
    /// Before all others: where to encode to.
    Begin(Vec<Chunk>),
    Group(Vec<ColumnBuffer>),
}

/// The encoding thread.
struct Worker {
    messages: SyncSender<Message>,
    /// Buffers of groups that are encoded, to be filled again.
    used: Receiver<Vec<ColumnBuffer>>,
    thread: JoinHandle<Result<Vec<Chunk>>>,
}

/// Where groups are encoded.
enum Destination {
    /// Here: as long as there was none, when no thread can be had, and when none is wanted.
    Here(Vec<Chunk>),
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
    /// An encoder of segments of so many columns, with a thread of its own for more than one group.
    pub(super) fn beside(columns: usize) -> Self {
        Self::new(columns, true)
    }

    /// An encoder in the calling thread.
    pub(super) fn here(columns: usize) -> Self {
        Self::new(columns, false)
    }

    fn new(columns: usize, beside: bool) -> Self {
        let chunks = std::iter::repeat_with(Chunk::default).take(columns).collect();
        Self { place: Destination::Here(chunks), beside, bytes: Arc::default() }
    }

    /// Bytes of blocks so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes a group, and leaves buffers to be filled in its place.
    pub(super) fn push(&mut self, group: &mut Vec<ColumnBuffer>) -> Result<()> {
        self.start();
        match &mut self.place {
            Destination::Here(chunks) => {
                push_all(chunks, group)?;
                self.bytes.store(bytes_of(chunks), Ordering::Relaxed);
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
        let (true, Destination::Here(chunks)) = (self.beside, &mut self.place) else { return };
        let (messages, waiting) = sync_channel(WAITING_MAX);
        let (give_back, used) = sync_channel(WAITING_MAX);
        let bytes = self.bytes.clone();
        let work = move || work(&waiting, &give_back, &bytes);
        let Ok(thread) = std::thread::Builder::new().name("ambo-encode".into()).spawn(work) else { return };
        if messages.send(Message::Begin(std::mem::take(chunks))).is_ok() {
            self.place = Destination::Beside(Worker { messages, used, thread });
        }
    }

    /// Takes the last group, and gives all of it.
    pub(super) fn finish_with(&mut self, last: &[ColumnBuffer]) -> Result<Vec<Chunk>> {
        let mut chunks = self.finish()?;
        if !last[0].is_empty() {
            push_all(&mut chunks, last)?;
        }
        Ok(chunks)
    }

    fn finish(&mut self) -> Result<Vec<Chunk>> {
        match std::mem::replace(&mut self.place, Destination::Nowhere) {
            Destination::Here(chunks) => Ok(chunks),
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
) -> Result<Vec<Chunk>> {
    let mut chunks = Vec::new();
    for message in messages {
        match message {
            Message::Begin(begun) => chunks = begun,
            Message::Group(group) => {
                push_all(&mut chunks, &group)?;
                bytes.store(bytes_of(&chunks), Ordering::Relaxed);
                // Buffers that nobody waits for are dropped.
                let _ = give_back.try_send(group);
            }
        }
    }
    Ok(chunks)
}

fn bytes_of(chunks: &[Chunk]) -> usize {
    chunks.iter().map(|chunk| chunk.bytes.len()).sum()
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

    use super::*;

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
        let mut here: Vec<Chunk> = vec![Chunk::default(), Chunk::default()];
        let mut encoder = Encoder::beside(2);
        for (from, rows) in &groups[..4] {
            let mut full = group(*from, *rows);
            push_all(&mut here, &full).unwrap();
            encoder.push(&mut full).unwrap();
            assert!(full.iter().all(ColumnBuffer::is_empty));
        }
        let last = group(groups[4].0, groups[4].1);
        push_all(&mut here, &last).unwrap();
        let beside = encoder.finish_with(&last).unwrap();
        for (here, beside) in here.iter().zip(&beside) {
            assert_eq!((&here.bytes, &here.blocks), (&beside.bytes, &beside.blocks));
        }
        assert!(encoder.push(&mut group(0, 1)).is_err(), "it goes on after its end");
        // Nobody waits for one that is dropped.
        let mut dropped = Encoder::beside(2);
        dropped.push(&mut group(0, 1000)).unwrap();
    }
}
