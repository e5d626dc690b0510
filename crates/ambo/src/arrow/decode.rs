//! Stored values of a logical type as Arrow's arrays.

use std::sync::Arc;

use ambo_engine::catalog::{Interval, logical::nested::Reader};
use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, FixedSizeListArray, ListArray, MapArray, PrimitiveArray, StructArray,
    cast::AsArray, types::IntervalMonthDayNanoType,
};
use arrow_buffer::{Buffer, IntervalMonthDayNano, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::{
    export::refused,
    logical::{UUID_LEN, enums, logical_type, wide},
    rows,
};
use crate::{ColumnBuffer, Error, Logical, Part, Result};

/// Takes values one after the other, and becomes an array of them.
pub(super) struct Decoder<'l> {
    logical: &'l Logical,
    valid: Vec<bool>,
    values: Values<'l>,
}

enum Values<'l> {
    Uuids(Vec<u8>),
    Intervals(Vec<IntervalMonthDayNano>),
    Texts(ColumnBuffer),
    /// Bytes of bits or geometries.
    Bytes(ColumnBuffer),
    Codes(ColumnBuffer),
    List {
        ends: Vec<i32>,
        items: Box<Items<'l>>,
    },
    Array {
        length: usize,
        items: Box<Items<'l>>,
    },
    Struct(Vec<Items<'l>>),
    Map {
        ends: Vec<i32>,
        keys: Box<Items<'l>>,
        values: Box<Items<'l>>,
    },
}

/// What is within.
enum Items<'l> {
    Plain(ColumnBuffer),
    Logical(Decoder<'l>),
}

type Read<T> = std::result::Result<T, String>;

impl<'l> Decoder<'l> {
    /// For so many values.
    pub(super) fn of(logical: &'l Logical, rows: usize) -> Self {
        let items = |part: &'l Part| Box::new(Items::of(part, rows));
        let values = match logical {
            Logical::Uuid => Values::Uuids(Vec::with_capacity(rows * UUID_LEN as usize)),
            Logical::Interval => Values::Intervals(Vec::with_capacity(rows)),
            Logical::Json | Logical::Collated(_) => Values::Texts(ColumnBuffer::new(logical.kind())),
            Logical::Enum(_) => Values::Codes(ColumnBuffer::new(logical.kind())),
            Logical::Bit | Logical::Geometry => Values::Bytes(ColumnBuffer::new(logical.kind())),
            Logical::List(item) => Values::List { ends: vec![0], items: items(item) },
            Logical::Array(item, length) => Values::Array { length: *length as usize, items: items(item) },
            Logical::Struct(fields) => {
                Values::Struct(fields.iter().map(|(_, part)| Items::of(part, rows)).collect())
            }
            Logical::Map(key, value) => Values::Map { ends: vec![0], keys: items(key), values: items(value) },
        };
        Self { logical, valid: Vec::with_capacity(rows), values }
    }

    /// Takes a stored value.
    pub(super) fn push(&mut self, stored: &[u8]) -> Read<()> {
        if let Values::Bytes(buffer) = &mut self.values {
            self.valid.push(true);
            return buffer.push(stored.into()).map_err(|error| error.to_string());
        }
        let mut reader = Reader::new(stored);
        self.read(&mut reader)?;
        reader.finish()
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.valid.push(false);
        match &mut self.values {
            Values::Uuids(bytes) => bytes.resize(bytes.len() + UUID_LEN as usize, 0),
            Values::Intervals(all) => all.push(IntervalMonthDayNano::new(0, 0, 0)),
            Values::Texts(buffer) | Values::Codes(buffer) | Values::Bytes(buffer) => push_null(buffer)?,
            Values::List { ends, .. } | Values::Map { ends, .. } => ends.push(ends[ends.len() - 1]),
            Values::Array { length, items } => (0..*length).try_for_each(|_| items.push_null())?,
            Values::Struct(fields) => fields.iter_mut().try_for_each(Items::push_null)?,
        }
        Ok(())
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        self.valid.push(true);
        match &mut self.values {
            Values::Uuids(bytes) => bytes.extend_from_slice(reader.take(UUID_LEN as usize)?),
            Values::Intervals(all) => {
                let Interval { months, days, nanoseconds } = reader.interval()?;
                all.push(IntervalMonthDayNano::new(months, days, nanoseconds));
            }
            Values::Texts(buffer) => {
                buffer.push(reader.text()?.into()).map_err(|error| error.to_string())?;
            }
            Values::Codes(buffer) | Values::Bytes(buffer) => {
                buffer.push(reader.plain(buffer.ty())?).map_err(|error| error.to_string())?;
            }
            Values::List { ends, items } => {
                let count = reader.count()?;
                items.read_all(count, reader)?;
                ends.push(end(ends, count)?);
            }
            Values::Array { length, items } => items.read_all(*length, reader)?,
            Values::Struct(fields) => {
                let there = reader.there(fields.len())?;
                for (nth, field) in fields.iter_mut().enumerate() {
                    match there.has(nth) {
                        true => field.read(reader)?,
                        false => field.push_null().map_err(|error| error.to_string())?,
                    }
                }
            }
            Values::Map { ends, keys, values } => {
                let count = reader.count()?;
                (0..count).try_for_each(|_| keys.read(reader))?;
                values.read_all(count, reader)?;
                ends.push(end(ends, count)?);
            }
        }
        Ok(())
    }

    /// All values that were taken.
    pub(super) fn finish(self) -> Result<ArrayRef> {
        let nulls = self.valid.contains(&false).then(|| NullBuffer::from(&self.valid[..]));
        let rows = self.valid.len();
        Ok(match (self.values, logical_type(self.logical)) {
            (Values::Uuids(bytes), _) => {
                let bytes = Buffer::from_vec(bytes);
                Arc::new(FixedSizeBinaryArray::try_new(UUID_LEN, bytes, nulls).map_err(refused)?)
            }
            (Values::Intervals(all), _) => {
                let all = PrimitiveArray::<IntervalMonthDayNanoType>::try_new(all.into(), nulls);
                Arc::new(all.map_err(refused)?)
            }
            (Values::Texts(buffer), _) => rows::array(buffer)?,
            (Values::Bytes(buffer), ty) => wide(rows::array(buffer)?.as_binary(), &ty),
            (Values::Codes(buffer), ty) => enums(&rows::array(buffer)?, &ty)?,
            (Values::List { ends, items }, DataType::List(item)) => {
                Arc::new(ListArray::try_new(item, offsets(ends), items.finish()?, nulls).map_err(refused)?)
            }
            (Values::Array { length, items }, DataType::FixedSizeList(item, _)) => {
                let items = items.finish()?;
                Arc::new(FixedSizeListArray::try_new(item, length as i32, items, nulls).map_err(refused)?)
            }
            (Values::Struct(items), DataType::Struct(fields)) => {
                Arc::new(struct_of(fields, items, rows, nulls)?)
            }
            (Values::Map { ends, keys, values }, DataType::Map(entries, sorted)) => {
                let DataType::Struct(fields) = entries.data_type() else {
                    unreachable!("entries are structs")
                };
                let count = ends[ends.len() - 1] as usize;
                let of_entries = struct_of(fields.clone(), vec![*keys, *values], count, None)?;
                Arc::new(
                    MapArray::try_new(entries, offsets(ends), of_entries, nulls, sorted).map_err(refused)?,
                )
            }
            (_, ty) => return Err(Error::Invalid(format!("values of type {} are not {ty}", self.logical))),
        })
    }
}

impl<'l> Items<'l> {
    fn of(part: &'l Part, rows: usize) -> Self {
        match part {
            Part::Plain(ty) => Self::Plain(ColumnBuffer::new(*ty)),
            Part::Logical(logical) => Self::Logical(Decoder::of(logical, rows)),
        }
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        match self {
            Self::Plain(buffer) => buffer.push(reader.plain(buffer.ty())?).map_err(|error| error.to_string()),
            Self::Logical(decoder) => decoder.read(reader),
        }
    }

    fn read_all(&mut self, count: usize, reader: &mut Reader<'_>) -> Read<()> {
        let there = reader.there(count)?;
        for nth in 0..count {
            match there.has(nth) {
                true => self.read(reader)?,
                false => self.push_null().map_err(|error| error.to_string())?,
            }
        }
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        match self {
            Self::Plain(buffer) => push_null(buffer),
            Self::Logical(decoder) => decoder.push_null(),
        }
    }

    fn finish(self) -> Result<ArrayRef> {
        match self {
            Self::Plain(buffer) => rows::array(buffer),
            Self::Logical(decoder) => decoder.finish(),
        }
    }
}

fn push_null(buffer: &mut ColumnBuffer) -> Result<()> {
    buffer.push(crate::DatumRef::Null).map_err(|error| Error::Invalid(error.to_string()))
}

/// Where so many more items end.
fn end(ends: &[i32], count: usize) -> Read<i32> {
    let last = ends[ends.len() - 1];
    i32::try_from(count)
        .ok()
        .and_then(|count| last.checked_add(count))
        .ok_or_else(|| "too many items in one batch".into())
}

fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(ends))
}

fn struct_of(
    fields: arrow_schema::Fields,
    items: Vec<Items<'_>>,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<StructArray> {
    let columns = items.into_iter().map(Items::finish).collect::<Result<Vec<_>>>()?;
    debug_assert!(columns.iter().all(|column| column.len() == rows));
    StructArray::try_new(fields, columns, nulls).map_err(refused)
}
