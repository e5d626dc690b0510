//! A segment: one immutable file of rows as columns.

use std::sync::{
    Arc, OnceLock, Weak,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

use ambo_codec::column::{Block, Kind, envelope, text::SharedTable};
use ambo_pages::{
    budget::{self, Cache, Giver, MemoryBudget},
    checksum::crc32c,
    io::{Disk, File, OpenMode, read_failed},
    page::Access,
};
use ambo_types::{Error, Result};
use parking_lot::Mutex;

use super::{
    cache::{BlockCache, Slots},
    directory::{self, BlockEntry, Directory, HEADER_BYTES, TRAILER_BYTES},
    partials::Partials,
    posting::AttachedFiles,
    row_cache::{RowCache, Slot},
    schema::ColumnSchema,
};
use crate::append::{Head, Records};

const PREFIX: &str = "segment-";
/// A block of values takes at most this when it is expanded; text may take more.
const EXPANDED_MAX: usize = 1 << 31;
/// This part of what the cache of segments may have is for rows, the rest for blocks.
const ROWS_SHARE: usize = 8;

/// When so much of the budget was freed for others, the allocator is asked to give memory back.
const TRIM_SHARE: usize = 16;

/// Asks the allocator to give memory back that is free. Other allocators than glibc's do so by themselves.
fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time by any thread, and touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The segments of a database: their files, and the cache of their blocks.
pub struct SegmentStore {
    disk: Arc<dyn Disk>,
    database: u128,
    next: AtomicU64,
    /// How many sets of segments there were.
    sets: AtomicU64,
    cache: BlockCache,
    rows: RowCache,
    partials: Partials,
    memory: Arc<MemoryBudget>,
    /// Bytes that were freed for others since the allocator was asked to give memory back.
    given: AtomicUsize,
    /// Held by who looks for files of postings, or makes those that are missing.
    pub(super) tending: Mutex<()>,
}

impl Giver for SegmentStore {
    fn give(&self, bytes: usize) {
        let left = self.memory.cached(Cache::Segments).saturating_sub(bytes);
        let rows = self.rows.trim(left / ROWS_SHARE);
        let blocks = self.cache.give(bytes.saturating_sub(rows));
        let more = if rows + blocks < bytes { self.rows.trim(left) } else { 0 };
        self.give_to_system(rows + blocks + more);
    }

    fn give_spare(&self, _: usize) {}
}

impl SegmentStore {
    /// Has the allocator give back what was freed, now and then: it keeps freed memory otherwise, while the pool of pages takes as much
    /// from the system.
    fn give_to_system(&self, bytes: usize) {
        let given = self.given.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if given >= self.memory.limit() / TRIM_SHARE {
            self.given.store(0, Ordering::Relaxed);
            trim_heap();
        }
    }

    /// The segments in `disk`. Encoded blocks, and rows that were sought, are kept in memory as far as the budget reaches.
    pub fn new(disk: Arc<dyn Disk>, database: u128, memory: &Arc<MemoryBudget>) -> Arc<Self> {
        let store = Arc::new(Self {
            disk,
            database,
            next: AtomicU64::new(1),
            sets: AtomicU64::new(0),
            cache: BlockCache::new(memory.clone()),
            rows: RowCache::new(memory.clone()),
            partials: Partials::new(memory.clone()),
            memory: memory.clone(),
            given: AtomicUsize::new(0),
            tending: Mutex::default(),
        });
        let giver: Weak<Self> = Arc::downgrade(&store);
        memory.register(Cache::Segments, giver);
        store
    }

    /// The database's id.
    pub fn database_id(&self) -> u128 {
        self.database
    }

    /// Where the files are.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// What aggregates of segments came to.
    pub fn partials(&self) -> &Partials {
        &self.partials
    }

    /// Rows that were sought lately.
    pub(super) fn rows(&self) -> &RowCache {
        &self.rows
    }

    /// Whether the row of a key is to be kept: there is room, or it was sought lately already. From now on it was.
    pub(super) fn keeps_row(&self, slot: Slot) -> bool {
        self.rows.takes(slot, self.most_rows())
    }

    /// Bytes of rows that are kept at most.
    fn most_rows(&self) -> usize {
        self.memory.most(Cache::Segments) / ROWS_SHARE
    }

    /// Keeps the record of a key, which is in this row of a segment.
    pub(super) fn keep_row(&self, slot: Slot, key: &[u8], place: (u64, u32), record: &[u8]) {
        self.rows.put(slot, key, place, record, self.most_rows(), |bytes| {
            self.memory.reserve(budget::Kind::Rows, bytes) || self.cache.make_room_for_row(bytes)
        });
    }

    /// Where memory for blocks, rows and layers of fresh rows comes from.
    pub fn memory(&self) -> &Arc<MemoryBudget> {
        &self.memory
    }

    /// The cache of their blocks.
    pub fn cache(&self) -> &BlockCache {
        &self.cache
    }

    /// The name of a segment's file.
    pub fn name(id: u64) -> String {
        format!("{PREFIX}{id:016x}")
    }

    /// The id of a segment's file.
    pub fn id_of(name: &str) -> Option<u64> {
        let digits = name.strip_prefix(PREFIX).filter(|digits| digits.len() == 16)?;
        u64::from_str_radix(digits, 16).ok()
    }

    /// The files of segments that are there.
    pub fn list(&self) -> Result<Vec<u64>> {
        let names = self.disk.list().map_err(|error| Error::io("listing the database directory", error))?;
        Ok(names.iter().filter_map(|name| Self::id_of(name)).collect())
    }

    /// Makes later ids greater than `id`.
    pub fn note_id(&self, id: u64) {
        self.next.fetch_max(id.saturating_add(1), Ordering::Relaxed);
    }

    /// Removes the file of a segment that no checkpoint knows: a crash left it behind.
    pub fn remove(&self, id: u64) -> Result<()> {
        let name = Self::name(id);
        self.disk.remove(&name).map_err(|error| Error::io(format!("removing {name}"), error))
    }

    /// A number for one more set of segments, greater than those before.
    pub(super) fn number_set(&self) -> u64 {
        self.sets.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins a file. Durable after `sync` of both.
    pub(super) fn create(&self) -> Result<(u64, Arc<dyn File>)> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let name = Self::name(id);
        let file = self.disk.open(&name, OpenMode::Create);
        Ok((id, file.map_err(|error| Error::io(format!("creating {name}"), error))?))
    }

    /// The database that headers name.
    pub(super) fn database(&self) -> u128 {
        self.database
    }

    /// Makes the creation of files durable.
    pub fn sync_directory(&self) -> Result<()> {
        self.disk.sync_directory().map_err(|error| Error::io("syncing the database directory", error))
    }

    /// Opens the segment of that id, which has `len` bytes and columns as `schema` says, or lacks the last of them.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it is another.
    pub fn open(self: &Arc<Self>, id: u64, len: u64, schema: &ColumnSchema) -> Result<Arc<Segment>> {
        let name = Self::name(id);
        let damaged = |offset: u64, what: &str| Error::damaged(name.clone(), offset, what);
        let file = match self.disk.open(&name, OpenMode::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(damaged(0, "the file is missing"));
            }
            file => file.map_err(|error| Error::io(format!("opening {name}"), error))?,
        };
        let is_extent = schema.has_records();
        let first = if is_extent { 0 } else { HEADER_BYTES as u64 };
        let found = file.len().map_err(|error| Error::io(format!("reading {name}"), error))?;
        if found != len || len < first + TRAILER_BYTES as u64 {
            return Err(damaged(
                found.min(len),
                &format!("the file has {found} bytes and should have {len}"),
            ));
        }
        let read =
            |out: &mut [u8], at: u64| file.read_at(out, at).map_err(|error| read_failed(&name, at, error));
        if !is_extent {
            let mut header = [0; HEADER_BYTES];
            read(&mut header, 0)?;
            directory::check_header(&header, id, self.database).map_err(|what| damaged(0, what))?;
        }
        let mut trailer = [0; TRAILER_BYTES];
        let trailer_at = len - TRAILER_BYTES as u64;
        read(&mut trailer, trailer_at)?;
        let magic = if is_extent { directory::EXTENT_END } else { directory::SEGMENT_END };
        let (bytes, crc) =
            directory::read_trailer(&trailer, magic, id).map_err(|what| damaged(trailer_at, what))?;
        let at = trailer_at
            .checked_sub(u64::from(bytes))
            .filter(|at| *at >= first)
            .ok_or_else(|| damaged(trailer_at, "a directory longer than the file"))?;
        let mut encoded = vec![0; bytes as usize];
        read(&mut encoded, at)?;
        if crc32c(&encoded) != crc {
            return Err(damaged(at, "the checksum of the directory is wrong"));
        }
        let decoded = match is_extent {
            true => Head::decode(&encoded, self.database, at)
                .map(|(head, directory)| (directory, Some(Records::new(head)))),
            false => Directory::decode(&encoded, at).map(|directory| (directory, None)),
        };
        let (directory, records) = decoded.map_err(|what| damaged(at, what))?;
        if !schema.takes(directory.columns.iter().map(|column| column.ty)) {
            return Err(damaged(at, "the columns are not those of the table"));
        }
        let segment = Segment::new(self.clone(), id, file, len, directory, records);
        segment.keep();
        Ok(Arc::new(segment))
    }
}

/// A segment. Its file goes when it is dropped, unless a checkpoint has it ([`Segment::keep`]).
pub struct Segment {
    store: Arc<SegmentStore>,
    id: u64,
    file: Arc<dyn File>,
    file_bytes: u64,
    directory: Directory,
    /// What is known of the records, if it is an extent.
    records: Option<Records>,
    tables: Vec<OnceLock<SharedTable>>,
    /// Its blocks in the cache.
    slots: Arc<Slots>,
    /// Its postings in files.
    postings: AttachedFiles,
    kept: AtomicBool,
    /// How many keys were looked for in it that it does not have.
    pub(super) fruitless: AtomicU32,
}

/// What the cache keeps of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) enum CachedPart {
    Block {
        column: usize,
        group: usize,
    },
    /// Of a column.
    Postings(usize),
    /// Of its keys.
    Filter,
}

impl Segment {
    pub(super) fn new(
        store: Arc<SegmentStore>,
        id: u64,
        file: Arc<dyn File>,
        file_bytes: u64,
        directory: Directory,
        records: Option<Records>,
    ) -> Self {
        debug_assert!(
            directory.columns.iter().all(|column| column.blocks.len() == directory.groups()),
            "each column has a block of each group"
        );
        assert!(file_bytes > TRAILER_BYTES as u64, "a segment's file has more than its end");
        let tables = directory.columns.iter().map(|_| OnceLock::new()).collect();
        let slots = Slots::new(id, (directory.groups() + 1) * directory.columns.len() + 1, &store.memory);
        let (kept, fruitless) = (AtomicBool::new(false), AtomicU32::new(0));
        let postings = AttachedFiles::default();
        Self { store, id, file, file_bytes, directory, records, tables, slots, postings, kept, fruitless }
    }

    /// Its number, which no other segment of the database ever has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Bytes of its file.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Where its file is.
    pub(super) fn store(&self) -> &Arc<SegmentStore> {
        &self.store
    }

    /// Its postings in files.
    pub(super) fn postings_files(&self) -> &AttachedFiles {
        &self.postings
    }

    /// The names of its files of postings, with how many bytes each has.
    pub fn posting_files(&self) -> Vec<(String, u64)> {
        self.postings.all().iter().map(|file| (file.name().to_owned(), file.file_bytes())).collect()
    }

    /// What it holds.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// A checkpoint refers to it: its file stays.
    pub fn keep(&self) {
        self.kept.store(true, Ordering::Release);
    }

    /// No checkpoint refers to it any more: its file goes with its last reader.
    pub fn discard(&self) {
        self.kept.store(false, Ordering::Release);
    }

    /// The number of something that is kept: blocks of a group lie side by side, postings behind all blocks, the filter last.
    fn number(&self, of: CachedPart) -> u32 {
        let columns = self.directory.columns.len();
        let of_segment = match of {
            CachedPart::Block { column, group } => column < columns && group < self.directory.groups(),
            CachedPart::Postings(column) => column < columns,
            CachedPart::Filter => true,
        };
        debug_assert!(of_segment, "another number is that of something else: {of:?}");
        (match of {
            CachedPart::Block { column, group } => group * columns + column,
            CachedPart::Postings(column) => self.directory.groups() * columns + column,
            CachedPart::Filter => (self.directory.groups() + 1) * columns,
        }) as u32
    }

    /// Whether something is in the cache.
    pub(super) fn has_kept(&self, what: CachedPart) -> bool {
        self.slots.has(self.number(what))
    }

    /// What is in the cache.
    pub(super) fn kept(&self, what: CachedPart) -> Option<Arc<[u8]>> {
        self.store.cache.find(&self.slots, self.number(what), Access::Point)
    }

    /// Whether the cache has room for something of so many bytes.
    pub(super) fn may_keep(&self, bytes: usize) -> bool {
        self.store.cache.takes(bytes)
    }

    /// What is in the cache, or else comes there from `load`.
    pub(super) fn keep_or(
        &self,
        what: CachedPart,
        access: Access,
        load: impl FnOnce() -> Result<Arc<[u8]>>,
    ) -> Result<Arc<[u8]>> {
        self.store.cache.read(&self.slots, self.number(what), access, load)
    }

    /// That `what` is wrong at `offset` of the file.
    pub(super) fn damaged(&self, offset: u64, what: impl std::fmt::Display) -> Error {
        Error::damaged(SegmentStore::name(self.id), offset, what.to_string())
    }

    /// Reads a part of the file and compares its checksum.
    fn load(&self, offset: u64, len: u32, crc: u32) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.load_to(&mut bytes, offset, len as usize, crc)?;
        Ok(bytes)
    }

    /// The same into a buffer, whatever is in it.
    fn load_to(&self, bytes: &mut Vec<u8>, offset: u64, len: usize, crc: u32) -> Result<()> {
        debug_assert!(offset + len as u64 <= self.file_bytes, "a directory names bytes of its file");
        bytes.resize(len, 0);
        self.file
            .read_at(bytes, offset)
            .map_err(|error| read_failed(&SegmentStore::name(self.id), offset, error))?;
        match crc32c(bytes) == crc {
            true => Ok(()),
            false => Err(self.damaged(offset, "the checksum of a block is wrong")),
        }
    }

    /// Whether it has a stored column: it lacks those that were added after it was written.
    pub(super) fn has(&self, column: usize) -> bool {
        column < self.directory.columns.len()
    }

    /// The entry of a block.
    pub fn entry(&self, column: usize, group: usize) -> &BlockEntry {
        &self.directory.columns[column].blocks[group]
    }

    /// A block's bytes, to be parsed by [`Segment::parse`].
    pub fn block(&self, column: usize, group: usize, access: Access) -> Result<Arc<[u8]>> {
        self.keep_or(CachedPart::Block { column, group }, access, || self.load_block(column, group))
    }

    /// Asks for the memory where the blocks of a group begin, of some columns that it has, as far as they are kept.
    pub(super) fn prefetch_blocks(&self, columns: impl Iterator<Item = usize> + Clone, group: usize) {
        let numbers = columns.map(|column| self.number(CachedPart::Block { column, group }));
        numbers.clone().for_each(|number| self.slots.prefetch(number));
        numbers.for_each(|number| self.slots.prefetch_block(number));
    }

    /// Makes a block of records of an extent.
    fn block_of_records(&self, records: &Records, column: usize, group: usize) -> Result<Arc<[u8]>> {
        let (rows, entry) = (self.directory.group(group), self.entry(column, group));
        let kind = Kind::of(self.directory.columns[column].ty);
        let heap = match records.has_heap(column) {
            true => Some(self.load(entry.offset, entry.len, entry.crc)?),
            false => None,
        };
        let (offset, len) = records.span(&rows);
        let make = |page: &[u8]| {
            let block = records.block(column, kind, rows.clone(), page, heap.as_deref());
            block.map(Arc::from).map_err(|what| self.damaged(entry.offset, what))
        };
        if !records.is_in_records(column) {
            return make(&[]);
        }
        records.with_page(group, |page| self.load_to(page, offset, len, records.crc(group)), make)
    }

    /// Reads a block, past the cache.
    pub(super) fn load_block(&self, column: usize, group: usize) -> Result<Arc<[u8]>> {
        if let Some(records) = &self.records {
            return self.block_of_records(records, column, group);
        }
        let entry = self.entry(column, group);
        let bytes = self.load(entry.offset, entry.len, entry.crc)?;
        if envelope::is_compressed(&bytes) {
            let plain =
                envelope::expand(&bytes, EXPANDED_MAX).map_err(|error| self.damaged(entry.offset, error))?;
            return Ok(plain.into_owned().into());
        }
        Ok(bytes.into())
    }

    /// The block in `bytes`, which are those of this column and group.
    pub fn parse<'a>(&self, column: usize, group: usize, bytes: &'a [u8]) -> Result<Block<'a>> {
        let kind = Kind::of(self.directory.columns[column].ty);
        let rows = self.directory.group(group).len();
        let table = self.table(column)?;
        Block::parse_shared(bytes, kind, rows, table)
            .map_err(|error| self.damaged(self.entry(column, group).offset, error))
    }

    /// The text table of a column, read once.
    fn table(&self, column: usize) -> Result<Option<&SharedTable>> {
        let Some(entry) = self.directory.columns[column].table else { return Ok(None) };
        if let Some(table) = self.tables[column].get() {
            return Ok(Some(table));
        }
        let bytes = self.load(entry.offset, entry.len, entry.crc)?;
        let table = SharedTable::parse(&bytes).map_err(|error| self.damaged(entry.offset, error))?;
        Ok(Some(self.tables[column].get_or_init(|| table)))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if !self.kept.load(Ordering::Acquire) {
            self.postings.discard();
            // What cannot be removed now is removed when the database is opened again.
            let _ = self.store.remove(self.id);
        }
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("id", &self.id).field("rows", &self.directory.rows()).finish()
    }
}
