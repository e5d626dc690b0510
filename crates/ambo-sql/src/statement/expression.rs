//! Expressions that are kept with a table as text: defaults and checks.

use std::{ops::ControlFlow, sync::Arc};

use ambo::{Datum, TableDefinition};
use arrow::{
    array::{RecordBatch, RecordBatchOptions},
    datatypes::{DataType, Schema, SchemaRef},
};
use datafusion::{
    common::{DFSchema, tree_node::TreeNode},
    error::DataFusionError,
    logical_expr::{Expr, ExprSchemable, Volatility},
    optimizer::simplify_expressions::{ExprSimplifier, SimplifyContext},
    physical_plan::PhysicalExpr,
    sql::sqlparser::ast::{self, Visitor, VisitorMut},
};

use super::cast::{is_assignable, strict_cast};
use crate::{
    Error, Result,
    collations::compared,
    error::type_in_sql,
    names::{ident, last},
    numbers::{CASTS, CHECKED, beside_doubles},
    optimizer::lazy_value,
    planner::Planner,
    times::{
        Zone,
        rules::{before, behind},
    },
    value::{field_of, value_at},
    walk::{Walk, WalkMut},
};

/// The columns of a table as its checks see them.
pub(super) fn row_schema(definition: &TableDefinition) -> SchemaRef {
    let field = |column: &ambo::Column| field_of(column).with_nullable(true);
    Arc::new(Schema::new(definition.columns.iter().map(field).collect::<Vec<_>>()))
}

/// Refuses what no kept expression may have: queries and parameters. `what` is what it is to be.
pub(super) fn refuse_queries(expr: &ast::Expr, what: &str) -> Result<()> {
    struct Refusal;
    impl Visitor for Refusal {
        type Break = &'static str;
        fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<&'static str> {
            ControlFlow::Break("a subquery")
        }
        fn pre_visit_value(&mut self, value: &ast::ValueWithSpan) -> ControlFlow<&'static str> {
            match &value.value {
                ast::Value::Placeholder(_) => ControlFlow::Break("a parameter"),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match expr.walk(&mut Refusal) {
        ControlFlow::Break(found) => Err(Error::invalid(format!("a {what} cannot have {found}"))),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Refuses parameters, in a query that is kept.
pub(crate) fn refuse_parameters(tree: &impl Walk, what: &str) -> Result<()> {
    struct Refusal;
    impl Visitor for Refusal {
        type Break = ();
        fn pre_visit_value(&mut self, value: &ast::ValueWithSpan) -> ControlFlow<()> {
            match &value.value {
                ast::Value::Placeholder(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match tree.walk(&mut Refusal) {
        ControlFlow::Break(()) => Err(Error::invalid(format!("a {what} cannot have a parameter"))),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Takes the table's name from before its columns, so that the expression is good when the table is renamed.
pub(super) fn unqualify(expr: &mut ast::Expr, table: &str) {
    struct Unqualify<'a>(&'a str);
    impl VisitorMut for Unqualify<'_> {
        type Break = ();
        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
            if let ast::Expr::CompoundIdentifier(parts) = expr
                && let [table, column] = &parts[..]
                && ident(table) == self.0
            {
                *expr = ast::Expr::Identifier(column.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let _ = expr.walk_mut(&mut Unqualify(last(table)));
}

/// Gives a column another name where an expression has it. Returns whether it had.
pub(super) fn rename(expr: &mut ast::Expr, from: &str, to: &str) -> bool {
    struct Rename<'a>(&'a str, &'a str, bool);
    impl VisitorMut for Rename<'_> {
        type Break = ();
        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
            if let ast::Expr::Identifier(name) = expr
                && ident(name) == self.0
            {
                *name = ast::Ident::with_quote('"', self.1);
                self.2 = true;
            }
            ControlFlow::Continue(())
        }
    }
    let mut renaming = Rename(from, to, false);
    let _ = expr.walk_mut(&mut renaming);
    renaming.2
}

/// An expression over rows of a schema that can be computed.
pub(super) struct Computed {
    expr: Arc<dyn PhysicalExpr>,
    ty: DataType,
    zone: Zone,
    /// When its value may change: never, from statement to statement, or from row to row.
    pub volatility: Volatility,
}

impl Computed {
    /// Prepares an expression. `what` is what it is to be.
    ///
    /// # Errors
    /// Columns and functions that are not there, types that do not fit, aggregates.
    pub fn new(planner: &Planner<'_>, expr: ast::Expr, schema: &SchemaRef, what: &str) -> Result<Self> {
        let state = planner.state();
        let schema = DFSchema::try_from(schema.clone())?;
        let expr = planner.expr(expr, &schema, &[])?;
        let is_over_rows =
            expr.exists(|expr| Ok(matches!(expr, Expr::AggregateFunction(_) | Expr::WindowFunction(_))))?;
        if is_over_rows {
            return Err(Error::invalid(format!("a {what} cannot have an aggregate or a window function")));
        }
        let expr = before(expr, &schema)?.data;
        let ty = expr.get_type(&schema)?;
        let volatility = volatility(&expr)?;
        // `now()` becomes the moment of the statement; such functions cannot be called.
        let context = SimplifyContext::builder()
            .with_schema(Arc::new(schema.clone()))
            .with_config_options(Arc::clone(state.config_options()))
            .with_query_execution_start_time(state.execution_props().query_execution_start_time)
            .build();
        let simplifier = ExprSimplifier::new(context);
        let expr = beside_doubles(expr, &schema)?.data;
        let mut expr = behind(simplifier.coerce(expr, &schema)?, &schema)?.data;
        expr = compared(expr, &schema)?.data;
        for rule in [CASTS, CHECKED] {
            expr = (rule.change)(expr, &schema, false)?.data;
        }
        let expr = simplifier.simplify(expr)?;
        let expr = state.create_physical_expr(lazy_value(expr, &schema)?, &schema)?;
        Ok(Self { expr, ty, zone: planner.zone(), volatility })
    }

    /// The type of its values.
    pub fn ty(&self) -> &DataType {
        &self.ty
    }

    /// Its values for the rows of a batch.
    pub fn values(&self, rows: &RecordBatch) -> Result<arrow::array::ArrayRef> {
        Ok(self.expr.evaluate(rows)?.into_array(rows.num_rows())?)
    }

    /// Its values for so many rows, as a column of a type has them. REQUIRES: it is over no columns.
    pub fn fill(&self, rows: usize, ty: &DataType) -> Result<arrow::array::ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let none = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
            .map_err(DataFusionError::from)?;
        strict_cast(&self.values(&none)?, ty, self.zone)
    }

    /// Its value, as a column of a type stores it. REQUIRES: it is over no columns.
    pub fn value(&self, ty: &DataType) -> Result<Datum> {
        value_at(&ambo::arrow::to_stored(&self.fill(1, ty)?)?, 0)
    }

    /// Checks that its values can be put into a column.
    pub fn require_for(&self, ty: &DataType) -> Result<()> {
        match is_assignable(&self.ty, ty) {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "it is of type {}, the column is of type {}",
                type_in_sql(&self.ty),
                type_in_sql(ty)
            ))),
        }
    }
}

/// The most volatile function in an expression.
fn volatility(expr: &Expr) -> Result<Volatility> {
    let has = |wanted: Volatility| {
        expr.exists(|expr| {
            Ok(matches!(expr, Expr::ScalarFunction(function)
                if function.func.signature().volatility == wanted))
        })
    };
    Ok(match (has(Volatility::Volatile)?, has(Volatility::Stable)?) {
        (true, _) => Volatility::Volatile,
        (false, true) => Volatility::Stable,
        (false, false) => Volatility::Immutable,
    })
}
