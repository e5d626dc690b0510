//! Functions that the planner does not have, as expressions that it has.
//!
//! Each stands in [`MEANINGS`] with what it means, `$1` for its first argument. So nothing has to be computed that is not computed already,
//! and what can be made faster of the meaning is. An argument stands in a meaning once: it may be another value each time.

use std::{collections::HashMap, ops::ControlFlow, sync::LazyLock};

use datafusion::sql::sqlparser::{
    ast::{
        BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
        FunctionArguments, Value, VisitMut, VisitorMut,
    },
    parser::Parser,
};

use super::ordered_aggregates::ordered;
use crate::{names::written, parse::DIALECT};

/// The operator's name among the meanings. It is a double, whatever its operands are, so that `2 ^ -1` is one half.
const POWER: &str = "^";

/// Name, number of arguments, meaning. Of aggregates, DISTINCT, ORDER BY, FILTER and OVER go to the aggregate of the meaning.
const MEANINGS: [(&str, usize, &str); 60] = [
    (POWER, 2, "power(CAST($1 AS DOUBLE), CAST($2 AS DOUBLE))"),
    ("iif", 3, "CASE WHEN $1 THEN $2 ELSE $3 END"),
    ("iif", 2, "CASE WHEN $1 THEN $2 END"),
    ("if", 3, "CASE WHEN $1 THEN $2 ELSE $3 END"),
    ("mod", 2, "$1 % $2"),
    ("truncate", 1, "trunc($1)"),
    ("truncate", 2, "trunc($1, $2)"),
    ("ceiling", 1, "ceil($1)"),
    ("lcase", 1, "lower($1)"),
    ("ucase", 1, "upper($1)"),
    ("char", 1, "chr($1)"),
    ("unicode", 1, "ascii($1)"),
    ("space", 1, "repeat(' ', $1)"),
    ("locate", 2, "strpos($2, $1)"),
    ("hex", 1, "upper(encode($1, 'hex'))"),
    ("unhex", 1, "decode($1, 'hex')"),
    ("regexp_matches", 2, "regexp_like($1, $2)"),
    ("gen_random_uuid", 0, "uuid()"),
    ("date", 1, "CAST($1 AS DATE)"),
    ("to_date", 1, "CAST($1 AS DATE)"),
    ("datetime", 1, "CAST($1 AS TIMESTAMP)"),
    ("year", 1, "date_part('year', $1)"),
    ("quarter", 1, "date_part('quarter', $1)"),
    ("month", 1, "date_part('month', $1)"),
    ("week", 1, "date_part('week', $1)"),
    ("day", 1, "date_part('day', $1)"),
    ("dayofmonth", 1, "date_part('day', $1)"),
    ("dayofweek", 1, "date_part('dow', $1)"),
    ("dayofyear", 1, "date_part('doy', $1)"),
    ("hour", 1, "date_part('hour', $1)"),
    ("minute", 1, "date_part('minute', $1)"),
    ("second", 1, "date_part('second', $1)"),
    ("dayname", 1, "to_char($1, '%A')"),
    ("monthname", 1, "to_char($1, '%B')"),
    ("last_day", 1, "CAST(date_trunc('month', $1) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)"),
    ("date_add", 2, "$1 + $2"),
    ("date_sub", 2, "$1 - $2"),
    ("unixepoch", 1, "to_unixtime($1)"),
    ("strftime", 2, "to_char(CAST($2 AS TIMESTAMP), $1)"),
    ("age", 1, "age(current_date(), $1)"),
    ("epoch", 1, "date_part('epoch', $1)"),
    ("current_schema", 0, "'main'"),
    ("version", 0, concat!("'Ambo ", env!("CARGO_PKG_VERSION"), "'")),
    ("total", 1, "coalesce(sum(CAST($1 AS DOUBLE)), CAST(0 AS DOUBLE))"),
    ("count_if", 1, "count(CASE WHEN $1 THEN 1 END)"),
    ("countif", 1, "count(CASE WHEN $1 THEN 1 END)"),
    ("every", 1, "bool_and($1)"),
    ("group_concat", 1, "string_agg($1, ',')"),
    ("group_concat", 2, "string_agg($1, $2)"),
    ("string_agg", 1, "string_agg($1, ',')"),
    ("listagg", 1, "string_agg($1, '')"),
    ("listagg", 2, "string_agg($1, $2)"),
    ("array_sort", 1, "array_sort($1, 'ASC', 'NULLS LAST')"),
    ("list_sort", 1, "array_sort($1, 'ASC', 'NULLS LAST')"),
    ("list_min", 1, "array_min($1)"),
    ("list_max", 1, "array_max($1)"),
    ("list", 1, "array_agg($1)"),
    ("first", 1, "first_value($1)"),
    ("last", 1, "last_value($1)"),
    ("approx_count_distinct", 1, "approx_distinct($1)"),
];

/// The aggregates in meanings.
const AGGREGATES: [&str; 8] =
    ["sum", "count", "bool_and", "string_agg", "array_agg", "first_value", "last_value", "approx_distinct"];

/// What a function means, if it is one of these.
pub(super) fn meaning(function: &Function) -> Option<Expr> {
    let name = written(&function.name).ok()?;
    if let Some(ordered) = ordered(function) {
        return Some(ordered);
    }
    let mut arguments = arguments(function)?;
    if name == "xor" {
        let [left, right] = <[Expr; 2]>::try_from(arguments).ok()?;
        let (left, right) = (nested(left).into(), nested(right).into());
        return Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op: BinaryOperator::BitwiseXor, right })));
    }
    if name == "encode" && arguments.len() == 2 && is_text(&arguments[1], "base64") {
        return Some(with_padding(function));
    }
    if name == "strftime" && arguments.len() == 2 && is_format(&arguments[1]) && !is_format(&arguments[0]) {
        arguments.swap(0, 1);
    }
    said(&name, arguments, Some(function))
}

/// What `^` means, between these.
pub(super) fn power(base: &Expr, exponent: &Expr) -> Option<Expr> {
    said(POWER, vec![base.clone(), exponent.clone()], None)
}

/// The meaning of a name with these arguments, if it has one.
fn said(name: &str, arguments: Vec<Expr>, function: Option<&Function>) -> Option<Expr> {
    static PARSED: LazyLock<HashMap<(&str, usize), Expr>> = LazyLock::new(|| {
        let parsed =
            |text| Parser::new(&DIALECT).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
        MEANINGS
            .iter()
            .filter_map(|(name, arguments, text)| Some(((*name, *arguments), parsed(text).ok()?)))
            .collect()
    });
    let mut meaning = PARSED.get(&(name, arguments.len()))?.clone();
    let _ = meaning.visit(&mut Meant { function, arguments });
    Some(Expr::Nested(Box::new(meaning)))
}

fn arguments(function: &Function) -> Option<Vec<Expr>> {
    let all = match &function.args {
        FunctionArguments::None => return Some(Vec::new()),
        FunctionArguments::List(list) => &list.args,
        FunctionArguments::Subquery(_) => return None,
    };
    let expr = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    all.iter().map(expr).collect()
}

fn is_text(expr: &Expr, wanted: &str) -> bool {
    matches!(expr, Expr::Value(value)
        if matches!(&value.value, Value::SingleQuotedString(text) if text.eq_ignore_ascii_case(wanted)))
}

/// Base64 has its last group filled up (RFC 4648); the planner's has not, unless it is called so.
fn with_padding(function: &Function) -> Expr {
    let mut function = function.clone();
    if let FunctionArguments::List(list) = &mut function.args
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(form))) = list.args.last_mut()
    {
        *form = Expr::value(Value::SingleQuotedString("base64pad".to_owned()));
    }
    Expr::Function(function)
}

/// `strftime` has its format first in SQLite, last in DuckDB.
fn is_format(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(&value.value, Value::SingleQuotedString(text) if text.contains('%')))
}

struct Meant<'f> {
    /// None of an operator.
    function: Option<&'f Function>,
    arguments: Vec<Expr>,
}

impl VisitorMut for Meant<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Value(value) => {
                if let Value::Placeholder(name) = &value.value
                    && let Some(argument) = place(name).and_then(|at| self.arguments.get(at))
                {
                    *expr = nested(argument.clone());
                }
            }
            Expr::Function(of)
                if let Some(function) = self.function
                    && written(&of.name).is_ok_and(|name| AGGREGATES.contains(&name.as_str())) =>
            {
                of.filter.clone_from(&function.filter);
                of.over.clone_from(&function.over);
                of.null_treatment.clone_from(&function.null_treatment);
                if let (
                    FunctionArguments::List(FunctionArgumentList { duplicate_treatment, clauses, .. }),
                    FunctionArguments::List(list),
                ) = (&function.args, &mut of.args)
                {
                    list.duplicate_treatment.clone_from(duplicate_treatment);
                    list.clauses.extend(clauses.iter().cloned());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn place(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}

/// Literals stay what they are: some functions ask for them.
fn nested(argument: Expr) -> Expr {
    match argument {
        Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Function(_) => argument,
        other => Expr::Nested(Box::new(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: a meaning that cannot be read, of which nobody would hear.
    #[test]
    fn meanings_are_expressions() {
        for (name, arguments, text) in MEANINGS {
            let mut parser = Parser::new(&DIALECT).try_with_sql(text).unwrap();
            assert!(parser.parse_expr().is_ok(), "{name}: {text}");
            for nth in 1..=arguments {
                assert_eq!(text.matches(&format!("${nth}")).count(), 1, "{name}: {text}");
            }
        }
    }
}
