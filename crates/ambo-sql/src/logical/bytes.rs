//! Bits and geometries: in a plan bytes of types that nothing else has there, so that they are compared, grouped and joined as they are
//! stored; to others their texts.

use std::sync::Arc;

use ambo::{Bits, Geometry};
use ambo_files::geometry_of_json;
use arrow::{
    array::{Array, ArrayRef, AsArray, BinaryViewArray, LargeBinaryArray, PrimitiveArray, StringArray},
    compute::cast,
    datatypes::{
        ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
        Int32Type, Int64Type, ToByteSlice, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
    error::ArrowError,
};
use datafusion::common::{Result, exec_err};

use crate::times::is_text;

/// The type of `bit`.
pub(crate) const BIT: DataType = DataType::LargeBinary;

/// The type of `geometry`.
pub(crate) const GEOMETRY: DataType = DataType::BinaryView;

/// Whether values of a type are bits or geometries.
pub(crate) fn is_bytes(ty: &DataType) -> bool {
    matches!(*ty, BIT | GEOMETRY)
}

/// The bits of a stored value.
///
/// # Errors
/// Bytes that are none.
pub(crate) fn bits_of(bytes: &[u8]) -> Result<Bits> {
    Bits::decode(bytes).or_else(|what| exec_err!("{what}"))
}

/// The geometry of a stored value.
///
/// # Errors
/// Bytes that are none.
pub(crate) fn geometry_of(bytes: &[u8]) -> Result<Geometry> {
    Geometry::of_wkb(bytes).or_else(|what| exec_err!("{what}"))
}

/// The bytes of a row. REQUIRES: bits or geometries.
pub(crate) fn value_of(array: &dyn Array, row: usize) -> &[u8] {
    match array.as_any().downcast_ref::<LargeBinaryArray>() {
        Some(bits) => bits.value(row),
        None => array.as_binary_view().value(row),
    }
}

/// The texts of bits or geometries; NULL of NULL.
///
/// # Errors
/// Bytes that are none.
pub(crate) fn bytes_texts(array: &dyn Array) -> Result<StringArray, ArrowError> {
    let text = |row| {
        let bytes = value_of(array, row);
        let text = match *array.data_type() {
            BIT => Bits::decode(bytes).map(|bits| bits.to_string()),
            _ => Geometry::of_wkb(bytes).map(|geometry| geometry.to_string()),
        };
        text.map_err(ArrowError::ComputeError)
    };
    (0..array.len()).map(|row| array.is_valid(row).then(|| text(row)).transpose()).collect()
}

/// Whether values of a type become those of another here.
pub(super) fn converts(from: &DataType, to: &DataType) -> bool {
    let has_bits = |ty: &DataType| {
        ty.is_integer()
            || matches!(ty, DataType::Boolean | DataType::Float32 | DataType::Float64 | DataType::Binary)
            || matches!(ty, DataType::Decimal128(_, 0))
    };
    match (from, to) {
        (&BIT, to) => is_text(to) || has_bits(to),
        (from, &BIT) => is_text(from) || has_bits(from),
        (&GEOMETRY, to) => is_text(to) || *to == DataType::Binary,
        (from, &GEOMETRY) => is_text(from) || *from == DataType::Binary,
        _ => false,
    }
}

/// The values in another type, as [`converts`] says. What does not fit is an error, or NULL if that is not `strict`.
///
/// # Errors
/// A value that is none of the other type.
pub(super) fn converted(array: &ArrayRef, to: &DataType, strict: bool) -> Result<ArrayRef> {
    match (array.data_type(), to) {
        (from, to) if is_bytes(from) && is_text(to) => {
            let texts: ArrayRef = Arc::new(bytes_texts(array)?);
            Ok(cast(&texts, to)?)
        }
        (&GEOMETRY, _) => Ok(cast(array, to)?),
        (&BIT, to) => from_bits(array, to, strict),
        (from, &BIT) if is_text(from) => from_texts(array, strict, |text| Ok(Bits::read(text)?.encode())),
        (_, &BIT) => to_bits(array),
        (from, _) if is_text(from) => {
            // An object is no text of a geometry, but may be GeoJSON.
            let read = |text: &str| match text.trim_start().starts_with('{') {
                true => geometry_of_json(text),
                false => Geometry::read(text),
            };
            let geometries = from_texts(array, strict, |text| Ok(read(text)?.encode()))?;
            Ok(cast(&geometries, to)?)
        }
        (_, _) => {
            let read = |bytes: &[u8]| match Geometry::of_wkb(bytes) {
                Ok(geometry) => Ok(Some(geometry.encode())),
                Err(what) if strict => exec_err!("{what}"),
                Err(_) => Ok(None),
            };
            let read = array.as_binary::<i32>().iter().map(|of| Ok(of.map(read).transpose()?.flatten()));
            Ok(Arc::new(read.collect::<Result<BinaryViewArray>>()?))
        }
    }
}

/// Texts as what a function makes of them.
fn from_texts(
    array: &ArrayRef,
    strict: bool,
    read: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<ArrayRef> {
    let texts = cast(array, &DataType::Utf8)?;
    let one = |text: Option<&str>| match text.map(&read) {
        Some(Err(what)) if strict => exec_err!("{what}"),
        read => Ok(read.and_then(Result::ok)),
    };
    Ok(Arc::new(texts.as_string::<i32>().iter().map(one).collect::<Result<LargeBinaryArray>>()?))
}

/// Numbers as the bits of their bytes, the highest first; blobs as the bits of theirs.
fn to_bits(array: &ArrayRef) -> Result<ArrayRef> {
    let bits = |bytes: &[u8]| Bits::of_bytes(bytes).encode();
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef) -> LargeBinaryArray {
        let bits = |value: T::Native| {
            // The bytes of a number are in the order of the machine.
            let mut bytes = value.to_byte_slice().to_vec();
            if cfg!(target_endian = "little") {
                bytes.reverse();
            }
            Bits::of_bytes(&bytes).encode()
        };
        array.as_primitive::<T>().iter().map(|value| value.map(bits)).collect()
    }
    Ok(Arc::new(match array.data_type() {
        DataType::Boolean => array.as_boolean().iter().map(|of| of.map(|of| bits(&[u8::from(of)]))).collect(),
        DataType::Binary => array.as_binary::<i32>().iter().map(|of| of.map(bits)).collect(),
        DataType::Int8 => of::<Int8Type>(array),
        DataType::Int16 => of::<Int16Type>(array),
        DataType::Int32 => of::<Int32Type>(array),
        DataType::Int64 => of::<Int64Type>(array),
        DataType::UInt8 => of::<UInt8Type>(array),
        DataType::UInt16 => of::<UInt16Type>(array),
        DataType::UInt32 => of::<UInt32Type>(array),
        DataType::UInt64 => of::<UInt64Type>(array),
        DataType::Float32 => of::<Float32Type>(array),
        DataType::Float64 => of::<Float64Type>(array),
        DataType::Decimal128(..) => of::<Decimal128Type>(array),
        other => return exec_err!("{other} has no bits"),
    }))
}

/// Bits as the number whose bytes they are, without those that are missing at the left; as the bytes that they are.
fn from_bits(array: &ArrayRef, to: &DataType, strict: bool) -> Result<ArrayRef> {
    let values = array.as_binary::<i64>();
    if *to == DataType::Binary {
        let bytes = values.iter().map(|of| of.map(|of| Ok(bits_of(of)?.to_bytes())).transpose());
        return Ok(Arc::new(bytes.collect::<Result<arrow::array::BinaryArray>>()?));
    }
    let number = |bytes: &[u8], width: usize| -> Result<Option<u128>> {
        let bits = bits_of(bytes)?;
        match bits.bits().len() <= width {
            true => Ok(Some(bits.bits().iter().fold(0, |all, bit| all << 1 | u128::from(*bit)))),
            false if strict => {
                exec_err!("{} bits are more than {} has, which are {width}", bits.bits().len(), name_of(to))
            }
            false => Ok(None),
        }
    };
    let numbers = |width: usize| {
        let number = |of: Option<&[u8]>| Ok(of.map(|of| number(of, width)).transpose()?.flatten());
        values.iter().map(number).collect::<Result<Vec<Option<u128>>>>()
    };
    macro_rules! cast_to {
        ($ty:ty, $width:expr, $of:expr) => {{
            let of = $of;
            let all = numbers($width)?.into_iter().map(|number| number.map(of));
            Arc::new(all.collect::<PrimitiveArray<$ty>>()) as ArrayRef
        }};
    }
    Ok(match to {
        DataType::Boolean => {
            let all = numbers(8)?.into_iter().map(|number| number.map(|number| number != 0));
            Arc::new(all.collect::<arrow::array::BooleanArray>())
        }
        DataType::Int8 => cast_to!(Int8Type, 8, |number| number as i8),
        DataType::Int16 => cast_to!(Int16Type, 16, |number| number as i16),
        DataType::Int32 => cast_to!(Int32Type, 32, |number| number as i32),
        DataType::Int64 => cast_to!(Int64Type, 64, |number| number as i64),
        DataType::UInt8 => cast_to!(UInt8Type, 8, |number| number as u8),
        DataType::UInt16 => cast_to!(UInt16Type, 16, |number| number as u16),
        DataType::UInt32 => cast_to!(UInt32Type, 32, |number| number as u32),
        DataType::UInt64 => cast_to!(UInt64Type, 64, |number| number as u64),
        DataType::Float32 => cast_to!(Float32Type, 32, |number| f32::from_bits(number as u32)),
        DataType::Float64 => cast_to!(Float64Type, 64, |number| f64::from_bits(number as u64)),
        DataType::Decimal128(..) => {
            let numbers = cast_to!(Decimal128Type, 128, |number| number as i128);
            let numbers = numbers.as_primitive::<Decimal128Type>().clone().with_data_type(to.clone());
            if let DataType::Decimal128(precision, _) = to {
                numbers.validate_decimal_precision(*precision)?;
            }
            Arc::new(numbers)
        }
        other => return exec_err!("bits are not cast to {other}"),
    })
}

fn name_of(ty: &DataType) -> String {
    crate::error::type_in_sql(ty)
}
