//! What is said of times in a statement, as the functions that compute it.

use datafusion::sql::sqlparser::{
    ast::{
        BinaryOperator, CastKind, DataType, DateTimeField, Expr, Interval, TimezoneInfo, UnaryOperator, Value,
    },
    parser::Parser,
};

use super::{mentions::Volatile, patterns, trees};
use crate::{
    Error,
    names::written,
    parse::DIALECT,
    times::{IntervalUnits, Zone, canonical_interval},
    walk::Walk,
};

/// `AT TIME ZONE`, EXTRACT and intervals as they are meant; `None` for another expression.
pub(super) fn times(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::AtTimeZone { timestamp, time_zone } => call("timezone($1, $2)", [time_zone, timestamp]),
        Expr::Extract { field, expr, .. } => {
            let field = field.to_string();
            let field = Expr::value(Value::SingleQuotedString(field.trim_matches('\'').to_owned()));
            call("date_part($1, $2)", [&field, expr])
        }
        Expr::Cast { kind, expr: inner, data_type, array: false, format: None } => {
            rounded(kind, inner, data_type)
        }
        Expr::TypedString(of) => {
            let value = Expr::Value(of.value.clone());
            rounded(&CastKind::Cast, &value, &of.data_type)
        }
        Expr::Interval(interval) => match canonical(interval) {
            Some(canonical) => Some(Expr::Interval(canonical)),
            None => multiplied(interval),
        },
        // The planner puts the sign before the text, where it is of the first word alone.
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Interval(interval) if interval.leading_field.is_none() => {
                let words = canonical_interval(&format!("{} ago", text_of(&interval.value)?), None)?;
                Some(Expr::Interval(in_words(words)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// `date_part(['year', 'month'], moment)`: a struct of the fields, NULL of NULL.
pub(super) fn fields_of(fields: &[Expr], moment: &Expr) -> Option<Expr> {
    if moment.walk(&mut Volatile).is_break() {
        return None;
    }
    let each = fields
        .iter()
        .flat_map(|field| [field.clone(), patterns::call("date_part", vec![field.clone(), moment.clone()])]);
    let mut meaning = trees::expr("CASE WHEN 1 IS NOT NULL THEN 1 END");
    if let Expr::Case { conditions, .. } = &mut meaning
        && let Expr::IsNotNull(of) = &mut conditions[0].condition
    {
        **of = Expr::Nested(Box::new(moment.clone()));
        conditions[0].result = patterns::call("named_struct", each.collect());
    }
    Some(meaning)
}

/// `INTERVAL (n) HOUR` is n times `INTERVAL '1' HOUR`.
fn multiplied(interval: &Interval) -> Option<Expr> {
    let Interval {
        value,
        leading_field: Some(unit),
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    } = interval
    else {
        return None;
    };
    if text_of(value).is_some() {
        return None;
    }
    let unit = unit.to_string();
    let one = canonical_interval("1", Some(&IntervalUnits { first: &unit, last: None, digits: None }))?;
    let nested = |expr| Box::new(Expr::Nested(Box::new(expr)));
    Some(Expr::Nested(Box::new(Expr::BinaryOp {
        left: nested(value.as_ref().clone()),
        op: BinaryOperator::Multiply,
        right: Box::new(Expr::Interval(in_words(one))),
    })))
}

/// A cast to a type of fewer values than the one that is stored: moments with fewer digits of a second, `timestamp(3)`; `uhugeint`.
fn rounded(kind: &CastKind, inner: &Expr, data_type: &DataType) -> Option<Expr> {
    let cast = |data_type| Expr::Cast {
        kind: kind.clone(),
        expr: Box::new(inner.clone()),
        data_type,
        array: false,
        format: None,
    };
    let moment = |zone| cast(DataType::Timestamp(None, zone));
    let (digits, cast) = match data_type {
        DataType::Timestamp(Some(digits @ 0..=5), zone) => (*digits, moment(*zone)),
        DataType::UHugeInt => {
            let is_try = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
            let name = if is_try { "try_not_negative" } else { "not_negative" };
            return Some(patterns::call(name, vec![cast(DataType::HugeInt)]));
        }
        DataType::Custom(name, _) => match name.to_string().to_lowercase().as_str() {
            "timestamp_s" => (0, moment(TimezoneInfo::None)),
            "timestamp_ms" => (3, moment(TimezoneInfo::None)),
            // Nanoseconds are not there; a text that has none is clear.
            "timestamp_ns" if text_of(inner).is_some_and(|text| has_micros(&text)) => {
                return Some(moment(TimezoneInfo::None));
            }
            _ => return None,
        },
        _ => return None,
    };
    call("round_moment($1, $2)", [&cast, &Expr::value(Value::Number(digits.to_string(), false))])
}

/// Whether a moment that is written so has no more than six digits of a second.
fn has_micros(text: &str) -> bool {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    text.split('.').skip(1).all(|rest| digits(rest) <= 6)
}

/// The error of an interval whose units are not clear.
pub(super) fn unclear_interval(expr: &Expr) -> Option<Error> {
    let Expr::Interval(interval) = expr else { return None };
    match &interval.leading_field {
        // What stands behind a number as a name is a unit that the parser does not know.
        None => {
            let is_number =
                matches!(interval.value.as_ref(), Expr::Value(of) if matches!(of.value, Value::Number(..)));
            let error = || {
                Error::invalid(format!("{expr}: of which unit?"))
                    .with_hint("say it in the text: INTERVAL '3 decades'")
            };
            is_number.then(error)
        }
        Some(_) if canonical(interval).is_some() => None,
        Some(first) => {
            let has_precision = *first != DateTimeField::Second && interval.leading_precision.is_some();
            if interval.last_field.is_none() && !has_precision {
                return None;
            }
            Some(Error::invalid(format!("{expr} is no interval")).with_hint(
                "units are YEAR TO MONTH, or from DAY, HOUR or MINUTE to a smaller one: '1-2', '1 02:03:04'",
            ))
        }
    }
}

/// A call with two arguments, which stand in the text as `$1` and `$2`.
fn call(text: &str, arguments: [&Expr; 2]) -> Option<Expr> {
    let mut call = Parser::new(&DIALECT).try_with_sql(text).ok()?.parse_expr().ok()?;
    let Expr::Function(function) = &mut call else { return None };
    let datafusion::sql::sqlparser::ast::FunctionArguments::List(list) = &mut function.args else {
        return None;
    };
    for (place, argument) in list.args.iter_mut().zip(arguments) {
        use datafusion::sql::sqlparser::ast::{FunctionArg, FunctionArgExpr};
        *place = FunctionArg::Unnamed(FunctionArgExpr::Expr(argument.clone()));
    }
    Some(call)
}

/// An interval in words that the planner reads rightly: of others it takes the number for seconds. `None` if it is one already.
fn canonical(interval: &Interval) -> Option<Interval> {
    let text = match interval.value.as_ref() {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => format!("-{}", text_of(expr)?),
        value => text_of(value)?,
    };
    let words = match &interval.leading_field {
        None => canonical_interval(&text, None),
        Some(first) => {
            let is_second = *first == DateTimeField::Second;
            let digits = if is_second { interval.leading_precision } else { None };
            if interval.leading_precision.is_some() && !is_second {
                return None;
            }
            let last = interval.last_field.as_ref().map(ToString::to_string);
            let units = IntervalUnits {
                first: &first.to_string(),
                last: last.as_deref(),
                digits: digits.or(interval.fractional_seconds_precision).map(|digits| digits.min(6) as u32),
            };
            canonical_interval(&text, Some(&units))
        }
    };
    Some(in_words(words?))
}

fn in_words(words: String) -> Interval {
    Interval {
        value: Box::new(Expr::value(Value::SingleQuotedString(words))),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }
}

fn text_of(value: &Expr) -> Option<String> {
    let Expr::Value(value) = value else { return None };
    match &value.value {
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text.clone()),
        Value::Number(number, _) => Some(number.clone()),
        _ => None,
    }
}

/// `time_bucket(width, moment, 'Europe/Rome')`: buckets of the clocks there.
pub(super) fn say_bucket_in_zone(expr: &mut Expr) {
    let Expr::Function(function) = expr else { return };
    if !written(&function.name).is_ok_and(|name| name == "time_bucket") {
        return;
    }
    let Some(&[width, moment, zone]) = trees::arguments(function).as_deref() else { return };
    let is_zone = matches!(zone, Expr::Value(value)
        if matches!(&value.value, Value::SingleQuotedString(name) if Zone::find(name).is_some()));
    if !is_zone {
        return;
    }
    let at =
        |moment: Expr| Expr::AtTimeZone { timestamp: Box::new(moment), time_zone: Box::new(zone.clone()) };
    let mut instant = trees::expr("CAST(1 AS TIMESTAMPTZ)");
    if let Expr::Cast { expr, .. } = &mut instant {
        **expr = Expr::Nested(Box::new(moment.clone()));
    }
    let bucket = patterns::call("time_bucket", vec![width.clone(), at(instant)]);
    *expr = Expr::Nested(Box::new(at(bucket)));
}
