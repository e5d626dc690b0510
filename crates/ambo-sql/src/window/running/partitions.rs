//! Functions that are asked for many rows at once: `lag` and `lead`, which look so many rows away, and `ntile`, `percent_rank` and
//! `cume_dist`, which need the whole partition.

use std::{collections::VecDeque, sync::Arc};

use arrow::{
    array::{ArrayRef, RecordBatch, new_empty_array},
    compute::{concat, concat_batches},
    datatypes::DataType,
};
use datafusion::{
    common::{Result, ScalarValue},
    physical_expr::{
        expressions::Literal,
        window::{StandardWindowExpr, WindowExpr},
    },
    physical_plan::windows::WindowUDFExpr,
};

use super::{changes::Changes, keys::Keys};

/// How many rows of a partition wait for each other at least.
const ROWS_MIN: usize = 8192;

/// One function of a window.
#[derive(Clone, Debug)]
pub(super) struct OfPartition {
    expr: Arc<dyn WindowExpr>,
    keys: Keys,
    /// How many rows away the function looks at most; `None`: to the ends of the partition.
    reach: Option<usize>,
    ty: DataType,
}

impl OfPartition {
    /// That of an expression; `None` if its function looks at frames, or at rows in a way that is not known.
    pub(super) fn new(expr: &Arc<dyn WindowExpr>, keys: &Keys) -> Option<Self> {
        let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function = standard.get_standard_func_expr();
        let evaluator = function.create_evaluator().ok()?;
        if evaluator.uses_window_frame() {
            return None;
        }
        // Others are computed of the whole partition by the planner, too.
        let reach = match evaluator.supports_bounded_execution() {
            true => Some(reach(function.as_any().downcast_ref()?)?),
            false => None,
        };
        let ty = expr.field().ok()?.data_type().clone();
        Some(Self { expr: expr.clone(), keys: keys.clone(), reach, ty })
    }
}

/// How far `lag` or `lead` looks with a literal distance.
fn reach(function: &WindowUDFExpr) -> Option<usize> {
    const REACH_MAX: u64 = 1 << 16;

    let is_shift = matches!(function.fun().name(), "lag" | "lead");
    let distance = match function.args().get(1) {
        None => 1,
        Some(distance) => match distance.downcast_ref::<Literal>()?.value() {
            ScalarValue::Int64(Some(distance)) => distance.unsigned_abs(),
            _ => return None,
        },
    };
    (is_shift && distance <= REACH_MAX).then_some(distance as usize)
}

/// What is known of the rows so far.
pub(super) struct Partitions {
    of: OfPartition,
    partition: Changes,
    /// Rows of the last partition: those without a value, and behind `seen` rows that the function looks back at.
    open: Vec<RecordBatch>,
    open_rows: usize,
    seen: usize,
    /// Values of rows in front of these.
    values: VecDeque<ArrayRef>,
    given: usize,
}

impl Partitions {
    pub(super) fn new(of: OfPartition) -> Self {
        Self {
            of,
            partition: Changes::default(),
            open: Vec::new(),
            open_rows: 0,
            seen: 0,
            values: VecDeque::new(),
            given: 0,
        }
    }

    pub(super) fn look_at(&mut self, batch: &RecordBatch) -> Result<()> {
        let begins = self.partition.of(&self.of.keys.partition, batch)?;
        let mut from = 0;
        for row in begins.set_indices() {
            self.add(batch, from, row);
            self.end()?;
            from = row;
        }
        self.add(batch, from, batch.num_rows());
        match self.of.reach {
            Some(reach) if self.open_rows >= self.seen + reach + ROWS_MIN.max(4 * reach) => self.give(reach),
            _ => Ok(()),
        }
    }

    fn add(&mut self, batch: &RecordBatch, from: usize, to: usize) {
        if to > from {
            self.open.push(batch.slice(from, to - from));
            self.open_rows += to - from;
        }
    }

    /// The rows of the partition that are here, as one batch.
    fn taken(&mut self) -> Result<Option<RecordBatch>> {
        self.open_rows = 0;
        Ok(match &std::mem::take(&mut self.open)[..] {
            [] => None,
            [rows] => Some(rows.clone()),
            rows => Some(concat_batches(rows[0].schema_ref(), rows)?),
        })
    }

    /// Gives rows their values that have `reach` rows behind them.
    fn give(&mut self, reach: usize) -> Result<()> {
        let Some(rows) = self.taken()? else { return Ok(()) };
        let known = rows.num_rows() - reach;
        self.push(self.of.expr.evaluate(&rows)?.slice(self.seen, known - self.seen));
        self.seen = reach.min(known);
        self.add(&rows, known - self.seen, rows.num_rows());
        Ok(())
    }

    /// Says that the partition ends behind the last row.
    pub(super) fn end(&mut self) -> Result<()> {
        let seen = std::mem::take(&mut self.seen);
        if let Some(rows) = self.taken()? {
            self.push(self.of.expr.evaluate(&rows)?.slice(seen, rows.num_rows() - seen));
        }
        Ok(())
    }

    fn push(&mut self, values: ArrayRef) {
        self.given += values.len();
        self.values.push_back(values);
    }

    pub(super) fn given(&self) -> usize {
        self.given
    }

    pub(super) fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        self.given -= rows;
        let (mut taken, mut wanted) = (Vec::new(), rows);
        while wanted > 0 {
            let first = self.values.pop_front().expect("rows that are counted have values");
            let of_first = wanted.min(first.len());
            taken.push(first.slice(0, of_first));
            wanted -= of_first;
            if of_first < first.len() {
                self.values.push_front(first.slice(of_first, first.len() - of_first));
            }
        }
        Ok(match &taken[..] {
            [] => new_empty_array(&self.of.ty),
            [one] => one.clone(),
            several => concat(&several.iter().map(|part| &**part).collect::<Vec<_>>())?,
        })
    }
}
