//! A dictionary that small records of one table share.

use std::{fmt, sync::Arc};

use zstd::zstd_safe::{CDict, DDict};

use super::RecordCodec;
use crate::{Error, Result};

/// A trained dictionary of Zstandard, prepared for decoding; cheap to clone.
///
/// Its number is not in the records: who stores a record knows which dictionary it was compressed with. A
/// record that is decompressed with another dictionary is an error or other bytes.
#[derive(Clone)]
pub struct Dictionary(Arc<Prepared>);

struct Prepared {
    bytes: Box<[u8]>,
    decoder: DDict<'static>,
}

impl Dictionary {
    /// Trains a dictionary of at most `max_bytes` from samples, a hundred times as many bytes for the best.
    /// `None` if they are too few or have nothing in common.
    pub fn train(samples: &[&[u8]], max_bytes: usize) -> Option<Self> {
        let bytes = zstd::dict::from_samples(samples, max_bytes).ok()?;
        Self::prepare(&bytes)
    }

    /// The dictionary with these bytes, as [`Self::bytes`] gave them.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a codec that has no dictionaries, [`Error::Malformed`] for bytes that are none.
    pub fn from_bytes(codec: RecordCodec, bytes: &[u8]) -> Result<Self> {
        if !matches!(codec, RecordCodec::Zstd { .. }) {
            return Err(Error::invalid(format!("records in {codec} have no dictionary")));
        }
        Self::prepare(bytes).ok_or(Error::malformed(0, "a dictionary of Zstandard"))
    }

    fn prepare(bytes: &[u8]) -> Option<Self> {
        let decoder = DDict::try_create(bytes)?;
        // Bytes that nobody trained are taken as a dictionary too, one without a number.
        decoder.get_dict_id()?;
        // A compressor loads the bytes when it is made and must not fail then.
        CDict::try_create(bytes, 1)?;
        Some(Self(Arc::new(Prepared { bytes: bytes.into(), decoder })))
    }

    /// What is stored of it.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    pub(super) fn decoder(&self) -> &DDict<'static> {
        &self.0.decoder
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.bytes().len())
    }
}
