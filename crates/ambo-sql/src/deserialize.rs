//! Rows as structs, by serde.
//!
//! A row is a map of its columns' names, or a sequence of its values. Whole numbers, floats, booleans, text and bytes are what they are.
//! Decimals, dates, times and timestamps are text (`12.50`, `2024-02-29`), which is what the types of other crates for them read; where
//! a number is asked for, a decimal is that number, a date its days since 1970, and a timestamp its microseconds.

use std::fmt;

use ambo::Datum;
use serde::{
    Deserialize,
    de::{
        DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::{SeqDeserializer, StrDeserializer},
    },
    forward_to_deserialize_any,
};

use crate::{Error, Result, Row};

impl Row {
    /// The row as a struct whose fields are called as the columns, as a map, or as a tuple. Columns that a struct does not have are left
    /// out.
    ///
    /// ```
    /// #[derive(serde::Deserialize)]
    /// struct Flight {
    ///     number: u16,
    ///     from: Option<String>,
    ///     price: f64,
    /// }
    ///
    /// let db = ambo_sql::Database::in_memory()?;
    /// let rows = db.sql("select 815 as number, 'SYD' as from, 12.50 as price")?;
    /// let flight: Flight = rows.single()?.deserialize()?;
    /// assert_eq!((flight.number, flight.from.as_deref(), flight.price), (815, Some("SYD"), 12.5));
    /// # Ok::<(), ambo_sql::Error>(())
    /// ```
    ///
    /// # Errors
    /// A field without a column, or a value that is none of the field's type, with the column.
    pub fn deserialize<'de, T: Deserialize<'de>>(&'de self) -> Result<T> {
        T::deserialize(OfRow(self))
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::invalid(message.to_string())
    }
}

struct OfRow<'de>(&'de Row);

impl<'de> Deserializer<'de> for OfRow<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_map(Columns { row: self.0, next: 0 })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_seq(Columns { row: self.0, next: 0 })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, width: usize, visitor: V) -> Result<V::Value> {
        let columns = self.0.values().len();
        match columns == width {
            true => self.deserialize_seq(visitor),
            false => Err(Error::custom(format!("a row of {columns} columns is not read as {width} values"))),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        width: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_tuple(width, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct map
        struct enum identifier ignored_any
    }
}

/// The columns of a row, one after the other.
struct Columns<'de> {
    row: &'de Row,
    next: usize,
}

impl<'de> Columns<'de> {
    /// The next value. What is wrong with it is said with its column.
    fn take<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        let place = self.next;
        self.next += 1;
        let value = &self.row[place];
        seed.deserialize(OfValue(value)).map_err(|error| {
            let error = self.row.in_column(place, &error);
            if value.is_null() { error.with_hint("NULL is read as an Option") } else { error }
        })
    }
}

impl<'de> MapAccess<'de> for Columns<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(name) = self.row.columns().nth(self.next) else { return Ok(None) };
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        self.take(seed)
    }
}

impl<'de> SeqAccess<'de> for Columns<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        (self.next < self.row.values().len()).then(|| self.take(seed)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.row.values().len() - self.next)
    }
}

struct OfValue<'de>(&'de Datum);

impl<'de> OfValue<'de> {
    /// A whole number: of what is stored as one.
    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match *self.0 {
            Datum::Date32(days) => visitor.visit_i32(days),
            Datum::Time64(nanos) => visitor.visit_i64(nanos),
            Datum::Timestamp(micros) | Datum::TimestampTz(micros) => visitor.visit_i64(micros),
            Datum::Decimal128 { unscaled, scale: 0 } => match i64::try_from(unscaled) {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => visitor.visit_i128(unscaled),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    /// A float: of any number.
    fn float<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Datum::F32(number) => visitor.visit_f32(*number),
            number => match number.as_ref().as_f64() {
                Some(number) => visitor.visit_f64(number),
                None => self.deserialize_any(visitor),
            },
        }
    }
}

macro_rules! by {
    ($act:ident: $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.$act(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for OfValue<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Datum::Null => visitor.visit_unit(),
            Datum::Bool(value) => visitor.visit_bool(*value),
            Datum::I8(number) => visitor.visit_i8(*number),
            Datum::I16(number) => visitor.visit_i16(*number),
            Datum::I32(number) => visitor.visit_i32(*number),
            Datum::I64(number) => visitor.visit_i64(*number),
            Datum::U8(number) => visitor.visit_u8(*number),
            Datum::U16(number) => visitor.visit_u16(*number),
            Datum::U32(number) => visitor.visit_u32(*number),
            Datum::U64(number) => visitor.visit_u64(*number),
            Datum::F32(number) => visitor.visit_f32(*number),
            Datum::F64(number) => visitor.visit_f64(*number),
            Datum::Utf8(text) => visitor.visit_borrowed_str(text),
            Datum::Binary(bytes) => visitor.visit_borrowed_bytes(bytes),
            Datum::Decimal128 { .. }
            | Datum::Date32(_)
            | Datum::Time64(_)
            | Datum::Timestamp(_)
            | Datum::TimestampTz(_) => visitor.visit_string(self.0.to_string()),
        }
    }

    by! { number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
    deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 }
    by! { float: deserialize_f32 deserialize_f64 }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.is_null() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    /// A variant without values, by its name.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.0 {
            Datum::Utf8(text) => {
                let text: StrDeserializer<'_, Error> = text.as_str().into_deserializer();
                text.deserialize_enum(name, variants, visitor)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    /// Bytes, one by one.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Datum::Binary(bytes) => visitor.visit_seq(SeqDeserializer::new(bytes.iter().copied())),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct tuple tuple_struct map struct identifier ignored_any
    }
}
