//! Joins: in which order they are done, and that they can be left.

mod cooperative;
mod estimate;
mod graph;
mod order;

pub(crate) use cooperative::CooperativeJoins;
pub(crate) use order::JoinOrder;
