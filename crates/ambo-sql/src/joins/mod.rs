//! In which order joins are done.

mod estimate;
mod graph;
mod order;

pub(crate) use order::JoinOrder;
