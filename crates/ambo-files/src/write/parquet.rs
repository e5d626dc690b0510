//! Rows as Parquet.

use std::{io::Write, path::Path};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::properties::WriterProperties,
};

use crate::Error;

pub(super) fn write<E: From<Error>>(
    out: impl Write + Send,
    path: &Path,
    schema: &SchemaRef,
    batches: &mut dyn Iterator<Item = Result<RecordBatch, E>>,
) -> Result<(), E> {
    let failed = |error: ParquetError| E::from(Error::in_file(path, error));
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties.build())).map_err(failed)?;
    for batch in batches {
        writer.write(&batch?).map_err(failed)?;
    }
    writer.close().map(drop).map_err(failed)
}
