//! `flatten_lists(list, levels)`: the elements of lists within lists, so many levels down, or all of them. It is what `unnest(list,
//! recursive := true)` makes rows of.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, ListArray, UInt64Array},
    buffer::OffsetBuffer,
    compute::{cast, take},
    datatypes::{DataType, Field, FieldRef},
};
use datafusion::{
    common::{Result, ScalarValue, exec_datafusion_err, plan_err},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
    },
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct FlattenLists(Signature);

impl FlattenLists {
    pub(super) fn new() -> Self {
        Self(Signature::any(2, Volatility::Immutable))
    }
}

fn item(ty: &DataType) -> Option<&FieldRef> {
    match ty {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// How many levels go.
fn levels(ty: &DataType, wanted: Option<&ScalarValue>) -> Result<usize> {
    let there = std::iter::successors(item(ty), |of| item(of.data_type())).count();
    if there == 0 && !ty.is_null() {
        return plan_err!("unnest(…, recursive := true) is of a list");
    }
    match wanted.map(|wanted| wanted.cast_to(&DataType::Int64)).transpose()? {
        Some(ScalarValue::Int64(Some(wanted))) => {
            let most = there.saturating_sub(1);
            Ok(usize::try_from(wanted).map_or(most, |wanted| wanted.min(most)))
        }
        _ => plan_err!("unnest: the depth is a constant"),
    }
}

impl ScalarUDFImpl for FlattenLists {
    fn name(&self) -> &str {
        "flatten_lists"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("the type of flatten_lists depends on its arguments")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let ty = args.arg_fields[0].data_type();
        let levels = levels(ty, args.scalar_arguments[1])?;
        let inner = std::iter::successors(item(ty), |of| item(of.data_type())).nth(levels);
        let ty = match inner {
            Some(of) => DataType::new_list(of.data_type().clone(), true),
            None => DataType::new_list(DataType::Null, true),
        };
        Ok(Arc::new(Field::new(self.name(), ty, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lists = args.args[0].to_array(args.number_rows)?;
        let wanted = match &args.args[1] {
            ColumnarValue::Scalar(wanted) => Some(wanted),
            ColumnarValue::Array(_) => None,
        };
        let mut flat = lists.clone();
        for _ in 0..levels(lists.data_type(), wanted)? {
            flat = flattened(&flat)?;
        }
        Ok(ColumnarValue::Array(cast(&flat, args.return_type())?))
    }
}

/// Lists of lists as lists of the elements of these. NULL within is without elements.
fn flattened(lists: &ArrayRef) -> Result<ArrayRef> {
    let outer = as_list(lists)?;
    let inner = as_list(outer.as_list::<i32>().values())?;
    let (outer, inner) = (outer.as_list::<i32>(), inner.as_list::<i32>());
    let mut places: Vec<u64> = Vec::new();
    let mut lengths = Vec::with_capacity(outer.len());
    for row in 0..outer.len() {
        let before = places.len();
        if outer.is_valid(row) {
            let [from, to] = [0, 1].map(|end| outer.value_offsets()[row + end] as usize);
            for of in (from..to).filter(|of| inner.is_valid(*of)) {
                let [from, to] = [0, 1].map(|end| inner.value_offsets()[of + end] as u64);
                places.extend(from..to);
            }
        }
        lengths.push(places.len() - before);
    }
    let values = take(inner.values(), &UInt64Array::from(places), None)?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(field, offsets, values, outer.nulls().cloned())?))
}

fn as_list(lists: &ArrayRef) -> Result<ArrayRef> {
    match item(lists.data_type()) {
        Some(item) => Ok(cast(lists, &DataType::new_list(item.data_type().clone(), true))?),
        None => Err(exec_datafusion_err!("{} is no list", lists.data_type())),
    }
}
