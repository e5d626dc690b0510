//! Statements that give something another name: `ALTER INDEX a RENAME TO b`, `ALTER SEQUENCE a RENAME TO b`, `ALTER TABLE t RENAME
//! CONSTRAINT a TO b`. And ALTER SEQUENCE otherwise, whose parts are those of CREATE SEQUENCE.

use datafusion::sql::sqlparser::{
    ast::{Expr, Ident, ObjectName},
    keywords::Keyword,
    parser::{Parser, ParserError},
};

use super::{
    Statement,
    sequences::{SequenceParts, sequence_parts},
    words,
};

/// What gets another name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Renamed {
    Index,
    Sequence,
}

/// What is said of a sequence that is there.
#[derive(Clone, Debug)]
pub(crate) struct AlterSequence {
    pub name: ObjectName,
    pub if_exists: bool,
    pub parts: SequenceParts,
    /// RESTART, with a number or where it started.
    pub restart: Option<Option<Expr>>,
}

/// One of these statements, behind ALTER.
pub(super) fn statement(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    parser.expect_keyword(Keyword::ALTER)?;
    if parser.parse_keyword(Keyword::TABLE) {
        return constraint(parser);
    }
    let what = match parser.expect_one_of_keywords(&[Keyword::INDEX, Keyword::SEQUENCE])? {
        Keyword::INDEX => Renamed::Index,
        _ => Renamed::Sequence,
    };
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    if what == Renamed::Index || parser.peek_keyword(Keyword::RENAME) {
        parser.expect_keywords(&[Keyword::RENAME, Keyword::TO])?;
        return Ok(Statement::Rename { what, name, if_exists, to: parser.parse_object_name(false)? });
    }
    let (mut parts, mut restart) = (SequenceParts::default(), None);
    loop {
        if words(parser, &["RESTART"]) {
            let with = parser.parse_keyword(Keyword::WITH);
            let is_number = with || super::sequences::is_number(parser);
            restart = Some(is_number.then(|| parser.parse_expr()).transpose()?);
        } else if !sequence_parts(parser, &mut parts)? {
            break;
        }
    }
    if restart.is_none() && parts.is_empty() {
        return parser.expected("RESTART, INCREMENT BY or another part of a sequence", parser.peek_token());
    }
    Ok(Statement::AlterSequence(Box::new(AlterSequence { name, if_exists, parts, restart })))
}

fn constraint(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = parser.parse_keyword(Keyword::ONLY);
    let table = parser.parse_object_name(false)?;
    parser.expect_keywords(&[Keyword::RENAME, Keyword::CONSTRAINT])?;
    let from: Ident = parser.parse_identifier()?;
    parser.expect_keyword(Keyword::TO)?;
    Ok(Statement::RenameConstraint { table, if_exists, from, to: parser.parse_identifier()? })
}
