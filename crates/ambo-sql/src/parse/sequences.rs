//! CREATE SEQUENCE, whose parts stand in any order.

use datafusion::sql::sqlparser::{
    ast::{self, SequenceOptions},
    keywords::Keyword,
    parser::{Parser, ParserError},
};

pub(super) fn create_sequence(parser: &mut Parser<'_>) -> Result<ast::Statement, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    parser.expect_keyword(Keyword::SEQUENCE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let data_type = parser.parse_keyword(Keyword::AS).then(|| parser.parse_data_type()).transpose()?;
    let (mut sequence_options, mut owned_by) = (Vec::new(), None);
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
        sequence_options.push(match keyword {
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
    Ok(ast::Statement::CreateSequence {
        temporary,
        if_not_exists,
        name,
        data_type,
        sequence_options,
        owned_by,
    })
}
