//! `map[key]`: the value of a key in a map; NULL where it is none of its. `map_extract(map, key)`, also called `element_at`: the same in a
//! list, which is empty then.
//!
//! The planner's panics where keys are lists or structs and the first is not the one (apache/datafusion#25082), takes no key that is
//! another in each row, and makes a list of NULL where there is none. A number is looked for among those of another type as it is: 12.34
//! is not 12.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, ListArray, UInt64Array},
    buffer::OffsetBuffer,
    compute::{SortOptions, cast, take},
    datatypes::DataType,
};
use datafusion::{
    common::{Result, arrow::array::make_comparator, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        type_coercion::binary::comparison_coercion,
    },
};

use crate::numbers::with_floats;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct MapElement {
    in_list: bool,
    aliases: Vec<String>,
    signature: Signature,
}

impl MapElement {
    pub(crate) fn new() -> Self {
        Self {
            in_list: false,
            aliases: Vec::new(),
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }

    /// `map_extract`.
    pub(super) fn in_list() -> Self {
        Self { in_list: true, aliases: vec!["element_at".to_owned()], ..Self::new() }
    }
}

/// The type by which keys are compared with one that is looked for.
fn common_type(key: &DataType, wanted: &DataType) -> DataType {
    if !key.is_numeric() || !wanted.is_numeric() {
        return key.clone();
    }
    let float = with_floats(&[key.clone(), wanted.clone()]).and_then(|types| types.into_iter().next());
    float.or_else(|| comparison_coercion(key, wanted)).unwrap_or_else(|| key.clone())
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
        if self.in_list { "map_extract" } else { "map_element" }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [map, wanted] if let Some((key, _)) = entries(map) => {
                Ok(vec![map.clone(), common_type(key, wanted)])
            }
            _ => plan_err!("{} has a map and a key", self.name()),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first().and_then(entries) {
            Some((_, value)) if self.in_list => Ok(DataType::new_list(value.clone(), true)),
            Some((_, value)) => Ok(value.clone()),
            None => plan_err!("{} has a map and a key", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (maps, keys) =
            (args.args[0].to_array(args.number_rows)?, args.args[1].to_array(args.number_rows)?);
        let maps = maps.as_map();
        // What has no place in the common type is equal to nothing.
        let own = cast(maps.keys(), keys.data_type())?;
        let order = make_comparator(own.as_ref(), keys.as_ref(), SortOptions::default())?;
        let offsets = maps.value_offsets();
        let place = |row: usize| {
            let (begin, end) = (offsets[row] as usize, offsets[row + 1] as usize);
            let is_there = maps.is_valid(row) && keys.is_valid(row);
            is_there.then(|| (begin..end).find(|at| own.is_valid(*at) && order(*at, row).is_eq())).flatten()
        };
        if self.in_list {
            let found: Vec<_> = (0..args.number_rows).map(place).collect();
            let offsets = OffsetBuffer::from_lengths(found.iter().map(|found| usize::from(found.is_some())));
            let places: UInt64Array = found.into_iter().flatten().map(|at| at as u64).collect();
            let DataType::List(element) = args.return_type().clone() else {
                return exec_err!("map_extract: its result is not a list");
            };
            let values = take(maps.values(), &places, None)?;
            return Ok(ColumnarValue::Array(Arc::new(ListArray::try_new(element, offsets, values, None)?)));
        }
        let places: UInt64Array = (0..args.number_rows).map(|row| place(row).map(|at| at as u64)).collect();
        Ok(ColumnarValue::Array(Arc::new(take(maps.values(), &places, None)?)))
    }
}
