//! `EXPLAIN (SELECT …)`: the parser takes a parenthesis behind EXPLAIN for options. Options that say what is so anyway are put before it.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Whitespace},
};

use super::tokens::{is, next};

/// Says it.
pub(super) fn say_explained(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at], Keyword::EXPLAIN)
            && let Some(open) = opens_query(&tokens, at)
        {
            let span = tokens[at].span;
            let space = || Token::Whitespace(Whitespace::Space);
            let (name, value) = (Token::make_keyword("VERBOSE"), Token::make_keyword("FALSE"));
            let options = [Token::LParen, name, space(), value, Token::RParen];
            tokens.splice(open..open, options.map(|token| TokenWithSpan { token, span }));
        }
        at += 1;
    }
    tokens
}

/// Where the parenthesis is, if there is one that a query stands in.
fn opens_query(tokens: &[TokenWithSpan], explain: usize) -> Option<usize> {
    const QUERIES: [Keyword; 4] = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::FROM];
    let open = next(tokens, explain + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let mut first = open;
    while tokens[first].token == Token::LParen {
        first = next(tokens, first + 1)?;
    }
    QUERIES.iter().any(|query| is(&tokens[first], *query)).then_some(open)
}
