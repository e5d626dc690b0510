//! Generated columns without a type: `CREATE TABLE t (a int, b AS (a + 1))`, `b GENERATED ALWAYS AS (a + 1)`. The parser knows columns with
//! one; the name that stands for it here is [`IMPLIED`].

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use crate::parse::tokens::{is, is_blank};

/// What the type of such a column is called.
pub(crate) const IMPLIED: &str = "\u{1}implied";

/// Says them.
pub(super) fn say_implied_types(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for at in places(&tokens).into_iter().rev() {
        let span = tokens[at].span;
        let word = |token| TokenWithSpan { token, span };
        let space = Token::Whitespace(datafusion::sql::sqlparser::tokenizer::Whitespace::Space);
        tokens.splice(at + 1..at + 1, [word(space), word(Token::make_word(IMPLIED, Some('"')))]);
    }
    tokens
}

/// Where the names of such columns are.
fn places(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let seen: Vec<usize> = (0..tokens.len()).filter(|at| !is_blank(&tokens[*at])).collect();
    let is_at = |nth: usize, word| seen.get(nth).is_some_and(|at| is(&tokens[*at], word));
    let token = |nth: usize| seen.get(nth).map(|at| &tokens[*at].token);
    let mut found = Vec::new();
    for begin in (0..seen.len()).filter(|nth| is_at(*nth, Keyword::TABLE)) {
        // CREATE TABLE … name (
        let is_created = begin > 0
            && [Keyword::CREATE, Keyword::REPLACE, Keyword::TEMP, Keyword::TEMPORARY]
                .iter()
                .any(|word| is_at(begin - 1, *word));
        let open =
            (begin + 1..seen.len()).find(|nth| !matches!(token(*nth), Some(Token::Word(_) | Token::Period)));
        let Some(open) = open.filter(|nth| is_created && token(*nth) == Some(&Token::LParen)) else {
            continue;
        };
        if (begin..open).any(|nth| is_at(nth, Keyword::AS)) {
            continue;
        }
        let mut depth = 0;
        for nth in open..seen.len() {
            match token(nth) {
                Some(Token::LParen) => depth += 1,
                Some(Token::RParen) if depth == 1 => break,
                Some(Token::RParen) => depth -= 1,
                _ => {}
            }
            let begins = matches!(token(nth), Some(Token::LParen | Token::Comma)) && depth == 1;
            let is_name = matches!(token(nth + 1), Some(Token::Word(_)));
            let is_short = is_at(nth + 2, Keyword::AS) && token(nth + 3) == Some(&Token::LParen);
            if begins && is_name && (is_short || is_at(nth + 2, Keyword::GENERATED)) {
                found.push(seen[nth + 1]);
            }
        }
    }
    found
}
