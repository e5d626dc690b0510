//! CREATE SEQUENCE, ALTER SEQUENCE, DROP SEQUENCE.

use std::sync::Arc;

use ambo::{CatalogEdit, Object, ObjectKind, TableChange, Type, qualify};
use datafusion::sql::sqlparser::ast::{DataType, Expr, ObjectName, SequenceOptions, UnaryOperator, Value};
use uuid::Uuid;

use super::{create_index::renamed, definition::place};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    connection::Work,
    names::{about, about_object, object, shown, split},
    parse::{AddIdentity, AlterSequence, CreateSequence, SequenceParts},
    sequences::Definition,
};

const TAG: &str = "CREATE SEQUENCE";

pub(super) fn create(connection: &mut Connection, create: &CreateSequence) -> Result<Rows<'static>> {
    let CreateSequence { name, or_replace, if_not_exists, temporary: _, parts } = create;
    if *or_replace && *if_not_exists {
        return Err(Error::invalid("OR REPLACE and IF NOT EXISTS exclude each other"));
    }
    let wanted = qualify(&object(name)?).map_err(|error| about_object(error, name))?;
    super::require_schema(&connection.definitions(), name)?;
    let of = definition(parts, None).and_then(|of| owned(connection, of, parts));
    let text = of.map_err(|error| about_object(error, name))?.to_string();
    let object = Object { kind: ObjectKind::Sequence, name: wanted, text, comment: None };
    match connection.define(&[CatalogEdit::CreateObject { object, replace: *or_replace }]) {
        Err(error) if *if_not_exists && error.kind() == ErrorKind::Constraint => {}
        made => made.map_err(|error| about_object(error, name))?,
    }
    Ok(Rows::done(TAG, None))
}

pub(super) fn drop(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let wanted = object(name)?;
    let kind = ObjectKind::Sequence;
    match work.transaction.define(&CatalogEdit::DropObject { kind, name: wanted.clone() }) {
        Err(ambo::Error::NotFound(_)) => {
            let known = work.definitions().objects(kind);
            Err(Error::not_found("sequence", &wanted, known.iter().map(|object| shown(&object.name))))
        }
        dropped => {
            dropped?;
            forget_rights(work, &qualify(&wanted)?)
        }
    }
}

/// Rights to a sequence go with it.
pub(super) fn forget_rights(work: &mut Work<'_>, name: &str) -> Result<()> {
    let kind = ObjectKind::SequenceRights;
    if work.definitions().object(kind, name).is_ok() {
        work.transaction.define(&CatalogEdit::DropObject { kind, name: name.to_owned() })?;
    }
    Ok(())
}

/// ALTER TABLE … ALTER COLUMN … ADD GENERATED … AS IDENTITY: a column of a table that is there takes the numbers of a sequence of its own.
pub(super) fn add_identity(connection: &mut Connection, add: &AddIdentity) -> Result<Rows<'static>> {
    let AddIdentity { table, column, sequence, parts } = add;
    let found = super::table(&connection.definitions(), table)?.definition().clone();
    let of = &found.columns[place(&found, column)?];
    let is_whole = of.logical.is_none() && matches!(of.kind, Type::I16 | Type::I32 | Type::I64);
    let refused = match () {
        () if !is_whole => Some("has no whole numbers"),
        () if of.generated().is_some() => Some("is generated, so it has no numbers of its own"),
        () if of.default.is_some() || of.default_expression.is_some() => Some("has a default already"),
        () if of.nullable => Some("may be NULL; SET NOT NULL is the statement before"),
        () => None,
    };
    if let Some(refused) = refused {
        return Err(about(Error::invalid(format!("column \"{}\" {refused}", of.name)), column));
    }
    let (schema, short) = split(&found.name);
    let name = match sequence {
        Some(name) => qualify(&object(name)?).map_err(|error| about_object(error, name))?,
        None => format!("{schema}.{short}_{}_seq", of.name),
    };
    let mut numbers = definition(parts, None).map_err(|error| about(error, column))?;
    numbers.owner = Some(found.name.clone());
    let text = numbers.to_string();
    let object = Object { kind: ObjectKind::Sequence, name: name.clone(), text, comment: None };
    connection.define(&[CatalogEdit::CreateObject { object, replace: false }])?;
    let called = format!("nextval('{}')", shown(&name).replace('\'', "''"));
    let change = TableChange::SetDefaultExpression { column: of.name.clone(), expression: Some(called) };
    connection.define(&[CatalogEdit::ChangeTable { name: found.name.clone(), changes: vec![change] }])?;
    Ok(Rows::done("ALTER TABLE", None))
}

/// The sequences that go with a table.
fn owned_by(work: &Work<'_>, table: &str) -> Vec<(Arc<Object>, Definition)> {
    let read = |object: Arc<Object>| {
        let of = Definition::read(&object.text).ok()?;
        (of.owner.as_deref() == Some(table)).then_some((object, of))
    };
    work.definitions().objects(ObjectKind::Sequence).into_iter().filter_map(read).collect()
}

/// Drops the sequences that go with a table.
pub(super) fn drop_owned(work: &mut Work<'_>, table: &str) -> Result<()> {
    for (object, _) in owned_by(work, table) {
        let (kind, name) = (ObjectKind::Sequence, object.name.clone());
        work.transaction.define(&CatalogEdit::DropObject { kind, name: name.clone() })?;
        forget_rights(work, &name)?;
    }
    Ok(())
}

/// Has the sequences that go with a table know it by its new name.
pub(super) fn rename_owner(work: &mut Work<'_>, from: &str, to: &str) -> Result<()> {
    for (object, of) in owned_by(work, from) {
        let text = Definition { owner: Some(to.to_owned()), ..of }.to_string();
        let object = Object { text, ..(*object).clone() };
        work.transaction.define(&CatalogEdit::CreateObject { object, replace: true })?;
    }
    Ok(())
}

/// ALTER SEQUENCE: a sequence with other parts, which goes on where it is unless RESTART says where.
pub(super) fn alter(connection: &mut Connection, alter: &AlterSequence) -> Result<Rows<'static>> {
    const TAG: &str = "ALTER SEQUENCE";
    let AlterSequence { name, if_exists, parts, restart } = alter;
    let found = match find(connection, name) {
        Err(error) if *if_exists && error.kind() == ErrorKind::NotFound => return Ok(Rows::done(TAG, None)),
        found => found?,
    };
    let old = Definition::read(&found.text)?;
    let sequences = connection.engine().sequences.clone();
    let at = sequences.position(&old);
    let altered = definition(parts, Some(&old)).and_then(|of| owned(connection, of, parts));
    let mut of = altered.map_err(|error| about_object(error, name))?;
    of.next = match restart {
        None => at,
        Some(None) => of.start.into(),
        Some(Some(number)) => self::number(number)?.into(),
    };
    if !of.has(of.next) && restart.is_some() {
        let bounds = format!("{} to {}", of.min, of.max);
        let error = Error::invalid(format!("{} is not from {bounds}, which the sequence gives", of.next));
        return Err(about_object(error, name));
    }
    let object = Object { text: of.to_string(), ..(*found).clone() };
    connection.define(&[CatalogEdit::CreateObject { object, replace: true }])?;
    connection.session.taken.goes_on_as(old.id, of.id);
    Ok(Rows::done(TAG, None))
}

/// ALTER SEQUENCE … RENAME TO.
pub(super) fn rename(
    connection: &mut Connection,
    name: &ObjectName,
    if_exists: bool,
    to: &ObjectName,
) -> Result<Rows<'static>> {
    const TAG: &str = "ALTER SEQUENCE";
    let found = match find(connection, name) {
        Err(error) if if_exists && error.kind() == ErrorKind::NotFound => return Ok(Rows::done(TAG, None)),
        found => found?,
    };
    let old = Definition::read(&found.text)?;
    // Under its new name it is another, which goes on where this one is.
    let next = connection.engine().sequences.position(&old);
    let of = Definition { id: fresh_id(), next, ..old.clone() };
    let object = Object { name: renamed(&found.name, to)?, text: of.to_string(), ..(*found).clone() };
    let gone = CatalogEdit::DropObject { kind: ObjectKind::Sequence, name: found.name.clone() };
    // Rights to it go with it.
    let rights = connection.definitions().object(ObjectKind::SequenceRights, &found.name).ok();
    let moved = rights.into_iter().flat_map(|rights| {
        let gone = CatalogEdit::DropObject { kind: rights.kind, name: rights.name.clone() };
        let object = Object { name: object.name.clone(), ..(*rights).clone() };
        [gone, CatalogEdit::CreateObject { object, replace: true }]
    });
    let moved: Vec<_> = moved.collect();
    let edits = [&[gone, CatalogEdit::CreateObject { object, replace: false }][..], &moved].concat();
    connection.define(&edits).map_err(|error| about_object(error, to))?;
    connection.session.taken.goes_on_as(old.id, of.id);
    Ok(Rows::done(TAG, None))
}

fn find(connection: &Connection, name: &ObjectName) -> Result<Arc<Object>> {
    let wanted = object(name)?;
    let definitions = connection.definitions();
    definitions.object(ObjectKind::Sequence, &wanted).map_err(|_| {
        let known = definitions.objects(ObjectKind::Sequence);
        let error = Error::not_found("sequence", &wanted, known.iter().map(|object| shown(&object.name)));
        about_object(error, name)
    })
}

/// The sequence with the table that it is to go with, if that is said.
fn owned(connection: &Connection, of: Definition, parts: &SequenceParts) -> Result<Definition> {
    let owner = match &parts.owned_by {
        None if parts.is_free => None,
        None => return Ok(of),
        Some(column) => {
            let wrong =
                || Error::invalid(format!("{column} is no column")).with_hint("OWNED BY table.column");
            let (column, table) =
                column.0.split_last().filter(|(_, table)| !table.is_empty()).ok_or_else(wrong)?;
            let table = super::table(&connection.definitions(), &ObjectName(table.to_vec()))?;
            place(table.definition(), column.as_ident().ok_or_else(wrong)?)?;
            Some(table.definition().name.clone())
        }
    };
    Ok(Definition { owner, ..of })
}

fn fresh_id() -> u64 {
    Uuid::new_v4().as_u64_pair().0
}

/// A sequence with PostgreSQL's bounds where none are given, or those that it had. Its id is a new one.
pub(super) fn definition(parts: &SequenceParts, old: Option<&Definition>) -> Result<Definition> {
    let (lowest, highest) = match &parts.data_type {
        None | Some(DataType::BigInt(_) | DataType::Int8(_)) => (i64::MIN, i64::MAX),
        Some(DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_)) => {
            (i32::MIN.into(), i32::MAX.into())
        }
        Some(DataType::SmallInt(_) | DataType::Int2(_)) => (i16::MIN.into(), i16::MAX.into()),
        Some(other) => return Err(Error::invalid(format!("a sequence gives whole numbers, not {other}"))),
    };
    let mut increment = old.map_or(1, |old| old.increment);
    let (mut min, mut max) = (old.map(|old| old.min), old.map(|old| old.max));
    let (mut start, mut cycle) = (old.map(|old| old.start), old.is_some_and(|old| old.cycle));
    for option in &parts.options {
        match option {
            SequenceOptions::IncrementBy(by, _) => increment = number(by)?,
            SequenceOptions::MinValue(value) => min = value.as_ref().map(number).transpose()?,
            SequenceOptions::MaxValue(value) => max = value.as_ref().map(number).transpose()?,
            SequenceOptions::StartWith(value, _) => start = Some(number(value)?),
            SequenceOptions::Cycle(no) => cycle = !no,
            // How many numbers are taken at a time is not seen.
            SequenceOptions::Cache(value) => std::mem::drop(number(value)?),
        }
    }
    let is_up = increment > 0;
    let min = min.unwrap_or(if is_up { 1 } else { lowest });
    let max = max.unwrap_or(if is_up { highest } else { -1 });
    let start = start.unwrap_or(if is_up { min } else { max });
    let refused = match () {
        () if increment == 0 => "INCREMENT BY 0 leads nowhere".to_owned(),
        () if min >= max => format!("MINVALUE {min} is to be less than MAXVALUE {max}"),
        () if !(min..=max).contains(&start) => {
            format!("START {start} is not from MINVALUE {min} to MAXVALUE {max}")
        }
        () if min < lowest || max > highest => format!("{min} to {max} are not all numbers of its type"),
        () => {
            let owner = old.and_then(|old| old.owner.clone());
            let next = start.into();
            return Ok(Definition { id: fresh_id(), increment, min, max, start, cycle, next, owner });
        }
    };
    Err(Error::invalid(refused))
}

fn number(expr: &Expr) -> Result<i64> {
    let digits = |expr: &Expr| match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(digits.clone()),
            _ => None,
        },
        _ => None,
    };
    let text = match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => digits(expr).map(|digits| format!("-{digits}")),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => digits(expr),
        other => digits(other),
    };
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| Error::invalid(format!("{expr} is no number that a sequence can have")))
}
