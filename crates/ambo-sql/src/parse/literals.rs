//! Literals and operators of PostgreSQL and DuckDB that the parser reads otherwise, in tokens that it reads as they are meant:
//!
//! * `x ISNULL` and `x NOTNULL` are `x IS NULL` and `x IS NOT NULL`, and no names of columns;
//! * texts with a line break between them are one text, as in SQL; without it the second is no name of a column, but an error;
//! * `0x1F`, `0o17` and `0b101` are numbers, `x'1F'` is a blob;
//! * `timestamp_s '…'` is a cast of a text, and `U&'\0061'` a text.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    parser::ParserError,
    tokenizer::{Token, TokenWithSpan, Whitespace},
};

use super::tokens::{before, is, next};

/// Words behind which an operand begins.
const BEFORE_OPERANDS: [Keyword; 36] = [
    Keyword::ADD,
    Keyword::ALL,
    Keyword::AND,
    Keyword::AS,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::CASE,
    Keyword::COLUMN,
    Keyword::DISTINCT,
    Keyword::DROP,
    Keyword::ELSE,
    Keyword::EXCEPT,
    Keyword::EXISTS,
    Keyword::FROM,
    Keyword::HAVING,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::INTERSECT,
    Keyword::INTO,
    Keyword::IS,
    Keyword::JOIN,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::NOT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::RENAME,
    Keyword::RETURNING,
    Keyword::SELECT,
    Keyword::SET,
    Keyword::THEN,
    Keyword::TO,
    Keyword::UNION,
    Keyword::WHEN,
    Keyword::WHERE,
];

/// Says all of them.
///
/// # Errors
/// Two texts one behind the other.
pub(super) fn say_literals(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, ParserError> {
    let mut tokens = numbers(tokens);
    for token in &mut tokens {
        if let Token::UnicodeStringLiteral(text) = &mut token.token {
            token.token = Token::SingleQuotedString(std::mem::take(text));
        }
    }
    let tokens = joined(tokens)?;
    Ok(casts(null_tests(tokens)))
}

/// Whether an operand may end with a token.
fn ends_operand(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(word) => word.quote_style.is_some() || !BEFORE_OPERANDS.contains(&word.keyword),
        Token::RParen
        | Token::RBracket
        | Token::RBrace
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Placeholder(_) => true,
        _ => false,
    }
}

fn null_tests(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let test = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) if word.quote_style.is_some() => None,
        Token::Word(word) if word.value.eq_ignore_ascii_case("isnull") => Some(false),
        Token::Word(word) if word.value.eq_ignore_ascii_case("notnull") => Some(true),
        _ => None,
    };
    if !tokens.iter().any(|token| test(token).is_some()) {
        return tokens;
    }
    let mut said = Vec::with_capacity(tokens.len() + 4);
    for (at, token) in tokens.iter().enumerate() {
        let is_test = before(&tokens, at).is_some_and(|before| ends_operand(&tokens[before]))
            && next(&tokens, at + 1)
                .is_none_or(|next| !matches!(tokens[next].token, Token::LParen | Token::Period));
        match test(token).filter(|_| is_test) {
            Some(is_not) => {
                let words = [Keyword::IS, Keyword::NOT, Keyword::NULL];
                let words = words.into_iter().filter(|word| is_not || *word != Keyword::NOT);
                for word in words {
                    let word = Token::make_keyword(&format!("{word:?}"));
                    let space = Token::Whitespace(Whitespace::Space);
                    said.extend([word, space].map(|of| TokenWithSpan { token: of, span: token.span }));
                }
            }
            None => said.push(token.clone()),
        }
    }
    said
}

/// Texts with a line break between them are one.
fn joined(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, ParserError> {
    let is_text = |token: &TokenWithSpan| matches!(token.token, Token::SingleQuotedString(_));
    let follows = |at: usize| {
        let next = next(&tokens, at + 1)?;
        is_text(&tokens[next]).then_some(next)
    };
    if !(0..tokens.len()).any(|at| is_text(&tokens[at]) && follows(at).is_some()) {
        return Ok(tokens);
    }
    let mut said: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let mut token = tokens[at].clone();
        while let (Token::SingleQuotedString(text), Some(next)) =
            (&token.token, is_text(&tokens[at]).then(|| follows(at)).flatten())
        {
            let has_break = tokens[at].span.end.line < tokens[next].span.start.line;
            let Token::SingleQuotedString(more) = &tokens[next].token else { break };
            if !has_break {
                return Err(ParserError::ParserError(format!(
                    "a text stands behind a text: write || between them, or AS before the name of a column{}",
                    tokens[next].span.start
                )));
            }
            token.token = Token::SingleQuotedString(format!("{text}{more}"));
            at = next;
        }
        said.push(token);
        at += 1;
    }
    Ok(said)
}

/// Numbers of other bases.
fn numbers(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_one = |token: &TokenWithSpan| match &token.token {
        Token::HexStringLiteral(_) => true,
        Token::Number(number, false) => number == "0",
        _ => false,
    };
    if !tokens.iter().any(is_one) {
        return tokens;
    }
    let mut said: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let (number, is_behind) = match (&token.token, said.last()) {
            // Without quotes it is two letters longer than its digits.
            (Token::HexStringLiteral(digits), _)
                if token.span.start.line == token.span.end.line
                    && token.span.end.column - token.span.start.column
                        == digits.chars().count() as u64 + 2 =>
            {
                (u128::from_str_radix(&digits.replace('_', ""), 16).ok(), false)
            }
            (Token::Word(word), Some(zero))
                if word.quote_style.is_none()
                    && matches!(&zero.token, Token::Number(number, false) if number == "0")
                    && zero.span.end == token.span.start =>
            {
                let number = |base: char, radix: u32| {
                    let digits = word.value.strip_prefix([base, base.to_ascii_uppercase()])?;
                    u128::from_str_radix(&digits.replace('_', ""), radix).ok()
                };
                (number('b', 2).or_else(|| number('o', 8)).or_else(|| number('x', 16)), true)
            }
            _ => (None, false),
        };
        let Some(number) = number else {
            said.push(token);
            continue;
        };
        if is_behind {
            said.pop();
        }
        said.push(TokenWithSpan { token: Token::Number(number.to_string(), false), span: token.span });
    }
    said
}

/// The types that the parser reads as names.
const NAMED: [&str; 4] = ["timestamp_s", "timestamp_ms", "timestamp_us", "timestamp_ns"];

fn casts(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_named = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => NAMED.iter().any(|name| word.value.eq_ignore_ascii_case(name)),
        _ => false,
    };
    if !tokens.iter().any(is_named) {
        return tokens;
    }
    let mut said = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let text = next(&tokens, at + 1).filter(|text| {
            is_named(&tokens[at]) && matches!(tokens[*text].token, Token::SingleQuotedString(_))
        });
        let is_value = !before(&tokens, at).is_some_and(|before| is(&tokens[before], Keyword::AS));
        let Some(text) = text.filter(|_| is_value) else {
            said.push(tokens[at].clone());
            at += 1;
            continue;
        };
        let space = || Token::Whitespace(Whitespace::Space);
        let (cast, as_word) = (Token::make_keyword("CAST"), Token::make_keyword("AS"));
        let (value, ty) = (tokens[text].token.clone(), tokens[at].token.clone());
        let all = [cast, Token::LParen, value, space(), as_word, space(), ty, Token::RParen];
        said.extend(all.map(|token| TokenWithSpan { token, span: tokens[at].span }));
        at = text + 1;
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{DIALECT, tokens::is_blank};
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn said(text: &str) -> String {
        let tokens = Tokenizer::new(&DIALECT, text).tokenize_with_location().unwrap();
        match say_literals(tokens) {
            Ok(tokens) => tokens
                .iter()
                .filter(|token| !is_blank(token))
                .map(|token| token.token.to_string() + " ")
                .collect(),
            Err(error) => error.to_string(),
        }
    }

    // Keeps away: a test that becomes the name of a column, and a number that becomes a blob or 0.
    #[test]
    fn literals_are_what_they_are_in_postgresql() {
        for (text, wanted) in [
            ("a isnull", "a IS NULL "),
            ("f(x) NOTNULL, 1", "f ( x ) IS NOT NULL , 1 "),
            ("select isnull(x), t.notnull as isnull", "select isnull ( x ) , t . notnull as isnull "),
            ("0x1F 0b101 0o17 0B1 x'1F'", "31 5 15 1 X'1F' "),
            ("0 b1", "0 b1 "),
            ("'a'\n 'b'", "'ab' "),
            ("timestamp_s '2020-01-01', timestamp_s", "CAST ( '2020-01-01' AS timestamp_s ) , timestamp_s "),
        ] {
            assert_eq!(said(text), wanted, "{text}");
        }
        assert!(said("'a' 'b'").contains("|| between them"));
    }
}
