//! Writing files: under a name of their own until they are whole, so that a statement that fails leaves what was there. Reading brings back
//! each value as it was.

mod cells;
mod csv;
mod json;
mod parquet;

use std::{
    fs::File,
    io::{BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use arrow_array::{RecordBatch, cast::AsArray};
use arrow_schema::SchemaRef;

use crate::{Compression, CopyText, CopyTextRows, Error, Form, Format, Result, RowsOf};

pub(crate) use cells::{Form as CellForm, bytes_at, read, unpacked};
pub use csv::CsvRows;
pub use json::JsonRows;

/// Bytes that are kept before they go to the file.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes rows to a file, which is there as a whole or not at all. `tell` hears how many rows were written. Returns that.
///
/// # Errors
/// What the reader of rows says; a value that the form has no place for; what the operating system says.
pub fn write<E: From<Error>>(
    path: &Path,
    format: &Format,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
    tell: impl FnMut(u64),
) -> Result<u64, E> {
    check(path, format, schema)?;
    whole(path, |file| write_to(file, path, format, schema, batches, tell))
}

/// Has a file written, which is there as a whole or not at all.
fn whole<E: From<Error>>(
    path: &Path,
    act: impl FnOnce(BufWriter<&mut File>) -> Result<u64, E>,
) -> Result<u64, E> {
    let failed = |error: &std::io::Error| E::from(Error::io(path, error));
    // A device or a pipe is written to; a file of its name would take its place.
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        let device = std::fs::OpenOptions::new().write(true).open(path);
        return act(BufWriter::with_capacity(BUFFER_BYTES, &mut device.map_err(|error| failed(&error))?));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut temporary = tempfile::Builder::new()
        .prefix(".ambo-export-")
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(|error| failed(&error))?;
    let rows = act(BufWriter::with_capacity(BUFFER_BYTES, temporary.as_file_mut()))?;
    temporary.as_file().sync_all().map_err(|error| failed(&error))?;
    temporary.persist(path).map_err(|error| failed(&error.error))?;
    Ok(rows)
}

/// # Errors
/// Options that do not go together, columns that a file of the form cannot have.
fn check(path: &Path, format: &Format, schema: &SchemaRef) -> Result<()> {
    format.check()?;
    if format.form == Form::Parquet && format.compression != Compression::None {
        let what = format!("{}: Parquet is compressed within; leave the last ending away", path.display());
        return Err(Error::request(what));
    }
    let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
    if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at]))
        && format.form != Form::Csv
    {
        let what = format!("two columns of the file would be named \"{}\"", names[twice]);
        return Err(Error::request(what).with_hint("name them: SELECT … AS a, … AS b"));
    }
    Ok(())
}

/// Writes rows to a stream, which has this name in messages. `tell` hears how many rows were written. Returns that.
///
/// # Errors
/// As [`write`](write()).
pub fn write_to_stream<E: From<Error>>(
    out: impl Write + Send,
    name: &str,
    format: &Format,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
    tell: impl FnMut(u64),
) -> Result<u64, E> {
    check(Path::new(name), format, schema)?;
    let out = BufWriter::with_capacity(BUFFER_BYTES, out);
    write_to(out, Path::new(name), format, schema, batches, tell)
}

/// Writes rows to a file in the text form of COPY, as [`write`](write()) does.
///
/// # Errors
/// As [`write`](write()).
pub fn write_text<E: From<Error>>(
    path: &Path,
    form: &CopyText,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
    tell: impl FnMut(u64),
) -> Result<u64, E> {
    whole(path, |file| write_text_to(file, &path.to_string_lossy(), form, schema, batches, tell))
}

/// The same to a stream.
///
/// # Errors
/// As [`write`](write()).
pub fn write_text_to<E: From<Error>>(
    mut out: impl Write,
    name: &str,
    form: &CopyText,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
    mut tell: impl FnMut(u64),
) -> Result<u64, E> {
    form.check()?;
    let path = Path::new(name);
    let failed = |error: std::io::Error| E::from(Error::io(path, &error));
    let text = CopyTextRows(form.clone());
    let (mut rows, mut bytes) = (0, Vec::new());
    text.head(schema.fields().iter().map(|field| field.name().as_str()), &mut bytes);
    for batch in batches {
        let batch = batch?;
        text.batch(&batch, &mut bytes).map_err(|what| Error::in_file(path, what))?;
        out.write_all(&bytes).map_err(failed)?;
        bytes.clear();
        rows += batch.num_rows() as u64;
        tell(rows);
    }
    out.write_all(&bytes).and_then(|()| out.flush()).map_err(failed)?;
    Ok(rows)
}

/// Writes rows to what is called `path` in messages. Returns how many.
fn write_to<E: From<Error>>(
    out: impl Write + Send,
    path: &Path,
    format: &Format,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
    mut tell: impl FnMut(u64),
) -> Result<u64, E> {
    let mut rows = 0;
    let mut counted = batches.inspect(|batch| {
        if let Ok(batch) = batch {
            rows += batch.num_rows() as u64;
            tell(rows);
        }
    });
    if format.form == Form::Parquet {
        parquet::write(out, path, schema, &mut counted)?;
        return Ok(rows);
    }
    let failed = |error: std::io::Error| E::from(Error::io(path, &error));
    match format.compression {
        Compression::None => text(out, path, format, schema, &mut counted)?.flush().map_err(failed)?,
        Compression::Gzip => {
            let out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            let out = text(out, path, format, schema, &mut counted)?.finish();
            out.and_then(|mut out| out.flush()).map_err(failed)?;
        }
        Compression::Zstd => {
            let out = zstd::stream::write::Encoder::new(out, 0).map_err(failed)?;
            let out = text(out, path, format, schema, &mut counted)?.finish();
            out.and_then(|mut out| out.flush()).map_err(failed)?;
        }
    }
    Ok(rows)
}

/// Lines of JSON as elements of a list, which begins before the first.
fn as_elements(lines: &[u8], is_first: &mut bool, begin: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.len() + 2);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        out.extend_from_slice(if std::mem::take(is_first) { begin.as_bytes() } else { b"," });
        out.extend_from_slice(b"\n\t");
        out.extend_from_slice(line);
    }
    out
}

/// CSV or JSON. Returns the file.
fn text<W: Write, E: From<Error>>(
    mut out: W,
    path: &Path,
    format: &Format,
    schema: &SchemaRef,
    batches: &mut dyn Iterator<Item = Result<RecordBatch, E>>,
) -> Result<W, E> {
    let csv = (format.form == Form::Csv).then(|| CsvRows::new(schema, format));
    let are_features = format.rows == RowsOf::Features;
    let begin = if are_features { "{\"type\":\"FeatureCollection\",\"features\":[" } else { "[" };
    let end = if are_features { "]}" } else { "]" };
    let (is_list, mut is_first) = (format.form == Form::Json && format.is_list, true);
    let mut bytes = Vec::new();
    if let Some(csv) = &csv {
        csv.head(&mut bytes);
    }
    let failed = |error: std::io::Error| E::from(Error::io(path, &error));
    for batch in batches {
        let batch = batch?;
        match &csv {
            Some(csv) => csv.batch(&batch, &mut bytes),
            None if are_features => raw(&batch, &mut bytes),
            None => JsonRows.batch(&batch, &mut bytes),
        }
        .map_err(|what| Error::in_file(path, what))?;
        if is_list {
            bytes = as_elements(&bytes, &mut is_first, begin);
        }
        out.write_all(&bytes).map_err(failed)?;
        bytes.clear();
    }
    if is_list {
        let text = if is_first { format!("{begin}{end}\n") } else { format!("\n{end}\n") };
        bytes.extend_from_slice(text.as_bytes());
    }
    out.write_all(&bytes).map_err(failed)?;
    Ok(out)
}

/// Texts that are JSON themselves, each a line.
fn raw(batch: &RecordBatch, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    for column in batch.columns() {
        let texts = column.as_string_opt::<i32>().ok_or("features are texts of JSON")?;
        for text in texts.iter().flatten() {
            out.extend_from_slice(text.as_bytes());
            out.push(b'\n');
        }
    }
    Ok(())
}
