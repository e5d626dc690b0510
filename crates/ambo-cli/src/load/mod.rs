//! load: CSV, JSON lines and Parquet files into a table.
//!
//! 1. Unless the table is there or `--schema` names the columns, they are those of the first file: Parquet has them, text is read once to
//!    infer them ([`Look`]).
//! 2. A column table is loaded by several threads, all or nothing ([`columns`]); other tables record by record, in batches, of which
//!    whole ones stay when the load is interrupted ([`rows`]).

mod arguments;
mod columns;
mod progress;
mod rows;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ambo::Table;
use ambo_files::{BadRecord, Look, ParquetFile, Source};
use serde_json::json;

use crate::engine::{Access, OrFail, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::output::{self, Output};
use crate::schema::{self, Column};
use crate::{interrupt, text};
use progress::Progress;

pub use arguments::{Format, LoadArguments, OnError, delimiter};

/// A file to load.
struct File {
    source: Source,
    form: Form,
}

/// What a file is.
enum Form {
    Text(Text),
    Parquet(Box<ParquetFile>),
}

/// A text file, and what its columns are called.
struct Text {
    format: Arc<ambo_files::Format>,
    names: Arc<[String]>,
}

impl File {
    fn open(path: &Path, arguments: &LoadArguments) -> Result<Self> {
        let mut source = Source::open(path)?;
        let format = arguments.format(path, source.is_parquet)?;
        let form = match format.form {
            ambo_files::Form::Parquet => Form::Parquet(Box::new(ParquetFile::open(&source)?)),
            _ => {
                source = source.in_format(&format)?;
                let names = ambo_files::names(&source, &format)?;
                Form::Text(Text { format: Arc::new(format), names })
            }
        };
        Ok(Self { source, form })
    }
}

/// Runs the command.
pub fn run(arguments: &LoadArguments, tuning: &Tuning, out: &mut Output) -> Result<()> {
    interrupt::watch();
    // What is wrong with the files is told before a database is made.
    let wanted = Wanted::look(arguments)?;
    let store = Store::open(&arguments.dir, Access::Create, tuning)?;
    let outcome = wanted.load(arguments, &store, out);
    store.close()?;
    outcome
}

/// Loads into a database that is open.
pub fn load_into(store: &Store, arguments: &LoadArguments, out: &mut Output) -> Result<()> {
    interrupt::watch();
    Wanted::look(arguments)?.load(arguments, store, out)
}

/// The files and the table's name.
struct Wanted {
    files: Vec<File>,
    name: String,
}

impl Wanted {
    fn look(arguments: &LoadArguments) -> Result<Self> {
        let open = |path: &PathBuf| File::open(path, arguments);
        let files = arguments.files.iter().map(open).collect::<Result<Vec<_>>>()?;
        Ok(Self { files, name: arguments.table_name()? })
    }

    fn load(&self, arguments: &LoadArguments, store: &Store, out: &mut Output) -> Result<()> {
        let Self { files, name } = self;
        let found = store.find_table(name)?;
        let is_new = found.is_none();
        let table = match found {
            Some(table) => {
                refuse_schema(arguments, name)?;
                table
            }
            None => create(arguments, store, name, &files[0])?,
        };
        let load = Load { arguments, files, store, table: &table, name };
        if table.definition().storage.traits().by_column {
            load.all_or_nothing(is_new, out)
        } else {
            load.in_batches(is_new, out)
        }
    }
}

fn refuse_schema(arguments: &LoadArguments, name: &str) -> Result<()> {
    if arguments.new_table.storage.is_some() {
        return Err(Failure::usage(format!(
            "table {name} is there already, and keeps its storage; leave --storage away, or name another table"
        )));
    }
    if !arguments.new_table.compression.options().is_empty() {
        return Err(Failure::usage(format!(
            "table {name} is there already; `ambo alter {} {name}` changes how it is compressed",
            arguments.dir.display()
        )));
    }
    let given = arguments.schema.is_some() || !arguments.key.is_empty();
    match given {
        true => Err(Failure::usage(format!(
            "table {name} is there already, with its own columns and key; leave --schema and --key away, or name \
             another table"
        ))),
        false => Ok(()),
    }
}

/// Makes the table, with the columns that were named or inferred.
fn create(arguments: &LoadArguments, store: &Store, name: &str, file: &File) -> Result<Table> {
    // What is wrong with the options is told before the file is read.
    let key_value = arguments.new_table.apply(ambo::TableDefinition::key_value(name))?;
    if !key_value.storage.traits().durable {
        output::remark(&format!(
            "table {name} is of storage {}: its rows are gone when this command ends",
            key_value.storage.name()
        ));
    }
    if arguments.key_value {
        return store.db.create_table(key_value).or_fail(&store.dir);
    }
    let columns = match (&arguments.schema, &file.form) {
        (Some(text), _) => schema::parse(text).map_err(Failure::Usage)?,
        (None, Form::Parquet(parquet)) => parquet.columns()?,
        (None, Form::Text(text)) => infer_columns(arguments, &file.source, text)?,
    };
    let definition = schema::definition(name, &columns, &arguments.key).map_err(Failure::Usage)?;
    store.db.create_table(arguments.new_table.apply(definition)?).or_fail(&store.dir)
}

fn infer_columns(arguments: &LoadArguments, source: &Source, text: &Text) -> Result<Vec<Column>> {
    if let Some(nth) = ambo_files::unnamed(source, &text.format)? {
        let what = format!("line 1: column {} has no name; --no-header numbers them", nth + 1);
        return Err(Failure::usage(format!("{}: {what}", source.path.display())));
    }
    let progress = Progress::new("looking", source.bytes);
    let look = Look {
        sample: arguments.sample,
        skips_bad: arguments.on_error == OnError::Skip,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        stop: &interrupt::raised,
        tell: &|rows| progress.show(rows),
        position: progress.position().clone(),
    };
    let inference = look.at(source, &text.format, &text.names).map_err(|error| match error.kind() {
        ambo_files::Kind::Interrupted => {
            Failure::Interrupted("stopped by Ctrl-C before the first row; nothing was loaded".into())
        }
        ambo_files::Kind::Content if arguments.on_error == OnError::Stop => {
            Failure::Usage(format!("{error}; mend it, or use --on-error skip"))
        }
        _ => error.into(),
    })?;
    if let Some((column, line)) = inference.null_in_key(&arguments.key)
        && arguments.on_error == OnError::Stop
    {
        return Err(Failure::usage(format!(
            "{}: line {line}, column \"{column}\": a key column without a value; choose another key, or --on-error skip",
            source.path.display()
        )));
    }
    for (column, text, ty) in inference.spoiled() {
        let text = text::shorten(text, 20);
        progress.say(&format!(
            "column {column} is text because of '{text}' alone; --null '{text}' would make it {ty}"
        ));
    }
    let columns = inference.columns(arguments.sample.is_some());
    match columns.is_empty() {
        true => Err(Failure::usage(format!(
            "{}: the file has no records to infer columns from",
            source.path.display()
        ))),
        false => Ok(columns),
    }
}

fn bad_record(path: &Path, bad: &BadRecord) -> Failure {
    Failure::usage(format!("{}: {bad}; mend it, or use --on-error skip", path.display()))
}

/// A failure with the file that it came from.
fn in_file(path: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Usage(text) => Failure::Usage(format!("{}: {text}", path.display())),
        other => other,
    }
}

/// So many skipped records are shown one by one.
const SHOWN_MAX: u64 = 10;

struct Load<'a> {
    arguments: &'a LoadArguments,
    files: &'a [File],
    store: &'a Store,
    table: &'a Table,
    name: &'a str,
}

/// What a load did, for the report.
struct Report {
    rows: u64,
    skipped: u64,
    replaced: Option<u64>,
    elapsed: Duration,
}

impl Load<'_> {
    fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.source.bytes).sum()
    }

    /// Loads a column table. What was made for the load alone goes again if it fails.
    fn all_or_nothing(&self, is_new: bool, out: &mut Output) -> Result<()> {
        let progress = Progress::new("loading", self.bytes());
        let loaded = self.columns(&progress);
        match loaded {
            Ok((loaded, skipped)) => {
                // Before the database is closed, which waits for no merges. The rows are there, whatever becomes of it.
                progress.merging();
                let merged = self.store.db.compact_due();
                let elapsed = progress.elapsed();
                drop(progress);
                let replaced = Some(loaded.replaced);
                self.report(&Report { rows: loaded.rows, skipped, replaced, elapsed }, out)?;
                merged.or_fail(&self.store.dir)
            }
            Err(failure) => {
                drop(progress);
                Err(self.nothing(failure, is_new))
            }
        }
    }

    /// Says that nothing was loaded, and sees to it.
    fn nothing(&self, failure: Failure, is_new: bool) -> Failure {
        let dropped = is_new.then(|| self.store.db.drop_table(self.name));
        let state = match dropped {
            None => format!("nothing of it is in table {}", self.name),
            Some(Ok(())) => format!("nothing of it was loaded, and table {} was not made", self.name),
            // Then the database refuses everything, and whether the load was the last it took is not known.
            Some(Err(_)) => format!("`ambo info {}` tells whether it was loaded", self.store.dir.display()),
        };
        explain(failure, &state, &format!("stopped by Ctrl-C: {state}"))
    }

    fn report(&self, done: &Report, out: &mut Output) -> Result<()> {
        use std::io::Write;
        if out.is_json() {
            let definition = self.table.definition();
            let mut report = json!({
                "table": self.name,
                "rows": done.rows,
                "skipped": done.skipped,
                "bytes": self.bytes(),
                "seconds": done.elapsed.as_secs_f64(),
                "schema": schema::show(&schema::of(definition)),
                "key": schema::key_of(definition),
            });
            if let Some(replaced) = done.replaced {
                report["replaced"] = replaced.into();
            }
            out.json(&report)?;
            return Ok(());
        }
        let skipped = match done.skipped {
            0 => String::new(),
            n => format!(", {} records skipped", output::count(n)),
        };
        let replaced = match done.replaced {
            None | Some(0) => String::new(),
            Some(n) => format!(", {} rows replaced", output::count(n)),
        };
        let from = match self.files {
            [file] => file.source.path.display().to_string(),
            files => format!("{} files", files.len()),
        };
        writeln!(
            out,
            "{} rows into table {} in {} ({} rows a second, {} of {from}){skipped}{replaced}",
            output::count(done.rows),
            self.name,
            output::duration(done.elapsed),
            output::count(output::rate(done.rows, done.elapsed)),
            output::bytes(self.bytes()),
        )?;
        Ok(())
    }
}

/// Says of a skipped record why, and when such are not said any more.
fn show_skipped(progress: &Progress, path: &Path, bad: &BadRecord, skipped: u64) {
    progress.say(&format!("{}: {bad}; skipped", path.display()));
    if skipped == SHOWN_MAX {
        progress.say("further skipped records are only counted");
    }
}

/// Adds to a failure what is in the table now.
fn explain(failure: Failure, state: &str, interrupted: &str) -> Failure {
    match failure {
        Failure::Interrupted(_) => Failure::Interrupted(interrupted.to_owned()),
        Failure::Usage(text) => Failure::Usage(format!("{text} ({state})")),
        Failure::Database(text) => Failure::Database(format!("{text} ({state})")),
        other => other,
    }
}
