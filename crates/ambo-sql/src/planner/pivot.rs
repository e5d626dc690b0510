//! PIVOT: values of a column become columns of their own, each an aggregate of the rows that have the value.
//!
//! `PIVOT t ON year USING sum(x) GROUP BY k` is `SELECT k, sum(x) FILTER (WHERE year = 2000) AS "2000", … FROM t GROUP BY k`. Values that
//! the statement does not name are those of the rows when it is planned, in the order of their texts; NULL is none of them. Without GROUP
//! BY the groups are made of all columns that the statement does not name.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, Expr, GroupByExpr, Select, SelectItem, SetExpr, TableWithJoins, Visitor, VisitorMut, With,
};

use super::{
    ask::{Ask, Texts},
    rewrite::tell_apart,
    trees::{self, all_of, cast_to_text, column, mark, named},
};
use crate::{
    Error, Result,
    names::{ident, written},
    parse::{ON, PIVOT, VALUES},
    walk::{Walk, WalkMut},
};

/// A statement with more columns is a mistake.
const COLUMNS_MAX: usize = 10_000;

/// A value that becomes a column: when a row has it, and its name.
struct Value {
    condition: Expr,
    name: String,
}

/// Says what a SELECT with the mark of a PIVOT means.
pub(super) fn say_pivot(select: &mut Select, with: Option<&With>, ask: &Ask<'_>) -> Result<()> {
    let is_marked = |item: &SelectItem, wanted| matches!(item, SelectItem::UnnamedExpr(expr) if mark(expr) == Some(wanted));
    if !select.projection.first().is_some_and(|first| is_marked(first, PIVOT)) {
        return Ok(());
    }
    let items = select.projection.split_off(1);
    let on = items.iter().position(|item| is_marked(item, ON)).unwrap_or(items.len());
    let (aggregates, turned) = items.split_at(on);
    let turned = turned.get(1..).unwrap_or_default();
    let aggregates = aggregates_of(aggregates, ask)?;
    let groups = match &select.group_by {
        GroupByExpr::Expressions(by, _) if by.is_empty() => {
            let exprs = turned.iter().filter_map(expr_of);
            unnamed_columns(&select.from, with, exprs.chain(aggregates.iter().map(|(expr, _)| expr)), ask)?
        }
        GroupByExpr::Expressions(by, _) => by.clone(),
        GroupByExpr::All(_) => return Err(Error::invalid("not supported: GROUP BY ALL of a PIVOT")),
    };
    let mut columns = vec![Value { condition: trees::expr("true"), name: String::new() }];
    for (nth, turned) in turned.iter().enumerate() {
        let values = values_of(turned, &select.from, with, ask)?;
        if columns.len() * values.len() > COLUMNS_MAX {
            return Err(Error::invalid(format!("a PIVOT has {COLUMNS_MAX} columns at most"))
                .with_hint("name the values that are wanted: ON k IN ('a', 'b')"));
        }
        let beside = |one: &Value, other: &Value| match nth {
            0 => Value { condition: other.condition.clone(), name: other.name.clone() },
            _ => Value {
                condition: all_of([one.condition.clone(), other.condition.clone()]).expect("two conditions"),
                name: format!("{}_{}", one.name, other.name),
            },
        };
        columns = columns.iter().flat_map(|one| values.iter().map(move |other| beside(one, other))).collect();
    }
    let mut projection: Vec<SelectItem> = groups.iter().cloned().map(SelectItem::UnnamedExpr).collect();
    for Value { condition, name } in &columns {
        for (aggregate, label) in &aggregates {
            let mut aggregate = aggregate.clone();
            let name = match (turned.is_empty(), label) {
                (true, label) => label.clone().unwrap_or_else(|| aggregate.to_string()),
                (false, None) => name.clone(),
                (false, Some(label)) => format!("{name}_{label}"),
            };
            if !turned.is_empty() {
                let _ = aggregate.walk_mut(&mut Filtering { condition, ask });
            }
            projection.push(named(aggregate, &name));
        }
    }
    tell_apart(&mut projection);
    select.projection = projection;
    select.group_by = GroupByExpr::Expressions(groups, Vec::new());
    Ok(())
}

/// The aggregates, and what is said of them in names of columns: nothing of one alone, unless it has a name.
fn aggregates_of(items: &[SelectItem], ask: &Ask<'_>) -> Result<Vec<(Expr, Option<String>)>> {
    if items.is_empty() {
        return Ok(vec![(trees::expr("count(*)"), None)]);
    }
    let aggregate = |one: &SelectItem| {
        let (expr, alias) = match one {
            SelectItem::UnnamedExpr(expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(ident(alias))),
            _ => return Err(Error::invalid(format!("{one} is no aggregate of a PIVOT"))),
        };
        if expr.walk(&mut Finding { ask }).is_continue() {
            return Err(Error::invalid(format!("{expr} is no aggregate"))
                .with_hint("USING has what is computed of several rows: sum(x), max(x)"));
        }
        let name = alias.or_else(|| (items.len() > 1).then(|| expr.to_string()));
        Ok((expr.clone(), name))
    };
    items.iter().map(aggregate).collect()
}

fn is_aggregate(expr: &Expr, ask: &Ask<'_>) -> bool {
    matches!(expr, Expr::Function(function)
        if function.over.is_none() && written(&function.name).is_ok_and(|name| ask.is_aggregate(&name)))
}

struct Finding<'a> {
    ask: &'a Ask<'a>,
}

impl Visitor for Finding<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if is_aggregate(expr, self.ask) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Lets only rows with a value through to aggregates.
struct Filtering<'a> {
    condition: &'a Expr,
    ask: &'a Ask<'a>,
}

impl VisitorMut for Filtering<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if is_aggregate(expr, self.ask)
            && let Expr::Function(function) = expr
        {
            let filter = function.filter.take().map(|filter| *filter);
            function.filter = all_of(filter.into_iter().chain([self.condition.clone()])).map(Box::new);
        }
        ControlFlow::Continue(())
    }
}

/// The columns that no expression names.
pub(super) fn unnamed_columns<'e>(
    from: &[TableWithJoins],
    with: Option<&With>,
    exprs: impl Iterator<Item = &'e Expr>,
    ask: &Ask<'_>,
) -> Result<Vec<Expr>> {
    let all = columns_of(from, with, ask)?;
    let mut naming =
        Naming { known: all.iter().map(|(_, name)| name.to_lowercase()).collect(), named: Vec::new() };
    exprs.for_each(|expr| {
        let _ = expr.walk(&mut naming);
    });
    let rest = all.into_iter().filter(|(_, name)| !naming.named.contains(&name.to_lowercase()));
    Ok(rest.map(|(expr, _)| expr).collect())
}

/// All columns of FROM, and how they are called without their table.
pub(super) fn columns_of(
    from: &[TableWithJoins],
    with: Option<&With>,
    ask: &Ask<'_>,
) -> Result<Vec<(Expr, String)>> {
    let star = SelectItem::Wildcard(ast::WildcardAdditionalOptions::default());
    columns_behind(star, from, with, ask)
}

/// The columns that a star of a SELECT from these tables means for the planner.
pub(super) fn columns_behind(
    star: SelectItem,
    from: &[TableWithJoins],
    with: Option<&With>,
    ask: &Ask<'_>,
) -> Result<Vec<(Expr, String)>> {
    let mut query = trees::query("SELECT * FROM it");
    let select = trees::select(&mut query);
    select.projection = vec![star];
    select.from = from.to_vec();
    query.with = with.cloned();
    let schema = ask.schema(query)?;
    let part = |name: &str| ast::Ident::with_quote('"', name);
    let expr =
        |(table, field): (Option<&datafusion::common::TableReference>, &arrow::datatypes::FieldRef)| {
            let expr = match table {
                Some(table) => {
                    let table = table.to_vec();
                    let parts = table.iter().map(String::as_str).chain([field.name().as_str()]);
                    Expr::CompoundIdentifier(parts.map(part).collect())
                }
                None => column(field.name()),
            };
            (expr, field.name().clone())
        };
    Ok(schema.iter().map(expr).collect())
}

struct Naming {
    known: Vec<String>,
    named: Vec<String>,
}

impl Visitor for Naming {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let name = match expr {
            Expr::Identifier(name) => Some(name),
            // Of a table, or a part of a column.
            Expr::CompoundIdentifier(parts) => {
                let is_column = self.known.contains(&ident(&parts[0]).to_lowercase());
                if is_column { parts.first() } else { parts.get(1) }
            }
            _ => None,
        };
        self.named.extend(name.map(|name| ident(name).to_lowercase()));
        ControlFlow::Continue(())
    }
}

fn expr_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// The values that an expression behind ON has.
fn values_of(
    turned: &SelectItem,
    from: &[TableWithJoins],
    with: Option<&With>,
    ask: &Ask<'_>,
) -> Result<Vec<Value>> {
    let Some(expr) = expr_of(turned) else {
        return Err(Error::invalid(format!("{turned} cannot stand behind ON of a PIVOT")));
    };
    match expr {
        Expr::InSubquery { expr, subquery, negated: false } => match listed(subquery) {
            Some(items) => items.iter().map(|item| named_value(expr, item, ask)).collect(),
            None => Ok(of_texts(expr, values_of_query(subquery, with, ask)?)),
        },
        expr => {
            let mut query = trees::query("SELECT DISTINCT 1 FROM it WHERE 1 IS NOT NULL ORDER BY 1");
            let select = trees::select(&mut query);
            select.projection = vec![SelectItem::UnnamedExpr(cast_to_text(expr.clone()))];
            select.from = from.to_vec();
            select.selection = Some(Expr::IsNotNull(Box::new(Expr::Nested(Box::new(expr.clone())))));
            query.with = with.cloned();
            Ok(of_texts(expr, ask.texts(query)?))
        }
    }
}

/// The values of a query, each once: in its order, or in that of their texts if it has none.
fn values_of_query(subquery: &ast::Query, with: Option<&With>, ask: &Ask<'_>) -> Result<Vec<Texts>> {
    let mut texts: Vec<Texts> = Vec::new();
    for part in parts(subquery) {
        let mut query = trees::query("SELECT 1 FROM (SELECT 1) AS v (v)");
        let select = trees::select(&mut query);
        select.projection = vec![SelectItem::UnnamedExpr(cast_to_text(column("v")))];
        let has_order = has_order(&part);
        if let ast::TableFactor::Derived { subquery: rows, .. } = &mut select.from[0].relation {
            **rows = part;
        }
        query.with = with.cloned();
        let mut rows = ask.texts(query)?;
        if !has_order {
            rows.sort();
        }
        for row in rows {
            if !texts.contains(&row) {
                texts.push(row);
            }
        }
    }
    Ok(texts)
}

/// The parts of UNION ALL, which are in their order.
fn parts(query: &ast::Query) -> Vec<ast::Query> {
    use ast::{SetOperator::Union, SetQuantifier::All};
    let is_plain = query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
    match query.body.as_ref() {
        SetExpr::SetOperation { left, right, op: Union, set_quantifier: All } if is_plain => {
            let part = |body: &SetExpr| ast::Query { body: Box::new(body.clone()), ..query.clone() };
            [left, right].into_iter().flat_map(|body| parts(&part(body))).collect()
        }
        SetExpr::Query(inner) if is_plain && query.with.is_none() => parts(inner),
        _ => vec![query.clone()],
    }
}

/// Whether the rows of a query have an order.
fn has_order(query: &ast::Query) -> bool {
    let within = |table: &TableWithJoins| matches!(&table.relation, ast::TableFactor::Derived { subquery, .. } if has_order(subquery));
    query.order_by.is_some()
        || match query.body.as_ref() {
            SetExpr::Values(_) => true,
            SetExpr::Query(inner) => has_order(inner),
            SetExpr::Select(select) => matches!(&select.from[..], [one] if within(one)),
            _ => false,
        }
}

/// The items of a list of values.
pub(super) fn listed(query: &ast::Query) -> Option<&[SelectItem]> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    match select.projection.split_first() {
        Some((SelectItem::UnnamedExpr(first), rest)) if mark(first) == Some(VALUES) => Some(rest),
        _ => None,
    }
}

fn of_texts(expr: &Expr, rows: Vec<Texts>) -> Vec<Value> {
    let texts = rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
    let value = |name: String| Value {
        condition: Expr::BinaryOp {
            left: Box::new(cast_to_text(expr.clone())),
            op: ast::BinaryOperator::Eq,
            right: Box::new(trees::text(&name)),
        },
        name,
    };
    texts.map(value).collect()
}

/// A value that the statement names.
fn named_value(of: &Expr, value: &SelectItem, ask: &Ask<'_>) -> Result<Value> {
    let (expr, name) = match value {
        SelectItem::UnnamedExpr(expr) => (expr, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(ident(alias))),
        _ => return Err(Error::invalid(format!("{value} is no value of a PIVOT"))),
    };
    let (columns, values) = match (of, expr) {
        (Expr::Tuple(columns), Expr::Tuple(values)) if columns.len() == values.len() => {
            (columns.clone(), values.clone())
        }
        _ => (vec![of.clone()], vec![expr.clone()]),
    };
    let name = match name {
        Some(name) => name,
        None => {
            let mut query = trees::query("SELECT 1");
            let texts = values.iter().cloned().enumerate();
            trees::select(&mut query).projection =
                texts.map(|(nth, value)| named(cast_to_text(value), &nth.to_string())).collect();
            let rows = ask.texts(query).map_err(|_| {
                Error::invalid(format!("{expr} is no value of a PIVOT: those are constants"))
                    .with_hint("texts stand in single quotes: 'a'")
            })?;
            let texts = rows.into_iter().next().unwrap_or_default();
            texts.into_iter().map(|text| text.unwrap_or_else(|| "NULL".into())).collect::<Vec<_>>().join("_")
        }
    };
    let same = columns.into_iter().zip(values).map(|(column, value)| {
        let nested = |expr| Box::new(Expr::Nested(Box::new(expr)));
        Expr::IsNotDistinctFrom(nested(column), nested(value))
    });
    let condition = all_of(same).ok_or_else(|| Error::invalid("a PIVOT of no columns"))?;
    Ok(Value { condition, name })
}
