//! What the driver and the database are: `get_info`.

use std::{collections::HashSet, sync::Arc};

use adbc_core::{constants::ADBC_VERSION_1_1_0, options::InfoCode, schemas::GET_INFO_SCHEMA};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UnionArray,
    new_empty_array,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

use crate::{
    error::{Result, state},
    result::{Reader, made},
};

enum Known {
    Text(&'static str),
    Truth(bool),
    Number(i64),
}

fn known(code: InfoCode) -> Option<Known> {
    Some(match code {
        InfoCode::VendorName => Known::Text("Ambo"),
        InfoCode::VendorVersion | InfoCode::DriverVersion => Known::Text(env!("CARGO_PKG_VERSION")),
        InfoCode::VendorSql => Known::Truth(true),
        InfoCode::VendorSubstrait => Known::Truth(false),
        InfoCode::DriverName => Known::Text("ADBC Driver of Ambo"),
        InfoCode::DriverAdbcVersion => Known::Number(ADBC_VERSION_1_1_0.into()),
        _ => return None,
    })
}

const ALL: [InfoCode; 7] = [
    InfoCode::VendorName,
    InfoCode::VendorVersion,
    InfoCode::VendorSql,
    InfoCode::VendorSubstrait,
    InfoCode::DriverName,
    InfoCode::DriverVersion,
    InfoCode::DriverAdbcVersion,
];

/// What is known of what was asked for; what nobody knows is left out.
pub(crate) fn reader(codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
    let wanted: Vec<_> =
        ALL.into_iter().filter(|code| codes.as_ref().is_none_or(|codes| codes.contains(code))).collect();
    let (mut texts, mut truths, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut kinds, mut offsets) = (Vec::<i8>::new(), Vec::<i32>::new());
    for code in &wanted {
        let (kind, offset) = match known(*code).expect("all of them are known") {
            Known::Text(text) => (0, push(&mut texts, text)),
            Known::Truth(truth) => (1, push(&mut truths, truth)),
            Known::Number(number) => (2, push(&mut numbers, number)),
        };
        kinds.push(kind);
        offsets.push(offset);
    }
    let schema = GET_INFO_SCHEMA.clone();
    let DataType::Union(fields, _) = schema.field(1).data_type() else { unreachable!("it is a union") };
    let children = fields.iter().map(|(kind, field)| -> ArrayRef {
        match kind {
            0 => Arc::new(StringArray::from(texts.clone())),
            1 => Arc::new(BooleanArray::from(truths.clone())),
            2 => Arc::new(Int64Array::from(numbers.clone())),
            _ => new_empty_array(field.data_type()),
        }
    });
    let (kinds, offsets) = (ScalarBuffer::from(kinds), ScalarBuffer::from(offsets));
    let wrong = |error: arrow_schema::ArrowError| state(error.to_string());
    let values =
        UnionArray::try_new(fields.clone(), kinds, Some(offsets), children.collect()).map_err(wrong)?;
    let names = UInt32Array::from_iter_values(wanted.iter().map(u32::from));
    debug_assert_eq!(names.len(), values.len());
    let batch =
        RecordBatch::try_new(schema.clone(), vec![Arc::new(names), Arc::new(values)]).map_err(wrong)?;
    Ok(made(schema, vec![batch]))
}

/// Adds a value and says where.
fn push<T>(values: &mut Vec<T>, value: T) -> i32 {
    values.push(value);
    values.len() as i32 - 1
}
