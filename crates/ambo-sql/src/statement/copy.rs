//! COPY: a table from a file or a stream, and a table or a query to one.

use std::{
    fs::File,
    io::{Read, Write},
    path::Path,
    sync::Arc,
};

use ambo::{Column, TableDefinition, Type};
use ambo_files::{Form, Format, RowsOf, Source};
use arrow::array::RecordBatch;
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{self, CopySource, CopyTarget, Ident, ObjectName, SelectItem, Statement},
};

use super::{
    conflict::OnConflict,
    copy_format::Shape,
    copy_forms::Forms,
    copy_partitions::Partitions,
    definition::place,
    incoming::Stream,
    insert::{Given, put},
    load::{self, Outcome},
    target::{Parts, Target},
};
use crate::{
    Connection, Error, Result, Rows,
    connection::Work,
    files::{self, Wanted, refused, with_texts},
    rights::Right,
    value,
};

/// What streams are called in messages.
const INPUT: &str = "standard input";
const OUTPUT: &str = "standard output";

pub(super) fn run(
    connection: &mut Connection,
    copy: Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    let copy = Copy::of(copy)?;
    let Some(path) = copy.path.clone() else {
        let how = match copy.to {
            true => "rows go to a stream by Connection::copy_out, in the shell and over a server's protocol",
            false => {
                "rows come from a stream by Connection::copy_in, in the shell and over a server's protocol"
            }
        };
        return Err(Error::invalid("COPY from STDIN or to STDOUT has no stream here").with_hint(how));
    };
    if copy.to {
        let rows = copy.write(connection, params, None)?;
        return Ok(Rows::done("COPY", Some(rows)));
    }
    let input = match &copy.shape {
        Shape::File(format) => {
            let source = files::open(&path)?.in_format(format).map_err(refused)?;
            Input { source: Arc::new(source), name: path, format: format.clone() }
        }
        Shape::Text(_) => {
            let file = File::open(&path).map_err(|error| ambo_files::Error::io(Path::new(&path), &error));
            Input::kept(connection, &copy, &mut file.map_err(refused)?, path)?
        }
    };
    copy.read(connection, &input, params)
}

/// Runs a COPY FROM STDIN whose rows are those of a stream.
pub(crate) fn from_stream(
    connection: &mut Connection,
    copy: Statement,
    stream: &mut dyn Read,
) -> Result<u64> {
    let copy = Copy::of(copy)?;
    if copy.to || copy.path.is_some() {
        return Err(Error::invalid("the statement is no COPY … FROM STDIN"));
    }
    let input = Input::kept(connection, &copy, stream, INPUT.to_owned())?;
    Ok(copy.read(connection, &input, &[])?.affected().unwrap_or(0))
}

/// Runs a COPY TO STDOUT whose rows go to a stream.
pub(crate) fn to_stream(
    connection: &mut Connection,
    copy: Statement,
    stream: &mut (dyn Write + Send),
) -> Result<u64> {
    let copy = Copy::of(copy)?;
    match copy.to && copy.path.is_none() {
        true => copy.write(connection, &[], Some(stream)),
        false => Err(Error::invalid("the statement is no COPY … TO STDOUT")),
    }
}

/// How many columns a COPY has, and whether what it reads or writes has lines of text.
pub(crate) fn width(connection: &mut Connection, copy: Statement) -> Result<(usize, bool)> {
    let copy = Copy::of(copy)?;
    let is_text = !matches!(&copy.shape, Shape::File(format) if format.form == Form::Parquet);
    let columns = match (&copy.source, copy.to) {
        (CopySource::Table { table_name, columns }, false) => {
            let table = super::table(&connection.definitions(), table_name)?;
            listed(table.definition(), columns)?.len()
        }
        (source, _) => {
            let planner = connection.reader()?;
            planner.plan_query(&query_of(source.clone())?, &[])?.schema().fields().len()
        }
    };
    Ok((columns, is_text))
}

/// A COPY with what its options mean.
struct Copy {
    source: CopySource,
    to: bool,
    /// The name of a file; none for a stream.
    path: Option<String>,
    shape: Shape,
    /// Columns by which rows go to files of their own in a folder.
    parts: Option<Partitions>,
    /// What is said of the rows that are written.
    forms: Forms,
}

impl Copy {
    fn of(copy: Statement) -> Result<Self> {
        let Statement::Copy { source, to, target, options, legacy_options, .. } = copy else {
            return Err(Error::invalid(format!("not supported: {copy}")));
        };
        let path = match target {
            CopyTarget::File { filename } => Some(filename),
            CopyTarget::Stdin | CopyTarget::Stdout => None,
            CopyTarget::Program { .. } => {
                return Err(Error::invalid("COPY runs no programs")
                    .with_hint("have the program write a file, or COPY t FROM STDIN read what it writes"));
            }
        };
        let (parts, options) = Partitions::of(options)?;
        let (forms, options) = if to { Forms::of(options)? } else { (Forms::default(), options) };
        if parts.is_some() && (!to || path.is_none()) {
            return Err(Error::invalid("PARTITION_BY is for COPY … TO a folder"));
        }
        let shape = Shape::of(path.as_deref(), &options, &legacy_options)?;
        let are_features = matches!(&shape, Shape::File(format) if format.rows == RowsOf::Features);
        forms.require(are_features)?;
        if let Shape::File(format) = &shape
            && format.quote == 0
            && !to
        {
            return Err(Error::invalid("COPY … FROM has a quote; QUOTE '' is for writing"));
        }
        match (&source, to) {
            (CopySource::Query(_), false) => Err(Error::invalid("a query is no table to copy into")),
            _ => Ok(Self { source, to, path, shape, parts, forms }),
        }
    }

    /// The table that rows go to, and the columns that are named.
    fn table(&self) -> Result<(&ObjectName, &[Ident])> {
        match &self.source {
            CopySource::Table { table_name, columns } => Ok((table_name, columns)),
            CopySource::Query(_) => Err(Error::invalid("a query is no table to copy into")),
        }
    }

    fn read(
        &self,
        connection: &mut Connection,
        input: &Input,
        params: &[ScalarValue],
    ) -> Result<Rows<'static>> {
        let (table, columns) = self.table()?;
        let threads = connection.engine().options.threads;
        load::write(connection, params, "COPY", |work| read_in(work, input, table, columns, threads))
    }

    /// Writes the rows to the file, or to the stream if there is one.
    fn write(
        &self,
        connection: &Connection,
        params: &[ScalarValue],
        stream: Option<&mut (dyn Write + Send)>,
    ) -> Result<u64> {
        let query = query_of(self.source.clone())?;
        let planner = connection.reader()?;
        let plan = planner.plan_query(&query, params)?;
        let plan = match self.forms.query(&query, plan.schema())? {
            Some(formed) => planner.plan_query(&formed, params)?,
            None => plan,
        };
        let rows = Stream::new(&planner, &plan)?;
        let mut schema = rows.schema(&plan);
        let features = match &self.shape {
            Shape::File(format) if format.rows == RowsOf::Features => {
                let kept = self.parts.as_ref().map_or(Ok(Vec::new()), |parts| parts.places(&schema))?;
                Some(self.forms.features(&schema, kept)?)
            }
            _ => None,
        };
        if let Some(features) = &features {
            schema = features.schema.clone();
        }
        let rows = rows.map(|batch| match &features {
            Some(features) => features.of(&batch?),
            None => batch,
        });
        let is_plain = !matches!(&self.shape, Shape::File(format) if format.form != Form::Csv);
        let written = |batch| with_texts(batch, is_plain).map_err(value::wrong);
        let schema = written(RecordBatch::new_empty(schema))?.schema();
        let batches = rows.map(|batch| written(batch?));
        let tell = |rows| connection.progress().report(rows);
        let path = Path::new(self.path.as_deref().unwrap_or(OUTPUT));
        if let Some(parts) = &self.parts {
            let Shape::File(format) = &self.shape else {
                return Err(Error::invalid("PARTITION_BY writes files of CSV, JSON or Parquet"));
            };
            return parts.write(path, format, &schema, batches, tell);
        }
        match (stream, &self.shape) {
            (Some(out), Shape::File(format)) => {
                ambo_files::write_to_stream(out, OUTPUT, format, &schema, batches, tell)
            }
            (Some(out), Shape::Text(form)) => {
                ambo_files::write_text_to(out, OUTPUT, form, &schema, batches, tell)
            }
            (None, Shape::File(format)) => ambo_files::write(path, format, &schema, batches, tell),
            (None, Shape::Text(form)) => ambo_files::write_text(path, form, &schema, batches, tell),
        }
    }
}

/// Where rows come from.
struct Input {
    source: Arc<Source>,
    /// As it is called in messages.
    name: String,
    format: Format,
}

impl Input {
    /// Keeps what a stream says: a statement that meets a conflict reads it again.
    fn kept(connection: &Connection, copy: &Copy, stream: &mut dyn Read, name: String) -> Result<Self> {
        let (source, format) = match &copy.shape {
            Shape::File(format) => {
                let source = Source::of_stream(stream, &name).and_then(|source| source.in_format(format));
                (source, format.clone())
            }
            Shape::Text(form) => {
                let (table, columns) = copy.table()?;
                let table = super::table(&connection.definitions(), table)?;
                let definition = table.definition();
                let named = |place: &usize| {
                    let column = &definition.columns[*place];
                    (column.name.as_str(), column.kind == Type::Binary && column.logical.is_none())
                };
                let columns: Vec<_> = listed(definition, columns)?.iter().map(named).collect();
                (Source::of_text(stream, &name, form, &columns), Format::new(Form::Json))
            }
        };
        Ok(Self { source: Arc::new(source.map_err(refused)?), name, format })
    }
}

/// The places of the columns that are copied: those that are named, or all but generated ones, which are computed.
fn listed(definition: &TableDefinition, columns: &[Ident]) -> Result<Vec<usize>> {
    if columns.is_empty() {
        let is_given = |place: &usize| definition.columns[*place].generated().is_none();
        return Ok((0..definition.columns.len()).filter(is_given).collect());
    }
    columns.iter().map(|column| place(definition, column)).collect()
}

fn read_in(
    work: &mut Work<'_>,
    input: &Input,
    table: &ObjectName,
    columns: &[Ident],
    threads: usize,
) -> Result<Outcome> {
    let target = Target::new(work, table, None, &[Right::Insert])?;
    let definition = target.definition();
    let listed: Vec<usize> = match columns.is_empty() {
        true => listed(definition, columns)?,
        false => {
            let names: Vec<ObjectName> = columns.iter().cloned().map(ObjectName::from).collect();
            target.columns_of(names.iter())?
        }
    };
    let column = |place: &usize| &definition.columns[*place];
    let wanted = Wanted {
        columns: listed.iter().map(|place| wanted(column(place))).collect(),
        is_list: !columns.is_empty(),
        threads,
    };
    let (found, batches) = files::read(&input.name, &input.source, &input.format, &wanted)?;
    let columns = found.into_iter().map(|place| listed[place]).collect();
    let rows = Given { columns, batches, may_load: true, file: Some(input.name.clone()) };
    put(work, target, rows, OnConflict::refuse(), None, &[])
}

/// A column as the reader of files knows it. Where it may be NULL or has a default, that is told by others; but an empty field is an empty
/// text where a text cannot be NULL.
fn wanted(column: &Column) -> ambo_files::Column {
    let nullable = column.nullable || column.logical.is_some() || !column.kind.is_variable();
    // What has a logical type is read from text when the file is.
    let ty = if column.logical.is_some() { Type::Utf8 } else { column.kind };
    ambo_files::Column { name: column.name.clone(), ty, nullable }
}

/// The query whose rows are copied.
fn query_of(source: CopySource) -> Result<ast::Query> {
    let query = match source {
        CopySource::Query(query) => *query,
        CopySource::Table { table_name, columns } => {
            let items = match columns.is_empty() {
                true => vec![SelectItem::Wildcard(Default::default())],
                false => columns
                    .into_iter()
                    .map(|name| SelectItem::UnnamedExpr(ast::Expr::Identifier(name)))
                    .collect(),
            };
            let mut relation = super::target::relation("");
            if let ast::TableFactor::Table { name, .. } = &mut relation.relation {
                *name = table_name;
            }
            Parts { items, from: vec![relation], ..Parts::default() }.query()
        }
    };
    match query.locks.is_empty() {
        true => Ok(query),
        false => Err(Error::invalid("COPY takes no locks: leave FOR UPDATE away")),
    }
}
