//! Functions that the planner does not have, as expressions that it has.
//!
//! Each stands in [`MEANINGS`] with what it means, `$1` for its first argument. So nothing has to be computed that is not computed already,
//! and what can be made faster of the meaning is. An argument stands in a meaning once: it may be another value each time.

use std::{collections::HashMap, ops::ControlFlow, sync::LazyLock};

use datafusion::sql::sqlparser::{
    ast::{
        BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
        FunctionArgumentList, FunctionArguments, Value, VisitorMut,
    },
    parser::Parser,
};

use super::{
    json::{at_places, of_list as of_json_list, shaped, to_several},
    lambdas::invoked,
    ordered_aggregates::ordered,
    patterns::call,
    times::fields_of,
    trees,
};
use crate::{
    names::{ident, written},
    parse::DIALECT,
    walk::WalkMut,
};

/// The operator's name among the meanings. It is a double, whatever its operands are, so that `2 ^ -1` is one half.
const POWER: &str = "^";

/// Name, number of arguments, meaning. Of aggregates, DISTINCT, ORDER BY, FILTER and OVER go to the aggregate of the meaning.
const MEANINGS: [(&str, usize, &str); 196] = [
    (POWER, 2, "power(CAST($1 AS DOUBLE), CAST($2 AS DOUBLE))"),
    ("iif", 3, "CASE WHEN $1 THEN $2 ELSE $3 END"),
    ("nvl2", 3, "CASE WHEN $1 IS NOT NULL THEN $2 ELSE $3 END"),
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
    ("like_escape", 3, "$1 LIKE like_escape($2, $3)"),
    ("ilike_escape", 3, "$1 ILIKE like_escape($2, $3)"),
    ("not_like_escape", 3, "$1 NOT LIKE like_escape($2, $3)"),
    ("not_ilike_escape", 3, "$1 NOT ILIKE like_escape($2, $3)"),
    ("arg_max_null", 2, "struct_extract_at(arg_max({'value': $1}, $2), 1)"),
    ("arg_min_null", 2, "struct_extract_at(arg_min({'value': $1}, $2), 1)"),
    ("regexp_matches", 2, "regexp_like($1, $2)"),
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
    ("dayname", 1, "name_in_moment($1, '%A')"),
    ("monthname", 1, "name_in_moment($1, '%B')"),
    ("last_day", 1, "CAST(date_trunc('month', $1) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)"),
    ("date_add", 2, "$1 + $2"),
    ("date_sub", 2, "$1 - $2"),
    ("unixepoch", 1, "to_unixtime($1)"),
    ("strftime", 2, "to_char(CAST($2 AS TIMESTAMP), strftime_format($1))"),
    ("age", 1, "age(current_date(), $1)"),
    ("epoch", 1, "date_part('epoch', $1)"),
    ("current_schema", 0, "current_setting('schema')"),
    ("current_database", 0, "current_setting('database')"),
    ("current_catalog", 0, "current_setting('database')"),
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
    ("to_years", 1, "$1 * INTERVAL '1 year'"),
    ("to_quarters", 1, "$1 * INTERVAL '3 months'"),
    ("to_months", 1, "$1 * INTERVAL '1 month'"),
    ("to_weeks", 1, "$1 * INTERVAL '7 days'"),
    ("to_days", 1, "$1 * INTERVAL '1 day'"),
    ("to_hours", 1, "$1 * INTERVAL '1 hour'"),
    ("to_minutes", 1, "$1 * INTERVAL '1 minute'"),
    ("to_seconds", 1, "$1 * INTERVAL '1 second'"),
    ("to_milliseconds", 1, "$1 * INTERVAL '1 millisecond'"),
    ("to_microseconds", 1, "$1 * INTERVAL '1 microsecond'"),
    ("to_decades", 1, "$1 * INTERVAL '10 years'"),
    ("to_centuries", 1, "$1 * INTERVAL '100 years'"),
    ("to_millennia", 1, "$1 * INTERVAL '1000 years'"),
    ("era", 1, "date_part('era', $1)"),
    ("yearweek", 1, "date_part('yearweek', $1)"),
    ("nanosecond", 1, "date_part('nanosecond', $1)"),
    ("timezone", 1, "date_part('timezone', $1)"),
    ("timezone_hour", 1, "date_part('timezone_hour', $1)"),
    ("timezone_minute", 1, "date_part('timezone_minute', $1)"),
    ("array_to_string_comma_default", 1, "array_to_string($1, ',')"),
    ("array_to_string_comma_default", 2, "array_to_string($1, $2)"),
    ("array_negative_dot_product", 2, "-inner_product($1, $2)"),
    ("list_negative_dot_product", 2, "-inner_product($1, $2)"),
    ("constant_or_null", 2, "CASE WHEN $2 IS NOT NULL THEN $1 END"),
    ("ago", 1, "now() - $1"),
    ("make_timestamp_ms", 1, "to_timestamp_millis($1)"),
    ("array_cosine_similarity", 2, "1 - cosine_distance($1, $2)"),
    ("list_cosine_similarity", 2, "1 - cosine_distance($1, $2)"),
    ("array_negative_inner_product", 2, "-inner_product($1, $2)"),
    ("list_negative_inner_product", 2, "-inner_product($1, $2)"),
    ("list_group_concat", 1, "list_string_agg($1, ',')"),
    ("microsecond", 1, "date_part('microsecond', $1)"),
    ("millisecond", 1, "date_part('millisecond', $1)"),
    ("decade", 1, "date_part('decade', $1)"),
    ("century", 1, "date_part('century', $1)"),
    ("millennium", 1, "date_part('millennium', $1)"),
    ("isodow", 1, "date_part('isodow', $1)"),
    ("isoyear", 1, "date_part('isoyear', $1)"),
    ("weekday", 1, "date_part('dow', $1)"),
    ("weekofyear", 1, "date_part('week', $1)"),
    ("julianday", 1, "date_part('julian', $1)"),
    ("julian", 1, "date_part('julian', $1)"),
    ("days_in_month", 1, "date_part('day', date_trunc('month', $1) + INTERVAL '1 month' - INTERVAL '1 day')"),
    ("uuid_extract_timestamp", 1, "to_timestamp(CAST(uuid_milliseconds($1) AS DOUBLE) / 1000)"),
    ("add", 2, "$1 + $2"),
    ("subtract", 2, "$1 - $2"),
    ("multiply", 2, "$1 * $2"),
    ("divide", 2, "$1 / $2"),
    ("greatest_common_divisor", 2, "gcd($1, $2)"),
    ("least_common_multiple", 2, "lcm($1, $2)"),
    ("editdist3", 2, "levenshtein($1, $2)"),
    ("mid", 2, "substr($1, $2)"),
    ("mid", 3, "substr($1, $2, $3)"),
    ("to_base64", 1, "encode(CAST($1 AS BYTEA), 'base64pad')"),
    ("base64", 1, "encode(CAST($1 AS BYTEA), 'base64pad')"),
    ("from_base64", 1, "decode(CAST($1 AS BYTEA), 'base64pad')"),
    ("sha", 1, "sha1($1)"),
    ("rand", 0, "random()"),
    ("likely", 1, "$1"),
    ("unlikely", 1, "$1"),
    ("transaction_timestamp", 0, "now()"),
    ("curdate", 0, "current_date()"),
    ("sind", 1, "sin(radians($1))"),
    ("cosd", 1, "cos(radians($1))"),
    ("tand", 1, "tan(radians($1))"),
    ("regexp_split_to_table", 2, "unnest(regexp_split_to_array($1, $2))"),
    ("string_to_table", 2, "unnest(string_to_array($1, $2))"),
    ("list_first", 1, "array_element($1, 1)"),
    ("array_first", 1, "array_element($1, 1)"),
    ("list_last", 1, "array_element($1, -1)"),
    ("array_last", 1, "array_element($1, -1)"),
    ("list_distinct", 1, "array_distinct(list_filter($1, lambda x: x IS NOT NULL))"),
    ("list_unique", 1, "length(array_distinct(list_filter($1, lambda x: x IS NOT NULL)))"),
    ("array_unique", 1, "length(array_distinct(list_filter($1, lambda x: x IS NOT NULL)))"),
    ("list_reverse_sort", 1, "array_sort($1, 'DESC', 'NULLS FIRST')"),
    ("array_reverse_sort", 1, "array_sort($1, 'DESC', 'NULLS FIRST')"),
    ("list_string_agg", 1, "list_string_agg($1, ',')"),
    ("list_approx_count_distinct", 1, "list_approx_distinct($1)"),
    ("array_upper", 2, "array_length($1, $2)"),
    ("map_extract_value", 2, "$1[$2]"),
    ("map_contains", 2, "array_has(map_keys($1), $2)"),
    ("map_contains_value", 2, "array_has(map_values($1), $2)"),
    ("struct_extract", 2, "get_field($1, $2)"),
    ("min", 2, "min_n($1, $2)"),
    ("max", 2, "max_n($1, $2)"),
    ("arg_min", 3, "arg_min_n($1, $2, $3)"),
    ("arg_max", 3, "arg_max_n($1, $2, $3)"),
    ("min_by", 3, "arg_min_n($1, $2, $3)"),
    ("max_by", 3, "arg_max_n($1, $2, $3)"),
    ("argmin", 3, "arg_min_n($1, $2, $3)"),
    ("argmax", 3, "arg_max_n($1, $2, $3)"),
    ("approx_quantile", 2, "quantile_disc($1, $2)"),
    ("div", 2, "trunc($1 / $2)"),
    ("generate_subscripts", 2, "unnest(range(1, CAST(array_length($1, $2) AS BIGINT) + 1))"),
    ("variance", 1, "var($1)"),
    ("std", 1, "stddev($1)"),
    ("arbitrary", 1, "first_value($1)"),
    ("count_star", 0, "count(1)"),
    ("geomean", 1, "exp(avg(ln(CAST($1 AS DOUBLE))))"),
    ("geometric_mean", 1, "exp(avg(ln(CAST($1 AS DOUBLE))))"),
    ("sum_no_overflow", 1, "sum($1)"),
    ("rank_dense", 0, "dense_rank()"),
    ("json_group_array", 1, "json_array_of(array_agg(json_element($1)))"),
    ("json_agg", 1, "json_array_of(array_agg(json_element($1)))"),
    ("jsonb_agg", 1, "json_array_of(array_agg(json_element($1)))"),
    ("json_arrayagg", 1, "json_array_of(array_agg(json_element($1)))"),
    ("json_group_object", 2, "json_object_of(array_agg(json_pair($1, $2)))"),
    ("json_object_agg", 2, "json_object_of(array_agg(json_pair($1, $2)))"),
    ("jsonb_object_agg", 2, "json_object_of(array_agg(json_pair($1, $2)))"),
    ("json_objectagg", 2, "json_object_of(array_agg(json_pair($1, $2)))"),
    ("json_object_keys", 1, "unnest(json_keys($1))"),
    ("jsonb_object_keys", 1, "unnest(json_keys($1))"),
    ("json_array_elements", 1, "cast_to_json(unnest(json_extract_list($1, '$[*]')))"),
    ("jsonb_array_elements", 1, "cast_to_json(unnest(json_extract_list($1, '$[*]')))"),
    ("json_array_elements_text", 1, "unnest(json_extract_string_list($1, '$[*]'))"),
    ("jsonb_array_elements_text", 1, "unnest(json_extract_string_list($1, '$[*]'))"),
    ("json_unquote", 1, "json_extract_string($1, '$')"),
    ("json_length", 1, "json_array_length($1)"),
    ("json_length", 2, "json_array_length($1, $2)"),
    (
        "json_group_structure",
        1,
        "json_extract(json_structure(json_array_of(array_agg(json_element($1)))), '$[0]')",
    ),
    ("histogram", 2, "histogram_of_bins($1, $2)"),
    (
        "in_search_path",
        2,
        "array_has([current_setting('database'), 'temp', 'system'], $1) AND array_has(array_concat(string_to_array(replace(current_setting('search_path'), ' ', ''), ','), ['main', 'pg_catalog']), $2)",
    ),
    ("get_current_time", 0, "current_time()"),
    ("array_push_front", 2, "array_prepend($2, $1)"),
    ("list_push_front", 2, "array_prepend($2, $1)"),
    ("map", 0, "MAP {}"),
    ("quote_nullable", 1, "coalesce(quote_literal($1), 'NULL')"),
    ("sleep_ms", 1, "pg_sleep($1 / CAST(1000 AS DOUBLE))"),
    ("encode", 1, "bytes_of($1)"),
    ("decode", 1, "CAST($1 AS VARCHAR)"),
];

/// The aggregates in meanings.
const AGGREGATES: [&str; 20] = [
    "histogram_of_bins",
    "arg_max",
    "arg_min",
    "sum",
    "var",
    "stddev",
    "avg",
    "count",
    "bool_and",
    "string_agg",
    "array_agg",
    "first_value",
    "last_value",
    "approx_distinct",
    "min_n",
    "max_n",
    "arg_min_n",
    "arg_max_n",
    "quantile_disc",
    "dense_rank",
];

/// Functions that are another one, whatever their arguments are.
const RENAMED: [(&str, &str); 13] = [
    ("grouping_id", "grouping"),
    ("unpivot_list", "make_array"),
    ("struct_has", "struct_contains"),
    ("struct_indexof", "struct_position"),
    ("list_value", "make_array"),
    ("list_pack", "make_array"),
    ("array_value", "make_array"),
    ("array_cosine_distance", "cosine_distance"),
    ("list_cosine_distance", "cosine_distance"),
    ("array_inner_product", "inner_product"),
    ("list_inner_product", "inner_product"),
    ("array_dot_product", "inner_product"),
    ("list_dot_product", "inner_product"),
];

/// What computes an aggregate of a list, which is its second argument.
const LIST_AGGREGATES: [&str; 5] =
    ["list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"];

/// All names of these, each with its kind.
pub(crate) fn function_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let scalars = [
        "xor",
        "invoke",
        "struct_pack",
        "try",
        "make_interval",
        "num_nulls",
        "num_nonnulls",
        "alias",
        "json_transform",
        "from_json",
        "json_transform_strict",
        "from_json_strict",
    ];
    let others =
        [("percentile_disc", "aggregate"), ("unnest", "table"), ("query", "table"), ("query_table", "table")];
    let kind = |meaning: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut words = meaning.split(|c| !is_part(c));
        match (meaning.starts_with("unnest("), words.any(|word| AGGREGATES.contains(&word))) {
            (true, _) => "table",
            (_, true) => "aggregate",
            _ => "scalar",
        }
    };
    let meanings = MEANINGS.iter().map(move |(name, _, meaning)| (*name, kind(meaning)));
    let renamed = RENAMED.map(|(name, _)| (name, if name == "grouping_id" { "aggregate" } else { "scalar" }));
    let scalars = scalars.into_iter().chain(LIST_AGGREGATES).map(|name| (name, "scalar"));
    meanings.filter(|(name, _)| *name != POWER).chain(renamed).chain(scalars).chain(others)
}

/// What a function means, if it is one of these.
pub(super) fn meaning(function: &Function) -> Option<Expr> {
    let name = written(&function.name).ok()?;
    if let Some(ordered) = ordered(function) {
        return Some(ordered);
    }
    if name == "struct_pack" {
        return Some(call("named_struct", named(function, 0)?));
    }
    if name == "unnest" {
        return flat_unnest(function);
    }
    if name == "struct_insert" || name == "struct_update" {
        return Some(call(&name, named(function, 1)?));
    }
    if name == "make_interval" {
        return interval_of_parts(function);
    }
    let mut arguments = arguments(function)?;
    if matches!(name.as_str(), "num_nulls" | "num_nonnulls") {
        return counted_nulls(arguments, name == "num_nulls");
    }
    if name == "invoke" && !arguments.is_empty() {
        return invoked(arguments);
    }
    if let ("regexp_extract" | "regexp_extract_all", [_, _, Expr::Array(names), ..]) =
        (name.as_str(), &arguments[..])
    {
        let names = names.elem.clone();
        return Some(with_names(&name, arguments, names));
    }
    if let ("date_part" | "datepart", [Expr::Array(fields), moment]) = (name.as_str(), &arguments[..]) {
        return fields_of(&fields.elem, moment);
    }
    let is_null = |expr: &Expr| matches!(expr, Expr::Value(value) if value.value == Value::Null);
    if name == "map" && arguments.len() == 2 && arguments.iter().any(is_null) {
        return Some(Expr::value(Value::Null));
    }
    let of_json = shaped(&name, &arguments).or_else(|| at_places(&name, &arguments));
    if let Some(shaped) = of_json.or_else(|| of_json_list(&name, &arguments)) {
        return Some(shaped);
    }
    if let Some(several) = to_several(&name, &arguments) {
        return Some(several);
    }
    if let ("strptime" | "try_strptime", Some(true)) = (name.as_str(), arguments.get(1).map(has_zone)) {
        return Some(call(&format!("{name}_with_zone"), arguments));
    }
    if let Some((_, planners)) = RENAMED.iter().find(|(of, _)| *of == name) {
        return Some(call(planners, arguments));
    }
    if LIST_AGGREGATES.contains(&name.as_str()) && arguments.len() > 1 {
        return of_list(arguments);
    }
    if name == "xor" {
        let [left, right] = <[Expr; 2]>::try_from(arguments).ok()?;
        let (left, right) = (nested(left).into(), nested(right).into());
        return Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op: BinaryOperator::BitwiseXor, right })));
    }
    if let ("encode" | "decode", 2) = (name.as_str(), arguments.len()) {
        return of_bytes(&name, arguments);
    }
    let is_concat = matches!(name.as_str(), "list_concat" | "array_concat" | "list_cat" | "array_cat");
    if is_concat && arguments.iter().any(is_null) {
        arguments.retain(|argument| !is_null(argument));
        return Some(match arguments.is_empty() {
            true => Expr::value(Value::Null),
            false => call("array_concat", arguments),
        });
    }
    if name == "coalesce" && arguments.iter().any(is_null) && !arguments.iter().all(is_null) {
        arguments.retain(|argument| !is_null(argument));
        return Some(call("coalesce", arguments));
    }
    if let ("strftime", [first, second]) = (name.as_str(), &arguments[..]) {
        match (is_format(first), is_format(second)) {
            (false, true) => arguments.swap(0, 1),
            // The types tell.
            (false, false) => return None,
            _ => {}
        }
    }
    said(&name, arguments, Some(function))
}

/// `make_interval(1, 2, 0, 3)`, `make_interval(days => 3)`: the sum of so many years, months, weeks, days, hours, minutes and seconds.
fn interval_of_parts(function: &Function) -> Option<Expr> {
    const PARTS: [(&str, &str); 7] = [
        ("years", "1 year"),
        ("months", "1 month"),
        ("weeks", "7 days"),
        ("days", "1 day"),
        ("hours", "1 hour"),
        ("mins", "1 minute"),
        ("secs", "1 second"),
    ];
    let FunctionArguments::List(list) = &function.args else { return None };
    let mut sum = trees::expr("INTERVAL '0 days'");
    for (nth, argument) in list.args.iter().enumerate() {
        let (part, value) = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (PARTS.get(nth)?, value),
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                (PARTS.iter().find(|(part, _)| *part == ident(name))?, value)
            }
            _ => return None,
        };
        let mut term = trees::expr(&format!("0 * INTERVAL '{}'", part.1));
        if let Expr::BinaryOp { left, .. } = &mut term {
            **left = Expr::Nested(Box::new(value.clone()));
        }
        let (left, right) = (Box::new(sum), Box::new(Expr::Nested(Box::new(term))));
        sum = Expr::BinaryOp { left, op: BinaryOperator::Plus, right };
    }
    Some(Expr::Nested(Box::new(sum)))
}

/// `num_nulls(a, b)`: how many are NULL, or are not.
fn counted_nulls(arguments: Vec<Expr>, are_null: bool) -> Option<Expr> {
    let count = |argument: Expr| {
        let of = Box::new(nested(argument));
        let test = if are_null { Expr::IsNull(of) } else { Expr::IsNotNull(of) };
        let mut one = trees::expr("CASE WHEN true THEN 1 ELSE 0 END");
        if let Expr::Case { conditions, .. } = &mut one {
            conditions[0].condition = test;
        }
        one
    };
    let sum = arguments.into_iter().map(count).reduce(|left, right| {
        let (left, right) = (Box::new(left), Box::new(right));
        Expr::BinaryOp { left, op: BinaryOperator::Plus, right }
    });
    sum.map(|sum| Expr::Nested(Box::new(sum)))
}

/// `unnest(list, recursive := true)`, `unnest(list, max_depth := 2)`: the rows of the lists within the list.
fn flat_unnest(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let (FunctionArg::Unnamed(FunctionArgExpr::Expr(of)), options) = list.args.split_first()? else {
        return None;
    };
    let (mut depth, mut is_recursive) = (None, false);
    for option in options {
        let FunctionArg::Named { name, arg: FunctionArgExpr::Expr(Expr::Value(value)), .. } = option else {
            return None;
        };
        match (ident(name).as_str(), &value.value) {
            ("recursive", Value::Boolean(on)) => is_recursive |= on,
            ("max_depth", Value::Number(most, _)) => depth = Some(most.to_string().parse::<u32>().ok()?),
            _ => return None,
        }
    }
    // Rows of the list itself are made in any case.
    let levels = match depth {
        Some(depth) => depth.checked_sub(1)?,
        None if is_recursive => u32::MAX,
        None => 0,
    };
    if options.is_empty() {
        let is_null = matches!(of, Expr::Value(value) if value.value == Value::Null);
        return is_null.then(|| trees::expr("unnest(CAST(NULL AS INTEGER[]))"));
    }
    let levels = Expr::value(Value::Number(levels.to_string(), false));
    Some(call("unnest", vec![call("flatten_lists", vec![of.clone(), levels])]))
}

/// `struct_insert(s, a := 1)`: so many arguments, and then names and values in turn.
fn named(function: &Function, plain: usize) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let mut all = Vec::with_capacity(2 * list.args.len());
    for (nth, argument) in list.args.iter().enumerate() {
        let (name, value) = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) if nth < plain => {
                all.push(value.clone());
                continue;
            }
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => (ident(name), value),
            // A column is called as it is.
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value @ Expr::Identifier(name))) => {
                (ident(name), value)
            }
            _ => return None,
        };
        all.extend([Expr::value(Value::SingleQuotedString(name)), value.clone()]);
    }
    (all.len() > plain).then_some(all)
}

/// `regexp_extract(text, pattern, names, options)`: the options before the names, which are arguments by themselves.
fn with_names(name: &str, mut arguments: Vec<Expr>, names: Vec<Expr>) -> Expr {
    let options = match arguments.len() {
        3 => Expr::value(Value::SingleQuotedString(String::new())),
        _ => arguments.remove(3),
    };
    arguments[2] = options;
    arguments.extend(names);
    call(&format!("{name}_with_names"), arguments)
}

/// `list_aggregate(list, 'sum')` is `list_sum(list)`.
fn of_list(mut arguments: Vec<Expr>) -> Option<Expr> {
    let Expr::Value(value) = arguments.remove(1) else { return None };
    let Value::SingleQuotedString(aggregate) = value.value else { return None };
    let name = format!("list_{}", aggregate.to_lowercase());
    said(&name, arguments.clone(), None).or_else(|| Some(call(&name, arguments)))
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
    let mut meant = Meant { function, arguments, has_aggregate: false };
    let _ = meaning.walk_mut(&mut meant);
    // What nothing takes would be passed over in silence.
    let is_aggregate = function.is_some_and(|of| of.filter.is_some() || of.over.is_some());
    if is_aggregate && !meant.has_aggregate {
        return None;
    }
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

/// `encode(x, form)` and `decode(x, form)` of bytes: the planner would take those of a text for another type of bytes. Base64 has its
/// padding.
fn of_bytes(name: &str, arguments: Vec<Expr>) -> Option<Expr> {
    let [of, form] = <[Expr; 2]>::try_from(arguments).ok()?;
    let is_padded = name == "encode" && is_text(&form, "base64");
    let is_cast = matches!(&of, Expr::Cast { data_type: DataType::Bytea, .. });
    if is_cast && !is_padded {
        return None;
    }
    let of = match is_cast {
        true => of,
        false => Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(nested(of)),
            data_type: DataType::Bytea,
            array: false,
            format: None,
        },
    };
    Some(call(name, vec![of, if is_padded { trees::text("base64pad") } else { form }]))
}

/// Whether a format, or one of a list of formats, has a zone.
fn has_zone(formats: &Expr) -> bool {
    match formats {
        Expr::Value(of) => {
            matches!(&of.value, Value::SingleQuotedString(text) if text.contains("%z") || text.contains("%Z"))
        }
        Expr::Array(list) => list.elem.iter().any(has_zone),
        Expr::Nested(of) => has_zone(of),
        _ => false,
    }
}

/// `strftime` has its format first in SQLite, last in DuckDB.
fn is_format(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(&value.value, Value::SingleQuotedString(text) if text.contains('%')))
}

struct Meant<'f> {
    /// None of an operator.
    function: Option<&'f Function>,
    arguments: Vec<Expr>,
    /// Whether there is an aggregate in the meaning.
    has_aggregate: bool,
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
                self.has_aggregate = true;
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
