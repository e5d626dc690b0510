//! Running fast statements that read.

use std::collections::VecDeque;

use ambo::{Datum, Error as StorageError, PickedColumns, Read, Row};

use super::{
    expression::Expression,
    plan::{Action, FastPlan, Lookup, Output},
};
use crate::{Result, Rows, rows::Source};

impl FastPlan {
    /// Whether a statement reads several times: it is to do so at one moment.
    pub(crate) fn reads_often(&self) -> bool {
        matches!(&self.action, Action::Read { search, .. } if matches!(search.lookup, Lookup::Keys(_)))
    }

    /// The rows of a statement that reads. `None`: it is one for the planner after all.
    pub(crate) fn read(&self, view: &impl Read, params: &[Datum]) -> Result<Option<Rows<'static>>> {
        match &self.action {
            Action::Read { search, output } => {
                let picked = output.picked.as_ref();
                let Some(found) = self.find(view, &search.lookup, picked, params)? else { return Ok(None) };
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
            Action::Range(ranged) => self.read_range(view, ranged, params),
            Action::Count { schema } => {
                let count = i64::try_from(view.count(&self.table, ..)?).unwrap_or(i64::MAX);
                Ok(Some(Rows::new(schema.clone(), Source::Values([vec![Datum::I64(count)]].into()))))
            }
            Action::Insert(_) | Action::Update(_) | Action::Delete { .. } | Action::DeleteRange(_) => {
                Ok(None)
            }
        }
    }

    /// The rows of a look-up, or of them what is picked; `None` if a value does not fit its column as it is.
    fn find(
        &self,
        view: &impl Read,
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
                Ok(Some(self.by_key(view, &values, picked)?.into_iter().collect()))
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
                let found = keys.iter().map(|key| self.by_key(view, key, picked));
                Ok(Some(found.filter_map(Result::transpose).collect::<Result<_, _>>()?))
            }
            Lookup::Unique(index, values) => {
                let Some(values) = self.values(index.columns().iter(), values, params) else {
                    return Ok(None);
                };
                if values.iter().any(Datum::is_null) {
                    return Ok(Some(Vec::new()));
                }
                let row = view.index_get(index, &values)?;
                Ok(Some(row.into_iter().collect()))
            }
            Lookup::Prefix { values, reverse, limit } => {
                let Some(values) = self.values(key.iter(), values, params) else { return Ok(None) };
                if values.iter().any(Datum::is_null) {
                    return Ok(Some(Vec::new()));
                }
                let rows = view.rows_prefix(&self.table, &values)?;
                let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
                let rows: Result<Vec<_>, _> = match reverse {
                    true => rows.rev().take(limit).collect(),
                    false => rows.take(limit).collect(),
                };
                Ok(Some(rows?))
            }
        }
    }

    /// The row of a key, or of it what is picked.
    fn by_key(
        &self,
        view: &impl Read,
        key: &[Datum],
        picked: Option<&PickedColumns>,
    ) -> Result<Option<Row>, StorageError> {
        match picked {
            Some(picked) => picked.get_in(view, key),
            None => view.get_row(&self.table, key),
        }
    }
}

impl Output {
    pub(super) fn row(&self, mut row: Row, params: &[Datum]) -> Option<Vec<Datum>> {
        if let [Expression::Column(column)] = self.columns[..] {
            return Some(vec![std::mem::replace(row.get_mut(column)?, Datum::Null)]);
        }
        self.columns.iter().map(|column| column.value(&row, params)).collect()
    }
}
