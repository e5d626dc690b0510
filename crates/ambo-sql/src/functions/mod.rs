//! Functions of ours beside the planner's. Others that it lacks are expressions of those that it has (`planner/functions.rs`).

mod age;
mod date_diff;
mod mode;
mod printf;
mod regexp_extract;
mod sign;
mod type_name;

use std::sync::Arc;

use datafusion::{
    execution::{FunctionRegistry, SessionState},
    logical_expr::{AggregateUDF, ScalarUDF},
};

use crate::Result;

/// Adds them to what the planner knows.
pub(crate) fn add_functions(state: &mut SessionState) -> Result<()> {
    let scalars = [
        ScalarUDF::new_from_impl(age::Age::new()),
        ScalarUDF::new_from_impl(date_diff::DateDiff::new()),
        ScalarUDF::new_from_impl(printf::Printf::new()),
        ScalarUDF::new_from_impl(regexp_extract::RegexpExtract::new()),
        ScalarUDF::new_from_impl(sign::Sign::new()),
        ScalarUDF::new_from_impl(type_name::TypeOf::new()),
    ];
    for scalar in scalars {
        state.register_udf(Arc::new(scalar))?;
    }
    state.register_udaf(Arc::new(AggregateUDF::new_from_impl(mode::Mode::new())))?;
    Ok(())
}
