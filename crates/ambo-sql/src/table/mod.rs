//! Tables as the planner sees them.

mod aggregate;
pub(crate) mod filter;
mod leaf;
mod predicate;
mod provider;
mod scan;
mod statistics;
mod stream;

pub(crate) use aggregate::AggregateInStorage;
pub(crate) use provider::{ROW_NUMBER, StoredTable};
pub(crate) use statistics::Figures;
