//! Bases: the settled, immutable part of a table, in the shape that its owner chose.

pub mod btree;
pub mod column;
#[cfg(test)]
pub(crate) mod conformance;
pub mod key_filter;
