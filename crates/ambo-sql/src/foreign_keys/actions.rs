//! What becomes of rows that refer to what a statement has deleted or changed: they go, too, or refer to something else.

use std::{collections::HashSet, sync::Arc};

use ambo::{ChangedRow, Datum, Row, Savepoint, TableDefinition};
use arrow::datatypes::{Field, Schema};
use datafusion::{
    catalog::MemTable,
    datasource::provider_as_source,
    logical_expr::TableSource,
    sql::sqlparser::{
        ast::{self, ReferentialAction},
        parser::Parser,
    },
};

use super::{
    Moved,
    definition::{ForeignKey, Referrer},
};
use crate::{
    Error, Result,
    connection::Work,
    names::{quoted, quoted_object, shown},
    parse::DIALECT,
    statement,
    value::{self, field_of},
};

/// What the table of what is gone is called in statements of ours.
pub(super) const GONE: &str = "\u{1}gone";

/// Statements of which each changes rows that the next looks at: more are taken for rows that go round in a circle.
const ROUNDS_MAX: usize = 1000;

/// Values that rows were referred to by and are not any more, each with those that the row has now, if it is there.
pub(super) struct Gone {
    pub pairs: Vec<(Row, Option<Row>)>,
}

/// The values of some columns of a row.
pub(super) fn values_of(table: &TableDefinition, columns: &[String], row: &[Datum]) -> Option<Row> {
    columns.iter().map(|name| Some(row[table.column_index(name)?].clone())).collect()
}

impl Gone {
    /// Of the rows of a table that a key refers to.
    pub(super) fn of(
        work: &Work<'_>,
        key: &ForeignKey,
        table: &TableDefinition,
        rows: &[ChangedRow],
    ) -> Result<Self> {
        let values = |row: &Option<Row>| row.as_ref().and_then(|row| values_of(table, &key.referred, row));
        let mut seen = HashSet::new();
        let mut pairs = Vec::new();
        for ChangedRow { before, after } in rows {
            let moved = || {
                let of = |moved: &&Moved| moved.table == table.name && Some(&moved.before) == before.as_ref();
                work.moved.iter().find(of).map(|moved| moved.after.clone())
            };
            let after = after.clone().or_else(moved);
            let (Some(old), new) = (values(before), values(&after)) else { continue };
            let is_whole = !old.iter().any(Datum::is_null);
            if is_whole && new.as_ref() != Some(&old) && seen.insert(format!("{old:?}")) {
                pairs.push((old, new));
            }
        }
        let mut gone = Vec::with_capacity(pairs.len());
        for (old, new) in pairs {
            // Another row may have the values now.
            if super::verify::find(work, key, &old)?.is_none() {
                gone.push((old, new));
            }
        }
        Ok(Self { pairs: gone })
    }

    /// As a table: what it was as `o0`, `o1` …, what it is as `n0`, `n1` ….
    pub(super) fn source(&self, key: &ForeignKey, parent: &TableDefinition) -> Result<Arc<dyn TableSource>> {
        let columns: Vec<_> = key
            .referred
            .iter()
            .filter_map(|name| Some(&parent.columns[parent.column_index(name)?]))
            .collect();
        let named = |letter: char| {
            let field = move |(nth, column): (usize, &&ambo::Column)| {
                Field::clone(&field_of(column)).with_name(format!("{letter}{nth}")).with_nullable(true)
            };
            columns.iter().enumerate().map(field).collect::<Vec<_>>()
        };
        let schema = Arc::new(Schema::new([named('o'), named('n')].concat()));
        let none = vec![Datum::Null; columns.len()];
        let row =
            |(old, new): &(Row, Option<Row>)| [old.as_slice(), new.as_deref().unwrap_or(&none)].concat();
        let rows: Vec<Row> = self.pairs.iter().map(row).collect();
        let batch = value::batch(&schema, &rows)?;
        Ok(provider_as_source(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?)))
    }
}

/// Does what is to be done about rows that refer to what was changed since a moment, and about those that refer to these.
///
/// # Errors
/// What goes wrong with the rows.
pub(super) fn act(work: &mut Work<'_>, since: Savepoint) -> Result<()> {
    let mut from = since;
    for _ in 0..ROUNDS_MAX {
        let next = work.transaction.savepoint();
        let mut has_acted = false;
        for (key, deleted, updated) in due(work, from)? {
            for (gone, action, is_delete) in [(deleted, key.on_delete, true), (updated, key.on_update, false)]
            {
                if !gone.pairs.is_empty()
                    && !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict)
                {
                    run(work, &key, &gone, action, is_delete)?;
                    has_acted = true;
                }
            }
        }
        if !has_acted {
            return Ok(());
        }
        from = next;
    }
    Err(Error::invalid(format!("foreign keys change rows in a circle, {ROUNDS_MAX} times so far")))
}

/// The keys that refer to rows which were changed since a moment, with what was deleted and what was updated.
fn due(work: &Work<'_>, since: Savepoint) -> Result<Vec<(ForeignKey, Gone, Gone)>> {
    let definitions = work.definitions();
    let mut due = Vec::new();
    for name in definitions.tables() {
        let table = definitions.table(&name)?;
        if Referrer::all(table.definition()).is_empty() || !work.transaction.has_written(&table) {
            continue;
        }
        let rows = work.transaction.changed_rows(&table, since)?;
        for key in ForeignKey::to(&definitions, table.definition())? {
            let gone = Gone::of(work, &key, table.definition(), &rows)?;
            let (deleted, updated) = gone.pairs.into_iter().partition(|(_, new)| new.is_none());
            due.push((key, Gone { pairs: deleted }, Gone { pairs: updated }));
        }
    }
    Ok(due)
}

fn run(
    work: &mut Work<'_>,
    key: &ForeignKey,
    gone: &Gone,
    action: ReferentialAction,
    is_delete: bool,
) -> Result<()> {
    let child = work.definitions().table(&key.child)?;
    work.transaction.hold(&child)?;
    let parent = work.definitions().table(&key.parent)?;
    let (name, it) = (quoted_object(&key.child), format!("\"{GONE}\""));
    let alias = "\"\u{1}child\"";
    let on = key.columns.iter().enumerate();
    let on: Vec<_> = on.map(|(nth, column)| format!("{alias}.{} = {it}.o{nth}", quoted(column))).collect();
    let set = |value: &dyn Fn(usize) -> String| {
        let set = key
            .columns
            .iter()
            .enumerate()
            .map(|(nth, column)| format!("{} = {}", quoted(column), value(nth)));
        let set: Vec<_> = set.collect();
        format!("UPDATE {name} AS {alias} SET {} FROM {it} WHERE {}", set.join(", "), on.join(" AND "))
    };
    let text = match (action, is_delete) {
        (ReferentialAction::Cascade, true) => {
            format!("DELETE FROM {name} AS {alias} USING {it} WHERE {}", on.join(" AND "))
        }
        (ReferentialAction::Cascade, false) => set(&|nth| format!("{it}.n{nth}")),
        (ReferentialAction::SetNull, _) => set(&|_| "NULL".to_owned()),
        (ReferentialAction::SetDefault, _) => set(&|_| "DEFAULT".to_owned()),
        (other, _) => return Err(Error::invalid(format!("not supported: {other}"))),
    };
    let statement = Parser::new(&DIALECT).try_with_sql(&text)?.parse_statement()?;
    work.returned.push((GONE.to_owned(), gone.source(key, parent.definition())?));
    let before = work.before.take();
    let done = write(work, &statement);
    work.before = before;
    work.returned.pop();
    done.map_err(|error| {
        let of = format!("constraint \"{}\" of table \"{}\"", key.name, shown(&key.child));
        Error::new(error.kind(), format!("{of}: {}", error.message()))
    })
}

fn write(work: &mut Work<'_>, write: &ast::Statement) -> Result<()> {
    statement::write_within(work, write)
}
