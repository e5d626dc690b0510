//! `STRUCT(a INTEGER, b TEXT)`, also `ROW(…)`, as the parser knows it: `STRUCT<a INTEGER, b TEXT>`.
//!
//! `struct(a, b)` is a function, too. A type stands behind `::`, behind AS, behind the name of a column or of a field, or within a MAP.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// Words behind which a function may stand.
const BEFORE_FUNCTIONS: &[Keyword] = &[
    Keyword::ALL,
    Keyword::AND,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::CASE,
    Keyword::DEFAULT,
    Keyword::DISTINCT,
    Keyword::ELSE,
    Keyword::EXCEPT,
    Keyword::FROM,
    Keyword::HAVING,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::INTERSECT,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::NOT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::QUALIFY,
    Keyword::RETURNING,
    Keyword::SELECT,
    Keyword::SET,
    Keyword::THEN,
    Keyword::UNION,
    Keyword::USING,
    Keyword::VALUES,
    Keyword::WHEN,
    Keyword::WHERE,
];

/// Angle brackets around the fields of types of structs.
pub(super) fn say_struct_types(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let seen: Vec<usize> =
        (0..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_))).collect();
    let is_struct = |at: usize| {
        matches!(&tokens[at].token, Token::Word(word)
            if word.quote_style.is_none() && matches!(word.keyword, Keyword::STRUCT | Keyword::ROW))
    };
    if !seen.iter().any(|at| is_struct(*at)) {
        return tokens;
    }
    // For each parenthesis that is open: the nth token that opens it, and whether types stand within.
    let mut open: Vec<(usize, Within)> = Vec::new();
    let mut brackets = Vec::new();
    for (nth, &at) in seen.iter().enumerate() {
        match &tokens[at].token {
            Token::LParen => {
                let within =
                    within(&tokens, &seen, nth, open.last().map_or(Within::Others, |(_, within)| *within));
                open.push((nth, within));
            }
            Token::RParen => {
                if let Some((begin, Within::Fields)) = open.pop() {
                    brackets.push((seen[begin], at));
                }
            }
            _ => {}
        }
    }
    for (begin, end) in brackets {
        tokens[begin].token = Token::Lt;
        tokens[end].token = Token::Gt;
        // `ROW(…)` is a struct.
        if let Some(before) =
            tokens[..begin].iter().rposition(|token| !matches!(token.token, Token::Whitespace(_)))
        {
            tokens[before].token = Token::make_keyword("STRUCT");
        }
    }
    tokens
}

/// What stands within a parenthesis.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    /// The fields of a struct.
    Fields,
    /// The types of a map.
    Types,
    Others,
}

fn within(tokens: &[TokenWithSpan], seen: &[usize], paren: usize, outer: Within) -> Within {
    let token = |nth: usize| &tokens[seen[nth]].token;
    let Some(name) = paren.checked_sub(1) else { return Within::Others };
    let Token::Word(word) = token(name) else { return Within::Others };
    if word.quote_style.is_some() || !matches!(word.keyword, Keyword::STRUCT | Keyword::ROW | Keyword::MAP) {
        return Within::Others;
    }
    let is_type = match name.checked_sub(1).map(token) {
        Some(Token::DoubleColon) => true,
        Some(Token::Word(before)) => {
            before.quote_style.is_some() || !BEFORE_FUNCTIONS.contains(&before.keyword)
        }
        // The first type of a map, or its second.
        Some(Token::LParen | Token::Comma) => outer == Within::Types,
        _ => false,
    };
    match (is_type, word.keyword) {
        (false, _) => Within::Others,
        (true, Keyword::MAP) => Within::Types,
        (true, _) => Within::Fields,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::parser::Parser;

    use crate::parse::{DIALECT, parse};

    /// Keeps away: functions that are taken for types, and types for functions.
    #[test]
    fn types_are_told_from_functions() {
        let read =
            |text: &str| format!("{:?}", parse(text).unwrap_or_else(|error| panic!("{text}: {error}")));
        for text in [
            "create table t (a struct(x integer, \"y z\" struct(v text[])[]), b int)",
            "select x::struct(a integer), cast(y as row(b map(text, struct(c text))))",
            "select x::map(struct(a integer), struct(b text)[])",
            "alter table t add column s struct(a integer)",
        ] {
            let read = read(text);
            assert!(read.contains("Struct("), "{read}");
        }
        for text in [
            "select struct(a, b), struct(1) from t where struct(a) = struct(b)",
            "select row(a, row(b)) from t",
        ] {
            assert!(!read(text).contains("Struct("), "{text}");
        }
        assert!(Parser::new(&DIALECT).try_with_sql("select struct(a)").is_ok());
    }
}
