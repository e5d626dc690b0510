//! `now()` and the like where a column takes them, in values of a statement and in defaults: the same in all rows, another each time.

use std::time::Duration;

use ambo::{Datum, Type};
use datafusion::sql::sqlparser::ast::{self, Expr};

use super::expression::Expression;
use crate::names::written;

/// What a column is given.
pub(super) enum Assigned {
    Value(Expression),
    Moment(Moment),
}

/// What a statement that writes is given when it runs.
#[derive(Clone, Copy)]
pub(super) struct Given<'p> {
    pub params: &'p [Datum],
    /// The time since 1970 began, if the statement asks for it.
    pub now: Option<Duration>,
}

impl Assigned {
    /// Of a row; `None` if the planner has to say what it is.
    pub(super) fn value(&self, row: &[Datum], given: Given<'_>) -> Option<Datum> {
        match self {
            Self::Value(expression) => expression.value(row, given.params),
            Self::Moment(moment) => moment.value(given.now?),
        }
    }

    pub(super) fn is_moment(&self) -> bool {
        matches!(self, Self::Moment(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Timestamp,
    TimestampTz,
    Date,
}

impl Moment {
    /// What an expression is in a column of a type, if it is no more than now. What it is there is right where the zone is UTC.
    pub(super) fn of(expr: &Expr, kind: Type) -> Option<Self> {
        let Expr::Function(function) = expr else { return None };
        let has_none = match &function.args {
            ast::FunctionArguments::None => true,
            ast::FunctionArguments::List(list) => list.args.is_empty(),
            ast::FunctionArguments::Subquery(_) => false,
        };
        let is_plain = has_none
            && function.over.is_none()
            && function.filter.is_none()
            && function.within_group.is_empty()
            && function.null_treatment.is_none();
        let name = written(&function.name).ok().filter(|_| is_plain)?;
        match (name.as_str(), kind) {
            ("now" | "current_timestamp" | "localtimestamp", Type::Timestamp) => Some(Self::Timestamp),
            ("now" | "current_timestamp", Type::TimestampTz) => Some(Self::TimestampTz),
            ("today" | "current_date", Type::Date32) => Some(Self::Date),
            _ => None,
        }
    }

    /// What it is at a time, as the time since 1970 began, in UTC.
    fn value(self, since: Duration) -> Option<Datum> {
        const DAY: u64 = 24 * 60 * 60;
        Some(match self {
            Self::Timestamp => Datum::Timestamp(i64::try_from(since.as_micros()).ok()?),
            Self::TimestampTz => Datum::TimestampTz(i64::try_from(since.as_micros()).ok()?),
            Self::Date => Datum::Date32(i32::try_from(since.as_secs() / DAY).ok()?),
        })
    }
}
