//! Functions over frames, computed anew for each row: frames that leave rows out in their midst (EXCLUDE), and aggregates that rows cannot
//! be taken out of.

use std::{cmp::Ordering, ops::Range, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, make_comparator},
    compute::{SortOptions, filter},
    datatypes::{Field, FieldRef, Int64Type, Schema},
};
use datafusion::{
    common::{Result, ScalarValue},
    logical_expr::{
        Accumulator, AggregateUDF, LimitEffect, PartitionEvaluator, Signature, Volatility, WindowUDF,
        WindowUDFImpl,
        function::{AccumulatorArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs},
    },
    physical_expr::{
        PhysicalExpr,
        expressions::{Column, Literal},
    },
};

/// Which rows of its frame a row does not look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Exclude {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

impl Exclude {
    /// By the words of SQL, in small letters.
    pub(crate) fn named(words: &str) -> Option<Self> {
        Some(match words {
            "no others" => Self::NoOthers,
            "current row" => Self::CurrentRow,
            "group" => Self::Group,
            "ties" => Self::Ties,
            _ => return None,
        })
    }
}

/// What is computed of the rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Function {
    Aggregate { of: Arc<AggregateUDF>, is_distinct: bool },
    First,
    Last,
    Nth,
}

/// A function over a frame that leaves rows out: an aggregate, or `first_value`, `last_value` or `nth_value`; of so many arguments. If
/// `has_filter`, one more says which rows count.
pub(crate) fn framed(
    name: &str,
    aggregate: Option<(Arc<AggregateUDF>, bool)>,
    arguments: usize,
    has_filter: bool,
    exclude: Exclude,
) -> Option<WindowUDF> {
    let function = match (aggregate, name) {
        (Some((of, is_distinct)), _) => Function::Aggregate { of, is_distinct },
        (None, "first_value") => Function::First,
        (None, "last_value") => Function::Last,
        (None, "nth_value") => Function::Nth,
        _ => return None,
    };
    let signature = Signature::any(arguments + usize::from(has_filter), Volatility::Immutable);
    let name = name.to_owned();
    Some(WindowUDF::new_from_impl(Framed { name, function, arguments, has_filter, exclude, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Framed {
    name: String,
    function: Function,
    arguments: usize,
    has_filter: bool,
    exclude: Exclude,
    signature: Signature,
}

impl WindowUDFImpl for Framed {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let given = &args.input_fields()[..self.arguments];
        let data_type = match &self.function {
            Function::Aggregate { of, .. } => of.return_field(given)?.data_type().clone(),
            _ => given[0].data_type().clone(),
        };
        Ok(Arc::new(Field::new(args.name(), data_type, true)))
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        let fields = args.input_fields()[..self.arguments].to_vec();
        // By their places: the rows that come are columns of these.
        let place = |(at, expr): (usize, &Arc<dyn PhysicalExpr>)| match expr.is::<Literal>() {
            true => expr.clone(),
            false => Arc::new(Column::new(fields[at].name(), at)) as Arc<dyn PhysicalExpr>,
        };
        let exprs = args.input_exprs().iter().take(self.arguments).enumerate().map(place).collect();
        let result = self.field(WindowUDFFieldArgs::new(args.input_fields(), &self.name))?;
        Ok(Box::new(Framing {
            name: self.name.clone(),
            function: self.function.clone(),
            left_out: LeftOut::new(self.exclude),
            ignores_nulls: args.ignore_nulls(),
            has_filter: self.has_filter,
            schema: Schema::new(fields.clone()),
            fields,
            exprs,
            result,
            row: 0,
            last: None,
        }))
    }

    fn limit_effect(&self, _: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}

/// Is asked for the rows of a partition one by one.
#[derive(Debug)]
struct Framing {
    name: String,
    function: Function,
    left_out: LeftOut,
    ignores_nulls: bool,
    has_filter: bool,
    schema: Schema,
    fields: Vec<FieldRef>,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    result: FieldRef,
    row: usize,
    /// What was computed last, and of which rows.
    last: Option<(Vec<Range<usize>>, ScalarValue)>,
}

impl PartitionEvaluator for Framing {
    fn evaluate(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> Result<ScalarValue> {
        let row = self.row;
        self.row += 1;
        let arguments = self.fields.len();
        let keys = &values[arguments + usize::from(self.has_filter)..];
        let parts = self.left_out.parts(row, frame, keys, values[0].len())?;
        if let Some((known, value)) = &self.last
            && *known == parts
            && self.function != Function::Nth
        {
            return Ok(value.clone());
        }
        let mask = self.has_filter.then(|| values[arguments].as_boolean());
        let value = match &self.function {
            Function::Aggregate { of, is_distinct } => {
                let mut accumulator = self.accumulator(of, *is_distinct)?;
                for part in &parts {
                    let of_part = |column: &ArrayRef| taken(column, part, mask);
                    let columns: Vec<_> = values[..arguments].iter().map(of_part).collect::<Result<_>>()?;
                    accumulator.update_batch(&columns)?;
                }
                accumulator.evaluate()?
            }
            function => {
                let nulls = values[0].logical_nulls().filter(|_| self.ignores_nulls);
                let counts = |at: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*at));
                let mut rows = parts.iter().cloned().flatten().filter(counts);
                let at = match function {
                    Function::First => rows.next(),
                    Function::Last => rows.next_back(),
                    _ => nth(values, row)?.and_then(|nth| rows.nth(nth)),
                };
                match at {
                    Some(at) => ScalarValue::try_from_array(&values[0], at)?,
                    None => ScalarValue::try_from(values[0].data_type())?,
                }
            }
        };
        self.last = Some((parts, value.clone()));
        Ok(value)
    }

    fn uses_window_frame(&self) -> bool {
        true
    }
}

impl Framing {
    fn accumulator(&self, of: &AggregateUDF, is_distinct: bool) -> Result<Box<dyn Accumulator>> {
        of.accumulator(AccumulatorArgs {
            return_field: self.result.clone(),
            schema: &self.schema,
            ignore_nulls: self.ignores_nulls,
            order_bys: &[],
            is_reversed: false,
            name: &self.name,
            is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.fields,
        })
    }
}

/// Takes out of frames what rows do not look at.
#[derive(Debug)]
pub(super) struct LeftOut {
    exclude: Exclude,
    /// The rows of the last row's place in the order.
    peers: Range<usize>,
}

impl LeftOut {
    pub(super) fn new(exclude: Exclude) -> Self {
        Self { exclude, peers: 0..0 }
    }

    /// The parts of a frame that a row looks at.
    pub(super) fn parts(
        &mut self,
        row: usize,
        frame: &Range<usize>,
        keys: &[ArrayRef],
        rows: usize,
    ) -> Result<Vec<Range<usize>>> {
        if matches!(self.exclude, Exclude::Group | Exclude::Ties) && !self.peers.contains(&row) {
            self.peers = peers(row, keys, rows)?;
        }
        let current = row..row + 1;
        let left_out = match self.exclude {
            Exclude::NoOthers => 0..0,
            Exclude::CurrentRow => current.clone(),
            Exclude::Group | Exclude::Ties => self.peers.clone(),
        };
        let mut parts = match left_out.is_empty() {
            true => vec![frame.clone()],
            false => {
                vec![frame.start..frame.end.min(left_out.start), frame.start.max(left_out.end)..frame.end]
            }
        };
        if self.exclude == Exclude::Ties && frame.contains(&row) {
            parts.insert(1, current);
        }
        parts.retain(|part| !part.is_empty());
        Ok(parts)
    }
}

/// The rows that are where a row is in the order; without one, all of them.
fn peers(row: usize, keys: &[ArrayRef], rows: usize) -> Result<Range<usize>> {
    let compared = keys.iter().map(|key| make_comparator(key, key, SortOptions::default()));
    let compared = compared.collect::<Result<Vec<_>, _>>()?;
    let is_peer = |other: &usize| compared.iter().all(|compare| compare(row, *other) == Ordering::Equal);
    let before = (0..row).rev().take_while(is_peer).count();
    let behind = (row + 1..rows).take_while(is_peer).count();
    Ok(row - before..row + 1 + behind)
}

/// The values of a part of the rows that a condition is true for.
fn taken(column: &ArrayRef, part: &Range<usize>, mask: Option<&BooleanArray>) -> Result<ArrayRef> {
    let values = column.slice(part.start, part.len());
    Ok(match mask {
        Some(mask) => filter(&values, &mask.slice(part.start, part.len()))?,
        None => values,
    })
}

/// Which row `nth_value` asks for, from 0.
fn nth(values: &[ArrayRef], row: usize) -> Result<Option<usize>> {
    let numbers = values[1].as_primitive::<Int64Type>();
    if numbers.is_null(row) {
        return Ok(None);
    }
    super::nth::counted(numbers.value(row)).map(|number| Some(number - 1))
}
