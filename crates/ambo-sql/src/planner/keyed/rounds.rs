//! The rounds of a recursive table: each has the rows that the later part makes of those of the round before.

use std::{
    ops::ControlFlow,
    sync::{Arc, atomic::Ordering},
};

use arrow::{
    array::{ArrayRef, Int64Array, RecordBatch},
    compute::{CastOptions, cast_with_options},
    datatypes::{DataType, Field, Schema, SchemaRef},
};
use datafusion::{
    error::DataFusionError,
    sql::sqlparser::ast::{
        Cte, ObjectName, Query, SetExpr, TableAlias, Visitor, With, helpers::attached_token::AttachedToken,
    },
};

use super::finished::{NEW, PLACE, finished};
use crate::{
    Error, Result,
    error::type_in_sql,
    names::{ident, object},
    optimizer::common_type,
    planner::{ask::Ask, recursion::query, trees},
    times::is_text,
    walk::Walk,
};

/// Rows of a schema.
#[derive(Clone)]
pub(super) struct Rows {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

impl Rows {
    fn is_empty(&self) -> bool {
        self.batches.iter().all(|batch| batch.num_rows() == 0)
    }
}

/// What the later part of a table is computed with.
pub(super) struct Rounds<'a> {
    pub ask: &'a Ask<'a>,
    pub name: String,
    /// The other tables in sight.
    pub tables: Vec<Cte>,
    pub alias: &'a TableAlias,
    pub later: SetExpr,
}

const WORKING: &str = "\u{1}working";
pub(super) const SO_FAR: &str = "\u{1}so_far";

impl Rounds<'_> {
    /// All rows of a UNION without keys.
    pub(super) fn all(&self, first: &SetExpr, is_all: bool) -> Result<Rows> {
        let mut all = self.first(first)?;
        if !is_all {
            all = self.of_text("SELECT DISTINCT * FROM", &all, None)?;
        }
        let mut working = all.clone();
        while !working.is_empty() {
            let mut new = self.round(&working, &all, &all.schema)?;
            if !is_all {
                new = self.of_text("SELECT * FROM", &new, Some(&all))?;
            }
            all.batches.extend(new.batches.iter().cloned());
            working = new;
        }
        Ok(all)
    }

    /// A row for each key.
    pub(super) fn with_keys(&self, first: &SetExpr, is_all: bool, keys: &str) -> Result<Rows> {
        let first = self.first(first)?;
        let finished = finished(&first.schema, keys)?;
        let mut candidates = Vec::new();
        let mut count = 0;
        place(&first, &mut candidates, &mut count)?;
        let counts_at_end = is_all && !self.names(SO_FAR);
        let recurs = self.names(SO_FAR) || self.names(&self.name);
        let mut so_far = self.finish(&finished, &candidates)?;
        let mut working = if is_all { first.clone() } else { so_far.clone() };
        loop {
            let new = self.round(&working, &so_far, &first.schema)?;
            if new.is_empty() {
                break;
            }
            place(&new, &mut candidates, &mut count)?;
            // Nobody looks at what there is before the end.
            if counts_at_end && recurs {
                working = new;
                continue;
            }
            let then = self.finish(&finished, &candidates)?;
            working = if is_all { new } else { self.of_text("SELECT * FROM", &then, Some(&so_far))? };
            so_far = then;
            if working.is_empty() || !recurs {
                break;
            }
        }
        if counts_at_end { self.finish(&finished, &candidates) } else { Ok(so_far) }
    }

    /// Whether the later part names a table.
    fn names(&self, name: &str) -> bool {
        self.later.walk(&mut Names(name)).is_break()
    }

    /// The rows of the first part, under the names of the table.
    fn first(&self, first: &SetExpr) -> Result<Rows> {
        let rows = self.run(query(self.with(Vec::new()), first.clone()))?;
        let names: Vec<String> = match self.alias.columns.is_empty() {
            true => rows.schema.fields().iter().map(|field| field.name().clone()).collect(),
            false => self.alias.columns.iter().map(|column| ident(&column.name)).collect(),
        };
        if names.len() != rows.schema.fields().len() {
            return Err(Error::invalid(format!(
                "the table has {} names for {} columns",
                names.len(),
                rows.schema.fields().len()
            )));
        }
        named(rows, &names)
    }

    /// The rows that the later part gives, with those of the round before, in the types of the first ones.
    fn round(&self, working: &Rows, so_far: &Rows, first: &SchemaRef) -> Result<Rows> {
        let names: Vec<_> = working.schema.fields().iter().map(|field| field.name().clone()).collect();
        self.add(WORKING, working)?;
        self.add(SO_FAR, so_far)?;
        let own = Cte {
            alias: TableAlias { columns: Vec::new(), ..self.alias.clone() },
            query: Box::new(trees::query(&format!("SELECT * FROM \"{WORKING}\""))),
            from: None,
            materialized: None,
            closing_paren_token: AttachedToken::empty(),
        };
        let rows = self.run(query(self.with(vec![own]), self.later.clone()))?;
        if rows.schema.fields().len() != names.len() {
            return Err(Error::invalid(format!(
                "the parts of \"{}\" have {} and {} columns",
                self.name,
                names.len(),
                rows.schema.fields().len()
            )));
        }
        like(&named(rows, &names)?, first)
    }

    fn with(&self, more: Vec<Cte>) -> With {
        let mut with =
            With { with_token: AttachedToken::empty(), recursive: true, cte_tables: self.tables.clone() };
        with.cte_tables.retain(|table| ident(&table.alias.name) != self.name);
        with.cte_tables.extend(more);
        with
    }

    /// The rows for the keys of all candidates.
    fn finish(&self, finished: &Query, candidates: &[RecordBatch]) -> Result<Rows> {
        let schema = candidates[0].schema();
        self.add(NEW, &Rows { schema, batches: candidates.to_vec() })?;
        self.run(finished.clone())
    }

    /// The rows of a query of rows, without others.
    fn of_text(&self, text: &str, rows: &Rows, without: Option<&Rows>) -> Result<Rows> {
        self.add(NEW, rows)?;
        let mut text = format!("{text} \"{NEW}\"");
        if let Some(without) = without {
            self.add(SO_FAR, without)?;
            text += &format!(" EXCEPT SELECT * FROM \"{SO_FAR}\"");
        }
        let found = self.run(trees::query(&text))?;
        like(&found, &rows.schema)
    }

    fn add(&self, name: &str, rows: &Rows) -> Result<()> {
        self.ask.planner.add_rows(name, rows.schema.clone(), rows.batches.clone())
    }

    fn run(&self, query: Query) -> Result<Rows> {
        let planner = self.ask.planner;
        planner.asked.store(true, Ordering::Relaxed);
        let plan = planner.plan_query(&query, self.ask.params)?;
        let (schema, batches) = planner.collect_named(&plan)?;
        // Texts of tables are of this type.
        let field = |field: &Arc<Field>| match is_text(field.data_type()) {
            true => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)),
            false => field.clone(),
        };
        let plain: SchemaRef = Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()));
        like(&Rows { schema, batches }, &plain)
    }
}

pub(super) fn batch_of(schema: SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_new(schema, columns).map_err(DataFusionError::from)?)
}

/// Rows with other names.
fn named(rows: Rows, names: &[String]) -> Result<Rows> {
    let field =
        |(field, name): (&Arc<Field>, &String)| field.as_ref().clone().with_name(name).with_nullable(true);
    let schema: SchemaRef =
        Arc::new(Schema::new(rows.schema.fields().iter().zip(names).map(field).collect::<Vec<_>>()));
    let batch = |batch: RecordBatch| batch_of(schema.clone(), batch.columns().to_vec());
    let batches = rows.batches.into_iter().map(batch).collect::<Result<_>>()?;
    Ok(Rows { schema: schema.clone(), batches })
}

fn is_whole(ty: &DataType) -> bool {
    ty.is_integer() || matches!(ty, DataType::Decimal128(_, 0))
}

/// Rows in the types of others. Whole numbers may have fewer bits there, if they fit.
fn like(rows: &Rows, schema: &SchemaRef) -> Result<Rows> {
    for (own, other) in rows.schema.fields().iter().zip(schema.fields()) {
        let (from, to) = (own.data_type(), other.data_type());
        let is_alike = is_whole(from) && to.is_integer() || is_text(from) && is_text(to);
        let fits = from == to || is_alike || common_type(from, to).as_ref() == Some(to);
        if !fits {
            let [from, to] = [from, to].map(type_in_sql);
            return Err(Error::invalid(format!(
                "column \"{}\" of a recursive table is {to} at first, and {from} later",
                other.name()
            ))
            .with_hint("cast what is first"));
        }
    }
    let strictly = CastOptions { safe: false, ..CastOptions::default() };
    let cast =
        |(column, field): (&ArrayRef, &Arc<Field>)| cast_with_options(column, field.data_type(), &strictly);
    let batch = |batch: &RecordBatch| {
        let columns = batch.columns().iter().zip(schema.fields()).map(cast);
        let columns = columns.collect::<std::result::Result<_, _>>().map_err(DataFusionError::from)?;
        batch_of(schema.clone(), columns)
    };
    Ok(Rows { schema: schema.clone(), batches: rows.batches.iter().map(batch).collect::<Result<_>>()? })
}

/// Adds rows to the candidates, with their places.
fn place(rows: &Rows, candidates: &mut Vec<RecordBatch>, count: &mut i64) -> Result<()> {
    let mut fields: Vec<_> = rows.schema.fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(PLACE, DataType::Int64, false)));
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    if rows.batches.is_empty() {
        candidates.push(RecordBatch::new_empty(schema.clone()));
    }
    for batch in &rows.batches {
        let end = *count + batch.num_rows() as i64;
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(Int64Array::from_iter_values(*count..end)));
        candidates.push(batch_of(schema.clone(), columns)?);
        *count = end;
    }
    Ok(())
}

/// Finds out whether a table is named.
struct Names<'n>(&'n str);

impl Visitor for Names<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        match object(relation).is_ok_and(|name| name == self.0) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
