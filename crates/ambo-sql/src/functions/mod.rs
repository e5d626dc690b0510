//! Functions of ours beside the planner's. Others that it lacks are expressions of those that it has (`planner/functions.rs`).

mod mode;
mod printf;
mod sign;

use std::sync::Arc;

use datafusion::{
    execution::{FunctionRegistry, SessionState},
    logical_expr::{AggregateUDF, ScalarUDF},
};

use crate::Result;

/// Adds them to what the planner knows.
pub(crate) fn add_functions(state: &mut SessionState) -> Result<()> {
    state.register_udf(Arc::new(ScalarUDF::new_from_impl(sign::Sign::new())))?;
    state.register_udf(Arc::new(ScalarUDF::new_from_impl(printf::Printf::new())))?;
    state.register_udaf(Arc::new(AggregateUDF::new_from_impl(mode::Mode::new())))?;
    Ok(())
}
