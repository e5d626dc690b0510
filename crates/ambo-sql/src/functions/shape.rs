//! `skewness(x)`, `kurtosis(x)`, `kurtosis_pop(x)`: how the values lie around their mean; `sem(x)`, the standard error of the mean;
//! `product(x)`; `fsum(x)` and `favg(x)`, which lose nothing to what sums of doubles are rounded by. Of doubles, NULL of nothing, and of
//! the first three also where all values are one.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray},
    datatypes::{DataType, Field, FieldRef, Float64Type},
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::{
        Accumulator, AggregateUDFImpl, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

use super::distinct::{Distinct, state_fields};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Figure {
    Skewness,
    Kurtosis,
    KurtosisOfAll,
    Error,
    Product,
    Sum,
    Mean,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    name: &'static str,
    aliases: Vec<String>,
    figure: Figure,
    signature: Signature,
}

impl Shape {
    pub(super) fn all() -> [Self; 7] {
        let signature = Signature::user_defined(Volatility::Immutable);
        let of = |name, aliases: &[&str], figure| Self {
            name,
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            figure,
            signature: signature.clone(),
        };
        [
            of("skewness", &[], Figure::Skewness),
            of("kurtosis", &[], Figure::Kurtosis),
            of("kurtosis_pop", &[], Figure::KurtosisOfAll),
            of("sem", &[], Figure::Error),
            of("product", &[], Figure::Product),
            of("fsum", &["kahan_sum", "sumkahan"], Figure::Sum),
            of("favg", &[], Figure::Mean),
        ]
    }
}

impl AggregateUDFImpl for Shape {
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
        match types {
            [ty] if ty.is_numeric() || ty.is_null() => Ok(vec![DataType::Float64]),
            _ => plan_err!("{} is of one number", self.name),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let sums = Sums { figure: self.figure, of: Powers { product: 1.0, ..Powers::default() } };
        Ok(match args.is_distinct {
            true => Box::new(Distinct::new(Box::new(sums), args.expr_fields)),
            false => Box::new(sums),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            return Ok(state_fields(&args));
        }
        let part = |nth: usize| {
            let name = format_state_name(args.name, &nth.to_string());
            Arc::new(Field::new(name, DataType::Float64, true)) as FieldRef
        };
        Ok((0..PARTS).map(part).collect())
    }
}

const PARTS: usize = 8;

/// How many values there are, their mean, the sums of powers of how far they are from it, and their product.
#[derive(Clone, Copy, Debug, Default)]
struct Powers {
    count: f64,
    mean: f64,
    second: f64,
    third: f64,
    fourth: f64,
    product: f64,
    sum: f64,
    /// What the sum has lost.
    lost: f64,
}

impl Powers {
    fn of(value: f64) -> Self {
        Self { count: 1.0, mean: value, product: value, sum: value, ..Self::default() }
    }

    /// Of the values of both (Pébay, 2008).
    fn and(&self, other: &Self) -> Self {
        if self.count == 0.0 || other.count == 0.0 {
            return if self.count == 0.0 { *other } else { *self };
        }
        let (a, b) = (self.count, other.count);
        let (count, by) = (a + b, other.mean - self.mean);
        let of = by / count;
        let sum = self.sum + other.sum;
        let lost = match self.sum.abs() >= other.sum.abs() {
            true => (self.sum - sum) + other.sum,
            false => (other.sum - sum) + self.sum,
        };
        Self {
            count,
            mean: self.mean + of * b,
            second: self.second + other.second + by * of * a * b,
            third: self.third
                + other.third
                + by * of * of * a * b * (a - b)
                + 3.0 * of * (a * other.second - b * self.second),
            fourth: self.fourth
                + other.fourth
                + by * of * of * of * a * b * (a * a - a * b + b * b)
                + 6.0 * of * of * (a * a * other.second + b * b * self.second)
                + 4.0 * of * (a * other.third - b * self.third),
            product: self.product * other.product,
            sum,
            lost: self.lost + other.lost + lost,
        }
    }

    fn figure(&self, figure: Figure) -> Option<f64> {
        let n = self.count;
        let needed = match figure {
            Figure::Skewness => 3.0,
            Figure::Kurtosis => 4.0,
            Figure::KurtosisOfAll => 2.0,
            Figure::Error | Figure::Product | Figure::Sum | Figure::Mean => 1.0,
        };
        if n < needed {
            return None;
        }
        let variance = self.second / n;
        let is_flat = self.second == 0.0;
        let of_all = || self.fourth / n / (variance * variance) - 3.0;
        match figure {
            Figure::Product => Some(self.product),
            // Of infinity and NaN nothing can be lost.
            Figure::Sum | Figure::Mean => {
                let sum = if self.lost.is_finite() { self.sum + self.lost } else { self.sum };
                Some(if figure == Figure::Mean { sum / n } else { sum })
            }
            Figure::Error => Some((variance / n).sqrt()),
            _ if is_flat => None,
            Figure::Skewness => {
                Some((n * (n - 1.0)).sqrt() / (n - 2.0) * (self.third / n) / variance.powf(1.5))
            }
            Figure::KurtosisOfAll => Some(of_all()),
            Figure::Kurtosis => Some((n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * of_all() + 6.0)),
        }
    }

    fn parts(&self) -> [f64; PARTS] {
        [self.count, self.mean, self.second, self.third, self.fourth, self.product, self.sum, self.lost]
    }

    fn from_parts([count, mean, second, third, fourth, product, sum, lost]: [f64; PARTS]) -> Self {
        Self { count, mean, second, third, fourth, product, sum, lost }
    }
}

#[derive(Debug)]
struct Sums {
    figure: Figure,
    of: Powers,
}

impl Accumulator for Sums {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<Float64Type>().iter().flatten() {
            self.of = self.of.and(&Powers::of(value));
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.of.figure(self.figure)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.of.parts().map(|part| ScalarValue::Float64(Some(part))).to_vec())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let states: Vec<_> = states.iter().map(|part| part.as_primitive::<Float64Type>()).collect();
        for row in 0..states[0].len() {
            let part = std::array::from_fn(|nth| states[nth].value(row));
            self.of = self.of.and(&Powers::from_parts(part));
        }
        Ok(())
    }
}
