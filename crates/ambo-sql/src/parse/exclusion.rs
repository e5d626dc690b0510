//! `EXCLUDE CURRENT ROW`, `EXCLUDE GROUP`, `EXCLUDE TIES` and `EXCLUDE NO OTHERS` of the frame of a window.
//!
//! The parser does not know them. They are taken out and said by the name that a window may begin with: `(w … EXCLUDE TIES)` becomes
//! `("␁exclude ties␁w" …)`. What stands for them is read where names of windows are.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Begins the names of windows that leave rows out, and stands in front of the name of the window that they are made of.
pub(crate) const EXCLUDE: &str = "\u{1}exclude ";
const NAME: char = '\u{1}';

/// The tokens without exclusions.
pub(super) fn name_exclusions(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if let Some((what, end)) = exclusion(&tokens, at)
            && let Some(open) = opening(&tokens, at)
        {
            tokens.drain(at..end);
            name(&mut tokens, open, what);
        }
        at += 1;
    }
    tokens
}

/// What a window leaves out, and the window that it is made of, by its name.
pub(crate) fn excluded(name: &str) -> Option<(&str, Option<&str>)> {
    let (what, of) = name.strip_prefix(EXCLUDE)?.split_once(NAME)?;
    Some((what, (!of.is_empty()).then_some(of)))
}

fn word(token: &TokenWithSpan) -> Option<String> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    }
}

fn next(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|&at| !matches!(tokens[at].token, Token::Whitespace(_)))
}

/// The exclusion that begins there, behind the end of a frame, and where it ends: at the end of a window.
fn exclusion(tokens: &[TokenWithSpan], at: usize) -> Option<(&'static str, usize)> {
    if word(&tokens[at])? != "exclude" {
        return None;
    }
    let before = tokens[..at].iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)))?;
    if !["preceding", "following", "row"].contains(&word(before)?.as_str()) {
        return None;
    }
    let first = next(tokens, at + 1)?;
    let (what, last) = match word(&tokens[first])?.as_str() {
        "group" => ("group", first),
        "ties" => ("ties", first),
        before @ ("current" | "no") => {
            let second = next(tokens, first + 1)?;
            match (before, word(&tokens[second])?.as_str()) {
                ("current", "row") => ("current row", second),
                ("no", "others") => ("no others", second),
                _ => return None,
            }
        }
        _ => return None,
    };
    let end = next(tokens, last + 1)?;
    (tokens[end].token == Token::RParen).then_some((what, end))
}

/// The parenthesis that a window begins with.
fn opening(tokens: &[TokenWithSpan], end: usize) -> Option<usize> {
    let mut depth = 0;
    (0..end).rev().find(|&at| match tokens[at].token {
        Token::RParen => {
            depth += 1;
            false
        }
        Token::LParen if depth > 0 => {
            depth -= 1;
            false
        }
        Token::LParen => true,
        _ => false,
    })
}

/// Puts the name in.
fn name(tokens: &mut Vec<TokenWithSpan>, open: usize, what: &str) {
    const BEGIN: [&str; 5] = ["partition", "order", "rows", "range", "groups"];
    let first = next(tokens, open + 1).filter(|&at| match &tokens[at].token {
        Token::Word(word) => {
            word.quote_style.is_some() || !BEGIN.contains(&word.value.to_lowercase().as_str())
        }
        _ => false,
    });
    let of = first.map_or(String::new(), |at| match &tokens[at].token {
        Token::Word(word) if word.quote_style.is_some() => word.value.clone(),
        other => other.to_string().to_lowercase(),
    });
    let name = Token::make_word(&format!("{EXCLUDE}{what}{NAME}{of}"), Some('"'));
    match first {
        Some(at) => tokens[at].token = name,
        None => {
            let span = tokens[open].span;
            tokens.insert(open + 1, TokenWithSpan { token: name, span });
        }
    }
}
