//! What a fast statement does.

use std::time::Duration;

use ambo::{Compare, Datum, Index, PickedColumns, Row, SchemaStamp, Table, TableDefinition, Type};
use arrow::datatypes::SchemaRef;

use super::{
    condition::{Answer, Condition},
    expression::{Expression, cast},
};
use crate::rights::Right;

/// A statement that needs no planner.
pub(crate) struct FastPlan {
    /// The schema that it was made for.
    pub(super) stamp: SchemaStamp,
    pub(super) table: Table,
    pub(super) action: Action,
}

impl FastPlan {
    /// The table, and the rights to it that a role has to have.
    pub(crate) fn rights(&self) -> (&str, &'static [Right]) {
        let rights: &[Right] = match &self.action {
            Action::Read { .. } | Action::Count { .. } => &[Right::Select],
            Action::Insert(Insert { conflict: OnConflict::Refuse | OnConflict::Ignore, .. }) => {
                &[Right::Insert]
            }
            Action::Insert(_) => &[Right::Select, Right::Insert, Right::Update],
            Action::Update(_) => &[Right::Select, Right::Update],
            Action::Delete { .. } | Action::DeleteRange(_) => &[Right::Select, Right::Delete],
        };
        (&self.table.definition().name, rights)
    }
}

pub(super) enum Action {
    /// Rows, with these columns.
    Read {
        search: Search,
        output: Output,
    },
    /// How many rows there are.
    Count {
        schema: SchemaRef,
    },
    Insert(Insert),
    Update(Update),
    Delete {
        search: Search,
    },
    /// Deletes a range of keys as such.
    DeleteRange(KeyBounds),
}

/// A range of keys: those that begin with some values, and whose next column is within bounds.
pub(super) struct KeyBounds {
    pub prefix: Vec<Expression>,
    pub bounds: Vec<(Compare, Expression)>,
}

/// Which rows are meant.
pub(super) struct Search {
    pub lookup: Lookup,
    /// What they have to fit besides; only where at most one is found.
    pub rest: Vec<Condition>,
}

/// Where the rows are.
pub(super) enum Lookup {
    /// By the whole key.
    Key(Vec<Expression>),
    /// By one of several values of a key of one column.
    Keys(Vec<Expression>),
    /// By all columns of a unique index.
    Unique(Index, Vec<Expression>),
    /// By the first columns of the key; in the order of the key, or backwards, so many at most.
    Prefix { values: Vec<Expression>, reverse: bool, limit: Option<u64> },
}

/// What is handed out of each row.
pub(super) struct Output {
    pub columns: Vec<Expression>,
    pub schema: SchemaRef,
    /// The columns, if they are all that is to be known of a row that is looked up by its key.
    pub picked: Option<PickedColumns>,
}

pub(super) struct Insert {
    pub rows: Vec<Vec<Expression>>,
    /// The columns that rows have values for, in their order.
    pub columns: Vec<usize>,
    /// Columns that rows have no values for, which are the moment of the statement then.
    pub moments: Vec<(usize, Moment)>,
    pub conflict: OnConflict,
    /// What must not be false of a row.
    pub checks: Vec<Condition>,
}

/// What defaults say that is the same in all rows of a statement, and another in each statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Timestamp,
    TimestampTz,
    Date,
}

impl Moment {
    /// What it is at a time, as the time since 1970 began, in UTC.
    pub(super) fn value(self, since: Duration) -> Option<Datum> {
        const DAY: u64 = 24 * 60 * 60;
        Some(match self {
            Self::Timestamp => Datum::Timestamp(i64::try_from(since.as_micros()).ok()?),
            Self::TimestampTz => Datum::TimestampTz(i64::try_from(since.as_micros()).ok()?),
            Self::Date => Datum::Date32(i32::try_from(since.as_secs() / DAY).ok()?),
        })
    }
}

pub(super) struct Update {
    pub search: Search,
    /// Columns set to values of the row as it was.
    pub sets: Vec<(usize, Expression)>,
    /// What must not be false of the row then.
    pub checks: Vec<Condition>,
}

/// What becomes of a row whose key is taken.
pub(super) enum OnConflict {
    Refuse,
    Ignore,
    Replace,
    /// Columns of the row that is there are set to values of it and, behind its columns, of the new one.
    Update(Vec<(usize, Expression)>),
}

impl FastPlan {
    /// Whether the schema is as it was.
    pub(crate) fn is_current(&self) -> bool {
        self.stamp.is_current(self.table.database())
    }

    /// Whether what it does may depend on what clocks show somewhere.
    pub(crate) fn reads_clocks(&self) -> bool {
        let is_time = |column: &ambo::Column| matches!(column.kind, Type::Timestamp | Type::TimestampTz);
        let has_moments = matches!(&self.action, Action::Insert(insert) if !insert.moments.is_empty());
        has_moments || self.table.definition().columns.iter().any(is_time)
    }

    /// In words, for EXPLAIN.
    pub(crate) fn describe(&self) -> String {
        let name = &self.table.definition().name;
        match &self.action {
            Action::Read { search, .. } => format!("read {name} {}", search.describe()),
            Action::Count { .. } => format!("count {name} by its segments and pages"),
            Action::Insert(insert) => format!("insert {} rows into {name} by key", insert.rows.len()),
            Action::Update(update) => format!("update {name} {}", update.search.describe()),
            Action::Delete { search } => format!("delete from {name} {}", search.describe()),
            Action::DeleteRange(_) => format!("delete a range of keys from {name}, if it has many"),
        }
    }

    /// Values of columns, each in its column's type. `None`: the planner has to say what they are.
    pub(super) fn values<'p>(
        &self,
        columns: impl Iterator<Item = &'p usize>,
        values: &[Expression],
        params: &[Datum],
    ) -> Option<Vec<Datum>> {
        let definition = self.table.definition();
        let value = |(column, expression): (&usize, &Expression)| {
            expression.value(&[], params)?.fit(definition.columns[*column].kind).ok()
        };
        columns.zip(values).map(value).collect()
    }

    /// A value that is put into a column. `None`: the planner has to say what it is there, or why it is not.
    pub(super) fn put(&self, column: usize, value: Datum) -> Option<Datum> {
        let definition = self.table.definition();
        let is_numbered = definition.numbers_itself(column);
        let column = &definition.columns[column];
        match value.is_null() {
            true => (column.nullable || is_numbered).then_some(value),
            false => cast(value, column.kind),
        }
    }
}

impl Search {
    /// Whether a row fits the conditions besides the key. `None`: the planner has to say.
    pub(super) fn fits(&self, definition: &TableDefinition, row: &Row, params: &[Datum]) -> Option<bool> {
        for condition in &self.rest {
            match condition.answer(definition, row, params) {
                Answer::True => {}
                Answer::False | Answer::Null => return Some(false),
                Answer::Planner => return None,
            }
        }
        Some(true)
    }

    fn describe(&self) -> String {
        let lookup = self.lookup.describe();
        match self.rest.len() {
            0 => lookup,
            1 => format!("{lookup}, with a condition"),
            rest => format!("{lookup}, with {rest} conditions"),
        }
    }
}

impl Lookup {
    fn describe(&self) -> String {
        match self {
            Self::Key(_) => "by its key".into(),
            Self::Keys(keys) => format!("by {} keys", keys.len()),
            Self::Unique(index, _) => format!("by index {}", index.name()),
            Self::Prefix { values, reverse, limit } => {
                let order = if *reverse { ", backwards" } else { "" };
                let limit = limit.map(|limit| format!(", {limit} rows at most")).unwrap_or_default();
                format!("by {} columns of its key{order}{limit}", values.len())
            }
        }
    }
}
