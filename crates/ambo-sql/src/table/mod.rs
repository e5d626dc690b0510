//! Tables as the planner sees them.

pub(crate) mod filter;
mod provider;
mod scan;

pub(crate) use provider::{ROW_NUMBER, StoredTable};
