//! COPY: a table from a file, and a table or a query to a file.

use std::path::Path;

use ambo::{Column, Type};
use ambo_files::{Form, Format, byte};
use arrow::array::RecordBatch;
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{
        self, CopyLegacyCsvOption, CopyLegacyOption, CopyOption, CopySource, CopyTarget, SelectItem,
        Statement,
    },
};

use super::{
    conflict::OnConflict,
    incoming::Stream,
    insert::{Given, put},
    load::{self, Outcome},
    target::{Parts, Target},
};
use crate::{
    Connection, Error, Result, Rows,
    connection::Work,
    files::{self, Wanted, with_texts},
    names::ident,
    value,
};

pub(super) fn run(
    connection: &mut Connection,
    copy: Statement,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    let Statement::Copy { source, to, target, options, legacy_options, .. } = copy else {
        return Err(Error::invalid(format!("not supported: {copy}")));
    };
    let CopyTarget::File { filename } = target else {
        return Err(Error::invalid(format!("COPY reads and writes files, not {target}"))
            .with_hint("name a file: COPY t FROM 'rows.csv'"));
    };
    let format = format(&filename, &options, &legacy_options)?;
    let rows = match (to, source) {
        (true, source) => to_file(connection, &filename, &format, source, params)?,
        (false, CopySource::Table { table_name, columns }) => {
            let threads = connection.engine().options.threads;
            return load::write(connection, params, "COPY", |work| {
                from_file(work, &filename, &format, &table_name, &columns, threads)
            });
        }
        (false, CopySource::Query(_)) => return Err(Error::invalid("a query is no table to copy into")),
    };
    Ok(Rows::done("COPY", Some(rows)))
}

fn from_file(
    work: &mut Work<'_>,
    path: &str,
    format: &Format,
    table: &ast::ObjectName,
    columns: &[ast::Ident],
    threads: usize,
) -> Result<Outcome> {
    let target = Target::new(work, table, None)?;
    let definition = target.definition();
    let listed: Vec<usize> = match columns.is_empty() {
        // Generated columns are computed.
        true => (0..definition.columns.len())
            .filter(|place| definition.columns[*place].generated().is_none())
            .collect(),
        false => {
            let names: Vec<ast::ObjectName> = columns.iter().cloned().map(ast::ObjectName::from).collect();
            target.columns_of(names.iter())?
        }
    };
    let column = |place: &usize| &definition.columns[*place];
    let wanted = Wanted {
        columns: listed.iter().map(|place| wanted(column(place))).collect(),
        is_list: !columns.is_empty(),
        threads,
    };
    let (found, batches) = files::read(path, format, &wanted)?;
    let columns = found.into_iter().map(|place| listed[place]).collect();
    let rows = Given { columns, batches, may_load: true, file: Some(path.to_owned()) };
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

fn to_file(
    connection: &Connection,
    path: &str,
    format: &Format,
    source: CopySource,
    params: &[ScalarValue],
) -> Result<u64> {
    let mut query = match source {
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
    if !query.locks.is_empty() {
        query.locks.clear();
        return Err(Error::invalid("COPY takes no locks: leave FOR UPDATE away"));
    }
    let planner = connection.reader()?;
    let plan = planner.plan_query(&query, params)?;
    let stream = Stream::new(&planner, &plan)?;
    let schema = stream.schema(&plan);
    let is_csv = format.form == Form::Csv;
    let written = |batch| with_texts(batch, is_csv).map_err(value::wrong);
    let schema = written(RecordBatch::new_empty(schema))?.schema();
    let batches = stream.map(|batch| written(batch?));
    ambo_files::write(Path::new(path), format, &schema, batches, |rows| connection.progress().report(rows))
}

/// What the end of the name says, and what the options say.
fn format(path: &str, options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<Format> {
    let named = options.iter().find_map(|option| match option {
        CopyOption::Format(name) => Some(ident(name)),
        _ => None,
    });
    let by_word = legacy.iter().find_map(|option| match option {
        CopyLegacyOption::Csv(_) => Some("csv".to_owned()),
        CopyLegacyOption::Json(None) => Some("json".to_owned()),
        CopyLegacyOption::Parquet => Some("parquet".to_owned()),
        _ => None,
    });
    let guessed = Format::of(path);
    let mut format = match (named.or(by_word), guessed) {
        (None, Some(guessed)) => guessed,
        (None, None) => {
            return Err(Error::invalid(format!("the name \"{path}\" does not say what the file is"))
                .with_hint("say it: WITH (FORMAT csv), json or parquet"));
        }
        (Some(name), guessed) => {
            let form = match name.as_str() {
                "csv" => Form::Csv,
                "json" | "jsonl" => Form::Json,
                "parquet" => Form::Parquet,
                other => {
                    return Err(Error::not_found("format", other, ["csv", "json", "parquet"].into_iter()));
                }
            };
            match guessed {
                Some(guessed) => Format { form, ..guessed },
                None => Format::new(form),
            }
        }
    };
    let unknown = |option: &dyn std::fmt::Display| Error::invalid(format!("COPY has no option {option}"));
    let is_csv = format.form == Form::Csv;
    for option in options {
        match option {
            CopyOption::Format(_) => {}
            CopyOption::Delimiter(of) if is_csv => format.delimiter = byte("the delimiter", *of)?,
            CopyOption::Quote(of) if is_csv => format.quote = byte("the quote", *of)?,
            CopyOption::Escape(of) if is_csv => {
                format.escape = Some(byte("the escape", *of)?).filter(|of| *of != format.quote)
            }
            CopyOption::Null(null) if is_csv => format.nulls = vec![null.clone()],
            CopyOption::Header(header) if is_csv => format.header = *header,
            CopyOption::Encoding(name) if name.to_lowercase().replace('-', "") == "utf8" => {}
            other => return Err(unknown(other)),
        }
    }
    for option in legacy {
        match option {
            CopyLegacyOption::Json(None) | CopyLegacyOption::Parquet => {}
            CopyLegacyOption::Header if is_csv => format.header = true,
            CopyLegacyOption::Delimiter(of) if is_csv => format.delimiter = byte("the delimiter", *of)?,
            CopyLegacyOption::Null(null) if is_csv => format.nulls = vec![null.clone()],
            CopyLegacyOption::Csv(options) if is_csv => {
                for option in options {
                    match option {
                        CopyLegacyCsvOption::Header => format.header = true,
                        CopyLegacyCsvOption::Quote(of) => format.quote = byte("the quote", *of)?,
                        CopyLegacyCsvOption::Escape(of) => {
                            format.escape = Some(byte("the escape", *of)?).filter(|of| *of != format.quote);
                        }
                        other => return Err(unknown(other)),
                    }
                }
            }
            other => return Err(unknown(other)),
        }
    }
    if is_csv {
        format.check()?;
    }
    Ok(format)
}
