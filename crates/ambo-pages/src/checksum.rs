//! The checksum of all that is on disk.

use crc_fast::{CrcAlgorithm, checksum};

/// CRC32C (Castagnoli), as iSCSI has it.
pub fn crc32c(bytes: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}
