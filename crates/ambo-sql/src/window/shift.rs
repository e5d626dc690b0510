//! `lead` and `lag`: the value of a row so many rows away in its partition.
//!
//! The planner's are used where the distance and the default are literals. It has no others, takes NULLs that are to be ignored for rows
//! where it does not see the whole partition (apache/datafusion#25471), and casts the default to the type of the values: `lag(whole, 1,
//! 0.5)` would be 0. Here distance and default are expressions of the row, and the result has the type that values and default have in
//! common.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Int64Array},
    compute::interleave,
    datatypes::{DataType, Field, FieldRef, Int64Type},
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::{
        Documentation, LimitEffect, PartitionEvaluator, ReversedUDWF, Signature, Volatility, WindowUDF,
        WindowUDFImpl,
        function::{PartitionEvaluatorArgs, WindowUDFFieldArgs},
        type_coercion::binary::type_union_coercion,
    },
    physical_expr::{PhysicalExpr, expressions::Literal},
};

/// `lead`, or `lag`, with the planner's beside it.
pub(super) fn shift(planners: Arc<WindowUDF>, is_lead: bool) -> WindowUDF {
    let signature = Signature::user_defined(Volatility::Immutable);
    WindowUDF::new_from_impl(Shift { planners, is_lead, signature })
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shift {
    planners: Arc<WindowUDF>,
    is_lead: bool,
    signature: Signature,
}

impl WindowUDFImpl for Shift {
    fn name(&self) -> &str {
        self.planners.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let name = self.name();
        let value = match given {
            [value] | [value, _] => Some(value.clone()),
            [value, _, default] => type_union_coercion(value, default),
            _ => return plan_err!("{name} takes a value, a number of rows and a default"),
        };
        let Some(value) = value else {
            return plan_err!("the value of {name} and its default have no type in common");
        };
        let mut wanted = vec![value.clone()];
        if let Some(distance) = given.get(1) {
            if !distance.is_integer() && !distance.is_null() {
                return plan_err!("the number of rows of {name} is a whole number");
            }
            wanted.push(DataType::Int64);
        }
        wanted.extend((given.len() == 3).then_some(value));
        Ok(wanted)
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let value = args.get_input_field(0).map_or(DataType::Null, |field| field.data_type().clone());
        Ok(Arc::new(Field::new(args.name(), value, true)))
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        if !args.ignore_nulls() && args.input_exprs().iter().skip(1).all(is_known) {
            return self.planners.inner().partition_evaluator(args);
        }
        // Where rows come from the last to the first, one is as the other.
        let forward = self.is_lead != args.is_reversed();
        Ok(Box::new(Shifting { forward, ignores_nulls: args.ignore_nulls() }))
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        ReversedUDWF::Reversed(Arc::new(WindowUDF::new_from_impl(self.clone())))
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.planners.documentation()
    }

    /// How far `lead` looks depends on what there is, if it ignores NULLs, which is not said here.
    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        let is_before = |distance: &Arc<dyn PhysicalExpr>| {
            let literal = distance.downcast_ref::<Literal>().map(Literal::value);
            matches!(literal, Some(ScalarValue::Int64(Some(rows))) if *rows >= 0)
        };
        let looks_back = !self.is_lead && args.get(1).is_none_or(is_before);
        if looks_back { self.planners.inner().limit_effect(args) } else { LimitEffect::Unknown }
    }
}

/// Whether an argument is a literal that is not NULL.
fn is_known(arg: &Arc<dyn PhysicalExpr>) -> bool {
    arg.downcast_ref::<Literal>().is_some_and(|literal| !literal.value().is_null())
}

#[derive(Debug)]
struct Shifting {
    forward: bool,
    ignores_nulls: bool,
}

impl PartitionEvaluator for Shifting {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let one = Arc::new(Int64Array::from(vec![1; rows])) as ArrayRef;
        let distances = values.get(1).unwrap_or(&one).as_primitive::<Int64Type>();
        let nothing = ScalarValue::try_from(values[0].data_type())?.to_array()?;
        let default = values.get(2);
        let seen = Seen::new(&values[0], self.ignores_nulls);
        let place = |row: usize| {
            if distances.is_null(row) {
                return (0, 0);
            }
            match (seen.from(row, distances.value(row), self.forward), default) {
                (Some(at), _) => (1, at),
                (None, Some(_)) => (2, row),
                (None, None) => (0, 0),
            }
        };
        let places: Vec<(usize, usize)> = (0..rows).map(place).collect();
        let mut sources: Vec<&dyn Array> = vec![nothing.as_ref(), values[0].as_ref()];
        sources.extend(default.map(|default| default.as_ref()));
        Ok(interleave(&sources, &places)?)
    }
}

/// The rows of a partition that are counted.
struct Seen {
    rows: usize,
    /// Those with a value, and how many of them are before each row and before the end; if the others are not counted.
    with_value: Option<(Vec<usize>, Vec<usize>)>,
}

impl Seen {
    fn new(values: &ArrayRef, ignores_nulls: bool) -> Self {
        let rows = values.len();
        let nulls = values.logical_nulls().filter(|nulls| ignores_nulls && nulls.null_count() > 0);
        let with_value = nulls.map(|nulls| {
            let counted: Vec<usize> = nulls.valid_indices().collect();
            let mut before = Vec::with_capacity(rows + 1);
            before.push(0);
            before.extend(nulls.iter().scan(0, |count, is_valid| {
                *count += usize::from(is_valid);
                Some(*count)
            }));
            (counted, before)
        });
        Self { rows, with_value }
    }

    /// The row so many counted rows away.
    fn from(&self, row: usize, distance: i64, forward: bool) -> Option<usize> {
        let steps = usize::try_from(distance.unsigned_abs()).ok()?;
        let forward = forward == (distance >= 0);
        if steps == 0 {
            return Some(row);
        }
        let Some((counted, before)) = &self.with_value else {
            let at = if forward { row.checked_add(steps) } else { row.checked_sub(steps) };
            return at.filter(|at| *at < self.rows);
        };
        let at =
            if forward { before[row + 1].checked_add(steps - 1) } else { before[row].checked_sub(steps) };
        counted.get(at?).copied()
    }
}
