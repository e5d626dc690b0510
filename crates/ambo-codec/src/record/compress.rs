//! Raw records to compressed ones.

use std::{fmt, io::Cursor};

use flate2::{Compress, Compression, FlushCompress, Status};
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use zstd::zstd_safe::{CCtx, CParameter, FrameFormat, compress_bound};

use super::{Dictionary, RecordCodec, elekt, firebird, lzf};

/// Compresses records with state that is used again: one for each thread or builder.
pub struct Compressor {
    codec: RecordCodec,
    state: State,
}

enum State {
    ElektRle,
    FirebirdRle,
    Lz4 { small: CompressTable, large: Option<CompressTable> },
    Zstd(CCtx<'static>),
    Snappy(Box<snap::raw::Encoder>),
    Zlib(Compress),
    Lzf(lzf::Encoder),
}

impl Compressor {
    /// For records in `codec`. Only Zstandard uses a dictionary.
    pub fn new(codec: RecordCodec, dictionary: Option<&Dictionary>) -> Self {
        let state = match codec {
            RecordCodec::ElektRle => State::ElektRle,
            RecordCodec::FirebirdRle => State::FirebirdRle,
            RecordCodec::Lz4 => State::Lz4 { small: CompressTable::small(), large: None },
            RecordCodec::Zstd { level } => State::Zstd(zstd_context(level, dictionary)),
            RecordCodec::Snappy => State::Snappy(Box::new(snap::raw::Encoder::new())),
            RecordCodec::Zlib { level } => {
                State::Zlib(Compress::new(Compression::new(level.min(9).into()), true))
            }
            RecordCodec::Lzf => State::Lzf(lzf::Encoder::new()),
        };
        Self { codec, state }
    }

    /// The codec of the records.
    pub fn codec(&self) -> RecordCodec {
        self.codec
    }

    /// Appends the compressed form of `raw` to `out`. The length of `raw` is not promised to be in it: the caller
    /// stores it.
    pub fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        match &mut self.state {
            State::ElektRle => elekt::encode(raw, out),
            State::FirebirdRle => firebird::encode(raw, out),
            State::Lz4 { small, large } => {
                let is_small = raw.len() < usize::from(u16::MAX);
                let table = if is_small { small } else { large.get_or_insert_with(CompressTable::large) };
                append(out, get_maximum_output_size(raw.len()), |room| {
                    compress_into_with_table(raw, room, table).expect("there is room for the longest form")
                });
            }
            State::Zstd(context) => {
                out.reserve(compress_bound(raw.len()));
                let mut end = Cursor::new(&mut *out);
                end.set_position(end.get_ref().len() as u64);
                context.compress2(&mut end, raw).expect("there is room for the longest form");
            }
            State::Snappy(encoder) => append(out, snap::raw::max_compress_len(raw.len()), |room| {
                encoder.compress(raw, room).expect("there is room for the longest form")
            }),
            State::Zlib(encoder) => deflate(encoder, raw, out),
            State::Lzf(encoder) => encoder.encode(raw, out),
        }
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compressor({})", self.codec)
    }
}

/// Appends what `write` writes into `len_max` bytes, as many as it returns.
fn append(out: &mut Vec<u8>, len_max: usize, write: impl FnOnce(&mut [u8]) -> usize) {
    let start = out.len();
    out.resize(start + len_max, 0);
    let len = write(&mut out[start..]);
    out.truncate(start + len);
}

/// A context whose frames have neither magic number nor length, checksum or number of the dictionary: a table knows
/// all four, and they are up to 16 bytes a record.
fn zstd_context(level: u8, dictionary: Option<&Dictionary>) -> CCtx<'static> {
    const OUT_OF_MEMORY: &str = "memory for a context of Zstandard";
    let mut context = CCtx::try_create().expect(OUT_OF_MEMORY);
    let parameters = [
        CParameter::CompressionLevel(level.into()),
        CParameter::Format(FrameFormat::Magicless),
        CParameter::ContentSizeFlag(false),
        CParameter::ChecksumFlag(false),
        CParameter::DictIdFlag(false),
    ];
    for parameter in parameters {
        context.set_parameter(parameter).expect("a parameter that there is");
    }
    if let Some(dictionary) = dictionary {
        context.load_dictionary(dictionary.bytes()).expect(OUT_OF_MEMORY);
    }
    context
}

fn deflate(encoder: &mut Compress, raw: &[u8], out: &mut Vec<u8>) {
    encoder.reset();
    // Room for stored blocks, and for zlib's frame of 6 bytes; the loop is for levels that need more.
    out.reserve(raw.len() + raw.len() / 1000 + 32);
    loop {
        let rest = &raw[encoder.total_in() as usize..];
        match encoder.compress_vec(rest, out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => return,
            Ok(Status::Ok | Status::BufError) => out.reserve(raw.len() / 8 + 64),
            Err(error) => unreachable!("deflate takes any bytes: {error}"),
        }
    }
}
