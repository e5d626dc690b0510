//! Loading record by record, in transactions of a batch each: tables of storage `btree` and `memory`. What an interrupted load has
//! committed stays, whole batches of it; the batch under way is not committed.

use ambo::{ColumnBuffer, Datum};
use ambo_files::{BadRecord, Converter, ParquetBatches, Stream};

use super::arguments::OnError;
use super::progress::Progress;
use super::{File, Form, Load, Report, SHOWN_MAX, bad_record, explain, in_file, show_skipped};
use crate::engine::OrFail;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{self, Output};

/// What was done.
#[derive(Debug, Default)]
struct Tally {
    /// Rows committed.
    rows: u64,
    skipped: u64,
}

/// Why a batch is not committed.
enum Stop {
    Bad(BadRecord),
    Failed(Failure),
}

impl From<ambo_files::Error> for Stop {
    fn from(error: ambo_files::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Rows of a file, one at a time.
enum Reader {
    Text { records: Box<Stream>, converter: Converter },
    Parquet { batches: Box<ParquetBatches>, columns: Vec<ColumnBuffer>, next: usize, row: u64 },
}

impl Reader {
    fn open(file: &File, load: &Load<'_>, progress: &Progress) -> Result<Self> {
        match (&file.form, load.converter(file)?) {
            (Form::Parquet(parquet), _) => {
                let batches = Box::new(parquet.all()?);
                Ok(Self::Parquet { batches, columns: Vec::new(), next: 0, row: 0 })
            }
            (Form::Text(text), Some(converter)) => {
                let records = Stream::open(&file.source, &text.format, &text.names, progress.position())?;
                Ok(Self::Text { records: Box::new(records), converter })
            }
            (Form::Text(_), None) => unreachable!("text has a converter"),
        }
    }

    /// The next row; none at the end.
    fn next(&mut self, load: &Load<'_>, file: &File) -> Result<Option<Vec<Datum>>, Stop> {
        match self {
            Self::Text { records, converter } => {
                match records.next(&file.source.path)?.map_err(Stop::Bad)? {
                    Some(record) => converter.convert(record).map(Some).map_err(Stop::Bad),
                    None => Ok(None),
                }
            }
            Self::Parquet { batches, columns, next, row } => {
                while columns.first().is_none_or(|column| *next == column.len()) {
                    let Some(batch) = batches.next().transpose()? else { return Ok(None) };
                    let taken = ambo::arrow::buffers(load.table.definition(), &batch, *row + 1);
                    *columns = taken
                        .map_err(|error| in_file(&file.source.path, Failure::usage(error.to_string())))?;
                    *next = 0;
                }
                let value = |column: &ColumnBuffer| column.get(*next).map(|value| value.to_value());
                let values: Result<Vec<_>, _> = columns.iter().map(value).collect();
                *next += 1;
                *row += 1;
                let values =
                    values.map_err(|error| in_file(&file.source.path, Failure::usage(error.to_string())))?;
                Ok(Some(values))
            }
        }
    }

    /// The line, or row, that was read last.
    fn line(&self) -> u64 {
        match self {
            Self::Text { records, .. } => records.line(),
            Self::Parquet { row, .. } => *row,
        }
    }
}

impl Load<'_> {
    /// Loads all files in batches. What was made for the load alone goes again if nothing was loaded.
    pub(super) fn in_batches(&self, is_new: bool, out: &mut Output) -> Result<()> {
        let progress = Progress::new("loading", self.bytes());
        let mut tally = Tally::default();
        let loaded = self.files.iter().try_for_each(|file| self.rows(file, &progress, &mut tally));
        let elapsed = progress.elapsed();
        drop(progress);
        let state = format!("{} rows of it are in table {}", output::count(tally.rows), self.name);
        loaded.map_err(|failure| {
            if is_new && tally.rows == 0 {
                return self.nothing(failure, is_new);
            }
            let interrupted = format!("stopped by Ctrl-C: {state}; the batch under way was not committed");
            explain(failure, &state, &interrupted)
        })?;
        self.report(&Report { rows: tally.rows, skipped: tally.skipped, replaced: None, elapsed }, out)
    }

    fn rows(&self, file: &File, progress: &Progress, tally: &mut Tally) -> Result<()> {
        let mut reader = Reader::open(file, self, progress)?;
        loop {
            match self.batch(file, &mut reader, progress, tally) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(Stop::Failed(failure)) => return Err(failure),
                Err(Stop::Bad(bad)) => return Err(bad_record(&file.source.path, &bad)),
            }
        }
    }

    /// One transaction; false when the file is at its end.
    fn batch(
        &self,
        file: &File,
        reader: &mut Reader,
        progress: &Progress,
        tally: &mut Tally,
    ) -> Result<bool, Stop> {
        let mut tx = self.store.db.begin().or_fail(&self.store.dir)?;
        let mut rows: Vec<Vec<Datum>> = Vec::new();
        let mut more = true;
        while (rows.len() as u64) < self.arguments.batch {
            if interrupt::raised() {
                tx.rollback();
                return Err(Stop::Failed(Failure::Interrupted(String::new())));
            }
            match reader.next(self, file) {
                Ok(None) => {
                    more = false;
                    break;
                }
                Ok(Some(row)) => match self.store_row(&mut tx, &row, reader.line())? {
                    Ok(()) => rows.push(row),
                    Err(bad) => self.skip(file, bad, progress, tally)?,
                },
                Err(Stop::Bad(bad)) => self.skip(file, bad, progress, tally)?,
                Err(failed) => return Err(failed),
            }
            progress.rows(tally.rows + rows.len() as u64);
        }
        match tx.commit() {
            Err(error) if error.is_retryable() => self.repeat(&rows, reader.line())?,
            outcome => outcome.or_fail(&self.store.dir)?,
        }
        tally.rows += rows.len() as u64;
        Ok(more)
    }

    /// Commits the rows of a batch that met a conflict: with another writer, or with a checkpoint.
    fn repeat(&self, rows: &[Vec<Datum>], line: u64) -> Result<(), Stop> {
        loop {
            let mut tx = self.store.db.begin().or_fail(&self.store.dir)?;
            for row in rows {
                self.store_row(&mut tx, row, line)?.map_err(Stop::Bad)?;
            }
            match tx.commit() {
                Err(error) if error.is_retryable() => {}
                outcome => return Ok(outcome.or_fail(&self.store.dir)?),
            }
        }
    }

    /// Puts a row into the transaction. A row that the table refuses is a bad record.
    fn store_row(
        &self,
        tx: &mut ambo::Transaction,
        row: &[Datum],
        line: u64,
    ) -> Result<Result<(), BadRecord>, Stop> {
        let stored = match (self.table.definition().is_raw(), row) {
            (true, [Datum::Binary(key), Datum::Binary(value)]) => tx.put(self.table, key, value),
            _ if self.arguments.replace => tx.upsert_row(self.table, row).map(drop),
            _ => tx.insert_row(self.table, row).map(drop),
        };
        match stored {
            Ok(()) => Ok(Ok(())),
            Err(error @ ambo::Error::Exists(_)) => {
                Ok(Err(BadRecord { line, column: None, what: format!("{error} (--replace overwrites)") }))
            }
            Err(error @ ambo::Error::Invalid(_)) => {
                Ok(Err(BadRecord { line, column: None, what: error.to_string() }))
            }
            Err(error) => Err(Stop::Failed(Failure::engine(&self.store.dir, error))),
        }
    }

    fn skip(&self, file: &File, bad: BadRecord, progress: &Progress, tally: &mut Tally) -> Result<(), Stop> {
        if self.arguments.on_error == OnError::Stop {
            return Err(Stop::Bad(bad));
        }
        tally.skipped += 1;
        if tally.skipped <= SHOWN_MAX {
            show_skipped(progress, &file.source.path, &bad, tally.skipped);
        }
        Ok(())
    }
}
