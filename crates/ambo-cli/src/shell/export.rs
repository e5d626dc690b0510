//! `.export`: a table or the rows of a query as a file.

use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use ambo_sql::Batches;
use arrow_array::RecordBatch;

use super::describe::quoted_path;
use super::progress::Progress;
use super::session::Session;
use super::settings::Mode;
use super::show::{self, unwritable};
use super::split;
use super::statement::{Origin, Stop, failure};
use crate::failure::{Failure, Result};
use crate::output::{self, remark};
use crate::schema::short_name;

/// The form of a file.
enum Form {
    /// One that is read back.
    File(ambo_files::Format),
    /// One for other programs.
    Shown(Mode),
}

impl Form {
    /// By the end of the file's name.
    fn of(path: &Path) -> Result<Self> {
        if let Some(format) = ambo_files::Format::of(&path.to_string_lossy()) {
            return Ok(Self::File(format));
        }
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        Ok(Self::Shown(match ending.as_str() {
            "txt" => Mode::List,
            "md" => Mode::Markdown,
            "arrow" | "arrows" | "ipc" => Mode::Arrow,
            _ => {
                return Err(Failure::usage(format!(
                    "{}: in which form? the name ends with .csv, .tsv, .jsonl, .md, .txt, .arrow or .parquet",
                    path.display()
                )));
            }
        }))
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
    let wrong = |error: std::io::Error| Failure::file(path, &error);
    let progress = Progress::start();
    let wrong_statement = |error: ambo_sql::Error, dir: &Path| failure(error, &query, Origin::default(), dir);
    let rows = session.connection.sql(&query).map_err(|error| wrong_statement(error, &session.store.dir))?;
    if rows.schema().fields().is_empty() {
        return Err(Failure::usage(format!("{} returns no rows to export", rows.tag())));
    }
    let schema = rows.schema().clone();
    let written = match form {
        Form::File(format) => {
            let is_csv = format.form == ambo_files::Form::Csv;
            let texts = |batch| ambo_sql::with_texts(batch, is_csv).map_err(unwritable);
            let schema = texts(RecordBatch::new_empty(schema))?.schema();
            let batches = rows.batches().map(|batch| Ok(texts(batch?)?));
            ambo_files::write(path, &format, &schema, batches, |rows| progress.rows(rows))
        }
        Form::Shown(mode) => show_in_file(rows.batches(), mode, path, &progress),
    };
    let count = written.map_err(|stop| match stop {
        Stop::Sql(error) => wrong_statement(*error, &session.store.dir),
        Stop::Shell(Failure::Database(text)) => Failure::Database(format!("{}: {text}", path.display())),
        Stop::Shell(failure) => failure,
    })?;
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

/// Writes rows in a form of the shell.
fn show_in_file(batches: Batches<'_>, mode: Mode, path: &Path, progress: &Progress) -> Result<u64, Stop> {
    let wrong = |error: std::io::Error| Failure::file(path, &error);
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".ambo-export-")
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(dir)
        .map_err(wrong)?;
    let mut to = BufWriter::with_capacity(256 << 10, file.as_file_mut());
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
    drop(to);
    file.persist(path).map_err(|error| Failure::file(path, &error.error))?;
    Ok(rows)
}
