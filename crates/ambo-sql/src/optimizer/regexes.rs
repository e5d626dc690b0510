//! Regular expressions are not taken for patterns of LIKE that mean something else.
//!
//! The planner makes `x LIKE '%a\b%'` of `x ~ 'a\\b'`, which is for the text `ab`, not for one with a backslash; and `x IS NOT NULL` of `x
//! ~ '.*'`, which is false where it should be NULL (`simplify_regex_expr`, `is_safe_for_like`; not reported upstream so far). A pattern
//! that stands in parentheses stays what it is.

use datafusion::{
    common::{
        Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, Operator, expr::ScalarFunction, lit},
    scalar::ScalarValue,
};

use super::expressions::ExpressionRule;

pub(super) const REGEXES: ExpressionRule = ExpressionRule {
    name: "regexes",
    wanted: |expr| pattern(expr).is_some_and(is_misread),
    change: |expr, _, _| expr.transform_up(kept),
};

/// The pattern that a text is matched with, if it is a literal.
fn pattern(expr: &Expr) -> Option<&str> {
    let pattern = match expr {
        Expr::BinaryExpr(of) if is_match(of.op) => of.right.as_ref(),
        Expr::ScalarFunction(of) if is_regexp_like(of) => of.args.get(1)?,
        _ => return None,
    };
    match pattern {
        Expr::Literal(pattern, _) => pattern.try_as_str().flatten(),
        _ => None,
    }
}

fn is_match(op: Operator) -> bool {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(op, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch)
}

fn is_regexp_like(function: &ScalarFunction) -> bool {
    function.name() == "regexp_like"
}

/// Whether it may have a backslash to be found, or has any text.
fn is_misread(pattern: &str) -> bool {
    pattern == ".*"
        || pattern.contains("\\\\")
        || pattern.contains("\\x")
        || pattern.contains("\\u")
        || pattern.contains("\\U")
}

fn kept(mut expr: Expr) -> Result<Transformed<Expr>> {
    let Some(pattern) =
        pattern(&expr).filter(|pattern| is_misread(pattern)).map(|pattern| format!("({pattern})"))
    else {
        return Ok(Transformed::no(expr));
    };
    let put = |old: &mut Expr| -> Result<()> {
        if let Expr::Literal(value, _) = old {
            *old = lit(ScalarValue::Utf8(Some(pattern)).cast_to(&value.data_type())?);
        }
        Ok(())
    };
    match &mut expr {
        Expr::BinaryExpr(of) => put(&mut of.right)?,
        Expr::ScalarFunction(of) => put(&mut of.args[1])?,
        _ => {}
    }
    Ok(Transformed::yes(expr))
}
