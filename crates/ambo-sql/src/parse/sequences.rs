//! CREATE SEQUENCE, whose parts stand in any order.

use datafusion::sql::sqlparser::{
    ast::{DataType, ObjectName, SequenceOptions},
    keywords::Keyword,
    parser::{Parser, ParserError},
};

/// What a sequence is to be.
#[derive(Clone, Debug)]
pub(crate) struct CreateSequence {
    pub name: ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub temporary: bool,
    pub data_type: Option<DataType>,
    pub options: Vec<SequenceOptions>,
    /// The column with which it is to go.
    pub owned_by: Option<ObjectName>,
}

pub(super) fn create_sequence(parser: &mut Parser<'_>) -> Result<CreateSequence, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    parser.expect_keyword(Keyword::SEQUENCE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let data_type = parser.parse_keyword(Keyword::AS).then(|| parser.parse_data_type()).transpose()?;
    let (mut options, mut owned_by) = (Vec::new(), None);
    while let Some(keyword) = parser.parse_one_of_keywords(&[
        Keyword::INCREMENT,
        Keyword::MINVALUE,
        Keyword::MAXVALUE,
        Keyword::START,
        Keyword::CACHE,
        Keyword::CYCLE,
        Keyword::NO,
        Keyword::OWNED,
    ]) {
        options.push(match keyword {
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
                if !parser.parse_keyword(Keyword::NONE) {
                    owned_by = Some(parser.parse_object_name(false)?);
                }
                continue;
            }
            _ => match parser.expect_one_of_keywords(&[
                Keyword::MINVALUE,
                Keyword::MAXVALUE,
                Keyword::CYCLE,
            ])? {
                Keyword::MINVALUE => SequenceOptions::MinValue(None),
                Keyword::MAXVALUE => SequenceOptions::MaxValue(None),
                _ => SequenceOptions::Cycle(true),
            },
        });
    }
    Ok(CreateSequence { name, or_replace, if_not_exists, temporary, data_type, options, owned_by })
}
