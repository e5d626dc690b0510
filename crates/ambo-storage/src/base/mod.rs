//! Bases: the settled, immutable part of a table, in the shape that its owner chose.

pub mod btree;
#[cfg(test)]
pub(crate) mod conformance;
