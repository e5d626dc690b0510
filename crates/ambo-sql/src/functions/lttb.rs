//! `lttb(x, y, n)`: n points that show the line through all of them, by largest triangles (Steinarsson, "Downsampling Time Series for
//! Visual Representation", 2013): the first and the last, and one of each part between, that which makes the largest triangle with the
//! point before and the middle of the part behind. Points are taken in the order of x; rows where x or y is NULL or NaN do not
//! count.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Float64Array, ListArray, StructArray},
    buffer::OffsetBuffer,
    datatypes::{DataType, Field, FieldRef, Fields, Float64Type},
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::{
        Accumulator, AggregateUDFImpl, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

use super::{
    constants::whole,
    distinct::{Distinct, state_fields},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct LargestTriangles(Signature);

impl LargestTriangles {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

fn point() -> Fields {
    ["x", "y"].map(|name| Field::new(name, DataType::Float64, true)).into_iter().collect()
}

impl AggregateUDFImpl for LargestTriangles {
    fn name(&self) -> &str {
        "lttb"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_number = |ty: &DataType| ty.is_numeric() || ty.is_null();
        match types {
            [x, y, count] if is_number(x) && is_number(y) && count.is_integer() => {
                Ok(vec![DataType::Float64, DataType::Float64, DataType::Int64])
            }
            _ => plan_err!(
                "lttb takes two numbers and how many points there are to be: epoch(t) is a number of a time"
            ),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Struct(point()), true))
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let count = match whole(&args.exprs[2], args.schema)? {
            Some(count) if count >= 2 => usize::try_from(count).unwrap_or(usize::MAX),
            _ => return plan_err!("lttb: there are at least 2 points"),
        };
        let points = Points { count, of: Vec::new() };
        Ok(match args.is_distinct {
            true => Box::new(Distinct::new(Box::new(points), args.expr_fields)),
            false => Box::new(points),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            return Ok(state_fields(&args));
        }
        let list = |name: &str| {
            let item = Field::new_list_field(DataType::Float64, true);
            Arc::new(Field::new_list(format_state_name(args.name, name), item, true)) as FieldRef
        };
        Ok(vec![list("x"), list("y")])
    }
}

#[derive(Debug)]
struct Points {
    count: usize,
    of: Vec<(f64, f64)>,
}

impl Points {
    fn add(&mut self, x: &dyn Array, y: &dyn Array) {
        let pairs = x.as_primitive::<Float64Type>().iter().zip(y.as_primitive::<Float64Type>().iter());
        self.of.extend(pairs.filter_map(|(x, y)| x.zip(y)).filter(|(x, y)| !x.is_nan() && !y.is_nan()));
    }

    /// Those that are shown.
    fn chosen(&mut self) -> Vec<(f64, f64)> {
        self.of.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1)));
        let (all, count) = (&self.of, self.count);
        if all.len() <= count {
            return all.clone();
        }
        let width = (all.len() - 2) as f64 / (count - 2).max(1) as f64;
        let start = |part: usize| (part as f64 * width).floor() as usize + 1;
        let mut chosen = vec![all[0]];
        for part in 0..count - 2 {
            let next = &all[start(part + 1)..start(part + 2).min(all.len())];
            let middle = |of: fn(&(f64, f64)) -> f64| next.iter().map(of).sum::<f64>() / next.len() as f64;
            let (middle_x, middle_y) = (middle(|point| point.0), middle(|point| point.1));
            let before = chosen[chosen.len() - 1];
            let area = |(x, y): &(f64, f64)| {
                ((before.0 - middle_x) * (y - before.1) - (before.0 - x) * (middle_y - before.1)).abs()
            };
            let mut largest = (-1.0, all[start(part)]);
            for point in &all[start(part)..start(part + 1)] {
                if area(point) > largest.0 {
                    largest = (area(point), *point);
                }
            }
            chosen.push(largest.1);
        }
        chosen.push(all[all.len() - 1]);
        chosen
    }
}

fn list(of: &[f64]) -> ScalarValue {
    let of: Vec<_> = of.iter().map(|number| ScalarValue::from(*number)).collect();
    ScalarValue::List(ScalarValue::new_list_nullable(&of, &DataType::Float64))
}

impl Accumulator for Points {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.add(&columns[0], &columns[1]);
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.of.is_empty() {
            return ScalarValue::try_from(&DataType::new_list(DataType::Struct(point()), true));
        }
        let (x, y): (Vec<f64>, Vec<f64>) = self.chosen().into_iter().unzip();
        let columns: Vec<ArrayRef> = vec![Arc::new(Float64Array::from(x)), Arc::new(Float64Array::from(y))];
        let points = StructArray::try_new(point(), columns, None)?;
        let field = Arc::new(Field::new_list_field(points.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([points.len()]);
        Ok(ScalarValue::List(Arc::new(ListArray::try_new(field, offsets, Arc::new(points), None)?)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.of.capacity() * size_of::<(f64, f64)>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (x, y): (Vec<f64>, Vec<f64>) = self.of.iter().copied().unzip();
        Ok(vec![list(&x), list(&y)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for (x, y) in states[0].as_list::<i32>().iter().zip(states[1].as_list::<i32>().iter()) {
            if let (Some(x), Some(y)) = (x, y) {
                self.add(&x, &y);
            }
        }
        Ok(())
    }
}
