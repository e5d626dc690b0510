//! DELETE: a query for the keys of the rows, which are then deleted, or handed to a bulk change. Only what RETURNING asks for is read
//! beside the keys.

use std::{collections::HashSet, sync::Arc};

use ambo::BulkChange;
use datafusion::sql::sqlparser::ast::{self, FromTable, SelectItem};

use super::{
    incoming::{Batches, row_schema, rows_of},
    load::{Bulk, Meaning, Outcome, are_many},
    returning::Returning,
    sought::Sought,
    target::{Parts, Read, Target},
    update::{beside, new_rows, other_columns, refuse_cut_joins},
};
use crate::{Error, Result, connection::Work, rights::Right, value::Values};

/// A DELETE that is ready to be run.
pub(super) struct Asked {
    pub sought: Sought,
    has_others: bool,
}

impl Asked {
    pub(super) fn new(work: &Work<'_>, delete: &ast::Delete, with: Option<&ast::With>) -> Result<Self> {
        let mut delete = delete.clone();
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let [relation] = &from[..] else {
            return Err(Error::invalid("DELETE deletes from one table")
                .with_hint("name the others behind USING: DELETE FROM a USING b WHERE …"));
        };
        if !delete.tables.is_empty() || delete.output.is_some() {
            return Err(Error::invalid("DELETE t FROM … and OUTPUT are not supported")
                .with_hint("write DELETE FROM t USING … RETURNING …"));
        }
        let target = Target::of_relation(work, relation, &[Right::Delete, Right::Select])?;
        target.unqualify(&mut delete);
        let others = delete.using.unwrap_or_default();
        let has_others = !others.is_empty();
        refuse_cut_joins(has_others, &delete.order_by, delete.limit.as_ref())?;
        let mut items = target.items(Read::Key);
        if delete.returning.is_some() {
            items.push(SelectItem::Wildcard(Default::default()));
        }
        let query = Parts {
            with: with.cloned(),
            items,
            from: std::iter::once(target.relation()).chain(others).collect(),
            selection: delete.selection,
            order_by: delete.order_by,
            limit: delete.limit,
        };
        let params = work.params.to_vec();
        Ok(Self { sought: Sought { target, query: query.query(), params }, has_others })
    }
}

pub(super) fn apply(work: &mut Work<'_>, delete: &ast::Delete, with: Option<&ast::With>) -> Result<Outcome> {
    let Asked { sought, has_others } = Asked::new(work, delete, with)?;
    let (schema, stream) = sought.stream(work)?;
    let mut stream: Batches = Box::new(stream);
    let Sought { target, .. } = sought;
    if delete.returning.is_none() && target.is_changed_in_bulk(work, &[]) && are_many(&mut stream)? {
        let meaning = Meaning::Change(BulkChange::Delete, Arc::new(work.transaction.view()));
        return Ok(Outcome::Bulk(Bulk { table: target.table, meaning, batches: stream }));
    }
    let mut returned = delete.returning.clone();
    target.unqualify(&mut returned);
    let own = target.width(Read::Key);
    let definition = target.definition();
    let first_other = own + target.width(Read::All);
    let others = other_columns(&schema, first_other);
    let mut returning = Returning::new(returned.as_deref(), &target.alias, definition, others);
    let mut seen = has_others.then(HashSet::new);
    let mut affected = 0;
    for batch in stream {
        let mut batch = batch?;
        if let Some(seen) = &mut seen {
            batch = new_rows(&target, batch, seen, Read::Key)?;
        }
        let keys = Values::stored(&batch);
        for row in 0..batch.num_rows() {
            work.transaction.delete(&target.table, &target.stored_key(&keys, row, Read::Key)?)?;
        }
        affected += batch.num_rows() as u64;
        if returning.is_wanted() {
            let columns = batch.columns()[own..own + definition.columns.len()].to_vec();
            let old = rows_of(row_schema(definition), columns, batch.num_rows())?;
            returning.push(beside(&old, &batch, first_other)?);
        }
    }
    returning.finish(work, affected, work.params).map(Outcome::Written)
}
