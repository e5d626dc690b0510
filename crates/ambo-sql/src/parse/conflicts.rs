//! `ON CONFLICT (lower(a), b)`: the parser has columns alone there. An expression is said as a name that begins with a mark
//! ([`conflict_expression`]).

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{closing, is, next};

/// Begins the name that an expression is said as.
const MARK: char = '\u{1}';

/// The text of the expression that was said as a name.
pub(crate) fn conflict_expression(name: &str) -> Option<&str> {
    name.strip_prefix(MARK)
}

/// Says expressions behind ON CONFLICT.
pub(super) fn say_conflicts(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at], Keyword::CONFLICT) {
            let _ = say(&mut tokens, at);
        }
        at += 1;
    }
    tokens
}

fn say(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    let open = next(tokens, at + 1).filter(|open| tokens[*open].token == Token::LParen)?;
    let close = closing(tokens, open)?;
    let (mut parts, mut depth) = (vec![String::new()], 0);
    let mut is_plain = true;
    for token in &tokens[open + 1..close] {
        match &token.token {
            Token::Comma if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            Token::LParen => (depth, is_plain) = (depth + 1, false),
            Token::RParen => depth -= 1,
            Token::Word(_) | Token::Whitespace(_) => {}
            _ => is_plain = false,
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(&token.token.to_string());
        }
    }
    if is_plain {
        return None;
    }
    let is_name = |part: &str| {
        let bare = part.trim();
        bare.starts_with('"') && bare.ends_with('"') || bare.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let mut said = Vec::with_capacity(2 * parts.len());
    for part in &parts {
        if !said.is_empty() {
            said.push(Token::Comma);
        }
        said.push(match (is_name(part), part.trim()) {
            (true, quoted) if quoted.starts_with('"') => {
                Token::make_word(quoted.trim_matches('"'), Some('"'))
            }
            (true, name) => Token::make_word(name, None),
            (false, expr) => Token::make_word(&format!("{MARK}{expr}"), Some('"')),
        });
    }
    let span = tokens[open].span;
    tokens.splice(open + 1..close, said.into_iter().map(|token| TokenWithSpan { token, span }));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    // Keeps away: names that become expressions, and another list behind the word.
    #[test]
    fn only_expressions_are_said_otherwise() {
        let said = |text: &str| {
            let tokens = Tokenizer::new(&crate::parse::DIALECT, text).tokenize_with_location().unwrap();
            say_conflicts(tokens).iter().map(|token| token.token.to_string()).collect::<String>()
        };
        for (written, meant) in [
            ("ON CONFLICT (a, b) DO NOTHING", "ON CONFLICT (a, b) DO NOTHING"),
            ("ON CONFLICT DO NOTHING", "ON CONFLICT DO NOTHING"),
            ("ON CONFLICT (lower(a), b)", "ON CONFLICT (\"\u{1}lower(a)\",b)"),
            ("ON CONFLICT (\"B b\", (a + 1))", "ON CONFLICT (\"B b\",\"\u{1}(a + 1)\")"),
        ] {
            assert_eq!(said(written), meant);
        }
    }
}
