//! `CREATE TABLE t (a, b) AS SELECT …`, in tokens that the parser knows: `CREATE TABLE t AS SELECT * FROM (SELECT …) AS "␁rows" (a, b)`.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{before, closing, is, is_blank};

/// What the query of such a table is called.
const ROWS: &str = "\u{1}rows";

/// Says them.
pub(super) fn say_named_tables(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at], Keyword::TABLE) {
            say_names(&mut tokens, at);
        }
        at += 1;
    }
    tokens
}

fn say_names(tokens: &mut Vec<TokenWithSpan>, table: usize) -> Option<()> {
    let create = [Keyword::CREATE, Keyword::REPLACE, Keyword::TEMPORARY, Keyword::TEMP];
    before(tokens, table).filter(|&at| create.iter().any(|word| is(&tokens[at], *word)))?;
    let open = (table + 1..tokens.len())
        .find(|&at| !is_blank(&tokens[at]) && !matches!(tokens[at].token, Token::Word(_) | Token::Period))
        .filter(|&at| tokens[at].token == Token::LParen)?;
    // What stands behind AS belongs to the query.
    if tokens[table..open].iter().any(|token| is(token, Keyword::AS)) {
        return None;
    }
    let close = closing(tokens, open)?;
    let names: Vec<&Token> =
        tokens[open + 1..close].iter().filter(|token| !is_blank(token)).map(|token| &token.token).collect();
    let is_name = |(nth, token): (usize, &&Token)| match nth % 2 {
        0 => matches!(token, Token::Word(_)),
        _ => **token == Token::Comma,
    };
    if names.len().is_multiple_of(2) || !names.iter().enumerate().all(is_name) {
        return None;
    }
    let end = (close..tokens.len())
        .find(|&at| matches!(tokens[at].token, Token::SemiColon | Token::EOF))
        .unwrap_or(tokens.len());
    let query = (close + 1..end).find(|&at| is(&tokens[at], Keyword::AS))? + 1;
    // WITH NO DATA stands behind the query.
    let data = before(tokens, end).filter(|&at| is(&tokens[at], Keyword::DATA));
    let end =
        data.and_then(|data| (query..data).rev().find(|&at| is(&tokens[at], Keyword::WITH))).unwrap_or(end);
    let span = tokens[open].span;
    let token = |token| TokenWithSpan { token, span };
    let columns = tokens[open..=close].to_vec();
    let alias = [Token::RParen, Token::make_keyword("AS"), Token::make_word(ROWS, Some('"'))];
    tokens.splice(end..end, alias.map(token).into_iter().chain(columns));
    let select = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM"), Token::LParen];
    tokens.splice(query..query, select.map(token));
    tokens.drain(open..=close);
    Some(())
}
