//! The checksum of all that is on disk, and the hash that names files by what they hold.

/// CRC32C (Castagnoli), as iSCSI has it. The function that takes any algorithm would bring the tables of all: 700 KB.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// Bytes of a hash.
pub const HASH_BYTES: usize = 32;

/// SHA-256: two contents that somebody chose do not have one, so files can be named by it.
pub fn sha256(parts: &[&[u8]]) -> [u8; HASH_BYTES] {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    parts.iter().for_each(|part| context.update(part));
    context.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
}
