//! Values of logical types as Arrow has them, and as they are stored.
//!
//! | logical type | Arrow |
//! |---|---|
//! | `uuid` | `fixed_size_binary(16)`, with the extension `arrow.uuid` |
//! | `interval` | `interval(month_day_nano)` |
//! | `json` | `utf8`, with the extension `arrow.json` |
//! | collated text | `utf8`, with the extension `ambo.collated`, whose metadata is the name of the collation |
//! | `bit` | `large_binary`, which nothing else has in a plan, with the extension `ambo.bit` |
//! | `geometry` | `binary_view`, which nothing else has in a plan, with the extension `geoarrow.wkb` |
//! | enums | a struct of one `uint16`, the place of the label; the name of the field has all labels ([`enum_of`]) |
//! | lists, arrays of one length, structs, maps | `list`, `fixed_size_list`, `struct`, `map`; what is within may be NULL |

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, PrimitiveArray, StructArray,
    cast::AsArray, types::UInt16Type,
};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, IntervalUnit};

use super::{decode::Decoder, encode::Encoder, import::type_of, types::data_type};
use crate::{Bits, ColumnBuffer, DatumRef, Enum, Error, Geometry, Logical, Part, Result, Type};

/// Bytes of a UUID.
pub(super) const UUID_LEN: i32 = 16;
const EXTENSION: &str = "ARROW:extension:name";
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";
/// The extension of texts with a collation.
const COLLATED: &str = "ambo.collated";
/// The extension of bits.
const BIT: &str = "ambo.bit";
/// The extension of geometries.
const GEOMETRY: &str = "geoarrow.wkb";

/// The Arrow type that values of a logical type have.
pub fn logical_type(logical: &Logical) -> DataType {
    match logical {
        Logical::Uuid => DataType::FixedSizeBinary(UUID_LEN),
        Logical::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
        Logical::Json | Logical::Collated(_) => DataType::Utf8,
        Logical::List(item) => DataType::new_list(part_type(item), true),
        Logical::Array(item, length) => DataType::new_fixed_size_list(part_type(item), *length as i32, true),
        Logical::Struct(fields) => {
            let fields = fields.iter().map(|(name, part)| Field::new(name, part_type(part), true));
            DataType::Struct(fields.collect())
        }
        Logical::Enum(of) => enum_type(&of.labels),
        Logical::Bit => DataType::LargeBinary,
        Logical::Geometry => DataType::BinaryView,
        Logical::Map(key, value) => {
            let key = Field::new("key", part_type(key), false);
            let value = Field::new("value", part_type(value), true);
            let entries = DataType::Struct(vec![key, value].into());
            DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
        }
    }
}

/// Begins the name of the field of an enum, and stands before each label in it.
const ENUM: char = '\u{1}';

/// The type of enums with these labels.
pub fn enum_type(labels: &[String]) -> DataType {
    let name = labels.iter().fold(String::from(ENUM), |name, label| format!("{name}{ENUM}{label}"));
    DataType::Struct(vec![Field::new(name, DataType::UInt16, true)].into())
}

/// The labels of a type of enums, in their order; `None` of another type.
pub fn enum_of(ty: &DataType) -> Option<impl Iterator<Item = &str>> {
    let DataType::Struct(fields) = ty else { return None };
    let [field] = &fields[..] else { return None };
    let labels = field.name().strip_prefix(ENUM)?.strip_prefix(ENUM)?;
    (*field.data_type() == DataType::UInt16).then(|| labels.split(ENUM))
}

/// Places of labels as values of an enum.
pub(super) fn enums(codes: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    let DataType::Struct(fields) = ty else {
        return Err(Error::Invalid(format!("{ty} is no type of enums")));
    };
    let codes = codes.as_primitive::<UInt16Type>();
    let values = Arc::new(PrimitiveArray::<UInt16Type>::new(codes.values().clone(), None));
    let array = StructArray::try_new(fields.clone(), vec![values], codes.nulls().cloned());
    Ok(Arc::new(array.map_err(super::export::refused)?))
}

/// The places of the labels that values of an enum, or texts, have; NULL of NULL.
pub(super) fn codes(array: &ArrayRef, of: &Enum) -> Result<PrimitiveArray<UInt16Type>> {
    let places: HashMap<&str, u16> =
        of.labels.iter().enumerate().map(|(place, label)| (label.as_str(), place as u16)).collect();
    let code = |label: &str| places.get(label).copied().ok_or_else(|| Error::Invalid(of.no_label(label)));
    if let Some(labels) = enum_of(array.data_type()) {
        let array = array.as_struct();
        let stored = array.column(0).as_primitive::<UInt16Type>();
        let known: Vec<_> = labels.collect();
        let same = known.iter().zip(&of.labels).all(|(known, label)| known == label);
        if same && known.len() <= of.labels.len() {
            return PrimitiveArray::try_new(stored.values().clone(), array.nulls().cloned())
                .map_err(super::export::refused);
        }
        let place = |row: usize| match array.is_null(row) {
            true => Ok(None),
            false => known.get(usize::from(stored.value(row))).map(|label| code(label)).transpose(),
        };
        return (0..array.len()).map(place).collect();
    }
    let mut buffer = ColumnBuffer::new(Type::Utf8);
    super::import::fill(&mut buffer, array, 1)?;
    let place = |row: usize| match buffer.get(row).map_err(|error| Error::Invalid(error.to_string()))? {
        DatumRef::Utf8(label) => code(label).map(Some),
        _ => Ok(None),
    };
    (0..buffer.len()).map(place).collect()
}

/// The Arrow type that values of a type have.
pub fn part_type(part: &Part) -> DataType {
    match part {
        Part::Plain(ty) => data_type(*ty),
        Part::Logical(logical) => logical_type(logical),
    }
}

/// The logical type of values of an Arrow type that says more than how they are stored; `None` of one that does not. 16 bytes of one
/// length are UUIDs, long bytes are bits and views of bytes geometries: nothing else has them here.
///
/// # Errors
/// [`Error::Invalid`]: what is within has a type that no column has.
pub fn logical_of(ty: &DataType) -> Result<Option<Logical>> {
    Ok(Some(match ty {
        DataType::FixedSizeBinary(UUID_LEN) => Logical::Uuid,
        DataType::Interval(_) => Logical::Interval,
        DataType::LargeBinary => Logical::Bit,
        DataType::BinaryView => Logical::Geometry,
        DataType::List(item) | DataType::LargeList(item) => Logical::list(part_of(item.data_type())?),
        DataType::FixedSizeList(item, length) => {
            Logical::Array(Box::new(part_of(item.data_type())?), u32::try_from(*length).unwrap_or(0))
        }
        ty if let Some(labels) = enum_of(ty) => Logical::enumeration(labels),
        DataType::Struct(fields) => {
            let part = |field: &Arc<Field>| Ok((field.name().clone(), part_of(field.data_type())?));
            Logical::Struct(fields.iter().map(part).collect::<Result<_>>()?)
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                Logical::map(part_of(fields[0].data_type())?, part_of(fields[1].data_type())?)
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

/// The type that holds what an Arrow type holds.
///
/// # Errors
/// [`Error::Invalid`]: no column has such values.
pub fn part_of(ty: &DataType) -> Result<Part> {
    Ok(match logical_of(ty)? {
        Some(logical) => Part::Logical(logical),
        None => Part::Plain(type_of(ty)?),
    })
}

/// The logical type that a field says by its type or by its extension.
pub(super) fn logical_of_field(field: &Field) -> Result<Option<Logical>> {
    let extension = field.metadata().get(EXTENSION).map(String::as_str);
    match (field.data_type(), extension) {
        // Bytes of one length may be anything.
        (DataType::FixedSizeBinary(_), extension) if extension != Some("arrow.uuid") => Ok(None),
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, Some("arrow.json")) => {
            Ok(Some(Logical::Json))
        }
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, Some(COLLATED)) => {
            Ok(collation_of(field).map(|name| Logical::Collated(name.to_owned())))
        }
        (DataType::LargeBinary, Some(BIT)) => Ok(Some(Logical::Bit)),
        (DataType::BinaryView, Some(GEOMETRY)) => Ok(Some(Logical::Geometry)),
        // Elsewhere they are bytes of any kind.
        (ty, _) => logical_of(&short_bytes(ty)),
    }
}

/// A type with plain bytes for long ones and for views of them, also within.
pub fn short_bytes(ty: &DataType) -> DataType {
    let of = |field: &Arc<Field>| -> Arc<Field> {
        match short_bytes(field.data_type()) {
            same if same == *field.data_type() => field.clone(),
            other => Arc::new(Field::clone(field).with_data_type(other)),
        }
    };
    match ty {
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(of(item)),
        DataType::LargeList(item) => DataType::LargeList(of(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(of(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(of(entries), *is_sorted),
        ty => ty.clone(),
    }
}

/// The field with what says that its texts are compared by a collation.
pub fn collated(field: Field, name: &str) -> Field {
    field.with_metadata(HashMap::from([
        (EXTENSION.to_owned(), COLLATED.to_owned()),
        (EXTENSION_METADATA.to_owned(), name.to_owned()),
    ]))
}

/// The name of the collation by which texts of a field are compared, if the field says one.
pub fn collation_of(field: &Field) -> Option<&str> {
    let metadata = field.metadata();
    metadata.get(EXTENSION).filter(|extension| *extension == COLLATED)?;
    metadata.get(EXTENSION_METADATA).map(String::as_str).filter(|name| !name.is_empty())
}

/// The field with what says that it is of a logical type.
pub(super) fn marked(field: Field, logical: &Logical) -> Field {
    let extension = match logical {
        Logical::Uuid => "arrow.uuid",
        Logical::Json => "arrow.json",
        Logical::Bit => BIT,
        Logical::Geometry => GEOMETRY,
        Logical::Collated(name) => return collated(field, name),
        _ => return field,
    };
    field.with_metadata(HashMap::from([(EXTENSION.to_owned(), extension.to_owned())]))
}

/// Stored values as those of the Arrow type of a logical type ([`logical_type`]). An array that is of the type already is left as it is.
///
/// # Errors
/// [`Error::Invalid`]: bytes that are no such values.
pub fn from_stored(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    if array.data_type() == ty {
        return Ok(array.clone());
    }
    if enum_of(ty).is_some() && *array.data_type() == DataType::UInt16 {
        return enums(array, ty);
    }
    let logical = logical_of(ty)?.filter(|_| *array.data_type() == DataType::Binary);
    let Some(logical) = logical else {
        return Err(Error::Invalid(format!(
            "values of type {} are not stored ones of type {ty}",
            array.data_type()
        )));
    };
    decoded(array.as_binary(), &logical)
}

/// As [`from_stored`], of a logical type that is known.
pub(super) fn decoded(stored: &BinaryArray, logical: &Logical) -> Result<ArrayRef> {
    if matches!(logical, Logical::Bit | Logical::Geometry) {
        return Ok(wide(stored, &logical_type(logical)));
    }
    let mut decoder = Decoder::of(logical, stored.len());
    for row in 0..stored.len() {
        match stored.is_null(row) {
            true => decoder.push_null()?,
            false => decoder
                .push(stored.value(row))
                .map_err(|what| Error::Invalid(format!("a damaged value of type {logical}: {what}")))?,
        }
    }
    decoder.finish()
}

/// Values as they are stored: binary, if their Arrow type is that of a logical type; others are left as they are.
///
/// # Errors
/// [`Error::Invalid`]: what is within has a type that no column has.
pub fn to_stored(array: &ArrayRef) -> Result<ArrayRef> {
    match logical_of(array.data_type())? {
        Some(Logical::Enum(of)) => Ok(Arc::new(codes(array, &of)?)),
        Some(logical) => Ok(Arc::new(encoded(array, &logical)?)),
        None => Ok(array.clone()),
    }
}

/// Values as a column of a logical type stores them. REQUIRES: it is stored in binary.
pub(super) fn encoded(array: &ArrayRef, logical: &Logical) -> Result<BinaryArray> {
    if matches!(logical, Logical::Bit | Logical::Geometry) {
        return narrow(array, logical);
    }
    let encoder = Encoder::of(logical, array)?;
    let (mut ends, mut data) = (vec![0u32], Vec::new());
    for row in 0..array.len() {
        if array.is_valid(row) && !array.data_type().is_null() {
            encoder.write(row, &mut data)?;
        }
        let end = u32::try_from(data.len()).ok().filter(|end| *end <= i32::MAX as u32);
        ends.push(end.ok_or_else(|| {
            Error::Invalid("more than 2 GiB of values in one batch; make smaller ones".into())
        })?);
    }
    BinaryArray::try_new(super::export::offsets(ends), Buffer::from_vec(data), array.logical_nulls())
        .map_err(super::export::refused)
}

/// Stored bits or geometries as those of their Arrow type.
pub(super) fn wide(stored: &BinaryArray, ty: &DataType) -> ArrayRef {
    match ty {
        DataType::LargeBinary => Arc::new(stored.iter().collect::<LargeBinaryArray>()),
        _ => Arc::new(stored.iter().collect::<BinaryViewArray>()),
    }
}

/// Bits or geometries, or their texts, or bytes that are stored of them, as they are stored.
///
/// # Errors
/// [`Error::Invalid`]: values that are none.
pub(super) fn narrow(array: &ArrayRef, logical: &Logical) -> Result<BinaryArray> {
    let read = |text: &str| match logical {
        Logical::Bit => Bits::read(text).map(|bits| bits.encode()),
        _ => Geometry::read(text).map(|geometry| geometry.encode()),
    };
    let ty = array.data_type();
    if ty.is_string() {
        let mut buffer = ColumnBuffer::new(Type::Utf8);
        super::import::fill(&mut buffer, array, 1)?;
        let value = |row| match buffer.get(row).map_err(|error| Error::Invalid(error.to_string()))? {
            DatumRef::Utf8(text) => read(text).map(Some).map_err(Error::Invalid),
            _ => Ok(None),
        };
        return (0..buffer.len()).map(value).collect();
    }
    Ok(match (ty, logical) {
        (DataType::LargeBinary, Logical::Bit) => array.as_binary::<i64>().iter().collect(),
        (DataType::BinaryView, Logical::Geometry) => array.as_binary_view().iter().collect(),
        (DataType::Binary, _) => {
            let bytes = array.as_binary::<i32>();
            let check = |value| logical.check(DatumRef::Binary(value)).map_err(Error::Invalid);
            bytes.iter().flatten().try_for_each(check)?;
            bytes.clone()
        }
        (DataType::Null, _) => BinaryArray::new_null(array.len()),
        _ => return Err(Error::Invalid(format!("{ty} of Arrow is not {logical}"))),
    })
}
