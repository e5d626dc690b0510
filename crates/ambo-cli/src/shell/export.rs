//! `.export`: a table or the rows of a query as a file.

use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use ambo_sql::Batches;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::describe::quoted_path;
use super::progress::Progress;
use super::session::Session;
use super::settings::Mode;
use super::statement::{Origin, Stop, failure};
use super::{show, split};
use crate::failure::{Failure, Result};
use crate::output::{self, remark};
use crate::schema::short_name;

/// The form of a file.
enum Form {
    Text(Mode),
    Parquet,
}

impl Form {
    /// By the end of the file's name.
    fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        Ok(match ending.as_str() {
            "csv" => Self::Text(Mode::Csv),
            "tsv" | "txt" => Self::Text(Mode::List),
            "json" | "jsonl" | "ndjson" => Self::Text(Mode::Json),
            "md" => Self::Text(Mode::Markdown),
            "arrow" | "arrows" | "ipc" => Self::Text(Mode::Arrow),
            "parquet" | "pq" => Self::Parquet,
            _ => {
                return Err(Failure::usage(format!(
                    "{}: in which form? the name ends with .csv, .tsv, .jsonl, .md, .arrow or .parquet",
                    path.display()
                )));
            }
        })
    }
}

/// Writes the file. What was there before stays until the new one is whole.
pub fn export(session: &mut Session<'_>, path: &Path, what: &str) -> Result<()> {
    let form = Form::of(path)?;
    let is_table = !what.contains(char::is_whitespace);
    let query = match is_table {
        true => {
            let table = session.store.table(what.trim_matches('"'))?;
            format!("select * from {}", quoted_path(short_name(&table.definition().name)))
        }
        false => what.to_owned(),
    };
    if split::is_empty(&query) {
        return Err(Failure::usage("which rows? name a table, or write a query"));
    }
    let start = Instant::now();
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = |error: std::io::Error| Failure::file(path, &error);
    let mut file = tempfile::Builder::new()
        .prefix(".ambo-export-")
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(dir)
        .map_err(wrong)?;
    let progress = Progress::start();
    let wrong_statement = |error: ambo_sql::Error, dir: &Path| failure(error, &query, Origin::default(), dir);
    let rows = session.connection.sql(&query).map_err(|error| wrong_statement(error, &session.store.dir))?;
    if rows.schema().fields().is_empty() {
        return Err(Failure::usage(format!("{} returns no rows to export", rows.tag())));
    }
    let to = BufWriter::with_capacity(256 << 10, file.as_file_mut());
    let written = match form {
        Form::Text(mode) => write_text(rows.batches(), mode, to, &progress),
        Form::Parquet => write_parquet(rows.batches(), to, &progress),
    };
    let count = written.map_err(|stop| match stop {
        Stop::Sql(error) => wrong_statement(*error, &session.store.dir),
        Stop::Shell(Failure::Database(text)) => Failure::Database(format!("{}: {text}", path.display())),
        Stop::Shell(failure) => failure,
    })?;
    file.persist(path).map_err(|error| Failure::file(path, &error.error))?;
    drop(progress);
    let bytes = std::fs::metadata(path).map_err(wrong)?.len();
    remark(&format!(
        "{} rows in {}, {}, {}",
        output::count(count),
        path.display(),
        output::bytes(bytes),
        output::duration(start.elapsed())
    ));
    Ok(())
}

fn write_text(
    batches: Batches<'_>,
    mode: Mode,
    mut to: impl Write,
    progress: &Progress,
) -> Result<u64, Stop> {
    let mut show = show::show(mode, batches.schema(), show::Reader::PROGRAM);
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        show.batch(&batch, &mut to)?;
        rows += batch.num_rows() as u64;
        progress.rows(rows);
    }
    show.end(&mut to)?;
    to.flush().map_err(Failure::from)?;
    Ok(rows)
}

fn write_parquet(batches: Batches<'_>, to: impl Write + Send, progress: &Progress) -> Result<u64, Stop> {
    let wrong = |error: parquet::errors::ParquetError| {
        Stop::Shell(Failure::Database(format!("cannot be written: {error}")))
    };
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let mut writer =
        ArrowWriter::try_new(to, batches.schema().clone(), Some(properties.build())).map_err(wrong)?;
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        writer.write(&batch).map_err(wrong)?;
        rows += batch.num_rows() as u64;
        progress.rows(rows);
    }
    writer.close().map_err(wrong)?;
    Ok(rows)
}
