//! A column of a batch, to write values of; and values of rows.

use ambo::Datum;
use ambo_sql::value_texts;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray,
    ListArray, StringArray, Time64NanosecondArray, TimestampMicrosecondArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array, cast::AsArray,
};
use arrow_schema::{ArrowError, DataType, IntervalUnit, TimeUnit};

use super::{
    super::{
        message::{Format, sized},
        types::{item_of, oid},
    },
    binary,
    numeric::{decimal_text, write_numeric},
    text,
};

/// See the module.
pub(in super::super) struct Column {
    array: ArrayRef,
    values: Values,
}

enum Values {
    Bool(BooleanArray),
    I8(Int8Array),
    I16(Int16Array),
    I32(Int32Array),
    I64(Int64Array),
    /// Numbers of things, which have 32 bits on the wire.
    Oid(Int64Array),
    U8(UInt8Array),
    U16(UInt16Array),
    U32(UInt32Array),
    U64(UInt64Array),
    F32(Float32Array),
    F64(Float64Array),
    Decimal(Decimal128Array, i8),
    Date(Date32Array),
    Time(Time64NanosecondArray),
    /// With the offset that its texts have.
    Timestamp(TimestampMicrosecondArray, Option<i32>),
    /// Moments, with their texts in the zone of the session.
    Zoned(TimestampMicrosecondArray, StringArray),
    Interval(IntervalMonthDayNanoArray),
    Text(StringArray),
    Jsonb(StringArray),
    Bytes(BinaryArray),
    Uuid(FixedSizeBinaryArray),
    /// With the type of its items, and whether it is a vector: that has its first item at 0.
    List(ListArray, Box<Column>, u32, bool),
    Null,
}

impl Column {
    /// A column of values of PostgreSQL's type `oid`.
    pub fn new(array: &ArrayRef, oid: u32, zone: &str) -> Result<Self, ArrowError> {
        let array = array.clone();
        let values = match array.data_type() {
            DataType::Boolean => Values::Bool(array.as_boolean().clone()),
            DataType::Int8 => Values::I8(array.as_primitive().clone()),
            DataType::Int16 => Values::I16(array.as_primitive().clone()),
            DataType::Int32 => Values::I32(array.as_primitive().clone()),
            DataType::Int64 if matches!(oid, oid::OID | 28) => Values::Oid(array.as_primitive().clone()),
            DataType::Int64 => Values::I64(array.as_primitive().clone()),
            DataType::UInt8 => Values::U8(array.as_primitive().clone()),
            DataType::UInt16 => Values::U16(array.as_primitive().clone()),
            DataType::UInt32 => Values::U32(array.as_primitive().clone()),
            DataType::UInt64 => Values::U64(array.as_primitive().clone()),
            DataType::Float32 => Values::F32(array.as_primitive().clone()),
            DataType::Float64 => Values::F64(array.as_primitive().clone()),
            DataType::Decimal128(_, scale) => Values::Decimal(array.as_primitive().clone(), *scale),
            DataType::Date32 => Values::Date(array.as_primitive().clone()),
            DataType::Time64(TimeUnit::Nanosecond) => Values::Time(array.as_primitive().clone()),
            DataType::Timestamp(TimeUnit::Microsecond, None) => {
                Values::Timestamp(array.as_primitive().clone(), None)
            }
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
                let moments: TimestampMicrosecondArray = array.as_primitive().clone();
                match value_texts(&array, zone)? {
                    Some(texts) if zone != "UTC" => Values::Zoned(moments, texts),
                    _ => Values::Timestamp(moments, Some(0)),
                }
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => Values::Interval(array.as_primitive().clone()),
            DataType::Utf8 if oid == oid::JSONB => Values::Jsonb(array.as_string().clone()),
            DataType::Utf8 => Values::Text(array.as_string().clone()),
            DataType::Binary => Values::Bytes(array.as_binary().clone()),
            DataType::FixedSizeBinary(16) => Values::Uuid(array.as_fixed_size_binary().clone()),
            DataType::Null => Values::Null,
            DataType::List(_) => {
                let lists: ListArray = array.as_list().clone();
                let item = item_of(oid).unwrap_or(oid::TEXT);
                // Lists in lists have the type of the arrays that they are in.
                let inner = if matches!(lists.value_type(), DataType::List(_)) { oid } else { item };
                let items = Self::new(lists.values(), inner, zone)?;
                Values::List(lists, Box::new(items), item, matches!(oid, oid::INT2VECTOR | oid::OIDVECTOR))
            }
            ty => {
                let unknown = || ArrowError::NotYetImplemented(format!("values of type {ty} are not sent"));
                Values::Text(
                    value_texts(&array, zone)?.map_or_else(|| other_texts(&array).ok_or_else(unknown), Ok)?,
                )
            }
        };
        Ok(Self { array, values })
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || matches!(self.values, Values::Null)
    }

    /// Writes a value, which is not NULL.
    pub fn write(&self, row: usize, format: Format, out: &mut Vec<u8>) {
        let is_text = format == Format::Text;
        match &self.values {
            Values::Bool(of) if is_text => text::boolean(of.value(row), out),
            Values::Bool(of) => out.push(of.value(row).into()),
            Values::I8(of) if is_text => text::integer(of.value(row), out),
            Values::I8(of) => out.extend(i16::from(of.value(row)).to_be_bytes()),
            Values::I16(of) if is_text => text::integer(of.value(row), out),
            Values::I16(of) => out.extend(of.value(row).to_be_bytes()),
            Values::I32(of) if is_text => text::integer(of.value(row), out),
            Values::I32(of) => out.extend(of.value(row).to_be_bytes()),
            Values::I64(of) if is_text => text::integer(of.value(row), out),
            Values::I64(of) => out.extend(of.value(row).to_be_bytes()),
            Values::Oid(of) if is_text => text::integer(of.value(row), out),
            Values::Oid(of) => out.extend((of.value(row) as u32).to_be_bytes()),
            Values::U8(of) if is_text => text::integer(of.value(row), out),
            Values::U8(of) => out.extend(i16::from(of.value(row)).to_be_bytes()),
            Values::U16(of) if is_text => text::integer(of.value(row), out),
            Values::U16(of) => out.extend(i32::from(of.value(row)).to_be_bytes()),
            Values::U32(of) if is_text => text::integer(of.value(row), out),
            Values::U32(of) => out.extend(i64::from(of.value(row)).to_be_bytes()),
            Values::U64(of) if is_text => text::integer(of.value(row), out),
            Values::U64(of) => write_numeric(of.value(row).into(), 0, out),
            Values::F32(of) if is_text => text::single(of.value(row), out),
            Values::F32(of) => out.extend(of.value(row).to_be_bytes()),
            Values::F64(of) if is_text => text::double(of.value(row), out),
            Values::F64(of) => out.extend(of.value(row).to_be_bytes()),
            Values::Decimal(of, scale) if is_text => decimal_text(of.value(row), *scale, out),
            Values::Decimal(of, scale) => write_numeric(of.value(row), *scale, out),
            Values::Date(of) if is_text => text::date(of.value(row), out),
            Values::Date(of) => binary::date(of.value(row), out),
            Values::Time(of) if is_text => text::time(of.value(row), out),
            Values::Time(of) => binary::time(of.value(row), out),
            Values::Timestamp(of, offset) if is_text => text::timestamp(of.value(row), *offset, out),
            Values::Timestamp(of, _) | Values::Zoned(of, _) if !is_text => {
                binary::timestamp(of.value(row), out)
            }
            Values::Timestamp(of, offset) => text::timestamp(of.value(row), *offset, out),
            Values::Zoned(_, texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            Values::Interval(of) => {
                let (months, days, nanos) =
                    arrow_array::types::IntervalMonthDayNanoType::to_parts(of.value(row));
                match format {
                    Format::Text => text::interval(months, days, nanos, out),
                    Format::Binary => binary::interval(months, days, nanos, out),
                }
            }
            Values::Text(of) => out.extend_from_slice(of.value(row).as_bytes()),
            Values::Jsonb(of) => {
                if !is_text {
                    out.push(1);
                }
                out.extend_from_slice(of.value(row).as_bytes());
            }
            Values::Bytes(of) if is_text => text::bytes(of.value(row), out),
            Values::Bytes(of) => out.extend_from_slice(of.value(row)),
            Values::Uuid(of) if is_text => uuid(of.value(row), out),
            Values::Uuid(of) => out.extend_from_slice(of.value(row)),
            Values::List(..) if is_text => self.write_list_text(row, out),
            Values::List(_, _, item, is_vector) => self.write_list_binary(row, *item, *is_vector, out),
            Values::Null => {}
        }
    }

    fn write_list_text(&self, row: usize, out: &mut Vec<u8>) {
        let Values::List(lists, items, _, is_vector) = &self.values else { return };
        let (begin, end) = (lists.value_offsets()[row] as usize, lists.value_offsets()[row + 1] as usize);
        let (mut item, is_nested) = (Vec::new(), matches!(items.values, Values::List(..)));
        if !is_vector {
            out.push(b'{');
        }
        for place in begin..end {
            if place > begin {
                out.push(if *is_vector { b' ' } else { b',' });
            }
            match items.is_null(place) {
                true => out.extend_from_slice(b"NULL"),
                false if is_nested => items.write_list_text(place, out),
                false => {
                    item.clear();
                    items.write(place, Format::Text, &mut item);
                    text::array_item(&item, out);
                }
            }
        }
        if !is_vector {
            out.push(b'}');
        }
    }

    /// Arrays are boxes of values: lists in a list that are shorter than the longest of them, or NULL, are filled up with NULL.
    fn write_list_binary(&self, row: usize, item: u32, is_vector: bool, out: &mut Vec<u8>) {
        let mut lengths = Vec::new();
        self.measure(row, 0, &mut lengths);
        if lengths.contains(&0) {
            lengths.clear();
        }
        let mut cells = Vec::new();
        if !lengths.is_empty() {
            self.gather(Some(row), &lengths, &mut cells);
        }
        let is_null = |cell: &Option<(&Self, usize)>| cell.is_none_or(|(items, place)| items.is_null(place));
        out.extend((lengths.len() as i32).to_be_bytes());
        out.extend(i32::from(cells.iter().any(is_null)).to_be_bytes());
        out.extend(item.to_be_bytes());
        for length in &lengths {
            out.extend((*length as i32).to_be_bytes());
            out.extend(i32::from(!is_vector).to_be_bytes());
        }
        for cell in &cells {
            match cell {
                Some((items, place)) if !is_null(cell) => {
                    sized(out, false, |out| items.write(*place, Format::Binary, out));
                }
                _ => out.extend((-1i32).to_be_bytes()),
            }
        }
    }

    /// The places of the items of a list; none of a NULL.
    fn places(&self, row: usize) -> std::ops::Range<usize> {
        match &self.values {
            Values::List(lists, ..) if !lists.is_null(row) => {
                lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize
            }
            _ => 0..0,
        }
    }

    /// The length of a list and of the longest of the lists in it.
    fn measure(&self, row: usize, depth: usize, lengths: &mut Vec<usize>) {
        let Values::List(_, items, ..) = &self.values else { return };
        let places = self.places(row);
        if lengths.len() <= depth {
            lengths.push(0);
        }
        lengths[depth] = lengths[depth].max(places.len());
        places.for_each(|place| items.measure(place, depth + 1, lengths));
    }

    /// The values of a list of these lengths, `None` where there is none.
    fn gather<'a>(
        &'a self,
        row: Option<usize>,
        lengths: &[usize],
        cells: &mut Vec<Option<(&'a Self, usize)>>,
    ) {
        let (Values::List(_, items, ..), [length, rest @ ..]) = (&self.values, lengths) else { return };
        let places = row.map_or(0..0, |row| self.places(row));
        for nth in 0..*length {
            let place = (nth < places.len()).then(|| places.start + nth);
            match rest {
                [] => cells.push(place.map(|place| (&**items, place))),
                rest => items.gather(place, rest, cells),
            }
        }
    }
}

/// Texts of values in forms of text that tables do not have.
fn other_texts(array: &ArrayRef) -> Option<StringArray> {
    Some(match array.data_type() {
        DataType::Utf8View => array.as_string_view().iter().collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        _ => return None,
    })
}

fn uuid(bytes: &[u8], out: &mut Vec<u8>) {
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
}

/// Writes a value of a row, which is not NULL.
pub(super) fn write_datum(value: &Datum, oid: u32, format: Format, out: &mut Vec<u8>) {
    let is_text = format == Format::Text;
    match value {
        Datum::Null => {}
        Datum::Bool(value) if is_text => text::boolean(*value, out),
        Datum::Bool(value) => out.push((*value).into()),
        Datum::I8(value) if is_text => text::integer(value, out),
        Datum::I8(value) => out.extend(i16::from(*value).to_be_bytes()),
        Datum::I16(value) if is_text => text::integer(value, out),
        Datum::I16(value) => out.extend(value.to_be_bytes()),
        Datum::I32(value) if is_text => text::integer(value, out),
        Datum::I32(value) => out.extend(value.to_be_bytes()),
        Datum::I64(value) if is_text => text::integer(value, out),
        Datum::I64(value) => out.extend(value.to_be_bytes()),
        Datum::U8(value) if is_text => text::integer(value, out),
        Datum::U8(value) => out.extend(i16::from(*value).to_be_bytes()),
        Datum::U16(value) if is_text => text::integer(value, out),
        Datum::U16(value) => out.extend(i32::from(*value).to_be_bytes()),
        Datum::U32(value) if is_text => text::integer(value, out),
        Datum::U32(value) => out.extend(i64::from(*value).to_be_bytes()),
        Datum::U64(value) if is_text => text::integer(value, out),
        Datum::U64(value) => write_numeric((*value).into(), 0, out),
        Datum::F32(value) if is_text => text::single(*value, out),
        Datum::F32(value) => out.extend(value.to_be_bytes()),
        Datum::F64(value) if is_text => text::double(*value, out),
        Datum::F64(value) => out.extend(value.to_be_bytes()),
        Datum::Decimal128 { unscaled, scale } if is_text => decimal_text(*unscaled, *scale, out),
        Datum::Decimal128 { unscaled, scale } => write_numeric(*unscaled, *scale, out),
        Datum::Date32(value) if is_text => text::date(*value, out),
        Datum::Date32(value) => binary::date(*value, out),
        Datum::Time64(value) if is_text => text::time(*value, out),
        Datum::Time64(value) => binary::time(*value, out),
        Datum::Timestamp(value) if is_text => text::timestamp(*value, None, out),
        Datum::TimestampTz(value) if is_text => text::timestamp(*value, Some(0), out),
        Datum::Timestamp(value) | Datum::TimestampTz(value) => binary::timestamp(*value, out),
        Datum::Utf8(value) => {
            if oid == oid::JSONB && !is_text {
                out.push(1);
            }
            out.extend_from_slice(value.as_bytes());
        }
        Datum::Binary(value) if is_text => text::bytes(value, out),
        Datum::Binary(value) => out.extend_from_slice(value),
    }
}
