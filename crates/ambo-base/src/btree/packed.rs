//! Records that a leaf has compressed.
//!
//! # Format
//! | size | meaning |
//! |---|---|
//! | 1 | bits 0–6: the codec's number ([`RecordCodec`]); bit 7: with a dictionary |
//! | LEB128 | the dictionary's id, with bit 7 only |
//! | LEB128 | bytes of the record |
//! | rest | its compressed form |
//!
//! Example: 40 bytes `00` under `elekt-rle` are `01 28`, and then what [`ambo_codec::record`] says of 40 zeros.
//!
//! Each record says how it is compressed, so a table's codec can change while old leaves stay as they are. A record that would not become
//! smaller is stored as it is.

use std::fmt;

use ambo_codec::{
    record::{Compressor, Dictionary, RecordCodec},
    varint,
};
use ambo_pages::page::PageStore;

use super::Found;

/// The longest record that is compressed in a leaf; what is longer is a blob.
pub(super) const PACKED_BYTES_MAX: usize = 1 << 20;
/// Shorter records gain nothing.
const PACKED_BYTES_MIN: usize = 8;
const WITH_DICTIONARY: u8 = 0x80;

/// How the records of a tree are compressed.
#[derive(Clone, Debug)]
pub struct RecordCompression {
    /// The codec.
    pub codec: RecordCodec,
    /// A dictionary that the store knows by this id.
    pub dictionary: Option<(u32, Dictionary)>,
}

/// Compresses records.
pub(super) struct Packer {
    /// All that comes before the length.
    head: Vec<u8>,
    compressor: Compressor,
    buffer: Vec<u8>,
}

impl Packer {
    pub(super) fn new(compression: &RecordCompression) -> Self {
        let number = compression.codec.number();
        assert!(
            number & WITH_DICTIONARY == 0,
            "the number of a codec leaves room for the mark of a dictionary"
        );
        let mut head = Vec::new();
        match &compression.dictionary {
            Some((id, _)) => {
                head.push(number | WITH_DICTIONARY);
                varint::encode(u64::from(*id), &mut head);
            }
            None => head.push(number),
        }
        let dictionary = compression.dictionary.as_ref().map(|(_, dictionary)| dictionary);
        Self { head, compressor: Compressor::new(compression.codec, dictionary), buffer: Vec::new() }
    }

    /// The compressed form of a record, if it is smaller.
    pub(super) fn pack(&mut self, raw: &[u8]) -> Option<&[u8]> {
        if !(PACKED_BYTES_MIN..=PACKED_BYTES_MAX).contains(&raw.len()) {
            return None;
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(&self.head);
        varint::encode(raw.len() as u64, &mut self.buffer);
        self.compressor.compress(raw, &mut self.buffer);
        debug_assert_eq!(unpacked_len(&self.buffer), Ok(raw.len()));
        // Its kind costs a byte in the leaf.
        (self.buffer.len() + 1 < raw.len()).then_some(&self.buffer)
    }

    /// Whether this packer made a compressed form, or one with the same codec and dictionary did.
    pub(super) fn made(&self, packed: &[u8]) -> bool {
        packed.starts_with(&self.head)
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").field("head", &self.head).finish_non_exhaustive()
    }
}

/// The parts of a compressed form.
struct Packed<'p> {
    codec: RecordCodec,
    dictionary: Option<u32>,
    raw_len: usize,
    bytes: &'p [u8],
}

impl<'p> Packed<'p> {
    fn parse(packed: &'p [u8]) -> Found<Self> {
        let Some((&first, mut rest)) = packed.split_first() else {
            return Err("a compressed record without bytes");
        };
        let codec =
            RecordCodec::from_parts(first & !WITH_DICTIONARY, 0).ok_or("unknown codec of a record")?;
        let mut dictionary = None;
        if first & WITH_DICTIONARY != 0 {
            let id = varint::take(&mut rest).and_then(|id| u32::try_from(id).ok());
            dictionary = Some(id.ok_or("a compressed record without its dictionary's id")?);
        }
        let raw_len = varint::take(&mut rest).filter(|len| *len <= PACKED_BYTES_MAX as u64);
        let raw_len = raw_len.ok_or("a compressed record without its length, or of one that cannot be")?;
        Ok(Self { codec, dictionary, raw_len: raw_len as usize, bytes: rest })
    }
}

/// Bytes of the record that a compressed form is of, as it says.
pub(super) fn unpacked_len(packed: &[u8]) -> Found<usize> {
    Packed::parse(packed).map(|packed| packed.raw_len)
}

/// Puts the record that a compressed form is of into `out`, in place of what was there.
pub(super) fn unpack(store: &PageStore, packed: &[u8], out: &mut Vec<u8>) -> Found<()> {
    let Packed { codec, dictionary, raw_len, bytes } = Packed::parse(packed)?;
    let dictionary = match dictionary {
        Some(id) => Some(store.dictionaries().get(id).ok_or("the dictionary of a record is missing")?),
        None => None,
    };
    out.clear();
    let unpacked = codec.decompress_into(dictionary.as_ref(), bytes, raw_len, out);
    debug_assert!(unpacked.is_err() || out.len() == raw_len, "a record has the length that was asked for");
    unpacked.map_err(|damage| damage.0)
}
