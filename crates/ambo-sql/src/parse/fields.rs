//! ALTER TABLE of fields of structs, which have names with points:
//!
//! ```text
//! ALTER TABLE [IF EXISTS] t ADD [COLUMN] [IF NOT EXISTS] column.field type [DEFAULT expression]
//! ALTER TABLE [IF EXISTS] t DROP [COLUMN] [IF EXISTS] column.field [CASCADE | RESTRICT]
//! ALTER TABLE [IF EXISTS] t RENAME [COLUMN] column.field TO field
//! ```

use datafusion::sql::sqlparser::{
    ast::{DataType, Expr, Ident, ObjectName},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

/// A field that changes.
#[derive(Clone, Debug)]
pub(crate) struct AlterField {
    pub table: ObjectName,
    pub if_exists: bool,
    /// The column, and the fields from the outermost on.
    pub path: Vec<Ident>,
    pub change: FieldChange,
    /// Whether a field that is there, or is not, is no error.
    pub may_be_done: bool,
}

/// What becomes of it.
#[derive(Clone, Debug)]
pub(crate) enum FieldChange {
    Add(DataType, Option<Box<Expr>>),
    Drop,
    Rename(Ident),
}

pub(super) fn alter_field(parser: &mut Parser<'_>) -> Result<AlterField, ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::TABLE])?;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let table = parser.parse_object_name(false)?;
    let verb = parser.expect_one_of_keywords(&[Keyword::ADD, Keyword::DROP, Keyword::RENAME])?;
    let _ = parser.parse_keyword(Keyword::COLUMN);
    let may_be_done = match verb {
        Keyword::ADD => parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]),
        Keyword::DROP => parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]),
        _ => false,
    };
    let mut path = vec![parser.parse_identifier()?];
    parser.expect_token(&Token::Period)?;
    path.push(parser.parse_identifier()?);
    while parser.consume_token(&Token::Period) {
        path.push(parser.parse_identifier()?);
    }
    let change = match verb {
        Keyword::ADD => {
            let ty = parser.parse_data_type()?;
            let default = parser.parse_keyword(Keyword::DEFAULT).then(|| parser.parse_expr()).transpose()?;
            FieldChange::Add(ty, default.map(Box::new))
        }
        Keyword::DROP => {
            let _ = parser.parse_one_of_keywords(&[Keyword::CASCADE, Keyword::RESTRICT]);
            FieldChange::Drop
        }
        _ => {
            parser.expect_keyword(Keyword::TO)?;
            FieldChange::Rename(parser.parse_identifier()?)
        }
    };
    Ok(AlterField { table, if_exists, path, change, may_be_done })
}
