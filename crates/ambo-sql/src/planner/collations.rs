//! COLLATE in comparisons and orders: NOCASE compares texts without regard to large and small letters, as `lower(x)`; NOACCENT without
//! accents, as `strip_accents(x)`; NOCASE.NOACCENT both; BINARY, C, POSIX and DEFAULT compare code points, as no COLLATE does. So do
//! functions that look for a text in another.
//!
//! In groups, in DISTINCT and as a value COLLATE stays refused: there it would have to say which of several texts is meant.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    ObjectName, OrderByKind, Query, SelectItem, SetExpr, TableFactor, Value, WindowType,
};

use super::trees;
use crate::names::{object, written};

/// What makes no difference.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Collation {
    case: bool,
    accents: bool,
}

impl Collation {
    fn named(name: &ObjectName) -> Option<Self> {
        let mut found = Self::default();
        for part in written(name).ok()?.to_lowercase().split('.') {
            match part {
                "nocase" => found.case = true,
                "noaccent" => found.accents = true,
                "binary" | "c" | "posix" | "default" | "pg_catalog" => {}
                _ => return None,
            }
        }
        Some(found)
    }

    /// What is compared of a text.
    fn key(self, text: Expr) -> Expr {
        let text = if self.accents { call("strip_accents(1)", text) } else { text };
        if self.case { call("lower(1)", text) } else { Expr::Nested(Box::new(text)) }
    }
}

fn call(text: &str, argument: Expr) -> Expr {
    let mut call = trees::expr(text);
    if let Expr::Function(function) = &mut call {
        trees::set_argument(function, 0, Expr::Nested(Box::new(argument)));
    }
    call
}

/// What an expression with a COLLATE around it is, and how it is compared.
fn collated(expr: &Expr) -> Option<(&Expr, Collation)> {
    match expr {
        Expr::Collate { expr, collation: name } => Some((expr, Collation::named(name)?)),
        Expr::Nested(inner) => collated(inner),
        _ => None,
    }
}

/// Functions that compare their arguments.
const COMPARING: [&str; 7] = ["contains", "starts_with", "prefix", "ends_with", "suffix", "strpos", "instr"];

/// Says comparisons with a COLLATE.
pub(super) fn say_collation(expr: &mut Expr) {
    use BinaryOperator as Op;
    if let Expr::InSubquery { expr, subquery, .. } = expr {
        if let Some((plain, how)) = collated(expr) {
            **expr = how.key(plain.clone());
            if how != Collation::default() {
                compare_all(subquery, how);
            }
        }
        return;
    }
    let sides: Vec<&mut Expr> = match expr {
        Expr::BinaryOp { left, op: Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq, right } => {
            vec![left, right]
        }
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => vec![left, right],
        Expr::InList { expr, list, .. } => std::iter::once(expr.as_mut()).chain(list).collect(),
        Expr::Between { expr, low, high, .. } => vec![expr, low, high],
        Expr::Function(function) => {
            say_inner_orders(function);
            match object(&function.name) {
                Ok(name) if COMPARING.contains(&name.as_str()) => arguments(function),
                _ => return,
            }
        }
        _ => return,
    };
    say_sides(sides);
}

/// Compares all of these as one of them says, if no other says otherwise.
fn say_sides(mut sides: Vec<&mut Expr>) {
    let found: Vec<Collation> = sides.iter().filter_map(|side| collated(side)).map(|(_, of)| of).collect();
    let Some(first) = found.first().copied().filter(|first| found.iter().all(|other| other == first)) else {
        return;
    };
    for side in &mut sides {
        let plain = collated(side).map(|(expr, _)| expr.clone());
        **side = first.key(plain.unwrap_or_else(|| side.clone()));
    }
}

fn arguments(function: &mut Function) -> Vec<&mut Expr> {
    let FunctionArguments::List(list) = &mut function.args else { return Vec::new() };
    let expr = |argument| match argument {
        &mut FunctionArg::Unnamed(FunctionArgExpr::Expr(ref mut expr)) => Some(expr),
        _ => None,
    };
    list.args.iter_mut().filter_map(expr).collect()
}

/// Says orders with a COLLATE in an aggregate or a window, and the parts of a window.
fn say_inner_orders(function: &mut Function) {
    let mut all: Vec<&mut Expr> = Vec::new();
    if let FunctionArguments::List(list) = &mut function.args {
        for clause in &mut list.clauses {
            if let FunctionArgumentClause::OrderBy(by) = clause {
                all.extend(by.iter_mut().map(|by| &mut by.expr));
            }
        }
    }
    all.extend(function.within_group.iter_mut().map(|by| &mut by.expr));
    if let Some(WindowType::WindowSpec(window)) = &mut function.over {
        all.extend(&mut window.partition_by);
        all.extend(window.order_by.iter_mut().map(|by| &mut by.expr));
    }
    for by in all {
        if let Some((expr, how)) = collated(by) {
            *by = how.key(expr.clone());
        }
    }
}

/// Says orders with a COLLATE.
pub(super) fn say_orders(query: &mut Query) {
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(by) = &mut order_by.kind else { return };
    let items = match query.body.as_ref() {
        SetExpr::Select(select) => &select.projection[..],
        _ => &[],
    };
    for by in by {
        if let Some((expr, how)) = collated(&by.expr) {
            let plain = column_of(expr, items).unwrap_or(expr).clone();
            by.expr = if how == Collation::default() { plain } else { how.key(plain) };
        }
    }
}

/// The column of the list that a number means.
fn column_of<'i>(number: &Expr, items: &'i [SelectItem]) -> Option<&'i Expr> {
    let Expr::Value(value) = number else { return None };
    let Value::Number(number, _) = &value.value else { return None };
    let place = number.parse::<usize>().ok()?.checked_sub(1)?;
    let expr = |item: &'i SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    };
    items.iter().take(place + 1).map(expr).collect::<Option<Vec<_>>>()?.get(place).copied()
}

/// Has the values of a query compared so.
fn compare_all(query: &mut Query, how: Collation) {
    let mut around = trees::query("SELECT 1 FROM (SELECT 1) AS compared (v)");
    let select = trees::select(&mut around);
    select.projection = vec![SelectItem::UnnamedExpr(how.key(trees::column("v")))];
    if let TableFactor::Derived { subquery, .. } = &mut select.from[0].relation {
        std::mem::swap(subquery.as_mut(), query);
        std::mem::swap(query, &mut around);
    }
}
