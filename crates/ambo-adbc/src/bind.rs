//! Values of Arrow's arrays for parameters.

use ambo::{Datum, Interval};
use ambo_face::{Cell, Column};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};

use crate::error::{Result, argument, missing, told};

/// The values of each row of a batch.
pub(crate) fn rows(batch: &RecordBatch) -> Result<Vec<Vec<Datum>>> {
    let plain = batch.columns().iter().map(plain).collect::<Result<Vec<_>>>()?;
    let columns = plain.iter().map(Column::of).collect::<ambo_face::Result<Vec<_>>>().map_err(told)?;
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| datum(column.cell(row))).collect()).collect()
}

/// An array in one of the types that [`Column`] knows.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    let wanted = match array.data_type() {
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => (**values).clone(),
        DataType::Float16 => DataType::Float32,
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        _ => return Ok(array.clone()),
    };
    arrow_cast::cast(array, &wanted).map_err(|error| argument(format!("a parameter: {error}")))
}

fn datum(cell: Cell<'_>) -> Result<Datum> {
    Ok(match cell {
        Cell::Null => Datum::Null,
        Cell::Bool(value) => Datum::Bool(value),
        Cell::Int(value) => Datum::I64(value),
        Cell::UInt(value) => Datum::U64(value),
        Cell::Float(value) => Datum::F64(value),
        Cell::Decimal(unscaled, scale) => Datum::Decimal128 { unscaled, scale },
        Cell::Text(text) => Datum::Utf8(text.to_owned()),
        Cell::Bytes(bytes) => Datum::Binary(bytes.to_vec()),
        Cell::Date(days) => Datum::Date32(days),
        Cell::Time(nanos) => Datum::Time64(nanos),
        Cell::Timestamp(micros) => Datum::Timestamp(micros),
        Cell::Moment(micros) => Datum::TimestampTz(micros),
        Cell::Uuid(bytes) => Datum::Utf8(uuid(&bytes)),
        Cell::Interval(Interval { months, days, nanoseconds }) => {
            Datum::Utf8(format!("{months} months {days} days {} microseconds", nanoseconds / 1000))
        }
        Cell::List(_) | Cell::Struct(..) | Cell::Map(..) => {
            return Err(missing(
                "a parameter is no list, struct or map; give it as a text, or ingest the rows",
            ));
        }
    })
}

fn uuid(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_its_text() {
        let bytes: [u8; 16] = std::array::from_fn(|nth| nth as u8);
        assert_eq!(uuid(&bytes), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
