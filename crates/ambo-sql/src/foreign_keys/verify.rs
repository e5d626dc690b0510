//! Whether every row that refers to one refers to one that is there.

use std::collections::HashSet;

use ambo::{Datum, Row, Savepoint, Table, TableDefinition};
use datafusion::sql::sqlparser::{ast::ReferentialAction, parser::Parser};

use super::{
    actions::{GONE, Gone, values_of},
    definition::{ForeignKey, Referrer},
};
use crate::{
    Connection, Error, ErrorKind, Result,
    catalog::indexes,
    connection::Work,
    names::{quoted, quoted_object, shown},
    parse::DIALECT,
};

/// Looks at all rows that were changed since a moment. With `is_last` the transaction ends then, so nothing is deferred.
///
/// # Errors
/// [`ErrorKind::Constraint`] with the row and the key.
pub(super) fn all(work: &mut Work<'_>, since: Savepoint, is_last: bool) -> Result<()> {
    for name in work.definitions().tables() {
        let table = work.definitions().table(&name)?;
        let keys = ForeignKey::all(table.definition())?;
        let has_referrers = !Referrer::all(table.definition()).is_empty();
        if keys.is_empty() && !has_referrers || !work.transaction.has_written(&table) {
            continue;
        }
        let rows = work.transaction.changed_rows(&table, since)?;
        for key in &keys {
            let new = rows.iter().filter_map(|row| {
                let values = |row: &Option<Row>| values_of(table.definition(), &key.columns, row.as_ref()?);
                let now = values(&row.after)?;
                (values(&row.before).as_ref() != Some(&now)).then_some(now)
            });
            refer(work, key, new.collect(), key.is_deferred && !is_last)?;
        }
        if has_referrers {
            for key in ForeignKey::to(&work.definitions(), table.definition())? {
                let is_deferred = key.is_deferred && !is_last && key.on_delete != ReferentialAction::Restrict;
                if !is_deferred {
                    let gone = Gone::of(work, &key, table.definition(), &rows)?;
                    is_left(work, &key, table.definition(), &gone)?;
                }
            }
        }
    }
    Ok(())
}

/// Every row that refers to something by these values refers to a row, which stays: it is locked. Where that may still come, none need be
/// there.
fn refer(work: &mut Work<'_>, key: &ForeignKey, values: Vec<Row>, may_come: bool) -> Result<()> {
    let mut seen = HashSet::new();
    for of in values {
        if of.iter().any(Datum::is_null) || !seen.insert(format!("{of:?}")) {
            continue;
        }
        match find(work, key, &of)? {
            Some((parent, stored)) => work.transaction.lock(&parent, &stored)?,
            None if may_come => {}
            None => return Err(refers_to_none(key, &of)),
        }
    }
    Ok(())
}

fn refers_to_none(key: &ForeignKey, values: &[Datum]) -> Error {
    let what = format!(
        "constraint \"{}\" of table \"{}\": ({}) = ({}) refers to no row of table \"{}\"",
        key.name,
        shown(&key.child),
        key.columns.join(", "),
        texts(values),
        shown(&key.parent)
    );
    Error::new(ErrorKind::Constraint, what)
}

fn texts(values: &[Datum]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The row that is referred to by these values, with its table.
pub(super) fn find(work: &Work<'_>, key: &ForeignKey, values: &[Datum]) -> Result<Option<(Table, Vec<u8>)>> {
    let table = work.definitions().table(&key.parent)?;
    let definition = table.definition();
    let mut row = vec![Datum::Null; definition.columns.len()];
    let mut places = Vec::new();
    for (name, value) in key.referred.iter().zip(values) {
        let Some(place) = definition.column_index(name) else { return Ok(None) };
        row[place] = value.clone();
        places.push(place);
    }
    let same =
        |columns: &[usize]| columns.len() == places.len() && columns.iter().all(|of| places.contains(of));
    let found = match same(definition.primary_columns()) {
        true => work.transaction.find_same(&table, &row, None)?,
        false => {
            let unique = indexes(&table).into_iter().find(|index| index.is_unique() && same(index.columns()));
            let unique = unique.ok_or_else(|| {
                Error::invalid(format!(
                    "constraint \"{}\" refers to columns that are not unique any more",
                    key.name
                ))
            })?;
            work.transaction.find_same(&table, &row, Some(&unique))?
        }
    };
    Ok(found.map(|(stored, _)| (table, stored)))
}

/// No row refers to what is gone.
fn is_left(work: &mut Work<'_>, key: &ForeignKey, parent: &TableDefinition, gone: &Gone) -> Result<()> {
    if gone.pairs.is_empty() {
        return Ok(());
    }
    let child = work.definitions().table(&key.child)?;
    work.transaction.hold(&child)?;
    let it = format!("\"{GONE}\"");
    let pairs = key.columns.iter().enumerate();
    let on: Vec<_> = pairs.map(|(nth, column)| format!("c.{} = {it}.o{nth}", quoted(column))).collect();
    let shown_columns =
        (0..key.columns.len()).map(|nth| format!("{it}.o{nth}")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "SELECT {shown_columns} FROM {} AS c JOIN {it} ON {} LIMIT 1",
        quoted_object(&key.child),
        on.join(" AND ")
    );
    work.returned.push((GONE.to_owned(), gone.source(key, parent)?));
    let before = work.before.take();
    let found = first_row(work, &text);
    work.before = before;
    work.returned.pop();
    match found? {
        None => Ok(()),
        Some(values) => {
            let what = format!(
                "constraint \"{}\" of table \"{}\" refers to the row ({}) = ({}) of table \"{}\"",
                key.name,
                shown(&key.child),
                key.referred.join(", "),
                texts(&values),
                shown(&key.parent)
            );
            Err(Error::new(ErrorKind::Constraint, what))
        }
    }
}

fn first_row(work: &Work<'_>, text: &str) -> Result<Option<Row>> {
    let query = *Parser::new(&DIALECT).try_with_sql(text)?.parse_query()?;
    let planner = work.own_planner()?.of_owner();
    let plan = planner.plan_query(&query, &[])?;
    let batches = planner.collect(&plan)?;
    let first = batches.iter().find(|batch| batch.num_rows() > 0);
    first.map(|batch| crate::value::Values::new(batch).row(0)).transpose()
}

/// Rows that refer to none, as a query for the first of them.
fn orphans(key: &ForeignKey, items: &str) -> String {
    let pairs = key.columns.iter().zip(&key.referred);
    let on: Vec<_> = pairs.map(|(own, other)| format!("c.{} = p.{}", quoted(own), quoted(other))).collect();
    let there: Vec<_> = key.columns.iter().map(|own| format!("c.{} IS NOT NULL", quoted(own))).collect();
    format!(
        "SELECT {items} FROM {} AS c WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS p WHERE {})",
        quoted_object(&key.child),
        there.join(" AND "),
        quoted_object(&key.parent),
        on.join(" AND ")
    )
}

/// Looks at all rows of a table that is to have a foreign key.
///
/// # Errors
/// As [`all`].
pub(super) fn whole(work: &Work<'_>, key: &ForeignKey) -> Result<()> {
    let items: Vec<_> = key.columns.iter().map(|own| format!("c.{}", quoted(own))).collect();
    match first_row(work, &format!("{} LIMIT 1", orphans(key, &items.join(", "))))? {
        None => Ok(()),
        Some(values) => Err(refers_to_none(key, &values)),
    }
}

/// Looks at what was deferred to the end of the transaction: all rows of tables that it has written to.
///
/// # Errors
/// As [`all`].
pub(super) fn deferred(work: &mut Work<'_>) -> Result<()> {
    for name in work.definitions().tables() {
        let table = work.definitions().table(&name)?;
        for key in ForeignKey::all(table.definition())?.iter().filter(|key| key.is_deferred) {
            let parent = work.definitions().table(&key.parent)?;
            let is_deleted = work.transaction.has_written(&parent);
            if is_deleted {
                work.transaction.hold(&table)?;
            }
            if is_deleted || work.transaction.has_written(&table) {
                whole(work, key)?;
            }
        }
    }
    Ok(())
}

/// What is wrong with the rows of a foreign key, for the check of a database.
pub(crate) fn problem(connection: &mut Connection, table: &TableDefinition, name: &str) -> Option<String> {
    let key = match ForeignKey::all(table) {
        Ok(keys) => keys.into_iter().find(|key| key.name == name)?,
        Err(error) => return Some(format!("{}: constraint \"{name}\": {}", table.name, error.message())),
    };
    let query = orphans(&key, "count(*)");
    match connection.sql(&query).and_then(|rows| rows.single()?.into_values::<i64>()) {
        Ok(0) => None,
        Ok(rows) => Some(format!(
            "{}: {rows} rows refer to no row of {}: constraint \"{name}\"",
            table.name, key.parent
        )),
        Err(error) => Some(format!("{}: constraint \"{name}\": {}", table.name, error.message())),
    }
}
