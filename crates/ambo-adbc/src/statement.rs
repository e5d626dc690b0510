//! A statement: SQL with values, or rows into a table.

use std::sync::Arc;

use adbc_core::{
    CancelHandle, Optionable, PartitionedResult, Statement,
    constants::{
        ADBC_INGEST_OPTION_MODE_APPEND, ADBC_INGEST_OPTION_MODE_CREATE,
        ADBC_INGEST_OPTION_MODE_CREATE_APPEND, ADBC_INGEST_OPTION_MODE_REPLACE,
    },
    options::{OptionStatement, OptionValue},
};
use ambo_sql::{IngestMode, PreparedStatement, Rows};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, Schema};

use crate::{
    bind,
    connection::{MAIN, require_catalog},
    error::{Result, argument, caught, missing, no_option, state, text, told_sql, truth},
    result::{Reader, Streamed, made},
    session::{Cancel, Session},
};

const MODES: [(&str, IngestMode); 4] = [
    (ADBC_INGEST_OPTION_MODE_CREATE, IngestMode::Create),
    (ADBC_INGEST_OPTION_MODE_APPEND, IngestMode::Append),
    (ADBC_INGEST_OPTION_MODE_REPLACE, IngestMode::Replace),
    (ADBC_INGEST_OPTION_MODE_CREATE_APPEND, IngestMode::CreateAppend),
];

/// A statement.
pub struct AmboStatement {
    session: Arc<Session>,
    query: Option<String>,
    prepared: Option<PreparedStatement>,
    bound: Option<Reader>,
    target: Target,
}

/// Where rows go that are ingested.
#[derive(Default)]
struct Target {
    table: Option<String>,
    schema: Option<String>,
    mode: Option<&'static str>,
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl AmboStatement {
    pub(crate) fn new(session: &Arc<Session>) -> Self {
        let target = Target::default();
        Self { session: session.clone(), query: None, prepared: None, bound: None, target }
    }

    fn text(&self) -> Result<&str> {
        self.query.as_deref().ok_or_else(|| state("there is no statement: set one first"))
    }

    /// The statement, read.
    fn ready(&mut self) -> Result<PreparedStatement> {
        if let Some(prepared) = self.prepared.take() {
            return Ok(prepared);
        }
        let text = self.text()?;
        self.session.with(|connection| connection.prepare(text).map_err(|error| of(error, text)))
    }

    /// Runs it with the next values, or without; all that is bound is gone then.
    fn run(&mut self) -> Result<Ran> {
        let text = self.text()?.to_owned();
        let Some(bound) = self.bound.take() else {
            let mut prepared = self.ready()?;
            let rows = self
                .session
                .within(|connection| prepared.run(connection, ()).map_err(|error| of(error, &text)));
            self.prepared = Some(prepared);
            return rows.map(|rows| Ran::Once(Box::new(rows)));
        };
        let mut params = Vec::new();
        for batch in bound {
            let batch = batch.map_err(|error| argument(error.to_string()))?;
            params.extend(bind::rows(&batch)?);
        }
        let mut prepared = self.ready()?;
        let ran = match params.len() {
            1 => {
                let params = params.remove(0);
                let run = |connection: &mut ambo_sql::Connection| {
                    prepared.run(connection, params).map_err(|error| of(error, &text))
                };
                self.session.within(run).map(|rows| Ran::Once(Box::new(rows)))
            }
            _ => self.run_each(&mut prepared, params, &text),
        };
        self.prepared = Some(prepared);
        ran
    }

    /// Runs it for each of several rows of values, all or none.
    fn run_each(
        &self,
        prepared: &mut PreparedStatement,
        params: Vec<Vec<ambo::Datum>>,
        text: &str,
    ) -> Result<Ran> {
        self.session.within(|connection| {
            let begins = !connection.in_transaction();
            if begins {
                connection.run("BEGIN", ()).map_err(told_sql)?;
            }
            let ran = each(connection, prepared, params, text);
            if begins {
                let end = if ran.is_ok() { "COMMIT" } else { "ROLLBACK" };
                let ended = connection.run(end, ()).map_err(told_sql);
                return ran.and_then(|ran| ended.map(|_| ran));
            }
            ran
        })
    }

    fn ingest(&mut self, table: &str) -> Result<i64> {
        let rows = self.bound.take().ok_or_else(|| state("there are no rows to ingest: bind them first"))?;
        // A name with a dot is one of a schema there.
        let name = format!("{}.{table}", self.target.schema.as_deref().unwrap_or(MAIN));
        let mode = self.target.mode.unwrap_or(ADBC_INGEST_OPTION_MODE_CREATE);
        let (_, mode) =
            MODES.iter().find(|(name, _)| *name == mode).expect("it was looked at when it was set");
        let written = on_own_stack(|| {
            self.session.within(|connection| connection.ingest(&name, rows, *mode, "").map_err(told_sql))
        })?;
        Ok(written as i64)
    }
}

/// Does something on a thread with so much stack that statements are run on no other one. What rows of others call when they are read and
/// let go finds the stack of its thread then, as the runtime of Go asks for, and new versions of Python's.
fn on_own_stack<T: Send>(act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    const STACK: usize = if cfg!(debug_assertions) { 64 << 20 } else { 16 << 20 };
    let thread = std::thread::Builder::new().name("ambo-ingest".to_owned()).stack_size(STACK);
    std::thread::scope(|scope| {
        let running = thread.spawn_scoped(scope, || caught(act));
        let running = running.map_err(|error| state(format!("no thread for the rows: {error}")))?;
        running.join().unwrap_or_else(|_| Err(state("a fault of Ambo's own while rows were ingested")))
    })
}

/// An error of a statement.
fn of(error: ambo_sql::Error, text: &str) -> adbc_core::error::Error {
    crate::error::told(ambo_face::Error::from(error).of(text))
}

fn each(
    connection: &mut ambo_sql::Connection,
    prepared: &mut PreparedStatement,
    params: Vec<Vec<ambo::Datum>>,
    text: &str,
) -> Result<Ran> {
    let (mut batches, mut affected, mut schema) = (Vec::new(), None, None);
    for params in params {
        let rows = prepared.run(connection, params).map_err(|error| of(error, text))?;
        affected = rows.affected().map(|rows| rows + affected.unwrap_or(0)).or(affected);
        schema.get_or_insert_with(|| rows.schema().clone());
        for batch in rows.batches() {
            batches.push(batch.map_err(|error| of(error, text))?);
        }
    }
    let schema = schema.unwrap_or_else(|| Schema::empty().into());
    Ok(Ran::All { reader: made(schema, batches), affected })
}

/// What was run.
enum Ran {
    /// Once: its rows are taken as they come.
    Once(Box<Rows<'static>>),
    All {
        reader: Reader,
        affected: Option<u64>,
    },
}

impl Statement for AmboStatement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        self.bound = Some(made(batch.schema(), vec![batch]));
        Ok(())
    }

    fn bind_stream(&mut self, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.bound = Some(reader);
        Ok(())
    }

    fn execute(&mut self) -> Result<Reader> {
        if let Some(table) = self.target.table.clone() {
            self.ingest(&table)?;
            return Ok(made(Schema::empty().into(), Vec::new()));
        }
        let text = self.text()?.to_owned();
        Ok(match self.run()? {
            Ran::Once(rows) => Box::new(Streamed::new(rows.batches(), &text, &self.session)),
            Ran::All { reader, .. } => reader,
        })
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        if let Some(table) = self.target.table.clone() {
            return self.ingest(&table).map(Some);
        }
        let text = self.text()?.to_owned();
        let affected = match self.run()? {
            Ran::Once(rows) => {
                let affected = rows.affected();
                for batch in rows.batches() {
                    batch.map_err(|error| of(error, &text))?;
                }
                affected
            }
            Ran::All { affected, .. } => affected,
        };
        Ok(affected.map(|rows| rows as i64))
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        let prepared = self.ready()?;
        let described = self.session.with(|connection| connection.describe(&prepared).map_err(told_sql));
        self.prepared = Some(prepared);
        match described?.schema {
            Some(schema) => Ok(schema.as_ref().clone()),
            None => Err(missing("what this statement returns is known when it is run")),
        }
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        Err(missing("results have no partitions"))
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        let text = self.text()?;
        self.session.with(|connection| {
            let prepared = connection.prepare(text).map_err(|error| of(error, text))?;
            let described = connection.describe(&prepared).map_err(|error| of(error, text))?;
            let fields = described.parameters.into_iter().zip(prepared.parameter_names()).enumerate();
            let fields = fields.map(|(nth, (ty, name))| {
                let name = name.map_or_else(|| nth.to_string(), str::to_owned);
                Field::new(name, ty.unwrap_or(DataType::Null), true)
            });
            Ok(Schema::new(fields.collect::<Vec<_>>()))
        })
    }

    fn prepare(&mut self) -> Result<()> {
        self.prepared = Some(self.ready()?);
        Ok(())
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.query = Some(query.as_ref().to_owned());
        self.prepared = None;
        self.target = Target::default();
        Ok(())
    }

    fn set_substrait_plan(&mut self, _plan: impl AsRef<[u8]>) -> Result<()> {
        Err(missing("Substrait: give the statement as SQL"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Cancel(self.session.interrupter().clone()))
    }
}

impl Optionable for AmboStatement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        let name = key.as_ref().to_owned();
        match key {
            OptionStatement::TargetTable => {
                self.query = None;
                self.prepared = None;
                self.target.table = Some(text(&name, value)?);
            }
            OptionStatement::TargetDbSchema => self.target.schema = Some(text(&name, value)?),
            OptionStatement::TargetCatalog => require_catalog(Some(&text(&name, value)?))?,
            OptionStatement::IngestMode => {
                let wanted = text(&name, value)?;
                let known = MODES.iter().find(|(mode, _)| *mode == wanted);
                let (mode, _) = known.ok_or_else(|| argument(format!("there is no mode \"{wanted}\"")))?;
                self.target.mode = Some(mode);
            }
            OptionStatement::Temporary if !truth(&name, value.clone())? => {}
            OptionStatement::Temporary => return Err(missing("there are no temporary tables")),
            OptionStatement::Incremental if !truth(&name, value.clone())? => {}
            _ => return Err(missing(format!("there is no option \"{name}\" of statements"))),
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        match key {
            OptionStatement::TargetTable => self.target.table.clone().ok_or_else(|| no_option(key.as_ref())),
            OptionStatement::IngestMode => {
                Ok(self.target.mode.unwrap_or(ADBC_INGEST_OPTION_MODE_CREATE).to_owned())
            }
            other => Err(no_option(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionStatement) -> Result<Vec<u8>> {
        Err(no_option(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionStatement) -> Result<i64> {
        Err(no_option(key.as_ref()))
    }

    /// How far the statement is that runs, in rows read.
    fn get_option_double(&self, key: OptionStatement) -> Result<f64> {
        let progress = self.session.interrupter().progress();
        match key {
            OptionStatement::Progress => Ok(progress.map_or(0.0, |progress| progress.rows_read as f64)),
            OptionStatement::MaxProgress => {
                Ok(progress.and_then(|progress| progress.rows_total).map_or(0.0, |rows| rows as f64))
            }
            other => Err(no_option(other.as_ref())),
        }
    }
}
