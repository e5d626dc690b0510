//! Loads of column tables.

mod changes;
mod concurrent;
mod model;
mod rows;
mod simple;

pub use rows::{columns, load_numbers};
