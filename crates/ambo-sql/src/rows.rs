//! What a statement returns: rows, as values or as Arrow batches, or how many rows it changed.

use std::{collections::VecDeque, marker::PhantomData, ops::Index, sync::Arc};

use ambo::{Datum, arrow::enum_of};
use arrow::{
    array::{RecordBatch, RecordBatchOptions},
    datatypes::{Field, FieldRef, Schema, SchemaRef},
};
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use tokio::runtime::Handle;

use crate::{
    Error, Result,
    convert::{FromRow, FromValue},
    engine::SqlEngine,
    logical::{has_own, plain, plain_type},
    value::{self, Values},
    wait::Interrupter,
};

/// The rows of a statement, an iterator over [`Row`]s. They are computed as they are taken.
///
/// ```
/// let db = ambo_sql::Database::in_memory()?;
/// for row in db.sql("select * from (values (1, 'one'), (2, 'two')) as t (n, name)")? {
///     let (n, name): (i64, String) = row?.into_values()?;
///     println!("{n} is {name}");
/// }
/// # Ok::<(), ambo_sql::Error>(())
/// ```
pub struct Rows<'c> {
    schema: SchemaRef,
    source: Source,
    /// The batch that rows are taken from, and the next of it.
    current: Option<(RecordBatch, usize)>,
    tag: &'static str,
    affected: Option<u64>,
    /// Whose threads compute rows that are still to come. Behind them, so that it goes after them.
    _engine: Option<Arc<SqlEngine>>,
    _connection: PhantomData<&'c mut ()>,
}

pub(crate) enum Source {
    Values(VecDeque<Vec<Datum>>),
    Batches(VecDeque<RecordBatch>),
    Stream { stream: SendableRecordBatchStream, interrupter: Interrupter, threads: Handle },
}

impl<'c> Rows<'c> {
    /// The rows of a query.
    pub(crate) fn new(schema: SchemaRef, source: Source) -> Self {
        Self {
            schema: plain_schema(schema),
            source,
            current: None,
            tag: "SELECT",
            affected: None,
            _engine: None,
            _connection: PhantomData,
        }
    }

    /// The same, which need the engine for as long as they are there, if they do.
    pub(crate) fn keeping(self, engine: &Arc<SqlEngine>) -> Self {
        match &self.source {
            Source::Stream { .. } => Self { _engine: Some(engine.clone()), ..self },
            Source::Values(_) | Source::Batches(_) => self,
        }
    }

    /// What a statement without rows did.
    pub(crate) fn done(tag: &'static str, affected: Option<u64>) -> Self {
        let none = Source::Values(VecDeque::new());
        Self { tag, affected, ..Self::new(Arc::new(Schema::empty()), none) }
    }

    /// The same, as what another statement returns.
    pub(crate) fn with_tag(self, tag: &'static str, affected: Option<u64>) -> Self {
        Self { tag, affected, ..self }
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The names of the columns.
    pub fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// What kind of statement it was, in capitals.
    pub fn tag(&self) -> &'static str {
        self.tag
    }

    /// How many rows the statement inserted, changed or deleted; `None` if it is none that does such things.
    pub fn affected(&self) -> Option<u64> {
        self.affected
    }

    /// Takes all rows and says how many the statement inserted, changed or deleted.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.try_for_each(|row| row.map(drop))?;
        Ok(self.affected.unwrap_or(0))
    }

    /// The only row.
    ///
    /// # Errors
    /// No row, or more than one.
    pub fn single(mut self) -> Result<Row> {
        let row = self.next().unwrap_or_else(|| Err(Error::invalid("the statement returned no row")))?;
        match self.next() {
            None => Ok(row),
            Some(Ok(_)) => Err(Error::invalid("the statement returned more than one row")),
            Some(Err(error)) => Err(error),
        }
    }

    /// The rows, if they are there as values already, as those that a statement on a key finds; `None` of rows that come as batches. For
    /// programs that make values of their own of both.
    pub fn take_values(&mut self) -> Option<VecDeque<Vec<Datum>>> {
        let is_plain = |field: &FieldRef| value::column_type(field.data_type()).is_some();
        match &mut self.source {
            Source::Values(rows) if self.schema.fields().iter().all(is_plain) => Some(std::mem::take(rows)),
            _ => None,
        }
    }

    /// The rows as Arrow batches. Rows that were taken already are not among them.
    pub fn batches(self) -> Batches<'c> {
        Batches { rows: self }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some((batch, next)) = self.current.take()
            && next < batch.num_rows()
        {
            return Ok(Some(batch.slice(next, batch.num_rows() - next)));
        }
        match &mut self.source {
            Source::Values(rows) if rows.is_empty() => Ok(None),
            Source::Values(rows) => {
                let rows: Vec<_> = std::mem::take(rows).into();
                value::batch(&self.schema, &rows).map(Some)
            }
            Source::Batches(batches) => {
                batches.pop_front().map(|batch| plain_batch(batch, &self.schema)).transpose()
            }
            Source::Stream { stream, interrupter, threads } => {
                let _threads = threads.enter();
                let Some(batch) = interrupter.wait(stream.next())? else { return Ok(None) };
                let batch = plain_batch(value::with_names(batch?, &self.schema)?, &self.schema)?;
                debug_assert!(
                    has_types_of(&batch, &self.schema),
                    "{:?} are no {:?}",
                    batch.schema(),
                    self.schema
                );
                Ok(Some(batch))
            }
        }
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        let row = |schema: &SchemaRef, values| Ok(Some(Row { schema: schema.clone(), values }));
        if let Source::Values(rows) = &mut self.source {
            return rows.pop_front().map_or(Ok(None), |values| row(&self.schema, values));
        }
        loop {
            if let Some((batch, next)) = &mut self.current
                && *next < batch.num_rows()
            {
                *next += 1;
                return row(&self.schema, Values::new(batch).row(*next - 1)?);
            }
            self.current = None;
            match self.next_batch()? {
                Some(batch) => self.current = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}

/// Whether a batch is of the types that its schema says.
fn has_types_of(batch: &RecordBatch, schema: &SchemaRef) -> bool {
    let mut pairs = batch.schema_ref().fields().iter().zip(schema.fields());
    pairs.all(|(own, said)| own.data_type().equals_datatype(said.data_type()))
}

/// What fields of rows have in their metadata whose values are of an enum: its labels in their order, with U+0001 between them.
pub const ENUM_LABELS: &str = "ambo.labels";

/// Labels as [`ENUM_LABELS`] has them.
pub(crate) fn joined<'l>(labels: impl Iterator<Item = &'l str>) -> String {
    labels.collect::<Vec<_>>().join("\u{1}")
}

/// The schema with texts in the place of enums, which others do not know.
pub(crate) fn plain_schema(schema: SchemaRef) -> SchemaRef {
    if !schema.fields().iter().any(|field| has_own(field.data_type())) {
        return schema;
    }
    let of = |field: &FieldRef| {
        let mut plain = Field::clone(field).with_data_type(plain_type(field.data_type()));
        if let Some(labels) = enum_of(field.data_type()) {
            plain.metadata_mut().insert(ENUM_LABELS.to_owned(), joined(labels));
        }
        plain
    };
    let fields: Vec<_> = schema.fields().iter().map(of).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn plain_batch(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if !batch.schema_ref().fields().iter().any(|field| has_own(field.data_type())) {
        return Ok(batch);
    }
    let columns = batch.columns().iter().map(plain).collect::<std::result::Result<Vec<_>, _>>();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns.map_err(value::wrong)?, &options)
        .map_err(value::wrong)
}

impl Iterator for Rows<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        let next = self.next_row().transpose();
        if matches!(next, Some(Err(_))) {
            self.source = Source::Batches(VecDeque::new());
        }
        next
    }
}

/// An iterator over the rows of a statement as Arrow batches.
pub struct Batches<'c> {
    rows: Rows<'c>,
}

impl Batches<'_> {
    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.rows.schema
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = self.rows.next_batch().transpose();
        if matches!(next, Some(Err(_))) {
            self.rows.source = Source::Batches(VecDeque::new());
        }
        next
    }
}

/// A row of a result. Values of types that no column of a table has, such as lists and intervals, are there as text.
#[derive(Clone, Debug)]
pub struct Row {
    schema: SchemaRef,
    values: Vec<Datum>,
}

impl Row {
    /// The values, in the order of the columns.
    pub fn values(&self) -> &[Datum] {
        &self.values
    }

    /// The names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.schema.fields().iter().map(|field| field.name().as_str())
    }

    /// The value of a column, by its place.
    ///
    /// # Errors
    /// No such column, or a value that is no `T`; NULL is an `Option` only.
    pub fn get<T: FromValue>(&self, column: usize) -> Result<T> {
        let Some(value) = self.values.get(column) else {
            return Err(Error::invalid(format!(
                "the row has no column {column}, only {}",
                self.values.len()
            )));
        };
        T::from_value(value).map_err(|error| self.in_column(column, &error))
    }

    /// What is wrong with the value of a column.
    pub(crate) fn in_column(&self, column: usize, error: &Error) -> Error {
        let name = self.schema.field(column).name();
        Error::new(error.kind(), format!("column {column} (\"{name}\"): {}", error.message()))
    }

    /// The value of a column, by its name.
    ///
    /// # Errors
    /// As [`Row::get`].
    pub fn get_named<T: FromValue>(&self, name: &str) -> Result<T> {
        match self.columns().position(|column| column == name) {
            Some(column) => self.get(column),
            None => Err(Error::not_found("column", name, self.columns())),
        }
    }

    /// All values as a tuple, or a single value.
    ///
    /// # Errors
    /// Another number of columns, or a value that is none of its type.
    pub fn into_values<T: FromRow>(self) -> Result<T> {
        T::from_row(&self)
    }
}

impl Index<usize> for Row {
    type Output = Datum;

    fn index(&self, column: usize) -> &Datum {
        &self.values[column]
    }
}
