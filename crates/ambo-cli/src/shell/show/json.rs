//! Rows as JSON lines. Numbers, booleans, lists and structs are native; bytes are text with escapes, the rest is text.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_json::writer::{
    Encoder, EncoderFactory, EncoderOptions, LineDelimited, NullableEncoder, WriterBuilder,
};
use arrow_schema::{ArrowError, DataType, FieldRef};

use super::cells::bytes_at;
use super::{Show, unwritable};
use crate::failure::Result;
use crate::text::escape;

pub struct Json;

impl Show for Json {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let mut bytes = Vec::new();
        let timestamps = "%Y-%m-%d %H:%M:%S%.f".to_owned();
        let mut writer = WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_timestamp_format(timestamps)
            .with_encoder_factory(Arc::new(Bytes))
            .build::<_, LineDelimited>(&mut bytes);
        writer.write(batch).and_then(|()| writer.finish()).map_err(unwritable)?;
        drop(writer);
        out.write_all(&bytes)?;
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write) -> Result<Option<u64>> {
        Ok(None)
    }
}

/// Encodes bytes as the other commands do.
#[derive(Debug)]
struct Bytes;

struct BytesEncoder<'a>(&'a dyn Array);

impl EncoderFactory for Bytes {
    fn make_default_encoder<'a>(
        &self,
        _: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> std::result::Result<Option<NullableEncoder<'a>>, ArrowError> {
        let is_bytes =
            matches!(array.data_type(), DataType::Binary | DataType::LargeBinary | DataType::BinaryView);
        let encoder = || NullableEncoder::new(Box::new(BytesEncoder(array)), array.nulls().cloned());
        Ok(is_bytes.then(encoder))
    }
}

impl Encoder for BytesEncoder<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let text = escape(bytes_at(self.0, row));
        serde_json::to_writer(out, &text).expect("memory takes any text");
    }
}
