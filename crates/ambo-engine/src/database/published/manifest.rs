//! What a publication is made of: one file for each, which is never edited, and a small one that says which is the newest.
//!
//! The file `manifest-` and 16 hexadecimal digits; numbers are little-endian:
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 8 | magic `ambo pub` |
//! | 8 | 4 | version = 1 |
//! | 12 | 4 | bytes of a bundle, a power of two from 64 KiB to 64 MiB |
//! | 16 | 16 | the id of the database |
//! | 32 | 8 | the number of the publication, from 1 |
//! | 40 | 8 | the number of the checkpoint |
//! | 48 | 8 | timestamp of the checkpoint: every commit up to it is in the publication |
//! | 56 | 8 | when it was published, in microseconds since 1970 |
//! | 64 | 16 | salt of the names |
//! | 80 | 8 | bytes of `pages` |
//! | 88 | 4 | number of bundles: bytes of `pages` by bytes of a bundle, rounded up |
//! | 92 | 4 | number of segments |
//! | 96 | 32 for each bundle | SHA-256 of its bytes; zero: all of them are zero, and there is no file |
//! | | 48 for each segment | id, 8; bytes, 8; SHA-256 of its last 64 KiB, 32. By ascending id |
//! | end − 4 | 4 | CRC32C of all before |
//!
//! The file `publication`, which is not sealed in an encrypted directory:
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 8 | magic `ambo new` |
//! | 8 | 4 | version = 1 |
//! | 12 | 4 | zero |
//! | 16 | 16 | the id of the database |
//! | 32 | 8 | the number of the newest publication |
//! | 40 | 4 | CRC32C of the 40 bytes before |

use std::{fmt::Write, sync::Arc, time::Duration};

use ambo_base::column::SegmentStore;
use ambo_pages::{
    checksum::{HASH_BYTES, crc32c, sha256},
    io::Disk,
};
use ambo_types::{Error, Result, id::Timestamp};

use crate::database::{backup_mark::NEW_SEGMENT, whole_file};

/// The file that names the newest publication.
pub(super) const POINTER: &str = "publication";
const NEW_POINTER: &str = "publication.new";
const NEW_MANIFEST: &str = "manifest.new";
const PREFIX: &str = "manifest-";
/// Files with pages.
pub(super) const BUNDLE_PREFIX: &str = "bundle-";

const MAGIC: &[u8; 8] = b"ambo pub";
const POINTER_MAGIC: &[u8; 8] = b"ambo new";
const VERSION: u32 = 1;
const VERSION_AT: usize = 8;
const POINTER_BYTES: usize = 44;
const BUNDLE_BYTES_AT: usize = 12;
const DATABASE_AT: usize = 16;
const NUMBER_AT: usize = 32;
const CHECKPOINT_AT: usize = 40;
const TIMESTAMP_AT: usize = 48;
const TIME_AT: usize = 56;
const SALT_AT: usize = 64;
const PAGES_AT: usize = 80;
const BUNDLES_AT: usize = 88;
const SEGMENTS_AT: usize = 92;
const HEAD_BYTES: usize = 96;
const SEGMENT_BYTES: usize = 48;
const CRC_BYTES: usize = 4;
const _: () = assert!(SALT_AT + SALT_BYTES == PAGES_AT);
const _: () = assert!(SEGMENTS_AT + size_of::<u32>() == HEAD_BYTES);
const _: () = assert!(SEGMENT_BYTES == 2 * size_of::<u64>() + HASH_BYTES);
const _: () = assert!(NUMBER_AT + size_of::<u64>() + CRC_BYTES == POINTER_BYTES);

/// A file with more is none of ours: it would be that of a database of 100 TB.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;
const SALT_BYTES: usize = 16;
/// Bytes of a hash that a name has.
const NAMED_BYTES: usize = 16;
/// The least bytes of a bundle.
pub(super) const BUNDLE_BYTES_MIN: u32 = 64 << 10;
/// The most bytes of a bundle: as many are in memory at once.
pub(super) const BUNDLE_BYTES_MAX: u32 = 64 << 20;
/// Of a segment so many bytes at the end are hashed: its directory, with the checksums of all blocks.
pub(super) const END_BYTES: u64 = 64 << 10;

pub(super) type Hash = [u8; HASH_BYTES];
/// The hash of a bundle that is zero, and has no file.
pub(super) const HOLE: Hash = [0; HASH_BYTES];
pub(super) type Salt = [u8; SALT_BYTES];

/// A publication in a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Publication {
    /// Its number: each is greater than those before.
    pub number: u64,
    /// Every commit up to this one is in it.
    pub timestamp: Timestamp,
    /// When it was made, since 1970 began, by the clock of who made it.
    pub at: Duration,
}

/// A segment of a publication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PublishedSegment {
    pub id: u64,
    pub bytes: u64,
    /// The hash of its end.
    pub end: Hash,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Manifest {
    pub database: u128,
    pub number: u64,
    pub checkpoint: u64,
    pub timestamp: Timestamp,
    pub at: Duration,
    /// Names are hashes with this before, so that they do not tell what is in the files of an encrypted database.
    pub salt: Salt,
    pub pages_bytes: u64,
    pub bundle_bytes: u32,
    pub bundles: Vec<Hash>,
    pub segments: Vec<PublishedSegment>,
}

/// The name of the manifest of that number.
pub(super) fn manifest_name(number: u64) -> String {
    format!("{PREFIX}{number:016x}")
}

/// The number of the manifest in a file of that name.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX).filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// The name of the file with this bundle.
pub(super) fn bundle_name(salt: &Salt, hash: &Hash) -> String {
    named(BUNDLE_PREFIX, &[salt, hash])
}

/// The name of the file with a segment.
pub(super) fn segment_name(salt: &Salt, segment: &PublishedSegment) -> String {
    let [id, bytes] = [segment.id, segment.bytes].map(u64::to_le_bytes);
    named(&format!("{}-", SegmentStore::name(segment.id)), &[salt, &id, &bytes, &segment.end])
}

fn named(prefix: &str, parts: &[&[u8]]) -> String {
    let mut name = prefix.to_owned();
    for byte in &sha256(parts)[..NAMED_BYTES] {
        write!(name, "{byte:02x}").expect("a string takes all");
    }
    name
}

/// Whether a file of that name is one of a publication, or of one that is being made.
pub(super) fn is_ours(name: &str) -> bool {
    // That of a database has no hash.
    let is_segment = name.strip_prefix("segment-").is_some_and(|rest| rest.contains('-'));
    [POINTER, NEW_POINTER, NEW_MANIFEST, NEW_SEGMENT].contains(&name)
        || number_of(name).is_some()
        || name.starts_with(BUNDLE_PREFIX)
        || is_segment
}

impl Manifest {
    /// Which publication it is.
    pub fn publication(&self) -> Publication {
        Publication { number: self.number, timestamp: self.timestamp, at: self.at }
    }

    /// Bytes of a bundle; the last may be shorter than others.
    pub fn bytes_of(&self, bundle: usize) -> u64 {
        let start = bundle as u64 * u64::from(self.bundle_bytes);
        self.pages_bytes.saturating_sub(start).min(u64::from(self.bundle_bytes))
    }

    /// The names of all files that it needs.
    pub fn files(&self) -> impl Iterator<Item = String> + '_ {
        let bundles = self.bundles.iter().filter(|hash| **hash != HOLE);
        let bundles = bundles.map(|hash| bundle_name(&self.salt, hash));
        bundles.chain(self.segments.iter().map(|segment| segment_name(&self.salt, segment)))
    }

    pub fn encode(&self) -> Vec<u8> {
        let micros = u64::try_from(self.at.as_micros()).unwrap_or(u64::MAX);
        let mut bytes = Vec::with_capacity(encoded_bytes(self.bundles.len(), self.segments.len()));
        bytes.extend_from_slice(MAGIC);
        [VERSION, self.bundle_bytes].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(self.database.to_le_bytes());
        for number in [self.number, self.checkpoint, self.timestamp.0, micros] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.salt);
        bytes.extend(self.pages_bytes.to_le_bytes());
        bytes.extend((self.bundles.len() as u32).to_le_bytes());
        bytes.extend((self.segments.len() as u32).to_le_bytes());
        self.bundles.iter().for_each(|hash| bytes.extend(hash));
        for segment in &self.segments {
            [segment.id, segment.bytes].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            bytes.extend(segment.end);
        }
        bytes.extend(crc32c(&bytes).to_le_bytes());
        debug_assert!(Self::decode(&bytes).is_ok_and(|read| read == *self), "it is read as it was written");
        bytes
    }

    /// Reads a manifest; what is wrong with one that is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        check_head(bytes, MAGIC, "the manifest of a publication", HEAD_BYTES + CRC_BYTES)?;
        let (bundle_bytes, pages_bytes) = (u32_at(bytes, BUNDLE_BYTES_AT), u64_at(bytes, PAGES_AT));
        let [bundles, segments] = [BUNDLES_AT, SEGMENTS_AT].map(|at| u32_at(bytes, at) as usize);
        let is_size =
            bundle_bytes.is_power_of_two() && (BUNDLE_BYTES_MIN..=BUNDLE_BYTES_MAX).contains(&bundle_bytes);
        let is_as_long = bytes.len() == encoded_bytes(bundles, segments);
        if !is_size || !is_as_long || pages_bytes.div_ceil(u64::from(bundle_bytes)) != bundles as u64 {
            return Err("sizes and numbers of files do not belong together".into());
        }
        let (of_bundles, rest) = bytes[HEAD_BYTES..bytes.len() - CRC_BYTES].split_at(bundles * HASH_BYTES);
        let segments = rest.chunks_exact(SEGMENT_BYTES).map(|row| PublishedSegment {
            id: u64_at(row, 0),
            bytes: u64_at(row, 8),
            end: row[16..].try_into().expect("a hash"),
        });
        let manifest = Self {
            database: id_at(bytes),
            number: u64_at(bytes, NUMBER_AT),
            checkpoint: u64_at(bytes, CHECKPOINT_AT),
            timestamp: Timestamp(u64_at(bytes, TIMESTAMP_AT)),
            at: Duration::from_micros(u64_at(bytes, TIME_AT)),
            salt: bytes[SALT_AT..PAGES_AT].try_into().expect("a salt"),
            pages_bytes,
            bundle_bytes,
            bundles: of_bundles
                .chunks_exact(HASH_BYTES)
                .map(|hash| hash.try_into().expect("a hash"))
                .collect(),
            segments: segments.collect(),
        };
        match manifest.segments.is_sorted_by(|one, next| one.id < next.id) {
            true => Ok(manifest),
            false => Err("the segments are not in the order of their ids".into()),
        }
    }

    /// Writes it, durably.
    pub fn put(&self, disk: &Arc<dyn Disk>) -> Result<()> {
        whole_file::put(disk, NEW_MANIFEST, &manifest_name(self.number), &self.encode())
    }

    /// The manifest of that number; none if it is not there.
    ///
    /// # Errors
    /// [`Error::Damaged`] for one that is cut, or not what was written.
    pub fn read(disk: &Arc<dyn Disk>, number: u64) -> Result<Option<Self>> {
        let name = manifest_name(number);
        let Some(bytes) = whole_file::read(disk, &name, MANIFEST_BYTES_MAX)? else { return Ok(None) };
        match Self::decode(&bytes) {
            Ok(manifest) if manifest.number == number => Ok(Some(manifest)),
            Ok(other) => Err(Error::damaged(
                name,
                NUMBER_AT as u64,
                format!("it is that of publication {}", other.number),
            )),
            Err(what) => {
                Err(Error::damaged(name, 0, format!("{what}; publish again, or open another publication")))
            }
        }
    }
}

fn encoded_bytes(bundles: usize, segments: usize) -> usize {
    HEAD_BYTES + bundles * HASH_BYTES + segments * SEGMENT_BYTES + CRC_BYTES
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn id_at(bytes: &[u8]) -> u128 {
    u128::from_le_bytes(bytes[DATABASE_AT..NUMBER_AT].try_into().expect("sixteen bytes"))
}

/// Checks length, magic, checksum and version of a file.
fn check_head(bytes: &[u8], magic: &[u8; 8], what: &str, least: usize) -> Result<(), String> {
    if bytes.len() < least {
        return Err(format!("{} bytes are less than {what} has: it was cut", bytes.len()));
    }
    if &bytes[..magic.len()] != magic {
        return Err(format!("it is not {what}"));
    }
    let (before, crc) = bytes.split_at(bytes.len() - CRC_BYTES);
    if crc32c(before) != u32_at(crc, 0) {
        return Err("the checksum is wrong: it was cut, or changed".into());
    }
    match u32_at(bytes, VERSION_AT) {
        VERSION => Ok(()),
        other => Err(format!("it is of version {other}, this program knows {VERSION}; use a newer program")),
    }
}

/// Which publication is the newest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pointer {
    pub database: u128,
    pub number: u64,
}

impl Pointer {
    fn encode(self) -> Vec<u8> {
        let mut bytes = POINTER_MAGIC.to_vec();
        [VERSION, 0].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(self.database.to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(crc32c(&bytes).to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        check_head(bytes, POINTER_MAGIC, "the number of a publication", POINTER_BYTES)?;
        match bytes.len() == POINTER_BYTES && u32_at(bytes, BUNDLE_BYTES_AT) == 0 {
            true => Ok(Self { database: id_at(bytes), number: u64_at(bytes, NUMBER_AT) }),
            false => Err("it is longer than it should be".into()),
        }
    }

    /// Makes a publication the newest, durably.
    pub fn put(self, disk: &Arc<dyn Disk>) -> Result<()> {
        whole_file::put(disk, NEW_POINTER, POINTER, &self.encode())
    }

    /// Which publication is the newest; none if there is none yet.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file is cut, or not what was written.
    pub fn read(disk: &Arc<dyn Disk>) -> Result<Option<Self>> {
        let Some(bytes) = whole_file::read(disk, POINTER, POINTER_BYTES as u64)? else { return Ok(None) };
        let pointer = Self::decode(&bytes).map_err(|what| {
            Error::damaged(POINTER, 0, format!("{what}; publish again, or open a publication by its number"))
        })?;
        Ok(Some(pointer))
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
