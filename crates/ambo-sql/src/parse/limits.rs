//! Shares of rows, `LIMIT 20 %` and `LIMIT 20 PERCENT`, as a function: `LIMIT "␁percent"(20)`.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{is, is_blank};

/// The function that a share of the rows is.
pub(crate) const PERCENT: &str = "\u{1}percent";

/// Says all of them.
pub(super) fn say_shares(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut from = 0;
    while let Some(limit) = (from..tokens.len()).find(|&at| is(&tokens[at], Keyword::LIMIT)) {
        from = limit + 1;
        let Some(sign) = sign(&tokens, limit + 1) else { continue };
        let span = tokens[sign].span;
        tokens[sign].token = Token::RParen;
        let open = [Token::make_word(PERCENT, Some('"')), Token::LParen];
        let open = open.map(|token| TokenWithSpan { token, span });
        tokens.splice(limit + 1..limit + 1, open);
    }
    tokens
}

/// The sign behind a share. Behind the sign of a remainder follows a value.
fn sign(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for at in from..tokens.len() {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return None,
            Token::RParen => depth -= 1,
            Token::SemiColon | Token::Comma if depth == 0 => return None,
            Token::Mod if depth == 0 && ends(tokens, at + 1) => return Some(at),
            Token::Word(_) if depth == 0 && is(&tokens[at], Keyword::PERCENT) => return Some(at),
            Token::Word(_) if depth == 0 && is(&tokens[at], Keyword::OFFSET) => return None,
            _ => {}
        }
    }
    None
}

fn ends(tokens: &[TokenWithSpan], from: usize) -> bool {
    const BEHIND: [Keyword; 6] =
        [Keyword::OFFSET, Keyword::UNION, Keyword::EXCEPT, Keyword::INTERSECT, Keyword::FETCH, Keyword::FOR];
    match tokens[from..].iter().find(|token| !is_blank(token)) {
        None => true,
        Some(next) => {
            matches!(next.token, Token::EOF | Token::SemiColon | Token::RParen)
                || BEHIND.iter().any(|word| is(next, *word))
        }
    }
}
