//! DESCRIBE of a query and SUMMARIZE, as statements and in FROM, as SELECTs with a mark: `SELECT "␁describe" FROM (SELECT …)`.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{is, is_blank};

/// Stand for the list of a SELECT that describes its table.
pub(crate) const DESCRIBE: &str = "\u{1}describe";
pub(crate) const SUMMARIZE: &str = "\u{1}summarize";

/// Says them.
pub(super) fn say_descriptions(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if let Some(word) = word(&tokens[at]) {
            let _ = say(&mut tokens, at, word);
        }
        at += 1;
    }
    tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Describe,
    Show,
    Summarize,
}

fn word(token: &TokenWithSpan) -> Option<Word> {
    let Token::Word(word) = &token.token else { return None };
    match word.value.to_ascii_lowercase().as_str() {
        _ if word.quote_style.is_some() => None,
        "describe" | "desc" => Some(Word::Describe),
        "show" => Some(Word::Show),
        "summarize" => Some(Word::Summarize),
        _ => None,
    }
}

fn say(tokens: &mut Vec<TokenWithSpan>, at: usize, word: Word) -> Option<()> {
    const QUERIES: [Keyword; 5] =
        [Keyword::SELECT, Keyword::FROM, Keyword::WITH, Keyword::VALUES, Keyword::PIVOT];
    let before = tokens[..at].iter().rev().find(|token| !is_blank(token)).map(|token| &token.token);
    let is_inner = before == Some(&Token::LParen);
    if !is_inner && !matches!(before, None | Some(Token::SemiColon)) {
        return None;
    }
    let next = (at + 1..tokens.len()).find(|&at| !is_blank(&tokens[at]))?;
    let is_query =
        tokens[next].token == Token::LParen || QUERIES.iter().any(|query| is(&tokens[next], *query));
    let is_name = matches!(tokens[next].token, Token::Word(_) | Token::SingleQuotedString(_)) && !is_query;
    // Of a table the statement DESCRIBE tells more; SHOW is about many things.
    let is_ours = match word {
        Word::Describe => is_query || is_inner && is_name,
        Word::Show => is_inner && is_query,
        Word::Summarize => is_query || is_name,
    };
    if !is_ours {
        return None;
    }
    let mut depth = 0usize;
    let end = (next..tokens.len()).find(|&at| match tokens[at].token {
        Token::LParen => {
            depth += 1;
            false
        }
        Token::RParen if depth == 0 => true,
        Token::RParen => {
            depth -= 1;
            false
        }
        Token::SemiColon | Token::EOF => depth == 0,
        _ => false,
    });
    let end = end.unwrap_or(tokens.len());
    let span = tokens[at].span;
    let token = |token| TokenWithSpan { token, span };
    let mark = if word == Word::Summarize { SUMMARIZE } else { DESCRIBE };
    if is_query {
        tokens.insert(end, token(Token::RParen));
    }
    let mut instead =
        vec![Token::make_keyword("SELECT"), Token::make_word(mark, Some('"')), Token::make_keyword("FROM")];
    if is_query {
        instead.push(Token::LParen);
    }
    tokens.splice(at..=at, instead.into_iter().map(token));
    Some(())
}
