//! The formats of segments and groups. All numbers are little-endian.
//!
//! A segment that no recovery needs any more may be kept: it is cut to its groups and renamed from `log-…` to `kept-…`.
//!
//! A segment is a header, then groups without gaps, each padded with zeros to a multiple of 8 bytes, then zeros
//! to the reserved end, which may be anywhere: segments of a log have different sizes. A group that begins at file offset `o`
//! has the [`Lsn`] `start + o - 64`.
//!
//! **Segment header**, 64 bytes
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 8 | magic, `AMBO-LOG` |
//! | 8 | 4 | CRC32C of the bytes from 12 to 64 |
//! | 12 | 4 | version, 2; 1 had no times |
//! | 16 | 8 | number of the segment, as in its name |
//! | 24 | 16 | id of the database |
//! | 40 | 8 | start: `Lsn` of the first group |
//! | 48 | 8 | durable: everything before this `Lsn` was durable when the segment was created |
//! | 56 | 8 | timestamp of the last transaction before |
//!
//! **Group header**, 56 bytes; the stored bytes follow
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 4 | magic, `GRP1` |
//! | 4 | 4 | CRC32C of the header from byte 8 and of the stored bytes, xor the segment's salt |
//! | 8 | 4 | stored bytes |
//! | 12 | 4 | raw bytes, when decompressed |
//! | 16 | 4 | flags: 1 = stored as an LZ4 block; 2 = sealed; 4 = timed; all others zero |
//! | 20 | 4 | transactions |
//! | 24 | 8 | `Lsn` of this group |
//! | 32 | 8 | durable: everything before this `Lsn` was known durable when the group was written |
//! | 40 | 8 | timestamp of the first transaction |
//! | 48 | 8 | timestamp of the last transaction |
//!
//! The salt is the CRC32C of the segment's number (8 bytes) and the database's id (16 bytes), so that a group of another
//! segment never passes, wherever it comes from. The raw bytes are transactions, see [`super::transaction`].
//!
//! The raw bytes of a *timed* group end with the time at which it was written, 8 bytes, in microseconds since 1970 began, in UTC. That is
//! the time of all its commits. Of two groups of one writer the later is not of an earlier time, whatever the system's clock does.
//!
//! A compressed group, by example: one transaction at timestamp 5 that puts 300 bytes `z` under `k` has 322 raw bytes. Flags are 1,
//! raw bytes 322, stored bytes 35: `FF 08`, the first 23 raw bytes (the transaction's header, the operation's, one `z`), `01 00 FF 14` (294
//! bytes from one back), `50 7A 7A 7A 7A 7A` (the last 5). A group is stored raw when it is short, or compresses by less
//! than an eighth.
//!
//! In an encrypted database every group is sealed: what would be stored otherwise is encrypted, and 40 bytes follow it, which are among the
//! stored bytes (`docs/formats/encryption.md`). Bound to it are the header's bytes from 8 to 56. The checksum is of what is sealed, so
//! where the log ends is known without a key.

use ambo_types::id::{Lsn, Timestamp};

use crate::checksum::crc32c;

/// Bytes of a segment header.
pub const SEGMENT_HEADER_BYTES: usize = 64;
/// Bytes of a group header.
pub const GROUP_HEADER_BYTES: usize = 56;
/// Groups begin at multiples of this.
pub const GROUP_ALIGN: usize = 8;
/// The most raw bytes of a group, and so of a transaction. Lengths are 32 bits wide; half of that leaves room for what compression may add.
pub const GROUP_BYTES_MAX: usize = 1 << 31;

const SEGMENT_MAGIC: [u8; 8] = *b"AMBO-LOG";
const SEGMENT_VERSION: u32 = 2;
/// Groups have no times; else they are the same.
const SEGMENT_VERSION_UNTIMED: u32 = 1;
/// What a group begins with.
pub const GROUP_MAGIC: [u8; 4] = *b"GRP1";
/// The flag of a group that is stored as an LZ4 block.
pub const FLAG_LZ4: u32 = 1;
/// The flag of a group that is sealed.
pub const FLAG_SEALED: u32 = 2;
/// The flag of a group whose raw bytes end with a time.
pub const FLAG_TIMED: u32 = 4;
/// Bytes of that time.
pub const TIME_BYTES: usize = 8;

const _: () = assert!(SEGMENT_HEADER_BYTES == 8 + 4 + 4 + 8 + 16 + 8 + 8 + 8);
const _: () = assert!(GROUP_HEADER_BYTES == 4 + 4 + 4 + 4 + 4 + 4 + 8 + 8 + 8 + 8);
const _: () = assert!(SEGMENT_HEADER_BYTES.is_multiple_of(GROUP_ALIGN));
const _: () = assert!(GROUP_HEADER_BYTES.is_multiple_of(GROUP_ALIGN));

/// The `N` bytes of `bytes` at `offset`, which are there.
fn at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    bytes[offset..offset + N].try_into().expect("N bytes")
}

/// The name of a segment's file.
pub fn segment_name(number: u64) -> String {
    format!("log-{number:016x}")
}

/// The number in the name of a segment's file, if it is one.
pub fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("log-")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (segment_name(number) == name).then_some(number)
}

/// The name of the file of a segment that is kept for those who follow changes.
pub fn kept_name(number: u64) -> String {
    format!("kept-{number:016x}")
}

/// The number in the name of a kept segment's file, if it is one.
pub fn kept_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("kept-")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (kept_name(number) == name).then_some(number)
}

/// The name of a segment's file in an archive, where numbers may come again: its start, then its number.
pub fn archived_name(start: Lsn, number: u64) -> String {
    format!("log-{:016x}-{number:016x}", start.0)
}

/// The start and the number in the name of an archived segment's file, if it is one.
pub fn archived_place(name: &str) -> Option<(Lsn, u64)> {
    let (start, number) = name.strip_prefix("log-")?.split_once('-')?;
    let start = Lsn(u64::from_str_radix(start, 16).ok()?);
    let number = u64::from_str_radix(number, 16).ok()?;
    (archived_name(start, number) == name).then_some((start, number))
}

/// What the checksums of a segment's groups are mixed with.
pub fn salt(number: u64, database: u128) -> u32 {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..].copy_from_slice(&database.to_le_bytes());
    crc32c(&bytes)
}

/// A segment's first bytes; see the [module](self).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentHeader {
    /// The segment's number.
    pub number: u64,
    /// The database it belongs to.
    pub database: u128,
    /// Where its first group begins.
    pub start: Lsn,
    /// What was durable when it was created.
    pub durable: Lsn,
    /// The last transaction before it.
    pub last_ts: Timestamp,
}

/// Why bytes are not a segment header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoHeader {
    /// Cut off, or magic or checksum are wrong.
    Bad,
    /// It is one, of a version that this program does not know.
    Version(u32),
}

impl SegmentHeader {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        bytes[..8].copy_from_slice(&SEGMENT_MAGIC);
        bytes[12..16].copy_from_slice(&SEGMENT_VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.database.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.start.0.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.durable.0.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.last_ts.0.to_le_bytes());
        let crc = crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        debug_assert_eq!(Self::decode(&bytes), Ok(*self), "a header is read as it was written");
        bytes
    }

    /// Reads a header.
    pub fn decode(bytes: &[u8; SEGMENT_HEADER_BYTES]) -> Result<Self, NoHeader> {
        if bytes[..8] != SEGMENT_MAGIC || u32::from_le_bytes(at(bytes, 8)) != crc32c(&bytes[12..]) {
            return Err(NoHeader::Bad);
        }
        let version = u32::from_le_bytes(at(bytes, 12));
        if ![SEGMENT_VERSION, SEGMENT_VERSION_UNTIMED].contains(&version) {
            return Err(NoHeader::Version(version));
        }
        Ok(Self {
            number: u64::from_le_bytes(at(bytes, 16)),
            database: u128::from_le_bytes(at(bytes, 24)),
            start: Lsn(u64::from_le_bytes(at(bytes, 40))),
            durable: Lsn(u64::from_le_bytes(at(bytes, 48))),
            last_ts: Timestamp(u64::from_le_bytes(at(bytes, 56))),
        })
    }
}

/// A group's first bytes, but the checksum; see the [module](self).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupHeader {
    /// Bytes that follow the header.
    pub stored: u32,
    /// Those bytes when decompressed.
    pub raw: u32,
    /// [`FLAG_LZ4`], [`FLAG_SEALED`], [`FLAG_TIMED`].
    pub flags: u32,
    /// How many transactions they are.
    pub transactions: u32,
    /// Where the group begins.
    pub lsn: Lsn,
    /// What was known durable when it was written.
    pub durable: Lsn,
    /// The first transaction.
    pub first_ts: Timestamp,
    /// The last transaction.
    pub last_ts: Timestamp,
}

impl GroupHeader {
    /// The bytes of the whole group with its padding.
    pub fn padded_len(&self) -> u64 {
        padded_len(self.stored as usize)
    }

    /// Where the next group begins.
    pub fn end(&self) -> Lsn {
        Lsn(self.lsn.0.saturating_add(self.padded_len()))
    }

    /// Writes the header into the front of `group`, whose stored bytes are there already (and no padding).
    pub fn seal(&self, group: &mut [u8], salt: u32) {
        debug_assert_eq!(group.len(), GROUP_HEADER_BYTES + self.stored as usize);
        group[..4].copy_from_slice(&GROUP_MAGIC);
        group[8..GROUP_HEADER_BYTES].copy_from_slice(&self.bound());
        let crc = crc32c(&group[8..]) ^ salt;
        group[4..8].copy_from_slice(&crc.to_le_bytes());
        debug_assert!(
            group.first_chunk().and_then(Self::decode) == Some(*self) && Self::verify(group, salt),
            "a group is read as it was sealed"
        );
    }

    /// The header's bytes from 8 on.
    pub fn bound(&self) -> [u8; GROUP_HEADER_BYTES - 8] {
        let mut bytes = [0; GROUP_HEADER_BYTES - 8];
        for (i, word) in [self.stored, self.raw, self.flags, self.transactions].into_iter().enumerate() {
            bytes[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
        }
        let longs = [self.lsn.0, self.durable.0, self.first_ts.0, self.last_ts.0];
        for (i, long) in longs.into_iter().enumerate() {
            bytes[16 + 8 * i..24 + 8 * i].copy_from_slice(&long.to_le_bytes());
        }
        bytes
    }

    /// Reads a header, which says how much there is to check with [`GroupHeader::verify`]; `None` if the magic is another.
    pub fn decode(bytes: &[u8; GROUP_HEADER_BYTES]) -> Option<Self> {
        (bytes[..4] == GROUP_MAGIC).then(|| Self {
            stored: u32::from_le_bytes(at(bytes, 8)),
            raw: u32::from_le_bytes(at(bytes, 12)),
            flags: u32::from_le_bytes(at(bytes, 16)),
            transactions: u32::from_le_bytes(at(bytes, 20)),
            lsn: Lsn(u64::from_le_bytes(at(bytes, 24))),
            durable: Lsn(u64::from_le_bytes(at(bytes, 32))),
            first_ts: Timestamp(u64::from_le_bytes(at(bytes, 40))),
            last_ts: Timestamp(u64::from_le_bytes(at(bytes, 48))),
        })
    }

    /// Whether the checksum of a group (header and stored bytes, no padding) is right.
    pub fn verify(group: &[u8], salt: u32) -> bool {
        group.len() >= GROUP_HEADER_BYTES && u32::from_le_bytes(at(group, 4)) == crc32c(&group[8..]) ^ salt
    }
}

/// The bytes of a group with `stored` stored bytes, with header and padding.
pub fn padded_len(stored: usize) -> u64 {
    (GROUP_HEADER_BYTES + stored).next_multiple_of(GROUP_ALIGN) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_header_is_these_bytes() {
        // Keeps away a change of the format that old files do not survive.
        let header = SegmentHeader {
            number: 2,
            database: 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100,
            start: Lsn(0x1000),
            durable: Lsn(0x0FF8),
            last_ts: Timestamp(9),
        };
        #[rustfmt::skip]
        let expected: [u8; 64] = [
            b'A', b'M', b'B', b'O', b'-', b'L', b'O', b'G', // magic
            0, 0, 0, 0, 2, 0, 0, 0,                         // checksum (below), version
            2, 0, 0, 0, 0, 0, 0, 0,                         // number
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // database
            0, 0x10, 0, 0, 0, 0, 0, 0,                      // start
            0xF8, 0x0F, 0, 0, 0, 0, 0, 0,                   // durable
            9, 0, 0, 0, 0, 0, 0, 0,                         // timestamp before
        ];
        let mut bytes = header.encode();
        assert_eq!(bytes[8..12], SEGMENT_CRC);
        assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
        bytes[8..12].fill(0);
        assert_eq!(bytes, expected);
        for i in 0..64 {
            let mut flipped = header.encode();
            flipped[i] ^= 0x10;
            assert_eq!(SegmentHeader::decode(&flipped), Err(NoHeader::Bad), "byte {i}");
        }
    }
    const SEGMENT_CRC: [u8; 4] = [14, 124, 132, 68];

    #[test]
    fn a_later_version_is_told_from_damage() {
        // Keeps away an old program that cuts the log of a newer one.
        let header =
            SegmentHeader { number: 1, database: 1, start: Lsn(0), durable: Lsn(0), last_ts: Timestamp(0) };
        let mut bytes = header.encode();
        bytes[12] = 3;
        let crc = crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(SegmentHeader::decode(&bytes), Err(NoHeader::Version(3)));
    }

    #[test]
    fn only_our_names_are_segments() {
        // Keeps away the removal of files that are none of ours, and two names for one number.
        assert_eq!(segment_name(0xAB), "log-00000000000000ab");
        assert_eq!(segment_number("log-00000000000000ab"), Some(0xAB));
        for name in
            ["log-ab", "log-00000000000000AB", "log-+0000000000000ab", "pages", "log-00000000000000ab.bak"]
        {
            assert_eq!(segment_number(name), None);
        }
    }

    #[test]
    fn a_segment_without_times_is_read() {
        // Keeps away a database of an earlier program whose log is not read any more.
        let header =
            SegmentHeader { number: 1, database: 1, start: Lsn(0), durable: Lsn(0), last_ts: Timestamp(0) };
        let mut bytes = header.encode();
        bytes[12] = 1;
        let crc = crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
    }

    #[test]
    fn names_in_an_archive_are_none_of_segments() {
        // Keeps away an archive that recovery takes for a log, and foreign files that an archive takes for its own.
        let name = archived_name(Lsn(0x1F0), 0xAB);
        assert_eq!(name, "log-00000000000001f0-00000000000000ab");
        assert_eq!(archived_place(&name), Some((Lsn(0x1F0), 0xAB)));
        assert_eq!(segment_number(&name), None);
        for name in
            ["log-00000000000000ab", "log-1f0-ab", "log-00000000000001f0-00000000000000ab.new", "keys"]
        {
            assert_eq!(archived_place(name), None, "{name}");
        }
    }

    #[test]
    fn salts_differ() {
        // Keeps away groups of one segment that pass in another.
        let salts: std::collections::BTreeSet<u32> = (0..10_000).map(|n| salt(n, 5)).collect();
        assert_eq!(salts.len(), 10_000);
        assert_ne!(salt(1, 5), salt(1, 6));
    }
}
