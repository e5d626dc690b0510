//! ATTACH, DETACH, USE.
//!
//! ```text
//! ATTACH [DATABASE] [IF NOT EXISTS] 'path' [AS name] [(READ_ONLY [true], …)]
//! DETACH [DATABASE] [IF EXISTS] name
//! USE name[.schema]
//! ```

use datafusion::sql::sqlparser::{
    ast::Ident,
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use super::{Statement, words};

/// A database that is to be beside the connection's own.
#[derive(Clone, Debug)]
pub(crate) struct Attach {
    pub path: String,
    pub alias: Option<Ident>,
    pub if_not_exists: bool,
    /// Names, and values in small letters.
    pub options: Vec<(Ident, Option<String>)>,
}

/// One of these statements, if one comes next.
pub(super) fn statement(parser: &mut Parser<'_>) -> Result<Option<Statement>, ParserError> {
    if words(parser, &["ATTACH"]) {
        return attach(parser).map(|attach| Some(Statement::Attach(Box::new(attach))));
    }
    if words(parser, &["DETACH"]) {
        let _ = parser.parse_keyword(Keyword::DATABASE);
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        return Ok(Some(Statement::Detach { name: parser.parse_identifier()?, if_exists }));
    }
    if words(parser, &["USE"]) {
        return Ok(Some(Statement::Use(parser.parse_object_name(false)?)));
    }
    Ok(None)
}

fn attach(parser: &mut Parser<'_>) -> Result<Attach, ParserError> {
    let _ = parser.parse_keyword(Keyword::DATABASE);
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let path = parser.parse_literal_string()?;
    let alias = parser.parse_keyword(Keyword::AS).then(|| parser.parse_identifier()).transpose()?;
    Ok(Attach { path, alias, if_not_exists, options: options(parser)? })
}

/// `(name value, …)`, if it comes next. Values are in small letters.
pub(super) fn options(parser: &mut Parser<'_>) -> Result<Vec<(Ident, Option<String>)>, ParserError> {
    let mut options = Vec::new();
    if parser.consume_token(&Token::LParen) {
        loop {
            let name = parser.parse_identifier()?;
            let _ = parser.consume_token(&Token::Eq);
            let value = match parser.peek_token_ref().token.clone() {
                Token::Comma | Token::RParen => None,
                Token::Word(word) => Some(word.value.to_lowercase()),
                Token::SingleQuotedString(text) => Some(text.to_lowercase()),
                Token::Number(digits, _) => Some(digits),
                _ => return parser.expected("a value", parser.peek_token()),
            };
            if value.is_some() {
                parser.advance_token();
            }
            options.push((name, value));
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
    }
    Ok(options)
}
