//! `WITH RECURSIVE t (a, b) USING KEY (a, max(b)) AS (query)`: the parser knows no keys of tables in WITH. They become the text of a table
//! of the query's own that is called [`USING_KEY`]: `AS (WITH "␁using_key" AS (SELECT 'a, max(b)') query)`.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{closing, is, next};

/// What the table with the keys is called.
pub(crate) const USING_KEY: &str = "\u{1}using_key";

pub(super) fn say_keys(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut from = 0;
    while let Some(using) = (from..tokens.len()).find(|at| is(&tokens[*at], Keyword::USING)) {
        from = using + 1;
        if let Some((open, close, body)) = keys_of(&tokens, using) {
            let keys: String = tokens[open + 1..close].iter().map(|token| token.token.to_string()).collect();
            say(&mut tokens, body, keys);
            drop(tokens.drain(using..=close));
        }
    }
    tokens
}

/// The parentheses of the keys, and the one that opens the query.
fn keys_of(tokens: &[TokenWithSpan], using: usize) -> Option<(usize, usize, usize)> {
    let key = next(tokens, using + 1).filter(|at| is(&tokens[*at], Keyword::KEY))?;
    let open = next(tokens, key + 1).filter(|at| tokens[*at].token == Token::LParen)?;
    let close = closing(tokens, open)?;
    let mut at = next(tokens, close + 1).filter(|at| is(&tokens[*at], Keyword::AS))?;
    loop {
        at = next(tokens, at + 1)?;
        if !is(&tokens[at], Keyword::NOT) && !is(&tokens[at], Keyword::MATERIALIZED) {
            break;
        }
    }
    (tokens[at].token == Token::LParen).then_some((open, close, at))
}

/// Says the keys behind the parenthesis that opens the query.
fn say(tokens: &mut Vec<TokenWithSpan>, body: usize, keys: String) {
    let span = tokens[body].span;
    let mut said = vec![Token::make_keyword("WITH")];
    let own = next(tokens, body + 1).filter(|at| is(&tokens[*at], Keyword::WITH));
    let recursive =
        own.and_then(|own| next(tokens, own + 1)).filter(|at| is(&tokens[*at], Keyword::RECURSIVE));
    if recursive.is_some() {
        said.push(Token::make_keyword("RECURSIVE"));
    }
    said.extend([
        Token::make_word(USING_KEY, Some('"')),
        Token::make_keyword("AS"),
        Token::LParen,
        Token::make_keyword("SELECT"),
        Token::SingleQuotedString(keys),
        Token::RParen,
    ]);
    if own.is_some() {
        said.push(Token::Comma);
    }
    let end = recursive.or(own).unwrap_or(body);
    let said = said.into_iter().map(|token| TokenWithSpan { token, span });
    drop(tokens.splice(body + 1..=end.max(body), said));
}
