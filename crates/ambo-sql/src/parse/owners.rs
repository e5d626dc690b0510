//! Statements that pg_dump writes behind others: whose something is, and that a column of a table that is there numbers itself.
//!
//! ```text
//! ALTER {TABLE [ONLY] | VIEW | SEQUENCE | TYPE | SCHEMA | FUNCTION | DATABASE} [IF EXISTS] name OWNER TO role
//! ALTER TABLE [ONLY] name ALTER [COLUMN] column ADD GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY [([SEQUENCE NAME name] part …)]
//! ```

use datafusion::sql::sqlparser::{
    ast::{Ident, ObjectName},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

use super::{
    sequences::{SequenceParts, sequence_parts},
    words,
};

/// What gets an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owned {
    /// A table, a view or a sequence: PostgreSQL names all of them by ALTER TABLE.
    Relation,
    Schema,
    /// What nobody owns.
    Other,
}

/// ALTER … OWNER TO.
#[derive(Clone, Debug)]
pub(crate) struct SetOwner {
    pub what: Owned,
    pub tag: &'static str,
    pub name: ObjectName,
    pub if_exists: bool,
    pub role: Ident,
}

/// A column that is to number itself.
#[derive(Clone, Debug)]
pub(crate) struct AddIdentity {
    pub table: ObjectName,
    pub column: Ident,
    pub sequence: Option<ObjectName>,
    pub parts: SequenceParts,
}

const KINDS: [(&str, Owned, &str); 7] = [
    ("TABLE", Owned::Relation, "ALTER TABLE"),
    ("VIEW", Owned::Relation, "ALTER VIEW"),
    ("SEQUENCE", Owned::Relation, "ALTER SEQUENCE"),
    ("TYPE", Owned::Other, "ALTER TYPE"),
    ("SCHEMA", Owned::Schema, "ALTER SCHEMA"),
    ("FUNCTION", Owned::Other, "ALTER FUNCTION"),
    ("DATABASE", Owned::Other, "ALTER DATABASE"),
];

pub(super) fn set_owner(parser: &mut Parser<'_>) -> Result<SetOwner, ParserError> {
    parser.expect_keyword(Keyword::ALTER)?;
    let Some((_, what, tag)) = KINDS.iter().find(|(word, ..)| words(parser, &[word])) else {
        return parser.expected("something that has an owner", parser.peek_token());
    };
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = parser.parse_keyword(Keyword::ONLY);
    let name = parser.parse_object_name(false)?;
    parser.expect_keywords(&[Keyword::OWNER, Keyword::TO])?;
    Ok(SetOwner { what: *what, tag, name, if_exists, role: parser.parse_identifier()? })
}

pub(super) fn add_identity(parser: &mut Parser<'_>) -> Result<AddIdentity, ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::TABLE])?;
    let _ = parser.parse_keyword(Keyword::ONLY);
    let table = parser.parse_object_name(false)?;
    parser.expect_keyword(Keyword::ALTER)?;
    let _ = parser.parse_keyword(Keyword::COLUMN);
    let column = parser.parse_identifier()?;
    parser.expect_keywords(&[Keyword::ADD, Keyword::GENERATED])?;
    if !parser.parse_keyword(Keyword::ALWAYS) {
        parser.expect_keywords(&[Keyword::BY, Keyword::DEFAULT])?;
    }
    parser.expect_keywords(&[Keyword::AS, Keyword::IDENTITY])?;
    let (mut sequence, mut parts) = (None, SequenceParts::default());
    if parser.consume_token(&Token::LParen) {
        loop {
            if words(parser, &["SEQUENCE", "NAME"]) {
                sequence = Some(parser.parse_object_name(false)?);
            } else if !sequence_parts(parser, &mut parts)? {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
    }
    Ok(AddIdentity { table, column, sequence, parts })
}
