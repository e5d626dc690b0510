//! Errors of the parser and of the planner's operators as errors of ours.

use ambo::Error as StorageError;
use datafusion::{
    common::{Column, SchemaError},
    error::DataFusionError,
    sql::sqlparser::parser::ParserError,
};

use super::{Error, ErrorKind, Place, kind_of, wording::Wording};

impl From<ParserError> for Error {
    fn from(error: ParserError) -> Self {
        let (ParserError::TokenizerError(text) | ParserError::ParserError(text)) = error else {
            return Self::new(ErrorKind::Syntax, "the statement is nested too deeply");
        };
        let (message, place) = split_place(&text);
        let error = Self::new(ErrorKind::Syntax, message);
        match place {
            Some(place) => error.at(place),
            None => error,
        }
    }
}

/// A message of the parser, and the place that stands at its end.
fn split_place(text: &str) -> (String, Option<Place>) {
    let split = || {
        let (message, place) = text.rsplit_once(" at Line: ")?;
        let (line, column) = place.split_once(", Column: ")?;
        Some((message.to_owned(), Place { line: line.parse().ok()?, column: column.trim().parse().ok()? }))
    };
    match split() {
        Some((message, place)) if place.line > 0 => (message, Some(place)),
        Some((message, _)) => (message, None),
        None => (text.to_owned(), None),
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        match error {
            DataFusionError::Context(_, inner) => Self::from(*inner),
            DataFusionError::Shared(shared) => match std::sync::Arc::try_unwrap(shared) {
                Ok(inner) => Self::from(inner),
                Err(shared) => of_shared(&shared),
            },
            DataFusionError::Diagnostic(diagnostic, inner) => {
                let error = Self::from(*inner);
                match diagnostic.span {
                    Some(span) => error.at_start(span.start.line, span.start.column),
                    None => error,
                }
            }
            DataFusionError::External(inner) => match inner.downcast::<StorageError>() {
                Ok(error) => Self::from(*error),
                Err(inner) => match inner.downcast::<Self>() {
                    Ok(error) => *error,
                    Err(inner) => Self::new(ErrorKind::Execution, inner.to_string()),
                },
            },
            // Of several, the first is told.
            DataFusionError::Collection(errors) if !errors.is_empty() => {
                errors.into_iter().next().map_or_else(|| Self::new(ErrorKind::Execution, ""), Self::from)
            }
            DataFusionError::SQL(error, _) => Self::from(*error),
            DataFusionError::SchemaError(error, _) => of_schema(*error),
            DataFusionError::Plan(message) => Wording::of(&message).error(ErrorKind::Invalid),
            DataFusionError::NotImplemented(message) => {
                Wording::unsupported(&message).error(ErrorKind::Invalid)
            }
            DataFusionError::Execution(message) => Wording::of(&message).error(ErrorKind::Execution),
            DataFusionError::ResourcesExhausted(message) => {
                Self::new(ErrorKind::Execution, format!("out of memory: {}", Wording::of(&message).text))
                    .with_hint(
                        "give it more with SET memory_limit or statement_memory, or ask for less at once",
                    )
            }
            DataFusionError::ArrowError(error, _) => {
                Wording::of(&error.to_string()).error(ErrorKind::Execution)
            }
            other => Wording::of(&other.strip_backtrace()).error(ErrorKind::Execution),
        }
    }
}

/// What others hold, too: the same error, without the source of it.
fn of_shared(error: &DataFusionError) -> Error {
    use DataFusionError::{
        Context, Diagnostic, Execution, External, NotImplemented, Plan, ResourcesExhausted, Shared,
    };
    match error {
        Context(_, inner) | Diagnostic(_, inner) => of_shared(inner),
        Shared(inner) => of_shared(inner),
        External(inner) => match (inner.downcast_ref::<Error>(), inner.downcast_ref::<StorageError>()) {
            (Some(error), _) => {
                let (message, hint) = (error.message.clone(), error.hint.clone());
                let object = error.object.clone();
                Error { kind: error.kind, message, place: error.place, hint, object, source: None }
            }
            (None, Some(error)) => Error::new(kind_of(error), error.to_string()),
            (None, None) => Error::new(ErrorKind::Execution, inner.to_string()),
        },
        Plan(message) => Plan(message.clone()).into(),
        NotImplemented(message) => NotImplemented(message.clone()).into(),
        Execution(message) => Execution(message.clone()).into(),
        ResourcesExhausted(message) => ResourcesExhausted(message.clone()).into(),
        other => Wording::of(&other.strip_backtrace()).error(ErrorKind::Execution),
    }
}

fn of_schema(error: SchemaError) -> Error {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => no_column(&field, &valid_fields),
        other => Wording::of(&other.to_string()).error(ErrorKind::Invalid),
    }
}

/// A column that is not there, or the table that it is to be a column of.
fn no_column(field: &Column, known: &[Column]) -> Error {
    let tables: Vec<_> = known.iter().filter_map(|column| column.relation.as_ref()).collect();
    if let Some(table) = &field.relation
        && !tables.is_empty()
        && tables.iter().all(|known| known.table() != table.table())
    {
        let known = tables.iter().map(|known| known.table());
        let mut error = Error::not_found("table", table.table(), known);
        error.message.push_str(" in FROM");
        return error;
    }
    let names: Vec<_> = known.iter().map(|column| column.name.as_str()).collect();
    let error = Error::not_found("column", &field.name, names.iter().copied());
    match error.hint.is_none() && !names.is_empty() {
        true => error.with_hint(format!("there are {}", names.join(", "))),
        false => error,
    }
}
