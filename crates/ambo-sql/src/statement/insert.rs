//! INSERT: rows of a query, made whole, and put into the table. Many rows of a query go into a column table as a bulk load.

use ambo::Datum;
use arrow::array::RecordBatch;
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{self, ObjectName, SetExpr, SqliteOnConflict},
};

use super::{
    client_values,
    conflict::{Conflicts, OnConflict},
    generated,
    incoming::{Batches, Stream, complete},
    load::{self, Bulk, Meaning, Outcome, are_many},
    returning::{Returning, Written},
    target::Target,
    values,
};
use crate::{
    Connection, Error, Result, Rows,
    connection::Work,
    parse::BY_NAME,
    planner::result_schema,
    value::{self, Values},
};

pub(super) fn run(
    connection: &mut Connection,
    insert: &ast::Insert,
    with: Option<&ast::With>,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    load::write(connection, params, "INSERT", |work| apply(work, insert, with))
}

/// Rows on their way into a table, with values for these columns.
pub(super) struct Given {
    pub columns: Vec<usize>,
    pub batches: Batches,
    /// Whether it is worth while to look whether they are many.
    pub may_load: bool,
    /// The file that they are from.
    pub file: Option<String>,
}

pub(super) fn apply(work: &mut Work<'_>, insert: &ast::Insert, with: Option<&ast::With>) -> Result<Outcome> {
    let mut insert = insert.clone();
    refuse(&insert)?;
    let target = Target::of_insert(work, &insert)?;
    target.unqualify(&mut insert.returning);
    let mut params = work.params.to_vec();
    let mut source = insert.source.take();
    if let (Some(source), Some(with)) = (&mut source, with) {
        merge_with(source, with)?;
    }
    if is_by_name(&insert.columns) {
        insert.columns = names_of(work, source.as_deref(), &params)?;
    }
    let columns = match insert.columns.is_empty() {
        true => generated::written(&target, source.as_deref()),
        false => target.columns_of(insert.columns.iter())?,
    };
    generated::refuse_given(&target, &columns, source.as_deref_mut())?;
    let on = OnConflict::new(&target, &insert, &mut params)?;
    let is_values = source.as_ref().is_none_or(|source| matches!(*source.body, SetExpr::Values(_)));
    let batches: Batches = match source {
        None => Box::new(std::iter::once(defaults())),
        Some(mut source) => {
            if let SetExpr::Values(rows) = &mut *source.body {
                if work.session.postgres.is_some() {
                    client_values::say(&target, &columns, rows);
                }
                values::prepare(&target, &columns, rows, &mut params)?;
            }
            let planner = work.planner()?;
            if is_values {
                values::batches(&planner, &source, &params)?
            } else {
                let plan = planner.plan_query(&source, &params)?;
                let given = plan.schema().fields().len();
                if given != columns.len() {
                    return Err(Error::invalid(format!(
                        "{} columns are named, {given} are given",
                        columns.len()
                    )));
                }
                let stream = Stream::new(&planner, &plan)?;
                stream.fits(target.definition(), columns.iter().copied().enumerate())?;
                Box::new(stream)
            }
        }
    };
    let given = Given { columns, batches, may_load: !is_values, file: None };
    put(work, target, given, on, insert.returning.as_deref(), &params)
}

/// Whether the columns are those that the query has.
fn is_by_name(columns: &[ObjectName]) -> bool {
    matches!(columns, [only] if only.0.last().and_then(|part| part.as_ident()).is_some_and(|name| name.value == BY_NAME))
}

/// The names of the columns of a query.
fn names_of(work: &Work<'_>, source: Option<&ast::Query>, params: &[ScalarValue]) -> Result<Vec<ObjectName>> {
    let Some(source) = source.filter(|source| !matches!(*source.body, SetExpr::Values(_))) else {
        return Err(Error::invalid("INSERT BY NAME takes a query, whose columns have names")
            .with_hint("name the columns behind the table: INSERT INTO t (a, b) VALUES (1, 2)"));
    };
    let plan = work.planner()?.plan_query(source, params)?;
    let schema = result_schema(&plan);
    let name =
        |field: &arrow::datatypes::FieldRef| ObjectName::from(ast::Ident::with_quote('"', field.name()));
    Ok(schema.fields().iter().map(name).collect())
}

/// Puts rows into a table: in this transaction, or later by a bulk load if that may be and they are many.
pub(super) fn put(
    work: &mut Work<'_>,
    target: Target,
    mut given: Given,
    on: OnConflict,
    returning: Option<&[ast::SelectItem]>,
    params: &[ScalarValue],
) -> Result<Outcome> {
    if given.may_load
        && work.is_auto
        && returning.is_none()
        && Bulk::is_for(&target.table, &given.columns)
        && let Some(duplicates) = on.duplicates(&target)
        && are_many(&mut given.batches)?
    {
        let Given { columns, batches, file, .. } = given;
        let bulk = Bulk::new(target.table, target.rules, columns, batches, file);
        return Ok(Outcome::Bulk(Bulk { meaning: Meaning::New(duplicates), ..bulk }));
    }
    insert_rows(work, &target, given, on, returning, params).map(Outcome::Written)
}

fn insert_rows(
    work: &mut Work<'_>,
    target: &Target,
    given: Given,
    on: OnConflict,
    returning: Option<&[ast::SelectItem]>,
    params: &[ScalarValue],
) -> Result<Written> {
    let definition = target.definition();
    let mut returning = Returning::new(returning, &target.alias, definition, []);
    let mut conflicts = Conflicts::new(target, on, params);
    let mut first = 1;
    for batch in given.batches {
        work.interrupter.check()?;
        let rows =
            complete(definition, &target.rules, &given.columns, &batch?, first, given.file.as_deref())?;
        let of_rows = Values::stored(&rows);
        let mut written = Vec::new();
        for row in 0..rows.num_rows() {
            conflicts.insert(work, of_rows.row(row)?, &mut written)?;
        }
        conflicts.flush(work, &mut written)?;
        first += rows.num_rows() as u64;
        if returning.is_wanted() {
            returning.push(value::batch(&rows.schema(), &written)?);
        }
        work.progress.report(first - 1);
    }
    returning.finish(work, conflicts.affected(), params)
}

/// A row as it is in the table now: with the number that it was given as its key.
pub(super) fn numbered(target: &Target, mut row: Vec<Datum>, number: Option<u64>) -> Result<Vec<Datum>> {
    let definition = target.definition();
    if let (Some(number), [key]) = (number, definition.primary_columns())
        && definition.numbers_itself(*key)
    {
        let kind = definition.columns[*key].kind;
        row[*key] = Datum::U64(number).fit(kind).map_err(|error| Error::invalid(error.to_string()))?;
    }
    Ok(row)
}

fn refuse(insert: &ast::Insert) -> Result<()> {
    let unknown = match insert {
        ast::Insert { overwrite: true, .. } => "INSERT OVERWRITE",
        ast::Insert { partitioned: Some(_), .. } => "PARTITION",
        ast::Insert { output: Some(_), .. } => "OUTPUT",
        ast::Insert { format_clause: Some(_), .. } => "FORMAT",
        ast::Insert { insert_alias: Some(_), .. } => "an alias of the new row; it is called excluded",
        ast::Insert { or: Some(SqliteOnConflict::Rollback | SqliteOnConflict::Fail), .. } => {
            "OR ROLLBACK and OR FAIL: a statement that fails takes back itself"
        }
        insert if !insert.assignments.is_empty() => "INSERT … SET",
        insert if !insert.after_columns.is_empty() || insert.multi_table_insert_type.is_some() => {
            "INSERT into several tables"
        }
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("not supported: {unknown}")))
}

/// One row without any value.
fn defaults() -> Result<RecordBatch> {
    super::incoming::rows_of(arrow::datatypes::Schema::empty().into(), Vec::new(), 1)
}

/// Gives the query the CTEs of the statement.
pub(super) fn merge_with(query: &mut ast::Query, with: &ast::With) -> Result<()> {
    match &query.with {
        None => query.with = Some(with.clone()),
        Some(_) => return Err(Error::invalid("one WITH is enough: put all its queries before INSERT")),
    }
    Ok(())
}
