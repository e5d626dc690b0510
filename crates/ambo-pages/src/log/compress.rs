//! Compressing groups.

use std::fmt;

use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

use super::format::GROUP_HEADER_BYTES;

/// Groups with fewer raw bytes are never compressed: there is little to gain.
const RAW_BYTES_MIN: usize = 256;
/// Compression must save one part in so many, or the group is stored as it is.
const GAIN_MIN: usize = 8;
/// Memory beyond this is given back.
const BYTES_KEPT: usize = 4 << 20;
/// Groups of fewer raw bytes need only the small table.
const SMALL_BYTES: usize = (1 << 16) - 1;

/// Compresses groups as LZ4 blocks and keeps its memory for the next.
pub(super) struct GroupCompressor {
    /// For groups below 64 KiB: half the memory to clear.
    small: CompressTable,
    large: CompressTable,
    /// Room for a group's header, then its compressed bytes.
    group: Vec<u8>,
}

impl fmt::Debug for GroupCompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupCompressor").field("kept", &self.group.capacity()).finish_non_exhaustive()
    }
}

impl GroupCompressor {
    pub(super) fn new() -> Self {
        Self { small: CompressTable::small(), large: CompressTable::large(), group: Vec::new() }
    }

    /// Compresses `raw`; whether it is worth it.
    pub(super) fn compress(&mut self, raw: &[u8]) -> bool {
        if raw.len() < RAW_BYTES_MIN {
            return false;
        }
        self.group.resize(GROUP_HEADER_BYTES + get_maximum_output_size(raw.len()), 0);
        let table = if raw.len() < SMALL_BYTES { &mut self.small } else { &mut self.large };
        let stored = compress_into_with_table(raw, &mut self.group[GROUP_HEADER_BYTES..], table);
        // It has room for the worst.
        let stored = stored.unwrap_or(raw.len());
        self.group.truncate(GROUP_HEADER_BYTES + stored);
        debug_assert!(
            self.group.len() == GROUP_HEADER_BYTES + raw.len()
                || lz4_flex::block::decompress(&self.group[GROUP_HEADER_BYTES..], raw.len())
                    .is_ok_and(|read| read == raw),
            "a group is read as it was compressed"
        );
        stored <= raw.len() - raw.len() / GAIN_MIN
    }

    /// The length of what was compressed last.
    pub(super) fn stored_len(&self) -> usize {
        self.group.len() - GROUP_HEADER_BYTES
    }

    /// Header room and what was compressed last.
    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.group
    }

    /// Gives back what a giant group took.
    pub(super) fn trim(&mut self) {
        self.group.shrink_to(BYTES_KEPT);
    }
}
