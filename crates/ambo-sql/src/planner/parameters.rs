//! Parameters of statements.

use std::{ops::ControlFlow, sync::Arc};

use arrow::datatypes::Field;
use datafusion::{
    common::ScalarValue,
    sql::{planner::PlannerContext, sqlparser::ast},
};

use crate::walk::Walk;

/// How many parameters a statement has. All of them have numbers.
pub(crate) fn count_parameters(statement: &impl Walk) -> usize {
    struct Greatest(usize);
    impl ast::Visitor for Greatest {
        type Break = ();
        fn pre_visit_value(&mut self, value: &ast::ValueWithSpan) -> ControlFlow<()> {
            if let ast::Value::Placeholder(name) = &value.value
                && let Ok(number) = name.trim_start_matches('$').parse()
            {
                self.0 = self.0.max(number);
            }
            ControlFlow::Continue(())
        }
    }
    let mut greatest = Greatest(0);
    let _ = statement.walk(&mut greatest);
    greatest.0
}

/// A context in which parameters have the types of their values.
pub(super) fn with_types(params: &[ScalarValue]) -> PlannerContext {
    let field = |value: &ScalarValue| Some(Arc::new(Field::new("", value.data_type(), true)));
    PlannerContext::new().with_prepare_param_data_types(params.iter().map(field).collect())
}
