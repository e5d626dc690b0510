//! Aggregates that count how often each value is there: `mode(x)`, the value that most rows have, the least of several; `entropy(x)`, in
//! bits; `histogram(x)`, a map from each value to how many there are; `approx_top_k(x, k)`, the k values that most rows have.

use std::{cmp::Ordering, collections::HashMap, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, MapArray, StructArray, UInt64Array},
    buffer::OffsetBuffer,
    datatypes::{DataType, Field, FieldRef, Fields, UInt64Type},
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
    one_zero::with_one_zero,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Figure {
    Mode,
    Entropy,
    Histogram,
    Top,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OfCounts {
    name: &'static str,
    figure: Figure,
    signature: Signature,
}

impl OfCounts {
    pub(super) fn all() -> [Self; 4] {
        let of = |name, figure, arguments| Self {
            name,
            figure,
            signature: Signature::any(arguments, Volatility::Immutable),
        };
        [
            of("mode", Figure::Mode, 1),
            of("entropy", Figure::Entropy, 1),
            of("histogram", Figure::Histogram, 1),
            of("approx_top_k", Figure::Top, 2),
        ]
    }
}

/// What is handed on: a list of what the argument is, called so, and one of how many there are of each.
pub(super) fn lists_with_counts(args: &StateFieldsArgs<'_>, name: &str) -> Vec<FieldRef> {
    let list = |name: &str, of: DataType| {
        let item = Field::new_list_field(of, true);
        Arc::new(Field::new_list(format_state_name(args.name, name), item, true)) as FieldRef
    };
    vec![list(name, args.input_fields[0].data_type().clone()), list("counts", DataType::UInt64)]
}

impl AggregateUDFImpl for OfCounts {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let of = &arguments[0];
        Ok(match self.figure {
            Figure::Mode => of.clone(),
            Figure::Entropy => DataType::Float64,
            Figure::Histogram => map_of_counts(of),
            Figure::Top => DataType::new_list(of.clone(), true),
        })
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let most = match (self.figure, args.exprs.get(1)) {
            (Figure::Top, Some(most)) => match whole(most, args.schema)? {
                Some(most) if (1..1_000_000).contains(&most) => most as usize,
                _ => return plan_err!("approx_top_k(x, k): k is not between 1 and 999999"),
            },
            _ => 0,
        };
        let counts = Counts {
            figure: self.figure,
            most,
            data_type: args.expr_fields[0].data_type().clone(),
            of: HashMap::new(),
            bytes: 0,
        };
        Ok(match args.is_distinct {
            true => Box::new(Distinct::new(Box::new(counts), args.expr_fields)),
            false => Box::new(counts),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            return Ok(state_fields(&args));
        }
        Ok(lists_with_counts(&args, "values"))
    }

    fn default_value(&self, ty: &DataType) -> Result<ScalarValue> {
        match self.figure {
            Figure::Entropy => Ok(ScalarValue::Float64(Some(0.0))),
            _ => ScalarValue::try_from(ty),
        }
    }
}

/// A map from values of a type to how many there are.
pub(super) fn map_of_counts(of: &DataType) -> DataType {
    let entries = Field::new_struct("entries", map_fields(of), false);
    DataType::Map(Arc::new(entries), false)
}

fn map_fields(of: &DataType) -> Fields {
    vec![Field::new("key", of.clone(), false), Field::new("value", DataType::UInt64, true)].into()
}

/// How many rows have each value.
#[derive(Debug)]
struct Counts {
    figure: Figure,
    /// How many values are wanted.
    most: usize,
    data_type: DataType,
    of: HashMap<ScalarValue, u64>,
    bytes: usize,
}

impl Counts {
    fn add(&mut self, value: ScalarValue, count: u64) {
        if value.is_null() {
            return;
        }
        let size = value.size() + size_of::<u64>();
        let counted = self.of.entry(value).or_insert_with(|| {
            self.bytes += size;
            0
        });
        *counted += count;
    }

    /// The values with their counts: those that most rows have first, the least of several.
    fn most_first(&self) -> Vec<(&ScalarValue, u64)> {
        let mut all: Vec<_> = self.of.iter().map(|(value, count)| (value, *count)).collect();
        all.sort_by(|(left, many), (right, more)| more.cmp(many).then_with(|| order(left, right)));
        all
    }

    fn entropy(&self) -> f64 {
        let all: u64 = self.of.values().sum();
        let bits = |count: &u64| {
            let share = *count as f64 / all as f64;
            -share * share.log2()
        };
        // In one order, so that sums are the same each time.
        let mut counts: Vec<_> = self.of.values().copied().collect();
        counts.sort_unstable();
        counts.iter().map(bits).fold(0.0, |sum, bits| sum + bits)
    }

    fn histogram(&self) -> Result<ScalarValue> {
        if self.of.is_empty() {
            return ScalarValue::try_from(&map_of_counts(&self.data_type));
        }
        let mut all: Vec<_> = self.of.iter().collect();
        all.sort_by(|(left, _), (right, _)| order(left, right));
        let keys = ScalarValue::iter_to_array(all.iter().map(|(value, _)| (*value).clone()))?;
        let counts: UInt64Array = all.iter().map(|(_, count)| Some(**count)).collect();
        map_of(&self.data_type, keys, counts)
    }
}

/// One map of this kind.
pub(super) fn map_of(of: &DataType, keys: ArrayRef, counts: UInt64Array) -> Result<ScalarValue> {
    let entries = StructArray::try_new(map_fields(of), vec![keys, Arc::new(counts)], None)?;
    let DataType::Map(field, _) = map_of_counts(of) else { unreachable!("a map") };
    let offsets = OffsetBuffer::from_lengths([entries.len()]);
    Ok(ScalarValue::Map(Arc::new(MapArray::try_new(field, offsets, entries, None, false)?)))
}

fn order(left: &ScalarValue, right: &ScalarValue) -> Ordering {
    left.partial_cmp(right).unwrap_or(Ordering::Equal)
}

impl Accumulator for Counts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = with_one_zero(&values[0])?;
        for row in 0..values.len() {
            self.add(ScalarValue::try_from_array(&values, row)?.compacted(), 1);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match self.figure {
            Figure::Entropy => Ok(ScalarValue::Float64(Some(self.entropy()))),
            Figure::Histogram => self.histogram(),
            Figure::Mode => match self.most_first().first() {
                Some((value, _)) => Ok((*value).clone()),
                None => ScalarValue::try_from(&self.data_type),
            },
            Figure::Top if self.of.is_empty() => {
                ScalarValue::try_from(&DataType::new_list(self.data_type.clone(), true))
            }
            Figure::Top => {
                let values: Vec<_> =
                    self.most_first().into_iter().take(self.most).map(|(value, _)| value.clone()).collect();
                Ok(ScalarValue::List(ScalarValue::new_list_nullable(&values, &self.data_type)))
            }
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (values, counts): (Vec<_>, Vec<_>) =
            self.of.iter().map(|(value, count)| (value.clone(), ScalarValue::UInt64(Some(*count)))).unzip();
        let list = |values: &[ScalarValue], of| ScalarValue::List(ScalarValue::new_list_nullable(values, of));
        Ok(vec![list(&values, &self.data_type), list(&counts, &DataType::UInt64)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (values, counts) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        for (values, counts) in values.iter().zip(counts.iter()) {
            let (Some(values), Some(counts)) = (values, counts) else { continue };
            for (row, count) in counts.as_primitive::<UInt64Type>().values().iter().enumerate() {
                self.add(ScalarValue::try_from_array(&values, row)?.compacted(), *count);
            }
        }
        Ok(())
    }
}
