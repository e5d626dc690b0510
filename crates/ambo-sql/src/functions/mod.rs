//! Functions of ours beside the planner's. Others that it lacks are expressions of those that it has (`planner/functions.rs`).

mod age;
mod arg_extreme;
mod date_diff;
mod has;
mod joined;
mod length;
mod list_mode;
mod map_element;
mod mode;
mod nested_greatest;
mod nested_order;
mod nested_text;
mod one_zero;
mod patterns;
mod printf;
mod quantified;
mod regexp_extract;
mod sign;
mod type_name;

use std::sync::Arc;

use datafusion::{
    execution::{FunctionRegistry, SessionState},
    logical_expr::{AggregateUDF, ScalarUDF},
};

use crate::{
    Result,
    numbers::{Abs, Average, Power, Root, Round, Sum},
    optimizer::over_frames,
    times,
};
pub(crate) use arg_extreme::nested_extreme;
pub(crate) use joined::Joined;
pub(crate) use map_element::MapElement;
pub(crate) use nested_greatest::NestedGreatest;
pub(crate) use nested_order::NestedOrder;
pub(crate) use nested_text::NestedText;
pub(crate) use one_zero::{OneZero, has_zeros};

/// Adds them to what the planner knows.
pub(crate) fn add_functions(state: &mut SessionState) -> Result<()> {
    let scalars = [
        ScalarUDF::new_from_impl(Abs::new()),
        ScalarUDF::new_from_impl(age::Age::new()),
        ScalarUDF::new_from_impl(date_diff::DateDiff::new()),
        ScalarUDF::new_from_impl(has::Has::any()),
        ScalarUDF::new_from_impl(has::Has::all()),
        ScalarUDF::new_from_impl(length::Length::new()),
        ScalarUDF::new_from_impl(patterns::Pattern::like()),
        ScalarUDF::new_from_impl(patterns::Pattern::similar()),
        ScalarUDF::new_from_impl(list_mode::ListMode::new()),
        ScalarUDF::new_from_impl(printf::Printf::new()),
        ScalarUDF::new_from_impl(Power::new()),
        ScalarUDF::new_from_impl(Root::new()),
        ScalarUDF::new_from_impl(Round::new()),
        ScalarUDF::new_from_impl(regexp_extract::RegexpExtract::new()),
        ScalarUDF::new_from_impl(sign::Sign::new()),
        ScalarUDF::new_from_impl(type_name::TypeOf::new()),
    ];
    let quantified = quantified::Quantified::every().map(ScalarUDF::new_from_impl);
    for scalar in scalars.into_iter().chain(quantified).chain(times::functions::all()) {
        state.register_udf(Arc::new(scalar))?;
    }
    let aggregates = [
        AggregateUDF::new_from_impl(arg_extreme::ArgExtreme::new(true)),
        AggregateUDF::new_from_impl(arg_extreme::ArgExtreme::new(false)),
        AggregateUDF::new_from_impl(mode::Mode::new()),
        AggregateUDF::new_from_impl(Sum::new()),
        AggregateUDF::new_from_impl(Average::new()),
    ];
    for aggregate in aggregates {
        state.register_udaf(Arc::new(aggregate))?;
    }
    // The planner's is NULL where all y are equal; in SQL it is 1.
    if let Some(determination) = over_frames("regr_r2", 2) {
        state.register_udaf(determination)?;
    }
    Ok(())
}
