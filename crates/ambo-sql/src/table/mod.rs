//! Tables as the planner sees them.

mod aggregate;
pub(crate) mod filter;
mod provider;
mod scan;
mod statistics;

pub(crate) use aggregate::AggregateInStorage;
pub(crate) use provider::{ROW_NUMBER, StoredTable};
