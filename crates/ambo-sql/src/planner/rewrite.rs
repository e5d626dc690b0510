//! What the planner would read otherwise than it is meant, written so that it does not.

use std::{ops::ControlFlow, sync::Arc};

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
    // Tables and names. Where there is no table, it may be any: a column may be called with its table and without.
    let mut seen: Vec<(Option<String>, String)> = Vec::new();
    for (nth, item) in items.iter_mut().enumerate() {
        let (expr, table, name) = match item {
            SelectItem::ExprWithAlias { expr, alias } => (&*expr, None, ident(alias)),
            SelectItem::UnnamedExpr(expr) => match &*expr {
                Expr::Identifier(name) => (&*expr, None, ident(name)),
                Expr::CompoundIdentifier(parts) => {
                    let (name, table) = parts.split_last().expect("a name has parts");
                    let table = table.iter().map(ident).collect::<Vec<_>>().join(".");
                    (&*expr, Some(table), ident(name))
                }
                _ => (&*expr, None, expr.to_string()),
            },
            _ => continue,
        };
        let known = name.to_lowercase();
        let is_there = seen
            .iter()
            .any(|(of, other)| *other == known && (of.is_none() || table.is_none() || *of == table));
        seen.push((table, known));
        if is_there {
            let alias = ast::Ident::with_quote('"', format!("{name}{MARK}{nth}"));
            let expr = expr.clone();
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
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
