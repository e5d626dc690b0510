//! Parquet through the crate `parquet`: sizes from the footer, decoding into Arrow arrays.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::column::{Column, Table, Values};
use crate::engine::Result;

/// Rows that a reader hands out at once: the size that DataFusion and DuckDB's readers are near to.
const BATCH_ROWS: usize = 8192;
/// Rows of one column chunk: the writer's default.
const GROUP_ROWS: usize = 1 << 20;

/// A compression of pages. Encodings (dictionaries, run lengths, bit packing) are the writer's defaults.
#[derive(Debug, Clone, Copy)]
pub enum Pages {
    /// Snappy.
    Snappy,
    /// Zstandard at the crate's default level, 1.
    Zstd,
}

impl Pages {
    /// The name in the figures.
    pub fn name(self) -> &'static str {
        match self {
            Pages::Snappy => "parquet-snappy",
            Pages::Zstd => "parquet-zstd",
        }
    }

    fn compression(self) -> Compression {
        match self {
            Pages::Snappy => Compression::SNAPPY,
            Pages::Zstd => Compression::ZSTD(ZstdLevel::default()),
        }
    }
}

/// A file in memory.
pub struct File {
    bytes: bytes::Bytes,
    metadata: ArrowReaderMetadata,
}

/// Writes a table.
pub fn write(table: &Table, pages: Pages) -> Result<File> {
    let arrays = table.columns.iter().map(|column| (column.name.as_str(), array(column), true));
    let batch = RecordBatch::try_from_iter_with_nullable(arrays)?;
    let properties = WriterProperties::builder()
        .set_compression(pages.compression())
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    let bytes = bytes::Bytes::from(bytes);
    let metadata = ArrowReaderMetadata::load(&bytes, Default::default())?;
    Ok(File { bytes, metadata })
}

fn array(column: &Column) -> ArrayRef {
    let valid = |at: usize| column.valid.as_ref().is_none_or(|valid| valid[at]);
    match &column.values {
        Values::I32(values) => {
            Arc::new(values.iter().enumerate().map(|(i, &v)| valid(i).then_some(v)).collect::<Int32Array>())
        }
        Values::Date(values) => {
            Arc::new(values.iter().enumerate().map(|(i, &v)| valid(i).then_some(v)).collect::<Date32Array>())
        }
        Values::I64(values) => {
            Arc::new(values.iter().enumerate().map(|(i, &v)| valid(i).then_some(v)).collect::<Int64Array>())
        }
        Values::F64(values) => {
            Arc::new(values.iter().enumerate().map(|(i, &v)| valid(i).then_some(v)).collect::<Float64Array>())
        }
        Values::Text(texts) => {
            let text = |i| std::str::from_utf8(texts.get(i)).unwrap_or_default();
            Arc::new((0..texts.len()).map(|i| valid(i).then(|| text(i))).collect::<StringArray>())
        }
    }
}

impl File {
    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of a column's chunks, page headers and dictionaries included.
    pub fn column_bytes(&self, column: usize) -> usize {
        let groups = self.metadata.metadata().row_groups();
        groups.iter().map(|group| group.column(column).compressed_size() as usize).sum()
    }

    /// Decodes a column into Arrow arrays, which are dropped one by one; returns the rows.
    pub fn decode(&self, column: usize) -> Result<usize> {
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone());
        let mask = ProjectionMask::leaves(builder.parquet_schema(), [column]);
        let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build()?;
        let mut rows = 0;
        for batch in reader {
            rows += std::hint::black_box(batch?).num_rows();
        }
        Ok(rows)
    }
}
