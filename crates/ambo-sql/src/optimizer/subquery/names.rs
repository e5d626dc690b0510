//! Names of columns that stand in no statement.

use std::cell::Cell;

use datafusion::common::Column;

/// Gives each new column of a plan another name: the planner refuses schemas with two of one name, if one of them is of no table.
#[derive(Default)]
pub(super) struct Names {
    given: Cell<usize>,
}

impl Names {
    pub(super) fn column(&self) -> Column {
        self.given.set(self.given.get() + 1);
        Column::new_unqualified(format!("__outside_{}", self.given.get()))
    }

    pub(super) fn columns(&self, count: usize) -> Vec<Column> {
        (0..count).map(|_| self.column()).collect()
    }
}
