//! Queries that begin with FROM: `FROM t WHERE …` is `SELECT * FROM t WHERE …`.
//!
//! The parser reads `FROM t SELECT a`, but not where a value may stand, and takes the WINDOW behind for a name; so the list of SELECT is
//! put before FROM. Where no SELECT follows it takes nothing but the tables, and no columns of them; so SELECT * is put before such a FROM.

use std::{collections::HashMap, ops::Range};

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Whitespace},
};

/// Parentheses within one another from which on nothing is put elsewhere: the parser takes no more.
const DEPTH: usize = 200;

/// Makes queries that begin with FROM begin with SELECT.
pub(super) fn say_select_first(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let changes = Reading::changes(&tokens);
    if changes.is_empty() {
        return tokens;
    }
    let mut said = Vec::with_capacity(tokens.len() + 2 * changes.len());
    say(&tokens, 0..tokens.len(), &changes, &mut said);
    said
}

/// What is done at a FROM.
#[derive(Clone, Copy)]
enum Change {
    /// SELECT * is put before it.
    All,
    /// What stands from `select` to `end` is put before it.
    List { select: usize, end: usize },
}

fn say(
    tokens: &[TokenWithSpan],
    range: Range<usize>,
    changes: &HashMap<usize, Change>,
    said: &mut Vec<TokenWithSpan>,
) {
    let (mut at, mut skipped) = (range.start, None);
    while at < range.end {
        match changes.get(&at).filter(|_| skipped != Some(at)) {
            Some(&Change::List { select, end }) => {
                say(tokens, select..end, changes, said);
                said.push(TokenWithSpan {
                    token: Token::Whitespace(Whitespace::Space),
                    span: tokens[at].span,
                });
                said.push(tokens[at].clone());
                say(tokens, at + 1..select, changes, said);
                at = end;
                continue;
            }
            Some(Change::All) => {
                skipped = Some(at);
                let before = [Token::make_keyword("SELECT"), Token::Mul];
                said.extend(before.map(|token| TokenWithSpan { token, span: tokens[at].span }));
            }
            None => {
                said.push(tokens[at].clone());
                at += 1;
            }
        }
    }
}

/// What the part of a statement began with that is being read.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Lead {
    /// Nothing yet: a query may begin.
    #[default]
    Open,
    /// EXPLAIN or DESCRIBE: a statement may follow its options.
    Explain,
    /// INSERT: a query may follow the table and its columns.
    Insert,
    /// WITH: a query may follow the tables.
    With,
    /// What no query follows.
    Other,
}

/// What stands between two parentheses, or a whole statement.
#[derive(Clone, Copy, Default)]
struct Level {
    lead: Lead,
    /// A FROM that begins a query, as long as no SELECT was seen behind it.
    from: Option<usize>,
    /// Such a FROM, and the SELECT behind it, as long as its list goes on.
    list: Option<(usize, usize)>,
    /// Whether the query has its SELECT: what stands behind AS is a name.
    has_select: bool,
    /// Whether WHERE or the like was seen behind it.
    has_condition: bool,
    /// Whether AS stands before the parenthesis: it may hold a table of WITH.
    is_behind_as: bool,
    /// Whether TRIM stands before the parenthesis: FROM is a part of that.
    is_trim: bool,
    /// Whether the parenthesis that was closed last stood behind AS.
    closed_table: bool,
}

/// What may follow a list of SELECT.
const BEHIND_LISTS: [Keyword; 13] = [
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::QUALIFY,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::INTO,
    Keyword::FOR,
    Keyword::ON,
    Keyword::RETURNING,
];

#[derive(Default)]
struct Reading<'t> {
    changes: HashMap<usize, Change>,
    outer: Vec<Level>,
    level: Level,
    /// The last two tokens that say something, the last first.
    before: [Option<&'t Token>; 2],
}

fn keyword(token: Option<&Token>) -> Keyword {
    match token {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

impl<'t> Reading<'t> {
    /// What is done at each FROM that begins a query.
    fn changes(tokens: &'t [TokenWithSpan]) -> HashMap<usize, Change> {
        let mut reading = Self::default();
        if !tokens.iter().any(|token| keyword(Some(&token.token)) == Keyword::FROM) {
            return reading.changes;
        }
        for (at, TokenWithSpan { token, .. }) in tokens.iter().enumerate() {
            if !matches!(token, Token::Whitespace(_)) {
                reading.read(at, token);
                reading.before = [Some(token), reading.before[0]];
            }
        }
        reading.end_statement(tokens.len());
        reading.changes
    }

    fn read(&mut self, at: usize, token: &Token) {
        match token {
            Token::SemiColon | Token::EOF => self.end_statement(at),
            Token::LParen | Token::LBracket | Token::LBrace => {
                let word = keyword(self.before[0]);
                let inner = Level {
                    is_behind_as: matches!(word, Keyword::AS | Keyword::MATERIALIZED),
                    is_trim: word == Keyword::TRIM,
                    ..Level::default()
                };
                self.outer.push(std::mem::replace(&mut self.level, inner));
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                self.end_query(at);
                let closed_table = self.level.is_behind_as;
                self.level = Level { closed_table, ..self.outer.pop().unwrap_or_default() };
            }
            // The operator of a pipe, behind which SELECT means another thing.
            Token::VerticalBarRightAngleBracket => self.end_query(at),
            Token::Word(word) => self.read_word(at, word.keyword),
            _ if self.level.lead == Lead::Open => self.level.lead = Lead::Other,
            _ => {}
        }
    }

    fn read_word(&mut self, at: usize, word: Keyword) {
        let begins = self.may_begin();
        match word {
            Keyword::FROM if begins => {
                self.level.from = Some(at);
                self.level.has_condition = false;
            }
            Keyword::SELECT => {
                self.level.has_select = true;
                let from = self.level.from.take();
                // Behind a condition stands no list of columns.
                let moves = !self.level.has_condition && self.outer.len() < DEPTH;
                self.level.list = from.filter(|_| moves).map(|from| (from, at));
            }
            Keyword::ON if keyword(self.before[0]) == Keyword::DISTINCT => {}
            // As in SELECT * EXCEPT (a).
            Keyword::EXCEPT if self.before[0] == Some(&Token::Mul) => {}
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => self.end_query(at),
            word if BEHIND_LISTS.contains(&word) => {
                self.end_list(at);
                self.level.has_condition |= !matches!(word, Keyword::ON | Keyword::FOR);
            }
            _ => {}
        }
        self.level.lead = match (word, self.level.lead) {
            (Keyword::EXPLAIN | Keyword::DESCRIBE | Keyword::DESC, Lead::Open) => Lead::Explain,
            (Keyword::INSERT, _) if begins => Lead::Insert,
            (Keyword::WITH, _) if begins => Lead::With,
            (
                Keyword::SELECT
                | Keyword::FROM
                | Keyword::VALUES
                | Keyword::DEFAULT
                | Keyword::SET
                | Keyword::UPDATE
                | Keyword::DELETE
                | Keyword::MERGE
                | Keyword::COPY,
                lead,
            ) if begins || lead == Lead::With => Lead::Other,
            (_, Lead::Open) => Lead::Other,
            (_, lead) => lead,
        };
    }

    /// Whether a query, or what may stand for one, may begin here.
    fn may_begin(&self) -> bool {
        let [last, before] = self.before.map(keyword);
        match self.before[0] {
            None | Some(Token::SemiColon) => return true,
            Some(Token::LParen) => return !self.level.is_trim,
            _ => {}
        }
        const SETS: [Keyword; 3] = [Keyword::UNION, Keyword::EXCEPT, Keyword::INTERSECT];
        match last {
            Keyword::AS => return !self.level.has_select,
            Keyword::ALL | Keyword::DISTINCT if SETS.contains(&before) => return true,
            Keyword::NAME if before == Keyword::BY => return true,
            word if SETS.contains(&word) => return true,
            _ => {}
        }
        match self.level.lead {
            Lead::Explain | Lead::Insert => true,
            Lead::With => self.level.closed_table && self.before[0] == Some(&Token::RParen),
            Lead::Open | Lead::Other => false,
        }
    }

    fn end_query(&mut self, at: usize) {
        self.end_list(at);
        self.level.has_select = false;
        if let Some(from) = self.level.from.take() {
            self.changes.insert(from, Change::All);
        }
    }

    fn end_list(&mut self, at: usize) {
        if let Some((from, select)) = self.level.list.take() {
            self.changes.insert(from, Change::List { select, end: at });
        }
    }

    /// Ends what is open. What stands in parentheses that nothing closes stays as it is.
    fn end_statement(&mut self, at: usize) {
        if self.outer.is_empty() {
            self.end_query(at);
        }
        self.outer.clear();
        self.level = Level::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let tokens = say_select_first(super::super::tokens(text).unwrap());
        let said = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
        said.map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    /// Keeps away: rows without columns for a query that begins with FROM, wherever it stands.
    #[test]
    fn all_columns_are_said_where_from_begins_a_query() {
        for (text, meant) in [
            ("FROM t", "SELECT * FROM t"),
            ("FROM t WHERE a IN (FROM u)", "SELECT * FROM t WHERE a IN ( SELECT * FROM u )"),
            ("FROM t UNION ALL FROM u", "SELECT * FROM t UNION ALL SELECT * FROM u"),
            ("FROM t SELECT a EXCEPT FROM u", "SELECT a FROM t EXCEPT SELECT * FROM u"),
            (
                "INSERT INTO t FROM u SELECT DISTINCT ON (a) a ON CONFLICT DO NOTHING RETURNING a",
                "INSERT INTO t SELECT DISTINCT ON ( a ) a FROM u ON CONFLICT DO NOTHING RETURNING a",
            ),
            (
                "FROM t SELECT sum(a) OVER w WINDOW w AS (ORDER BY b)",
                "SELECT sum ( a ) OVER w FROM t WINDOW w AS ( ORDER BY b )",
            ),
            ("WITH c (x) AS (FROM t) FROM c", "WITH c ( x ) AS ( SELECT * FROM t ) SELECT * FROM c"),
            ("INSERT INTO t (a) FROM u", "INSERT INTO t ( a ) SELECT * FROM u"),
            (
                "INSERT INTO s.t WITH c AS (FROM u) FROM c",
                "INSERT INTO s . t WITH c AS ( SELECT * FROM u ) SELECT * FROM c",
            ),
            ("SELECT 1 AS from, 2 AS from FROM t", "SELECT 1 AS from , 2 AS from FROM t"),
            ("CREATE VIEW v (a) AS FROM t", "CREATE VIEW v ( a ) AS SELECT * FROM t"),
            ("EXPLAIN (ANALYZE) FROM t", "EXPLAIN ( ANALYZE ) SELECT * FROM t"),
            ("EXPLAIN ANALYZE FROM t; FROM u", "EXPLAIN ANALYZE SELECT * FROM t ; SELECT * FROM u"),
            ("COPY (FROM t) TO 'f'", "COPY ( SELECT * FROM t ) TO 'f'"),
            ("PREPARE p (INT) AS FROM t", "PREPARE p ( INT ) AS SELECT * FROM t"),
            ("FROM t |> SELECT a", "SELECT * FROM t |> SELECT a"),
            ("SELECT (FROM t SELECT max(a) WHERE b)", "SELECT ( SELECT max ( a ) FROM t WHERE b )"),
            (
                "SELECT 1 IN (FROM (FROM t SELECT * EXCEPT (a) LIMIT 1) SELECT (FROM u), 2)",
                "SELECT 1 IN ( SELECT ( SELECT * FROM u ) , 2 FROM ( SELECT * EXCLUDE ( a ) FROM t LIMIT 1 ) )",
            ),
            ("SELECT (FROM t SELECT a UNION FROM u)", "SELECT ( SELECT a FROM t UNION SELECT * FROM u )"),
        ] {
            assert_eq!(said(text), meant, "{text}");
        }
    }

    /// Keeps away: SELECT * before a FROM that belongs to something else.
    #[test]
    fn other_froms_stay() {
        for text in [
            "SELECT a FROM t",
            "SELECT ( a ) FROM t",
            "SELECT f ( a ) AS ( b , c ) FROM t",
            "SELECT DISTINCT ON ( a ) a FROM t",
            "SELECT ALL FROM t",
            "SELECT insert , with , explain FROM t",
            "SELECT a IS NOT DISTINCT FROM b , EXTRACT ( YEAR FROM d ) , TRIM ( FROM x ) FROM t",
            "SELECT TRIM ( BOTH ( 'x' ) FROM x ) , SUBSTRING ( x FROM 2 FOR 3 ) FROM t",
            "SELECT x::timestamp WITH TIME ZONE + ( y ) FROM t",
            "DELETE FROM t WHERE a = 1",
            "EXPLAIN DELETE FROM t",
            "WITH c AS ( SELECT 1 ) DELETE FROM t",
            "COPY t ( a , b ) FROM 'f'",
            "SHOW COLUMNS FROM t",
            "UPDATE t SET a = ( 1 ) FROM u",
            "FROM t LIMIT 2 SELECT count ( * )",
        ] {
            assert_eq!(said(text).replace(" :: ", "::"), text);
        }
    }
}
