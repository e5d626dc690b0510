//! Bounds of frames that are no literals: `ROWS BETWEEN ? PRECEDING AND 1 + 1 FOLLOWING`.
//!
//! The planner takes literals alone. What else stands there is the same for all rows, so it is computed when the statement is planned.

use datafusion::sql::sqlparser::ast::{
    Expr, Interval, Value, WindowFrame, WindowFrameBound, WindowFrameUnits, With,
};

use super::{ask::Ask, count_parameters, limits::value_of};
use crate::{Error, Result};

/// Says the bounds of a frame as literals.
pub(super) fn say_bounds(frame: &mut WindowFrame, with: Option<&With>, ask: &Ask<'_>) -> Result<()> {
    let units = frame.units;
    for bound in std::iter::once(&mut frame.start_bound).chain(&mut frame.end_bound) {
        if let WindowFrameBound::Preceding(Some(distance)) | WindowFrameBound::Following(Some(distance)) =
            bound
            && !is_literal(distance)
        {
            **distance = literal(distance, units, with, ask)?;
        }
    }
    Ok(())
}

fn is_literal(distance: &Expr) -> bool {
    let is = |expr: &Expr, is: fn(&Value) -> bool| matches!(expr, Expr::Value(value) if is(&value.value));
    match distance {
        Expr::Interval(Interval { value, .. }) => {
            is(value, |value| matches!(value, Value::SingleQuotedString(_)))
        }
        other => is(other, |value| matches!(value, Value::Number(..))),
    }
}

fn literal(distance: &Expr, units: WindowFrameUnits, with: Option<&With>, ask: &Ask<'_>) -> Result<Expr> {
    let wrong = |what: &str| Error::invalid(format!("{distance} of a frame is {what}"));
    // Without values, the plan tells no more than its columns.
    if ask.params.is_empty() && count_parameters(distance) > 0 {
        return Ok(Expr::value(Value::Number("0".into(), false)));
    }
    let Some(text) = value_of(distance, "VARCHAR", with, ask)? else { return Err(wrong("NULL")) };
    let number = || Expr::value(Value::Number(text.clone(), false));
    Ok(match units {
        WindowFrameUnits::Range => match text.parse::<f64>() {
            Ok(distance) if distance >= 0.0 => number(),
            Ok(_) => return Err(wrong(&format!("{text}: it is at least 0"))),
            Err(_) => Expr::Interval(Interval {
                value: Box::new(Expr::value(Value::SingleQuotedString(text))),
                leading_field: None,
                leading_precision: None,
                last_field: None,
                fractional_seconds_precision: None,
            }),
        },
        _ if text.parse::<u64>().is_ok() => number(),
        _ => return Err(wrong(&format!("{text}: it is a whole number of at least 0"))),
    })
}
