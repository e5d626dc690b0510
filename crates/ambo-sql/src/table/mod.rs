//! Tables as the planner sees them.

mod aggregate;
mod computed;
mod distinct;
pub(crate) mod filter;
mod leaf;
mod number;
mod predicate;
mod provider;
mod range;
mod scan;
mod statistics;
mod stream;
mod tops;

pub(crate) use aggregate::{AggregateInStorage, in_storage};
pub(crate) use computed::{is_computed, of_source, rows_identity};
pub(crate) use provider::{Hidden, ROW_NUMBER, StoredTable, bare};
pub(crate) use scan::TableScanExec;
pub(crate) use statistics::{Figures, UNKNOWN_SHARE};
pub(crate) use tops::TopsOfLeaves;
