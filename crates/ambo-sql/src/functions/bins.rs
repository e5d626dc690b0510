//! `equi_width_bins(low, high, count, nice)`: the upper bounds of bins of one width, from the least to the greatest; the width of
//! `nice` ones is one, two or five times a power of ten, and there may be twice as many.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Float64Builder, Int64Builder, ListBuilder},
    datatypes::{DataType, Float64Type, Int64Type},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

/// More bins than these are no help to anybody.
const MOST: i64 = 1_000_000;

/// Bounds of whole numbers are computed in thousandths.
const FACTOR: i128 = 1000;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Bins(Signature);

impl Bins {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for Bins {
    fn name(&self) -> &str {
        "equi_width_bins"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_number = |ty: &DataType| ty.is_numeric() || ty.is_null();
        match types {
            [low, high, count, nice]
                if is_number(low)
                    && is_number(high)
                    && (count.is_integer() || count.is_null())
                    && (*nice == DataType::Boolean || nice.is_null()) =>
            {
                let is_whole = [low, high].iter().all(|ty| ty.is_integer() || ty.is_null());
                let bound = if is_whole { DataType::Int64 } else { DataType::Float64 };
                Ok(vec![bound.clone(), bound, DataType::Int64, DataType::Boolean])
            }
            _ => plan_err!(
                "equi_width_bins has two numbers, how many bins there are to be, and whether their bounds are nice: equi_width_bins(0, 10, 5, true)"
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(types[0].clone(), true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns =
            args.args.iter().map(|arg| arg.to_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        let (counts, nice) = (columns[2].as_primitive::<Int64Type>(), columns[3].as_boolean());
        let is_null = |row: usize| columns.iter().any(|column| column.is_null(row));
        let made: ArrayRef = match columns[0].data_type() {
            DataType::Int64 => {
                let [low, high] = [0, 1].map(|at| columns[at].as_primitive::<Int64Type>());
                let mut out = ListBuilder::new(Int64Builder::new());
                for row in 0..args.number_rows {
                    if is_null(row) {
                        out.append_null();
                        continue;
                    }
                    let (low, high) = in_order(low.value(row), high.value(row))?;
                    let bins = of_integers(low, high, counted(counts.value(row))?, nice.value(row));
                    out.append_value(bins.into_iter().map(Some));
                }
                Arc::new(out.finish())
            }
            _ => {
                let [low, high] = [0, 1].map(|at| columns[at].as_primitive::<Float64Type>());
                let mut out = ListBuilder::new(Float64Builder::new());
                for row in 0..args.number_rows {
                    if is_null(row) {
                        out.append_null();
                        continue;
                    }
                    let (low, high) = in_order(low.value(row), high.value(row))?;
                    if !low.is_finite() || !high.is_finite() {
                        return exec_err!("equi_width_bins: {low} and {high} have no bins between them");
                    }
                    let bins = of_doubles(low, high, counted(counts.value(row))?, nice.value(row));
                    out.append_value(bins.into_iter().map(Some));
                }
                Arc::new(out.finish())
            }
        };
        Ok(ColumnarValue::Array(made))
    }
}

fn in_order<T: PartialOrd + std::fmt::Display>(low: T, high: T) -> Result<(T, T)> {
    match low <= high {
        true => Ok((low, high)),
        false => exec_err!("equi_width_bins: {high} is less than {low}"),
    }
}

fn counted(count: i64) -> Result<usize> {
    match count {
        1..=MOST => Ok(count as usize),
        count => exec_err!("equi_width_bins: there are between 1 and {MOST} bins, not {count}"),
    }
}

fn of_integers(low: i64, high: i64, mut count: usize, nice: bool) -> Vec<i64> {
    if low == high {
        return vec![high];
    }
    let (from, mut to) = (i128::from(low) * FACTOR, i128::from(high) * FACTOR);
    let mut step = (to - from) / count as i128;
    if nice {
        let wide = nice_number(step);
        let end = if wide == 0 { to } else { (to + wide - 1) / wide * wide };
        if end != from && wide != 0 {
            (to, step) = (end, wide);
        }
        count *= 2;
    }
    let mut bins: Vec<i64> = Vec::new();
    let mut bound = to;
    while bound > from && step > 0 {
        let whole = (bound / FACTOR).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        bound -= step;
        match bins.last() {
            Some(_) if bins.len() >= count => break,
            Some(last) if *last == whole => {}
            _ => bins.push(whole),
        }
    }
    bins.reverse();
    bins
}

/// The nearest of one, two and five times a power of ten.
fn nice_number(number: i128) -> i128 {
    let mut ten = 1i128;
    while ten * 10 <= number {
        ten *= 10;
    }
    match number {
        number if number <= 0 => number,
        number if number * 2 < ten * 3 => ten,
        number if number < ten * 3 => ten * 2,
        number if number * 2 < ten * 15 => ten * 5,
        _ => ten * 10,
    }
}

fn of_doubles(low: f64, high: f64, mut count: usize, nice: bool) -> Vec<f64> {
    if low == high {
        return vec![high];
    }
    let span = high - low;
    let mut step = match span.is_finite() {
        true => span / count as f64,
        false => high / count as f64 - low / count as f64,
    };
    let ten = 10f64.powi(step.log10().floor() as i32);
    let mut bound = high;
    if nice && step > 0.0 {
        step = match step / ten {
            ratio if ratio < 1.5 => ten,
            ratio if ratio < 3.0 => ten * 2.0,
            ratio if ratio < 7.5 => ten * 5.0,
            _ => ten * 10.0,
        };
        bound = (high / step).ceil() * step;
        count *= 2;
    }
    let places = 10.0 / ten;
    let mut bins: Vec<f64> = Vec::new();
    while bound > low && step > 0.0 {
        let shown = if nice { (bound * places).round() / places } else { bound };
        bound -= step;
        if bins.last() == Some(&shown) {
            continue;
        }
        if shown <= low || bins.len() >= count {
            break;
        }
        bins.push(shown);
    }
    bins.reverse();
    bins
}
