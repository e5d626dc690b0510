//! Compressed records to raw ones. The bytes may be hostile.

use std::{cell::RefCell, fmt, io::Cursor};

use flate2::{Decompress, FlushDecompress, Status};
use zstd::zstd_safe::{DCtx, DParameter, FrameFormat};

use super::{Dictionary, RecordCodec, elekt, firebird, lzf};
use crate::Damaged;

/// Decompresses records with state that is used again: one for each thread or cursor.
pub struct Decompressor {
    codec: RecordCodec,
    dictionary: Option<Dictionary>,
    scratch: Scratch,
}

/// The state of those codecs that have one, made when it is first needed.
#[derive(Default)]
struct Scratch {
    zstd: Option<DCtx<'static>>,
    zlib: Option<Decompress>,
}

thread_local! {
    /// A context of Zstandard has 150 KB: too much for a record, little for a thread.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Decompressor {
    /// For records in `codec`, compressed with the same dictionary. Only Zstandard uses one.
    pub fn new(codec: RecordCodec, dictionary: Option<&Dictionary>) -> Self {
        Self { codec, dictionary: dictionary.cloned(), scratch: Scratch::default() }
    }

    /// The codec of the records.
    pub fn codec(&self) -> RecordCodec {
        self.codec
    }

    /// Appends the `raw_len` bytes that `bytes` are the compressed form of to `out`.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged or of another length; then `out` is as before. Memory is asked for only when
    /// so many bytes can have that length.
    pub fn decompress(&mut self, bytes: &[u8], raw_len: usize, out: &mut Vec<u8>) -> Result<(), Damaged> {
        self.scratch.decompress(self.codec, self.dictionary.as_ref(), bytes, raw_len, out)
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decompressor({})", self.codec)
    }
}

impl RecordCodec {
    /// As [`Decompressor::decompress`], with state that belongs to the thread.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn decompress_into(
        self,
        dictionary: Option<&Dictionary>,
        bytes: &[u8],
        raw_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Damaged> {
        SCRATCH.with_borrow_mut(|scratch| scratch.decompress(self, dictionary, bytes, raw_len, out))
    }

    /// More raw bytes than one compressed byte can stand for: a length above that is damage.
    const fn expansion_max(self) -> u64 {
        match self {
            // 1,052,736 zeros in 3 bytes.
            Self::ElektRle => 1 << 19,
            // 128 bytes in 2.
            Self::FirebirdRle => 64,
            // A byte of a length stands for 255 bytes.
            Self::Lz4 => 256,
            // A block of 128 KiB in 4 bytes.
            Self::Zstd { .. } => 1 << 16,
            // 64 bytes in 3.
            Self::Snappy => 22,
            // 258 bytes in 2 bits.
            Self::Zlib { .. } => 1032,
            // 264 bytes in 3.
            Self::Lzf => 88,
        }
    }
}

impl Scratch {
    fn decompress(
        &mut self,
        codec: RecordCodec,
        dictionary: Option<&Dictionary>,
        bytes: &[u8],
        raw_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Damaged> {
        let start = out.len();
        if raw_len as u64 > bytes.len() as u64 * codec.expansion_max() {
            return Err(Damaged("a compressed record too short for its length"));
        }
        // One byte more, so that a record that is too long is seen.
        out.reserve(raw_len + 1);
        let result = match codec {
            RecordCodec::ElektRle => elekt::decode(bytes, raw_len, out),
            RecordCodec::FirebirdRle => firebird::decode(bytes, raw_len, out),
            RecordCodec::Lz4 => {
                fill(out, raw_len, |room| match lz4_flex::block::decompress_into(bytes, room) {
                    Ok(len) if len == raw_len => Ok(()),
                    _ => Err(Damaged("LZ4 bytes, or their length")),
                })
            }
            RecordCodec::Zstd { .. } => self.zstd(dictionary, bytes, out),
            RecordCodec::Snappy => unsnap(bytes, raw_len, out),
            RecordCodec::Zlib { .. } => self.inflate(bytes, out),
            RecordCodec::Lzf => fill(out, raw_len, |room| lzf::decode(bytes, room)),
        };
        let result = match result {
            Ok(()) if out.len() - start != raw_len => Err(Damaged("a compressed record of another length")),
            result => result,
        };
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn zstd(
        &mut self,
        dictionary: Option<&Dictionary>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Damaged> {
        let context = self.zstd.get_or_insert_with(zstd_context);
        let mut end = Cursor::new(&mut *out);
        end.set_position(end.get_ref().len() as u64);
        let result = match dictionary {
            None => context.decompress(&mut end, bytes),
            Some(dictionary) => context.decompress_using_ddict(&mut end, bytes, dictionary.decoder()),
        };
        result.map(drop).map_err(|_| Damaged("Zstandard bytes, or their length"))
    }

    fn inflate(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Damaged> {
        let decoder = self.zlib.get_or_insert_with(|| Decompress::new(true));
        decoder.reset(true);
        match decoder.decompress_vec(bytes, out, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) if decoder.total_in() == bytes.len() as u64 => Ok(()),
            _ => Err(Damaged("zlib bytes, or their length")),
        }
    }
}

fn zstd_context() -> DCtx<'static> {
    let mut context = DCtx::try_create().expect("memory for a context of Zstandard");
    let format = DParameter::Format(FrameFormat::Magicless);
    context.set_parameter(format).expect("a parameter that there is");
    context
}

/// Appends `raw_len` zeros and lets `decode` fill them.
fn fill(
    out: &mut Vec<u8>,
    raw_len: usize,
    decode: impl FnOnce(&mut [u8]) -> Result<(), Damaged>,
) -> Result<(), Damaged> {
    let start = out.len();
    out.resize(start + raw_len, 0);
    decode(&mut out[start..])
}

fn unsnap(bytes: &[u8], raw_len: usize, out: &mut Vec<u8>) -> Result<(), Damaged> {
    const DAMAGED: Damaged = Damaged("Snappy bytes, or their length");
    if snap::raw::decompress_len(bytes) != Ok(raw_len) {
        return Err(DAMAGED);
    }
    fill(out, raw_len, |room| {
        snap::raw::Decoder::new().decompress(bytes, room).map(drop).map_err(|_| DAMAGED)
    })
}
