//! Forms of `COLUMNS(…)` and of `*` that the parser does not know, in tokens that it knows.
//!
//! | written | read |
//! |---|---|
//! | `COLUMNS(lambda c: c LIKE 'a%')`, `COLUMNS(c -> c LIKE 'a%')` | `COLUMNS("␁lambda"(c, c LIKE 'a%'))` |
//! | `f(*COLUMNS(…))` | `f("␁unpacked"(…))` |
//! | `t.* EXCEPT (t.a)` | `t.* EXCLUDE (t.a)` |
//! | `* LIKE 'a%'`, also NOT LIKE, ILIKE, SIMILAR TO, GLOB | `COLUMNS("␁lambda"(c, c LIKE 'a%'))` |

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Whitespace},
};

use super::tokens::{before, closing, is, next};

/// The function that a condition on the names of columns is.
pub(crate) const LAMBDA: &str = "\u{1}lambda";
/// COLUMNS as the arguments of a function.
pub(crate) const UNPACKED: &str = "\u{1}unpacked";

/// Says them.
pub(super) fn say_stars(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if is_columns(&tokens[at]) {
            say_lambda(&mut tokens, at);
            say_unpacked(&mut tokens, at);
        } else if tokens[at].token == Token::Mul {
            say_chosen(&mut tokens, at);
            say_exclude(&mut tokens, at);
        }
        at += 1;
    }
    tokens
}

fn is_columns(token: &TokenWithSpan) -> bool {
    is(token, Keyword::COLUMNS)
}

fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

fn say_lambda(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    let open = next(tokens, at + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let close = closing(tokens, open)?;
    let first = next(tokens, open + 1)?;
    let variable = if is_word(&tokens[first], "lambda") { next(tokens, first + 1)? } else { first };
    let Token::Word(_) = tokens[variable].token else { return None };
    let sign = next(tokens, variable + 1)?;
    let is_sign = match tokens[sign].token {
        Token::Colon => first != variable,
        Token::Arrow => first == variable,
        _ => false,
    };
    if !is_sign {
        return None;
    }
    let span = tokens[first].span;
    tokens[sign].token = Token::Comma;
    tokens.insert(close, TokenWithSpan { token: Token::RParen, span });
    let function = [Token::make_word(LAMBDA, Some('"')), Token::LParen];
    tokens.splice(first..variable, function.map(|token| TokenWithSpan { token, span }));
    Some(())
}

/// A star stands there, and not the sign of a product, if it begins an argument.
fn say_unpacked(tokens: &mut [TokenWithSpan], at: usize) -> Option<()> {
    let star = before(tokens, at).filter(|&at| tokens[at].token == Token::Mul)?;
    let begin = before(tokens, star)?;
    if !matches!(tokens[begin].token, Token::LParen | Token::Comma) {
        return None;
    }
    tokens[at].token = Token::make_word(UNPACKED, Some('"'));
    tokens[star].token = Token::Whitespace(Whitespace::Space);
    Some(())
}

/// `t.* EXCEPT (t.a)`: names with their tables stand behind EXCLUDE.
fn say_exclude(tokens: &mut [TokenWithSpan], at: usize) -> Option<()> {
    let except = next(tokens, at + 1).filter(|&at| is(&tokens[at], Keyword::EXCEPT))?;
    let open = next(tokens, except + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let name = next(tokens, open + 1).filter(|&at| matches!(tokens[at].token, Token::Word(_)))?;
    let behind = next(tokens, name + 1)?;
    if matches!(tokens[behind].token, Token::Comma | Token::RParen | Token::Period) {
        tokens[except].token = Token::make_keyword("EXCLUDE");
    }
    Some(())
}

fn say_chosen(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    let is_item = before(tokens, at).is_some_and(|at| {
        matches!(tokens[at].token, Token::Comma)
            || [Keyword::SELECT, Keyword::DISTINCT, Keyword::ALL].iter().any(|word| is(&tokens[at], *word))
    });
    if !is_item {
        return None;
    }
    let first = next(tokens, at + 1)?;
    let word = if is(&tokens[first], Keyword::NOT) { next(tokens, first + 1)? } else { first };
    let pattern = match &tokens[word] {
        token if is(token, Keyword::LIKE) || is_word(token, "glob") => next(tokens, word + 1)?,
        // The parser knows ILIKE itself.
        token if is(token, Keyword::ILIKE) => next(tokens, word + 1)?,
        token if is(token, Keyword::SIMILAR) => {
            let to = next(tokens, word + 1).filter(|&at| is(&tokens[at], Keyword::TO))?;
            next(tokens, to + 1)?
        }
        _ => return None,
    };
    let Token::SingleQuotedString(_) = tokens[pattern].token else { return None };
    let span = tokens[at].span;
    let token = |token| TokenWithSpan { token, span };
    let close = [Token::RParen, Token::RParen].map(token);
    tokens.splice(pattern + 1..pattern + 1, close);
    let name = Token::make_word("c", Some('"'));
    let open = [
        Token::make_keyword("COLUMNS"),
        Token::LParen,
        Token::make_word(LAMBDA, Some('"')),
        Token::LParen,
        name.clone(),
        Token::Comma,
        name,
    ];
    tokens.splice(at..=at, open.map(token));
    Some(())
}

#[cfg(test)]
mod tests {
    /// Keeps away: a product that is taken for a star.
    #[test]
    fn stars_are_told_from_products() {
        for (text, meant) in [
            ("COLUMNS(lambda c: c > 'a')", "COLUMNS(\"_lambda\"(c, c > 'a'))"),
            ("COLUMNS(c -> c > 'a')", "COLUMNS(\"_lambda\"(c , c > 'a'))"),
            ("f(*COLUMNS('a'), 2*columns('b'))", "f( \"_unpacked\"('a'), 2*columns('b'))"),
            ("SELECT * NOT LIKE 'a%'", "SELECT COLUMNS(\"_lambda\"(\"c\",\"c\" NOT LIKE 'a%'))"),
            ("SELECT a * like 'a%'", "SELECT a * like 'a%'"),
        ] {
            let tokens = super::super::tokens(text).unwrap();
            let said: String = tokens.iter().map(|token| token.token.to_string()).collect();
            assert_eq!(said.replace('\u{1}', "_"), meant, "{text}");
        }
    }
}
