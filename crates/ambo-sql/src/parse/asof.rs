//! ASOF JOIN in the forms of DuckDB and of Snowflake, as joins with a mark in their condition.
//!
//! | written | read |
//! |---|---|
//! | `a ASOF LEFT JOIN b ON a.k = b.k AND a.t >= b.t` | `a LEFT JOIN b ON "␁asof" AND a.k = b.k AND a.t >= b.t` |
//! | `a ASOF JOIN b USING (k, t)` | `a JOIN b USING ("␁asof", k, t)` |
//! | `a ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k` | `a LEFT JOIN b ON "␁asof" AND (a.t >= b.t) AND a.k = b.k` |
//!
//! With MATCH_CONDITION all rows of the left side are in the result, as Snowflake has it.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{closing, is, next};

/// Stands in the condition of an ASOF JOIN.
pub(crate) const ASOF: &str = "\u{1}asof";

/// Says all of them.
pub(super) fn say_asof(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut from = 0;
    while let Some(at) = (from..tokens.len()).find(|&at| is(&tokens[at], Keyword::ASOF)) {
        from = at + 1;
        let _ = say(&mut tokens, at);
    }
    tokens
}

/// The first of some words outside of parentheses.
fn outermost(tokens: &[TokenWithSpan], from: usize, wanted: &[Keyword]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return None,
            Token::RParen => depth -= 1,
            Token::SemiColon => return None,
            _ if depth == 0 && wanted.iter().any(|word| is(token, *word)) => return Some(at),
            _ => {}
        }
    }
    None
}

fn say(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    const SIDES: [Keyword; 7] = [
        Keyword::LEFT,
        Keyword::RIGHT,
        Keyword::FULL,
        Keyword::INNER,
        Keyword::SEMI,
        Keyword::ANTI,
        Keyword::OUTER,
    ];
    let mut join = next(tokens, at + 1)?;
    while SIDES.iter().any(|side| is(&tokens[join], *side)) {
        join = next(tokens, join + 1)?;
    }
    if !is(&tokens[join], Keyword::JOIN) {
        return None;
    }
    let span = tokens[at].span;
    let token = |token| TokenWithSpan { token, span };
    let mark = || token(Token::make_word(ASOF, Some('"')));
    let and = || token(Token::make_keyword("AND"));
    let word = outermost(tokens, join + 1, &[Keyword::ON, Keyword::USING, Keyword::MATCH_CONDITION])?;
    if is(&tokens[word], Keyword::USING) {
        let open = next(tokens, word + 1).filter(|&at| tokens[at].token == Token::LParen)?;
        tokens.splice(open + 1..open + 1, [mark(), token(Token::Comma)]);
        tokens.remove(at);
        return Some(());
    }
    if is(&tokens[word], Keyword::ON) {
        tokens.splice(word + 1..word + 1, [mark(), and()]);
        tokens.remove(at);
        return Some(());
    }
    let open = next(tokens, word + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let close = closing(tokens, open)?;
    match next(tokens, close + 1) {
        Some(on) if is(&tokens[on], Keyword::ON) => tokens[on] = and(),
        // Which columns are meant is to be known before the condition can be written; the parser reads this form.
        Some(using) if is(&tokens[using], Keyword::USING) => return None,
        _ => {}
    }
    tokens[word] = token(Token::make_keyword("ON"));
    tokens.splice(word + 1..word + 1, [mark(), and()]);
    tokens[at] = token(Token::make_keyword("LEFT"));
    Some(())
}
