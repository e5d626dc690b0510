//! `map_from_entries(list)`: a map of structs of two fields; `map_concat(m, n)`: the entries of all, those of the last where several have a
//! key; `map_contains_entry(m, key, value)`.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, MapArray, StructArray, UInt32Array, make_comparator},
    buffer::OffsetBuffer,
    compute::{SortOptions, cast, concat, take},
    datatypes::{DataType, Field, Fields},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        type_coercion::binary::comparison_coercion,
    },
};

use super::lambdas::list_type;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    FromEntries,
    Concat,
    HasEntry,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MapParts {
    name: &'static str,
    what: What,
    signature: Signature,
}

impl MapParts {
    pub(super) fn all() -> [Self; 3] {
        let of = |name, what| Self { name, what, signature: Signature::user_defined(Volatility::Immutable) };
        [
            of("map_from_entries", What::FromEntries),
            of("map_concat", What::Concat),
            of("map_contains_entry", What::HasEntry),
        ]
    }
}

/// The types of the keys and values of a map.
fn parts(ty: &DataType) -> Option<(&DataType, &DataType)> {
    match ty {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                Some((fields[0].data_type(), fields[1].data_type()))
            }
            _ => None,
        },
        _ => None,
    }
}

fn entries(key: &DataType, value: &DataType) -> Fields {
    vec![Field::new("key", key.clone(), false), Field::new("value", value.clone(), true)].into()
}

fn map_type(key: &DataType, value: &DataType) -> DataType {
    DataType::Map(Arc::new(Field::new_struct("entries", entries(key, value), false)), false)
}

impl ScalarUDFImpl for MapParts {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match (self.what, types) {
            (What::FromEntries, [list]) => Ok(vec![list_type(self.name, list)?]),
            (What::Concat, maps) if maps.len() > 1 => {
                let mut of: Option<(DataType, DataType)> = None;
                for map in maps {
                    let Some((key, value)) = parts(map) else { return plan_err!("map_concat takes maps") };
                    let common = |one: &DataType, other: &DataType| comparison_coercion(one, other);
                    of = match &of {
                        None => Some((key.clone(), value.clone())),
                        Some((keys, values)) => common(keys, key).zip(common(values, value)),
                    };
                    if of.is_none() {
                        return plan_err!("map_concat: the maps are not of one kind");
                    }
                }
                let (key, value) = of.unwrap_or((DataType::Null, DataType::Null));
                Ok(vec![map_type(&key, &value); maps.len()])
            }
            (What::HasEntry, [map, _, _]) => match parts(map) {
                Some((key, value)) => Ok(vec![map.clone(), key.clone(), value.clone()]),
                None => plan_err!("map_contains_entry takes a map, a key and a value"),
            },
            _ => plan_err!("{} takes other arguments", self.name),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (self.what, &types[0]) {
            (What::HasEntry, _) => Ok(DataType::Boolean),
            (What::Concat, map) => Ok(map.clone()),
            (_, DataType::List(of)) => match of.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => {
                    Ok(map_type(fields[0].data_type(), fields[1].data_type()))
                }
                DataType::Null => Ok(map_type(&DataType::Null, &DataType::Null)),
                _ => plan_err!("map_from_entries takes a list of structs of two fields"),
            },
            _ => plan_err!("map_from_entries takes a list of structs of two fields"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns =
            args.args.iter().map(|arg| arg.to_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        Ok(ColumnarValue::Array(match self.what {
            What::FromEntries => from_entries(&columns[0], args.return_type())?,
            What::Concat => concatenated(&columns, args.return_type())?,
            What::HasEntry => has_entry(&columns)?,
        }))
    }
}

/// Puts entries together: the places of those of each row among all keys and values.
fn built(
    keys: &ArrayRef,
    values: &ArrayRef,
    places: Vec<u32>,
    lengths: Vec<usize>,
    there: Vec<bool>,
    ty: &DataType,
) -> Result<ArrayRef> {
    let (DataType::Map(field, _), Some((key, value))) = (ty, parts(ty)) else {
        return plan_err!("{ty} is no map");
    };
    let places = UInt32Array::from(places);
    let columns = vec![take(&cast(keys, key)?, &places, None)?, take(&cast(values, value)?, &places, None)?];
    let entries = StructArray::try_new(entries(key, value), columns, None)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(MapArray::try_new(field.clone(), offsets, entries, Some(there.into()), false)?))
}

fn from_entries(lists: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    let lists = lists.as_list::<i32>();
    let Some(all) = lists.values().as_struct_opt() else {
        return Ok(arrow::array::new_null_array(ty, lists.len()));
    };
    let (keys, values) = (all.column(0), all.column(1));
    let order = make_comparator(keys, keys, SortOptions::default())?;
    let (mut places, mut lengths, mut there) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..lists.len() {
        let begin = places.len();
        if lists.is_valid(row) {
            for at in lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize {
                if all.is_null(at) || keys.is_null(at) {
                    return exec_err!("map_from_entries: a key is NULL");
                }
                if places[begin..].iter().any(|other: &u32| order(*other as usize, at).is_eq()) {
                    return exec_err!("map_from_entries: a key is there twice");
                }
                places.push(at as u32);
            }
        }
        lengths.push(places.len() - begin);
        there.push(lists.is_valid(row));
    }
    built(keys, values, places, lengths, there, ty)
}

fn concatenated(columns: &[ArrayRef], ty: &DataType) -> Result<ArrayRef> {
    let maps: Vec<_> = columns.iter().map(|column| column.as_map()).collect();
    let all = |part: fn(&MapArray) -> &ArrayRef| -> Result<ArrayRef> {
        Ok(concat(&maps.iter().map(|map| part(map).as_ref()).collect::<Vec<_>>())?)
    };
    let (keys, values) = (all(MapArray::keys)?, all(MapArray::values)?);
    let order = make_comparator(&keys, &keys, SortOptions::default())?;
    let (mut places, mut lengths, mut there) = (Vec::<u32>::new(), Vec::new(), Vec::new());
    for row in 0..maps[0].len() {
        let begin = places.len();
        let mut first = 0;
        for map in &maps {
            if map.is_valid(row) {
                for at in map.value_offsets()[row] as usize..map.value_offsets()[row + 1] as usize {
                    let at = first + at;
                    match places[begin..].iter().position(|other| order(*other as usize, at).is_eq()) {
                        Some(known) => places[begin + known] = at as u32,
                        None => places.push(at as u32),
                    }
                }
            }
            first += map.keys().len();
        }
        lengths.push(places.len() - begin);
        // What is NULL has no entries; if all are, there is no map.
        there.push(maps.iter().any(|map| map.is_valid(row)));
    }
    built(&keys, &values, places, lengths, there, ty)
}

fn has_entry(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let map = columns[0].as_map();
    let keys = make_comparator(map.keys(), &columns[1], SortOptions::default())?;
    let values = make_comparator(map.values(), &columns[2], SortOptions::default())?;
    let has = |row: usize| {
        let mut places = map.value_offsets()[row] as usize..map.value_offsets()[row + 1] as usize;
        map.is_valid(row).then(|| places.any(|at| keys(at, row).is_eq() && values(at, row).is_eq()))
    };
    Ok(Arc::new((0..map.len()).map(has).collect::<BooleanArray>()))
}
