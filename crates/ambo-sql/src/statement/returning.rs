//! What a statement that writes gives back: how many rows it wrote, and what RETURNING says of them.

use std::ops::ControlFlow;

use ambo::TableDefinition;
use arrow::{
    array::RecordBatch,
    datatypes::{Field, SchemaRef},
};
use datafusion::{
    common::{ScalarValue, TableReference},
    sql::sqlparser::ast::{Expr, Query, SelectItem, VisitorMut},
};

use super::{evaluate::Frame, target::quoted};
use crate::{Result, Rows, connection::Work, names::ident, rows::Source, walk::WalkMut};

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
        let mut items = items.to_vec();
        let _ = items.walk_mut(&mut OfTable { columns: &self.columns, within: 0 });
        let frame = Frame::new(self.columns, self.batches)?;
        let returned = frame.select(&work.planner()?, &items, params)?;
        Ok(Written { affected, returned: Some(returned) })
    }
}

/// A name that the table and others have is the table's: its rows are returned.
struct OfTable<'c> {
    columns: &'c [(Option<TableReference>, Field)],
    /// How many queries are around: these have tables of their own.
    within: usize,
}

impl OfTable<'_> {
    /// The table that a name is meant of, if others have it, too.
    fn table(&self, name: &str) -> Option<String> {
        let mut of = self.columns.iter().filter(|(_, field)| field.name() == name);
        let (table, _) = of.next()?;
        let table = table.as_ref().filter(|_| of.next().is_some())?;
        Some(table.table().to_owned())
    }
}

impl VisitorMut for OfTable<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.within += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.within -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && self.within == 0
            && let Some(table) = self.table(&ident(name))
        {
            *expr = Expr::CompoundIdentifier(vec![quoted(&table), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}
