//! Aggregates, `first_value` and `last_value` over frames from the beginning of a partition to a row, its peers, or the end.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, RecordBatch},
    datatypes::{DataType, SchemaRef},
};
use datafusion::{
    common::Result,
    functions_window::nth_value::NthValue,
    logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits},
    physical_expr::{
        PhysicalExpr,
        window::{PlainAggregateWindowExpr, StandardWindowExpr, WindowExpr},
    },
    physical_plan::windows::WindowUDFExpr,
};

use super::{
    changes::Changes,
    keys::Keys,
    values::{Of, RunningValues, running_values},
};

/// Up to where the frame of a row goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Row,
    /// The last row that is equal to it by the order of the window.
    Peers,
    Partition,
}

impl End {
    /// `None` if the frame does not begin where the partition does, or ends elsewhere.
    fn of(frame: &WindowFrame) -> Option<Self> {
        match (&frame.start_bound, &frame.end_bound, frame.units) {
            (start, ..) if !start.is_unbounded() => None,
            (_, WindowFrameBound::CurrentRow, WindowFrameUnits::Rows) => Some(Self::Row),
            (_, WindowFrameBound::CurrentRow, WindowFrameUnits::Range | WindowFrameUnits::Groups) => {
                Some(Self::Peers)
            }
            (_, end @ WindowFrameBound::Following(_), _) if end.is_unbounded() => Some(Self::Partition),
            _ => None,
        }
    }
}

/// One function of a window.
#[derive(Clone, Debug)]
pub(super) struct Aggregate {
    of: Of,
    args: Vec<Arc<dyn PhysicalExpr>>,
    types: Vec<DataType>,
    keys: Keys,
    end: End,
}

impl Aggregate {
    /// That of an expression over rows of this schema; `None` if it is another one.
    pub(super) fn new(expr: &Arc<dyn WindowExpr>, keys: &Keys, schema: &SchemaRef) -> Option<Self> {
        let end = End::of(expr.get_window_frame())?;
        let of = aggregate(expr).or_else(|| end_row(expr))?;
        let args = expr.expressions();
        let types = args.iter().map(|arg| arg.data_type(schema)).collect::<Result<_>>().ok()?;
        (!args.is_empty()).then(|| Self { of, args, types, keys: keys.clone(), end })
    }
}

/// An aggregate without FILTER, which the planner (DataFusion 55) shows in its debug text alone.
fn aggregate(expr: &Arc<dyn WindowExpr>) -> Option<Of> {
    let planned = expr.as_any().downcast_ref::<PlainAggregateWindowExpr>()?;
    let has_filter = !format!("{planned:?}").ends_with("filter: None }");
    (!has_filter).then(|| Of::Aggregate(Arc::new(planned.get_aggregate_expr().clone())))
}

/// `first_value` or `last_value` of all rows from the first to the last, which is told as FILTER is.
fn end_row(expr: &Arc<dyn WindowExpr>) -> Option<Of> {
    let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
    let function = standard.get_standard_func_expr().as_any().downcast_ref::<WindowUDFExpr>()?;
    if !function.fun().inner().is::<NthValue>()
        || !format!("{function:?}").ends_with("is_reversed: false, ignore_nulls: false }")
    {
        return None;
    }
    let ty = expr.field().ok()?.data_type().clone();
    match function.fun().name() {
        "first_value" => Some(Of::First(ty)),
        "last_value" => Some(Of::Last(ty)),
        _ => None,
    }
}

/// What is known of the rows so far.
pub(super) struct Aggregated {
    of: Aggregate,
    partition: Changes,
    order: Changes,
    values: Box<dyn RunningValues>,
    /// How many rows were added whose frame may not have ended.
    open: usize,
}

impl Aggregated {
    pub(super) fn new(of: Aggregate) -> Result<Self> {
        let values = running_values(&of.of, &of.types)?;
        Ok(Self { of, partition: Changes::default(), order: Changes::default(), values, open: 0 })
    }

    pub(super) fn look_at(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let args = self.of.args.iter().map(|arg| arg.evaluate(batch)?.into_array(rows));
        self.values.look_at(args.collect::<Result<_>>()?);
        let begins = self.partition.of(&self.of.keys.partition, batch)?;
        let differs = match self.of.end {
            End::Peers => Some(self.order.of(&self.of.keys.order, batch)?),
            End::Partition => None,
            End::Row => {
                for row in 0..rows {
                    if begins.value(row) {
                        self.values.begin()?;
                    }
                    self.values.add(row..row + 1)?;
                    self.values.give(1)?;
                }
                return Ok(());
            }
        };
        let ends = differs.map_or_else(|| begins.clone(), |differs| &begins | &differs);
        let mut from = 0;
        for row in ends.set_indices() {
            self.add(from..row)?;
            self.end()?;
            if begins.value(row) {
                self.values.begin()?;
            }
            from = row;
        }
        self.add(from..rows)
    }

    fn add(&mut self, rows: std::ops::Range<usize>) -> Result<()> {
        self.open += rows.len();
        if rows.is_empty() { Ok(()) } else { self.values.add(rows) }
    }

    /// Says that the frame ends behind the last row.
    pub(super) fn end(&mut self) -> Result<()> {
        match std::mem::take(&mut self.open) {
            0 => Ok(()),
            open => self.values.give(open),
        }
    }

    pub(super) fn given(&self) -> usize {
        self.values.given()
    }

    pub(super) fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        self.values.take(rows)
    }
}
