//! UPDATE: a query for the rows and what becomes of them, whose rows are then written, or handed to a bulk change.

use std::{collections::HashSet, sync::Arc};

use ambo::{BulkChange, Snapshot};
use arrow::{
    array::{BooleanArray, RecordBatch},
    compute::filter_record_batch,
    datatypes::Field,
};
use datafusion::{
    common::{DFSchema, TableReference},
    sql::sqlparser::ast::{self, SelectItem, UpdateTableFromKind},
};

use super::{
    assignment::assignments,
    incoming::{Batches, Labels, assign, held, row_schema, rows_of},
    load::{Bulk, Meaning, Outcome, are_many},
    returning::Returning,
    sought::Sought,
    target::{Parts, Read, Target, item},
};
use crate::{
    Error, Result, connection::Work, foreign_keys::note_change, rights::Right, value, value::Values,
};

/// An UPDATE that is ready to be run.
pub(super) struct Asked {
    pub sought: Sought,
    /// The columns that are set; their values come behind those of the target.
    set: Vec<usize>,
    has_others: bool,
}

impl Asked {
    pub(super) fn new(work: &Work<'_>, update: &ast::Update, with: Option<&ast::With>) -> Result<Self> {
        let mut update = update.clone();
        if update.or.is_some() || update.output.is_some() {
            return Err(Error::invalid("UPDATE OR … and OUTPUT are not supported")
                .with_hint("RETURNING gives back what was written"));
        }
        let target = Target::of_relation(work, &update.table, &[Right::Update, Right::Select])?;
        target.unqualify(&mut update);
        let others = match update.from {
            None => Vec::new(),
            Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => from,
        };
        let has_others = !others.is_empty();
        refuse_cut_joins(has_others, &update.order_by, update.limit.as_ref())?;
        let mut params = work.params.to_vec();
        let (set, values): (Vec<_>, Vec<_>) =
            assignments(&target, &update.assignments, &mut params)?.into_iter().unzip();
        let mut items = target.items(Read::All);
        let values = values.into_iter().enumerate();
        items.extend(values.map(|(nth, expr)| item(expr, &format!("\u{1}set {nth}"))));
        if has_others && update.returning.is_some() {
            items.push(SelectItem::Wildcard(Default::default()));
        }
        let query = Parts {
            with: with.cloned(),
            items,
            from: std::iter::once(target.relation()).chain(others).collect(),
            selection: update.selection,
            order_by: update.order_by,
            limit: update.limit,
        };
        Ok(Self { sought: Sought { target, query: query.query(), params }, set, has_others })
    }
}

pub(super) fn apply(work: &mut Work<'_>, update: &ast::Update, with: Option<&ast::With>) -> Result<Outcome> {
    let Asked { sought, set, has_others } = Asked::new(work, update, with)?;
    let (schema, stream) = sought.stream(work)?;
    let Sought { target, params, .. } = sought;
    let first_set = target.width(Read::All);
    stream
        .fits(target.definition(), set.iter().enumerate().map(|(nth, column)| (first_set + nth, *column)))?;
    let mut stream: Batches = Box::new(stream);
    if update.returning.is_none() && target.is_changed_in_bulk(work, &set) && are_many(&mut stream)? {
        let since = Arc::new(work.transaction.view());
        return Ok(Outcome::Bulk(in_bulk(target, set, stream, since)));
    }
    let mut returned = update.returning.clone();
    target.unqualify(&mut returned);
    let definition = target.definition();
    // Behind our own columns those of the target come again, and then the others.
    let first_other = 2 * target.width(Read::All) + set.len();
    let others = other_columns(&schema, first_other);
    let mut returning = Returning::new(returned.as_deref(), &target.alias, definition, others);
    // A row that several rows of the other tables match is changed once.
    let mut seen = has_others.then(HashSet::new);
    let rows = row_schema(definition);
    let mut changes = work.transaction.change_rows(&target.table);
    let mut first = 1;
    for batch in stream {
        let mut batch = batch?;
        if let Some(seen) = &mut seen {
            batch = new_rows(&target, batch, seen, Read::All)?;
        }
        let count = batch.num_rows();
        let old = rows_of(rows.clone(), batch.columns()[..definition.columns.len()].to_vec(), count)?;
        let new = changed(&target, &set, &batch, first)?;
        let (keys, before, after) = (Values::stored(&batch), Values::stored(&old), Values::stored(&new));
        for row in 0..count {
            let (before, after) = (before.row(row)?, after.row(row)?);
            note_change(&mut work.moved, definition, &before, &after);
            changes.update(target.stored_key(&keys, row, Read::All)?, &before, &after)?;
        }
        first += count as u64;
        if returning.is_wanted() {
            returning.push(beside(&new, &batch, first_other)?);
        }
    }
    let affected = changes.finish()?;
    returning.finish(work, affected, &params).map(Outcome::Written)
}

/// Rows of the query as the statement makes them, held to the rules of the table. The first is row `first` in messages.
fn changed(target: &Target, set: &[usize], batch: &RecordBatch, first: u64) -> Result<RecordBatch> {
    let definition = target.definition();
    let labels = Labels::Numbers(first);
    let mut columns = batch.columns()[..definition.columns.len()].to_vec();
    for (nth, place) in set.iter().enumerate() {
        let values = batch.column(target.width(Read::All) + nth);
        columns[*place] = assign(values, &definition.columns[*place], &labels, target.rules.zone())?;
    }
    let rows = rows_of(target.rules.schema().clone(), columns, batch.num_rows())?;
    held(definition, &target.rules, rows, &labels)
}

/// The same rows, and the numbers that tell them apart, for a bulk change. Of several rows of other tables that match a row, one changes
/// it.
fn in_bulk(target: Target, set: Vec<usize>, batches: Batches, since: Arc<Snapshot>) -> Bulk {
    let table = target.table.clone();
    let mut first = 1;
    let rows = batches.map(move |batch| {
        let batch = batch?;
        let new = changed(&target, &set, &batch, first)?;
        first += batch.num_rows() as u64;
        if !target.definition().is_numbered() {
            return Ok(new);
        }
        let number = target.width(Read::All) - 1;
        let numbers = batch.project(&[number]).map_err(value::wrong)?;
        beside(&new, &numbers, 0)
    });
    Bulk { table, meaning: Meaning::Change(BulkChange::Update, since), batches: Box::new(rows) }
}

/// ORDER BY and LIMIT choose among rows of the table, which a join has in several pairs.
pub(super) fn refuse_cut_joins(
    has_others: bool,
    order_by: &[ast::OrderByExpr],
    limit: Option<&ast::Expr>,
) -> Result<()> {
    match has_others && (!order_by.is_empty() || limit.is_some()) {
        true => Err(Error::invalid("ORDER BY and LIMIT choose among rows of one table, not of a join")
            .with_hint("choose the rows with WHERE key IN (SELECT … ORDER BY … LIMIT …)")),
        false => Ok(()),
    }
}

/// The columns of a query from a place on, with the tables that they are from.
pub(super) fn other_columns(schema: &DFSchema, from: usize) -> Vec<(Option<TableReference>, Field)> {
    let columns = schema.iter().skip(from);
    columns.map(|(table, field)| (table.cloned(), field.as_ref().clone())).collect()
}

/// Rows with the columns of others, from a place on, behind theirs.
pub(super) fn beside(rows: &RecordBatch, others: &RecordBatch, from: usize) -> Result<RecordBatch> {
    let (mut fields, mut columns) = (rows.schema().fields().to_vec(), rows.columns().to_vec());
    for (field, column) in others.schema().fields().iter().zip(others.columns()).skip(from) {
        fields.push(field.clone());
        columns.push(column.clone());
    }
    rows_of(arrow::datatypes::Schema::new(fields).into(), columns, rows.num_rows())
}

/// The rows of a batch whose row of the target was not met before.
pub(super) fn new_rows(
    target: &Target,
    batch: RecordBatch,
    seen: &mut HashSet<Vec<u8>>,
    read: Read,
) -> Result<RecordBatch> {
    let values = Values::stored(&batch);
    let is_new = (0..batch.num_rows()).map(|row| Ok(seen.insert(target.stored_key(&values, row, read)?)));
    let is_new = BooleanArray::from(is_new.collect::<Result<Vec<_>>>()?);
    filter_record_batch(&batch, &is_new).map_err(value::wrong)
}
