//! What a key maps to: the same three kinds in the log, in a memtable and in a base.

/// The kind of a record, as stored. Zero is reserved so that zeroed bytes are never a valid kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RecordKind {
    /// The value's bytes themselves.
    Inline = 1,
    /// An encoded reference to a blob in the `pages` file (see `page::blob`).
    Blob = 2,
    /// The key is deleted; there are no value bytes.
    Tombstone = 3,
}

impl RecordKind {
    /// The kind with this number on disk, if there is one.
    pub fn from_u8(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Inline),
            2 => Some(Self::Blob),
            3 => Some(Self::Tombstone),
            _ => None,
        }
    }
}

/// A kind with its bytes, borrowed from wherever the record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// What the bytes are.
    pub kind: RecordKind,
    /// The value, the encoded blob reference, or nothing.
    pub bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// A deleted key.
    pub const TOMBSTONE: Record<'static> = Record { kind: RecordKind::Tombstone, bytes: &[] };
    /// A value held inline.
    pub fn inline(bytes: &'a [u8]) -> Self {
        Self { kind: RecordKind::Inline, bytes }
    }
    /// Whether the key is deleted.
    pub fn is_tombstone(&self) -> bool {
        self.kind == RecordKind::Tombstone
    }
}

/// The longest key, in encoded bytes.
pub const KEY_BYTES_MAX: usize = 64 * 1024;
/// The longest value, in bytes; streamed when it is long.
pub const VALUE_BYTES_MAX: u64 = 4 << 30;

/// The first 8 bytes of a key as a big-endian number, zeros where there are fewer. Where two differ, they order as the keys do.
#[inline]
pub fn key_head(key: &[u8]) -> u64 {
    u64::from_be_bytes(first_bytes(key))
}

/// As [`key_head`], of 16 bytes.
#[inline]
pub fn key_head_wide(key: &[u8]) -> u128 {
    u128::from_be_bytes(first_bytes(key))
}

#[inline]
fn first_bytes<const N: usize>(key: &[u8]) -> [u8; N] {
    if let Some(head) = key.first_chunk() {
        return *head;
    }
    let mut head = [0; N];
    head[..key.len()].copy_from_slice(key);
    head
}
