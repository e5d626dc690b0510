//! The numbers of parameters: `?` are counted in the order of the text.
//!
//! The tree of a statement has its parts in another order (OFFSET stands before LIMIT in a text, FROM may stand before SELECT), so they are
//! counted before there is one. Until its columns have names, a counted `?` is kept apart from `$1`: a column is called as it was written.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::{
    ast::{Value, ValueWithSpan, VisitMut, VisitorMut},
    tokenizer::{Token, TokenWithSpan},
};

use crate::{Error, Result};

/// Gives each `?` of a statement its number, and makes `$3` of `?3`.
///
/// # Errors
/// `?` and `$1` in one statement, at the first that does not fit.
pub(super) fn number(tokens: &mut [TokenWithSpan]) -> Result<()> {
    let (mut marks, mut numbered) = (0, false);
    for TokenWithSpan { token, span } in tokens {
        let name = match token {
            Token::SemiColon => {
                (marks, numbered) = (0, false);
                continue;
            }
            Token::Placeholder(name) => name,
            _ => continue,
        };
        if name == "?" {
            marks += 1;
            *name = format!("?{marks}");
        } else if let Some(number) = name.strip_prefix('?') {
            numbered = true;
            *name = format!("${number}");
        } else if name.starts_with('$') {
            numbered = true;
        }
        if marks > 0 && numbered {
            let error = Error::invalid("a statement has its parameters as ? or as $1, $2 …, not both");
            return Err(error.at_start(span.start.line, span.start.column));
        }
    }
    Ok(())
}

/// Says `$1` for the first `?`, and so on.
pub(super) fn say_numbers(tree: &mut impl VisitMut) {
    struct Numbers;
    impl VisitorMut for Numbers {
        type Break = ();
        fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
            if let Value::Placeholder(name) = &mut value.value
                && let Some(number) = name.strip_prefix('?')
            {
                *name = format!("${number}");
            }
            ControlFlow::Continue(())
        }
    }
    let _ = tree.visit(&mut Numbers);
}
