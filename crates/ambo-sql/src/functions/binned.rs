//! `histogram(x, bins)`: how many rows are in each bin, which has what is greater than the bound before and not greater than its own;
//! `histogram_exact(x, values)`: how many rows have each of these values. What is in none is counted under the greatest value of the type,
//! an empty text, an empty list, or a struct of NULLs; `is_histogram_other_bin(x)` knows these.

use std::{cmp::Ordering, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array, make_comparator},
    compute::{SortOptions, cast, concat},
    datatypes::{DataType, Field, FieldRef, UInt64Type},
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{
        Accumulator, AggregateUDFImpl, ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature,
        Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        type_coercion::binary::type_union_coercion,
    },
};

use super::{
    counts::{lists_with_counts, map_of, map_of_counts},
    distinct::{Distinct, state_fields},
    one_zero::with_one_zero,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Binned {
    name: &'static str,
    is_exact: bool,
    signature: Signature,
}

impl Binned {
    pub(super) fn all() -> [Self; 2] {
        [("histogram_of_bins", false), ("histogram_exact", true)].map(|(name, is_exact)| Self {
            name,
            is_exact,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    }

    /// As statements call it.
    fn shown(&self) -> &'static str {
        if self.is_exact { "histogram_exact" } else { "histogram" }
    }
}

impl AggregateUDFImpl for Binned {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [of, DataType::List(bins) | DataType::LargeList(bins) | DataType::FixedSizeList(bins, _)] = types
        else {
            return plan_err!(
                "{0} takes a value and the list of its bins: {0}(x, [10, 20, 50])",
                self.shown()
            );
        };
        let common = match of.is_floating() && bins.data_type().is_numeric() {
            true => Some(of.clone()),
            false => type_union_coercion(of, bins.data_type()),
        };
        let Some(common) = common else {
            return plan_err!("{}: the bins are {}, and the values {of}", self.shown(), bins.data_type());
        };
        Ok(vec![common.clone(), DataType::new_list(common, true)])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(map_of_counts(&types[0]))
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let counts = Counts {
            shown: self.shown(),
            is_exact: self.is_exact,
            data_type: args.expr_fields[0].data_type().clone(),
            bins: None,
            counts: Vec::new(),
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
        Ok(lists_with_counts(&args, "bins"))
    }
}

/// How many rows are in each bin, and behind these in none.
#[derive(Debug)]
struct Counts {
    shown: &'static str,
    is_exact: bool,
    data_type: DataType,
    /// In order, each once.
    bins: Option<ArrayRef>,
    counts: Vec<u64>,
}

/// Values of one type, NULL being the greatest.
fn ordered(left: &ArrayRef, right: &ArrayRef) -> Result<impl Fn(usize, usize) -> Ordering> {
    Ok(make_comparator(left, right, SortOptions { descending: false, nulls_first: false })?)
}

impl Counts {
    /// The bins, which are the same in all rows.
    fn bins(&mut self, given: &ArrayRef) -> Result<ArrayRef> {
        if given.null_count() > 0 {
            return exec_err!("{}: a bin is NULL", self.shown);
        }
        let given = with_one_zero(given)?;
        let order = ordered(&given, &given)?;
        let mut places: Vec<usize> = (0..given.len()).collect();
        places.sort_by(|left, right| order(*left, *right));
        places.dedup_by(|left, right| order(*left, *right).is_eq());
        let places: UInt64Array = places.into_iter().map(|at| at as u64).collect();
        let bins = arrow::compute::take(&given, &places, None)?;
        match &self.bins {
            Some(known) if known.to_data() != bins.to_data() => {
                exec_err!("{}: the bins of a group are the same in all of its rows", self.shown)
            }
            Some(known) => Ok(known.clone()),
            None => {
                self.counts = vec![0; bins.len() + 1];
                self.bins = Some(bins.clone());
                Ok(bins)
            }
        }
    }

    /// Counts values from one row to another.
    fn count(&mut self, values: &ArrayRef, bins: &ArrayRef) -> Result<()> {
        let order = ordered(bins, values)?;
        let nulls = values.logical_nulls();
        for row in (0..values.len()).filter(|row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row))) {
            let (mut from, mut to) = (0, bins.len());
            while from < to {
                let middle = usize::midpoint(from, to);
                match order(middle, row) {
                    Ordering::Less => from = middle + 1,
                    _ => to = middle,
                }
            }
            let is_in = from < bins.len() && (!self.is_exact || order(from, row).is_eq());
            self.counts[if is_in { from } else { bins.len() }] += 1;
        }
        Ok(())
    }
}

impl Accumulator for Counts {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let values = with_one_zero(&columns[0])?;
        let lists = columns[1].as_list::<i32>();
        let mut row = 0;
        while row < values.len() {
            if lists.is_null(row) {
                return exec_err!("{}: the list of bins is NULL", self.shown);
            }
            // Rows with the same list, as those of a constant, are counted at once.
            let list = lists.value(row);
            let bins = self.bins(&list)?;
            let mut end = row + 1;
            while end < values.len() && lists.is_valid(end) && lists.value(end).to_data() == list.to_data() {
                end += 1;
            }
            self.count(&values.slice(row, end - row), &bins)?;
            row = end;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let Some(bins) = self.bins.as_ref().filter(|_| self.counts.iter().any(|count| *count > 0)) else {
            return ScalarValue::try_from(&map_of_counts(&self.data_type));
        };
        let mut counts = self.counts.clone();
        let keys = match counts.last() {
            Some(0) => {
                counts.pop();
                bins.clone()
            }
            _ => {
                let Some(others) = others(&self.data_type)? else {
                    return exec_err!(
                        "{}: a value is in no bin, and {} has no value to count such ones under: add a bin for them",
                        self.shown,
                        self.data_type
                    );
                };
                concat(&[bins, &cast(&others.to_array()?, &self.data_type)?])?
            }
        };
        map_of(&self.data_type, keys, UInt64Array::from(counts))
    }

    fn size(&self) -> usize {
        size_of_val(self)
            + self.bins.as_ref().map_or(0, |bins| bins.get_array_memory_size())
            + self.counts.capacity() * size_of::<u64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = |of: ArrayRef| {
            let field = Arc::new(Field::new_list_field(of.data_type().clone(), true));
            let offsets = arrow::buffer::OffsetBuffer::from_lengths([of.len()]);
            let list = arrow::array::ListArray::try_new(field, offsets, of, None)?;
            Ok::<_, datafusion::error::DataFusionError>(ScalarValue::List(Arc::new(list)))
        };
        match &self.bins {
            Some(bins) => {
                Ok(vec![list(bins.clone())?, list(Arc::new(UInt64Array::from(self.counts.clone())))?])
            }
            None => Ok(vec![
                ScalarValue::try_from(&DataType::new_list(self.data_type.clone(), true))?,
                ScalarValue::try_from(&DataType::new_list(DataType::UInt64, true))?,
            ]),
        }
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (bins, counts) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        for (bins, counts) in bins.iter().zip(counts.iter()) {
            let (Some(bins), Some(counts)) = (bins, counts) else { continue };
            self.bins(&bins)?;
            for (sum, count) in self.counts.iter_mut().zip(counts.as_primitive::<UInt64Type>().values()) {
                *sum += count;
            }
        }
        Ok(())
    }
}

/// What the rows are counted under that are in no bin.
fn others(ty: &DataType) -> Result<Option<ScalarValue>> {
    Ok(Some(match ty {
        DataType::Float32 | DataType::Float64 => ScalarValue::Float64(Some(f64::INFINITY)).cast_to(ty)?,
        ty if ty.is_integer() || matches!(ty, DataType::Decimal128(..) | DataType::Decimal256(..)) => {
            match ScalarValue::max(ty) {
                Some(most) => most,
                None => return Ok(None),
            }
        }
        DataType::Date32 => ScalarValue::Date32(Some(i32::MAX)),
        DataType::Timestamp(..) => ScalarValue::Int64(Some(i64::MAX)).cast_to(ty)?,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary => {
            ScalarValue::from("").cast_to(ty)?
        }
        DataType::List(item) => {
            ScalarValue::List(ScalarValue::new_list_nullable(&[], item.data_type())).cast_to(ty)?
        }
        DataType::Struct(fields) => {
            let nothing = fields.iter().map(|field| ScalarValue::try_from(field.data_type())?.to_array());
            let nothing = nothing.collect::<Result<Vec<_>>>()?;
            let of = arrow::array::StructArray::try_new(fields.clone(), nothing, None)?;
            ScalarValue::Struct(Arc::new(of))
        }
        _ => return Ok(None),
    }))
}

/// `is_histogram_other_bin(x)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct IsOther(Signature);

impl IsOther {
    pub(super) fn new() -> Self {
        Self(Signature::any(1, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for IsOther {
    fn name(&self) -> &str {
        "is_histogram_other_bin"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let nulls = values.logical_nulls();
        let is = match others(values.data_type())? {
            Some(others) => {
                let others = others.to_array()?;
                let order = ordered(&values, &others)?;
                (0..values.len()).map(|row| order(row, 0).is_eq()).collect::<Vec<_>>()
            }
            None => vec![false; values.len()],
        };
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::new(is.into(), nulls))))
    }
}
