//! CREATE SEQUENCE, whose parts stand in any order.

use datafusion::sql::sqlparser::{
    ast::{DataType, ObjectName, SequenceOptions},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

/// What a sequence is to be.
#[derive(Clone, Debug)]
pub(crate) struct CreateSequence {
    pub name: ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub temporary: bool,
    pub parts: SequenceParts,
}

/// What is said of a sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct SequenceParts {
    pub data_type: Option<DataType>,
    pub options: Vec<SequenceOptions>,
    /// The column with which it is to go.
    pub owned_by: Option<ObjectName>,
    /// Whether it is to go with none.
    pub is_free: bool,
}

impl SequenceParts {
    pub fn is_empty(&self) -> bool {
        self.data_type.is_none() && self.options.is_empty() && self.owned_by.is_none() && !self.is_free
    }
}

pub(super) fn create_sequence(parser: &mut Parser<'_>) -> Result<CreateSequence, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    parser.expect_keyword(Keyword::SEQUENCE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let mut parts = SequenceParts::default();
    while sequence_parts(parser, &mut parts)? {}
    Ok(CreateSequence { name, or_replace, if_not_exists, temporary, parts })
}

/// Takes the next part, if there is one.
pub(super) fn sequence_parts(
    parser: &mut Parser<'_>,
    parts: &mut SequenceParts,
) -> Result<bool, ParserError> {
    let keyword = parser.parse_one_of_keywords(&[
        Keyword::AS,
        Keyword::INCREMENT,
        Keyword::MINVALUE,
        Keyword::MAXVALUE,
        Keyword::START,
        Keyword::CACHE,
        Keyword::CYCLE,
        Keyword::NO,
        Keyword::OWNED,
    ]);
    let Some(keyword) = keyword else { return Ok(false) };
    parts.options.push(match keyword {
        Keyword::AS => {
            parts.data_type = Some(parser.parse_data_type()?);
            return Ok(true);
        }
        Keyword::INCREMENT => {
            let by = parser.parse_keyword(Keyword::BY);
            SequenceOptions::IncrementBy(parser.parse_expr()?, by)
        }
        Keyword::MINVALUE => SequenceOptions::MinValue(Some(parser.parse_expr()?)),
        Keyword::MAXVALUE => SequenceOptions::MaxValue(Some(parser.parse_expr()?)),
        Keyword::START => {
            let with = parser.parse_keyword(Keyword::WITH);
            SequenceOptions::StartWith(parser.parse_expr()?, with)
        }
        Keyword::CACHE => SequenceOptions::Cache(parser.parse_expr()?),
        Keyword::CYCLE => SequenceOptions::Cycle(false),
        Keyword::OWNED => {
            parser.expect_keyword(Keyword::BY)?;
            match parser.parse_keyword(Keyword::NONE) {
                true => parts.is_free = true,
                false => parts.owned_by = Some(parser.parse_object_name(false)?),
            }
            return Ok(true);
        }
        _ => match parser.expect_one_of_keywords(&[Keyword::MINVALUE, Keyword::MAXVALUE, Keyword::CYCLE])? {
            Keyword::MINVALUE => SequenceOptions::MinValue(None),
            Keyword::MAXVALUE => SequenceOptions::MaxValue(None),
            _ => SequenceOptions::Cycle(true),
        },
    });
    Ok(true)
}

/// Whether a number comes next.
pub(super) fn is_number(parser: &Parser<'_>) -> bool {
    matches!(parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus)
}
