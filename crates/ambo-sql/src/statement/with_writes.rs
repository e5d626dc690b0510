//! Statements within WITH that write: `WITH gone AS (DELETE FROM a … RETURNING *) INSERT INTO b SELECT * FROM gone`.
//!
//! They are run in their order, all of them, whether their rows are asked for or not. All see the tables as they were before the statement;
//! what one has written is known to the others by its RETURNING alone, as in PostgreSQL. So no two of them change the same table.

use std::sync::Arc;

use arrow::{
    array::RecordBatch,
    datatypes::{Schema, SchemaRef},
};
use datafusion::{
    common::ScalarValue,
    datasource::{MemTable, provider_as_source},
    logical_expr::TableSource,
    sql::sqlparser::ast::{self, Cte, SetExpr, Statement, TableFactor, With},
};

use super::{delete, insert, load::Outcome, merge, returning::Written, update};
use crate::{
    Connection, Error, Result, Rows,
    connection::Work,
    names::{about, ident, object},
    rows::Source,
};

/// Whether a query writes: itself, or a table of its WITH.
pub(crate) fn writes(query: &ast::Query) -> bool {
    write_of(&query.body).is_some() || has_writes(query.with.as_ref())
}

/// Whether a table of WITH writes.
pub(super) fn has_writes(with: Option<&With>) -> bool {
    with.is_some_and(|with| with.cte_tables.iter().any(|table| write_of(&table.query.body).is_some()))
}

fn write_of(body: &SetExpr) -> Option<&Statement> {
    match body {
        SetExpr::Insert(of) | SetExpr::Update(of) | SetExpr::Delete(of) | SetExpr::Merge(of) => Some(of),
        _ => None,
    }
}

/// Runs a statement with such tables.
pub(super) fn run(
    connection: &mut Connection,
    statement: Statement,
    with: &With,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    connection.write(params, |work| {
        work.is_auto = false;
        work.before = Some(Arc::new(work.transaction.view()));
        let mut reading = With { cte_tables: Vec::new(), ..with.clone() };
        let mut changed = Vec::new();
        for table in &with.cte_tables {
            match write_of(&table.query.body) {
                None => reading.cte_tables.push(table.clone()),
                Some(write) => {
                    alone(write, table, &mut changed)?;
                    let own = with_own(&reading, table.query.with.as_ref());
                    let written = written(work, write, own.as_ref())?;
                    work.returned.push((ident(&table.alias.name), returned(table, written)?));
                }
            }
        }
        last(work, &statement, reading, &mut changed)
    })
}

/// The statement itself.
fn last(
    work: &mut Work<'_>,
    statement: &Statement,
    with: With,
    changed: &mut Vec<String>,
) -> Result<Rows<'static>> {
    let with = with_own(&with, None);
    let Statement::Query(query) = statement else {
        if let Some(name) = target(statement) {
            once(name, changed, statement)?;
        }
        let tag = match statement {
            Statement::Insert(_) => "INSERT",
            Statement::Update(_) => "UPDATE",
            Statement::Delete(_) => "DELETE",
            _ => "MERGE",
        };
        return Ok(written(work, statement, with.as_ref())?.rows(tag));
    };
    let mut query = query.clone();
    query.with = with;
    let planner = work.planner()?;
    let plan = planner.plan(Statement::Query(query), work.params)?;
    let (schema, batches) = planner.collect_named(&plan)?;
    Ok(Rows::new(schema, Source::Batches(batches.into())).with_tag("SELECT", None))
}

/// The tables that a statement can see, its own last.
fn with_own(reading: &With, own: Option<&With>) -> Option<With> {
    let mut all = reading.clone();
    if let Some(own) = own {
        all.recursive |= own.recursive;
        all.cte_tables.extend(own.cte_tables.iter().cloned());
    }
    (!all.cte_tables.is_empty()).then_some(all)
}

fn written(work: &mut Work<'_>, write: &Statement, with: Option<&With>) -> Result<Written> {
    let outcome = match write {
        Statement::Insert(of) => insert::apply(work, of, with)?,
        Statement::Update(of) => update::apply(work, of, with)?,
        Statement::Delete(of) => delete::apply(work, of, with)?,
        Statement::Merge(of) => Outcome::Written(merge::apply(work, of, with)?),
        other => return Err(Error::invalid(format!("not supported: {other} in WITH"))),
    };
    match outcome {
        Outcome::Written(written) => Ok(written),
        Outcome::Bulk(_) => unreachable!("a statement within another is no transaction of its own"),
    }
}

/// What a statement gives back, as a table of this name.
fn returned(table: &Cte, written: Written) -> Result<Arc<dyn TableSource>> {
    let (schema, batches) = written.returned.unwrap_or_else(|| (Arc::new(Schema::empty()), Vec::new()));
    let names = &table.alias.columns;
    if names.len() > schema.fields().len() {
        let error = format!("{} returns {} columns", ident(&table.alias.name), schema.fields().len());
        return Err(about(Error::invalid(error), &table.alias.name));
    }
    let fields: Vec<_> = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(nth, field)| match names.get(nth) {
            Some(name) => field.as_ref().clone().with_name(ident(&name.name)),
            None => field.as_ref().clone(),
        })
        .map(|field| field.with_nullable(true))
        .collect();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let renamed = |batch: RecordBatch| RecordBatch::try_new(schema.clone(), batch.columns().to_vec());
    let batches = batches.into_iter().map(renamed).collect::<std::result::Result<Vec<_>, _>>();
    let batches = batches.map_err(datafusion::error::DataFusionError::from)?;
    Ok(provider_as_source(Arc::new(MemTable::try_new(schema, vec![batches])?)))
}

/// Refuses a second statement that changes a table.
fn alone(write: &Statement, table: &Cte, changed: &mut Vec<String>) -> Result<()> {
    match target(write) {
        Some(name) => once(name, changed, write).map_err(|error| about(error, &table.alias.name)),
        None => Ok(()),
    }
}

fn once(name: String, changed: &mut Vec<String>, write: &Statement) -> Result<()> {
    let name = name.to_lowercase();
    // Rows that are put in beside each other are in nobody's way.
    let name = match write {
        Statement::Insert(insert) if insert.on.is_none() && !insert.replace_into && insert.or.is_none() => {
            format!("{name} inserted")
        }
        _ => name,
    };
    let is_other = |known: &String| {
        let of = |name: &str| name.trim_end_matches(" inserted").to_owned();
        of(known) == of(&name) && !(known.ends_with(" inserted") && name.ends_with(" inserted"))
    };
    if changed.iter().any(is_other) {
        let shown = name.trim_end_matches(" inserted");
        return Err(Error::invalid(format!("two parts of a statement change the table \"{shown}\""))
            .with_hint("run them one after the other, in one transaction"));
    }
    changed.push(name);
    Ok(())
}

/// The table that a statement writes to.
fn target(write: &Statement) -> Option<String> {
    let of = |factor: &TableFactor| match factor {
        TableFactor::Table { name, .. } => object(name).ok(),
        _ => None,
    };
    match write {
        Statement::Insert(insert) => match &insert.table {
            ast::TableObject::TableName(name) => object(name).ok(),
            _ => None,
        },
        Statement::Update(update) => of(&update.table.relation),
        Statement::Delete(delete) => {
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
            of(&from.first()?.relation)
        }
        Statement::Merge(merge) => of(&merge.table),
        _ => None,
    }
}
