//! `quantile_cont(x, q)` and `quantile_disc(x, q)`: where x stands in its order at the share q of the rows, between two values or the
//! next one; `mad(x)`, the median of how far values are from their median. q may be a list. A negative q counts from the greatest value.
//!
//! The type of what lies between two is a double for whole numbers and decimals, a timestamp for days.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{Array, ArrayRef, AsArray, UInt32Array},
    compute::{SortOptions, cast, concat, sort_to_indices, take},
    datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type, IntervalMonthDayNano, TimeUnit},
};
use datafusion::{
    common::{Result, ScalarValue, exec_datafusion_err, exec_err, plan_err},
    error::DataFusionError,
    logical_expr::{
        Accumulator, AggregateUDFImpl, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

use super::{
    constants::doubles,
    distinct::{Distinct, state_fields},
};
use crate::times::{MOMENT, instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Figure {
    Between,
    Next,
    Deviation,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Quantile {
    name: &'static str,
    aliases: Vec<String>,
    figure: Figure,
    /// Whether shares are counted from the greatest value.
    is_descending: bool,
    signature: Signature,
}

impl Quantile {
    fn of(name: &'static str, aliases: &[&str], figure: Figure, is_descending: bool) -> Self {
        let aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        Self {
            name,
            aliases,
            figure,
            is_descending,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }

    pub(super) fn all() -> [Self; 5] {
        [
            Self::of("quantile_cont", &[], Figure::Between, false),
            Self::of("quantile_cont_desc", &[], Figure::Between, true),
            Self::of("quantile_disc", &["quantile", "reservoir_quantile"], Figure::Next, false),
            Self::of("quantile_disc_desc", &[], Figure::Next, true),
            Self::of("mad", &[], Figure::Deviation, false),
        ]
    }

    /// The median of other values than numbers.
    pub(super) fn median() -> Self {
        Self::of("median", &[], Figure::Between, false)
    }
}

/// The type of what lies between two values, if there is something.
fn between(ty: &DataType) -> Option<DataType> {
    Some(match ty {
        DataType::Float32 => DataType::Float32,
        DataType::Null => DataType::Float64,
        ty if ty.is_numeric() => DataType::Float64,
        DataType::Date32 => MOMENT,
        DataType::Timestamp(_, Some(_)) => instant(),
        DataType::Timestamp(_, None) => MOMENT,
        DataType::Time64(_) | DataType::Time32(_) => DataType::Time64(TimeUnit::Nanosecond),
        _ => return None,
    })
}

fn interval() -> DataType {
    DataType::Interval(arrow::datatypes::IntervalUnit::MonthDayNano)
}

impl AggregateUDFImpl for Quantile {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_of_one = self.figure == Figure::Deviation || self.name == "median";
        if types.len() != if is_of_one { 1 } else { 2 } {
            return match self.figure {
                _ if is_of_one => plan_err!("{} has one argument", self.name),
                _ => plan_err!("{} has a value and a share between 0 and 1, or a list of such", self.name),
            };
        }
        let of = match (self.figure, between(&types[0])) {
            (Figure::Next, _) => types[0].clone(),
            (_, Some(between)) => between,
            // Texts have an order, and nothing between them.
            (Figure::Between, None) if crate::times::is_text(&types[0]) => types[0].clone(),
            _ => return plan_err!("{} is of numbers or times, not of {}", self.name, types[0]),
        };
        let mut coerced = vec![of];
        coerced.extend(types.get(1).map(|share| match share.is_list() {
            true => DataType::new_list(DataType::Float64, true),
            false => DataType::Float64,
        }));
        Ok(coerced)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let of = match self.figure {
            Figure::Deviation if !types[0].is_numeric() => interval(),
            _ => types[0].clone(),
        };
        Ok(match types.get(1) {
            Some(shares) if shares.is_list() => DataType::new_list(of, true),
            _ => of,
        })
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let (shares, is_list) = match args.exprs.get(1) {
            Some(shares) => doubles(shares, args.schema)?,
            None => (vec![Some(0.5)], false),
        };
        if let Some(other) = shares.iter().flatten().find(|share| !(-1.0..=1.0).contains(*share)) {
            return plan_err!("{}: {other} is no share between 0 and 1", self.name);
        }
        if shares.contains(&None) {
            return plan_err!("{}: the share is NULL", self.name);
        }
        let values = Values {
            figure: self.figure,
            is_descending: self.is_descending,
            shares: shares.into_iter().flatten().collect(),
            is_list,
            of: args.expr_fields[0].data_type().clone(),
            result: args.return_field.data_type().clone(),
            parts: Vec::new(),
        };
        Ok(match args.is_distinct {
            true => Box::new(Distinct::new(Box::new(values), args.expr_fields)),
            false => Box::new(values),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            return Ok(state_fields(&args));
        }
        let item = Field::new_list_field(args.input_fields[0].data_type().clone(), true);
        Ok(vec![Arc::new(Field::new_list(format_state_name(args.name, "values"), item, true))])
    }
}

/// All values that are there.
#[derive(Debug)]
struct Values {
    figure: Figure,
    is_descending: bool,
    shares: Vec<f64>,
    is_list: bool,
    of: DataType,
    result: DataType,
    parts: Vec<ArrayRef>,
}

impl Values {
    fn all(&self) -> Result<Option<ArrayRef>> {
        let parts: Vec<&dyn Array> = self.parts.iter().map(AsRef::as_ref).collect();
        Ok(if parts.is_empty() { None } else { Some(concat(&parts)?) })
    }

    /// The value at a share of sorted values.
    fn at(&self, sorted: &ArrayRef, share: f64) -> Result<ScalarValue> {
        let count = sorted.len();
        // From the other end: negative shares, and what is asked for in descending order.
        let is_descending = self.is_descending != (share < 0.0);
        let place = |at: usize| if is_descending { count - 1 - at } else { at };
        let share = share.abs();
        if self.figure == Figure::Next || crate::times::is_text(&self.of) {
            // The same as share * count, without what it is rounded by.
            let next = (share * count as f64 - 1e-9).ceil().max(1.0) as usize - 1;
            return ScalarValue::try_from_array(sorted, place(next.min(count - 1)));
        }
        let at = share * (count - 1) as f64;
        let (low, high) = (place(at.floor() as usize), place(at.ceil() as usize));
        mean(sorted, low, high, at.fract())
    }

    /// The median of how far values are from their median.
    fn deviation(&self, sorted: &ArrayRef) -> Result<ScalarValue> {
        let middle = |sorted: &ArrayRef| {
            let at = 0.5 * (sorted.len() - 1) as f64;
            mean(sorted, at.floor() as usize, at.ceil() as usize, at.fract())
        };
        let is_number = self.of.is_numeric();
        let plain = if is_number { DataType::Float64 } else { DataType::Int64 };
        let sorted = cast(sorted, &plain)?;
        let median = middle(&sorted)?.to_array_of_size(1)?;
        let far: ArrayRef = match is_number {
            true => {
                let median = median.as_primitive::<Float64Type>().value(0);
                Arc::new(
                    sorted.as_primitive::<Float64Type>().unary::<_, Float64Type>(|of| (of - median).abs()),
                )
            }
            false => {
                let median = median.as_primitive::<Int64Type>().value(0);
                let far = |of: i64| match of.is_endless() || median.is_endless() {
                    true => exec_err!("infinity is not so and so far from a median"),
                    false => of.checked_sub(median).and_then(i64::checked_abs).ok_or_else(too_far),
                };
                Arc::new(sorted.as_primitive::<Int64Type>().try_unary::<_, Int64Type, _>(far)?)
            }
        };
        let far = ordered(&far)?;
        match (middle(&far)?, &self.of) {
            (ScalarValue::Int64(Some(far)), of) => {
                Ok(ScalarValue::IntervalMonthDayNano(Some(length(far, of))))
            }
            (far, of) => far.cast_to(of),
        }
    }
}

fn too_far() -> DataFusionError {
    exec_datafusion_err!("mad: the values are too far apart for an interval")
}

/// So many units of a type as an interval, in whole microseconds.
fn length(units: i64, of: &DataType) -> IntervalMonthDayNano {
    let micros = match of {
        DataType::Time64(TimeUnit::Nanosecond) => (units + 500).div_euclid(1000),
        _ => units,
    };
    let day = 86_400_000_000;
    IntervalMonthDayNano::new(0, (micros / day) as i32, micros % day * 1000)
}

/// What lies between two places, nearer to the second the greater the share.
fn mean(sorted: &ArrayRef, low: usize, high: usize, share: f64) -> Result<ScalarValue> {
    if low == high {
        return ScalarValue::try_from_array(sorted, low);
    }
    let ty = sorted.data_type();
    let pair = take(sorted, &UInt32Array::from(vec![low as u32, high as u32]), None)?;
    let between = match ty.is_floating() {
        true => {
            let pair = cast(&pair, &DataType::Float64)?;
            let pair = pair.as_primitive::<Float64Type>();
            let (low, high) = (pair.value(0), pair.value(1));
            // Of two that are one, infinity among them, it is that.
            let between = if low == high { low } else { low + (high - low) * share };
            ScalarValue::Float64(Some(between))
        }
        false => {
            let pair = cast(&pair, &DataType::Int64)?;
            let pair = pair.as_primitive::<Int64Type>();
            ScalarValue::Int64(Some(between_moments(pair.value(0), pair.value(1), share)?))
        }
    };
    ScalarValue::try_from_array(&cast(&between.to_array()?, ty)?, 0)
}

/// What lies between two moments; between one and infinity lies infinity.
fn between_moments(low: i64, high: i64, share: f64) -> Result<i64> {
    match (low.is_endless(), high.is_endless()) {
        _ if low == high => Ok(low),
        (true, true) => exec_err!("nothing lies between -infinity and infinity"),
        (true, false) => Ok(low),
        (false, true) => Ok(if share == 0.0 { low } else { high }),
        (false, false) => {
            let (low, high) = (i128::from(low), i128::from(high));
            Ok((low + ((high - low) as f64 * share).round() as i128) as i64)
        }
    }
}

fn ordered(values: &ArrayRef) -> Result<ArrayRef> {
    let order = sort_to_indices(values, Some(SortOptions { descending: false, nulls_first: false }), None)?;
    Ok(take(values, &order, None)?)
}

impl Accumulator for Values {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let values = &columns[0];
        let values = match values.logical_null_count() {
            0 => values.clone(),
            _ => arrow::compute::filter(values, &arrow::compute::is_not_null(values)?)?,
        };
        if !values.is_empty() {
            self.parts.push(values);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let Some(all) = self.all()? else { return ScalarValue::try_from(&self.result) };
        let sorted = ordered(&all)?;
        if self.figure == Figure::Deviation {
            return self.deviation(&sorted);
        }
        let found = self.shares.iter().map(|share| self.at(&sorted, *share)).collect::<Result<Vec<_>>>()?;
        match &self.result {
            DataType::List(field) if self.is_list => {
                Ok(ScalarValue::List(ScalarValue::new_list_nullable(&found, field.data_type())))
            }
            result => found.into_iter().next().map_or_else(|| ScalarValue::try_from(result), Ok),
        }
    }

    fn retract_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        // The rows that came first leave first.
        let mut leaving = columns[0].len() - columns[0].logical_null_count();
        while leaving > 0 && !self.parts.is_empty() {
            let count = leaving.min(self.parts[0].len());
            match count == self.parts[0].len() {
                true => drop(self.parts.remove(0)),
                false => self.parts[0] = self.parts[0].slice(count, self.parts[0].len() - count),
            }
            leaving -= count;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.parts.iter().map(|part| part.get_array_memory_size()).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let item = Arc::new(Field::new_list_field(self.of.clone(), true));
        let Some(all) = self.all()? else { return Ok(vec![ScalarValue::try_from(&DataType::List(item))?]) };
        let offsets = arrow::buffer::OffsetBuffer::from_lengths([all.len()]);
        let list = arrow::array::ListArray::try_new(item, offsets, all, None)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        states[0].as_list::<i32>().iter().flatten().try_for_each(|values| self.update_batch(&[values]))
    }
}
