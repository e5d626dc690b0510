//! Pure transformations of bytes: no I/O, no hidden state, every decoder safe on hostile input.
//!
//! * [`Type`], [`Value`], [`ValueRef`]: what a column may hold, and how values of one column are ordered.
//! * [`KeySpec`]: keys of one or more columns as bytes whose `memcmp` order is the columns' order
//!   (`docs/formats/keys.md`).
//! * [`RowSpec`]: sparse rows, a 4-bit code a field and then only the bytes that are needed
//!   (`docs/formats/rows.md`).
//! * [`bitmap`]: compressed sets of row positions (`docs/formats/bitmaps.md`).
//! * [`varint`]: LEB128 and zigzag.
//!
//! ```
//! use ambo_codec::{KeyColumn, KeySpec, RowColumn, RowSpec, Type, Value, ValueRef};
//!
//! let keys = KeySpec::new(vec![KeyColumn::new(Type::I64)])?;
//! let mut key = Vec::new();
//! keys.encode(&[ValueRef::from(7i64)], &mut key)?;
//! assert_eq!(keys.decode(&key)?, [Value::from(7i64)]);
//!
//! let rows = RowSpec::new(vec![RowColumn::new(Type::Utf8), RowColumn::new(Type::I32).nullable()])?;
//! let mut row = Vec::new();
//! rows.encode(&["Delft".into(), ValueRef::Null], &mut row)?;
//! assert_eq!(rows.decode_column(&row, 0)?, ValueRef::Utf8("Delft"));
//! # Ok::<(), ambo_codec::Error>(())
//! ```

// `unsafe` is for SIMD and other leaves only, which allow it one by one.
#![deny(unsafe_code)]

pub mod bitmap;
pub mod calendar;
pub mod column;
mod error;
pub mod integer;
mod key;
mod prefetch;
pub mod record;
mod row;
mod types;
mod value;
pub mod varint;

pub use error::{Error, Result};
pub use integer::Damaged;
pub use key::{KeyColumn, KeyRange, KeySpec, Order, successor};
pub use prefetch::prefetch;
pub use row::{Fields, Projection, RowColumn, RowSpec};
pub use types::Type;
pub use value::{Value, ValueRef};
