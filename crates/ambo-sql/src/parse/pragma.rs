//! PRAGMA, whose values may be words: `PRAGMA table_info(t)`, `PRAGMA default_null_order = nulls_first`.

use datafusion::sql::sqlparser::{
    ast::{self, Value},
    parser::{Parser, ParserError},
    tokenizer::{Token, TokenWithSpan},
};

use super::words;

/// The statement, if it comes next.
pub(super) fn pragma(parser: &mut Parser<'_>) -> Result<Option<ast::Statement>, ParserError> {
    if !words(parser, &["PRAGMA"]) {
        return Ok(None);
    }
    let name = parser.parse_object_name(false)?;
    let is_eq = parser.consume_token(&Token::Eq);
    let is_call = !is_eq && parser.consume_token(&Token::LParen);
    if is_call && parser.consume_token(&Token::RParen) || !is_eq && !is_call {
        return Ok(Some(ast::Statement::Pragma { name, value: None, is_eq }));
    }
    let sign = if parser.consume_token(&Token::Minus) { "-" } else { "" };
    let TokenWithSpan { token, span } = parser.next_token();
    let text = match token {
        Token::Number(digits, _) => format!("{sign}{digits}"),
        Token::SingleQuotedString(text) => text,
        Token::Word(word) if is_call && matches!(parser.peek_token_ref().token, Token::Period) => {
            parser.advance_token();
            format!("{}.{}", word.value, parser.parse_identifier()?.value)
        }
        Token::Word(word) => word.value,
        token => return parser.expected("a value", TokenWithSpan { token, span }),
    };
    if is_call {
        parser.expect_token(&Token::RParen)?;
    }
    let value = Some(Value::SingleQuotedString(text).with_span(span));
    Ok(Some(ast::Statement::Pragma { name, value, is_eq }))
}
