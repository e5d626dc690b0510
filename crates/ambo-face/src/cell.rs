//! Values of Arrow's arrays, as whoever makes values of another language of them wants them.

use ambo::Interval;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    FixedSizeListArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    IntervalMonthDayNanoArray, LargeStringArray, ListArray, MapArray, StringArray, StructArray,
    Time64NanosecondArray, TimestampMicrosecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use crate::{Class, Error, Result};

/// A value.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    /// NULL.
    Null,
    /// A truth.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer without a sign.
    UInt(u64),
    /// A double, or what is read as one.
    Float(f64),
    /// A decimal: in units of its last digit, and how many digits stand behind the point.
    Decimal(i128, i8),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A date, in days since 1970.
    Date(i32),
    /// A time of day, in nanoseconds.
    Time(i64),
    /// A time without a zone, in microseconds since 1970.
    Timestamp(i64),
    /// A moment, in microseconds since 1970 in UTC.
    Moment(i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// An interval.
    Interval(Interval),
    /// A list: its values, as an array of their own.
    List(ArrayRef),
    /// A struct: the array that it is of, and the row.
    Struct(&'a StructArray, usize),
    /// A map: its keys and values, as arrays of their own.
    Map(ArrayRef, ArrayRef),
}

/// A column of a batch, whose type is looked at once.
pub enum Column<'a> {
    /// Nothing but NULL.
    Null,
    /// Truths, and so on.
    Bool(&'a BooleanArray),
    #[allow(missing_docs)]
    I8(&'a Int8Array),
    #[allow(missing_docs)]
    I16(&'a Int16Array),
    #[allow(missing_docs)]
    I32(&'a Int32Array),
    #[allow(missing_docs)]
    I64(&'a Int64Array),
    #[allow(missing_docs)]
    U8(&'a UInt8Array),
    #[allow(missing_docs)]
    U16(&'a UInt16Array),
    #[allow(missing_docs)]
    U32(&'a UInt32Array),
    #[allow(missing_docs)]
    U64(&'a UInt64Array),
    #[allow(missing_docs)]
    F32(&'a Float32Array),
    #[allow(missing_docs)]
    F64(&'a Float64Array),
    #[allow(missing_docs)]
    Decimal(&'a Decimal128Array, i8),
    #[allow(missing_docs)]
    Text(&'a StringArray),
    /// Texts that are long together, such as those that `string_agg` makes.
    LargeText(&'a LargeStringArray),
    #[allow(missing_docs)]
    Bytes(&'a BinaryArray),
    #[allow(missing_docs)]
    Date(&'a Date32Array),
    #[allow(missing_docs)]
    Time(&'a Time64NanosecondArray),
    /// Times without a zone.
    Timestamp(&'a TimestampMicrosecondArray),
    /// Moments.
    Moment(&'a TimestampMicrosecondArray),
    #[allow(missing_docs)]
    Uuid(&'a FixedSizeBinaryArray),
    /// Bytes of one length.
    Fixed(&'a FixedSizeBinaryArray),
    #[allow(missing_docs)]
    Interval(&'a IntervalMonthDayNanoArray),
    #[allow(missing_docs)]
    List(&'a ListArray),
    /// Lists of one length.
    Array(&'a FixedSizeListArray),
    #[allow(missing_docs)]
    Struct(&'a StructArray),
    #[allow(missing_docs)]
    Map(&'a MapArray),
}

/// Bytes of a UUID.
const UUID_LEN: i32 = 16;

impl<'a> Column<'a> {
    /// A column.
    ///
    /// # Errors
    /// [`Class::NotSupported`]: a type that no result has.
    pub fn of(array: &'a ArrayRef) -> Result<Self> {
        let unknown =
            || Error::new(Class::NotSupported, format!("there are no values of type {}", array.data_type()));
        macro_rules! is {
            ($variant:ident $(, $more:expr)?) => {
                Self::$variant(array.as_any().downcast_ref().ok_or_else(unknown)? $(, $more)?)
            };
        }
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => is!(Bool),
            DataType::Int8 => is!(I8),
            DataType::Int16 => is!(I16),
            DataType::Int32 => is!(I32),
            DataType::Int64 => is!(I64),
            DataType::UInt8 => is!(U8),
            DataType::UInt16 => is!(U16),
            DataType::UInt32 => is!(U32),
            DataType::UInt64 => is!(U64),
            DataType::Float32 => is!(F32),
            DataType::Float64 => is!(F64),
            DataType::Decimal128(_, scale) => is!(Decimal, *scale),
            DataType::Utf8 => is!(Text),
            DataType::LargeUtf8 => is!(LargeText),
            DataType::Binary => is!(Bytes),
            DataType::Date32 => is!(Date),
            DataType::Time64(TimeUnit::Nanosecond) => is!(Time),
            DataType::Timestamp(TimeUnit::Microsecond, None) => is!(Timestamp),
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => is!(Moment),
            DataType::FixedSizeBinary(UUID_LEN) => is!(Uuid),
            DataType::FixedSizeBinary(_) => is!(Fixed),
            DataType::Interval(IntervalUnit::MonthDayNano) => is!(Interval),
            DataType::List(_) => is!(List),
            DataType::FixedSizeList(..) => is!(Array),
            DataType::Struct(_) => is!(Struct),
            DataType::Map(..) => is!(Map),
            _ => return Err(unknown()),
        })
    }

    /// The value of a row.
    #[inline]
    pub fn cell(&self, row: usize) -> Cell<'a> {
        macro_rules! cell {
            ($array:expr, $value:expr) => {
                if $array.is_null(row) { Cell::Null } else { $value }
            };
        }
        match *self {
            Self::Null => Cell::Null,
            Self::Bool(array) => cell!(array, Cell::Bool(array.value(row))),
            Self::I8(array) => cell!(array, Cell::Int(array.value(row).into())),
            Self::I16(array) => cell!(array, Cell::Int(array.value(row).into())),
            Self::I32(array) => cell!(array, Cell::Int(array.value(row).into())),
            Self::I64(array) => cell!(array, Cell::Int(array.value(row))),
            Self::U8(array) => cell!(array, Cell::Int(array.value(row).into())),
            Self::U16(array) => cell!(array, Cell::Int(array.value(row).into())),
            Self::U32(array) => cell!(array, Cell::Int(array.value(row).into())),
            Self::U64(array) => cell!(array, Cell::UInt(array.value(row))),
            Self::F32(array) => cell!(array, Cell::Float(array.value(row).into())),
            Self::F64(array) => cell!(array, Cell::Float(array.value(row))),
            Self::Decimal(array, scale) => cell!(array, Cell::Decimal(array.value(row), scale)),
            Self::Text(array) => cell!(array, Cell::Text(array.value(row))),
            Self::LargeText(array) => cell!(array, Cell::Text(array.value(row))),
            Self::Bytes(array) => cell!(array, Cell::Bytes(array.value(row))),
            Self::Date(array) => cell!(array, Cell::Date(array.value(row))),
            Self::Time(array) => cell!(array, Cell::Time(array.value(row))),
            Self::Timestamp(array) => cell!(array, Cell::Timestamp(array.value(row))),
            Self::Moment(array) => cell!(array, Cell::Moment(array.value(row))),
            Self::Uuid(array) => {
                let bytes = |bytes: &[u8]| bytes.try_into().expect("a UUID has 16 bytes");
                cell!(array, Cell::Uuid(bytes(array.value(row))))
            }
            Self::Fixed(array) => cell!(array, Cell::Bytes(array.value(row))),
            Self::Interval(array) => {
                let interval = |value: arrow_array::types::IntervalMonthDayNano| Interval {
                    months: value.months,
                    days: value.days,
                    nanoseconds: value.nanoseconds,
                };
                cell!(array, Cell::Interval(interval(array.value(row))))
            }
            Self::List(array) => cell!(array, Cell::List(array.value(row))),
            Self::Array(array) => cell!(array, Cell::List(array.value(row))),
            Self::Struct(array) => cell!(array, Cell::Struct(array, row)),
            Self::Map(array) => {
                let parts =
                    |entries: StructArray| Cell::Map(entries.column(0).clone(), entries.column(1).clone());
                cell!(array, parts(array.value(row)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_a_result_has_values() {
        let db = ambo_sql::Database::in_memory().unwrap();
        let query = "select null, true, 1::tinyint, 2::smallint, 3::int, 4::bigint, 5::utinyint, 6::ubigint, 1.5::real, 2.5::double,
            3.25::decimal(5, 2), 'text', x'00ff', date '1970-01-02', time '00:00:01', timestamp '1970-01-01 00:00:01',
            timestamptz '1970-01-01 00:00:02+00', '00000000-0000-0000-0000-00000000000a'::uuid, interval '1 month 2 days',
            [1, 2], {'a': 1}, map(['k'], ['v']), string_agg('a', ',')";
        let batch = db.sql(query).unwrap().batches().next().unwrap().unwrap();
        let shown: Vec<_> = batch
            .columns()
            .iter()
            .map(|array| match Column::of(array).unwrap().cell(0) {
                Cell::List(values) => format!("list of {}", values.len()),
                Cell::Struct(of, row) => format!("struct {row} of {}", of.num_columns()),
                Cell::Map(keys, values) => format!("map of {} and {}", keys.len(), values.len()),
                Cell::Interval(interval) => format!("{} months {} days", interval.months, interval.days),
                cell => format!("{cell:?}"),
            })
            .collect();
        let wanted = [
            "Null",
            "Bool(true)",
            "Int(1)",
            "Int(2)",
            "Int(3)",
            "Int(4)",
            "Int(5)",
            "UInt(6)",
            "Float(1.5)",
            "Float(2.5)",
            "Decimal(325, 2)",
            "Text(\"text\")",
            "Bytes([0, 255])",
            "Date(1)",
            "Time(1000000000)",
            "Timestamp(1000000)",
            "Moment(2000000)",
            "Uuid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10])",
            "1 months 2 days",
            "list of 2",
            "struct 0 of 1",
            "map of 1 and 1",
            "Text(\"a\")",
        ];
        assert_eq!(shown, wanted);
    }
}
