//! COPY … FROM STDIN: this thread reads what the client sends, another one runs the INSERT that takes it.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use ambo_sql::{Source, type_in_sql};
use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchReader,
    builder::{BinaryBuilder, StringBuilder},
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::{
    super::{
        client::{Block, Client, End, Stop},
        encode::datum_text,
        failure::Failure,
        message::{Format, Message},
        parameter::{bytea, decode, from_text},
        run::aborted,
        stream::Stream,
        types::{item_of, oid, type_of},
    },
    options::{Copy, Kind, Of},
    output::{complete, response},
    rows::{self, Rows},
};

/// What the rows are called in the statement that takes them.
const ROWS: &str = "rows copied by the client";
/// A batch has so many rows at most, or so many bytes.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 4 << 20;
/// Batches that wait for the statement.
const AHEAD: usize = 2;

type Batch = Result<RecordBatch, ArrowError>;

impl Client {
    /// Copies, one way or the other.
    pub fn copy(&mut self, copy: &Copy, is_part: bool, stream: &mut Stream) -> Result<(), Stop> {
        if self.block == Block::Failed {
            return Err(aborted().into());
        }
        self.just_begun = None;
        if is_part && self.block == Block::Idle && copy.is_in {
            self.open_implicit()?;
        }
        let count = match copy.is_in {
            true => self.copy_in(copy, stream)?,
            false => self.copy_out(copy, stream)?,
        };
        complete(count, stream);
        Ok(())
    }

    fn copy_in(&mut self, copy: &Copy, stream: &mut Stream) -> Result<u64, Stop> {
        let Of::Table { name, columns } = &copy.of else {
            return Err(Failure::new("42601", "a query is no table to copy into").into());
        };
        let target = columns.as_ref().map_or_else(|| name.clone(), |columns| format!("{name} ({columns})"));
        let types = self.types_of(&target)?;
        let statement = insert(&target, &types);
        // What the session may not do is refused before rows come.
        self.session.check(&statement).map_err(|error| Failure::of(&error, "", 0))?;
        let is_binary = copy.form.kind == Kind::Binary;
        response(b'G', if is_binary { Format::Binary } else { Format::Text }, types.len(), stream);
        stream.flush()?;
        let (send, receive) = sync_channel(AHEAD);
        let sinks = Sinks::new(&types, is_binary, send);
        let reader = Received { schema: sinks.schema.clone(), batches: receive };
        let max = self.shared.options.limits.message_bytes;
        let session = &mut self.session;
        session.begin(&statement);
        let (read, ran) = thread::scope(|scope| {
            let runs = scope.spawn(move || {
                let connection = &mut session.connection;
                let source = Source::Once(Box::new(reader));
                let done =
                    connection.register(ROWS, source).and_then(|()| connection.execute(&statement, ()));
                connection.unregister(ROWS);
                done
            });
            let read = receive_rows(copy, sinks, max, stream);
            (read, runs.join())
        });
        let ran = ran.map_err(|_| Failure::new("XX000", "COPY was lost: its thread panicked"))?;
        match (read, ran) {
            (Err(Stop::End(end)), _) => Err(Stop::End(end)),
            (Err(Stop::Failed(failure)), _) => Err(Stop::Failed(failure)),
            (Ok(()), Err(error)) => Err(Failure::of(&error, "", 0).into()),
            (Ok(()), Ok(count)) => Ok(count),
        }
    }

    /// The types of the columns that rows are for. Who may not read the table may ask, so the INSERT is asked that is to take them: what
    /// stands for no column in it has no type.
    fn types_of(&mut self, target: &str) -> Result<Vec<DataType>, Failure> {
        let failed = |error: ambo_sql::Error| Failure::of(&error, "", 0);
        let connection = &mut self.session.connection;
        let mut most = 64;
        loop {
            let values: Vec<_> = (1..=most).map(|number| format!("${number}")).collect();
            let into = format!("INSERT INTO {target} VALUES ({})", values.join(", "));
            let into = connection.prepare(&into).map_err(failed)?;
            let types = connection.describe(&into).map_err(failed)?.parameters;
            if types.last().is_none_or(Option::is_none) {
                return Ok(types.into_iter().flatten().collect());
            }
            most *= 2;
        }
    }
}

/// The statement that takes rows of texts.
fn insert(target: &str, types: &[DataType]) -> String {
    let values = types.iter().enumerate().map(|(nth, ty)| match is_cast(ty) {
        true => format!("CAST(\"{nth}\" AS {})", type_in_sql(ty)),
        false => format!("\"{nth}\""),
    });
    format!("INSERT INTO {target} SELECT {} FROM \"{ROWS}\"", values.collect::<Vec<_>>().join(", "))
}

/// Whether a text becomes a value of the type by a cast. What is text is, and what has a logical type is read where it is written.
fn is_cast(ty: &DataType) -> bool {
    ty.is_numeric()
        || matches!(ty, DataType::Boolean | DataType::Date32 | DataType::Time64(_) | DataType::Timestamp(..))
}

/// Takes what the client sends, up to its end.
fn receive_rows(copy: &Copy, mut sinks: Sinks, max: usize, stream: &mut Stream) -> Result<(), Stop> {
    let (mut rows, mut body) = (Rows::new(&copy.form), Vec::new());
    let wrong = |what: String| Failure::new("22P04", what);
    loop {
        let tag = match stream.read_message(max, &mut body) {
            Ok(tag) => tag,
            Err(ended) => {
                sinks.give_up();
                return Err(Stop::End(ended.into()));
            }
        };
        let message = Message::read(tag, &body).map_err(|malformed| {
            sinks.give_up();
            Stop::End(End::Told(malformed.into()))
        })?;
        let taken = match message {
            Message::CopyData(bytes) => rows.push(bytes, |fields| sinks.push(fields)),
            Message::CopyDone => {
                let done = rows.finish(|fields| sinks.push(fields)).and_then(|()| sinks.flush());
                return done.map_err(|what| {
                    sinks.give_up();
                    wrong(what).into()
                });
            }
            Message::CopyFail(why) => {
                sinks.give_up();
                return Err(Failure::new("57014", format!("COPY from stdin failed: {why}")).into());
            }
            Message::Flush | Message::Sync => Ok(()),
            Message::Terminate => {
                sinks.give_up();
                return Err(Stop::End(End::Gone));
            }
            _ => Err("another message came within the rows".to_owned()),
        };
        if let Err(what) = taken {
            sinks.give_up();
            return Err(wrong(what).into());
        }
        // The statement has failed, and says why.
        if sinks.is_refused {
            return Ok(());
        }
    }
}

/// Where the fields of rows go.
struct Sinks {
    columns: Vec<Sink>,
    schema: SchemaRef,
    is_binary: bool,
    rows: usize,
    bytes: usize,
    send: SyncSender<Batch>,
    /// Whether nobody takes batches any more.
    is_refused: bool,
}

enum Sink {
    Text(StringBuilder, u32),
    Bytes(BinaryBuilder),
}

impl Sinks {
    fn new(types: &[DataType], is_binary: bool, send: SyncSender<Batch>) -> Self {
        let column = |ty: &DataType| match type_of(ty).oid {
            oid::BYTEA => Sink::Bytes(BinaryBuilder::new()),
            oid => Sink::Text(StringBuilder::new(), oid),
        };
        let columns: Vec<_> = types.iter().map(column).collect();
        let field = |(nth, column): (usize, &Sink)| match column {
            Sink::Text(..) => Field::new(nth.to_string(), DataType::Utf8, true),
            Sink::Bytes(_) => Field::new(nth.to_string(), DataType::Binary, true),
        };
        let schema = Arc::new(Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>()));
        Self { columns, schema, is_binary, rows: 0, bytes: 0, send, is_refused: false }
    }

    fn push(&mut self, fields: &[rows::Field]) -> Result<(), String> {
        let (given, wanted) = (fields.len(), self.columns.len());
        if given != wanted {
            return Err(format!("a row has {given} fields for {wanted} columns"));
        }
        for (column, field) in self.columns.iter_mut().zip(fields) {
            column.push(field.as_deref(), self.is_binary)?;
            self.bytes += field.as_ref().map_or(0, Vec::len);
        }
        self.rows += 1;
        match self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), String> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns = self.columns.iter_mut().map(Sink::finish).collect();
        (self.rows, self.bytes) = (0, 0);
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(|error| error.to_string())?;
        self.is_refused = self.send.send(Ok(batch)).is_err();
        Ok(())
    }

    /// Has the statement fail, so that nothing is left of it.
    fn give_up(&mut self) {
        // It may have failed before.
        let _failed = self.send.send(Err(ArrowError::IoError(
            "the rows did not come to their end".to_owned(),
            std::io::ErrorKind::UnexpectedEof.into(),
        )));
    }
}

impl Sink {
    fn push(&mut self, field: Option<&[u8]>, is_binary: bool) -> Result<(), String> {
        let text = |bytes| std::str::from_utf8(bytes).map_err(|_| "a field is no UTF-8".to_owned());
        match (self, field) {
            (Self::Text(builder, _), None) => builder.append_null(),
            (Self::Bytes(builder), None) => builder.append_null(),
            (Self::Bytes(builder), Some(bytes)) if is_binary => builder.append_value(bytes),
            (Self::Bytes(builder), Some(bytes)) => {
                let bytes = bytea(text(bytes)?).ok_or("a field is no bytea")?;
                builder.append_value(bytes);
            }
            (Self::Text(builder, ty), Some(bytes)) if is_binary => {
                let value = decode(bytes, *ty, Format::Binary).map_err(|failure| failure.message)?;
                builder.append_value(datum_text(&value));
            }
            (Self::Text(builder, ty), Some(bytes)) if item_of(*ty).is_some() => {
                let value = from_text(text(bytes)?, *ty).ok_or("a field is no array")?;
                builder.append_value(datum_text(&value));
            }
            (Self::Text(builder, _), Some(bytes)) => builder.append_value(text(bytes)?),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(builder, _) => Arc::new(builder.finish()),
            Self::Bytes(builder) => Arc::new(builder.finish()),
        }
    }
}

/// Batches from the thread that reads.
struct Received {
    schema: SchemaRef,
    batches: Receiver<Batch>,
}

impl Iterator for Received {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        self.batches.recv().ok()
    }
}

impl RecordBatchReader for Received {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
