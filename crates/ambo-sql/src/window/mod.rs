//! Window functions: the planner's, and around them what they lack.

mod fill;
mod framed;
mod in_order;
mod nth;
mod numbering;
mod running;
mod shift;

use std::sync::Arc;

use datafusion::{execution::SessionStateDefaults, logical_expr::WindowUDF};

pub(crate) use framed::{Exclude, framed};
pub(crate) use in_order::in_order_without;
pub(crate) use running::{RunningValues, RunningWindows, Runs};

/// The planner's window functions, ours in their places.
pub(crate) fn window_functions() -> Vec<Arc<WindowUDF>> {
    let mut all = SessionStateDefaults::default_window_functions();
    for function in &mut all {
        let ours = match function.name() {
            "row_number" | "rank" | "dense_rank" | "ntile" => numbering::signed(function.clone()),
            "lead" => shift::shift(function.clone(), true),
            "lag" => shift::shift(function.clone(), false),
            "nth_value" => nth::nth_value(function.clone()),
            _ => continue,
        };
        *function = Arc::new(ours);
    }
    all.extend(in_order::all().map(Arc::new));
    all.push(Arc::new(fill::fill()));
    all
}
