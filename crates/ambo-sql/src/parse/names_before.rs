//! Names before what they are given to, `SELECT total: a + b FROM t: orders`, in tokens that the parser knows: `a + b AS total`, `orders AS
//! t`.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Whitespace},
};

use super::tokens::{before, is};

/// What ends an item of a list.
const LIST_ENDS: [Keyword; 14] = [
    Keyword::EXCEPT,
    Keyword::FETCH,
    Keyword::FROM,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::INTERSECT,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::ORDER,
    Keyword::QUALIFY,
    Keyword::UNION,
    Keyword::USING,
    Keyword::WHERE,
    Keyword::WINDOW,
];

/// What ends a table of FROM besides.
const TABLE_ENDS: [Keyword; 12] = [
    Keyword::ANTI,
    Keyword::ASOF,
    Keyword::CROSS,
    Keyword::FULL,
    Keyword::INNER,
    Keyword::JOIN,
    Keyword::LEFT,
    Keyword::NATURAL,
    Keyword::ON,
    Keyword::RIGHT,
    Keyword::SEMI,
    Keyword::TABLESAMPLE,
];

/// Says them.
pub(super) fn say_names_before(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].token == Token::Colon {
            say_name(&mut tokens, at);
        }
        at += 1;
    }
    tokens
}

fn say_name(tokens: &mut Vec<TokenWithSpan>, colon: usize) -> Option<()> {
    let place = before(tokens, colon)?;
    let name = match &tokens[place].token {
        name @ Token::Word(_) => name.clone(),
        Token::SingleQuotedString(name) => Token::make_word(name, Some('"')),
        _ => return None,
    };
    let in_from = is_in_from(tokens, place)?;
    let end = end(tokens, colon + 1, in_from);
    let span = tokens[place].span;
    let token = |token| TokenWithSpan { token, span };
    let blank = || Token::Whitespace(Whitespace::Space);
    tokens.splice(end..end, [blank(), Token::make_keyword("AS"), blank(), name, blank()].map(token));
    tokens.drain(place..=colon);
    Some(())
}

/// Whether a name begins a table of FROM, or an item of the list of a SELECT; `None` if neither.
fn is_in_from(tokens: &[TokenWithSpan], name: usize) -> Option<bool> {
    let first = before(tokens, name)?;
    let of_list =
        [Keyword::SELECT, Keyword::DISTINCT, Keyword::ALL].iter().any(|word| is(&tokens[first], *word));
    if of_list || is(&tokens[first], Keyword::FROM) || is(&tokens[first], Keyword::JOIN) {
        return Some(!of_list);
    }
    if tokens[first].token != Token::Comma {
        return None;
    }
    let mut depth = 0;
    for token in tokens[..first].iter().rev() {
        match token.token {
            Token::RParen | Token::RBracket | Token::RBrace => depth += 1,
            Token::LParen | Token::LBracket | Token::LBrace if depth == 0 => return None,
            Token::LParen | Token::LBracket | Token::LBrace => depth -= 1,
            _ if depth == 0 && is(token, Keyword::SELECT) => return Some(false),
            _ if depth == 0 && is(token, Keyword::FROM) => return Some(true),
            _ => {}
        }
    }
    None
}

/// Where what is named ends.
fn end(tokens: &[TokenWithSpan], begin: usize, in_from: bool) -> usize {
    let mut depth = 0;
    let is_end = |token: &TokenWithSpan| {
        LIST_ENDS.iter().any(|word| is(token, *word))
            || in_from && TABLE_ENDS.iter().any(|word| is(token, *word))
    };
    for (at, token) in tokens.iter().enumerate().skip(begin) {
        match token.token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace if depth == 0 => return at,
            Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
            Token::Comma | Token::SemiColon | Token::EOF if depth == 0 => return at,
            _ if depth == 0 && is_end(token) => return at,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    /// Keeps away: a colon of a lambda, of a struct or of a slice that is taken for one behind a name.
    #[test]
    fn colons_are_told_apart() {
        for (text, meant) in [
            ("select a: 1, b:f(c, 2) from t: u, v", "select 1 AS a , f(c, 2) AS b  from u AS t , v"),
            ("select 'x y': left(a, 1)", "select left(a, 1) AS \"x y\" "),
            (
                "select {a: 1, b: 2}, l[1:2], f(l, lambda x, y: x)",
                "select {a: 1, b: 2}, l[1:2], f(l, lambda x, y: x)",
            ),
        ] {
            let tokens = super::super::tokens(text).unwrap();
            let said: String = tokens.iter().map(|token| token.token.to_string()).collect();
            let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(plain(&said), plain(meant), "{text}");
        }
    }
}
