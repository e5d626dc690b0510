//! What a fast statement does.

use ambo::{Compare, Datum, Index, PickedColumns, Row, SchemaStamp, Table, TableDefinition, Type};
use arrow::datatypes::SchemaRef;

use super::{
    condition::{Answer, Condition},
    expression::{Expression, cast},
    moment::Assigned,
    ranged::Ranged,
};
use crate::rights::Right;

/// A statement that needs no planner.
pub(crate) struct FastPlan {
    /// The schema that it was made for.
    pub(super) stamp: SchemaStamp,
    pub(super) table: Table,
    pub(super) action: Action,
    /// Whether columns are given the time of the statement.
    pub(super) has_moments: bool,
}

impl FastPlan {
    pub(super) fn new(stamp: SchemaStamp, table: Table, action: Action) -> Self {
        let has_moments = match &action {
            Action::Insert(insert) => insert.has_moments(),
            Action::Update(update) => has_moments(&update.sets),
            Action::Read { .. }
            | Action::Range(_)
            | Action::Count { .. }
            | Action::Delete { .. }
            | Action::DeleteRange(_) => false,
        };
        Self { stamp, table, action, has_moments }
    }

    /// The table, and the rights to it that a role has to have.
    pub(crate) fn rights(&self) -> (&str, &'static [Right]) {
        let rights: &[Right] = match &self.action {
            Action::Read { .. } | Action::Range(_) | Action::Count { .. } => &[Right::Select],
            Action::Insert(Insert {
                conflict: OnConflict::Refuse | OnConflict::Ignore,
                returning: None,
                ..
            }) => &[Right::Insert],
            Action::Insert(Insert { conflict: OnConflict::Refuse, .. }) => &[Right::Select, Right::Insert],
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
    /// Rows of a range of keys, if it has few.
    Range(Ranged),
    /// How many rows there are.
    Count {
        schema: SchemaRef,
    },
    Insert(Insert),
    Update(Update),
    Delete {
        search: Search,
        returning: Option<Output>,
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
pub(crate) struct Output {
    pub(super) columns: Vec<Expression>,
    pub schema: SchemaRef,
    /// The columns, if they are all that is to be known of a row that is looked up by its key.
    pub(super) picked: Option<PickedColumns>,
}

pub(super) struct Insert {
    pub rows: Vec<Vec<Assigned>>,
    /// The columns that rows have values for, in their order.
    pub columns: Vec<usize>,
    pub conflict: OnConflict,
    /// What must not be false of a row.
    pub checks: Vec<Condition>,
    /// What is handed out of each row; only where a key that is taken is refused.
    pub returning: Option<Output>,
}

impl Insert {
    fn has_moments(&self) -> bool {
        let in_conflict = matches!(&self.conflict, OnConflict::Update(sets) if has_moments(sets));
        in_conflict || self.rows.iter().flatten().any(Assigned::is_moment)
    }
}

fn has_moments(sets: &[(usize, Assigned)]) -> bool {
    sets.iter().any(|(_, assigned)| assigned.is_moment())
}

pub(super) struct Update {
    pub search: Search,
    /// Columns set to values of the row as it was.
    pub sets: Vec<(usize, Assigned)>,
    /// What must not be false of the row then.
    pub checks: Vec<Condition>,
    /// What is handed out of the row as it is then.
    pub returning: Option<Output>,
}

/// What becomes of a row whose key is taken.
pub(super) enum OnConflict {
    Refuse,
    Ignore,
    Replace,
    /// Columns of the row that is there are set to values of it and, behind its columns, of the new one.
    Update(Vec<(usize, Assigned)>),
}

impl FastPlan {
    /// Whether the schema is as it was.
    pub(crate) fn is_current(&self) -> bool {
        self.stamp.is_current(self.table.database())
    }

    /// Whether what it does may depend on what clocks show somewhere: where it comes to moments, in columns or parameters.
    pub(crate) fn reads_clocks(&self, params: &[Datum]) -> bool {
        let columns = &self.table.definition().columns;
        self.has_moments
            || columns.iter().any(|column| column.kind == Type::TimestampTz)
            || params.iter().any(|param| matches!(param, Datum::TimestampTz(_)))
    }

    /// What a statement that writes hands out of its rows.
    pub(crate) fn returning(&self) -> Option<&Output> {
        match &self.action {
            Action::Insert(insert) => insert.returning.as_ref(),
            Action::Update(update) => update.returning.as_ref(),
            Action::Delete { returning, .. } => returning.as_ref(),
            Action::Read { .. } | Action::Range(_) | Action::Count { .. } | Action::DeleteRange(_) => None,
        }
    }

    /// Whether the planner has to do it after all, where a range of keys has many rows or few.
    pub(crate) fn is_of_range(&self) -> bool {
        matches!(self.action, Action::Range(_) | Action::DeleteRange(_))
    }

    /// In words, for EXPLAIN.
    pub(crate) fn describe(&self) -> String {
        let name = &self.table.definition().name;
        match &self.action {
            Action::Read { search, .. } => format!("read {name} {}", search.describe()),
            Action::Range(_) => format!("read a range of keys of {name}, if it has few"),
            Action::Count { .. } => format!("count {name} by its segments and pages"),
            Action::Insert(insert) => format!("insert {} rows into {name} by key", insert.rows.len()),
            Action::Update(update) => format!("update {name} {}", update.search.describe()),
            Action::Delete { search, .. } => format!("delete from {name} {}", search.describe()),
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
