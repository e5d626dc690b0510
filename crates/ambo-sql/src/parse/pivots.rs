//! PIVOT and UNPIVOT, as statements and behind tables, as SELECTs with marks.
//!
//! The parser knows one form of each behind a table, without GROUP BY and with one column. All become
//!
//! * `SELECT "␁pivot", sum(x) AS s, "␁on", year IN (SELECT "␁values", 2000 AS a, 2010) FROM t GROUP BY k`
//! * `SELECT "␁unpivot", name, value, "␁on", jan, feb FROM t`
//!
//! and are said by what they mean where the columns of t are known.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::tokens::{begins_query, is, is_blank, next};

/// Begin the list of a SELECT that was a PIVOT or an UNPIVOT.
pub(crate) const PIVOT: &str = "\u{1}pivot";
pub(crate) const UNPIVOT: &str = "\u{1}unpivot";
/// Follows [`UNPIVOT`] where rows of NULLs are kept.
pub(crate) const WITH_NULLS: &str = "\u{1}nulls";
/// Stands before the columns that are turned.
pub(crate) const ON: &str = "\u{1}on";
/// Begins the list of the values that become columns.
pub(crate) const VALUES: &str = "\u{1}values";

/// Says all of them as SELECTs.
pub(super) fn say_pivots(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut from = 0;
    while let Some(at) = (from..tokens.len()).find(|&at| is_pivot(&tokens[at])) {
        from = at + 1;
        let said = match is_statement(&tokens, at) {
            true => statement(&tokens, at),
            false => behind_table(&tokens, at),
        };
        if let Some((range, instead)) = said {
            from = range.start;
            tokens.splice(range, instead);
        }
    }
    tokens
}

fn is_pivot(token: &TokenWithSpan) -> bool {
    is(token, Keyword::PIVOT) || is(token, Keyword::UNPIVOT)
}

/// Whether a query begins there.
fn is_statement(tokens: &[TokenWithSpan], at: usize) -> bool {
    let before = tokens[..at].iter().rev().find(|token| !is_blank(token));
    let Some(next) = next(tokens, at + 1) else { return false };
    match before {
        Some(before) if before.token == Token::RParen => match tokens[next].token {
            // Behind the tables of WITH.
            Token::LParen => next_is_query(tokens, next + 1),
            _ => !is(&tokens[next], Keyword::INCLUDE) && !is(&tokens[next], Keyword::EXCLUDE),
        },
        Some(before) if is(before, Keyword::DESCRIBE) || is(before, Keyword::SHOW) => true,
        before => begins_query(before),
    }
}

fn next_is_query(tokens: &[TokenWithSpan], from: usize) -> bool {
    const BEGIN: [Keyword; 5] =
        [Keyword::SELECT, Keyword::FROM, Keyword::WITH, Keyword::VALUES, Keyword::TABLE];
    next(tokens, from).is_some_and(|at| BEGIN.iter().any(|word| is(&tokens[at], *word)))
}

/// Where what begins there ends: at the parenthesis around, at a word between queries, or with the statement.
fn end_of_query(tokens: &[TokenWithSpan], from: usize) -> usize {
    const BETWEEN: [Keyword; 3] = [Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT];
    outermost(tokens, from..tokens.len(), |token| {
        matches!(token.token, Token::RParen | Token::SemiColon | Token::EOF)
            || BETWEEN.iter().any(|word| is(token, *word))
    })
    .unwrap_or(tokens.len())
}

/// The first token outside of parentheses that is wanted. One that closes what was not opened is outside, too.
fn outermost(
    tokens: &[TokenWithSpan],
    range: std::ops::Range<usize>,
    wanted: impl Fn(&TokenWithSpan) -> bool,
) -> Option<usize> {
    let mut depth = 0usize;
    for at in range {
        if depth == 0 && wanted(&tokens[at]) {
            return Some(at);
        }
        match tokens[at].token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace if depth == 0 => return None,
            Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Tokens of ours, at the place of one that was there.
struct Saying<'t> {
    tokens: &'t [TokenWithSpan],
    at: usize,
    said: Vec<TokenWithSpan>,
}

impl Saying<'_> {
    fn say(&mut self, token: Token) {
        let blank = Token::Whitespace(datafusion::sql::sqlparser::tokenizer::Whitespace::Space);
        let span = self.tokens[self.at].span;
        self.said.extend([blank, token].map(|token| TokenWithSpan { token, span }));
    }

    fn word(&mut self, keyword: &str) {
        self.say(Token::make_keyword(keyword));
    }

    fn mark(&mut self, mark: &str) {
        self.say(Token::make_word(mark, Some('"')));
    }

    fn copy(&mut self, range: std::ops::Range<usize>) {
        self.say(Token::Whitespace(datafusion::sql::sqlparser::tokenizer::Whitespace::Space));
        self.said.extend_from_slice(&self.tokens[range]);
    }

    /// What is turned into columns: `a, b IN (1, 2 AS two)`.
    fn turned(&mut self, range: std::ops::Range<usize>) {
        let mut depth = 0usize;
        self.say(Token::Whitespace(datafusion::sql::sqlparser::tokenizer::Whitespace::Space));
        for at in range {
            let token = &self.tokens[at];
            self.said.push(token.clone());
            match token.token {
                Token::LParen => {
                    let before = self.tokens[..at].iter().rev().find(|token| !is_blank(token));
                    let is_list = depth == 0 && before.is_some_and(|before| is(before, Keyword::IN));
                    depth += 1;
                    if is_list && !next_is_query(self.tokens, at + 1) {
                        self.word("SELECT");
                        self.mark(VALUES);
                        self.say(Token::Comma);
                    }
                }
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

type Said = Option<(std::ops::Range<usize>, Vec<TokenWithSpan>)>;

/// `PIVOT t ON a USING sum(b) GROUP BY c`, `UNPIVOT t ON a, b INTO NAME n VALUE v`.
fn statement(tokens: &[TokenWithSpan], at: usize) -> Said {
    let end = end_of_query(tokens, at + 1);
    let find = |from: usize, words: &[Keyword]| {
        outermost(tokens, from..end, |token| words.iter().any(|word| is(token, *word)))
    };
    const BEHIND: [Keyword; 6] =
        [Keyword::GROUP, Keyword::ORDER, Keyword::LIMIT, Keyword::OFFSET, Keyword::FETCH, Keyword::HAVING];
    let rest = find(at + 1, &BEHIND).unwrap_or(end);
    // A join would have words of its own that are ours here.
    if find(at + 1, &[Keyword::JOIN]).is_some_and(|join| join < rest) {
        return None;
    }
    let on = find(at + 1, &[Keyword::ON]).filter(|on| *on < rest);
    let mut saying = Saying { tokens, at, said: Vec::new() };
    saying.word("SELECT");
    let source_end = if is(&tokens[at], Keyword::PIVOT) {
        let using = find(on.unwrap_or(at) + 1, &[Keyword::USING]).filter(|using| *using < rest);
        let first = on.or(using)?;
        saying.mark(PIVOT);
        if let Some(using) = using {
            saying.say(Token::Comma);
            saying.copy(using + 1..rest);
        }
        if let Some(on) = on {
            saying.say(Token::Comma);
            saying.mark(ON);
            saying.say(Token::Comma);
            saying.turned(on + 1..using.unwrap_or(rest));
        }
        first
    } else {
        let on = on?;
        let into = find(on + 1, &[Keyword::INTO]).filter(|into| *into < rest);
        let nulls =
            outermost(tokens, at + 1..on, |token| is(token, Keyword::INCLUDE) || is(token, Keyword::EXCLUDE));
        saying.mark(UNPIVOT);
        if nulls.is_some_and(|nulls| is(&tokens[nulls], Keyword::INCLUDE)) {
            saying.say(Token::Comma);
            saying.mark(WITH_NULLS);
        }
        saying.say(Token::Comma);
        match into {
            None => {
                saying.mark("name");
                saying.say(Token::Comma);
                saying.mark("value");
            }
            Some(into) => {
                let name = next(tokens, into + 1).filter(|at| is(&tokens[*at], Keyword::NAME))?;
                let word = |wanted: &str| {
                    outermost(
                        tokens,
                        name + 1..rest,
                        |token| matches!(&token.token, Token::Word(word) if word.value.eq_ignore_ascii_case(wanted)),
                    )
                };
                let value = word("value").or_else(|| word("values"))?;
                saying.copy(name + 1..value);
                saying.say(Token::Comma);
                saying.copy(value + 1..rest);
            }
        }
        saying.say(Token::Comma);
        saying.mark(ON);
        saying.say(Token::Comma);
        saying.copy(on + 1..into.unwrap_or(rest));
        nulls.unwrap_or(on)
    };
    saying.word("FROM");
    saying.copy(at + 1..source_end);
    saying.copy(rest..end);
    Some((at..end, saying.said))
}

/// `t PIVOT (sum(b) FOR a IN (1, 2) GROUP BY c)`, `t UNPIVOT (v FOR n IN (a, b))`.
fn behind_table(tokens: &[TokenWithSpan], at: usize) -> Said {
    let is_pivot = is(&tokens[at], Keyword::PIVOT);
    let nulls = next(tokens, at + 1)
        .filter(|&at| is(&tokens[at], Keyword::INCLUDE) || is(&tokens[at], Keyword::EXCLUDE))
        .filter(|_| !is_pivot);
    let behind = match nulls {
        Some(nulls) => next(tokens, nulls + 1).filter(|&at| is(&tokens[at], Keyword::NULLS))? + 1,
        None => at + 1,
    };
    let open = next(tokens, behind).filter(|&at| tokens[at].token == Token::LParen)?;
    let close = outermost(tokens, open + 1..tokens.len(), |token| token.token == Token::RParen)?;
    let turned = outermost(tokens, open + 1..close, |token| is(token, Keyword::FOR))?;
    let begin = begin_of_table(tokens, at)?;
    let mut saying = Saying { tokens, at, said: Vec::new() };
    saying.say(Token::LParen);
    saying.word("SELECT");
    let mut group = close;
    if is_pivot {
        group = outermost(tokens, turned..close, |token| is(token, Keyword::GROUP)).unwrap_or(close);
        saying.mark(PIVOT);
        saying.say(Token::Comma);
        saying.copy(open + 1..turned);
        saying.say(Token::Comma);
        saying.mark(ON);
        for (from, to) in each_turned(tokens, turned + 1, group) {
            saying.say(Token::Comma);
            saying.turned(from..to);
        }
    } else {
        let list = outermost(tokens, turned..close, |token| is(token, Keyword::IN))?;
        let items = next(tokens, list + 1).filter(|&at| tokens[at].token == Token::LParen)?;
        let end = outermost(tokens, items + 1..close, |token| token.token == Token::RParen)?;
        saying.mark(UNPIVOT);
        if nulls.is_some_and(|nulls| is(&tokens[nulls], Keyword::INCLUDE)) {
            saying.say(Token::Comma);
            saying.mark(WITH_NULLS);
        }
        saying.say(Token::Comma);
        saying.copy(turned + 1..list);
        saying.say(Token::Comma);
        // Several values stand in parentheses.
        let values = next(tokens, open + 1)?;
        match tokens[values].token {
            Token::LParen => {
                let end = outermost(tokens, values + 1..turned, |token| token.token == Token::RParen)?;
                saying.copy(values + 1..end);
            }
            _ => saying.copy(open + 1..turned),
        }
        saying.say(Token::Comma);
        saying.mark(ON);
        saying.say(Token::Comma);
        saying.copy(items + 1..end);
    }
    saying.word("FROM");
    saying.copy(begin..at);
    saying.copy(group..close);
    saying.say(Token::RParen);
    Some((begin..close + 1, saying.said))
}

/// What stands behind FOR, one by one: `a IN (1, 2) b IN (3, 4)`, also with FOR between them.
fn each_turned(tokens: &[TokenWithSpan], from: usize, to: usize) -> Vec<(usize, usize)> {
    let (mut all, mut begin, mut depth) = (Vec::new(), from, 0usize);
    let mut is_list = false;
    for at in from..to {
        match tokens[at].token {
            Token::LParen => {
                let before = tokens[..at].iter().rev().find(|token| !is_blank(token));
                is_list |= depth == 0 && before.is_some_and(|before| is(before, Keyword::IN));
                depth += 1;
            }
            Token::RParen => {
                depth = depth.saturating_sub(1);
                if depth == 0 && is_list {
                    all.push((begin, at + 1));
                    (begin, is_list) = (at + 1, false);
                }
            }
            Token::Word(_) if depth == 0 && is(&tokens[at], Keyword::FOR) => begin = at + 1,
            _ => {}
        }
    }
    if next(tokens, begin).is_some_and(|at| at < to) {
        all.push((begin, to));
    }
    all
}

/// Where the table of FROM begins that ends before a token.
fn begin_of_table(tokens: &[TokenWithSpan], end: usize) -> Option<usize> {
    let mut depth = 0usize;
    for at in (0..end).rev() {
        match tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return Some(at + 1),
            Token::LParen => depth -= 1,
            Token::Comma if depth == 0 => return Some(at + 1),
            Token::Word(_)
                if depth == 0 && [Keyword::FROM, Keyword::JOIN].iter().any(|word| is(&tokens[at], *word)) =>
            {
                return Some(at + 1);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let tokens = super::super::tokens(text).unwrap();
        let said = tokens.iter().filter(|token| !is_blank(token));
        said.map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ").replace('\u{1}', "_")
    }

    /// Keeps away: a PIVOT that takes for its own what stands around it.
    #[test]
    fn pivots_are_selects_with_marks() {
        for (text, meant) in [
            (
                "PIVOT t ON y USING sum(a) AS s GROUP BY k ORDER BY k",
                "SELECT \"_pivot\" , sum ( a ) AS s , \"_on\" , y FROM t GROUP BY k ORDER BY k",
            ),
            (
                "WITH c AS (PIVOT t ON y IN (1, 2)) FROM c",
                "WITH c AS ( SELECT \"_pivot\" , \"_on\" , y IN ( SELECT \"_values\" , 1 , 2 ) FROM t ) FROM c",
            ),
            (
                "SELECT * FROM a JOIN t AS u PIVOT (max(x), min(x) FOR y IN (1 AS one) z IN (2) GROUP BY k) AS p ON true",
                "SELECT * FROM a JOIN ( SELECT \"_pivot\" , max ( x ) , min ( x ) , \"_on\" , y IN ( SELECT \"_values\" , 1 AS one ) \
                 , z IN ( SELECT \"_values\" , 2 ) FROM t AS u GROUP BY k ) AS p ON true",
            ),
            (
                "UNPIVOT t ON a, b INTO NAME n VALUE v LIMIT 1",
                "SELECT \"_unpivot\" , n , v , \"_on\" , a , b FROM t LIMIT 1",
            ),
            (
                "FROM t UNPIVOT INCLUDE NULLS ((v, w) FOR n IN ((a, b) AS x))",
                "FROM ( SELECT \"_unpivot\" , \"_nulls\" , n , v , w , \"_on\" , ( a , b ) AS x FROM t )",
            ),
        ] {
            assert_eq!(said(text), meant, "{text}");
        }
        for text in ["SELECT pivot FROM t AS pivot ( a , b )", "SELECT 1 AS pivot , unpivot ( 2 )"] {
            assert_eq!(said(text), text);
        }
    }
}
