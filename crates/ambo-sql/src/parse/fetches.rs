//! Options of identities in any order, and FETCH FIRST with more than a number.
//!
//! | written | read |
//! |---|---|
//! | `AS IDENTITY (START WITH 5 INCREMENT BY 2)` | `AS IDENTITY (INCREMENT BY 2 START WITH 5)` |
//! | `FETCH FIRST (5) ROWS ONLY` | `FETCH FIRST 5 ROWS ONLY` |
//! | `FETCH FIRST (2 + 3) ROWS ONLY` | `LIMIT (2 + 3)` |

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{before, closing, is, next};

/// Says them.
pub(super) fn say_fetches(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        let _ = match &tokens[at].token {
            Token::Word(word) if word.keyword == Keyword::IDENTITY => identity(&mut tokens, at),
            Token::Word(word) if word.keyword == Keyword::FETCH => fetch(&mut tokens, at),
            _ => None,
        };
        at += 1;
    }
    tokens
}

/// In the order in which the parser wants them.
const PARTS: [Keyword; 6] = [
    Keyword::INCREMENT,
    Keyword::MINVALUE,
    Keyword::MAXVALUE,
    Keyword::START,
    Keyword::CACHE,
    Keyword::CYCLE,
];

fn identity(tokens: &mut [TokenWithSpan], at: usize) -> Option<()> {
    before(tokens, at).filter(|&at| is(&tokens[at], Keyword::AS))?;
    let open = next(tokens, at + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let close = closing(tokens, open)?;
    let mut parts: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let mut is_negated = false;
    for token in tokens[open + 1..close].iter() {
        if let Some(place) = PARTS.iter().position(|part| is(token, *part)) {
            match parts.last_mut() {
                Some((of, _)) if is_negated => *of = place,
                _ => parts.push((place, Vec::new())),
            }
            is_negated = false;
        } else if is(token, Keyword::NO) {
            parts.push((PARTS.len(), Vec::new()));
            is_negated = true;
        }
        if let Some((_, tokens)) = parts.last_mut() {
            tokens.push(token.clone());
        }
    }
    // What stands before the first part stays there.
    let first = parts.iter().map(|(_, tokens)| tokens.len()).sum::<usize>();
    let begin = close - first;
    parts.sort_by_key(|(place, _)| *place);
    let sorted: Vec<_> = parts.into_iter().flat_map(|(_, tokens)| tokens).collect();
    tokens[begin..close].clone_from_slice(&sorted);
    Some(())
}

fn fetch(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    let first = next(tokens, at + 1)?;
    if !is(&tokens[first], Keyword::FIRST) && !is(&tokens[first], Keyword::NEXT) {
        return None;
    }
    let open = next(tokens, first + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let close = closing(tokens, open)?;
    let rows = next(tokens, close + 1)
        .filter(|&at| is(&tokens[at], Keyword::ROWS) || is(&tokens[at], Keyword::ROW))?;
    let number = next(tokens, open + 1)?;
    if matches!(tokens[number].token, Token::Number(..)) && next(tokens, number + 1) == Some(close) {
        tokens.remove(close);
        tokens.remove(open);
        return Some(());
    }
    let only = next(tokens, rows + 1).filter(|&at| is(&tokens[at], Keyword::ONLY))?;
    tokens.drain(rows..=only);
    let span = tokens[at].span;
    tokens.splice(at..=first, [TokenWithSpan { token: Token::make_keyword("LIMIT"), span }]);
    Some(())
}
