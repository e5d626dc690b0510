//! In which order joins are done, and what is done before them.

mod chosen;
mod codes;
mod estimate;
mod graph;
mod groups_first;
mod keys;
mod lift;
mod order;
mod parts;
mod sets_of_groups;

pub(crate) use codes::{ByCodes, CodesPlanner};
pub(crate) use estimate::{combinations, rows as estimated_rows};
pub(crate) use graph::is_subquery;
pub(crate) use groups_first::GroupsFirst;
pub(crate) use keys::{FoundKeys, JoinKeys};
pub(crate) use order::JoinOrder;
pub(crate) use sets_of_groups::SetsOfGroups;
