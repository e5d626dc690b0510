//! `map[key]`: the value of a key in a map; NULL where it is none of its.
//!
//! The planner's panics where keys are lists or structs and the first is not the one (apache/datafusion#25082), and takes no key that is
//! another in each row.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, UInt64Array},
    compute::{SortOptions, take},
    datatypes::DataType,
};
use datafusion::{
    common::{Result, arrow::array::make_comparator, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct MapElement(Signature);

impl MapElement {
    pub(crate) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

/// The types of a map's keys and values.
fn entries(map: &DataType) -> Option<(&DataType, &DataType)> {
    let DataType::Map(entries, _) = map else { return None };
    let DataType::Struct(fields) = entries.data_type() else { return None };
    match &fields[..] {
        [key, value] => Some((key.data_type(), value.data_type())),
        _ => None,
    }
}

impl ScalarUDFImpl for MapElement {
    fn name(&self) -> &str {
        "map_element"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [map, _] if let Some((key, _)) = entries(map) => Ok(vec![map.clone(), key.clone()]),
            _ => plan_err!("map_element has a map and a key"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first().and_then(entries) {
            Some((_, value)) => Ok(value.clone()),
            None => plan_err!("map_element has a map and a key"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (maps, keys) =
            (args.args[0].to_array(args.number_rows)?, args.args[1].to_array(args.number_rows)?);
        let maps = maps.as_map();
        let order = make_comparator(maps.keys().as_ref(), keys.as_ref(), SortOptions::default())?;
        let offsets = maps.value_offsets();
        let place = |row: usize| {
            let (begin, end) = (offsets[row] as usize, offsets[row + 1] as usize);
            let is_there = maps.is_valid(row) && keys.is_valid(row);
            is_there.then(|| (begin..end).find(|at| order(*at, row).is_eq())).flatten()
        };
        let places: UInt64Array = (0..args.number_rows).map(|row| place(row).map(|at| at as u64)).collect();
        Ok(ColumnarValue::Array(Arc::new(take(maps.values(), &places, None)?)))
    }
}
