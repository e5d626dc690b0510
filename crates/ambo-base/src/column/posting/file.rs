//! A file of postings that is there.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ambo_codec::bitmap::{Bitmap, BitmapRef, Positions, gaps::GapReader};
use ambo_pages::{
    checksum::crc32c,
    io::{File, OpenMode, read_failed},
    page::Access,
};
use ambo_types::{Error, Result, id::TableId};

use super::{
    keys,
    leaf::{Apart, INLINE_MAX, Keys, Leaf, ListForm},
    root::{Root, RootBounds},
    trailer::{TRAILER_BYTES, Trailer},
};
use crate::column::{cache::Slots, segment::SegmentStore};

const PREFIX: &str = "posting-";
const UNFINISHED: &str = "new-";

/// See the module.
pub(in crate::column) struct PostingFile {
    store: Arc<SegmentStore>,
    name: String,
    file: Arc<dyn File>,
    file_bytes: u64,
    trailer: Trailer,
    /// The root, the leaves, the lists that lie apart, in the cache.
    slots: Arc<Slots>,
    /// Whether its file goes when it is dropped.
    discarded: AtomicBool,
}

/// A place between keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::column) struct Place {
    leaf: usize,
    key: usize,
    /// Keys before it.
    pub(in crate::column) keys: u64,
    /// Postings before it.
    pub(in crate::column) postings: u64,
}

impl PostingFile {
    /// The name of the file of a segment and an index.
    pub(super) fn name_of(segment: u64, index: u32) -> String {
        format!("{PREFIX}{segment:016x}-{index:08x}")
    }

    /// The name of a file that is not whole yet: readers in other processes look for whole ones only.
    pub(super) fn unfinished(name: &str) -> String {
        format!("{UNFINISHED}{name}")
    }

    /// Whether a file was begun and not finished.
    pub(super) fn is_unfinished(name: &str) -> bool {
        name.strip_prefix(UNFINISHED).and_then(Self::ids_of).is_some()
    }

    /// The segment and the index of a file.
    pub(super) fn ids_of(name: &str) -> Option<(u64, u32)> {
        let (segment, index) = name.strip_prefix(PREFIX)?.split_once('-')?;
        let fits = segment.len() == 16 && index.len() == 8;
        let ids = || Some((u64::from_str_radix(segment, 16).ok()?, u32::from_str_radix(index, 16).ok()?));
        fits.then(ids)?
    }

    /// Begins a file, under a name that it has until it is whole. What is left of one that was not finished goes.
    pub(super) fn create(store: &SegmentStore, segment: u64, index: u32) -> Result<(String, Arc<dyn File>)> {
        let name = Self::name_of(segment, index);
        let file = store.disk().open(&Self::unfinished(&name), OpenMode::Create);
        let file = file.map_err(|error| Error::io(format!("creating {name}"), error))?;
        Ok((name, file))
    }

    pub(super) fn new(
        store: &Arc<SegmentStore>,
        name: String,
        file: Arc<dyn File>,
        file_bytes: u64,
        trailer: Trailer,
    ) -> Arc<Self> {
        let parts = 1 + trailer.leaves as usize + trailer.aparts as usize;
        let slots = Slots::new(trailer.segment ^ u64::from(trailer.index) << 32, parts, store.memory());
        let discarded = AtomicBool::new(false);
        Arc::new(Self { store: store.clone(), name, file, file_bytes, trailer, slots, discarded })
    }

    /// The file of a segment of so many rows and of an index over columns with this fingerprint; none if there is no such file.
    pub(super) fn open(
        store: &Arc<SegmentStore>,
        (segment, rows): (u64, u32),
        (index, columns, width): (u32, u32, u8),
    ) -> Result<Option<Arc<Self>>> {
        let name = Self::name_of(segment, index);
        let file = match store.disk().open(&name, OpenMode::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| Error::io(format!("opening {name}"), error))?,
        };
        let len = file.len().map_err(|error| Error::io(format!("reading {name}"), error))?;
        let damaged = |at: u64, what: String| Error::damaged(name.clone(), at, what);
        let Some(at) = len.checked_sub(TRAILER_BYTES as u64) else {
            return Err(damaged(len, "it is shorter than its trailer".into()));
        };
        let mut bytes = [0; TRAILER_BYTES];
        file.read_at(&mut bytes, at).map_err(|error| read_failed(&name, at, error))?;
        let trailer = Trailer::decode(&bytes).map_err(|what| damaged(at, what))?;
        let wanted = (store.database_id(), segment, rows, index, columns, width);
        let Trailer { database, .. } = trailer;
        let found = (database, trailer.segment, trailer.rows, trailer.index, trailer.columns, trailer.width);
        if found != wanted || u64::from(trailer.root_len) > at {
            return Err(damaged(at, "it is of another segment or index".into()));
        }
        if !trailer.is_possible(at) {
            return Err(damaged(at, "it says of what is in it what cannot be".into()));
        }
        Ok(Some(Self::new(store, name, file, len, trailer)))
    }

    pub(in crate::column) fn index(&self) -> TableId {
        TableId(self.trailer.index)
    }

    /// Bytes of a key, if all have so many; otherwise zero.
    pub(super) fn width(&self) -> u8 {
        self.trailer.width
    }

    pub(in crate::column) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of its file.
    pub(in crate::column) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Different keys.
    pub(in crate::column) fn keys(&self) -> u64 {
        self.trailer.keys
    }

    /// Rows of its segment.
    pub(super) fn rows(&self) -> u32 {
        self.trailer.rows
    }

    /// Rows of all keys together.
    pub(in crate::column) fn postings(&self) -> u64 {
        self.trailer.postings
    }

    /// Nobody asks for it any more: its file goes with its last reader.
    pub(in crate::column) fn discard(&self) {
        self.discarded.store(true, Ordering::Release);
    }

    pub(super) fn damaged(&self, offset: u64, what: impl std::fmt::Display) -> Error {
        Error::damaged(self.name.clone(), offset, what.to_string())
    }

    fn load(&self, at: u64, len: u32, crc: u32) -> Result<Arc<[u8]>> {
        let mut bytes = vec![0; len as usize];
        if at + u64::from(len) > self.file_bytes {
            return Err(self.damaged(at, "a part that ends behind the file"));
        }
        self.file.read_at(&mut bytes, at).map_err(|error| read_failed(&self.name, at, error))?;
        match crc32c(&bytes) == crc {
            true => Ok(bytes.into()),
            false => Err(self.damaged(at, "the checksum of postings is wrong")),
        }
    }

    fn keep_or(&self, number: usize, load: impl FnOnce() -> Result<Arc<[u8]>>) -> Result<Arc<[u8]>> {
        self.store.cache().read(&self.slots, number as u32, Access::Point, load)
    }

    fn is_numbers(&self) -> bool {
        self.trailer.width > 0
    }

    fn root_at(&self) -> u64 {
        self.file_bytes - TRAILER_BYTES as u64 - u64::from(self.trailer.root_len)
    }

    fn root(&self) -> Result<Arc<[u8]>> {
        let at = self.root_at();
        self.keep_or(0, || {
            let bytes = self.load(at, self.trailer.root_len, self.trailer.root_crc)?;
            let Trailer { leaves, aparts, keys, postings, .. } = self.trailer;
            let bounds = RootBounds { leaves, aparts, keys, postings, at, is_numbers: self.is_numbers() };
            Root::check(&bytes, &bounds).map_err(|what| self.damaged(at, what))?;
            Ok(bytes)
        })
    }

    fn parse_root<'a>(&self, bytes: &'a [u8]) -> Root<'a> {
        Root::new(bytes, self.trailer.leaves, self.is_numbers())
    }

    fn with_leaf<R>(
        &self,
        root: &Root<'_>,
        leaf: usize,
        then: impl FnOnce(&Leaf<'_>) -> Result<R>,
    ) -> Result<R> {
        let entry = root.entry(leaf);
        let bytes = self.keep_or(1 + leaf, || self.load(entry.at, entry.len, entry.crc))?;
        let parsed = Leaf::parse(&bytes, root.number(leaf), self.trailer.rows.into());
        let parsed = parsed.map_err(|what| self.damaged(entry.at, what))?;
        let (keys, postings) = match leaf + 1 < root.len() {
            true => (root.entry(leaf + 1).keys.into(), root.entry(leaf + 1).before),
            false => (self.trailer.keys, self.trailer.postings),
        };
        let of_root = (keys - u64::from(entry.keys), postings - entry.before);
        let last = parsed.len() - 1;
        if of_root != (parsed.len() as u64, parsed.before(last) + parsed.count(last))
            || !root.is_before_next(leaf, parsed.key(last))
        {
            return Err(self.damaged(entry.at, "a leaf of other keys than the root says"));
        }
        then(&parsed)
    }

    /// The place before the first key that is at least `key`, or greater.
    pub(super) fn seek(&self, key: &[u8], greater: bool) -> Result<Place> {
        if self.is_numbers() && key.len() != usize::from(self.trailer.width) {
            return Err(Error::Invalid(format!("a key of {} bytes asked of {}", key.len(), self.name)));
        }
        if self.trailer.leaves == 0 {
            return Ok(self.first());
        }
        let bytes = self.root()?;
        let root = self.parse_root(&bytes);
        let leaf = root.leaf_of(key);
        let entry = root.entry(leaf);
        self.with_leaf(&root, leaf, |found| {
            let key = found.seek(key, greater);
            let (keys, postings) = (u64::from(entry.keys) + key as u64, entry.before + found.before(key));
            Ok(Place { leaf, key, keys, postings })
        })
    }

    /// The place before all keys.
    pub(super) fn first(&self) -> Place {
        Place { leaf: 0, key: 0, keys: 0, postings: 0 }
    }

    /// The place behind all keys.
    pub(super) fn last(&self) -> Place {
        let Trailer { leaves, keys, postings, .. } = self.trailer;
        Place { leaf: leaves as usize, key: 0, keys, postings }
    }

    /// Calls `each` with the leaves between two places, and which of their keys lie between them.
    pub(super) fn leaves(
        &self,
        (from, to): (Place, Place),
        mut each: impl FnMut(&Root<'_>, usize, &Leaf<'_>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        if from.keys >= to.keys {
            return Ok(());
        }
        let bytes = self.root()?;
        let root = self.parse_root(&bytes);
        for number in from.leaf..root.len().min(to.leaf + 1) {
            self.with_leaf(&root, number, |leaf| {
                let start = if number == from.leaf { from.key } else { 0 };
                let end = if number == to.leaf { to.key.min(leaf.len()) } else { leaf.len() };
                if start < end { each(&root, number, leaf, start..end) } else { Ok(()) }
            })?;
        }
        Ok(())
    }

    /// Calls `then` with the leaf of a key, by how many are before it, and its place there.
    pub(super) fn with_key<R>(
        &self,
        key: u64,
        then: impl FnOnce(&Leaf<'_>, usize) -> std::result::Result<R, String>,
    ) -> Result<R> {
        let bytes = self.root()?;
        let root = self.parse_root(&bytes);
        let leaf = root.leaf_of_nth(key);
        let entry = root.entry(leaf);
        self.with_leaf(&root, leaf, |found| {
            let place = (key - u64::from(entry.keys)) as usize;
            let found =
                if place < found.len() { then(found, place) } else { Err("a leaf of fewer keys".into()) };
            found.map_err(|what| self.damaged(entry.at, what))
        })
    }

    /// Postings of the keys between two places that are not in bitmaps.
    pub(super) fn gaps_between(&self, between: (Place, Place)) -> Result<u64> {
        let mut gaps = 0;
        self.leaves(between, |_, _, leaf, keys| {
            let is_bitmap = |apart: &Apart| apart.form == ListForm::Bitmap;
            let mut aparts = leaf.apart.iter();
            for key in 0..keys.end {
                let count = leaf.count(key);
                let apart = if count > INLINE_MAX { aparts.next() } else { None };
                if key >= keys.start && !apart.is_some_and(is_bitmap) {
                    gaps += count;
                }
            }
            Ok(())
        })?;
        Ok(gaps)
    }

    /// The rows of the keys between two places.
    pub(super) fn rows_between(&self, between: (Place, Place)) -> Result<Bitmap> {
        let mut few: Vec<u64> = Vec::new();
        let mut many: Vec<Bitmap> = Vec::new();
        self.leaves(between, |root, number, leaf, keys| {
            let read = leaf.rows(keys.clone(), |_, row| few.push(row));
            read.map_err(|what| self.damaged(root.entry(number).at, what))?;
            self.aparts(root, number, leaf, keys, |_, rows| {
                many.push(rows);
                Ok(())
            })
        })?;
        // A row may stand under several keys.
        few.sort_unstable();
        few.dedup();
        let few = Bitmap::from_sorted(few).expect("sorted");
        if many.is_empty() {
            return Ok(few);
        }
        many.push(few);
        Ok(Bitmap::union(&many))
    }

    /// Calls `each` with those keys of a leaf whose lists lie apart, and their rows.
    fn aparts(
        &self,
        root: &Root<'_>,
        number: usize,
        leaf: &Leaf<'_>,
        keys: Range<usize>,
        mut each: impl FnMut(usize, Bitmap) -> Result<()>,
    ) -> Result<()> {
        let mut aparts = leaf.apart.iter().enumerate();
        for key in 0..keys.end {
            if leaf.count(key) <= INLINE_MAX {
                continue;
            }
            let (nth, apart) = aparts.next().expect("an entry for each list that lies apart");
            if key >= keys.start {
                let slot = 1 + root.len() + root.entry(number).apart as usize + nth;
                if slot > self.trailer.leaves as usize + self.trailer.aparts as usize {
                    return Err(self.damaged(root.entry(number).at, "more lists than the trailer says"));
                }
                let at = root.lists_at(number) + apart.offset;
                each(key, self.apart(slot, at, apart, leaf.count(key))?)?;
            }
        }
        Ok(())
    }

    fn apart(&self, slot: usize, at: u64, apart: &Apart, count: u64) -> Result<Bitmap> {
        let bytes = self.keep_or(slot, || self.load(at, apart.len, apart.crc))?;
        let rows = u64::from(self.trailer.rows);
        let found = match apart.form {
            ListForm::Bitmap => BitmapRef::parse(&bytes).and_then(|set| {
                set.check()?;
                Ok(set.to_bitmap())
            }),
            ListForm::Gaps => {
                let mut positions = Vec::with_capacity(count.min(rows) as usize);
                let read = GapReader::new(&bytes).read(count, rows, |row| positions.push(row));
                read.and_then(|()| Bitmap::from_sorted(positions))
            }
        };
        let found = found.map_err(|error| self.damaged(at, error))?;
        match found.cardinality() == count && found.last() < Some(rows) {
            true => Ok(found),
            false => Err(self.damaged(at, "a list with other rows than its leaf says")),
        }
    }

    /// Calls `each` with the keys in their order, and the rows of each.
    pub(super) fn each_list(&self, mut each: impl FnMut(Vec<u8>, Vec<u64>)) -> Result<()> {
        let width = self.trailer.width;
        self.leaves((self.first(), self.last()), |root, number, leaf, keys| {
            let mut lists: Vec<Vec<u64>> = vec![Vec::new(); leaf.len()];
            let read = leaf.rows(keys.clone(), |key, row| lists[key].push(row));
            read.map_err(|what| self.damaged(root.entry(number).at, what))?;
            self.aparts(root, number, leaf, keys, |key, rows| {
                lists[key] = rows.iter().collect();
                Ok(())
            })?;
            for (key, list) in lists.into_iter().enumerate() {
                let bytes = match &leaf.keys {
                    Keys::Numbers(numbers) => keys::bytes(numbers[key], width),
                    Keys::Texts(texts) => texts[key].clone(),
                };
                each(bytes, list);
            }
            Ok(())
        })
    }
}

impl Drop for PostingFile {
    fn drop(&mut self) {
        if self.discarded.load(Ordering::Acquire) {
            // What cannot be removed now is swept when the database is opened again.
            let _ = self.store.disk().remove(&self.name);
        }
    }
}

impl std::fmt::Debug for PostingFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostingFile").field("name", &self.name).field("keys", &self.trailer.keys).finish()
    }
}
