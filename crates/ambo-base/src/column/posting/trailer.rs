//! The trailer of a file of postings: whose it is, and what is in it.
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | database | 16 | its id |
//! | segment | 8 | its id |
//! | rows | 4 | of the segment |
//! | index | 4 | its id |
//! | keys | 8 | |
//! | postings | 8 | rows of all keys together |
//! | leaves | 4 | |
//! | lists apart | 4 | |
//! | root | 4 | its bytes, which end where the trailer begins |
//! | | 4 | its checksum |
//! | columns | 4 | a checksum over what the index is over |
//! | width | 1 | bytes of a key; 0 if they differ |
//! | | 3 | zero |
//! | version | 4 | 1 |
//! | | 12 | zero |
//! | checksum | 4 | of the 88 bytes before |
//! | magic | 4 | `46rb` |

use ambo_pages::checksum::crc32c;

use super::root::ENTRY_BYTES;

/// Bytes of a trailer.
pub(super) const TRAILER_BYTES: usize = 96;
const VERSION: u32 = 1;
const MAGIC: &[u8; 4] = b"46rb";
const CRC_AT: usize = 88;
const _: () = assert!(CRC_AT + 4 + MAGIC.len() == TRAILER_BYTES);

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trailer {
    pub(super) database: u128,
    pub(super) segment: u64,
    pub(super) rows: u32,
    pub(super) index: u32,
    pub(super) keys: u64,
    pub(super) postings: u64,
    pub(super) leaves: u32,
    pub(super) aparts: u32,
    pub(super) root_len: u32,
    pub(super) root_crc: u32,
    pub(super) columns: u32,
    pub(super) width: u8,
}

impl Trailer {
    /// Whether so much may be in a file with so many bytes before its trailer: what is kept of it in memory follows from that.
    pub(super) fn is_possible(&self, bytes: u64) -> bool {
        let is_empty = self.keys == 0;
        u64::from(self.leaves) * ENTRY_BYTES as u64 <= u64::from(self.root_len)
            && u64::from(self.aparts) <= bytes
            && is_empty == (self.leaves == 0)
            && is_empty == (self.postings == 0)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(TRAILER_BYTES);
        out.extend_from_slice(&self.database.to_le_bytes());
        out.extend_from_slice(&self.segment.to_le_bytes());
        out.extend_from_slice(&self.rows.to_le_bytes());
        out.extend_from_slice(&self.index.to_le_bytes());
        out.extend_from_slice(&self.keys.to_le_bytes());
        out.extend_from_slice(&self.postings.to_le_bytes());
        for number in [self.leaves, self.aparts, self.root_len, self.root_crc, self.columns] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&[self.width, 0, 0, 0]);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 12]);
        let crc = crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(MAGIC);
        assert_eq!(out.len(), TRAILER_BYTES, "a trailer has one length");
        out
    }

    pub(super) fn decode(bytes: &[u8; TRAILER_BYTES]) -> Result<Self, String> {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        if &bytes[CRC_AT + 4..] != MAGIC {
            return Err("it does not end as postings do".into());
        }
        if crc32c(&bytes[..CRC_AT]) != short(CRC_AT) {
            return Err("the checksum of the trailer is wrong".into());
        }
        if short(72) != VERSION {
            return Err(format!("postings of version {}, which this program does not know", short(72)));
        }
        if bytes[69..72].iter().chain(&bytes[76..CRC_AT]).any(|byte| *byte != 0) {
            return Err("bytes that have to be zero are not".into());
        }
        let found = Self {
            database: u128::from_le_bytes(bytes[..16].try_into().expect("16 bytes")),
            segment: long(16),
            rows: short(24),
            index: short(28),
            keys: long(32),
            postings: long(40),
            leaves: short(48),
            aparts: short(52),
            root_len: short(56),
            root_crc: short(60),
            columns: short(64),
            width: bytes[68],
        };
        let leaves = u64::from(found.leaves);
        let fits = found.width <= 8 && leaves <= found.keys && u64::from(found.aparts) <= found.keys;
        match fits && found.keys <= found.postings && (leaves == 0) == (found.keys == 0) {
            true => Ok(found),
            false => Err("a trailer that contradicts itself".into()),
        }
    }
}
