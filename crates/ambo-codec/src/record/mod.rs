//! Codecs for single records and other runs of bytes.
//!
//! [`Compressor`] and [`Decompressor`] keep what a codec needs from record to record; a point read calls
//! [`RecordCodec::decompress_into`], which keeps that for the thread. The length of the raw bytes is not
//! stored: whoever stores the record stores it. The formats are in `docs/formats/records.md`.
//!
//! ```
//! use ambo_codec::record::{Compressor, RecordCodec};
//!
//! let record = [&b"Delft"[..], &[0; 995]].concat();
//! let mut stored = Vec::new();
//! Compressor::new(RecordCodec::ElektRle, None).compress(&record, &mut stored);
//! assert_eq!(stored.len(), 8);
//!
//! let mut raw = Vec::new();
//! RecordCodec::ElektRle.decompress_into(None, &stored, record.len(), &mut raw)?;
//! assert_eq!(raw, record);
//! # Ok::<(), ambo_codec::Damaged>(())
//! ```

mod codec;
mod compress;
mod decompress;
mod dictionary;
mod elekt;
mod firebird;
mod lzf;
mod run;

pub use codec::RecordCodec;
pub use compress::Compressor;
pub use decompress::Decompressor;
pub use dictionary::Dictionary;

#[cfg(test)]
mod tests;
