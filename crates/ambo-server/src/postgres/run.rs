//! Running a statement, and what its transaction is.

use std::{collections::VecDeque, sync::Arc};

use ambo::Datum;
use ambo_sql::{Batches, Error, ErrorKind, PreparedStatement, Rows};
use arrow_array::{RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::{
    client::{Block, Client, Stop},
    command::{Command, Isolation, Modes},
    encode::{Column, Shape},
    failure::Failure,
    message::{Format, write, write_text},
    settings,
    stream::Stream,
};

/// A statement to be run.
pub(super) struct Run<'a> {
    pub command: &'a Command,
    /// What the engine runs; `None` for what is this protocol's own.
    pub prepared: Option<&'a mut PreparedStatement>,
    pub text: &'a str,
    /// Characters of what the client sent before the text.
    pub begin: usize,
    pub params: Vec<Datum>,
    pub formats: &'a [Format],
    /// What the client was told of the rows.
    pub promised: Option<SchemaRef>,
    /// Whether others belong to the same transaction.
    pub is_part: bool,
}

/// A statement that runs: rows that are still to be sent, and what is said at its end.
pub(super) struct Running {
    pub shape: Shape,
    source: Source,
    tag: &'static str,
    affected: Option<u64>,
    sent: u64,
}

enum Source {
    Values(VecDeque<Vec<Datum>>),
    Batches { batches: Box<dyn Iterator<Item = ambo_sql::Result<RecordBatch>>>, current: Option<Current> },
}

struct Current {
    columns: Vec<Column>,
    rows: usize,
    next: usize,
}

impl Running {
    pub fn tag(tag: &'static str) -> Self {
        Self::own(tag, RecordBatch::new_empty(Arc::new(Schema::empty())), &[])
    }

    /// Rows that are not the engine's.
    fn own(tag: &'static str, batch: RecordBatch, formats: &[Format]) -> Self {
        let shape = Shape::new(batch.schema(), formats, "UTC".to_owned());
        let source = Source::Batches { batches: Box::new(std::iter::once(Ok(batch))), current: None };
        Self { shape, source, tag, affected: None, sent: 0 }
    }

    /// Rows that were read.
    pub fn of_batches(tag: &'static str, shape: Shape, rows: Vec<RecordBatch>) -> Self {
        Self { shape, source: batches(rows.into_iter().map(Ok)), tag, affected: None, sent: 0 }
    }

    /// No rows, but a number of them.
    pub fn counted(tag: &'static str, count: u64) -> Self {
        Self { affected: Some(count), ..Self::tag(tag) }
    }

    /// The next rows, so many at most.
    pub fn take(&mut self, max: u64) -> Result<Vec<RecordBatch>, Failure> {
        let mut all = Vec::new();
        let mut left = usize::try_from(max).unwrap_or(usize::MAX);
        self.make_batches()?;
        while left > 0 {
            let Source::Batches { batches, .. } = &mut self.source else { break };
            let Some(batch) = batches.next() else { break };
            let batch = batch.map_err(|error| Failure::of(&error, "", 0))?;
            let taken = batch.slice(0, left.min(batch.num_rows()));
            left -= taken.num_rows();
            if taken.num_rows() < batch.num_rows() {
                let rest = batch.slice(taken.num_rows(), batch.num_rows() - taken.num_rows());
                let others = std::mem::replace(batches, Box::new(std::iter::empty()));
                *batches = Box::new(std::iter::once(Ok(rest)).chain(others));
            }
            if taken.num_rows() > 0 {
                all.push(taken);
            }
        }
        Ok(all)
    }

    /// Reads all that is left.
    pub fn read_all(&mut self) -> Result<(), Failure> {
        let rows = self.take(u64::MAX)?;
        self.source = batches(rows.into_iter().map(Ok));
        Ok(())
    }

    /// Has its values in batches.
    fn make_batches(&mut self) -> Result<(), Failure> {
        let Source::Values(values) = &self.source else { return Ok(()) };
        let rows: Vec<Vec<Datum>> = values.iter().cloned().collect();
        let batch =
            ambo_sql::batch_of(&self.shape.schema, &rows).map_err(|error| Failure::of(&error, "", 0))?;
        self.source = batches(std::iter::once(Ok(batch)));
        Ok(())
    }

    /// Whether it has rows, if perhaps none now.
    pub fn has_rows(&self) -> bool {
        !self.shape.types.is_empty() || matches!(self.tag, "SELECT" | "FETCH")
    }

    /// Sends rows, so many of them at most where that is not 0. Returns whether those were all.
    pub fn send(&mut self, max: u32, stream: &mut Stream) -> Result<bool, Stop> {
        if !self.has_rows() {
            return Ok(true);
        }
        let mut left = if max == 0 { u64::MAX } else { max.into() };
        loop {
            match &mut self.source {
                Source::Values(rows) => {
                    while left > 0 {
                        let Some(row) = rows.pop_front() else { return Ok(true) };
                        self.shape.write_values(&row, &mut stream.out);
                        stream.flush_if_large()?;
                        (left, self.sent) = (left - 1, self.sent + 1);
                    }
                    return Ok(false);
                }
                Source::Batches { batches, current } => {
                    if let Some(Current { columns, rows, next }) = current {
                        while *next < *rows && left > 0 {
                            self.shape.write_row(columns, *next, &mut stream.out);
                            stream.flush_if_large()?;
                            *next += 1;
                            (left, self.sent) = (left - 1, self.sent + 1);
                        }
                        if left == 0 {
                            return Ok(false);
                        }
                    }
                    *current = None;
                    let Some(batch) = batches.next() else { return Ok(true) };
                    let batch = batch.map_err(|error| Failure::of(&error, "", 0))?;
                    let columns = self
                        .shape
                        .columns(&batch)
                        .map_err(|error| Failure::new("XX000", error.to_string()))?;
                    *current = Some(Current { columns, rows: batch.num_rows(), next: 0 });
                }
            }
        }
    }

    /// Says that the statement is done.
    pub fn complete(&self, out: &mut Vec<u8>) {
        let count = self.affected.unwrap_or(self.sent);
        let tag = match self.tag {
            "INSERT" => format!("INSERT 0 {count}"),
            "SELECT" | "UPDATE" | "DELETE" | "MERGE" | "COPY" | "FETCH" | "MOVE" => {
                format!("{} {count}", self.tag)
            }
            tag => tag.to_owned(),
        };
        write(out, b'C', |out| write_text(out, &tag));
    }
}

impl Client {
    /// Begins a statement.
    pub fn start(&mut self, run: Run<'_>, stream: &mut Stream) -> Result<Running, Failure> {
        if self.block == Block::Failed && !run.command.ends_failure() {
            return Err(aborted());
        }
        let just_begun = self.just_begun.take();
        match run.command {
            Command::Engine | Command::Copy(_) => self.start_in_engine(run),
            Command::Begin(modes) => self.begin_block(*modes, stream),
            Command::Commit => self.commit(stream),
            Command::Rollback => self.rollback(stream),
            Command::RollbackTo => {
                let running = self.start_in_engine(run)?;
                self.block = Block::Explicit;
                Ok(running)
            }
            Command::SetTransaction(modes) => self.set_transaction(*modes, just_begun, stream),
            Command::SetCharacteristics(modes) => {
                let isolation =
                    modes.isolation.map(|isolation| ("default_transaction_isolation", isolation.name()));
                let read_only = modes
                    .read_only
                    .map(|on| ("default_transaction_read_only", if on { "on" } else { "off" }));
                for (name, value) in [isolation, read_only].into_iter().flatten() {
                    self.set(name, &[value.to_owned()], false)?;
                    self.settings.tell(name, &mut stream.out);
                }
                Ok(Running::tag("SET"))
            }
            Command::Set { name, values, is_local } => {
                self.set(name, values, *is_local)?;
                self.settings.tell(name, &mut stream.out);
                self.tell_zone(stream);
                Ok(Running::tag("SET"))
            }
            Command::Show(name) => self.show(name, run.formats),
            Command::Version => one_text("SELECT", "version", settings::version(), run.formats),
            Command::Reset(name) => {
                self.reset(name.as_deref())?;
                self.settings.tell_all(&mut stream.out);
                self.tell_zone(stream);
                Ok(Running::tag("RESET"))
            }
            Command::Discard => {
                if self.block != Block::Idle {
                    return Err(Failure::new("25001", "DISCARD cannot run inside a transaction block"));
                }
                self.statements.clear();
                self.cursors.clear();
                self.reset(None)?;
                self.settings.tell_all(&mut stream.out);
                self.tell_zone(stream);
                Ok(Running::tag("DISCARD ALL"))
            }
            Command::DeallocateAll => {
                self.statements.clear();
                Ok(Running::tag("DEALLOCATE ALL"))
            }
            Command::Declare(cursor) => self.declare(cursor),
            Command::Fetch(name, much) => self.fetch(name, *much, run.formats),
            Command::Move(name, much) => self.move_cursor(name, *much),
            Command::Close(name) => self.close(name.as_deref()),
            Command::Nothing(tag) => Ok(Running::tag(tag)),
            Command::Refused(why) => Err(Failure::new("0A000", *why)),
        }
    }

    fn start_in_engine(&mut self, run: Run<'_>) -> Result<Running, Failure> {
        let Some(prepared) = run.prepared else {
            return Err(Failure::new("0A000", "COPY with the client comes as a simple query"));
        };
        if self.block == Block::Idle && run.is_part && prepared.writes() {
            self.open_implicit()?;
        }
        self.session.begin(run.text);
        self.tell_engine();
        let rows = self.session.run(prepared, run.params);
        let rows = rows.map_err(|error| Failure::of(&error, run.text, run.begin))?;
        self.running(rows, prepared, run.formats, run.promised)
    }

    /// Rows of the engine, in the types that the client was told.
    pub fn running(
        &self,
        mut rows: Rows<'static>,
        prepared: &PreparedStatement,
        formats: &[Format],
        promised: Option<SchemaRef>,
    ) -> Result<Running, Failure> {
        let (tag, affected) = (rows.tag(), rows.affected());
        let shape = self.shape(self.named(rows.schema().clone(), Some(prepared))?, formats);
        let is_other = |promised: &SchemaRef| {
            let told = Shape::new(promised.clone(), formats, String::new());
            told.types.len() == shape.types.len()
                && told.types.iter().zip(&shape.types).any(|(told, is)| told.oid != is.oid)
        };
        let (shape, source) = match promised.filter(is_other) {
            Some(promised) => {
                let shape = self.shape(promised.clone(), formats);
                (shape, batches(Cast { batches: rows.batches(), to: promised }))
            }
            None => match shape.takes_values().then(|| rows.take_values()).flatten() {
                Some(values) => (shape, Source::Values(values)),
                None => (shape, batches(rows.batches())),
            },
        };
        Ok(Running { shape, source, tag, affected, sent: 0 })
    }

    /// A statement of ours for the engine.
    pub fn engine(&mut self, text: &str) -> Result<(), Failure> {
        let done = self.session.connection.execute(text, ());
        done.map(drop).map_err(|error| Failure::of(&error, "", 0))
    }

    /// Begins a transaction that nobody asked for, in which several statements are one.
    pub fn open_implicit(&mut self) -> Result<(), Failure> {
        self.open(self.settings.modes())?;
        self.block = Block::Implicit;
        Ok(())
    }

    /// Has the engine begin a transaction.
    fn open(&mut self, modes: Modes) -> Result<(), Failure> {
        let session = self.settings.modes();
        let isolation = modes.isolation.or(session.isolation).unwrap_or(Isolation::ReadCommitted);
        let read_only = modes.read_only.or(session.read_only).unwrap_or(false);
        let more = if read_only { ", READ ONLY" } else { "" };
        self.engine(&format!("BEGIN ISOLATION LEVEL {}{more}", isolation.name()))
    }

    fn begin_block(&mut self, modes: Modes, stream: &mut Stream) -> Result<Running, Failure> {
        match self.block {
            Block::Idle => {
                self.open(modes)?;
                self.just_begun = Some(modes);
            }
            // What was done in it belongs to the transaction of the client.
            Block::Implicit => {}
            Block::Explicit | Block::Failed => {
                let warning = Failure::new("25001", "there is already a transaction in progress");
                warning.write_notice(&mut stream.out, "WARNING");
            }
        }
        self.block = Block::Explicit;
        Ok(Running::tag("BEGIN"))
    }

    fn set_transaction(
        &mut self,
        modes: Modes,
        just_begun: Option<Modes>,
        stream: &mut Stream,
    ) -> Result<Running, Failure> {
        match (self.block, just_begun) {
            (Block::Explicit, Some(begun)) => {
                let modes = Modes {
                    isolation: modes.isolation.or(begun.isolation),
                    read_only: modes.read_only.or(begun.read_only),
                };
                // Nothing was done in the one that is open.
                self.engine("ROLLBACK")?;
                self.block = Block::Idle;
                self.open(modes)?;
                (self.block, self.just_begun) = (Block::Explicit, Some(modes));
            }
            (Block::Explicit, None) if modes.isolation.is_some() => {
                return Err(Failure::new(
                    "25001",
                    "SET TRANSACTION ISOLATION LEVEL must be called before any query",
                ));
            }
            (Block::Explicit, None) => {
                return Err(Failure::new("25001", "SET TRANSACTION must be called before any query"));
            }
            _ => {
                let warning = Failure::new("25P01", "SET TRANSACTION can only be used in transaction blocks");
                warning.write_notice(&mut stream.out, "WARNING");
            }
        }
        Ok(Running::tag("SET"))
    }

    fn commit(&mut self, stream: &mut Stream) -> Result<Running, Failure> {
        match self.block {
            Block::Idle => {
                no_transaction().write_notice(&mut stream.out, "WARNING");
                return Ok(Running::tag("COMMIT"));
            }
            Block::Failed => return self.rollback(stream),
            Block::Implicit | Block::Explicit => {}
        }
        let done = self.hold_cursors().and_then(|()| self.engine("COMMIT"));
        if done.is_err() && self.session.connection.in_transaction() {
            self.engine("ROLLBACK")?;
        }
        self.ended(done.is_ok(), stream);
        done.map(|()| Running::tag("COMMIT"))
    }

    fn rollback(&mut self, stream: &mut Stream) -> Result<Running, Failure> {
        if self.block == Block::Idle {
            no_transaction().write_notice(&mut stream.out, "WARNING");
            return Ok(Running::tag("ROLLBACK"));
        }
        let done = self.engine("ROLLBACK");
        self.ended(false, stream);
        done.map(|()| Running::tag("ROLLBACK"))
    }

    /// Takes note that the transaction is over.
    fn ended(&mut self, committed: bool, stream: &mut Stream) {
        self.block = Block::Idle;
        self.portals.clear();
        self.end_cursors(committed);
        self.settings.end_transaction(committed);
        self.settings_back();
        self.tell_zone(stream);
    }

    /// Ends the transaction that nobody asked for, if one is open.
    pub fn end_implicit(&mut self, commit: bool) -> Result<(), Failure> {
        let done = match (self.block, commit) {
            (Block::Implicit, true) => self.engine("COMMIT"),
            (Block::Implicit, false) => self.engine("ROLLBACK"),
            (Block::Idle, _) => Ok(()),
            (Block::Explicit | Block::Failed, _) => return Ok(()),
        };
        self.block = Block::Idle;
        if !self.portals.is_empty() {
            self.portals.clear();
        }
        if !self.cursors.is_empty() {
            self.end_cursors(commit && done.is_ok());
        }
        self.settings.end_transaction(commit && done.is_ok());
        self.settings_back();
        done
    }

    /// Takes note that a statement has failed.
    pub fn fail(&mut self) {
        match self.block {
            Block::Explicit if self.session.connection.in_transaction() => self.block = Block::Failed,
            // The engine has ended it.
            Block::Explicit => self.block = Block::Idle,
            Block::Implicit | Block::Idle => {
                // What cannot be rolled back is not there.
                let _rolled_back = self.end_implicit(false);
            }
            Block::Failed => {}
        }
    }

    fn show(&mut self, name: &str, formats: &[Format]) -> Result<Running, Failure> {
        if name == "all" {
            let all: Vec<_> =
                self.settings.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let column = |of: fn(&(String, String)) -> &str| {
                Arc::new(StringArray::from_iter_values(all.iter().map(of)))
            };
            let none: StringArray = all.iter().map(|_| Some("")).collect();
            let fields =
                ["name", "setting", "description"].map(|name| Field::new(name, DataType::Utf8, false));
            let columns: Vec<arrow_array::ArrayRef> =
                vec![column(|of| &of.0), column(|of| &of.1), Arc::new(none)];
            let batch = RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns);
            let batch = batch.map_err(|error| Failure::new("XX000", error.to_string()))?;
            return Ok(Running::own("SHOW", batch, formats));
        }
        let value = self.setting(name)?;
        let spelled = match name {
            "timezone" => "TimeZone",
            "datestyle" => "DateStyle",
            "intervalstyle" => "IntervalStyle",
            name => name,
        };
        one_text("SHOW", spelled, value, formats)
    }
}

/// A row of one text.
fn one_text(tag: &'static str, name: &str, value: String, formats: &[Format]) -> Result<Running, Failure> {
    let column: arrow_array::ArrayRef = Arc::new(StringArray::from(vec![value]));
    let schema = Schema::new(vec![Field::new(name, DataType::Utf8, false)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![column]);
    let batch = batch.map_err(|error| Failure::new("XX000", error.to_string()))?;
    Ok(Running::own(tag, batch, formats))
}

/// Batches in the types that the client was told: those of a statement that was described with parameters whose types were not known.
struct Cast {
    batches: Batches<'static>,
    to: SchemaRef,
}

impl Iterator for Cast {
    type Item = ambo_sql::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let cast = |batch: RecordBatch| {
            let columns = batch.columns().iter().zip(self.to.fields());
            let columns = columns.map(|(array, field)| arrow_cast::cast(array, field.data_type()));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let fields: Vec<_> =
                self.to.fields().iter().map(|field| Field::clone(field).with_nullable(true)).collect();
            RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        };
        let batch = self.batches.next()?;
        Some(batch.and_then(|batch| {
            cast(batch).map_err(|error| Error::new(ErrorKind::Execution, error.to_string()))
        }))
    }
}

fn batches(batches: impl Iterator<Item = ambo_sql::Result<RecordBatch>> + 'static) -> Source {
    Source::Batches { batches: Box::new(batches), current: None }
}

fn no_transaction() -> Failure {
    Failure::new("25P01", "there is no transaction in progress")
}

pub(super) fn aborted() -> Failure {
    Failure::new("25P02", "current transaction is aborted, commands ignored until end of transaction block")
}
