//! Types of values that stand beside each other: decimals among floats become floats, also within lists, structs and maps.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};

/// The types that values of these types are to have; `None` if no decimal is beside a float.
pub(crate) fn with_floats(types: &[DataType]) -> Option<Vec<DataType>> {
    let all: Vec<&DataType> = types.iter().collect();
    let wanted: Vec<DataType> = types.iter().map(|ty| beside(ty, &all)).collect();
    (wanted != types).then_some(wanted)
}

/// The longest float, if there is one beside a decimal.
pub(super) fn float_among<'t>(types: impl IntoIterator<Item = &'t DataType> + Clone) -> Option<DataType> {
    let has = |wanted: DataType| types.clone().into_iter().any(|ty| *ty == wanted).then_some(wanted);
    let is_beside = types.clone().into_iter().any(DataType::is_decimal);
    has(DataType::Float64).or_else(|| has(DataType::Float32)).filter(|_| is_beside)
}

/// Whether values of a type are decimals, or have some within.
pub(super) fn has_decimals(ty: &DataType) -> bool {
    match ty {
        DataType::List(part)
        | DataType::LargeList(part)
        | DataType::FixedSizeList(part, _)
        | DataType::Map(part, _) => has_decimals(part.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_decimals(field.data_type())),
        ty => ty.is_decimal(),
    }
}

fn beside(ty: &DataType, others: &[&DataType]) -> DataType {
    let of = |part: &FieldRef, others: Vec<&DataType>| -> FieldRef {
        let wanted = beside(part.data_type(), &others);
        match wanted == *part.data_type() {
            true => part.clone(),
            false => Arc::new(part.as_ref().clone().with_data_type(wanted)),
        }
    };
    match ty {
        ty if ty.is_numeric() => float_among(others.iter().copied()).unwrap_or_else(|| ty.clone()),
        DataType::List(part) => DataType::List(of(part, elements(others))),
        DataType::LargeList(part) => DataType::LargeList(of(part, elements(others))),
        DataType::FixedSizeList(part, len) => DataType::FixedSizeList(of(part, elements(others)), *len),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| of(field, named(others, field.name()))).collect())
        }
        DataType::Map(entries, is_sorted) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                let others: Vec<&Fields> = others.iter().filter_map(|other| pair_of(other)).collect();
                let part =
                    |nth: usize| of(&pair[nth], others.iter().map(|pair| pair[nth].data_type()).collect());
                let pair = DataType::Struct(Fields::from(vec![part(0), part(1)]));
                let entries = Field::new(entries.name(), pair, entries.is_nullable());
                DataType::Map(Arc::new(entries), *is_sorted)
            }
            _ => ty.clone(),
        },
        ty => ty.clone(),
    }
}

fn elements<'t>(types: &[&'t DataType]) -> Vec<&'t DataType> {
    let element = |ty: &&'t DataType| match ty {
        DataType::List(part) | DataType::LargeList(part) | DataType::FixedSizeList(part, _) => {
            Some(part.data_type())
        }
        _ => None,
    };
    types.iter().filter_map(element).collect()
}

fn named<'t>(types: &[&'t DataType], name: &str) -> Vec<&'t DataType> {
    let field = |ty: &&'t DataType| match ty {
        DataType::Struct(fields) => fields.find(name).map(|(_, field)| field.data_type()),
        _ => None,
    };
    types.iter().filter_map(field).collect()
}

fn pair_of<'t>(ty: &&'t DataType) -> Option<&'t Fields> {
    match ty {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => Some(pair),
            _ => None,
        },
        _ => None,
    }
}
