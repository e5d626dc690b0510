//! CREATE SEQUENCE, DROP SEQUENCE.

use ambo::{CatalogEdit, Object, ObjectKind, qualify};
use datafusion::sql::sqlparser::ast::{DataType, Expr, ObjectName, SequenceOptions, UnaryOperator, Value};
use uuid::Uuid;

use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    connection::Work,
    names::{about_object, object, shown},
    parse::CreateSequence,
    sequences::Definition,
};

const TAG: &str = "CREATE SEQUENCE";

pub(super) fn create(connection: &mut Connection, create: &CreateSequence) -> Result<Rows<'static>> {
    let CreateSequence { name, or_replace, if_not_exists, temporary: _, data_type, options, owned_by } =
        create;
    if owned_by.is_some() {
        return Err(about_object(Error::invalid("not supported: OWNED BY"), name));
    }
    if *or_replace && *if_not_exists {
        return Err(Error::invalid("OR REPLACE and IF NOT EXISTS exclude each other"));
    }
    let wanted = qualify(&object(name)?).map_err(|error| about_object(error, name))?;
    super::require_schema(&connection.definitions(), name)?;
    let text =
        definition(data_type.as_ref(), options).map_err(|error| about_object(error, name))?.to_string();
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
        dropped => Ok(dropped?),
    }
}

/// A sequence with PostgreSQL's bounds where none are given.
fn definition(kind: Option<&DataType>, options: &[SequenceOptions]) -> Result<Definition> {
    let (lowest, highest) = match kind {
        None | Some(DataType::BigInt(_) | DataType::Int8(_)) => (i64::MIN, i64::MAX),
        Some(DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_)) => {
            (i32::MIN.into(), i32::MAX.into())
        }
        Some(DataType::SmallInt(_) | DataType::Int2(_)) => (i16::MIN.into(), i16::MAX.into()),
        Some(other) => return Err(Error::invalid(format!("a sequence gives whole numbers, not {other}"))),
    };
    let (mut increment, mut min, mut max, mut start, mut cycle) = (1, None, None, None, false);
    for option in options {
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
            let id = Uuid::new_v4().as_u64_pair().0;
            return Ok(Definition { id, increment, min, max, start, cycle, next: start.into() });
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
