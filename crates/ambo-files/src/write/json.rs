//! Rows as JSON lines. Numbers, booleans, lists and structs are native, NULL is `null`; bytes are text with escapes, what JSON has no
//! number for is text (`"NaN"`), and so is the rest.

use std::sync::Arc;

use ambo::Datum;
use arrow_array::{Array, RecordBatch};
use arrow_json::writer::{
    Encoder, EncoderFactory, EncoderOptions, LineDelimited, NullableEncoder, WriterBuilder,
};
use arrow_schema::{ArrowError, DataType, FieldRef};

use super::cells::{bytes_at, datum_of};
use crate::{datum, text::escape};

/// Writes rows as JSON lines.
pub struct JsonRows;

impl JsonRows {
    /// Appends rows.
    ///
    /// # Errors
    /// A value that has no text.
    pub fn batch(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String> {
        let wrong = |error: ArrowError| error.to_string();
        let mut writer = WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_timestamp_format("%Y-%m-%d %H:%M:%S%.f".to_owned())
            .with_timestamp_tz_format("%Y-%m-%d %H:%M:%S%.f%:z".to_owned())
            .with_encoder_factory(Arc::new(Values))
            .build::<_, LineDelimited>(out);
        writer.write(batch).map_err(wrong)?;
        writer.finish().map_err(wrong)
    }
}

/// Encodes values as the other commands do.
#[derive(Debug)]
struct Values;

enum ValueEncoder<'a> {
    Bytes(&'a dyn Array),
    Uuid(&'a dyn Array),
    Datum(&'a dyn Array, fn(&dyn Array, usize) -> Datum),
}

impl EncoderFactory for Values {
    fn make_default_encoder<'a>(
        &self,
        _: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let ty = array.data_type();
        let encoder = match datum_of(ty) {
            Some(datum) => ValueEncoder::Datum(array, datum),
            None if *ty == DataType::FixedSizeBinary(16) => ValueEncoder::Uuid(array),
            None if ty.is_binary() => ValueEncoder::Bytes(array),
            None => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(Box::new(encoder), array.nulls().cloned())))
    }
}

impl Encoder for ValueEncoder<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let value = match self {
            Self::Bytes(array) => escape(bytes_at(*array, row)).into(),
            Self::Uuid(array) => ambo::uuid_text(bytes_at(*array, row)).into(),
            Self::Datum(array, datum_at) => match datum_at(*array, row) {
                // With the digits that it has as text, and a point.
                Datum::F32(number) if number.is_finite() => {
                    return out.extend_from_slice(format!("{number:?}").as_bytes());
                }
                datum => datum::to_json(&datum),
            },
        };
        // Memory takes any text.
        let _ = serde_json::to_writer(out, &value);
    }
}
