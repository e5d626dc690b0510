//! Short ranges of keys: their rows, sorted if that is asked, those that differ, or the sum of a column.

use std::{
    cmp::Ordering as Order,
    sync::atomic::{AtomicU32, Ordering},
};

use ambo::{Datum, Read, Row};

use super::{
    plan::{FastPlan, KeyBounds, Output},
    write::Stop,
};
use crate::{Result, Rows, rows::Source};

/// Ranges of more rows are the planner's, which reads them by columns and in several threads.
const ROWS_MAX: usize = 256;
/// When so many ranges had more, all others of the statement are taken for such.
const LONG_MAX: u32 = 8;

/// What is read of a range of keys.
pub(super) struct Ranged {
    bounds: KeyBounds,
    output: Output,
    then: Then,
    /// How many ranges had more rows than are read here.
    long: AtomicU32,
}

/// What becomes of the rows.
pub(super) enum Then {
    /// They are handed out, sorted by these of their columns, each from the greatest on if it says so.
    Rows(Vec<(usize, bool)>),
    /// The same, of several that are alike one.
    Different(Vec<(usize, bool)>),
    /// Of their only column, which has integers of at most 32 bits, the sum.
    Sum,
}

impl Ranged {
    pub fn new(bounds: KeyBounds, output: Output, then: Then) -> Self {
        Self { bounds, output, then, long: AtomicU32::new(0) }
    }

    fn handed_out(&self, mut rows: Vec<Row>) -> Vec<Row> {
        match &self.then {
            Then::Rows(order) => sort(&mut rows, order),
            Then::Different(order) => {
                rows.sort_unstable_by(compared);
                rows.dedup_by(|one, other| compared(one, other).is_eq());
                sort(&mut rows, order);
            }
            Then::Sum => {
                let numbers = rows.iter().filter_map(|row| match row[0] {
                    Datum::I8(number) => Some(i64::from(number)),
                    Datum::I16(number) => Some(i64::from(number)),
                    Datum::I32(number) => Some(i64::from(number)),
                    _ => None,
                });
                let sum = numbers.reduce(|sum, number| sum + number);
                rows = vec![vec![sum.map_or(Datum::Null, Datum::I64)]];
            }
        }
        rows
    }
}

fn compared(one: &Row, other: &Row) -> Order {
    let pairs = one.iter().zip(other);
    let mut orders = pairs.map(|(one, other)| one.as_ref().compare(other.as_ref()));
    orders.find(|order| order.is_ne()).unwrap_or(Order::Equal)
}

fn sort(rows: &mut [Row], by: &[(usize, bool)]) {
    if by.is_empty() {
        return;
    }
    rows.sort_by(|one, other| {
        let orders = by.iter().map(|(column, is_backwards)| {
            let order = one[*column].as_ref().compare(other[*column].as_ref());
            if *is_backwards { order.reverse() } else { order }
        });
        let mut orders = orders.filter(|order| order.is_ne());
        orders.next().unwrap_or(Order::Equal)
    });
}

impl FastPlan {
    /// The rows of a range. `None`: there are many, or it is one for the planner for another reason.
    pub(super) fn read_range(
        &self,
        view: &impl Read,
        ranged: &Ranged,
        params: &[Datum],
    ) -> Result<Option<Rows<'static>>> {
        if ranged.long.load(Ordering::Relaxed) >= LONG_MAX {
            return Ok(None);
        }
        let range = match self.range(&ranged.bounds, params) {
            Ok(range) => range,
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Planner | Stop::Unfit) => return Ok(None),
        };
        let mut rows = Vec::new();
        if let Some(range) = range {
            for stored in view.scan(&self.table, range)? {
                let (key, value) = stored?;
                if rows.len() == ROWS_MAX {
                    ranged.long.fetch_add(1, Ordering::Relaxed);
                    return Ok(None);
                }
                let row = self.table.row_of(&key, &value)?;
                let Some(row) = ranged.output.row(row, params) else { return Ok(None) };
                rows.push(row);
            }
        }
        let rows = ranged.handed_out(rows);
        Ok(Some(Rows::new(ranged.output.schema.clone(), Source::Values(rows.into()))))
    }
}
