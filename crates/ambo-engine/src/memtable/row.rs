//! A key with its versions, newest first.
//!
//! One allocation holds a new row, its key and its first version; each later version is one allocation:
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 4 | row: place of the newest version |
//! | 4 | 4 | row: bytes of the key |
//! | 8 | k | row: the key, then up to 7 bytes of nothing |
//! | 0 | 8 | version: timestamp |
//! | 8 | 4 | version: place of the next older version, or 0 |
//! | 12 | 4 | version: record kind (2 high bits), bytes of the value (30 bits) |
//! | 16 | v | version: the value, then up to 7 bytes of nothing |
//!
//! **Thread safety.** Any number of readers beside one writer a row.
//!
//! 1. Everything but `newest` and `older` is immutable once published.
//! 2. From newest to oldest, timestamps never grow; of two versions with one timestamp the newer counts.
//! 3. `older` changes once, to null, and only where every snapshot, present or future, stops at that version or before.

use ambo_types::{
    id::Timestamp,
    record::{KEY_BYTES_MAX, Record, RecordKind},
};

use super::arena::{Arena, At, AtomicAt, Full, UNIT};

/// The head of a row; the key follows.
#[repr(C)]
pub(super) struct Row {
    newest: AtomicAt<VersionHeader>,
    key_bytes: u32,
}

/// The head of a version; the value follows.
#[repr(C)]
pub(super) struct VersionHeader {
    timestamp: u64,
    older: AtomicAt<VersionHeader>,
    kind_and_bytes: u32,
}

#[cfg(not(feature = "shuttle"))]
const _: () = assert!(size_of::<Row>() == 8 && size_of::<VersionHeader>() == 16);
const _: () = assert!(align_of::<Row>() <= UNIT && align_of::<VersionHeader>() <= UNIT);

const VALUE_BITS: u32 = 30;
/// The longest value a memtable holds, in bytes; what is longer is a blob, of which the memtable holds the reference.
pub const MEMTABLE_VALUE_BYTES_MAX: usize = (1 << VALUE_BITS) - 1;

/// What a key mapped to from one moment on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version<'a> {
    /// The commit that wrote it.
    pub timestamp: Timestamp,
    /// What it wrote.
    pub record: Record<'a>,
}

impl VersionHeader {
    fn new(timestamp: Timestamp, record: Record<'_>, older: At<VersionHeader>) -> Self {
        assert!(record.bytes.len() <= MEMTABLE_VALUE_BYTES_MAX, "a value too long for a memtable");
        let kind_and_bytes = u32::from(record.kind as u8) << VALUE_BITS | record.bytes.len() as u32;
        Self { timestamp: timestamp.0, older: AtomicAt::new(older), kind_and_bytes }
    }
}

/// Allocates a row for `key` with its first version. Nobody sees it until it is put into the index.
pub(super) fn new_row(
    arena: &Arena,
    key: &[u8],
    timestamp: Timestamp,
    record: Record<'_>,
) -> Result<At<Row>, Full> {
    assert!(key.len() <= KEY_BYTES_MAX, "a key too long for a memtable");
    let version_offset = (size_of::<Row>() + key.len()).next_multiple_of(UNIT);
    let bytes = version_offset + size_of::<VersionHeader>() + record.bytes.len();
    let header = VersionHeader::new(timestamp, record, At::NULL);
    // SAFETY: row, key, version and value are written before the place is returned, each inside the `bytes`
    // that were asked for.
    unsafe {
        let row = arena.allocate::<Row>(bytes - size_of::<Row>())?;
        let version = row.offset::<VersionHeader>(version_offset);
        arena.write(row, Row { newest: AtomicAt::new(version), key_bytes: key.len() as u32 });
        arena.write_tail(row, key);
        arena.write(version, header);
        arena.write_tail(version, record.bytes);
        Ok(row)
    }
}

/// Puts a version on top of a row's others. Versions that no snapshot
/// from `oldest` on can see are cut off.
///
/// # Panics
/// If the row has a newer version already.
pub(super) fn add_version(
    arena: &Arena,
    row: At<Row>,
    timestamp: Timestamp,
    record: Record<'_>,
    oldest: Timestamp,
) -> Result<(), Full> {
    let newest = &arena.get(row).newest;
    let below = newest.load();
    let below_header = arena.get(below);
    assert!(below_header.timestamp <= timestamp.0, "versions of a key come in the order of their commits");
    let header = VersionHeader::new(timestamp, record, below);
    // SAFETY: header and value are written before the place is published.
    unsafe {
        let version = arena.allocate::<VersionHeader>(record.bytes.len())?;
        arena.write(version, header);
        arena.write_tail(version, record.bytes);
        newest.store(version);
    }
    if below_header.timestamp <= oldest.0 {
        below_header.older.store(At::NULL);
    }
    Ok(())
}

/// The key of a row.
pub(super) fn key(arena: &Arena, row: At<Row>) -> &[u8] {
    let bytes = arena.get(row).key_bytes as usize;
    // SAFETY: `new_row` wrote as many before the row was published.
    unsafe { arena.tail(row, bytes) }
}

/// A row's versions, newest first.
pub(super) fn versions(arena: &Arena, row: At<Row>) -> Versions<'_> {
    Versions { arena, at: arena.get(row).newest.load() }
}

/// The newest version of a row that a snapshot at `at` sees.
pub(super) fn version_at(arena: &Arena, row: At<Row>, at: Timestamp) -> Option<Version<'_>> {
    versions(arena, row).find(|version| version.timestamp <= at)
}

/// The versions of a row, newest first.
pub struct Versions<'a> {
    arena: &'a Arena,
    at: At<VersionHeader>,
}

impl<'a> Iterator for Versions<'a> {
    type Item = Version<'a>;

    fn next(&mut self) -> Option<Version<'a>> {
        if self.at.is_null() {
            return None;
        }
        let header = self.arena.get(self.at);
        let bytes = header.kind_and_bytes as usize & MEMTABLE_VALUE_BYTES_MAX;
        let kind = RecordKind::from_u8((header.kind_and_bytes >> VALUE_BITS) as u8);
        let kind = kind.expect("a version has a kind");
        // SAFETY: `new_row` or `add_version` wrote as many before the version was published.
        let bytes = unsafe { self.arena.tail(self.at, bytes) };
        self.at = header.older.load();
        debug_assert!(
            self.at.is_null() || self.arena.get(self.at).timestamp <= header.timestamp,
            "from newest to oldest timestamps never grow"
        );
        Some(Version { timestamp: Timestamp(header.timestamp), record: Record { kind, bytes } })
    }
}
