//! Short forms of MERGE, which name no columns, as an assignment to, or a row of, a column of a name that no table has:
//!
//! | written | read |
//! |---|---|
//! | `THEN UPDATE`, `UPDATE SET *`, `UPDATE BY POSITION` | `UPDATE SET "␁all by position" = NULL` |
//! | `THEN UPDATE BY NAME` | `UPDATE SET "␁all by name" = NULL` |
//! | `THEN INSERT`, `INSERT *`, `INSERT BY POSITION` | `INSERT ("␁all by position") VALUES (NULL)` |
//! | `THEN INSERT BY NAME` | `INSERT ("␁all by name") VALUES (NULL)` |

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{before, is, next};

/// All columns, those of the source found by their names.
pub(crate) const ALL_BY_NAME: &str = "\u{1}all by name";

/// All columns, those of the source in their order.
pub(crate) const ALL_BY_POSITION: &str = "\u{1}all by position";

/// Says them.
pub(super) fn say_short_merges(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if let Some((end, mark)) = short_form(&tokens, at) {
            let span = tokens[at].span;
            let (column, null) = (Token::make_word(mark, Some('"')), Token::make_keyword("NULL"));
            let instead = match is(&tokens[at], Keyword::UPDATE) {
                true => vec![Token::make_keyword("SET"), column, Token::Eq, null],
                false => {
                    let values = Token::make_keyword("VALUES");
                    vec![Token::LParen, column, Token::RParen, values, Token::LParen, null, Token::RParen]
                }
            };
            tokens.splice(at + 1..=end, instead.into_iter().map(|token| TokenWithSpan { token, span }));
        }
        at += 1;
    }
    tokens
}

/// The last token of a short form that begins there, and what stands for its columns.
fn short_form(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, &'static str)> {
    before(tokens, at).filter(|then| is(&tokens[*then], Keyword::THEN))?;
    let is_update = is(&tokens[at], Keyword::UPDATE);
    if !is_update && !is(&tokens[at], Keyword::INSERT) {
        return None;
    }
    let ends = |last: usize| {
        next(tokens, last + 1).is_none_or(|next| {
            let word = [Keyword::WHEN, Keyword::RETURNING].iter().any(|word| is(&tokens[next], *word));
            word || matches!(tokens[next].token, Token::SemiColon | Token::EOF | Token::RParen)
        })
    };
    if ends(at) {
        return Some((at, ALL_BY_POSITION));
    }
    let first = next(tokens, at + 1)?;
    let star = match is_update {
        true => next(tokens, first + 1).filter(|_| is(&tokens[first], Keyword::SET)),
        false => Some(first),
    };
    if let Some(star) = star.filter(|star| tokens[*star].token == Token::Mul && ends(*star)) {
        return Some((star, ALL_BY_POSITION));
    }
    let how = next(tokens, first + 1).filter(|how| is(&tokens[first], Keyword::BY) && ends(*how))?;
    match &tokens[how].token {
        Token::Word(word) if word.value.eq_ignore_ascii_case("name") => Some((how, ALL_BY_NAME)),
        Token::Word(word) if word.value.eq_ignore_ascii_case("position") => Some((how, ALL_BY_POSITION)),
        _ => None,
    }
}
