//! Operations on two columns of numbers, with a look at each result.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray},
    buffer::NullBuffer,
    datatypes::ArrowNativeType,
};
use datafusion::common::Result;

/// One side: a value for each row, or one for all.
pub(super) struct Side<'a, N> {
    values: &'a [N],
    nulls: Option<&'a NullBuffer>,
    is_one: bool,
}

impl<'a, N: ArrowNativeType> Side<'a, N> {
    pub(super) fn new<T: ArrowPrimitiveType<Native = N>>(array: &'a ArrayRef, is_one: bool) -> Self {
        let array = array.as_primitive::<T>();
        Self { values: array.values(), nulls: array.nulls(), is_one }
    }

    fn value(&self, row: usize) -> N {
        self.values[if self.is_one { 0 } else { row }]
    }
}

/// The results for so many rows. `act` says of each whether it does not fit, which counts only where both sides have a value; `wrong` makes
/// the error of it.
pub(super) fn combine<T, O, F, E>(
    (left, right): (&Side<'_, T::Native>, &Side<'_, T::Native>),
    rows: usize,
    act: F,
    wrong: E,
) -> Result<PrimitiveArray<O>>
where
    T: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
    F: Fn(T::Native, T::Native) -> (O::Native, bool),
    E: Fn(T::Native, T::Native) -> datafusion::error::DataFusionError,
{
    let is_null =
        |side: &Side<'_, T::Native>| side.is_one && side.nulls.is_some_and(|nulls| nulls.is_null(0));
    if is_null(left) || is_null(right) {
        return Ok(PrimitiveArray::new_null(rows));
    }
    let of_rows = |side: &Side<'_, T::Native>| side.nulls.filter(|_| !side.is_one).cloned();
    let nulls = NullBuffer::union(of_rows(left).as_ref(), of_rows(right).as_ref());
    let mut fails = false;
    let mut each = |left: T::Native, right: T::Native| {
        let (value, does_not_fit) = act(left, right);
        fails |= does_not_fit;
        value
    };
    let values: Vec<O::Native> = match (left.is_one, right.is_one) {
        (false, false) => {
            left.values.iter().zip(right.values).map(|(left, right)| each(*left, *right)).collect()
        }
        (false, true) => left.values.iter().map(|left| each(*left, right.values[0])).collect(),
        (true, false) => right.values.iter().map(|right| each(left.values[0], *right)).collect(),
        (true, true) => vec![each(left.values[0], right.values[0]); rows],
    };
    if fails {
        let counts = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        let failed = |row: &usize| act(left.value(*row), right.value(*row)).1;
        if let Some(row) = (0..rows).filter(counts).find(failed) {
            return Err(wrong(left.value(row), right.value(row)));
        }
    }
    Ok(PrimitiveArray::new(values.into(), nulls))
}

/// The values of a column as others, where they have one; `None`: NULL.
pub(super) fn map<T, O>(
    array: &ArrayRef,
    act: impl Fn(T::Native) -> Result<Option<O::Native>>,
) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    let values = array.as_primitive::<T>().iter();
    let mapped = values.map(|value| value.map_or(Ok(None), &act)).collect::<Result<PrimitiveArray<O>>>()?;
    Ok(Arc::new(mapped))
}
