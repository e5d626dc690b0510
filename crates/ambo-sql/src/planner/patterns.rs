//! LIKE with ESCAPE, SIMILAR TO, `&&`, `^@` and `!`, and ANY and ALL of lists, as functions.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, ObjectName, UnaryOperator, ValueWithSpan,
};

/// What is meant by an expression that the planner would read otherwise, or not at all.
pub(super) fn by_function(expr: &mut Expr) {
    match expr {
        Expr::Like { pattern, escape_char, any: false, .. }
        | Expr::ILike { pattern, escape_char, any: false, .. } => {
            if let Some(escape) = escape_char.take() {
                let written = std::mem::replace(pattern, Box::new(null()));
                **pattern = call("like_escape", vec![*written, Expr::Value(escape)]);
            }
        }
        Expr::SimilarTo { negated, expr: text, pattern, escape_char } => {
            *expr = similar(*negated, text, pattern, escape_char.take());
        }
        Expr::AnyOp { left, compare_op, right, .. } => {
            if let Some(meant) = quantified(left, compare_op, right, "ANY") {
                *expr = meant;
            }
        }
        Expr::AllOp { left, compare_op, right } => {
            if let Some(meant) = quantified(left, compare_op, right, "ALL") {
                *expr = meant;
            }
        }
        Expr::BinaryOp { left, op: BinaryOperator::PGOverlap, right } => {
            *expr = call("array_has_any", vec![(**left).clone(), (**right).clone()]);
        }
        Expr::BinaryOp { left, op: BinaryOperator::PGStartsWith, right } => {
            *expr = call("starts_with", vec![(**left).clone(), (**right).clone()]);
        }
        Expr::UnaryOp { op: UnaryOperator::PGPostfixFactorial, expr: of } => {
            *expr = call("factorial", vec![(**of).clone()]);
        }
        _ => {}
    }
}

fn similar(negated: bool, text: &Expr, pattern: &Expr, escape: Option<ValueWithSpan>) -> Expr {
    let arguments = std::iter::once(pattern.clone()).chain(escape.map(Expr::Value)).collect();
    let op = if negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
    let (left, right) = (Box::new(text.clone()), Box::new(call("similar_to_escape", arguments)));
    Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }))
}

/// The function that compares a value with those of a list; none for a subquery.
fn quantified(left: &Expr, op: &BinaryOperator, right: &Expr, word: &str) -> Option<Expr> {
    if matches!(right, Expr::Subquery(_)) {
        return None;
    }
    let op = match op {
        BinaryOperator::Eq => "=",
        BinaryOperator::NotEq => "<>",
        BinaryOperator::Lt => "<",
        BinaryOperator::LtEq => "<=",
        BinaryOperator::Gt => ">",
        BinaryOperator::GtEq => ">=",
        _ => return None,
    };
    Some(call(&format!("{op} {word}"), vec![left.clone(), right.clone()]))
}

fn null() -> Expr {
    Expr::value(datafusion::sql::sqlparser::ast::Value::Null)
}

/// A function of this name.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let unnamed = |argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::with_quote('"', name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.into_iter().map(unnamed).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
