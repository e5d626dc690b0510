//! Writing a file of postings.

use std::sync::Arc;

use ambo_codec::bitmap::{Bitmap, Positions, gaps::GapWriter};
use ambo_pages::checksum::crc32c;
use ambo_types::{Error, Result};

use super::{
    file::PostingFile,
    leaf::{Apart, INLINE_MAX, LeafKeys, ListForm},
    root::RootEntry,
    trailer::Trailer,
};
use crate::column::segment::SegmentStore;

/// How much is handed to the file at once.
const WRITE_BYTES: usize = 1 << 20;

/// Whose postings they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whose {
    pub(super) segment: u64,
    pub(super) index: u32,
    /// Rows of the segment.
    pub(super) rows: u32,
    /// What the index is over.
    pub(super) columns: u32,
    /// Bytes of a key, if all have so many.
    pub(super) width: u8,
}

/// The bytes of a file, key by key.
pub(super) struct PostingWriter {
    whose: Whose,
    bytes: Vec<u8>,
    root: Vec<RootEntry>,
    texts: Vec<u8>,
    leaf: LeafKeys,
    apart_bytes: u64,
    keys: u64,
    postings: u64,
    aparts: u32,
}

impl PostingWriter {
    pub(super) fn new(whose: Whose) -> Self {
        Self {
            whose,
            bytes: Vec::new(),
            root: Vec::new(),
            texts: Vec::new(),
            leaf: LeafKeys::default(),
            apart_bytes: 0,
            keys: 0,
            postings: 0,
            aparts: 0,
        }
    }

    /// Appends a key that is a number, greater than those before, with its rows, which ascend.
    pub(super) fn push_number(&mut self, key: u64, rows: &[u32]) {
        debug_assert!(self.whose.width > 0, "keys are numbers");
        self.leaf.numbers.push(key);
        self.push_rows(rows);
    }

    /// Appends another key.
    pub(super) fn push_text(&mut self, key: &[u8], rows: &[u32]) {
        debug_assert!(self.whose.width == 0, "keys are no numbers");
        self.leaf.texts.push(key.to_vec());
        self.push_rows(rows);
    }

    fn push_rows(&mut self, rows: &[u32]) {
        debug_assert!(rows.is_sorted_by(|a, b| a < b) && rows.last() < Some(&self.whose.rows));
        match rows.len() as u64 <= INLINE_MAX {
            true => self.leaf.add_list(rows),
            false => self.push_apart(rows),
        }
        if self.leaf.is_full() {
            self.end_leaf();
        }
    }

    /// A list that lies apart, in the smaller of both forms.
    fn push_apart(&mut self, rows: &[u32]) {
        let positions = || rows.iter().map(|row| u64::from(*row));
        let mut gaps = GapWriter::default();
        gaps.push(positions(), rows.len() as u64, self.whose.rows.into());
        let gaps = gaps.finish();
        let mut bitmap = Vec::new();
        Bitmap::from_sorted(positions()).expect("rows ascend").encode(&mut bitmap);
        let (form, list) = match bitmap.len() <= gaps.len() {
            true => (ListForm::Bitmap, bitmap),
            false => (ListForm::Gaps, gaps),
        };
        let len = u32::try_from(list.len()).expect("a list of a segment is small");
        let apart = Apart { form, offset: self.apart_bytes, len, crc: crc32c(&list) };
        self.leaf.add_apart(rows.len() as u64, apart);
        self.apart_bytes += u64::from(len);
        self.bytes.extend_from_slice(&list);
    }

    fn end_leaf(&mut self) {
        let leaf = std::mem::take(&mut self.leaf);
        let encoded = leaf.encode(self.whose.rows.into());
        let key = match leaf.numbers.first() {
            Some(number) => *number,
            None => {
                self.texts.extend_from_slice(&leaf.texts[0]);
                self.texts.len() as u64
            }
        };
        self.root.push(RootEntry {
            at: self.bytes.len() as u64,
            before: self.postings,
            key,
            len: u32::try_from(encoded.len()).expect("a leaf is small"),
            crc: crc32c(&encoded),
            apart: self.aparts,
            keys: u32::try_from(self.keys).expect("a segment has fewer keys"),
        });
        self.bytes.extend_from_slice(&encoded);
        self.apart_bytes = 0;
        self.keys += leaf.len() as u64;
        self.postings += leaf.postings();
        self.aparts += leaf.aparts().len() as u32;
    }

    /// All bytes of the file.
    pub(super) fn finish(mut self, database: u128) -> Result<(Vec<u8>, Trailer)> {
        if self.leaf.len() > 0 {
            self.end_leaf();
        }
        let mut root = Vec::new();
        self.root.iter().for_each(|entry| entry.encode(&mut root));
        root.extend_from_slice(&self.texts);
        let root_len = u32::try_from(root.len());
        let Whose { segment, index, rows, columns, width } = self.whose;
        let trailer = Trailer {
            database,
            segment,
            rows,
            index,
            keys: self.keys,
            postings: self.postings,
            leaves: self.root.len() as u32,
            aparts: self.aparts,
            root_len: root_len.map_err(|_| Error::Invalid("keys of an index of more than 4 GiB".into()))?,
            root_crc: crc32c(&root),
            columns,
            width,
        };
        let mut bytes = self.bytes;
        bytes.extend_from_slice(&root);
        bytes.extend_from_slice(&trailer.encode());
        Ok((bytes, trailer))
    }

    /// Writes and syncs the file. The directory is still to be synced.
    pub(super) fn write(self, store: &Arc<SegmentStore>) -> Result<Arc<PostingFile>> {
        let (bytes, trailer) = self.finish(store.database_id())?;
        let (name, file) = PostingFile::create(store, trailer.segment, trailer.index)?;
        let mut at = 0;
        let written = bytes.chunks(WRITE_BYTES).try_for_each(|piece| {
            file.write_at(piece, at)?;
            at += piece.len() as u64;
            file.start_writeback(at - piece.len() as u64, piece.len() as u64);
            Ok(())
        });
        let unfinished = PostingFile::unfinished(&name);
        let written = written.and_then(|()| file.sync());
        match written.and_then(|()| store.disk().rename(&unfinished, &name)) {
            Ok(()) => Ok(PostingFile::new(store, name, file, bytes.len() as u64, trailer)),
            Err(error) => {
                // What cannot be removed now is swept at the next opening.
                let _ = store.disk().remove(&unfinished);
                Err(Error::io(format!("writing {name}"), error))
            }
        }
    }
}
