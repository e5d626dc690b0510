//! Options of COPY by their names in DuckDB, said as options that the parser knows.
//!
//! | written | read |
//! |---|---|
//! | `(DELIM ';', HEADER 1, NULLSTR 'x')` | `(DELIMITER ';', HEADER TRUE, NULL 'x')` |
//! | `(QUOTE '')` | a quote of the character 0, which stands for none |
//! | `(COMPRESSION gzip, ARRAY)` | an `ENCODING` that begins with a mark ([`copy_option`]) |

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{before, closing, is, is_blank, next};

/// Begins an option that the parser does not know.
const MARK: char = '\u{1}';

/// The name and the value of an option that was said as an encoding.
pub(crate) fn copy_option(encoding: &str) -> Option<(&str, &str)> {
    encoding.strip_prefix(MARK)?.split_once('=')
}

/// Says them.
pub(super) fn say_copies(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens[at], Keyword::COPY) {
            let _ = say(&mut tokens, at);
        }
        at += 1;
    }
    tokens
}

fn say(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    let begins = before(tokens, at)
        .is_none_or(|at| tokens[at].token == Token::SemiColon || is(&tokens[at], Keyword::AS));
    if !begins {
        return None;
    }
    let is_end = |token: &TokenWithSpan| matches!(token.token, Token::SemiColon | Token::EOF);
    let end = (at..tokens.len()).find(|at| is_end(&tokens[*at])).unwrap_or(tokens.len());
    let close = before(tokens, end).filter(|at| tokens[*at].token == Token::RParen)?;
    let is_list =
        |open: &usize| tokens[*open].token == Token::LParen && closing(tokens, *open) == Some(close);
    let open = (at..close).find(is_list)?;
    // Behind the name of a file or of a stream.
    let target = before(tokens, open)?;
    let is_target = match &tokens[target].token {
        Token::SingleQuotedString(_) | Token::Placeholder(_) => true,
        Token::Word(word) => {
            matches!(word.keyword, Keyword::WITH | Keyword::STDIN | Keyword::STDOUT)
        }
        _ => false,
    };
    if !is_target {
        return None;
    }
    let mut said = Vec::new();
    for option in split(&tokens[open + 1..close]) {
        if !said.is_empty() {
            said.push(with_span(Token::Comma, &tokens[open]));
        }
        said.extend(known(option));
    }
    tokens.splice(open + 1..close, said);
    Some(())
}

/// What stands between commas, without blanks.
fn split(tokens: &[TokenWithSpan]) -> Vec<Vec<TokenWithSpan>> {
    let (mut all, mut depth) = (vec![Vec::new()], 0);
    for token in tokens.iter().filter(|token| !is_blank(token)) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Comma if depth == 0 => {
                all.push(Vec::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(token.clone());
        }
    }
    all
}

fn with_span(token: Token, of: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token, span: of.span }
}

/// An option as one that the parser knows.
fn known(mut option: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let Some(first) = next(&option, 0) else { return option };
    let Token::Word(word) = &option[first].token else { return option };
    let name = word.value.to_lowercase();
    let value = option.get(1).map(|value| value.token.clone());
    match (name.as_str(), option.len(), value) {
        ("delim" | "sep" | "separator", ..) => option[0].token = Token::make_keyword("DELIMITER"),
        ("nullstr", ..) => option[0].token = Token::make_keyword("NULL"),
        ("header", 2, Some(value)) => {
            if let Some(is) = truth(&value) {
                option[1].token = Token::make_keyword(if is { "TRUE" } else { "FALSE" });
            }
        }
        ("quote" | "escape", 2, Some(Token::SingleQuotedString(text))) if text.is_empty() => {
            option[1].token = Token::SingleQuotedString("\0".to_owned());
        }
        (
            "format" | "freeze" | "delimiter" | "null" | "header" | "quote" | "escape" | "force_quote"
            | "force_not_null" | "force_null" | "encoding",
            ..,
        ) => {}
        (name, ..) => {
            let value = match option.len() {
                1 => "true".to_owned(),
                _ => option[1..].iter().map(|token| text(&token.token)).collect(),
            };
            let said = Token::SingleQuotedString(format!("{MARK}{name}={value}"));
            let encoding = with_span(Token::make_keyword("ENCODING"), &option[0]);
            return vec![encoding, with_span(said, &option[0])];
        }
    }
    option
}

fn text(token: &Token) -> String {
    match token {
        Token::SingleQuotedString(text) => text.clone(),
        Token::Word(word) => word.value.clone(),
        other => other.to_string(),
    }
}

fn truth(token: &Token) -> Option<bool> {
    match text(token).to_lowercase().as_str() {
        "1" | "true" | "on" => Some(true),
        "0" | "false" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    // Keeps away: options of another statement that are changed, and a column that is taken for an option.
    #[test]
    fn only_options_of_copy_are_said_otherwise() {
        let said = |text: &str| {
            let tokens = Tokenizer::new(&crate::parse::DIALECT, text).tokenize_with_location().unwrap();
            let said = say_copies(tokens);
            let words = said.iter().filter(|token| !is_blank(token)).map(|token| token.token.to_string());
            words.collect::<Vec<_>>().join(" ")
        };
        for (written, meant) in [
            ("COPY t TO 'f' (DELIM ';', HEADER 0)", "COPY t TO 'f' ( DELIMITER ';' , HEADER FALSE )"),
            ("COPY t (sep, array) FROM 'f'", "COPY t ( sep , array ) FROM 'f'"),
            (
                "COPY (SELECT 1) TO STDOUT WITH (ARRAY)",
                "COPY ( SELECT 1 ) TO STDOUT WITH ( ENCODING '\u{1}array=true' )",
            ),
            ("SELECT copy (sep)", "SELECT copy ( sep )"),
            ("COPY t TO 'f' (COMPRESSION 'gzip')", "COPY t TO 'f' ( ENCODING '\u{1}compression=gzip' )"),
        ] {
            assert_eq!(said(written), meant);
        }
    }
}
