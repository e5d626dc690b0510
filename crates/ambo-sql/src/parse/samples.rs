//! TABLESAMPLE and USING SAMPLE in all their forms, as a function that says how much: `"␁sample"('reservoir', 10, 'rows', 42)`.
//!
//! | written | read |
//! |---|---|
//! | `t TABLESAMPLE reservoir(10 ROWS) REPEATABLE (42)` | `t TABLESAMPLE ("␁sample"('reservoir', 10, 'rows', 42))` |
//! | `SELECT … FROM t WHERE … USING SAMPLE 10%` | `SELECT … FROM "␁sample"('', 10, 'percent', NULL), t WHERE …` |

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{before, is, next};

/// The function that says how much of a table is wanted.
pub(crate) const SAMPLE: &str = "\u{1}sample";

/// Says all of them.
pub(super) fn say_samples(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at], Keyword::TABLESAMPLE) {
            if let Some((spec, end)) = spec(&tokens, at + 1) {
                let said = std::iter::once(Token::LParen).chain(spec.said()).chain([Token::RParen]);
                let said: Vec<_> = at_place(&tokens[at], said).collect();
                tokens.splice(at + 1..end, said);
            }
        } else if is(&tokens[at], Keyword::SAMPLE)
            && let Some(using) = before(&tokens, at).filter(|&using| is(&tokens[using], Keyword::USING))
            && let Some((spec, end)) = spec(&tokens, at + 1)
            && let Some(from) = from_of(&tokens, using)
        {
            let said: Vec<_> = at_place(&tokens[at], spec.said().into_iter().chain([Token::Comma])).collect();
            tokens.drain(using..end);
            tokens.splice(from + 1..from + 1, said);
        }
        at += 1;
    }
    tokens
}

fn at_place(
    place: &TokenWithSpan,
    said: impl IntoIterator<Item = Token>,
) -> impl Iterator<Item = TokenWithSpan> {
    let span = place.span;
    said.into_iter().map(move |token| TokenWithSpan { token, span })
}

struct Spec {
    method: String,
    amount: Token,
    unit: &'static str,
    seed: Option<Token>,
}

impl Spec {
    fn said(self) -> Vec<Token> {
        let text = |text: &str| Token::SingleQuotedString(text.to_owned());
        let seed = self.seed.unwrap_or_else(|| Token::make_keyword("NULL"));
        vec![
            Token::make_word(SAMPLE, Some('"')),
            Token::LParen,
            text(&self.method),
            Token::Comma,
            self.amount,
            Token::Comma,
            text(self.unit),
            Token::Comma,
            seed,
            Token::RParen,
        ]
    }
}

/// What is said of a sample, and where that ends.
fn spec(tokens: &[TokenWithSpan], from: usize) -> Option<(Spec, usize)> {
    let mut at = next(tokens, from)?;
    let mut spec = Spec { method: String::new(), amount: Token::Comma, unit: "rows", seed: None };
    if let Some(method) = method(&tokens[at]) {
        spec.method = method;
        at = next(tokens, at + 1)?;
    }
    let is_open = tokens[at].token == Token::LParen;
    if is_open {
        at = next(tokens, at + 1)?;
    }
    match &tokens[at].token {
        amount @ (Token::Number(..) | Token::Placeholder(_)) => spec.amount = amount.clone(),
        _ => return None,
    }
    let mut end = at + 1;
    if let Some(unit) = next(tokens, end) {
        let is_row = is(&tokens[unit], Keyword::ROWS) || is(&tokens[unit], Keyword::ROW);
        if tokens[unit].token == Token::Mod || is(&tokens[unit], Keyword::PERCENT) {
            (spec.unit, end) = ("percent", unit + 1);
        } else if is_row {
            end = unit + 1;
        }
    }
    if is_open {
        end = next(tokens, end).filter(|&at| tokens[at].token == Token::RParen)? + 1;
    } else if let Some(open) = next(tokens, end).filter(|&at| tokens[at].token == Token::LParen) {
        let word = next(tokens, open + 1)?;
        spec.method = method(&tokens[word])?;
        let mut close = next(tokens, word + 1)?;
        if tokens[close].token == Token::Comma {
            let seed = next(tokens, close + 1)?;
            spec.seed = Some(tokens[seed].token.clone());
            close = next(tokens, seed + 1)?;
        }
        if tokens[close].token != Token::RParen {
            return None;
        }
        end = close + 1;
    }
    if let Some(repeatable) = next(tokens, end).filter(|&at| is(&tokens[at], Keyword::REPEATABLE)) {
        let open = next(tokens, repeatable + 1).filter(|&at| tokens[at].token == Token::LParen)?;
        let seed = next(tokens, open + 1)?;
        let close = next(tokens, seed + 1).filter(|&at| tokens[at].token == Token::RParen)?;
        spec.seed = Some(tokens[seed].token.clone());
        end = close + 1;
    }
    Some((spec, end))
}

fn method(token: &TokenWithSpan) -> Option<String> {
    let Token::Word(word) = &token.token else { return None };
    let method = word.value.to_ascii_lowercase();
    ["bernoulli", "system", "reservoir"].contains(&method.as_str()).then_some(method)
}

/// The FROM of the SELECT that ends there.
fn from_of(tokens: &[TokenWithSpan], end: usize) -> Option<usize> {
    let mut depth = 0usize;
    (0..end).rev().find(|&at| match tokens[at].token {
        Token::RParen => {
            depth += 1;
            false
        }
        Token::LParen => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => {
            depth == 0
                && is(&tokens[at], Keyword::FROM)
                && !before(tokens, at).is_some_and(|before| is(&tokens[before], Keyword::DISTINCT))
        }
    })
}
