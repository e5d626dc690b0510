//! Values of rows as Rust values.

use ambo::Datum;

use crate::{Error, Result, Row};

/// A Rust type that values of rows become.
pub trait FromValue: Sized {
    /// The value.
    ///
    /// # Errors
    /// A value of another kind, or one that does not fit.
    fn from_value(value: &Datum) -> Result<Self>;
}

/// Rust types that whole rows become: a value, or a tuple of up to twelve.
pub trait FromRow: Sized {
    /// The row.
    ///
    /// # Errors
    /// Another number of columns, or a value that is none of its type.
    fn from_row(row: &Row) -> Result<Self>;
}

fn unlike(value: &Datum, wanted: &str) -> Error {
    match value {
        Datum::Null => Error::invalid(format!("NULL is no {wanted}; read it as an Option")),
        value => Error::invalid(format!("{value} is no {wanted}")),
    }
}

impl FromValue for Datum {
    fn from_value(value: &Datum) -> Result<Self> {
        Ok(value.clone())
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Datum) -> Result<Self> {
        match value {
            Datum::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}

macro_rules! integers {
    ($($rust:ty),*) => {$(
        impl FromValue for $rust {
            fn from_value(value: &Datum) -> Result<Self> {
                let number = match value {
                    Datum::I8(number) => i128::from(*number),
                    Datum::I16(number) => i128::from(*number),
                    Datum::I32(number) => i128::from(*number),
                    Datum::I64(number) => i128::from(*number),
                    Datum::U8(number) => i128::from(*number),
                    Datum::U16(number) => i128::from(*number),
                    Datum::U32(number) => i128::from(*number),
                    Datum::U64(number) => i128::from(*number),
                    Datum::Decimal128 { unscaled, scale: 0 } => *unscaled,
                    other => return Err(unlike(other, stringify!($rust))),
                };
                <$rust>::try_from(number).map_err(|_| unlike(value, stringify!($rust)))
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64, usize);

impl FromValue for f64 {
    fn from_value(value: &Datum) -> Result<Self> {
        value.as_ref().as_f64().ok_or_else(|| unlike(value, "number"))
    }
}

impl FromValue for f32 {
    fn from_value(value: &Datum) -> Result<Self> {
        match value {
            Datum::F32(number) => Ok(*number),
            value => Err(unlike(value, "f32")),
        }
    }
}

impl FromValue for bool {
    fn from_value(value: &Datum) -> Result<Self> {
        match value {
            Datum::Bool(value) => Ok(*value),
            value => Err(unlike(value, "boolean")),
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Datum) -> Result<Self> {
        match value {
            Datum::Utf8(text) => Ok(text.clone()),
            value => Err(unlike(value, "text")),
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Datum) -> Result<Self> {
        match value {
            Datum::Binary(bytes) => Ok(bytes.clone()),
            value => Err(unlike(value, "binary")),
        }
    }
}

fn check_width(row: &Row, wanted: usize) -> Result<()> {
    let width = row.values().len();
    match width == wanted {
        true => Ok(()),
        false => Err(Error::invalid(format!("a row of {width} columns is not read as {wanted} values"))),
    }
}

impl<T: FromValue> FromRow for T {
    fn from_row(row: &Row) -> Result<Self> {
        check_width(row, 1)?;
        row.get(0)
    }
}

/// Calls a macro with each number of values that a tuple may have, as letters and places.
macro_rules! for_tuples {
    ($act:ident) => {
        $act!(A 0);
        $act!(A 0, B 1);
        $act!(A 0, B 1, C 2);
        $act!(A 0, B 1, C 2, D 3);
        $act!(A 0, B 1, C 2, D 3, E 4);
        $act!(A 0, B 1, C 2, D 3, E 4, F 5);
        $act!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
        $act!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
        $act!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
        $act!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
        $act!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
        $act!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
    };
}

macro_rules! from_row {
    ($($name:ident $place:tt),*) => {
        impl<$($name: FromValue),*> FromRow for ($($name,)*) {
            fn from_row(row: &Row) -> Result<Self> {
                check_width(row, [$($place),*].len())?;
                Ok(($(row.get::<$name>($place)?,)*))
            }
        }
    };
}

for_tuples!(from_row);

/// Values for the parameters of a statement: a tuple, a slice of values, or `()` for none.
pub trait Params {
    /// The values, first to last.
    fn values(self) -> Vec<Datum>;
}

impl Params for &[Datum] {
    fn values(self) -> Vec<Datum> {
        self.to_vec()
    }
}

impl<const N: usize> Params for &[Datum; N] {
    fn values(self) -> Vec<Datum> {
        self.to_vec()
    }
}

impl Params for Vec<Datum> {
    fn values(self) -> Vec<Datum> {
        self
    }
}

impl Params for () {
    fn values(self) -> Vec<Datum> {
        Vec::new()
    }
}

macro_rules! params {
    ($($name:ident $place:tt),*) => {
        impl<$($name: Into<Datum>),*> Params for ($($name,)*) {
            fn values(self) -> Vec<Datum> {
                vec![$(self.$place.into()),*]
            }
        }
    };
}

for_tuples!(params);
