//! What the planner would read otherwise than it is meant, written so that it does not.

use std::{collections::HashSet, ops::ControlFlow, sync::Arc};

use arrow::datatypes::{FieldRef, Fields, Schema, SchemaRef};
use datafusion::{
    logical_expr::LogicalPlan,
    sql::sqlparser::ast::{self, Expr, SelectItem, SetExpr, VisitMut, VisitorMut},
};

use super::using::say_common_columns;
use crate::names::ident;

/// Begins what is added to a name.
const MARK: char = '\u{1}';

/// Makes doubles of numbers with an exponent (the planner takes all numbers with a point for decimals), gives columns that a SELECT asks for
/// twice names of their own (the planner takes each once), and says what columns are that joins have in common.
pub(super) fn as_meant(tree: &mut impl VisitMut) {
    struct Rewriting;
    impl VisitorMut for Rewriting {
        type Break = ();
        fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
            say_common_columns(query);
            tell_apart_in(&mut query.body);
            ControlFlow::Continue(())
        }
        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Value(value) = expr
                && let ast::Value::Number(number, _) = &value.value
                && number.contains(['e', 'E'])
            {
                *expr = double(number.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let _ = tree.visit(&mut Rewriting);
}

fn double(number: String) -> Expr {
    Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(Expr::value(ast::Value::SingleQuotedString(number))),
        data_type: ast::DataType::Double(ast::ExactNumberInfo::None),
        array: false,
        format: None,
    }
}

/// Queries in parentheses are visited by themselves.
fn tell_apart_in(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => tell_apart(&mut select.projection),
        SetExpr::SetOperation { left, right, .. } => {
            tell_apart_in(left);
            tell_apart_in(right);
        }
        _ => {}
    }
}

/// Gives columns of a select list that are asked for twice names of their own, which [`result_schema`] takes from them.
pub(crate) fn tell_apart(items: &mut [SelectItem]) {
    let mut seen = HashSet::new();
    for (nth, item) in items.iter_mut().enumerate() {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        let text = expr.to_string().to_lowercase();
        // A column may be called with its table and without.
        let is_there = match &*expr {
            Expr::Identifier(_) => seen.iter().any(|known: &String| known.ends_with(&format!(".{text}"))),
            Expr::CompoundIdentifier(parts) => {
                parts.last().is_some_and(|name| seen.contains(&name.to_string().to_lowercase()))
            }
            _ => false,
        };
        if seen.insert(text) && !is_there {
            continue;
        }
        let name = match &*expr {
            Expr::Identifier(name) => ident(name),
            Expr::CompoundIdentifier(parts) => parts.last().map(ident).unwrap_or_default(),
            _ => expr.to_string(),
        };
        let alias = ast::Ident::with_quote('"', format!("{name}{MARK}{nth}"));
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

/// The columns of a plan under the names that were asked for; several may have one name.
pub(crate) fn result_schema(plan: &LogicalPlan) -> SchemaRef {
    let schema = plan.schema().as_arrow();
    let field = |field: &FieldRef| match field.name().split_once(MARK) {
        Some((name, _)) => Arc::new(field.as_ref().clone().with_name(name)),
        None => field.clone(),
    };
    let fields = schema.fields().iter().map(field).collect::<Fields>();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
