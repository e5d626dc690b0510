//! Window functions with an order of their own: `rank(ORDER BY y) OVER (ORDER BY x ROWS …)`, `lead(v ORDER BY y) OVER (…)`,
//! `array_agg(v ORDER BY y) OVER (ORDER BY x)`. The window says which rows are looked at, and ORDER BY in the parentheses in which order.
//!
//! All rows of a partition are sorted once. Which of them are in the frame of a row is kept in a tree of counts (Fenwick, 1994), to which
//! rows come and from which they go as frames move, so a row costs the logarithm of the partition, whatever its frame is.
//!
//! The first argument says the order, two letters for each key: `a` or `d` for ascending and descending, `f` or `l` for NULL first or last.
//! Behind it come what the function takes, and the keys.

use std::{cmp::Ordering, ops::Range, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, UInt64Array, make_comparator},
    buffer::NullBuffer,
    compute::{SortOptions, take},
    datatypes::{DataType, Field, FieldRef, Int64Type},
};
use datafusion::{
    common::{DataFusionError, Result, ScalarValue, exec_err, plan_err},
    logical_expr::{
        LimitEffect, PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl,
        function::{PartitionEvaluatorArgs, WindowUDFFieldArgs},
        type_coercion::binary::type_union_coercion,
    },
    physical_expr::{PhysicalExpr, expressions::Literal},
};

use super::framed::{Exclude, LeftOut};

/// What is computed of a frame in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    RowNumber,
    Rank,
    PercentRank,
    CumeDist,
    Ntile,
    Lead,
    Lag,
    First,
    Last,
    Nth,
    List,
    Text,
}

/// Their names, what they are, and how many arguments they have.
const FUNCTIONS: [(&str, What, usize); 12] = [
    ("row_number_in_order", What::RowNumber, 0),
    ("rank_in_order", What::Rank, 0),
    ("percent_rank_in_order", What::PercentRank, 0),
    ("cume_dist_in_order", What::CumeDist, 0),
    ("ntile_in_order", What::Ntile, 1),
    ("lead_in_order", What::Lead, 3),
    ("lag_in_order", What::Lag, 3),
    ("first_value_in_order", What::First, 1),
    ("last_value_in_order", What::Last, 1),
    ("nth_value_in_order", What::Nth, 2),
    ("array_agg_in_order", What::List, 1),
    ("string_agg_in_order", What::Text, 2),
];

/// All of them.
pub(super) fn all() -> impl Iterator<Item = WindowUDF> {
    FUNCTIONS.into_iter().map(|(name, what, arguments)| made(name, what, arguments, Exclude::NoOthers))
}

/// The one of this name over frames that leave rows out.
pub(crate) fn in_order_without(name: &str, exclude: Exclude) -> Option<WindowUDF> {
    let (name, what, arguments) = FUNCTIONS.into_iter().find(|(known, ..)| *known == name)?;
    Some(made(name, what, arguments, exclude))
}

fn made(name: &'static str, what: What, arguments: usize, exclude: Exclude) -> WindowUDF {
    let signature = Signature::user_defined(Volatility::Immutable);
    WindowUDF::new_from_impl(InOrder { name, what, arguments, exclude, signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct InOrder {
    name: &'static str,
    what: What,
    arguments: usize,
    exclude: Exclude,
    signature: Signature,
}

impl InOrder {
    /// As statements call it.
    fn shown(&self) -> &'static str {
        self.name.trim_end_matches("_in_order")
    }
}

impl WindowUDFImpl for InOrder {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        if given.len() < self.arguments + 2 {
            return plan_err!("{} does not take these arguments", self.shown());
        }
        let mut wanted = given.to_vec();
        wanted[0] = DataType::Utf8;
        let number = match self.what {
            What::Ntile => Some(1),
            What::Lead | What::Lag | What::Nth => Some(2),
            _ => None,
        };
        if let Some(number) = number {
            if !given[number].is_integer() && !given[number].is_null() {
                return plan_err!("{}: the number of rows or parts is a whole number", self.shown());
            }
            wanted[number] = DataType::Int64;
        }
        if let What::Lead | What::Lag = self.what {
            let Some(both) = type_union_coercion(&given[1], &given[3]) else {
                return plan_err!("the value of {} and its default have no type in common", self.shown());
            };
            (wanted[1], wanted[3]) = (both.clone(), both);
        }
        if self.what == What::Text {
            (wanted[1], wanted[2]) = (DataType::Utf8, DataType::Utf8);
        }
        Ok(wanted)
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let value = || args.get_input_field(1).map_or(DataType::Null, |field| field.data_type().clone());
        let ty = match self.what {
            What::RowNumber | What::Rank | What::Ntile => DataType::Int64,
            What::PercentRank | What::CumeDist => DataType::Float64,
            What::List => DataType::new_list(value(), true),
            What::Text => DataType::Utf8,
            _ => value(),
        };
        Ok(Arc::new(Field::new(args.name(), ty, true)))
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        let literal = args.input_exprs().first().and_then(|order| order.downcast_ref::<Literal>());
        let Some(ScalarValue::Utf8(Some(order))) = literal.map(Literal::value) else {
            return plan_err!("{}: its order is not said", self.shown());
        };
        let order = order.as_bytes().chunks(2);
        let order = order.map(|of| SortOptions { descending: of[0] == b'd', nulls_first: of[1] == b'f' });
        Ok(Box::new(Evaluator {
            what: self.what,
            shown: self.shown(),
            arguments: self.arguments,
            given: args.input_exprs().len(),
            order: order.collect(),
            ignores_nulls: args.ignore_nulls(),
            left_out: LeftOut::new(self.exclude),
            row: 0,
            rows: None,
        }))
    }

    fn limit_effect(&self, _: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}

/// Is asked for the rows of a partition one by one.
#[derive(Debug)]
struct Evaluator {
    what: What,
    shown: &'static str,
    arguments: usize,
    /// How many arguments there are with the order and its keys.
    given: usize,
    order: Vec<SortOptions>,
    ignores_nulls: bool,
    left_out: LeftOut,
    row: usize,
    rows: Option<Sorted>,
}

impl PartitionEvaluator for Evaluator {
    fn evaluate(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> Result<ScalarValue> {
        let row = self.row;
        self.row += 1;
        let count = values[0].len();
        let parts = self.left_out.parts(row, frame, &values[self.given..], count)?;
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => {
                let of_values =
                    matches!(self.what, What::Lead | What::Lag | What::First | What::Last | What::Nth);
                let is_skipping = self.ignores_nulls && of_values || self.what == What::Text;
                let skipped = if is_skipping { values[1].logical_nulls() } else { None };
                let keys = &values[1 + self.arguments..self.given];
                none.insert(Sorted::new(keys, &self.order, count, skipped)?)
            }
        };
        rows.look_at(parts);
        self.value(values, row)
    }

    fn uses_window_frame(&self) -> bool {
        true
    }
}

impl Evaluator {
    fn value(&self, values: &[ArrayRef], row: usize) -> Result<ScalarValue> {
        let Some(rows) = &self.rows else { return exec_err!("{}: no rows", self.shown) };
        let before = rows.before(rows.place[row]);
        let ahead = rows.before(rows.peers[row].start);
        let count = rows.count;
        let number = |nth: usize| values[nth].as_primitive::<Int64Type>();
        let place = match self.what {
            What::RowNumber => return Ok(whole(before + 1)),
            What::Rank => return Ok(whole(ahead + 1)),
            What::PercentRank => return Ok(share(ahead, count.saturating_sub(1))),
            What::CumeDist => return Ok(share(rows.before(rows.peers[row].end), count)),
            What::Ntile => {
                let parts = number(1);
                return match parts.is_valid(row).then(|| parts.value(row)) {
                    Some(parts) if parts < 1 => exec_err!("ntile: {parts} is not the number of parts"),
                    Some(parts) => Ok(ntile(before, count, parts)),
                    None => Ok(ScalarValue::Int64(None)),
                };
            }
            What::List => return rows.list(&values[1]),
            What::Text => return Ok(rows.text(&values[1], &values[2], row)),
            What::First => Some(0),
            What::Last => count.checked_sub(1),
            What::Nth => match number(2).is_valid(row).then(|| number(2).value(row)) {
                Some(nth) => Some(super::nth::counted(nth)? - 1),
                None => None,
            },
            What::Lead | What::Lag => {
                let distance = number(2);
                if distance.is_null(row) {
                    return ScalarValue::try_from(values[1].data_type());
                }
                let distance = i128::from(distance.value(row));
                let distance = if self.what == What::Lead { distance } else { -distance };
                // Of what comes behind a row that is not in its frame the first is one away.
                let is_in = rows.before(rows.place[row] + 1) > before;
                let at = match distance {
                    0 => return ScalarValue::try_from_array(&values[1], row),
                    1.. if !is_in => before as i128 + distance - 1,
                    _ => before as i128 + distance,
                };
                match usize::try_from(at).ok().filter(|at| *at < count) {
                    Some(at) => Some(at),
                    None => return ScalarValue::try_from_array(&values[3], row),
                }
            }
        };
        match place.filter(|place| *place < count) {
            Some(place) => ScalarValue::try_from_array(&values[1], rows.row_at(place)),
            None => ScalarValue::try_from(values[1].data_type()),
        }
    }
}

fn whole(number: usize) -> ScalarValue {
    ScalarValue::Int64(i64::try_from(number).ok())
}

fn share(part: usize, of: usize) -> ScalarValue {
    ScalarValue::from(if of == 0 { 0.0 } else { part as f64 / of as f64 })
}

/// In which of so many parts the row is that has so many before it, the first parts being the larger ones.
fn ntile(before: usize, count: usize, parts: i64) -> ScalarValue {
    let parts = usize::try_from(parts).unwrap_or(usize::MAX).min(count);
    if parts == 0 {
        return ScalarValue::Int64(None);
    }
    let (size, larger) = (count / parts, count % parts);
    let in_larger = larger * (size + 1);
    let part = if before < in_larger { before / (size + 1) } else { larger + (before - in_larger) / size };
    whole(part.min(parts - 1) + 1)
}

/// The rows of a partition in their order, and which of them are looked at.
#[derive(Debug)]
struct Sorted {
    /// The rows, in order.
    rows: Vec<usize>,
    /// Where each row is in it.
    place: Vec<usize>,
    /// The places of the rows that are where each row is.
    peers: Vec<Range<usize>>,
    /// Rows that are never looked at.
    skipped: Option<NullBuffer>,
    /// Which rows of the partition are looked at.
    parts: Vec<Range<usize>>,
    /// How many of them there are.
    count: usize,
    /// A tree of how many of them there are at places.
    counts: Vec<usize>,
}

impl Sorted {
    fn new(
        keys: &[ArrayRef],
        order: &[SortOptions],
        count: usize,
        skipped: Option<NullBuffer>,
    ) -> Result<Self> {
        let compared = keys.iter().zip(order).map(|(key, order)| make_comparator(key, key, *order));
        let compared = compared.collect::<Result<Vec<_>, _>>()?;
        let compare = |left: usize, right: usize| {
            let mut orders = compared.iter().map(|compare| compare(left, right));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let mut rows: Vec<usize> = (0..count).collect();
        rows.sort_by(|left, right| compare(*left, *right));
        let (mut place, mut peers) = (vec![0; count], vec![0..0; count]);
        let mut start = 0;
        while start < count {
            let end = (start + 1..count).find(|at| compare(rows[start], rows[*at]).is_ne()).unwrap_or(count);
            for at in start..end {
                place[rows[at]] = at;
                peers[rows[at]] = start..end;
            }
            start = end;
        }
        let counts = vec![0; count + 1];
        Ok(Self { rows, place, peers, skipped, parts: Vec::new(), count: 0, counts })
    }

    /// Looks at these rows of the partition, and no others.
    fn look_at(&mut self, parts: Vec<Range<usize>>) {
        for gone in beyond(&self.parts, &parts) {
            gone.for_each(|row| self.add(row, false));
        }
        for new in beyond(&parts, &self.parts) {
            new.for_each(|row| self.add(row, true));
        }
        self.parts = parts;
    }

    fn add(&mut self, row: usize, comes: bool) {
        if self.skipped.as_ref().is_some_and(|skipped| skipped.is_null(row)) {
            return;
        }
        self.count = if comes { self.count + 1 } else { self.count - 1 };
        let mut at = self.place[row] + 1;
        while at < self.counts.len() {
            self.counts[at] = if comes { self.counts[at] + 1 } else { self.counts[at] - 1 };
            at += at & at.wrapping_neg();
        }
    }

    /// How many are looked at before a place.
    fn before(&self, place: usize) -> usize {
        let (mut at, mut sum) = (place, 0);
        while at > 0 {
            sum += self.counts[at];
            at &= at - 1;
        }
        sum
    }

    /// The row that has so many before it of those that are looked at.
    fn row_at(&self, mut before: usize) -> usize {
        let (mut at, mut step) = (0, self.rows.len().next_power_of_two());
        while step > 0 {
            if at + step < self.counts.len() && self.counts[at + step] <= before {
                at += step;
                before -= self.counts[at];
            }
            step /= 2;
        }
        self.rows[at]
    }

    fn list(&self, values: &ArrayRef) -> Result<ScalarValue> {
        let list = DataType::new_list(values.data_type().clone(), true);
        if self.count == 0 {
            return ScalarValue::try_from(&list);
        }
        let places: UInt64Array = (0..self.count).map(|at| self.row_at(at) as u64).collect();
        let values = take(values, &places, None).map_err(DataFusionError::from)?;
        let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let offsets = arrow::buffer::OffsetBuffer::from_lengths([values.len()]);
        Ok(ScalarValue::List(Arc::new(arrow::array::ListArray::try_new(field, offsets, values, None)?)))
    }

    fn text(&self, values: &ArrayRef, between: &ArrayRef, row: usize) -> ScalarValue {
        let (values, between) = (values.as_string::<i32>(), between.as_string::<i32>());
        let between = if between.is_valid(row) { between.value(row) } else { "" };
        let texts: Vec<_> = (0..self.count).map(|at| values.value(self.row_at(at))).collect();
        ScalarValue::Utf8((self.count > 0).then(|| texts.join(between)))
    }
}

/// What is in some ranges and not in others. Ranges are in order.
fn beyond(these: &[Range<usize>], others: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    for range in these {
        let mut start = range.start;
        for other in others.iter().filter(|other| other.end > range.start && other.start < range.end) {
            if other.start > start {
                left.push(start..other.start);
            }
            start = start.max(other.end);
        }
        if start < range.end {
            left.push(start..range.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: a row that is counted twice, or stays when its frame has moved on.
    #[allow(clippy::single_range_in_vec_init, reason = "the parts of a frame are ranges")]
    #[test]
    fn rows_come_and_go_with_frames() {
        let keys: ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![5, 1, 4, 1, 3]));
        let mut sorted = Sorted::new(&[keys], &[SortOptions::default()], 5, None).unwrap();
        for parts in [vec![0..2], vec![1..4], vec![0..1, 2..5], vec![], vec![4..5], vec![0..5]] {
            sorted.look_at(parts.clone());
            let mut wanted: Vec<usize> = parts.iter().cloned().flatten().collect();
            wanted.sort_by_key(|row| ([5, 1, 4, 1, 3][*row], *row));
            let found: Vec<usize> = (0..sorted.count).map(|at| sorted.row_at(at)).collect();
            assert_eq!(found, wanted, "{parts:?}");
            for (before, row) in found.into_iter().enumerate() {
                assert_eq!(sorted.before(sorted.place[row]), before);
            }
        }
    }
}
