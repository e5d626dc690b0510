//! What a statement that writes gives back: how many rows it wrote, and what RETURNING says of them.

use ambo::TableDefinition;
use arrow::{
    array::RecordBatch,
    datatypes::{Field, SchemaRef},
};
use datafusion::{
    common::{ScalarValue, TableReference},
    sql::sqlparser::ast::SelectItem,
};

use super::evaluate::Frame;
use crate::{Result, Rows, connection::Work, rows::Source};

/// See the module.
pub(super) struct Written {
    pub affected: u64,
    pub returned: Option<(SchemaRef, Vec<RecordBatch>)>,
}

impl Written {
    pub(super) fn rows(self, tag: &'static str) -> Rows<'static> {
        match self.returned {
            None => Rows::done(tag, Some(self.affected)),
            Some((schema, batches)) => {
                Rows::new(schema, Source::Batches(batches.into())).with_tag(tag, Some(self.affected))
            }
        }
    }
}

/// Rows that are kept for RETURNING, if there is one.
pub(super) struct Returning<'s> {
    items: Option<&'s [SelectItem]>,
    columns: Vec<(Option<TableReference>, Field)>,
    batches: Vec<RecordBatch>,
}

impl<'s> Returning<'s> {
    /// Of rows with the columns of a table, and others behind them.
    pub(super) fn new(
        items: Option<&'s [SelectItem]>,
        alias: &str,
        definition: &TableDefinition,
        others: impl IntoIterator<Item = (Option<TableReference>, Field)>,
    ) -> Self {
        let mut columns = Frame::table(alias, definition);
        columns.extend(others);
        Self { items, columns, batches: Vec::new() }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.items.is_some()
    }

    /// Keeps rows.
    pub(super) fn push(&mut self, rows: RecordBatch) {
        if self.is_wanted() && rows.num_rows() > 0 {
            self.batches.push(rows);
        }
    }

    /// Computes what is returned, after the rows were written.
    pub(super) fn finish(self, work: &Work<'_>, affected: u64, params: &[ScalarValue]) -> Result<Written> {
        let Some(items) = self.items else { return Ok(Written { affected, returned: None }) };
        let frame = Frame::new(self.columns, self.batches)?;
        let returned = frame.select(&work.planner()?, items, params)?;
        Ok(Written { affected, returned: Some(returned) })
    }
}
