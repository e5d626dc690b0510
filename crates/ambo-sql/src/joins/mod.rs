//! Joins: in which order they are done, and that they can be left.

mod cooperative;
mod estimate;
mod graph;
mod order;
mod unique_names;

use cooperative::CooperativeJoins;
pub(crate) use order::JoinOrder;
pub(crate) use unique_names::physical_rules;
