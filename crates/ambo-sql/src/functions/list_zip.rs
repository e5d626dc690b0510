//! `list_zip(l, m, …)`: a list of structs with the first elements of all, their second elements and so on, NULL where one has no more;
//! with `true` behind the lists it ends with the shortest. A list that is NULL has no elements.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, ListArray, StructArray, UInt64Array},
    buffer::OffsetBuffer,
    compute::{cast, take},
    datatypes::{DataType, Field, Fields},
};
use datafusion::{
    common::{Result, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ListZip {
    aliases: Vec<String>,
    signature: Signature,
}

impl ListZip {
    pub(super) fn new() -> Self {
        let aliases = ["list_zip", "array_zip"].map(str::to_owned).to_vec();
        Self { aliases, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

/// The types of the lists, without what says whether the shortest counts.
fn lists(types: &[DataType]) -> &[DataType] {
    match types {
        [lists @ .., DataType::Boolean] => lists,
        all => all,
    }
}

fn fields(types: &[DataType]) -> Result<Fields> {
    let field = |(nth, ty): (usize, &DataType)| match ty {
        DataType::List(item) => Ok(Field::new((nth + 1).to_string(), item.data_type().clone(), true)),
        other => plan_err!("list_zip takes lists, and {other} is none"),
    };
    lists(types).iter().enumerate().map(field).collect()
}

impl ScalarUDFImpl for ListZip {
    fn name(&self) -> &str {
        "arrays_zip"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let list = |ty: &DataType| match ty {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                Ok(DataType::new_list(item.data_type().clone(), true))
            }
            DataType::Null => Ok(DataType::new_list(DataType::Null, true)),
            other => plan_err!(
                "list_zip takes lists, and behind them whether it ends with the shortest: {other} is no list"
            ),
        };
        let mut all = lists(types).iter().map(list).collect::<Result<Vec<_>>>()?;
        if all.is_empty() {
            return plan_err!("list_zip takes at least one list");
        }
        all.extend((all.len() < types.len()).then_some(DataType::Boolean));
        Ok(all)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Struct(fields(types)?), true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let types: Vec<_> = arrays.iter().map(|array| array.data_type().clone()).collect();
        let (lists, shortest) = arrays.split_at(lists(&types).len());
        let lists: Vec<_> = lists.iter().map(|list| list.as_list::<i32>()).collect();
        let shortest = shortest.first().map(|shortest| shortest.as_boolean());
        let length =
            |list: &ListArray, row| if list.is_null(row) { 0 } else { list.value_length(row) as usize };
        let lengths = (0..rows).map(|row| {
            let ends_soon = shortest.is_some_and(|shortest| shortest.is_valid(row) && shortest.value(row));
            let all = lists.iter().map(|list| length(list, row));
            (if ends_soon { all.min() } else { all.max() }).unwrap_or(0)
        });
        let lengths: Vec<_> = lengths.collect();
        let column = |list: &&ListArray| {
            let place = |row: usize, nth: usize| {
                (nth < length(list, row)).then(|| list.value_offsets()[row] as u64 + nth as u64)
            };
            let places = lengths.iter().enumerate();
            let places: UInt64Array =
                places.flat_map(|(row, length)| (0..*length).map(move |nth| place(row, nth))).collect();
            Ok(take(list.values(), &places, None)?)
        };
        let columns = lists.iter().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
        let structs = StructArray::try_new(fields(&types)?, columns, None)?;
        let field = Arc::new(Field::new_list_field(structs.data_type().clone(), true));
        let made: ArrayRef = Arc::new(ListArray::try_new(field, offsets, Arc::new(structs), None)?);
        Ok(ColumnarValue::Array(cast(&made, args.return_type())?))
    }
}
