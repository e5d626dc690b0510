//! Parameters of statements.

use std::{ops::ControlFlow, sync::Arc};

use arrow::datatypes::Field;
use datafusion::{
    common::ScalarValue,
    sql::{planner::PlannerContext, sqlparser::ast},
};

use crate::{Error, Result};

/// Gives the parameters `?` of a statement numbers, first to last. Returns how many parameters there are.
///
/// # Errors
/// `?` and `$1` in one statement.
pub(crate) fn number_parameters(statement: &mut ast::Statement) -> Result<usize> {
    struct Numbering {
        marks: usize,
        greatest: usize,
    }
    impl ast::VisitorMut for Numbering {
        type Break = ();
        fn pre_visit_value(&mut self, value: &mut ast::ValueWithSpan) -> ControlFlow<()> {
            if let ast::Value::Placeholder(name) = &mut value.value {
                if name == "?" {
                    self.marks += 1;
                    *name = format!("${}", self.marks);
                } else if let Ok(number) = name.trim_start_matches('$').parse() {
                    self.greatest = self.greatest.max(number);
                }
            }
            ControlFlow::Continue(())
        }
    }
    let mut numbering = Numbering { marks: 0, greatest: 0 };
    let _ = ast::VisitMut::visit(statement, &mut numbering);
    match (numbering.marks, numbering.greatest) {
        (marks, 0) => Ok(marks),
        (0, greatest) => Ok(greatest),
        _ => Err(Error::invalid("a statement has its parameters as ? or as $1, $2 …, not both")),
    }
}

/// A context in which parameters have the types of their values.
pub(super) fn with_types(params: &[ScalarValue]) -> PlannerContext {
    let field = |value: &ScalarValue| Some(Arc::new(Field::new("", value.data_type(), true)));
    PlannerContext::new().with_prepare_param_data_types(params.iter().map(field).collect())
}
