//! Comparisons of rows, `(a, b) > (1, 2)`, as comparisons of their values (SQL:2016 part 2, 8.2).
//!
//! | rows | values |
//! |---|---|
//! | `(a, b) = (c, d)` | `a = c AND b = d` |
//! | `(a, b) < (c, d)` | `a <= c AND (a < c OR a = c AND b < d)` |
//! | `(a, b) OVERLAPS (c, d)` | `overlaps(a, b, c, d)` |
//! | `(a, b) IN ((c, d), …)` | `(a = c AND b = d) OR …` |
//! | `(a, b) IN (SELECT c, d …)`, `(a, b) < ANY (SELECT …)` | whether there is such a row; else NULL, if of one it is not known |
//! | `(a, b) < ALL (SELECT c, d …)` | `NOT (a, b) >= ANY (SELECT c, d …)` |
//!
//! The planner compares them as structures, which is another thing with NULL and takes no index.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::{
    ast::{
        self, BinaryOperator as Op, CaseWhen, Expr, Value, VisitorMut, helpers::attached_token::AttachedToken,
    },
    parser::Parser,
};

use super::{patterns::call, pivot::listed};
use crate::{parse::DIALECT, walk::WalkMut};

/// Rows that are values: `(a + 1, b)` is `row(a + 1, b)`. The planner takes those alone for values that begin with a name or a constant.
pub(super) fn say_rows(tree: &mut impl WalkMut) {
    struct Rows;
    impl VisitorMut for Rows {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Tuple(values) = expr
                && !matches!(
                    values.first(),
                    None | Some(Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
                )
            {
                *expr = call("row", std::mem::take(values));
            }
            ControlFlow::Continue(())
        }
    }
    let _ = tree.walk_mut(&mut Rows);
}

/// The same without rows; `None` if there are none.
pub(super) fn by_values(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { left, op: Op::Overlaps, right } => overlaps(left, right),
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (row(left)?, row(right)?);
            (left.len() == right.len()).then(|| compared(left, op, right))?
        }
        Expr::InList { expr, list, negated } => {
            let wanted = row(expr)?;
            let equal = |one: &Expr| {
                let one = row(one).filter(|one| one.len() == wanted.len())?;
                compared(wanted, &Op::Eq, one)
            };
            let any = list.iter().map(equal).collect::<Option<Vec<_>>>()?.into_iter().reduce(or)?;
            Some(negate(any, *negated))
        }
        // The values of a PIVOT.
        Expr::InSubquery { subquery, .. } if listed(subquery).is_some() => None,
        Expr::InSubquery { expr, subquery, negated } => {
            Some(negate(in_query(row(expr)?, &Op::Eq, subquery)?, *negated))
        }
        Expr::AnyOp { left, compare_op, right, .. } => {
            in_query(row(left)?, &turned(compare_op)?, subquery_of(right)?)
                .map(|expr| Expr::Nested(Box::new(expr)))
        }
        // All are so if none is the contrary.
        Expr::AllOp { left, compare_op, right } => {
            let contrary = match compare_op {
                Op::Eq => Op::NotEq,
                Op::NotEq => Op::Eq,
                Op::Lt => Op::GtEq,
                Op::LtEq => Op::Gt,
                Op::Gt => Op::LtEq,
                Op::GtEq => Op::Lt,
                _ => return None,
            };
            Some(negate(in_query(row(left)?, &turned(&contrary)?, subquery_of(right)?)?, true))
        }
        _ => None,
    }
}

/// `(begin, end) OVERLAPS (begin, end)`; an interval in the place of an end is how long the span is. `None` if these are no spans.
pub(super) fn overlaps(left: &Expr, right: &Expr) -> Option<Expr> {
    let mut ends = Vec::with_capacity(4);
    for span in [left, right] {
        let [begin, end] = row(span)? else { return None };
        let is_length = match end {
            Expr::Interval(_) => true,
            Expr::Cast { data_type, .. } => matches!(data_type, ast::DataType::Interval { .. }),
            _ => false,
        };
        ends.push(begin.clone());
        ends.push(if is_length { binary(begin.clone(), Op::Plus, end.clone()) } else { end.clone() });
    }
    Some(call("overlaps", ends))
}

fn row(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(values) if values.len() > 1 => Some(values),
        Expr::Nested(inner) => row(inner),
        _ => None,
    }
}

/// A comparison of two rows of as many values; `None` if it is none, or they have no values.
pub(super) fn compared(left: &[Expr], op: &Op, right: &[Expr]) -> Option<Expr> {
    let pair = |op: &Op, (left, right): (&Expr, &Expr)| binary(left.clone(), op.clone(), right.clone());
    let pairs = || left.iter().zip(right);
    match op {
        Op::Eq => pairs().map(|both| pair(&Op::Eq, both)).reduce(and),
        Op::NotEq => pairs().map(|both| pair(&Op::NotEq, both)).reduce(or),
        Op::Lt | Op::Gt | Op::LtEq | Op::GtEq => {
            let (strict, loose) = match op {
                Op::Lt | Op::LtEq => (Op::Lt, Op::LtEq),
                _ => (Op::Gt, Op::GtEq),
            };
            let mut pairs = pairs().rev();
            let last = pair(op, pairs.next()?);
            let all = pairs.fold(last, |rest, both| {
                let tie = and(pair(&Op::Eq, both), rest);
                // Says no more than the rest, in a form that finds rows by the first column.
                and(pair(&loose, both), or(pair(&strict, both), tie))
            });
            Some(all)
        }
        _ => None,
    }
}

/// The names of a row's values in the query that is looked through.
fn name(nth: usize) -> String {
    format!("__row_{nth}")
}

/// The comparison with its sides changed.
fn turned(op: &Op) -> Option<Op> {
    Some(match op {
        Op::Eq => Op::Eq,
        Op::NotEq => Op::NotEq,
        Op::Lt => Op::Gt,
        Op::LtEq => Op::GtEq,
        Op::Gt => Op::Lt,
        Op::GtEq => Op::LtEq,
        _ => return None,
    })
}

fn subquery_of(expr: &Expr) -> Option<&ast::Query> {
    match expr {
        Expr::Subquery(query) => Some(query),
        Expr::Nested(inner) => subquery_of(inner),
        _ => None,
    }
}

/// Whether a query has a row of which it is so: `row op wanted`.
fn in_query(wanted: &[Expr], op: &Op, query: &ast::Query) -> Option<Expr> {
    let names: Vec<_> = (0..wanted.len()).map(name).collect();
    let values: Vec<_> = names.iter().map(|name| Expr::Identifier(ast::Ident::new(name))).collect();
    let equal = compared(&values, op, wanted)?;
    let exists = |condition: Expr| {
        let text = format!("EXISTS (SELECT 1 FROM (SELECT 1) AS __rows ({}) WHERE TRUE)", names.join(", "));
        let mut exists = Parser::new(&DIALECT).try_with_sql(&text).ok()?.parse_expr().ok()?;
        let Expr::Exists { subquery, .. } = &mut exists else { return None };
        let ast::SetExpr::Select(select) = subquery.body.as_mut() else { return None };
        let ast::TableFactor::Derived { subquery: rows, .. } = &mut select.from[0].relation else {
            return None;
        };
        **rows = query.clone();
        select.selection = Some(condition);
        Some(exists)
    };
    let unknown = Expr::IsNull(Box::new(Expr::Nested(Box::new(equal.clone()))));
    Some(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![
            CaseWhen { condition: exists(equal)?, result: Expr::value(Value::Boolean(true)) },
            CaseWhen { condition: exists(unknown)?, result: Expr::value(Value::Null) },
        ],
        else_result: Some(Box::new(Expr::value(Value::Boolean(false)))),
    })
}

fn binary(left: Expr, op: Op, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }))
}

fn and(left: Expr, right: Expr) -> Expr {
    binary(left, Op::And, right)
}

fn or(left: Expr, right: Expr) -> Expr {
    binary(left, Op::Or, right)
}

fn negate(expr: Expr, is_negated: bool) -> Expr {
    let expr = Expr::Nested(Box::new(expr));
    if is_negated { Expr::UnaryOp { op: ast::UnaryOperator::Not, expr: Box::new(expr) } } else { expr }
}
