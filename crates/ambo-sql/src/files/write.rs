//! Writing files: under a name of their own until they are whole, so that a statement that fails leaves what was there.

use std::{
    io::{BufWriter, Write},
    path::Path,
};

use arrow::{array::RecordBatch, csv, datatypes::SchemaRef, json};
use datafusion::parquet::{
    arrow::ArrowWriter,
    basic::{Compression as ParquetCompression, ZstdLevel},
    file::properties::WriterProperties,
};

use super::{Compression, Form, Format, in_file};
use crate::{Error, Result};

/// Writes rows to a file, which is there as a whole or not at all. Returns how many.
pub(crate) fn write(
    path: &str,
    format: &Format,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    mut tell: impl FnMut(u64),
) -> Result<u64> {
    let failed = |error: &dyn std::fmt::Display| in_file(path, error);
    let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
    if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at]))
        && format.form != Form::Csv
    {
        return Err(Error::invalid(format!("two columns of the file would be named \"{}\"", names[twice]))
            .with_hint("name them: SELECT … AS a, … AS b"));
    }
    let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut temporary =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(|error| failed(&error))?;
    let mut rows = 0;
    {
        let mut counted = batches.inspect(|batch| {
            if let Ok(batch) = batch {
                rows += batch.num_rows() as u64;
                tell(rows);
            }
        });
        let file = BufWriter::with_capacity(256 << 10, temporary.as_file_mut());
        match format.compression {
            _ if format.form == Form::Parquet => parquet(file, schema, &mut counted, &failed)?,
            Compression::None => {
                text(file, format, schema, &mut counted, &failed)?.flush().map_err(|error| failed(&error))?;
            }
            Compression::Gzip => {
                let file = flate2::write::GzEncoder::new(file, flate2::Compression::default());
                let file = text(file, format, schema, &mut counted, &failed)?.finish();
                file.and_then(|mut file| file.flush()).map_err(|error| failed(&error))?;
            }
            Compression::Zstd => {
                let file = zstd::stream::write::Encoder::new(file, 0).map_err(|error| failed(&error))?;
                let file = text(file, format, schema, &mut counted, &failed)?.finish();
                file.and_then(|mut file| file.flush()).map_err(|error| failed(&error))?;
            }
        }
    }
    temporary.as_file().sync_all().map_err(|error| failed(&error))?;
    temporary.persist(path).map_err(|error| failed(&error.error))?;
    Ok(rows)
}

type Failed<'a> = &'a dyn Fn(&dyn std::fmt::Display) -> crate::Error;

/// CSV or JSON lines. Returns the file.
fn text<W: Write>(
    file: W,
    format: &Format,
    schema: &SchemaRef,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    failed: Failed<'_>,
) -> Result<W> {
    if format.form == Form::Json {
        let mut writer = json::LineDelimitedWriter::new(file);
        for batch in batches {
            writer.write(&batch?).map_err(|error| failed(&error))?;
        }
        writer.finish().map_err(|error| failed(&error))?;
        return Ok(writer.into_inner());
    }
    let mut builder = csv::WriterBuilder::new()
        .with_header(format.header)
        .with_delimiter(format.delimiter)
        .with_quote(format.quote)
        .with_null(format.null.clone());
    if let Some(escape) = format.escape {
        builder = builder.with_double_quote(false).with_escape(escape);
    }
    let mut writer = builder.build(file);
    // The names are written with the first batch, which may have no rows.
    writer.write(&RecordBatch::new_empty(schema.clone())).map_err(|error| failed(&error))?;
    for batch in batches {
        writer.write(&batch?).map_err(|error| failed(&error))?;
    }
    Ok(writer.into_inner())
}

fn parquet(
    file: impl Write + Send,
    schema: &SchemaRef,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    failed: Failed<'_>,
) -> Result<()> {
    let zstd = ParquetCompression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let mut writer =
        ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(|error| failed(&error))?;
    for batch in batches {
        writer.write(&batch?).map_err(|error| failed(&error))?;
    }
    writer.close().map(drop).map_err(|error| failed(&error))
}
