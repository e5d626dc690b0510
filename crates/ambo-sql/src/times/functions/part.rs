//! `date_part(field, moment)`, also `EXTRACT(field FROM moment)`.

use std::sync::Arc;

use ambo::calendar::{Endless, days_of};
use arrow::{
    array::{Array, ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, PrimitiveArray},
    compute::cast,
    datatypes::{
        ArrowPrimitiveType, DataType, Date32Type, Field, FieldRef, Float64Type, Int32Type, Int64Type,
        IntervalMonthDayNano, IntervalUnit, TimeUnit,
    },
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        interval_arithmetic::Interval, preimage::PreimageResult, simplify::SimplifyContext,
    },
};

use super::{super::convert::intervals, as_given, constant, micros, zone_for};
use crate::times::{
    DAY, MOMENT, SECOND, Zone,
    fields::{Part, Unit},
    instant, is_interval,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DatePart {
    signature: Signature,
    aliases: Vec<String>,
}

impl DatePart {
    pub(super) fn new() -> Self {
        let aliases = vec!["datepart".to_owned()];
        Self { signature: Signature::user_defined(Volatility::Immutable), aliases }
    }
}

fn known(name: &str) -> Result<Part> {
    match Part::named(name) {
        Some(part) => Ok(part),
        None => exec_err!("date_part: '{name}' is no field of a moment; there are year, month, day, hour …"),
    }
}

impl ScalarUDFImpl for DatePart {
    fn name(&self) -> &str {
        "date_part"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [_, moment] = types else {
            return plan_err!("date_part has a field and a moment: date_part('year', t)");
        };
        let moment = match moment {
            DataType::Timestamp(_, Some(_)) => instant(),
            DataType::Date32 => DataType::Date32,
            DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
            moment if is_interval(moment) => DataType::Interval(IntervalUnit::MonthDayNano),
            moment if moment.is_numeric() || matches!(moment, DataType::Boolean) => {
                return plan_err!("date_part is of a date, a time, a timestamp or an interval");
            }
            _ => MOMENT,
        };
        Ok(vec![DataType::Utf8, moment])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let part = args.scalar_arguments[0].and_then(|part| part.try_as_str().flatten());
        let ty = match part.map(known).transpose()? {
            Some(part) if part.has_fraction() => DataType::Float64,
            Some(Part::Nanosecond) => DataType::Int64,
            _ => DataType::Int32,
        };
        Ok(Arc::new(Field::new(self.name(), ty, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let value = &args.args[1];
        let array = match value {
            ColumnarValue::Array(array) => array.clone(),
            ColumnarValue::Scalar(scalar) => scalar.to_array()?,
        };
        let Some(name) = constant(&args.args[0]) else {
            return fields_by_row(&args);
        };
        let part = known(name)?;
        let zone = zone_for(array.data_type(), &args);
        as_given(fields(part, &array, zone, args.return_type())?, value)
    }

    /// `date_part('year', c) = 2024` is a range of `c`.
    fn preimage(&self, args: &[Expr], value: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        let [Expr::Literal(part, _), moment] = args else { return Ok(PreimageResult::None) };
        let part = part.try_as_str().flatten().and_then(Part::named);
        let Expr::Literal(ScalarValue::Int32(Some(year)), _) = value else { return Ok(PreimageResult::None) };
        if part != Some(Part::Of(Unit::Year)) || *year < 1 {
            return Ok(PreimageResult::None);
        }
        let ty = info.get_data_type(moment)?;
        let begin = |year: i32| {
            let days = days_of(year.into(), 1, 1)?;
            match ty {
                DataType::Date32 => Some(ScalarValue::Date32(Some(i32::try_from(days).ok()?))),
                MOMENT => Some(ScalarValue::TimestampMicrosecond(Some(days.checked_mul(DAY)?), None)),
                _ => None,
            }
        };
        let (Some(low), Some(high)) = (begin(*year), year.checked_add(1).and_then(begin)) else {
            return Ok(PreimageResult::None);
        };
        let interval = Box::new(Interval::try_new(low, high)?);
        Ok(PreimageResult::Range { expr: moment.clone(), interval })
    }
}

/// The field of another name in each row.
fn fields_by_row(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let names = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Utf8)?;
    let moments = args.args[1].to_array(args.number_rows)?;
    let zone = zone_for(moments.data_type(), args);
    let field = |(row, name): (usize, Option<&str>)| {
        let Some(name) = name else { return Ok(None) };
        let field = fields(known(name)?, &moments.slice(row, 1), zone, &DataType::Int32)?;
        let field = field.as_primitive::<Int32Type>();
        Ok(field.is_valid(0).then(|| field.value(0)))
    };
    let fields = names.as_string::<i32>().iter().enumerate().map(field);
    Ok(ColumnarValue::Array(Arc::new(fields.collect::<Result<Int32Array>>()?)))
}

/// The field of all values.
fn fields(part: Part, array: &ArrayRef, zone: Zone, ty: &DataType) -> Result<ArrayRef> {
    let is_instant = matches!(array.data_type(), DataType::Timestamp(_, Some(_)));
    match array.data_type() {
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>();
            Ok(gather(days, part, ty, |days| {
                (!days.is_endless()).then(|| (i64::from(days).saturating_mul(DAY), 0))
            }))
        }
        DataType::Time64(_) => {
            if !part.is_of_time() {
                return exec_err!("date_part: a time of day has no {part:?}");
            }
            let times = cast(array, &DataType::Int64)?;
            Ok(gather(times.as_primitive::<Int64Type>(), part, ty, |nanos| Some((nanos / 1000, 0))))
        }
        DataType::Interval(_) => of_intervals(part, array, ty),
        _ if is_instant => Ok(gather(micros(array), part, ty, |moment| {
            let offset = zone.offset(moment);
            (!moment.is_endless()).then(|| (moment.saturating_add(i64::from(offset) * SECOND), offset))
        })),
        _ => Ok(gather(micros(array), part, ty, |moment| (!moment.is_endless()).then_some((moment, 0)))),
    }
}

/// `local`: what a clock shows, and how many seconds it is before UTC; `None` for a moment without end, which has no fields.
fn gather<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    part: Part,
    ty: &DataType,
    local: impl Fn(T::Native) -> Option<(i64, i32)>,
) -> ArrayRef {
    match ty {
        DataType::Float64 => Arc::new(values.unary_opt::<_, Float64Type>(|value| {
            local(value).map(|(moment, offset)| part.fraction_of(moment, offset))
        })),
        DataType::Int64 => {
            Arc::new(values.unary_opt::<_, Int64Type>(|value| {
                local(value).map(|(moment, offset)| part.of(moment, offset))
            }))
        }
        _ => Arc::new(values.unary_opt::<_, Int32Type>(|value| {
            local(value).map(|(moment, offset)| part.of(moment, offset) as i32)
        })),
    }
}

/// Of an interval years are twelve of its months, and hours are not more than there are besides its days.
fn of_intervals(part: Part, array: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    let intervals = intervals(array)?;
    let whole = |interval: IntervalMonthDayNano| -> Option<i64> {
        let (months, micros) = (i64::from(interval.months), interval.nanoseconds / 1000);
        Some(match part {
            Part::Of(unit) => match unit {
                Unit::Millennium => months / 12_000,
                Unit::Century => months / 1200,
                Unit::Decade => months / 120,
                Unit::Year | Unit::IsoYear => months / 12,
                Unit::Quarter => months % 12 / 3 + 1,
                Unit::Month => months % 12,
                Unit::Week => i64::from(interval.days) / 7,
                Unit::Day => interval.days.into(),
                Unit::Hour => micros / (3600 * SECOND),
                Unit::Minute => micros / (60 * SECOND) % 60,
                Unit::Second => micros / SECOND % 60,
                Unit::Millisecond => micros % (60 * SECOND) / 1000,
                Unit::Microsecond => micros % (60 * SECOND),
            },
            Part::Nanosecond => interval.nanoseconds % (60 * SECOND * 1000),
            _ => return None,
        })
    };
    // A year has 365.25 days here, and a month that is none of a year thirty.
    let epoch = |interval: IntervalMonthDayNano| {
        let (years, months) = (f64::from(interval.months / 12), f64::from(interval.months % 12));
        let days = years * 365.25 + months * 30.0 + f64::from(interval.days);
        days * 86_400.0 + interval.nanoseconds as f64 / 1e9
    };
    if part == Part::Epoch {
        let seconds: Float64Array = intervals.unary(epoch);
        return Ok(Arc::new(seconds));
    }
    if whole(IntervalMonthDayNano::default()).is_none() {
        return exec_err!("date_part: an interval has no {part:?}");
    }
    let fields: Int64Array = intervals.unary(|interval| whole(interval).unwrap_or(0));
    Ok(cast(&(Arc::new(fields) as ArrayRef), ty)?)
}
