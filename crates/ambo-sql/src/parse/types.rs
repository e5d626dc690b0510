//! CREATE TYPE, and the text of a type.
//!
//! ```text
//! CREATE [OR REPLACE] TYPE [IF NOT EXISTS] name AS { ENUM ('a', …) | ENUM (query) | type }
//! ```

use datafusion::sql::sqlparser::{
    ast::{DataType, ObjectName, Query},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use super::{depth, parser, tokens};
use crate::Result;

/// A type, with what it is called.
#[derive(Clone, Debug)]
pub(crate) struct CreateType {
    pub name: ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub temporary: bool,
    pub body: TypeBody,
}

/// What a type is.
#[derive(Clone, Debug)]
pub(crate) enum TypeBody {
    /// As another, or an enum.
    Type(DataType),
    /// An enum whose labels are the rows of a query.
    Labels(Box<Query>),
}

pub(super) fn create_type(parser: &mut Parser<'_>) -> Result<CreateType, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    parser.expect_keyword(Keyword::TYPE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_keyword(Keyword::AS)?;
    let is_query = |parser: &Parser<'_>| {
        let [first, open, next] = [0, 1, 2].map(|nth| &parser.peek_nth_token_ref(nth).token);
        let begins = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::FROM];
        is_word(first, &[Keyword::ENUM])
            && *open == Token::LParen
            && (is_word(next, &begins) || *next == Token::LParen)
    };
    let body = match is_query(parser) {
        true => {
            parser.advance_token();
            parser.expect_token(&Token::LParen)?;
            let query = parser.parse_query()?;
            parser.expect_token(&Token::RParen)?;
            TypeBody::Labels(query)
        }
        false => TypeBody::Type(parser.parse_data_type()?),
    };
    Ok(CreateType { name, or_replace, if_not_exists, temporary, body })
}

fn is_word(token: &Token, wanted: &[Keyword]) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_none() && wanted.contains(&word.keyword),
        _ => false,
    }
}

/// The type that a text is.
///
/// # Errors
/// [`crate::ErrorKind::Syntax`] with the place.
pub(crate) fn parse_type(text: &str) -> Result<DataType> {
    let tokens = tokens(&format!("x::{text}"))?;
    depth::with_stack(depth::bound(&tokens), || {
        let mut parser = parser(tokens);
        parser.advance_token();
        parser.expect_token(&Token::DoubleColon)?;
        let ty = parser.parse_data_type()?;
        parser.expect_token(&Token::EOF)?;
        Ok(ty)
    })
}
