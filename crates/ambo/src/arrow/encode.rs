//! Arrow's values as a column of a logical type stores them.

use ambo_engine::catalog::{
    Interval,
    logical::nested::{put_count, put_plain, put_there},
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, PrimitiveArray,
    cast::AsArray,
    types::{IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType},
};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer};
use arrow_schema::{DataType, IntervalUnit};

use super::{
    import::fill,
    logical::{UUID_LEN, codes, narrow},
};
use crate::{ColumnBuffer, Error, Logical, Part, Result};

/// What writes values of an array, by their places in it.
pub(super) struct Encoder {
    nulls: Option<NullBuffer>,
    values: Values,
}

enum Values {
    Plain(ColumnBuffer),
    Uuids(FixedSizeBinaryArray),
    /// UUIDs as bytes of any length that have the right one.
    Bytes(BinaryArray),
    Intervals(PrimitiveArray<IntervalMonthDayNanoType>),
    List {
        offsets: Vec<usize>,
        items: Box<Encoder>,
    },
    Array {
        length: usize,
        items: Box<Encoder>,
    },
    Struct(Vec<Encoder>),
    Map {
        offsets: Vec<usize>,
        keys: Box<Encoder>,
        values: Box<Encoder>,
    },
    /// All are NULL.
    Nothing,
}

impl Encoder {
    /// # Errors
    /// [`Error::Invalid`]: values of another type.
    pub(super) fn of(logical: &Logical, array: &ArrayRef) -> Result<Self> {
        let unlike = || Err(Error::Invalid(format!("{} of Arrow is not {logical}", array.data_type())));
        let values = match (logical, array.data_type()) {
            (_, DataType::Null) => Values::Nothing,
            (Logical::Uuid, DataType::FixedSizeBinary(UUID_LEN)) => {
                Values::Uuids(array.as_fixed_size_binary().clone())
            }
            (Logical::Uuid, DataType::Binary) => Values::Bytes(array.as_binary().clone()),
            (Logical::Interval, DataType::Interval(unit)) => Values::Intervals(intervals(array, *unit)),
            (Logical::Enum(of), _) => {
                let mut buffer = ColumnBuffer::new(logical.kind());
                fill(&mut buffer, &codes(array, of)?, 1)?;
                Values::Plain(buffer)
            }
            (Logical::Bit | Logical::Geometry, _) => {
                let mut buffer = ColumnBuffer::new(logical.kind());
                fill(&mut buffer, &narrow(array, logical)?, 1)?;
                Values::Plain(buffer)
            }
            (Logical::Json | Logical::Collated(_), ty) if ty.is_string() => {
                let mut buffer = ColumnBuffer::new(logical.kind());
                fill(&mut buffer, array, 1)?;
                Values::Plain(buffer)
            }
            (Logical::List(item), DataType::List(_)) => {
                let list = array.as_list::<i32>();
                Values::list(item, list.values(), list.value_offsets())?
            }
            (Logical::List(item), DataType::LargeList(_)) => {
                let list = array.as_list::<i64>();
                Values::list(item, list.values(), list.value_offsets())?
            }
            (Logical::Array(item, length), DataType::FixedSizeList(_, of))
                if i64::from(*length) == i64::from(*of) =>
            {
                let items = Box::new(Self::of_part(item, array.as_fixed_size_list().values())?);
                Values::Array { length: *length as usize, items }
            }
            (Logical::Struct(fields), DataType::Struct(_)) => {
                let columns = array.as_struct();
                let of = |(name, part): &(String, Part)| match columns.column_by_name(name) {
                    Some(column) => Self::of_part(part, column),
                    None => Err(Error::Invalid(format!("a struct has no field \"{name}\""))),
                };
                if columns.num_columns() != fields.len() {
                    return unlike();
                }
                Values::Struct(fields.iter().map(of).collect::<Result<_>>()?)
            }
            (Logical::Map(key, value), DataType::Map(..)) => {
                let map = array.as_map();
                let (offsets, base, count) = places(map.value_offsets());
                let keys = Box::new(Self::of_part(key, &map.keys().slice(base, count))?);
                if keys.nulls.as_ref().is_some_and(|nulls| nulls.null_count() > 0) {
                    return Err(Error::Invalid("a key of a map is NULL".into()));
                }
                let values = Box::new(Self::of_part(value, &map.values().slice(base, count))?);
                Values::Map { offsets, keys, values }
            }
            _ => return unlike(),
        };
        Ok(Self { nulls: array.logical_nulls(), values })
    }

    fn of_part(part: &Part, array: &ArrayRef) -> Result<Self> {
        match part {
            Part::Logical(logical) => Self::of(logical, array),
            Part::Plain(ty) => {
                let mut buffer = ColumnBuffer::new(*ty);
                fill(&mut buffer, array, 1)?;
                Ok(Self { nulls: array.logical_nulls(), values: Values::Plain(buffer) })
            }
        }
    }

    fn has(&self, row: usize) -> bool {
        !matches!(self.values, Values::Nothing) && self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    }

    /// Appends the value of a row. REQUIRES: it is not NULL.
    ///
    /// # Errors
    /// [`Error::Invalid`]: bytes that are no UUID.
    pub(super) fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match &self.values {
            Values::Plain(buffer) => {
                put_plain(out, buffer.get(row).map_err(|error| Error::Invalid(error.to_string()))?);
            }
            Values::Uuids(uuids) => out.extend_from_slice(uuids.value(row)),
            Values::Bytes(bytes) => match bytes.value(row) {
                uuid if uuid.len() == UUID_LEN as usize => out.extend_from_slice(uuid),
                other => {
                    return Err(Error::Invalid(format!(
                        "{} bytes are no uuid, which has {UUID_LEN}",
                        other.len()
                    )));
                }
            },
            Values::Intervals(intervals) => {
                let IntervalMonthDayNano { months, days, nanoseconds } = intervals.value(row);
                out.extend_from_slice(&Interval { months, days, nanoseconds }.encode());
            }
            Values::List { offsets, items } => {
                put_count(out, offsets[row + 1] - offsets[row]);
                items.write_all(offsets[row], offsets[row + 1], out)?;
            }
            Values::Array { length, items } => items.write_all(row * length, (row + 1) * length, out)?,
            Values::Struct(fields) => {
                put_there(out, fields.len(), |nth| fields[nth].has(row));
                fields.iter().filter(|field| field.has(row)).try_for_each(|field| field.write(row, out))?;
            }
            Values::Map { offsets, keys, values } => {
                put_count(out, offsets[row + 1] - offsets[row]);
                (offsets[row]..offsets[row + 1]).try_for_each(|at| keys.write(at, out))?;
                values.write_all(offsets[row], offsets[row + 1], out)?;
            }
            Values::Nothing => unreachable!("NULL is not written"),
        }
        Ok(())
    }

    /// Appends the items from a place up to another.
    fn write_all(&self, from: usize, to: usize, out: &mut Vec<u8>) -> Result<()> {
        put_there(out, to - from, |nth| self.has(from + nth));
        (from..to).filter(|at| self.has(*at)).try_for_each(|at| self.write(at, out))
    }
}

impl Values {
    fn list<O: Copy + TryInto<usize>>(item: &Part, items: &ArrayRef, offsets: &[O]) -> Result<Self> {
        let (offsets, base, count) = places(offsets);
        Ok(Self::List { offsets, items: Box::new(Encoder::of_part(item, &items.slice(base, count))?) })
    }
}

/// Offsets from the first on, where that is, and how many items there are.
fn places<O: Copy + TryInto<usize>>(offsets: &[O]) -> (Vec<usize>, usize, usize) {
    let place = |offset: &O| (*offset).try_into().unwrap_or(0);
    let base = offsets.first().map_or(0, place);
    let places: Vec<_> = offsets.iter().map(|offset| place(offset) - base).collect();
    let count = places.last().copied().unwrap_or(0);
    (places, base, count)
}

fn intervals(array: &ArrayRef, unit: IntervalUnit) -> PrimitiveArray<IntervalMonthDayNanoType> {
    match unit {
        IntervalUnit::MonthDayNano => array.as_primitive::<IntervalMonthDayNanoType>().clone(),
        IntervalUnit::YearMonth => array
            .as_primitive::<IntervalYearMonthType>()
            .unary(|months| IntervalMonthDayNano::new(months, 0, 0)),
        IntervalUnit::DayTime => array
            .as_primitive::<IntervalDayTimeType>()
            .unary(|of| IntervalMonthDayNano::new(0, of.days, i64::from(of.milliseconds) * 1_000_000)),
    }
}
