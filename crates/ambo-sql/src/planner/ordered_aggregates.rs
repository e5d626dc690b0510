//! Aggregates with an order that the planner leaves out, or that has no meaning for them: `any_value`, `mode`, `arg_max` and `arg_min` by
//! those that keep it. Window functions with an order of their own are functions that are told it.

use datafusion::sql::sqlparser::{
    ast::{
        BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
        FunctionArgumentList, FunctionArguments, NullTreatment, OrderByExpr, WindowFrame, WindowFrameBound,
        WindowFrameUnits, WindowType,
    },
    parser::Parser,
};

use super::{rewrite::without_parentheses, trees::text};
use crate::{Error, Result, names::object, parse::DIALECT};

/// Aggregates that are the same in any order. The planner cannot do with several orders of them.
const WITHOUT_ORDER: [&str; 21] = [
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
    "median",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "mad",
    "entropy",
    "histogram",
    "skewness",
    "kurtosis",
    "product",
    "weighted_avg",
];

/// What a function means, if it is one of these and has an order.
pub(super) fn ordered(function: &Function) -> Option<Expr> {
    let name = object(&function.name).ok()?;
    if let Some(in_order) = over_window(&name, function) {
        return Some(in_order);
    }
    let mut given = function.clone();
    let FunctionArguments::List(list) = &mut given.args else { return None };
    if let ("mode", [], [by]) = (name.as_str(), &list.args[..], &function.within_group[..]) {
        // The value of most rows, the first of several in this order.
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(by.expr.clone()))];
        list.clauses.push(FunctionArgumentClause::OrderBy(vec![by.clone()]));
        given.within_group.clear();
        return mode(given);
    }
    if let ("percentile_cont" | "percentile_disc", [_], [by]) =
        (name.as_str(), &list.args[..], &function.within_group[..])
    {
        // The value at this share of the rows in this order.
        let is_descending = by.options.asc == Some(false);
        list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(by.expr.clone())));
        given.within_group.clear();
        rename(
            &mut given,
            match (name.as_str(), is_descending) {
                ("percentile_cont", false) => "quantile_cont",
                ("percentile_cont", true) => "quantile_cont_desc",
                (_, false) => "quantile_disc",
                (_, true) => "quantile_disc_desc",
            },
        )?;
        return Some(Expr::Function(given));
    }
    let is_order = |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::OrderBy(_));
    if !list.clauses.iter().any(is_order) {
        return None;
    }
    if let Some(other) = descending(&name, list) {
        list.clauses.retain(|clause| !is_order(clause));
        rename(&mut given, other)?;
        return Some(Expr::Function(given));
    }
    if WITHOUT_ORDER.contains(&name.as_str()) {
        list.clauses.retain(|clause| !is_order(clause));
        return Some(Expr::Function(given));
    }
    match (name.as_str(), list.args.len()) {
        ("any_value", 1) => {
            rename(&mut given, "first_value")?;
            given.null_treatment = Some(NullTreatment::IgnoreNulls);
            Some(Expr::Function(given))
        }
        ("mode", 1) => mode(given),
        ("arg_max" | "max_by" | "argmax", 2) => first(given, "DESC"),
        ("arg_min" | "min_by" | "argmin", 2) => first(given, "ASC"),
        _ => None,
    }
}

/// Functions of windows that may have an order of their own, how many arguments they have, and what stands for those that are left out.
const IN_ORDER: [(&str, &str, usize, &[&str]); 20] = [
    ("row_number", "row_number", 0, &[]),
    ("rank", "rank", 0, &[]),
    ("percent_rank", "percent_rank", 0, &[]),
    ("cume_dist", "cume_dist", 0, &[]),
    ("ntile", "ntile", 1, &[]),
    ("lead", "lead", 3, &["1", "NULL"]),
    ("lag", "lag", 3, &["1", "NULL"]),
    ("first_value", "first_value", 1, &[]),
    ("first", "first_value", 1, &[]),
    ("arbitrary", "first_value", 1, &[]),
    ("any_value", "first_value", 1, &[]),
    ("last_value", "last_value", 1, &[]),
    ("last", "last_value", 1, &[]),
    ("nth_value", "nth_value", 2, &[]),
    ("array_agg", "array_agg", 1, &[]),
    ("list", "array_agg", 1, &[]),
    ("string_agg", "string_agg", 2, &["','"]),
    ("group_concat", "string_agg", 2, &["','"]),
    ("listagg", "string_agg", 2, &["''"]),
    ("fill", "fill", 1, &[]),
];

/// `lead(x ORDER BY y) OVER (…)` is `lead_in_order('al', x, 1, NULL, y) OVER (…)`, and `fill(x) OVER (ORDER BY y)` is
/// `fill(x, y) OVER (…)`.
fn over_window(name: &str, function: &Function) -> Option<Expr> {
    let Some(WindowType::WindowSpec(window)) = &function.over else { return None };
    let (_, of, count, left_out) = IN_ORDER.into_iter().find(|(known, ..)| *known == name)?;
    let FunctionArguments::List(list) = &function.args else { return None };
    if list.duplicate_treatment.is_some() || function.filter.is_some() {
        return None;
    }
    let order = list.clauses.iter().find_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(by) => Some(by),
        _ => None,
    });
    let mut given = function.clone();
    let FunctionArguments::List(list) = &mut given.args else { return None };
    let argument = |expr: Expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    if of == "fill" {
        let [by] = &order.unwrap_or(&window.order_by)[..] else { return None };
        if list.args.len() != 1 {
            return None;
        }
        list.clauses.clear();
        list.args.push(argument(by.expr.clone()));
        return Some(Expr::Function(given));
    }
    let order = order?;
    // The parser asks for an argument before ORDER BY.
    let written = if count == 0 { 0 } else { list.args.len() };
    let missing = count.checked_sub(written)?;
    let mut args = std::mem::take(&mut list.args);
    args.truncate(count);
    args.extend(
        left_out
            .get(left_out.len().checked_sub(missing)?..)?
            .iter()
            .filter_map(|of| parsed(of))
            .map(argument),
    );
    let letters: String = order
        .iter()
        .map(|by| match (by.options.asc == Some(false), by.options.nulls_first) {
            (true, Some(false)) => "dl",
            (true, _) => "df",
            (false, Some(true)) => "af",
            (false, _) => "al",
        })
        .collect();
    args.insert(0, argument(text(&letters)));
    args.extend(order.iter().map(|by| argument(by.expr.clone())));
    list.args = args;
    list.clauses.retain(|clause| !matches!(clause, FunctionArgumentClause::OrderBy(_)));
    if name == "any_value" {
        given.null_treatment = Some(NullTreatment::IgnoreNulls);
    }
    rename(&mut given, &format!("{of}_in_order"))?;
    Some(Expr::Function(given))
}

/// Window functions whose order is no order of what they are given.
const OF_ROWS: [&str; 8] =
    ["lag", "lead", "ntile", "rank", "dense_rank", "percent_rank", "cume_dist", "row_number"];

/// `array_agg(x ORDER BY y) OVER (PARTITION BY z)` is of all rows of a partition: in the order of the window.
pub(super) fn say_order_of_window(function: &mut Function) {
    let Some(WindowType::WindowSpec(window)) = &mut function.over else { return };
    let is_whole =
        window.window_name.is_none() && window.order_by.is_empty() && window.window_frame.is_none();
    let FunctionArguments::List(list) = &mut function.args else { return };
    if !is_whole || object(&function.name).is_ok_and(|name| OF_ROWS.contains(&name.as_str())) {
        return;
    }
    let is_order = |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::OrderBy(_));
    let Some(place) = list.clauses.iter().position(is_order) else { return };
    if let FunctionArgumentClause::OrderBy(by) = list.clauses.remove(place) {
        window.order_by = by;
        window.window_frame = Some(WindowFrame {
            units: WindowFrameUnits::Rows,
            start_bound: WindowFrameBound::Preceding(None),
            end_bound: Some(WindowFrameBound::Following(None)),
        });
    }
}

/// Refuses an order that a function of a window has no use for. To be asked when all that have one are said otherwise.
pub(super) fn refuse_order_of_window(expr: &Expr) -> Result<()> {
    let Expr::Function(function) = expr else { return Ok(()) };
    let (Some(_), FunctionArguments::List(list)) = (&function.over, &function.args) else { return Ok(()) };
    match list.clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_))) {
        true => {
            Err(Error::invalid(format!("not supported: ORDER BY in the parentheses of {}()", function.name))
                .with_hint("the order of the window stands behind OVER"))
        }
        false => Ok(()),
    }
}

/// What a quantile of values in descending order is.
fn descending(name: &str, list: &FunctionArgumentList) -> Option<&'static str> {
    let other = match name {
        "quantile_cont" => "quantile_cont_desc",
        "quantile_disc" | "quantile" => "quantile_disc_desc",
        _ => return None,
    };
    let first = list.args.first()?;
    let is_descending = |clause: &FunctionArgumentClause| match clause {
        FunctionArgumentClause::OrderBy(by) => by.first().is_some_and(|by| {
            by.options.asc == Some(false)
                && *first == FunctionArg::Unnamed(FunctionArgExpr::Expr(by.expr.clone()))
        }),
        _ => false,
    };
    list.clauses.iter().any(is_descending).then_some(other)
}

/// `list_mode(array_agg(x ORDER BY …))`.
fn mode(mut function: Function) -> Option<Expr> {
    rename(&mut function, "array_agg")?;
    let Expr::Function(mut around) = parsed("list_mode(0)")? else { return None };
    let FunctionArguments::List(list) = &mut around.args else { return None };
    list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(function)))];
    Some(Expr::Function(around))
}

/// `first_value(x ORDER BY y …, …) IGNORE NULLS` of the rows that have a y.
fn first(mut function: Function, direction: &str) -> Option<Expr> {
    rename(&mut function, "first_value")?;
    let FunctionArguments::List(FunctionArgumentList { args, clauses, .. }) = &mut function.args else {
        return None;
    };
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(key)) = args.pop()? else { return None };
    let key = Expr::Nested(Box::new(key));
    let by = order(&format!("{key} {direction} NULLS LAST"))?;
    for clause in clauses {
        if let FunctionArgumentClause::OrderBy(order) = clause {
            // The planner cannot do with one column in two places of an order.
            order.retain(|other| without_parentheses(&other.expr) != without_parentheses(&key));
            order.insert(0, by.clone());
        }
    }
    let has_key = Expr::IsNotNull(Box::new(key));
    function.filter = Some(Box::new(match function.filter.take() {
        Some(filter) => {
            let (left, right) = (Box::new(Expr::Nested(filter)), Box::new(has_key));
            Expr::BinaryOp { left, op: BinaryOperator::And, right }
        }
        None => has_key,
    }));
    function.null_treatment = Some(NullTreatment::IgnoreNulls);
    Some(Expr::Function(function))
}

fn rename(function: &mut Function, name: &str) -> Option<()> {
    let Expr::Function(named) = parsed(&format!("{name}(0)"))? else { return None };
    function.name = named.name;
    Some(())
}

fn parsed(text: &str) -> Option<Expr> {
    Parser::new(&DIALECT).try_with_sql(text).and_then(|mut parser| parser.parse_expr()).ok()
}

fn order(text: &str) -> Option<OrderByExpr> {
    Parser::new(&DIALECT).try_with_sql(text).and_then(|mut parser| parser.parse_order_by_expr()).ok()
}
