//! What becomes of times in a plan: before the planner's rule for types, what it would compute of intervals and moments is said by
//! functions of ours; behind it, all casts from and to times are ours, and all moments are in microseconds.

use std::{cell::Cell, sync::Arc};

use ambo::calendar::Endless;
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano, Schema};
use datafusion::{
    common::{
        DFSchema, DFSchemaRef, Result, ScalarValue,
        config::ConfigOptions,
        plan_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Between, BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, Union, Values,
        expr::{InList, ScalarFunction, Sort},
    },
    optimizer::AnalyzerRule,
};

use super::{
    MOMENT,
    cast::cast_to,
    convert::{converts, name_of},
    foreign::{Foreign, alike, computed_in_micros},
    functions::{
        era::{of_our_era, writes_years},
        series::series,
    },
    instant, interval_text, is_interval, is_text,
    order::ordered,
    scale::scaled,
    sum::{day_at_time, day_in_range, sum, with_end},
};
use crate::functions::{JsonExtract, is_json};
use crate::logical::{UUID, goes_by_places, is_bytes, is_enum};
use crate::optimizer::{map_named, schema_of_rows, with_types};

/// See the module.
#[derive(Debug)]
pub(crate) enum Times {
    Before,
    Behind,
}

impl AnalyzerRule for Times {
    fn name(&self) -> &str {
        match self {
            Self::Before => "times",
            Self::Behind => "casts_of_times",
        }
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let foreign = match self {
            Self::Before => Foreign::of(&plan)?,
            Self::Behind => Foreign::default(),
        };
        let walk = Walk { foreign, changed: Cell::new(false) };
        Ok(plan.transform_up_with_subqueries(|plan| self.node(plan, &walk))?.data)
    }
}

/// What is known on the way through a plan.
struct Walk {
    foreign: Foreign,
    /// Whether an operator below has changed.
    changed: Cell<bool>,
}

impl Times {
    /// The expressions of one operator, and its types where those below are others than before.
    fn node(&self, plan: LogicalPlan, walk: &Walk) -> Result<Transformed<LogicalPlan>> {
        let schema = schema_of_rows(&plan);
        if let (Self::Before, LogicalPlan::TableScan(scan)) = (self, &plan)
            && !is_own(&schema)
        {
            if walk.foreign.stays(scan) {
                return Ok(Transformed::no(plan));
            }
            walk.changed.set(true);
            return Ok(Transformed::yes(with_types(plan, |_, ty| own(ty))?));
        }
        if !self.concerns(&plan, &schema)? {
            return self.finish(Transformed::no(plan), &walk.changed);
        }
        let is_sort = matches!(plan, LogicalPlan::Sort(_));
        let ours = |expr| match walk.foreign.is_read {
            true => computed_in_micros(expr, &schema)?.transform_data(|expr| before(expr, &schema)),
            false => before(expr, &schema),
        };
        let change = |expr| match self {
            Self::Before if is_sort => sorted(ours(expr)?, &schema),
            Self::Before => ours(expr),
            Self::Behind => behind(expr, &schema),
        };
        let plan = map_named(plan, |_| Ok(true), change)?;
        let plan = if walk.foreign.is_read { plan.transform_data(alike)? } else { plan };
        self.finish(plan, &walk.changed)
    }

    /// Whether there is something to do in the expressions of an operator.
    fn concerns(&self, plan: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
        let is_before = matches!(self, Self::Before);
        let is_ours = |ty: &DataType| is_time(ty) || is_said(ty);
        if is_before && schema.fields().iter().any(|field| is_ours(field.data_type())) {
            return Ok(true);
        }
        let asks = |expr: &Expr| match expr {
            Expr::Cast(_) | Expr::TryCast(_) | Expr::WindowFunction(_) => true,
            Expr::Literal(value, _) => is_before && is_ours(&value.data_type()),
            Expr::ScalarFunction(_) | Expr::OuterReferenceColumn(..) | Expr::ScalarSubquery(_) => is_before,
            _ => false,
        };
        let mut is_there = false;
        plan.apply_expressions(|expr| {
            is_there = is_there || expr.exists(|expr| Ok(asks(expr)))?;
            Ok(if is_there { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(is_there)
    }

    fn finish(
        &self,
        plan: Transformed<LogicalPlan>,
        changed: &Cell<bool>,
    ) -> Result<Transformed<LogicalPlan>> {
        changed.set(changed.get() || plan.transformed);
        if !changed.get() {
            return Ok(plan);
        }
        let plan = plan.data.recompute_schema()?;
        let plan = match self {
            Self::Before => plan,
            Self::Behind => with_own_types(plan)?,
        };
        Ok(Transformed::yes(plan))
    }
}

/// The type of an expression, if it is known before the planner's rule for types.
fn type_of(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    expr.get_type(schema).ok()
}

fn is_moment(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(..))
}

fn is_time(ty: &DataType) -> bool {
    is_moment(ty)
        || is_interval(ty)
        || matches!(ty, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_))
}

fn is_instant(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(_, Some(_)))
}

fn cast(expr: Expr, to: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), to))
}

/// What is to be done before the planner's rule for types.
pub(crate) fn before(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match expr {
        Expr::Cast(of) if is_interval(of.field.data_type()) => interval_literal(of),
        Expr::Cast(_) | Expr::TryCast(_) => Ok(said_by_places(expr, schema)),
        Expr::WindowFunction(_) => windows(expr, schema),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let types = (type_of(&left, schema), type_of(&right, schema));
            let (Some(from), Some(to)) = types else {
                return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
            };
            match op {
                Operator::Plus | Operator::Minus => added(*left, &from, op, *right, &to),
                Operator::Multiply | Operator::Divide if is_interval(&from) || is_interval(&to) => {
                    match combined(&left, &from, op, &right, &to)? {
                        Some(combined) => Ok(Transformed::yes(combined)),
                        None => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
                    }
                }
                op if is_comparison(op) => compared(*left, &from, op, *right, &to),
                _ => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
            }
        }
        Expr::Between(Between { expr, negated, low, high })
            if [&expr, &low, &high].iter().any(|of| of_interval(of, schema)) =>
        {
            let [expr, low, high] = [expr, low, high].map(|of| Box::new(number(*of, schema)));
            Ok(Transformed::yes(Expr::Between(Between { expr, negated, low, high })))
        }
        Expr::InList(InList { expr, list, negated }) if of_interval(&expr, schema) => {
            let expr = Box::new(number(*expr, schema));
            let list = list.into_iter().map(|of| number(of, schema)).collect();
            Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })))
        }
        Expr::Between(Between { expr, negated, low, high })
            if let Some(ty) = [&expr, &low, &high].iter().find_map(|of| said(of, schema)) =>
        {
            let [expr, low, high] = [expr, low, high].map(|of| Box::new(as_said(*of, &ty, schema)));
            Ok(Transformed::yes(Expr::Between(Between { expr, negated, low, high })))
        }
        Expr::InList(InList { expr, list, negated })
            if let Some(ty) = std::iter::once(expr.as_ref()).chain(&list).find_map(|of| said(of, schema)) =>
        {
            let expr = Box::new(as_said(*expr, &ty, schema));
            let list = list.into_iter().map(|of| as_said(of, &ty, schema)).collect();
            Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })))
        }
        Expr::ScalarFunction(mut function)
            if matches!(function.name(), "to_char" | "date_format" | "to_local_time") =>
        {
            let Some(of) = function.args.first_mut() else {
                return Ok(Transformed::no(Expr::ScalarFunction(function)));
            };
            // Clocks of the session's zone, not those of UTC.
            let is_zoned = type_of(of, schema).is_some_and(|ty| is_instant(&ty));
            if is_zoned {
                *of = cast(std::mem::take(of), MOMENT);
            }
            let is_checked =
                function.name() != "to_local_time" && is_written_with_year(&function.args, schema);
            if is_checked && let Some(of) = function.args.first_mut() {
                *of = of_our_era(std::mem::take(of));
            }
            Ok(Transformed::new_transformed(Expr::ScalarFunction(function), is_zoned || is_checked))
        }
        Expr::ScalarFunction(function) if matches!(function.name(), "range" | "generate_series") => {
            Ok(moments_of(function, schema))
        }
        Expr::ScalarFunction(function) => {
            let expr = Expr::ScalarFunction(function);
            // Some functions return moments in other units.
            match type_of(&expr, schema) {
                Some(ty) if is_moment(&ty) && own(&ty) != ty => Ok(Transformed::yes(cast(expr, own(&ty)))),
                _ => Ok(Transformed::no(expr)),
            }
        }
        expr => Ok(Transformed::no(expr)),
    })
}

/// Whether a day or a moment is written by a format that may have its year.
fn is_written_with_year(args: &[Expr], schema: &DFSchema) -> bool {
    let [of, format] = args else { return false };
    let is_known = |format: &Expr| match format {
        Expr::Literal(format, _) => format.try_as_str().flatten().is_some_and(|format| !writes_years(format)),
        _ => false,
    };
    // What was looked at already is a function of ours.
    let is_done = matches!(of, Expr::ScalarFunction(function) if function.name() == "of_our_era");
    let is_day = |ty| ty == DataType::Date32 || ty == MOMENT;
    !is_done && type_of(of, schema).is_some_and(is_day) && !is_known(format)
}

/// A series of moments, also from day to day: a step may be an hour. Of numbers the planner makes the right one.
fn moments_of(function: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    let types: Vec<_> = function.args.iter().map(|of| type_of(of, schema)).collect();
    let [Some(from), Some(to), Some(step)] = &types[..] else {
        return Transformed::no(Expr::ScalarFunction(function));
    };
    let is_time = |ty: &DataType| is_moment(ty) || *ty == DataType::Date32;
    if !(is_time(from) || is_time(to)) || !is_interval(step) {
        return Transformed::no(Expr::ScalarFunction(function));
    }
    let common = either(from, to);
    let inclusive = function.name() == "generate_series";
    let mut args = function.args.into_iter();
    let (Some(first), Some(last), Some(step)) = (args.next(), args.next(), args.next()) else {
        return Transformed::no(Expr::Literal(ScalarValue::Null, None));
    };
    let as_common = |expr: Expr, ty: &DataType| if *ty == common { expr } else { cast(expr, common.clone()) };
    Transformed::yes(series(as_common(first, from), as_common(last, to), step, inclusive))
}

pub(crate) fn is_comparison(op: Operator) -> bool {
    use Operator as O;
    matches!(
        op,
        O::Eq | O::NotEq | O::Lt | O::LtEq | O::Gt | O::GtEq | O::IsDistinctFrom | O::IsNotDistinctFrom
    )
}

fn of_interval(expr: &Expr, schema: &DFSchema) -> bool {
    type_of(expr, schema).is_some_and(|ty| is_interval(&ty))
}

/// An interval as the number by which it is compared; a text as an interval.
fn number(expr: Expr, schema: &DFSchema) -> Expr {
    match type_of(&expr, schema) {
        Some(ty) if is_interval(&ty) => ordered(expr),
        Some(ty) if is_text(&ty) => ordered(cast(expr, INTERVAL)),
        _ => expr,
    }
}

/// Whether values of a type are said by texts, beside which they stand: UUIDs, bits, geometries.
pub(super) fn is_said(ty: &DataType) -> bool {
    *ty == UUID || is_bytes(ty)
}

fn said(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    type_of(expr, schema).filter(is_said)
}

/// A text as the value that a UUID and the like is compared with.
fn as_said(expr: Expr, ty: &DataType, schema: &DFSchema) -> Expr {
    match type_of(&expr, schema) {
        Some(of) if is_text(&of) => cast(expr, ty.clone()),
        _ => expr,
    }
}

const INTERVAL: DataType = DataType::Interval(arrow::datatypes::IntervalUnit::MonthDayNano);

/// The interval that a text means, as it is known already.
fn interval_literal(of: Cast) -> Result<Transformed<Expr>> {
    let text = match of.expr.as_ref() {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    };
    let Some(text) = text else { return Ok(Transformed::no(Expr::Cast(of))) };
    match interval_text::read(text, None) {
        None => plan_err!("'{text}' is no interval"),
        Some(interval) => {
            let value = ScalarValue::IntervalMonthDayNano(Some(interval));
            Ok(Transformed::yes(Expr::Literal(value, None)))
        }
    }
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// Moments compared with days, texts or moments of the other kind, and intervals; UUIDs compared with texts.
pub(super) fn compared(
    left: Expr,
    from: &DataType,
    op: Operator,
    right: Expr,
    to: &DataType,
) -> Result<Transformed<Expr>> {
    let intervals = (is_interval(from), is_interval(to));
    if intervals == (true, true) {
        return Ok(Transformed::yes(binary(ordered(left), op, ordered(right))));
    }
    if intervals.0 && is_text(to) {
        return Ok(Transformed::yes(binary(ordered(left), op, ordered(cast(right, INTERVAL)))));
    }
    if intervals.1 && is_text(from) {
        return Ok(Transformed::yes(binary(ordered(cast(left, INTERVAL)), op, ordered(right))));
    }
    let common = match (from, to) {
        (from, to) if is_said(from) && is_text(to) => Some(from.clone()),
        (from, to) if is_text(from) && is_said(to) => Some(to.clone()),
        (from, to) if !is_moment(from) && !is_moment(to) => None,
        (from, to) if from == to => None,
        (from, to) if is_moment(from) && is_moment(to) => Some(either(from, to)),
        (from, DataType::Date32) if is_moment(from) => Some(either(from, from)),
        (DataType::Date32, to) if is_moment(to) => Some(either(to, to)),
        (from, to) if is_moment(from) && is_text(to) => Some(either(from, from)),
        (from, to) if is_text(from) && is_moment(to) => Some(either(to, to)),
        _ => None,
    };
    let Some(common) = common else { return Ok(Transformed::no(binary(left, op, right))) };
    let as_common = |expr: Expr, ty: &DataType| match ty {
        ty if *ty == common => expr,
        DataType::Date32 => cast(day_in_range(expr), common.clone()),
        _ => cast(expr, common.clone()),
    };
    Ok(Transformed::yes(binary(as_common(left, from), op, as_common(right, to))))
}

/// The type of moments of which two types of them are.
fn either(one: &DataType, other: &DataType) -> DataType {
    if is_instant(one) || is_instant(other) { instant() } else { MOMENT }
}

/// Moments and days with intervals, times and each other.
fn added(left: Expr, from: &DataType, op: Operator, right: Expr, to: &DataType) -> Result<Transformed<Expr>> {
    let minus = op == Operator::Minus;
    let own = |ty: &DataType| either(ty, ty);
    let as_moment = |expr: Expr, ty: &DataType, to: DataType| if *ty == to { expr } else { cast(expr, to) };
    let changed = match (from, to) {
        (from, to) if is_moment(from) && is_interval(to) => {
            sum(as_moment(left, from, own(from)), right, minus, is_instant(from))
        }
        (from, to) if !minus && is_interval(from) && is_moment(to) => {
            sum(as_moment(right, to, own(to)), left, false, is_instant(to))
        }
        (DataType::Date32, to) if is_interval(to) => later_day(left, right, minus),
        (from, DataType::Date32) if !minus && is_interval(from) => later_day(right, left, false),
        (DataType::Date32, DataType::Time64(_) | DataType::Time32(_)) if !minus => day_at_time(left, right),
        (DataType::Time64(_) | DataType::Time32(_), DataType::Date32) if !minus => day_at_time(right, left),
        (from, to) if minus && (is_moment(from) || is_moment(to)) => {
            let is_other = |ty: &DataType| is_moment(ty) || matches!(ty, DataType::Date32) || is_text(ty);
            if !is_other(from) || !is_other(to) {
                return Ok(Transformed::no(binary(left, op, right)));
            }
            let common = either(from, to);
            let as_common = |expr, ty| bounded(as_moment(expr, ty, common.clone()));
            binary(as_common(left, from), op, as_common(right, to))
        }
        (DataType::Date32, to) if to.is_integer() => days_later(left, op, right),
        (from, DataType::Date32) if !minus && from.is_integer() => days_later(right, op, left),
        (DataType::Date32, DataType::Date32) if minus => binary(bounded(left), op, bounded(right)),
        _ => return Ok(Transformed::no(binary(left, op, right))),
    };
    Ok(Transformed::yes(changed))
}

/// A day and a number of days.
fn days_later(day: Expr, op: Operator, number: Expr) -> Expr {
    match &number {
        Expr::Literal(ScalarValue::Int64(Some(days)), _) if let Ok(days) = i32::try_from(*days) => {
            let interval = ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(0, days, 0)));
            sum(day, Expr::Literal(interval, None), op == Operator::Minus, false)
        }
        _ => binary(bounded(day), op, number),
    }
}

/// A moment or a day that has an end.
fn bounded(expr: Expr) -> Expr {
    match &expr {
        Expr::Literal(ScalarValue::Date32(Some(of)), _) if !of.is_endless() => expr,
        Expr::Literal(ScalarValue::TimestampMicrosecond(Some(of), _), _) if !of.is_endless() => expr,
        // A plan is changed as long as it changes.
        Expr::ScalarFunction(of) if of.name() == "with_end" => expr,
        _ => with_end(expr),
    }
}

/// What two values combine to, if the planner would refuse them, or take the result for something else.
pub(super) fn combined(
    left: &Expr,
    from: &DataType,
    op: Operator,
    right: &Expr,
    to: &DataType,
) -> Result<Option<Expr>> {
    let is_day = |ty: &DataType| matches!(ty, DataType::Date32);
    let is_other = |ty: &DataType| is_time(ty) && !is_day(ty);
    Ok(match op {
        Operator::Multiply if is_interval(from) && to.is_numeric() => {
            Some(scaled(left.clone(), right.clone(), false))
        }
        Operator::Multiply if from.is_numeric() && is_interval(to) => {
            Some(scaled(right.clone(), left.clone(), false))
        }
        Operator::Divide if is_interval(from) && to.is_numeric() => {
            Some(scaled(left.clone(), right.clone(), true))
        }
        Operator::Plus | Operator::Minus if is_day(from) && is_other(to) || is_other(from) && is_day(to) => {
            let added = added(left.clone(), from, op, right.clone(), to)?;
            added.transformed.then_some(added.data)
        }
        _ => None,
    })
}

/// A day some days and months later is a day; with an interval that may have hours it is a moment.
fn later_day(day: Expr, interval: Expr, minus: bool) -> Expr {
    let is_of_days = match &interval {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(interval), _) => {
            interval.is_none_or(|interval| interval.nanoseconds == 0)
        }
        _ => false,
    };
    let begin = if is_of_days { day } else { cast(day, MOMENT) };
    sum(begin, interval, minus, false)
}

/// What ORDER BY is by: intervals by their lengths.
fn sorted(expr: Transformed<Expr>, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match of_interval(&expr.data, schema) {
        true => Transformed::yes(ordered(expr.data)),
        false => expr,
    })
}

/// What is to be done behind the planner's rule for types.
pub(crate) fn behind(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| {
        let (inner, to, strict) = match &expr {
            Expr::Cast(of) => (&of.expr, of.field.data_type(), true),
            Expr::TryCast(of) => (&of.expr, of.field.data_type(), false),
            Expr::WindowFunction(_) => return windows(expr, schema),
            _ => return Ok(Transformed::no(expr)),
        };
        let Some(from) = type_of(inner, schema) else { return Ok(Transformed::no(expr)) };
        refuse_numbers(&from, to)?;
        // JSON says times and the like as texts, which have quotes there.
        let inner = match says_in_quotes(inner, &from, to, schema) {
            true => &Box::new(json_text(inner.as_ref().clone())),
            false => inner,
        };
        // What is in microseconds already is not to be something else.
        let to = if is_moment(to) { &either(to, to) } else { to };
        // Nobody has said that structs become others by the places of their fields.
        if !converts(&from, to) && from != *to || goes_by_places(&from, to) {
            return Ok(Transformed::no(expr));
        }
        Ok(Transformed::yes(cast_to(inner.as_ref().clone(), &from, to, strict)))
    })
}

/// A cast that a statement has of structs without a common name, before the planner has others.
fn said_by_places(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let (inner, to, strict) = match &expr {
        Expr::Cast(of) => (&of.expr, of.field.data_type(), true),
        Expr::TryCast(of) => (&of.expr, of.field.data_type(), false),
        _ => return Transformed::no(expr),
    };
    match type_of(inner, schema).filter(|from| goes_by_places(from, to)) {
        Some(from) => Transformed::yes(cast_to(inner.as_ref().clone(), &from, to, strict)),
        None => Transformed::no(expr),
    }
}

/// Whether JSON is cast to what it has no numbers for.
fn says_in_quotes(of: &Expr, from: &DataType, to: &DataType, schema: &DFSchema) -> bool {
    let is_in_quotes = is_moment(to)
        || is_interval(to)
        || is_enum(to)
        || is_said(to)
        || matches!(to, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_));
    is_in_quotes && is_text(from) && of.to_field(schema).is_ok_and(|(_, field)| is_json(&field))
}

/// The text that JSON is.
fn json_text(json: Expr) -> Expr {
    Arc::new(ScalarUDF::new_from_impl(JsonExtract::text()))
        .call(vec![json, datafusion::logical_expr::lit("$")])
}

/// Numbers are not moments, dates or times: of which unit would they be? Nor is a single value a list.
pub(crate) fn refuse_numbers(from: &DataType, to: &DataType) -> Result<()> {
    let is_point = |ty: &DataType| {
        is_moment(ty) || matches!(ty, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_))
    };
    if to.is_list() && !from.is_nested() && !from.is_null() && !is_text(from) {
        return plan_err!("{from} cannot be cast to {to}; [x] is the list of a value x");
    }
    parts(from, to).into_iter().try_for_each(|(from, to)| refuse_numbers(from, to))?;
    if from.is_numeric() && is_point(to) {
        return match to {
            to if is_moment(to) => plan_err!(
                "a number is no {}; to_timestamp(x) takes x for seconds since 1970, to_timestamp_micros(x) for microseconds",
                name_of(to)
            ),
            DataType::Date32 => plan_err!(
                "a number is not a date; a date is written with quotes, '2024-05-31', and DATE '1970-01-01' + x is x days later"
            ),
            _ => plan_err!("a number is not a time; a time is written with quotes, '12:30:00'"),
        };
    }
    if is_point(from) && to.is_numeric() {
        return match from {
            from if is_moment(from) => plan_err!(
                "a {} is no number; date_part('epoch', x) is its seconds since 1970, to_unixtime(x) whole ones",
                name_of(from)
            ),
            DataType::Date32 => {
                plan_err!("a date is not a number; x - DATE '1970-01-01' is its days since 1970")
            }
            _ => plan_err!("a time is not a number; date_part('epoch', x) is its seconds since midnight"),
        };
    }
    Ok(())
}

/// The types within two types of lists, structs or maps, each with that which it is cast to: fields of one name, or else of one place.
fn parts<'t>(from: &'t DataType, to: &'t DataType) -> Vec<(&'t DataType, &'t DataType)> {
    use DataType::{FixedSizeList, LargeList, List, Map, Struct};
    match (from, to) {
        (
            List(from) | LargeList(from) | FixedSizeList(from, _),
            List(to) | LargeList(to) | FixedSizeList(to, _),
        )
        | (Map(from, _), Map(to, _)) => vec![(from.data_type(), to.data_type())],
        (Struct(from), Struct(to)) => {
            let fields = to.iter().enumerate().filter_map(|(place, field)| {
                let named = from.iter().find(|from| from.name() == field.name());
                Some((named.or(from.get(place))?.data_type(), field.data_type()))
            });
            fields.collect()
        }
        _ => Vec::new(),
    }
}

/// Windows of rows in the order of intervals, and of those with equal ones.
fn windows(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::WindowFunction(mut window) = expr else { return Ok(Transformed::no(expr)) };
    let mut changed = false;
    let order = window.params.order_by.iter_mut().map(|Sort { expr, .. }| expr);
    for expr in order.chain(&mut window.params.partition_by) {
        if of_interval(expr, schema) {
            *expr = ordered(expr.clone());
            changed = true;
        }
    }
    let expr = Expr::WindowFunction(window);
    Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// An operator whose types are not those of its inputs, with moments in microseconds.
fn with_own_types(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(match plan {
        LogicalPlan::Union(Union { inputs, schema }) => {
            let first = inputs[0].schema().clone();
            let schema = with_moments(schema, |place, _| first.field(place).data_type().clone())?;
            LogicalPlan::Union(Union { inputs, schema })
        }
        LogicalPlan::Values(Values { schema, values }) => {
            LogicalPlan::Values(Values { schema: with_moments(schema, |_, ty| own(ty))?, values })
        }
        plan => plan,
    })
}

/// A type with moments in microseconds, and instants of UTC.
pub(crate) fn own(ty: &DataType) -> DataType {
    if is_moment(ty) { either(ty, ty) } else { ty.clone() }
}

fn is_own(schema: &DFSchema) -> bool {
    schema.fields().iter().all(|field| own(field.data_type()) == *field.data_type())
}

/// A schema whose moments have the types that `to` says for their places and types.
fn with_moments(schema: DFSchemaRef, to: impl Fn(usize, &DataType) -> DataType) -> Result<DFSchemaRef> {
    let wanted = |(place, field): (usize, &Arc<Field>)| {
        let ty = field.data_type();
        if is_moment(ty) { to(place, ty) } else { ty.clone() }
    };
    let types: Vec<_> = schema.fields().iter().enumerate().map(wanted).collect();
    if schema.fields().iter().zip(&types).all(|(field, ty)| field.data_type() == ty) {
        return Ok(schema);
    }
    let fields = schema.fields().iter().zip(types);
    let fields = fields.map(|(field, ty)| Arc::new(Field::clone(field).with_data_type(ty)));
    let tables = schema.iter().map(|(table, _)| table.cloned()).collect();
    let arrow = Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone());
    Ok(Arc::new(DFSchema::from_field_specific_qualified_schema(tables, &Arc::new(arrow))?))
}
