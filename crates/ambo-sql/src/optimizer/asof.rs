//! ASOF JOIN: each row of the left side with the row of the right side that is nearest by an inequality.
//!
//! A join whose condition is within [`ASOF_CONDITION`] becomes a walk along both sides. Their rows stand in one list, in the order of
//! the compared values, divided by what has to be equal; beside each row of the left side stands the last row of the right side before it:
//!
//! | `a.t >= b.t` | values from small to large, of equal ones the right side first |
//! | `a.t > b.t` | from small to large, the left side first |
//! | `a.t <= b.t` | from large to small, the right side first |
//! | `a.t < b.t` | from large to small, the left side first |
//!
//! A row of the right side has a partner if the next row is one of the left side. Rows with a NULL among the compared values, or that do
//! not fulfil a condition of their side, have none. Where another condition is about both sides, all pairs are looked at.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, DFSchema, Result, ScalarValue,
        config::ConfigOptions,
        not_impl_err, plan_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    functions::core::{get_field, named_struct},
    functions_window::{lead_lag::lead_udwf, nth_value::last_value_udwf, row_number::row_number_udwf},
    logical_expr::{
        BinaryExpr, Expr, ExprSchemable, Filter, Join, JoinType, LogicalPlan, Operator, Projection, Union,
        Window, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition, WindowUDF,
        expr::{NullTreatment, ScalarFunction, Sort, WindowFunction},
        lit,
        utils::{conjunction, split_conjunction_owned},
        when,
    },
    optimizer::AnalyzerRule,
};

/// The function around the condition of an ASOF JOIN.
pub(crate) const ASOF_CONDITION: &str = "\u{1}asof condition";

/// See the module. To be run when the types of all expressions are known.
#[derive(Debug)]
pub(super) struct AsOfJoins;

impl AnalyzerRule for AsOfJoins {
    fn name(&self) -> &str {
        "asof_joins"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        if !plan.exists(|node| Ok(condition(node).is_some()))? && !has_subqueries(&plan)? {
            return Ok(plan);
        }
        let walked = plan.transform_up_with_subqueries(|node| match condition(&node) {
            Some(condition) => {
                let LogicalPlan::Join(join) = node else { return Ok(Transformed::no(node)) };
                Ok(Transformed::yes(Sides::of(&join, condition)?.joined(join)?))
            }
            None => Ok(Transformed::no(node)),
        })?;
        match walked.transformed {
            // What may be NULL now.
            true => Ok(walked.data.transform_up(|node| Ok(Transformed::yes(node.recompute_schema()?)))?.data),
            false => Ok(walked.data),
        }
    }
}

fn has_subqueries(plan: &LogicalPlan) -> Result<bool> {
    let mut has = false;
    plan.apply_with_subqueries(|node| {
        has |= condition(node).is_some();
        Ok(if has { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has)
}

/// The condition of an ASOF JOIN.
fn condition(node: &LogicalPlan) -> Option<Expr> {
    let LogicalPlan::Join(Join { filter: Some(Expr::ScalarFunction(function)), .. }) = node else {
        return None;
    };
    (function.func.name() == ASOF_CONDITION).then(|| function.args.first().cloned()).flatten()
}

/// What is compared of two sides.
struct Sides {
    equal: Vec<(Expr, Expr)>,
    /// The inequality: of the left side, of the right one, and whether it is `>`, `>=`, `<` or `<=`.
    nearest: (Expr, Expr, Operator),
    /// What has to hold of one side.
    of_left: Vec<Expr>,
    of_right: Vec<Expr>,
    /// What has to hold of pairs.
    of_both: Vec<Expr>,
    all: Expr,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    Both,
    Neither,
}

fn side(expr: &Expr, left: &DFSchema, right: &DFSchema) -> Side {
    let columns = expr.column_refs();
    let of = |schema: &DFSchema| columns.iter().any(|column| schema.has_column(column));
    match (of(left), of(right)) {
        (true, true) => Side::Both,
        (true, false) => Side::Left,
        (false, true) => Side::Right,
        (false, false) => Side::Neither,
    }
}

impl Sides {
    fn of(join: &Join, condition: Expr) -> Result<Self> {
        let (left, right) = (join.left.schema(), join.right.schema());
        let mut nearest = None;
        let (mut equal, mut of_left, mut of_right, mut of_both) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in split_conjunction_owned(condition.clone()) {
            let mut has_query = false;
            part.apply(|expr| {
                has_query |= matches!(
                    expr,
                    Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_)
                );
                Ok(TreeNodeRecursion::Continue)
            })?;
            if has_query {
                return not_impl_err!("a subquery in the condition of an ASOF JOIN");
            }
            let compared = match &part {
                Expr::BinaryExpr(BinaryExpr { left: a, op, right: b }) => {
                    match (side(a, left, right), side(b, left, right)) {
                        (Side::Left, Side::Right) => Some((a.as_ref().clone(), *op, b.as_ref().clone())),
                        (Side::Right, Side::Left) => {
                            op.swap().map(|op| (b.as_ref().clone(), op, a.as_ref().clone()))
                        }
                        _ => None,
                    }
                }
                _ => None,
            };
            match compared {
                Some((a, Operator::Eq, b)) => equal.push((a, b)),
                Some((a, op @ (Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq), b)) => {
                    if nearest.replace((a, b, op)).is_some() {
                        return plan_err!("an ASOF JOIN has one inequality between its sides, not several");
                    }
                }
                _ => match side(&part, left, right) {
                    Side::Left => of_left.push(part),
                    Side::Right => of_right.push(part),
                    Side::Both => of_both.push(part),
                    Side::Neither => {
                        of_left.push(part.clone());
                        of_right.push(part);
                    }
                },
            }
        }
        let Some(nearest) = nearest else {
            return plan_err!("an ASOF JOIN has a condition with >=, >, <= or < between its sides");
        };
        Ok(Self { equal, nearest, of_left, of_right, of_both, all: condition })
    }

    fn joined(self, join: Join) -> Result<LogicalPlan> {
        use JoinType as J;
        match join.join_type {
            // Whether there is a partner does not depend on which one is the nearest.
            J::LeftSemi | J::LeftAnti => Ok(LogicalPlan::Join(Join { filter: Some(self.all), ..join })),
            J::Inner | J::Left if !self.of_both.is_empty() => self.by_pairs(join),
            J::Inner | J::Left | J::Right | J::Full if self.of_both.is_empty() => self.along_both(&join),
            J::Right | J::Full => not_impl_err!(
                "an ASOF JOIN that keeps rows of the right side, with another condition about both sides"
            ),
            other => not_impl_err!("ASOF {} JOIN", other.to_string().to_uppercase()),
        }
    }

    /// The best of all pairs for each row of the left side.
    fn by_pairs(self, join: Join) -> Result<LogicalPlan> {
        let schema = join.schema.clone();
        let width = join.left.schema().fields().len();
        let number = Expr::WindowFunction(Box::new(window(row_number_udwf(), Vec::new())));
        let number = number.alias(name("row", 0));
        let numbered = LogicalPlan::Window(Window::try_new(vec![number], join.left.clone())?);
        let joined = LogicalPlan::Join(Join::try_new(
            Arc::new(numbered),
            join.right.clone(),
            Vec::new(),
            Some(self.all),
            join.join_type,
            join.join_constraint,
            join.null_equality,
            false,
        )?);
        let mut place = window(row_number_udwf(), Vec::new());
        place.params.partition_by = vec![column(&joined, width)];
        let is_small_first = matches!(self.nearest.2, Operator::Lt | Operator::LtEq);
        place.params.order_by = vec![Sort::new(self.nearest.1, is_small_first, false)];
        let place = Expr::WindowFunction(Box::new(place)).alias(name("place", 0));
        let placed = LogicalPlan::Window(Window::try_new(vec![place], Arc::new(joined))?);
        let last = placed.schema().fields().len() - 1;
        let best = column(&placed, last).eq(lit(1u64));
        let best = LogicalPlan::Filter(Filter::try_new(best, Arc::new(placed))?);
        let columns = (0..last).filter(|place| *place != width).map(|place| column(&best, place)).collect();
        named(columns, best, &schema)
    }

    /// See the module.
    fn along_both(self, join: &Join) -> Result<LogicalPlan> {
        let (left, right) = (&join.left, &join.right);
        let keeps_left = matches!(join.join_type, JoinType::Left | JoinType::Full);
        let keeps_right = matches!(join.join_type, JoinType::Right | JoinType::Full);
        let widths = (left.schema().fields().len(), right.schema().fields().len());
        let fields = (0..widths.1).flat_map(|nth| [lit(name("field", nth)), column(right, nth)]).collect();
        let row = Expr::ScalarFunction(ScalarFunction::new_udf(named_struct(), fields));
        let no_row = lit(ScalarValue::try_from(&row.get_type(right.schema())?)?);
        let (keys_left, keys_right): (Vec<_>, Vec<_>) = self.equal.into_iter().unzip();
        let (value_left, value_right, op) = self.nearest;
        let part = |keys: &[Expr], value: &Expr, conditions: &[Expr], none: i32| {
            let known = keys.iter().chain([value]).map(|key| key.clone().is_not_null());
            let holds = conditions.iter().map(|condition| condition.clone().is_true());
            let may_match = conjunction(known.chain(holds)).expect("a value is compared");
            when(may_match, lit(0i32)).otherwise(lit(none))
        };
        let mut of_left: Vec<Expr> =
            (0..widths.0).map(|nth| column(left, nth).alias(name("left", nth))).collect();
        let mut of_right = Vec::with_capacity(of_left.len());
        for (nth, field) in left.schema().fields().iter().enumerate() {
            of_right.push(lit(ScalarValue::try_from(field.data_type())?).alias(name("left", nth)));
        }
        of_left.push(no_row.alias(name("right", 0)));
        of_right.push(row.alias(name("right", 0)));
        of_left.push(lit(true).alias(name("is left", 0)));
        of_right.push(lit(false).alias(name("is left", 0)));
        of_left.push(part(&keys_left, &value_left, &self.of_left, 1)?.alias(name("part", 0)));
        of_right.push(part(&keys_right, &value_right, &self.of_right, 2)?.alias(name("part", 0)));
        of_left.push(value_left.alias(name("value", 0)));
        of_right.push(value_right.alias(name("value", 0)));
        for (nth, (of, other)) in keys_left.into_iter().zip(keys_right).enumerate() {
            of_left.push(of.alias(name("key", nth)));
            of_right.push(other.alias(name("key", nth)));
        }
        let keys = of_left.len();
        let sides = [(of_left, left), (of_right, right)];
        let sides = sides.into_iter().map(|(exprs, side)| {
            Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, side.clone())?)))
        });
        let both = LogicalPlan::Union(Union::try_new(sides.collect::<Result<Vec<_>>>()?)?);
        let at = |nth: usize| column(&both, widths.0 + nth);
        let (row, is_left, part, value) = (at(0), at(1), at(2), at(3));
        let partition: Vec<Expr> =
            std::iter::once(part).chain((widths.0 + 4..keys).map(|nth| column(&both, nth))).collect();
        let is_small_first = matches!(op, Operator::Gt | Operator::GtEq);
        let is_right_first = matches!(op, Operator::GtEq | Operator::LtEq);
        let order =
            vec![Sort::new(value, is_small_first, false), Sort::new(is_left.clone(), is_right_first, false)];
        let along = |function: Arc<WindowUDF>, args: Vec<Expr>| {
            let mut of = window(function, args);
            of.params.partition_by.clone_from(&partition);
            of.params.order_by.clone_from(&order);
            of
        };
        let mut nearest = along(last_value_udwf(), vec![row.clone()]);
        nearest.params.window_frame = WindowFrame::new_bounds(
            WindowFrameUnits::Rows,
            WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
            WindowFrameBound::CurrentRow,
        );
        nearest.params.null_treatment = Some(NullTreatment::IgnoreNulls);
        let mut windows = vec![Expr::WindowFunction(Box::new(nearest)).alias(name("nearest", 0))];
        if keeps_right {
            let next = along(lead_udwf(), vec![is_left.clone()]);
            windows.push(Expr::WindowFunction(Box::new(next)).alias(name("next", 0)));
        }
        let walked = LogicalPlan::Window(Window::try_new(windows, Arc::new(both))?);
        let nearest = column(&walked, keys);
        let left_rows = match keeps_left {
            true => is_left.clone(),
            false => is_left.clone().and(nearest.clone().is_not_null()),
        };
        let wanted = match keeps_right {
            true => left_rows.or(is_left.clone().is_not_true().and(column(&walked, keys + 1).is_not_true())),
            false => left_rows,
        };
        let chosen = LogicalPlan::Filter(Filter::try_new(wanted, Arc::new(walked))?);
        let shown = match keeps_right {
            true => when(is_left, nearest).otherwise(row)?,
            false => nearest,
        };
        let mut exprs: Vec<Expr> = (0..widths.0).map(|nth| column(&chosen, nth)).collect();
        exprs.extend((0..widths.1).map(|nth| {
            let args = vec![shown.clone(), lit(name("field", nth))];
            Expr::ScalarFunction(ScalarFunction::new_udf(get_field(), args))
        }));
        named(exprs, chosen, &join.schema)
    }
}

fn window(function: Arc<WindowUDF>, args: Vec<Expr>) -> WindowFunction {
    WindowFunction::new(WindowFunctionDefinition::WindowUDF(function), args)
}

/// A name that nobody gives to a column.
fn name(of: &str, nth: usize) -> String {
    format!("\u{1}asof {of} {nth}")
}

fn column(plan: &LogicalPlan, place: usize) -> Expr {
    Expr::Column(Column::from(plan.schema().qualified_field(place)))
}

/// Expressions under the names of a schema.
fn named(exprs: Vec<Expr>, plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    let named = |(expr, (table, field)): (Expr, (Option<&_>, &Arc<arrow::datatypes::Field>))| {
        expr.alias_qualified(table.cloned(), field.name())
    };
    let exprs = exprs.into_iter().zip(schema.iter()).map(named).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
}
