//! Words that mean another thing than the parser takes them for.
//!
//! | written | read |
//! |---|---|
//! | `INSERT INTO t BY NAME SELECT …` | `INSERT INTO t ("␁by name") SELECT …` |
//! | `INSERT INTO t BY POSITION SELECT …` | `INSERT INTO t SELECT …` |
//! | `CREATE TABLE t (key INT, …)`, also index | `CREATE TABLE t ("key" INT, …)` |
//! | `x IN ((SELECT …), (SELECT …))` | `x IN (+(SELECT …), (SELECT …))` |
//! | `INTERVAL (2) DAY` | `INTERVAL 2 DAY` |
//! | `MERGE INTO t USING s USING (a) WHEN …` | `MERGE INTO t USING s ON t.a = s.a WHEN …` |

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{before, closing, is, is_blank, next};

/// Stands for the columns of an INSERT that are those of its query.
pub(crate) const BY_NAME: &str = "\u{1}by name";

/// Says them.
pub(super) fn say_words(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        let _ = match &tokens[at].token {
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::BY => by_name(&mut tokens, at),
                Keyword::KEY | Keyword::INDEX => column(&mut tokens, at),
                Keyword::IN => queries(&mut tokens, at),
                Keyword::INTERVAL => number(&mut tokens, at),
                Keyword::USING => common(&mut tokens, at),
                _ => None,
            },
            _ => None,
        };
        at += 1;
    }
    tokens
}

fn by_name(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    let last = next(tokens, at + 1)?;
    let is_name = is(&tokens[last], Keyword::NAME);
    let is_position =
        matches!(&tokens[last].token, Token::Word(word) if word.value.eq_ignore_ascii_case("position"));
    if !is_name && !is_position {
        return None;
    }
    // The name of the table stands between INTO and BY, perhaps with a name for it.
    let mut begin = before(tokens, at)?;
    for _ in 0..8 {
        match &tokens[begin].token {
            Token::Word(word) if word.keyword == Keyword::INTO => {
                let span = tokens[at].span;
                let instead = match is_name {
                    true => vec![Token::LParen, Token::make_word(BY_NAME, Some('"')), Token::RParen],
                    false => Vec::new(),
                };
                tokens.splice(at..=last, instead.into_iter().map(|token| TokenWithSpan { token, span }));
                return Some(());
            }
            Token::Word(_) | Token::Period | Token::DoubleQuotedString(_) => begin = before(tokens, begin)?,
            _ => return None,
        }
    }
    None
}

/// A column called KEY or INDEX: a type follows, and not a list of columns.
fn column(tokens: &mut [TokenWithSpan], at: usize) -> Option<()> {
    let begins = matches!(tokens[before(tokens, at)?].token, Token::LParen | Token::Comma);
    let data_type = next(tokens, at + 1)?;
    let Token::Word(word) = &tokens[data_type].token else { return None };
    let behind = next(tokens, data_type + 1)?;
    let is_type = match tokens[behind].token {
        Token::LParen => matches!(tokens[next(tokens, behind + 1)?].token, Token::Number(..)),
        _ => true,
    };
    if !begins
        || !is_type
        || matches!(word.keyword, Keyword::IN | Keyword::IS | Keyword::AS)
        || !is_create(tokens, at)
    {
        return None;
    }
    let name = tokens[at].token.to_string().to_lowercase();
    tokens[at].token = Token::make_word(&name, Some('"'));
    Some(())
}

/// Whether the columns of a CREATE TABLE stand around.
fn is_create(tokens: &[TokenWithSpan], at: usize) -> bool {
    let mut depth = 0;
    let open = (0..at).rev().find(|&at| {
        match tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    let Some(open) = open else { return false };
    let mut words = tokens[..open].iter().rev().filter(|token| !is_blank(token));
    // The name of the table, IF NOT EXISTS, TABLE.
    words
        .by_ref()
        .take(8)
        .take_while(|token| token.token != Token::SemiColon)
        .any(|token| is(token, Keyword::TABLE))
}

fn queries(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    let outer = next(tokens, at + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let inner = next(tokens, outer + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let first = next(tokens, inner + 1)?;
    let is_query = [Keyword::SELECT, Keyword::WITH, Keyword::FROM, Keyword::VALUES]
        .iter()
        .any(|word| is(&tokens[first], *word));
    let behind = next(tokens, closing(tokens, inner)? + 1)?;
    if !is_query || tokens[behind].token != Token::Comma {
        return None;
    }
    let span = tokens[inner].span;
    tokens.insert(inner, TokenWithSpan { token: Token::Plus, span });
    Some(())
}

/// A number in parentheses would be the digits of a type.
fn number(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    let open = next(tokens, at + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let number = next(tokens, open + 1).filter(|&at| matches!(tokens[at].token, Token::Number(..)))?;
    let close = next(tokens, number + 1).filter(|&at| tokens[at].token == Token::RParen)?;
    next(tokens, close + 1).filter(|&at| matches!(tokens[at].token, Token::Word(_)))?;
    tokens.remove(close);
    tokens.remove(open);
    Some(())
}

/// The columns in common of a MERGE.
fn common(tokens: &mut Vec<TokenWithSpan>, at: usize) -> Option<()> {
    let open = next(tokens, at + 1).filter(|&at| tokens[at].token == Token::LParen)?;
    let close = closing(tokens, open)?;
    next(tokens, close + 1).filter(|&at| is(&tokens[at], Keyword::WHEN))?;
    let first = outer_before(tokens, at, Keyword::USING)?;
    outer_before(tokens, first, Keyword::MERGE)?;
    let (target, source) = (name_before(tokens, first)?, name_before(tokens, at)?);
    let columns: Vec<Token> = tokens[open + 1..close]
        .iter()
        .filter(|token| !is_blank(token) && token.token != Token::Comma)
        .map(|token| token.token.clone())
        .collect();
    if columns.is_empty() || !columns.iter().all(|column| matches!(column, Token::Word(_))) {
        return None;
    }
    let mut condition = vec![Token::make_keyword("ON")];
    for (nth, column) in columns.iter().enumerate() {
        if nth > 0 {
            condition.push(Token::make_keyword("AND"));
        }
        let of = |table: &Token| [table.clone(), Token::Period, column.clone()];
        condition.extend(of(&target).into_iter().chain([Token::Eq]).chain(of(&source)));
    }
    let span = tokens[at].span;
    tokens.splice(at..=close, condition.into_iter().map(|token| TokenWithSpan { token, span }));
    Some(())
}

/// A word of the statement before a token, outside of parentheses.
fn outer_before(tokens: &[TokenWithSpan], at: usize, word: Keyword) -> Option<usize> {
    let mut depth = 0usize;
    for at in (0..at).rev() {
        match tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen => depth = depth.checked_sub(1)?,
            Token::SemiColon => return None,
            _ if depth == 0 && is(&tokens[at], word) => return Some(at),
            _ => {}
        }
    }
    None
}

/// The name of the table that ends before a token: the last word, also of one whose columns are named.
fn name_before(tokens: &[TokenWithSpan], at: usize) -> Option<Token> {
    let last = before(tokens, at)?;
    let name = match tokens[last].token {
        Token::RParen => {
            let open = (0..last)
                .rev()
                .find(|&open| tokens[open].token == Token::LParen && closing(tokens, open) == Some(last))?;
            before(tokens, open)?
        }
        _ => last,
    };
    match &tokens[name].token {
        token @ Token::Word(word) if !matches!(word.keyword, Keyword::USING | Keyword::AS) => {
            Some(token.clone())
        }
        _ => None,
    }
}
