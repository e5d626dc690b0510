//! What indexes over expressions are over, as conditions of statements have it.

use std::sync::Arc;

use ambo::TableDefinition;
use datafusion::{
    common::DFSchema,
    logical_expr::{Expr, simplify::SimplifyContext, utils::split_conjunction},
    optimizer::simplify_expressions::ExprSimplifier,
    sql::sqlparser::ast,
};

use super::Planner;
use crate::{
    Result,
    hidden::{is_hidden, parts, seen},
    table::{Hidden, bare},
    value::field_of,
};

impl Planner<'_> {
    /// What columns of a table are made of that nobody sees; none of those that cannot be planned any more.
    pub(super) fn hidden(&self, table: &TableDefinition) -> Vec<Hidden> {
        if !table.columns.iter().any(is_hidden) {
            return Vec::new();
        }
        let fields = seen(table).map(|place| field_of(&table.columns[place])).collect::<Vec<_>>();
        let schema = DFSchema::try_from(arrow::datatypes::Schema::new(fields));
        let Ok(schema) = schema else { return Vec::new() };
        let of = |column: &ambo::Column| {
            let (condition, value) = parts(column).ok()??;
            let conditions = match condition {
                None => Vec::new(),
                Some(condition) => {
                    let condition = self.as_planned(condition, &schema).ok()?;
                    split_conjunction(&condition).into_iter().map(bare).collect()
                }
            };
            let value = bare(&self.as_planned(value, &schema).ok()?);
            Some(Hidden { name: column.name.clone(), value, conditions })
        };
        table.columns.iter().filter_map(of).collect()
    }

    /// An expression as it is in a plan that was simplified.
    fn as_planned(&self, expr: ast::Expr, schema: &DFSchema) -> Result<Expr> {
        let expr = self.expr(expr, schema, &[])?;
        let context = SimplifyContext::builder()
            .with_schema(Arc::new(schema.clone()))
            .with_config_options(self.state.config_options().clone())
            .build();
        let simplifier = ExprSimplifier::new(context);
        Ok(simplifier.simplify(simplifier.coerce(expr, schema)?)?)
    }
}
