//! `row_number`, `rank` and `dense_rank`, by comparing each row with the one before it.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, RecordBatch},
    buffer::BooleanBuffer,
    compute::cast,
    datatypes::{DataType, Int64Type},
};
use datafusion::{
    common::Result,
    functions_window::{rank::Rank, row_number::RowNumber},
    physical_expr::window::{StandardWindowExpr, WindowExpr},
    physical_plan::windows::WindowUDFExpr,
};

use super::{changes::Changes, keys::Keys, runs::Runs};
use crate::window::numbering::is_signed;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    RowNumber,
    Rank,
    DenseRank,
}

/// One function of a window: rows are in one partition where its keys are equal, and peers where those of its order are, too.
#[derive(Clone, Debug)]
pub(super) struct Numbering {
    kind: Kind,
    keys: Keys,
    /// The planner's own functions are unsigned.
    ty: DataType,
}

impl Numbering {
    /// That of an expression; `None` if it is another one.
    pub(super) fn new(expr: &Arc<dyn WindowExpr>, keys: &Keys) -> Option<Self> {
        let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function = standard.get_standard_func_expr().as_any().downcast_ref::<WindowUDFExpr>()?.fun();
        if !is_signed(function) && !function.inner().is::<RowNumber>() && !function.inner().is::<Rank>() {
            return None;
        }
        let kind = match function.name() {
            "row_number" => Kind::RowNumber,
            "rank" => Kind::Rank,
            "dense_rank" => Kind::DenseRank,
            _ => return None,
        };
        Some(Self { kind, keys: keys.clone(), ty: expr.field().ok()?.data_type().clone() })
    }
}

/// What is known of the rows so far.
pub(super) struct Numbers {
    of: Numbering,
    partition: Changes,
    order: Changes,
    has_begun: bool,
    /// The number of the last row in its partition.
    row: i64,
    /// What the last row was given.
    number: i64,
    runs: Runs<Option<i64>>,
}

impl Numbers {
    pub(super) fn new(of: Numbering) -> Self {
        let (partition, order) = (Changes::default(), Changes::default());
        Self { of, partition, order, has_begun: false, row: 0, number: 0, runs: Runs::default() }
    }

    pub(super) fn look_at(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let begins = self.partition.of(&self.of.keys.partition, batch)?;
        let differs = match self.of.kind {
            Kind::RowNumber => BooleanBuffer::new_unset(rows),
            Kind::Rank | Kind::DenseRank => self.order.of(&self.of.keys.order, batch)?,
        };
        for row in 0..rows {
            let begins = begins.value(row) || !self.has_begun;
            self.has_begun = true;
            if begins {
                (self.row, self.number) = (0, 0);
            }
            self.row += 1;
            let is_peer = !begins && !differs.value(row);
            match self.of.kind {
                Kind::RowNumber => self.number = self.row,
                Kind::Rank if !is_peer => self.number = self.row,
                Kind::DenseRank if !is_peer => self.number += 1,
                Kind::Rank | Kind::DenseRank => {}
            }
            self.runs.push(Some(self.number), 1);
        }
        Ok(())
    }

    pub(super) fn given(&self) -> usize {
        self.runs.rows()
    }

    pub(super) fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        Ok(cast(&self.runs.column::<Int64Type>(rows, &DataType::Int64), &self.of.ty)?)
    }
}
