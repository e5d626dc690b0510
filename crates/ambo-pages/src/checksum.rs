//! The checksum of all that is on disk.

/// CRC32C (Castagnoli), as iSCSI has it. The function that takes any algorithm would bring the tables of all: 700 KB.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}
