//! Codecs for single records and other runs of bytes.

mod codec;

pub use codec::RecordCodec;
