//! What SET says: columns and the expressions that they get.

use std::ops::ControlFlow;

use ambo::Datum;
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{
        self, Assignment, AssignmentTarget, Expr, Ident, ObjectName, SelectItem, SetExpr, Value, VisitorMut,
    },
};

use super::{generated, target::Target};
use crate::{Error, Result, parse::parse_expression, value::stored_scalar, walk::WalkMut};

/// Columns, each once, and what they get. DEFAULT becomes a parameter with the default as its value.
pub(super) fn assignments(
    target: &Target,
    set: &[Assignment],
    params: &mut Vec<ScalarValue>,
) -> Result<Vec<(usize, Expr)>> {
    target.definition().check_updates()?;
    let mut all: Vec<(&ObjectName, Expr)> = Vec::new();
    for assignment in set {
        match &assignment.target {
            AssignmentTarget::ColumnName(name) => all.push((name, assignment.value.clone())),
            AssignmentTarget::Tuple(names) => all.extend(names.iter().zip(parts(assignment, names.len())?)),
        }
    }
    let places = target.columns_of(all.iter().map(|(name, _)| *name))?;
    let mut set = Vec::with_capacity(places.len());
    for ((_, expr), place) in all.into_iter().zip(places) {
        let column = &target.definition().columns[place];
        match (column.generated().is_some(), generated::is_default(&expr)) {
            (true, false) => return Err(generated::given(column)),
            // It is computed anyway.
            (true, true) => {}
            (false, _) => set.push((place, or_default(target, place, expr, params))),
        }
    }
    Ok(set)
}

/// The values for the columns of a list: `(1, 2)`, or `(SELECT a, b …)`.
fn parts(assignment: &Assignment, wanted: usize) -> Result<Vec<Expr>> {
    let unlike = || {
        Err(Error::invalid(format!("\"{assignment}\" does not set {wanted} columns to as many values"))
            .with_hint("write (a, b) = (1, 2), or (a, b) = (SELECT …)"))
    };
    match &assignment.value {
        Expr::Tuple(values) if values.len() == wanted => Ok(values.clone()),
        Expr::Nested(value) if wanted == 1 => Ok(vec![*value.clone()]),
        Expr::Subquery(query) => {
            let SetExpr::Select(select) = &*query.body else { return unlike() };
            let is_plain = |item: &SelectItem| {
                matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
            };
            if select.projection.len() != wanted
                || select.distinct.is_some()
                || !select.projection.iter().all(is_plain)
            {
                return unlike();
            }
            // A query for each column: the planner has none of several values.
            let one = |nth: usize| {
                let mut query = query.clone();
                if let SetExpr::Select(select) = &mut *query.body {
                    select.projection = vec![select.projection.swap_remove(nth)];
                }
                Expr::Subquery(query)
            };
            Ok((0..wanted).map(one).collect())
        }
        _ => unlike(),
    }
}

/// The expression, or the default of the column if that is what it says.
pub(super) fn or_default(target: &Target, place: usize, expr: Expr, params: &mut Vec<ScalarValue>) -> Expr {
    match &expr {
        Expr::Identifier(name)
            if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default") =>
        {
            let column = &target.definition().columns[place];
            if let Some(text) = &column.default_expression
                && let Ok(expr) = parse_expression(text)
            {
                return Expr::Nested(Box::new(expr));
            }
            let default = column.default.as_ref().unwrap_or(&Datum::Null);
            // A default is one that the column may have.
            params.push(stored_scalar(default, column).unwrap_or(ScalarValue::Null));
            Expr::value(Value::Placeholder(format!("${}", params.len())))
        }
        _ => expr,
    }
}

/// Gives columns of the table, where they stand alone and outside of subqueries, its name: two tables have them.
pub(super) fn qualify(target: &Target, tree: &mut impl WalkMut) {
    struct Qualify<'a>(&'a Target, usize);
    impl VisitorMut for Qualify<'_> {
        type Break = ();
        fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
            self.1 += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
            self.1 -= 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Identifier(name) = expr
                && self.1 == 0
            {
                let column = crate::names::ident(name);
                if self.0.definition().column_index(&column).is_some() {
                    let span = name.span;
                    let mut of = Ident::with_quote('"', &self.0.alias);
                    of.span = span;
                    *expr = Expr::CompoundIdentifier(vec![of, name.clone()]);
                }
            }
            ControlFlow::Continue(())
        }
    }
    let _ = tree.walk_mut(&mut Qualify(target, 0));
}
