//! What the planner would read otherwise than it is meant, written so that it does not.

use std::{ops::ControlFlow, sync::Arc};

use arrow::datatypes::{FieldRef, Fields, Schema, SchemaRef};
use datafusion::{
    logical_expr::LogicalPlan,
    sql::sqlparser::ast::{
        self, BinaryOperator, Expr, SelectItem, SetExpr, TableFactor, UnaryOperator, VisitorMut,
    },
};

use super::{
    ask::Ask,
    asof::say_asof,
    chained::chained,
    clauses::{
        order_by_all, order_by_all_columns, order_by_columns, say_groups, say_limit, say_places, say_rollups,
    },
    collations::{say_collation, say_orders},
    describe,
    distinct_on::say_first_rows,
    frame_bounds::say_bounds,
    functions::{meaning, power},
    given_orders::say_given,
    json::json,
    lambdas::say_lambdas,
    limits,
    mentions::tell_apart_mentions,
    named_windows,
    null_treatment::say_null_treatment,
    once::mark_once,
    ordered_aggregates::{refuse_order_of_window, say_order_of_window},
    parts::{list_of_columns, say_list_of_rows, say_parts},
    patterns::{by_function, call},
    pivot::say_pivot,
    positional::refuse_positional,
    recursion::{SchemaOf, widen},
    refused,
    row_value::{by_values, say_rows},
    samples,
    series::{say_lateral, say_ordinality},
    stars,
    ties::say_ties,
    times::{say_bucket_in_zone, times, unclear_interval},
    trees::{self, is_marked},
    union_orders::{say_numbers, say_orders_of_union},
    unnested,
    unpivot::say_unpivot,
    using::{Common, say_common_columns},
};
use crate::{Error, Result, functions::ATTEMPT, names::ident, parse::each_select, walk::WalkMut};

/// Begins what is added to a name.
pub(super) const MARK: char = '\u{1}';

/// `TRY(CAST(x AS t))` is `TRY_CAST(x AS t)`, if x cannot fail; of other expressions it is a function of a lambda, which decides when they
/// are computed.
fn say_try(expr: &mut Expr) {
    if let Expr::Function(function) = expr
        && matches!(&function.name.0[..], [name] if name.as_ident().is_some_and(|name| ident(name).eq_ignore_ascii_case("try")))
        && let Some(arguments) = trees::arguments(function)
        && let [argument] = &arguments[..]
    {
        let mut made = (*argument).clone();
        if let Expr::Cast {
            kind: kind @ (ast::CastKind::Cast | ast::CastKind::DoubleColon), expr: of, ..
        } = &mut made
            && matches!(**of, Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        {
            *kind = ast::CastKind::TryCast;
            *expr = made;
            return;
        }
        let mut lambda = trees::expr(&format!("{ATTEMPT}(0, lambda \"{MARK}try\": 0)"));
        if let Expr::Function(function) = &mut lambda
            && let ast::FunctionArguments::List(list) = &mut function.args
            && let Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(Expr::Lambda(lambda)))) =
                list.args.last_mut()
        {
            *lambda.body = Expr::Nested(Box::new(made));
        }
        *expr = lambda;
    }
}

/// `alias(x)` is what a column is called that is x.
fn say_alias(expr: &mut Expr) {
    if let Expr::Function(function) = expr
        && matches!(&function.name.0[..], [name] if name.as_ident().is_some_and(|name| ident(name).eq_ignore_ascii_case("alias")))
        && let Some(arguments) = trees::arguments(function)
        && let [argument] = arguments[..]
    {
        let called = match argument {
            Expr::Identifier(name) => ident(name),
            Expr::CompoundIdentifier(parts) => parts.last().map(ident).unwrap_or_default(),
            other => other.to_string(),
        };
        *expr = trees::text(&called);
    }
}

/// The columns of a table of FROM, if these common table expressions are in sight; `None` if that cannot be told.
pub(super) type ColumnsOf<'a> = dyn Fn(&TableFactor, Option<ast::With>) -> Option<Vec<String>> + 'a;

/// Whether a function of this name returns a value for each row, and neither for groups nor for windows.
pub(super) type IsScalar<'a> = dyn Fn(&str) -> bool + 'a;

/// Makes doubles of numbers with an exponent (the planner takes all numbers with a point for decimals), gives columns that a SELECT asks
/// for twice names of their own (the planner takes each once), compares rows by their values, and says what columns are that joins have in
/// common.
///
/// # Errors
///
/// For what the planner would read over, or refuse in words of its own.
pub(super) fn as_meant(
    tree: &mut impl WalkMut,
    known: &ColumnsOf<'_>,
    schema_of: &SchemaOf<'_>,
    is_scalar: &IsScalar<'_>,
    ask: &Ask<'_>,
) -> Result<()> {
    say_lambdas(tree)?;
    let mut rewriting = Rewriting { known, schema_of, is_scalar, ask, scopes: Vec::new(), error: None };
    let _ = tree.walk_mut(&mut rewriting);
    rewriting.error.map_or(Ok(()), Err)?;
    say_rows(tree);
    Ok(())
}

struct Rewriting<'a> {
    known: &'a ColumnsOf<'a>,
    schema_of: &'a SchemaOf<'a>,
    is_scalar: &'a IsScalar<'a>,
    ask: &'a Ask<'a>,
    /// The queries around, from the outermost on.
    scopes: Vec<Scope>,
    error: Option<Error>,
}

/// A query with its common table expressions, and how many queries within it were visited: theirs are the first.
struct Scope {
    with: Option<ast::With>,
    visited: usize,
    /// What `*` means in each SELECT.
    stars: Vec<Option<Common>>,
}

impl Scope {
    /// What the query that is visited last can see.
    fn visible(&self) -> Option<ast::With> {
        let mut with = self.with.clone()?;
        let own = usize::from(with.recursive);
        let tables = (self.visited.saturating_sub(1) + own).min(with.cte_tables.len());
        with.cte_tables.truncate(tables);
        (!with.cte_tables.is_empty()).then_some(with)
    }
}

impl Rewriting<'_> {
    fn stop(&mut self, error: Error) -> ControlFlow<()> {
        self.error = Some(error);
        ControlFlow::Break(())
    }

    /// The common table expressions that a query at this place can see, those of the innermost query last.
    fn visible(&self, own: Option<&ast::With>) -> Option<ast::With> {
        let around = self.scopes.iter().filter_map(Scope::visible);
        around.chain(own.cloned()).reduce(|mut all, with| {
            all.recursive |= with.recursive;
            all.cte_tables
                .retain(|known| with.cte_tables.iter().all(|table| table.alias.name != known.alias.name));
            all.cte_tables.extend(with.cte_tables);
            all
        })
    }
}

impl Rewriting<'_> {
    /// What has to be known of tables for, when all queries within are written as they are meant.
    fn write_out(&self, query: &mut ast::Query, stars: Vec<Option<Common>>) -> Result<()> {
        let mut stars = stars.into_iter();
        let with = self.visible(query.with.as_ref());
        let mut order_by = match query.body.as_ref() {
            SetExpr::Select(_) => query.order_by.as_mut().map(|order_by| &mut order_by.kind),
            _ => None,
        };
        let mut result = Ok(());
        each_select(&mut query.body, &mut |select| {
            if result.is_ok() {
                let mut order_by = order_by.take();
                let common = stars.next().flatten();
                result = stars::write_out(select, order_by.as_deref_mut(), common, with.as_ref(), self.ask)
                    .and_then(|()| say_given(select, order_by, with.as_ref(), self.ask))
                    .and_then(|()| say_pivot(select, with.as_ref(), self.ask))
                    .and_then(|()| say_unpivot(select, with.as_ref(), self.ask))
                    .and_then(|()| describe::write_out(select, with.as_ref(), self.ask))
                    .map(|()| unnested::write_out(select, with.as_ref(), self.ask));
            }
        });
        result?;
        order_by_all_columns(query, with.as_ref(), self.ask);
        say_orders_of_union(query, with.as_ref(), self.ask);
        limits::say_limits(query, with.as_ref(), self.ask)
    }
}

impl VisitorMut for Rewriting<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        if let Some(scope) = self.scopes.last_mut() {
            scope.visited += 1;
        }
        say_places(query);
        say_numbers(query);
        say_rollups(&mut query.body);
        each_select(&mut query.body, &mut say_groups);
        say_orders(query);
        if let Err(error) = refused::query(query).and_then(|()| say_ties(query)) {
            return self.stop(error);
        }
        if let Err(error) = say_asof(query).and_then(|()| samples::say_samples(query, self.known)) {
            return self.stop(error);
        }
        let own = query.with.clone();
        let columns = |factor: &TableFactor| (self.known)(factor, self.visible(own.as_ref()));
        let stars = match say_common_columns(query, &columns) {
            Ok(stars) => stars,
            Err(error) => return self.stop(error),
        };
        if let Err(error) = named_windows::write_out(query) {
            return self.stop(error);
        }
        let mut apart: fn(&mut [SelectItem]) = match query.body.as_ref() {
            SetExpr::SetOperation { .. } => tell_names_apart,
            _ => tell_apart,
        };
        each_select_list(&mut query.body, &mut apart);
        if let Err(error) = positional(query) {
            return self.stop(error);
        }
        order_by_all(query);
        say_first_rows(query);
        order_by_columns(query);
        say_limit(query);
        self.scopes.push(Scope { with: own, visited: 0, stars });
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        say_ordinality(factor);
        let said = samples::say_sample(factor, self.known).and_then(|()| refused::table_factor(factor));
        match said {
            Err(error) => self.stop(error),
            Ok(()) => {
                say_lateral(factor);
                ControlFlow::Continue(())
            }
        }
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        say_regular_expression(expr);
        if let Err(error) = say_collation(expr) {
            return self.stop(error);
        }
        say_try(expr);
        say_alias(expr);
        say_bucket_in_zone(expr);
        say_parts(expr);
        say_list_of_rows(expr);
        if let Expr::Function(function) = expr {
            say_null_treatment(function);
            say_order_of_window(function);
        }
        match refused::expr(expr, self.is_scalar) {
            Err(error) => self.stop(error),
            Ok(()) => ControlFlow::Continue(()),
        }
    }

    fn post_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let stars = self.scopes.pop().map(|scope| scope.stars).unwrap_or_default();
        tell_apart_mentions(query);
        if let Some(with) = &mut query.with
            && let Err(error) = widen(with, self.visible(None), self.schema_of)
        {
            return self.stop(error);
        }
        if let Err(error) = self.write_out(query, stars) {
            return self.stop(error);
        }
        mark_once(query);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(ast::Function { over: Some(ast::WindowType::WindowSpec(spec)), .. }) = expr
            && let Some(frame) = &mut spec.window_frame
            && let Err(error) = say_bounds(frame, self.visible(None).as_ref(), self.ask)
        {
            return self.stop(error);
        }
        if let Expr::Value(value) = expr
            && let ast::Value::Number(number, _) = &value.value
            && number.contains(['e', 'E'])
        {
            *expr = double(number.clone());
        } else if let Some(error) = unclear_interval(expr) {
            return self.stop(error);
        } else if let Some(meant) = times(expr) {
            *expr = meant;
        } else if let Expr::UnaryOp { op: UnaryOperator::Plus, expr: operand } = expr {
            // Before anything, as in SQLite: also before texts.
            *expr = (**operand).clone();
        } else if let Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr: operand } = expr {
            *expr = call("bit_not", vec![(**operand).clone()]);
        } else if let Some(chained) = chained(expr, &mut |part| self.post_visit_expr(part)) {
            *expr = chained;
            return self.post_visit_expr(expr);
        } else if let Some(meant) = json(expr) {
            *expr = meant;
        } else if let Expr::BinaryOp { left, op: BinaryOperator::PGExp, right } = expr
            && let Some(power) = power(left, right)
        {
            *expr = power;
        } else if let Expr::Function(function) = expr
            && let Some(meant) = meaning(function)
        {
            *expr = meant;
        } else if let Some(list) = list_of_columns(expr) {
            *expr = list;
        } else if let Some(values) = by_values(expr) {
            *expr = values;
        } else {
            by_function(expr);
            if let Err(error) = refuse_order_of_window(expr) {
                return self.stop(error);
            }
        }
        ControlFlow::Continue(())
    }
}

/// `a REGEXP b` and `a RLIKE b` are `a ~ b`.
fn say_regular_expression(expr: &mut Expr) {
    let Expr::RLike { negated, expr: left, pattern, .. } = expr else { return };
    let op = if *negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
    *expr = Expr::BinaryOp { left: left.clone(), op, right: pattern.clone() };
}

/// Refuses POSITIONAL JOIN in the SELECTs of a query.
fn positional(query: &mut ast::Query) -> Result<()> {
    let mut result = Ok(());
    each_select(&mut query.body, &mut |select| {
        if result.is_ok() {
            result = refuse_positional(&select.from);
        }
    });
    result
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

/// Does something with the lists of all SELECTs of a query. Queries in parentheses are visited by themselves.
pub(super) fn each_select_list(body: &mut SetExpr, act: &mut impl FnMut(&mut [SelectItem])) {
    each_select(body, &mut |select| act(&mut select.projection));
}

/// A name that no other column of its list has; [`result_schema`] takes from it what is added.
pub(crate) fn marked(name: impl std::fmt::Display, nth: usize) -> ast::Ident {
    ast::Ident::with_quote('"', format!("{name}{MARK}{nth}"))
}

/// A name without what [`marked`] added to it.
pub(super) fn unmarked(name: &str) -> &str {
    name.split_once(MARK).map_or(name, |(name, _)| name)
}

/// Gives columns of a select list that are asked for twice names of their own, which [`result_schema`] takes from them.
pub(crate) fn tell_apart(items: &mut [SelectItem]) {
    tell_apart_by(items, true);
}

/// The same of columns of other tables, too: EXCEPT and INTERSECT find the columns of their sides by their names alone.
fn tell_names_apart(items: &mut [SelectItem]) {
    tell_apart_by(items, false);
}

fn tell_apart_by(items: &mut [SelectItem], by_table: bool) {
    if is_marked(items) {
        return;
    }
    // Tables, the schema behind, and names. Where there is no table, it may be any: a column may be called with its table and without.
    let mut seen: Vec<(Vec<String>, String)> = Vec::new();
    for (nth, item) in items.iter_mut().enumerate() {
        let (expr, table, name) = match item {
            SelectItem::ExprWithAlias { expr, alias } => (&*expr, Vec::new(), ident(alias)),
            SelectItem::UnnamedExpr(expr) => match without_parentheses(expr) {
                Expr::Identifier(name) => (&*expr, Vec::new(), ident(name)),
                Expr::CompoundIdentifier(parts) => {
                    let (name, table) = parts.split_last().expect("a name has parts");
                    (&*expr, table.iter().rev().map(ident).collect(), ident(name))
                }
                _ => (&*expr, Vec::new(), expr.to_string()),
            },
            _ => continue,
        };
        let known = name.to_lowercase();
        let may_be = |of: &[String]| !by_table || of.iter().zip(&table).all(|(of, table)| of == table);
        let is_there = seen.iter().any(|(of, other)| *other == known && may_be(of));
        seen.push((table, known));
        if is_there {
            let alias = marked(name, nth);
            let expr = expr.clone();
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
}

pub(super) fn without_parentheses(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => without_parentheses(inner),
        other => other,
    }
}

/// The columns of a plan under the names that were asked for, with the types that its rows have: until functions are chosen by the types of
/// what they are given, the plan tells some types otherwise.
pub(crate) fn schema_of_result(plan: &LogicalPlan, rows: &Schema) -> SchemaRef {
    let said = result_schema(plan);
    // A query that stands for a value is NULL where it has no row, whatever its column is.
    let field = |(said, own): (&FieldRef, &FieldRef)| {
        let nullable = said.is_nullable() || own.is_nullable();
        let own = said.as_ref().clone().with_data_type(own.data_type().clone());
        Arc::new(own.with_nullable(nullable))
    };
    let fields = said.fields().iter().zip(rows.fields()).map(field).collect::<Fields>();
    Arc::new(Schema::new_with_metadata(fields, said.metadata().clone()))
}

/// The columns of a plan under the names that were asked for; several may have one name.
pub(crate) fn result_schema(plan: &LogicalPlan) -> SchemaRef {
    let schema = plan.schema().as_arrow();
    let field = |field: &FieldRef| match unmarked(field.name()) {
        name if name != field.name() => Arc::new(field.as_ref().clone().with_name(name)),
        _ => field.clone(),
    };
    let fields = schema.fields().iter().map(field).collect::<Fields>();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
