//! `sum(x)` and `avg(x)`, in the place of the planner's.
//!
//! The planner's sums wrap where they leave their type (apache/datafusion#3520), and its means of integers are those of doubles, whose sum
//! depends on the order of rows. Here sums are exact on the way, whatever the order, and an error where the result does not fit.

use std::sync::{Arc, LazyLock};

use arrow::array::ArrayRef;
use arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Float64Type, Int64Type, TimeUnit, UInt64Type,
};
use datafusion::{
    common::{
        Result, ScalarValue,
        types::{
            NativeType, logical_boolean, logical_date, logical_float64, logical_int8, logical_int16,
            logical_int32, logical_int64, logical_uint8, logical_uint16, logical_uint32, logical_uint64,
        },
    },
    functions_aggregate::{average::avg_udaf, sum::sum_udaf},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Coercion, Expr, GroupsAccumulator, ReversedUDAF,
        SetMonotonicity, Signature, TypeSignature, TypeSignatureClass, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::{AggregateOrderSensitivity, format_state_name},
    },
};

use super::{
    groups::Groups,
    mean_times::{self, MeanTime, is_time, mean_type},
    running::{MeansSoFar, SumsSoFar},
    sliding::{Different, Running},
    total::Whole,
};
use crate::{
    functions::{Distinct, distinct_fields},
    optimizer::over_frames,
    window::RunningValues,
};

/// The sum of an expression.
pub(crate) fn sum(of: Expr) -> Expr {
    static SUM: LazyLock<AggregateUDF> = LazyLock::new(|| AggregateUDF::new_from_impl(Sum::new()));
    SUM.call(vec![of])
}

/// `sum`; intervals are summed by the planner's. Of booleans it is how many are true.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sum {
    planners: Arc<AggregateUDF>,
    signature: Signature,
}

impl Sum {
    pub(crate) fn new() -> Self {
        let planners = sum_udaf();
        let class = TypeSignatureClass::Native;
        let booleans = vec![class(logical_boolean())];
        let booleans = Coercion::new_implicit(class(logical_int64()), booleans, NativeType::Int64);
        let of_planner = planners.signature().type_signature.clone();
        let kinds = vec![of_planner, TypeSignature::Coercible(vec![booleans])];
        Self { planners, signature: Signature::one_of(kinds, Volatility::Immutable) }
    }
}

/// `avg`; durations are the planner's.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Average {
    planners: Arc<AggregateUDF>,
    signature: Signature,
}

impl Average {
    pub(crate) fn new() -> Self {
        let exact = |class| TypeSignature::Coercible(vec![Coercion::new_exact(class)]);
        let native = |ty, from: Vec<_>, native| {
            let ty = TypeSignatureClass::Native(ty);
            TypeSignature::Coercible(vec![Coercion::new_implicit(ty, from, native)])
        };
        let class = TypeSignatureClass::Native;
        let unsigned = vec![class(logical_uint8()), class(logical_uint16()), class(logical_uint32())];
        let signed = vec![class(logical_int8()), class(logical_int16()), class(logical_int32())];
        let kinds = vec![
            exact(TypeSignatureClass::Decimal),
            native(logical_uint64(), unsigned, NativeType::UInt64),
            native(logical_int64(), signed, NativeType::Int64),
            native(logical_float64(), vec![TypeSignatureClass::Float], NativeType::Float64),
            exact(TypeSignatureClass::Duration),
            // Days are moments.
            TypeSignature::Coercible(vec![Coercion::new_implicit(
                TypeSignatureClass::Timestamp,
                vec![class(logical_date())],
                NativeType::Timestamp(TimeUnit::Microsecond, None),
            )]),
            exact(TypeSignatureClass::Time),
            exact(TypeSignatureClass::Interval),
        ];
        Self { planners: avg_udaf(), signature: Signature::one_of(kinds, Volatility::Immutable) }
    }
}

/// The sum, or the mean, of a column that is NULL in all rows.
#[derive(Debug)]
struct Nothing(DataType);

impl Accumulator for Nothing {
    fn update_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from(&self.0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::try_from(&self.0)?])
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn retract_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }
}

/// Calls a function with the Arrow type of what is summed.
macro_rules! by_type {
    ($ty:expr, $make:ident::$new:ident $arguments:tt) => {
        match $ty {
            DataType::Int64 => Box::new($make::<Int64Type>::$new $arguments),
            DataType::UInt64 => Box::new($make::<UInt64Type>::$new $arguments),
            DataType::Float64 => Box::new($make::<Float64Type>::$new $arguments),
            _ => Box::new($make::<Decimal128Type>::$new $arguments),
        }
    };
}

/// The sums or means of all rows so far, of a function of ours over values of a type; `None`: of another function, or by the planner's.
pub(crate) fn running_totals(
    function: &AggregateUDF,
    of: &DataType,
    result: &DataType,
) -> Option<Box<dyn RunningValues>> {
    let is_mean = function.inner().is::<Average>();
    if !is_mean && !function.inner().is::<Sum>() {
        return None;
    }
    let whole = whole(of, result, is_mean)?;
    Some(match is_mean {
        true => by_type!(of, MeansSoFar::means(whole)),
        false => by_type!(of, SumsSoFar::sums(whole)),
    })
}

/// How values of a type are summed; `None`: by the planner's function.
fn whole(of: &DataType, result: &DataType, is_mean: bool) -> Option<Whole> {
    let scale = match of {
        DataType::Decimal128(_, scale) => *scale,
        DataType::Int64 | DataType::UInt64 | DataType::Float64 => 0,
        _ => return None,
    };
    Some(if is_mean { Whole::Mean(result.clone(), scale) } else { Whole::Sum(result.clone()) })
}

/// The type of sums on their way to another thread.
fn state_type(of: &DataType) -> DataType {
    match of {
        DataType::Decimal128(_, scale) => DataType::Decimal256(76, *scale),
        DataType::Int64 | DataType::UInt64 => DataType::Decimal128(38, 0),
        of => of.clone(),
    }
}

fn accumulator(
    planners: &AggregateUDF,
    is_mean: bool,
    is_sliding: bool,
    args: AccumulatorArgs<'_>,
) -> Result<Box<dyn Accumulator>> {
    let of = args.expr_fields[0].data_type();
    if of.is_null() {
        return Ok(Box::new(Nothing(args.return_field.data_type().clone())));
    }
    if is_mean && is_time(of) {
        let mean = Box::new(MeanTime::new(mean_type(of)));
        return Ok(if args.is_distinct { Box::new(Distinct::new(mean, args.expr_fields)) } else { mean });
    }
    let name = if is_mean { "avg" } else { "sum" };
    if let Some(frames) = over_frames(name, 1)
        && is_sliding
        && !args.is_distinct
        && *of == DataType::Float64
    {
        return frames.create_sliding_accumulator(args);
    }
    let Some(whole) = whole(of, args.return_field.data_type(), is_mean) else {
        return match is_sliding {
            true => planners.create_sliding_accumulator(args),
            false => planners.accumulator(args),
        };
    };
    Ok(match args.is_distinct {
        true => by_type!(of, Different::new(whole, of.clone())),
        false => by_type!(of, Running::new(whole, state_type(of))),
    })
}

fn state_fields(planners: &AggregateUDF, is_mean: bool, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
    let of = args.input_fields[0].data_type();
    if of.is_null() {
        let field = Field::new(format_state_name(args.name, "nothing"), args.return_type().clone(), true);
        return Ok(vec![Arc::new(field)]);
    }
    if is_mean && is_time(of) {
        return Ok(if args.is_distinct { distinct_fields(&args) } else { mean_times::state_fields(&args) });
    }
    if whole(of, args.return_type(), is_mean).is_none() {
        return planners.state_fields(args);
    }
    let name = |part: &str| format_state_name(args.name, part);
    if args.is_distinct {
        let item = Field::new_list_field(of.clone(), true);
        return Ok(vec![Arc::new(Field::new_list(name("different"), item, false))]);
    }
    let sum = Arc::new(Field::new(name("sum"), state_type(of), true));
    Ok(match is_mean {
        true => vec![Arc::new(Field::new(name("count"), DataType::UInt64, true)), sum],
        false => vec![sum],
    })
}

fn groups(
    planners: &AggregateUDF,
    is_mean: bool,
    args: AccumulatorArgs<'_>,
) -> Result<Box<dyn GroupsAccumulator>> {
    let of = args.expr_fields[0].data_type();
    match whole(of, args.return_field.data_type(), is_mean) {
        Some(whole) => Ok(by_type!(of, Groups::new(whole, state_type(of)))),
        None => planners.create_groups_accumulator(args),
    }
}

/// What both have in common.
macro_rules! common {
    ($is_mean:expr, $self:ident, $planners:expr) => {
        fn accumulator(&$self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
            accumulator($planners, $is_mean, false, args)
        }

        fn create_sliding_accumulator(&$self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
            accumulator($planners, $is_mean, true, args)
        }

        fn state_fields(&$self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
            state_fields($planners, $is_mean, args)
        }

        fn groups_accumulator_supported(&$self, args: AccumulatorArgs<'_>) -> bool {
            let of = args.expr_fields[0].data_type();
            !of.is_null() && !is_time(of) && $planners.groups_accumulator_supported(args)
        }

        fn create_groups_accumulator(
            &$self,
            args: AccumulatorArgs<'_>,
        ) -> Result<Box<dyn GroupsAccumulator>> {
            groups($planners, $is_mean, args)
        }

        fn reverse_expr(&$self) -> ReversedUDAF {
            ReversedUDAF::Identical
        }

        fn order_sensitivity(&$self) -> AggregateOrderSensitivity {
            AggregateOrderSensitivity::Insensitive
        }
    };
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Null] => Ok(DataType::Int64),
            types => self.planners.return_type(types),
        }
    }

    fn set_monotonicity(&self, ty: &DataType) -> SetMonotonicity {
        self.planners.inner().set_monotonicity(ty)
    }

    common!(false, self, &self.planners);
}

impl AggregateUDFImpl for Average {
    fn name(&self) -> &str {
        "avg"
    }

    fn aliases(&self) -> &[String] {
        self.planners.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Null] => Ok(DataType::Float64),
            [of] if is_time(of) => Ok(mean_type(of)),
            types => self.planners.return_type(types),
        }
    }

    common!(true, self, &self.planners);
}
