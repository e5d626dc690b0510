//! Running fast statements that read.

use std::collections::VecDeque;

use ambo::{Datum, Error as StorageError, PickedColumns, Row, Snapshot, Table, Transaction};

use super::{
    expression::Expression,
    plan::{Action, FastPlan, Lookup, Output},
};
use crate::{Result, Rows, rows::Source};

/// Where a statement reads.
pub(crate) enum Reader<'a> {
    /// What is committed now.
    Now,
    Snapshot(&'a Snapshot),
    Transaction(&'a Transaction),
}

impl Reader<'_> {
    /// The row of a key, or of it what is picked.
    fn by_key(
        &self,
        table: &Table,
        key: &[Datum],
        picked: Option<&PickedColumns>,
    ) -> Result<Option<Row>, StorageError> {
        match (self, picked) {
            (Self::Now, None) => table.get_row(key),
            (Self::Snapshot(snapshot), None) => snapshot.get_row(table, key),
            (Self::Transaction(transaction), None) => transaction.get_row(table, key),
            (Self::Now, Some(picked)) => picked.get(key),
            (Self::Snapshot(snapshot), Some(picked)) => picked.get_at(snapshot, key),
            (Self::Transaction(transaction), Some(picked)) => picked.get_in(transaction, key),
        }
    }

    fn count(&self, table: &Table) -> Result<u64, StorageError> {
        match self {
            Self::Now => table.len(),
            Self::Snapshot(snapshot) => snapshot.count(table, ..),
            Self::Transaction(transaction) => transaction.count(table, ..),
        }
    }
}

impl FastPlan {
    /// The rows of a statement that reads. `None`: it is one for the planner after all.
    pub(crate) fn read(&self, reader: &Reader<'_>, params: &[Datum]) -> Result<Option<Rows<'static>>> {
        match &self.action {
            Action::Read { search, output } => {
                let picked = output.picked.as_ref();
                let Some(found) = self.find(reader, &search.lookup, picked, params)? else { return Ok(None) };
                if picked.is_some() {
                    return Ok(Some(Rows::new(output.schema.clone(), Source::Values(found.into()))));
                }
                let mut rows = VecDeque::with_capacity(found.len());
                for row in found {
                    match search.fits(self.table.definition(), &row, params) {
                        Some(true) => {}
                        Some(false) => continue,
                        None => return Ok(None),
                    }
                    let Some(row) = output.row(row, params) else { return Ok(None) };
                    rows.push_back(row);
                }
                Ok(Some(Rows::new(output.schema.clone(), Source::Values(rows))))
            }
            Action::Count { schema } => {
                let count = i64::try_from(reader.count(&self.table)?).unwrap_or(i64::MAX);
                Ok(Some(Rows::new(schema.clone(), Source::Values([vec![Datum::I64(count)]].into()))))
            }
            Action::Insert(_) | Action::Update(_) | Action::Delete { .. } => Ok(None),
        }
    }

    /// The rows of a look-up, or of them what is picked; `None` if a value does not fit its column as it is.
    fn find(
        &self,
        reader: &Reader<'_>,
        lookup: &Lookup,
        picked: Option<&PickedColumns>,
        params: &[Datum],
    ) -> Result<Option<Vec<Row>>> {
        let key = self.table.definition().primary_columns();
        match lookup {
            Lookup::Key(values) => {
                let Some(values) = self.values(key.iter(), values, params) else { return Ok(None) };
                if values.iter().any(Datum::is_null) {
                    return Ok(Some(Vec::new()));
                }
                Ok(Some(reader.by_key(&self.table, &values, picked)?.into_iter().collect()))
            }
            Lookup::Keys(values) => {
                let mut keys = Vec::with_capacity(values.len());
                for value in values {
                    let Some(value) = self.values(key.iter(), std::slice::from_ref(value), params) else {
                        return Ok(None);
                    };
                    if !value[0].is_null() && !keys.contains(&value) {
                        keys.push(value);
                    }
                }
                let found = keys.iter().map(|key| reader.by_key(&self.table, key, picked));
                Ok(Some(found.filter_map(Result::transpose).collect::<Result<_, _>>()?))
            }
            Lookup::Unique(index, values) => {
                let Some(values) = self.values(index.columns().iter(), values, params) else {
                    return Ok(None);
                };
                if values.iter().any(Datum::is_null) {
                    return Ok(Some(Vec::new()));
                }
                let row = match reader {
                    Reader::Now => index.get(&values)?,
                    Reader::Snapshot(snapshot) => snapshot.index_rows(index, &values)?.next().transpose()?,
                    Reader::Transaction(transaction) => {
                        transaction.index_rows(index, &values)?.next().transpose()?
                    }
                };
                Ok(Some(row.into_iter().collect()))
            }
            Lookup::Prefix { values, reverse, limit } => {
                let Some(values) = self.values(key.iter(), values, params) else { return Ok(None) };
                if values.iter().any(Datum::is_null) {
                    return Ok(Some(Vec::new()));
                }
                let rows = match reader {
                    Reader::Now => self.table.rows_prefix(&values)?,
                    Reader::Snapshot(snapshot) => snapshot.rows_prefix(&self.table, &values)?,
                    Reader::Transaction(transaction) => transaction.rows_prefix(&self.table, &values)?,
                };
                let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
                let rows: Result<Vec<_>, _> = match reverse {
                    true => rows.rev().take(limit).collect(),
                    false => rows.take(limit).collect(),
                };
                Ok(Some(rows?))
            }
        }
    }
}

impl Output {
    fn row(&self, mut row: Row, params: &[Datum]) -> Option<Vec<Datum>> {
        if let [Expression::Column(column)] = self.columns[..] {
            return Some(vec![std::mem::replace(row.get_mut(column)?, Datum::Null)]);
        }
        self.columns.iter().map(|column| column.value(&row, params)).collect()
    }
}
