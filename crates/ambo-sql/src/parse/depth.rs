//! How deep statements may be.
//!
//! Generated statements are long: `k = 1 OR k = 2 OR …`, thousands of times. The parser makes a tree of them that is as deep as the chain
//! is long, and what walks through it, or drops it, needs so much stack. A stack that is too small ends the process of those who use the
//! library. So:
//!
//! 1. Chains of AND and of OR become trees of equal halves, whose value is the same.
//! 2. Other chains may have [`DEPTH`] operators, as in SQLite and DuckDB; what is deeper is refused.
//! 3. Until that is known, the statement is on a stack of its own if its tokens let it be deep ([`bound`]).

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::{
    ast::{BinaryOperator, Expr, Query, SetExpr, Value, VisitorMut},
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use crate::{Error, ErrorKind, Result, stack, walk::WalkMut};

/// How many operators may be within one another.
const DEPTH: usize = 1_000;
/// How many queries may be put together.
const QUERIES: usize = 500;
/// How many parentheses, functions and queries may be within one another; what the parser counts.
pub(super) const NESTING: usize = 200;
/// Chains from this length on are halved: shorter ones stay as they were written.
const LONG: usize = 64;
/// More levels than this are refused unread.
const MOST: usize = 1_000_000;

/// Does something on a stack that is large enough for trees of that many levels.
///
/// # Errors
/// [`ErrorKind::Syntax`] if none is.
pub(super) fn with_stack<R>(levels: usize, act: impl FnOnce() -> Result<R>) -> Result<R> {
    match levels {
        ..LONG => act(),
        LONG..MOST => stack::for_levels(levels.min(DEPTH), levels, act),
        _ => Err(Error::new(
            ErrorKind::Syntax,
            format!("the statement is too long: an expression has more than {MOST} words and signs"),
        )),
    }
}

/// How deep the trees of tokens can be at most: each level needs one, and what stands between commas is apart.
pub(super) fn bound(tokens: &[TokenWithSpan]) -> usize {
    /// What is between two parentheses.
    #[derive(Clone, Copy, Default)]
    struct Level {
        /// Since the last comma.
        run: usize,
        longest: usize,
        queries: usize,
    }
    impl Level {
        fn deepest(&self) -> usize {
            self.longest.max(self.run) + self.queries
        }
    }
    let mut outer = Vec::new();
    let mut level = Level::default();
    let mut deepest = 0;
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::Comma => level = Level { run: 0, longest: level.longest.max(level.run), ..level },
            Token::SemiColon => {
                deepest = deepest.max(level.deepest());
                level = Level::default();
            }
            Token::LParen | Token::LBracket | Token::LBrace => outer.push(std::mem::take(&mut level)),
            Token::RParen | Token::RBracket | Token::RBrace => {
                let inner = level.deepest();
                level = outer.pop().unwrap_or_default();
                level.run += inner + 1;
            }
            Token::Word(word)
                if matches!(word.keyword, Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT) =>
            {
                level.queries += 1;
            }
            _ => level.run += 1,
        }
    }
    deepest.max(outer.iter().chain([&level]).map(Level::deepest).sum())
}

/// Makes long chains flat.
///
/// # Errors
/// [`ErrorKind::Syntax`] if the tree is too deep even so.
pub(super) fn flatten(tree: &mut impl WalkMut) -> Result<()> {
    match tree.walk_mut(&mut Flat { depth: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Flat {
    depth: usize,
}

fn too_deep(limit: usize, what: &str) -> ControlFlow<Error> {
    let message = format!("the statement is nested too deeply: more than {limit} {what}");
    ControlFlow::Break(Error::new(ErrorKind::Syntax, message))
}

impl VisitorMut for Flat {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let (mut body, mut queries) = (query.body.as_ref(), 1);
        while let SetExpr::SetOperation { left, .. } = body {
            (body, queries) = (left, queries + 1);
        }
        match queries {
            ..=QUERIES => ControlFlow::Continue(()),
            _ => too_deep(QUERIES, "queries put together"),
        }
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        halve(expr);
        self.depth += 1;
        match self.depth {
            ..=DEPTH => ControlFlow::Continue(()),
            _ => too_deep(DEPTH, "operators within one another"),
        }
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// Makes a tree of equal halves of a long chain of AND or OR.
fn halve(expr: &mut Expr) {
    let Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = expr else { return };
    let op = op.clone();
    let (mut length, mut at) = (1, &*expr);
    while let Expr::BinaryOp { left, op: same, .. } = at
        && *same == op
    {
        (length, at) = (length + 1, left);
    }
    if length < LONG {
        return;
    }
    let nothing = || Expr::Value(Value::Null.into());
    let mut operands = Vec::with_capacity(length);
    let mut rest = std::mem::replace(expr, nothing());
    loop {
        match rest {
            Expr::BinaryOp { left, op: same, right } if same == op => {
                operands.push(*right);
                rest = *left;
            }
            first => {
                operands.push(first);
                break;
            }
        }
    }
    // From the last to the first.
    *expr = joined(&op, &mut operands, length);
}

/// The last operands, taken from a list from its end.
fn joined(op: &BinaryOperator, operands: &mut Vec<Expr>, count: usize) -> Expr {
    if count == 1 {
        return operands.pop().expect("as many as are counted");
    }
    let left = joined(op, operands, count / 2).into();
    let right = joined(op, operands, count - count / 2).into();
    Expr::BinaryOp { left, op: op.clone(), right }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound_of(text: &str) -> usize {
        bound(&super::super::tokens(text).unwrap())
    }

    #[test]
    fn what_stands_between_commas_is_apart() {
        assert_eq!(bound_of("select a + b"), 4);
        assert_eq!(
            bound_of("insert into t values (1, 2), (3, 4), (5, 6)"),
            bound_of("insert into t values (1, 2)")
        );
        // Each level may stand on what is in parentheses before it.
        assert!(bound_of("(1 + 1) + (1 + 1)") > bound_of("(1 + 1), (1 + 1)"));
        assert!(bound_of("((((1))))") >= 4);
        // Commas do not hide how many queries are put together.
        let union = |count: usize| vec!["select 1, 2"; count].join(" union ");
        assert!(bound_of(&union(100)) >= 99);
        assert_eq!(bound_of("select 1; select 1 + 1 + 1"), bound_of("select 1 + 1 + 1"));
    }

    /// The levels of AND and OR, and the operands from left to right.
    fn shape(expr: &Expr) -> (usize, Vec<String>) {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
                let ((a, mut all), (b, others)) = (shape(left), shape(right));
                all.extend(others);
                (a.max(b) + 1, all)
            }
            other => (0, vec![other.to_string()]),
        }
    }

    #[test]
    fn chains_become_halves_in_their_order() {
        for (count, levels) in [(LONG - 1, LONG - 2), (LONG, 6), (1_000, 10), (1_025, 11)] {
            for op in [" AND ", " OR "] {
                let wanted: Vec<_> = (0..count).map(|i| format!("a = {i}")).collect();
                let expr = super::super::parse_expression(&wanted.join(op)).unwrap();
                assert_eq!(shape(&expr), (levels, wanted));
            }
        }
    }
}
