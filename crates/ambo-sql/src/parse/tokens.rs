//! Forms that the parser does not know, in tokens that it knows.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Whitespace},
};

pub(super) fn is(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.keyword == keyword)
}

/// Whether a token is a blank or a comment.
pub(super) fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// The next token from there on that is no blank.
pub(super) fn next(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|&at| !is_blank(&tokens[at]))
}

/// The last token before that is no blank.
pub(super) fn before(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    (0..at).rev().find(|&at| !is_blank(&tokens[at]))
}

/// The parenthesis that closes one.
pub(super) fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0;
    (open..tokens.len()).find(|&at| {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// `FROM ONLY t` is `FROM t`: no table has others below it. ONLY before what is no name is a name itself.
pub(super) fn without_only(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is(token, Keyword::ONLY)) {
        return tokens;
    }
    let is_left_out = |at: usize| {
        let is_name = |at: usize| match &tokens[at].token {
            Token::Word(word) => word.quote_style.is_some() || !ENDS_FROM.contains(&word.keyword),
            _ => false,
        };
        is(&tokens[at], Keyword::ONLY)
            && before(&tokens, at).is_some_and(|before| is(&tokens[before], Keyword::FROM))
            && next(&tokens, at + 1).is_some_and(is_name)
    };
    let mut left_out: Vec<_> = (0..tokens.len()).filter(|at| is_left_out(*at)).collect();
    while let Some(at) = left_out.pop() {
        tokens.remove(at);
    }
    tokens
}

/// `a OPERATOR(pg_catalog.=) ANY (b)` is `a = ANY (b)`: the parser takes no operator by its name there.
pub(super) fn without_operator_names(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_word = |token: &TokenWithSpan, wanted: &str| matches!(&token.token, Token::Word(word) if word.value.eq_ignore_ascii_case(wanted));
    if !tokens.iter().any(|token| is_word(token, "operator")) {
        return tokens;
    }
    let seen = seen(&tokens);
    let mut named = Vec::new();
    for part in seen.windows(7) {
        let [of, open, schema, dot, _, close, then] = part else { continue };
        let is_before =
            [Keyword::ANY, Keyword::ALL, Keyword::SOME].iter().any(|word| is(&tokens[*then], *word));
        if is_before
            && is_word(&tokens[*of], "operator")
            && is_word(&tokens[*schema], "pg_catalog")
            && tokens[*open].token == Token::LParen
            && tokens[*dot].token == Token::Period
            && tokens[*close].token == Token::RParen
        {
            named.push((*of, part[4], *close));
        }
    }
    for (of, operator, close) in named.into_iter().rev() {
        let operator = tokens[operator].clone();
        tokens.splice(of..=close, [operator]);
    }
    tokens
}

/// What may follow a table, and is no name of one.
const ENDS_FROM: [Keyword; 16] = [
    Keyword::AS,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::ORDER,
    Keyword::HAVING,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::JOIN,
    Keyword::INNER,
    Keyword::LEFT,
    Keyword::RIGHT,
    Keyword::FULL,
    Keyword::CROSS,
    Keyword::NATURAL,
    Keyword::UNION,
];

/// What the column is called that DO NOTHING sets.
pub(crate) const NOTHING: &str = "\u{1}nothing";

/// The parser knows no DO NOTHING in MERGE: it is made an UPDATE or an INSERT of a column that is called so.
pub(super) fn say_nothing(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is(token, Keyword::MERGE)) {
        return tokens;
    }
    let mut said: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let then = said.iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)));
        if !is(&token, Keyword::DO) || !then.is_some_and(|then| is(then, Keyword::THEN)) {
            said.push(token);
            continue;
        }
        while rest.next_if(|token| matches!(token.token, Token::Whitespace(_))).is_some() {}
        if rest.next_if(|token| is(token, Keyword::NOTHING)).is_none() {
            said.push(token);
            continue;
        }
        let words: Vec<_> =
            said.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
        let matched = words.iter().rposition(|token| is(token, Keyword::MATCHED)).unwrap_or(0);
        let is_not = matched > 0 && is(words[matched - 1], Keyword::NOT);
        let by_source = words.get(matched + 2).is_some_and(|token| is(token, Keyword::SOURCE));
        let column = Token::make_word(NOTHING, Some('"'));
        let null = Token::make_keyword("NULL");
        let instead = match is_not && !by_source {
            true => vec![
                Token::make_keyword("INSERT"),
                Token::LParen,
                column,
                Token::RParen,
                Token::make_keyword("VALUES"),
                Token::LParen,
                null,
                Token::RParen,
            ],
            false => {
                vec![Token::make_keyword("UPDATE"), Token::make_keyword("SET"), column, Token::Eq, null]
            }
        };
        said.extend(instead.into_iter().map(|instead| TokenWithSpan { token: instead, span: token.span }));
    }
    said
}

/// `TABLE t` is `SELECT * FROM t`; `None` if there is none. The parser takes the two words behind t for a part of its name. What is called
/// TABLE itself may be taken for it.
pub(super) fn say_select(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let words: Vec<usize> =
        (0..tokens.len()).filter(|&at| is(&tokens[at], Keyword::TABLE) && is_query(tokens, at)).collect();
    let mut said = Vec::with_capacity(tokens.len() + 4 * words.len());
    let mut from = 0;
    for &at in &words {
        said.extend_from_slice(&tokens[from..at]);
        let space = || Token::Whitespace(Whitespace::Space);
        let (select, from_word) = (Token::make_keyword("SELECT"), Token::make_keyword("FROM"));
        let instead = [select, space(), Token::Mul, space(), from_word];
        said.extend(instead.map(|token| TokenWithSpan { token, span: tokens[at].span }));
        from = at + 1;
    }
    said.extend_from_slice(&tokens[from..]);
    (!words.is_empty()).then_some(said)
}

/// The places of all tokens but blanks and comments.
fn seen(tokens: &[TokenWithSpan]) -> Vec<usize> {
    (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect()
}

/// The parser knows some units of intervals in the singular only, and takes others for the name of a column: `INTERVAL '2' DECADES`.
pub(super) fn say_units(tokens: &mut [TokenWithSpan]) {
    const UNITS: [(&str, &str); 6] = [
        ("quarters", "QUARTER"),
        ("decades", "DECADE"),
        ("centuries", "CENTURY"),
        ("millennia", "MILLENNIUM"),
        ("millenniums", "MILLENNIUM"),
        ("millenium", "MILLENNIUM"),
    ];
    if !tokens.iter().any(|token| is(token, Keyword::INTERVAL)) {
        return;
    }
    let seen = seen(tokens);
    for nth in 0..seen.len() {
        if !is(&tokens[seen[nth]], Keyword::INTERVAL) {
            continue;
        }
        let mut behind = seen[nth + 1..].iter().copied().peekable();
        behind.next_if(|at| matches!(tokens[*at].token, Token::Minus));
        let is_value =
            |at: &usize| matches!(tokens[*at].token, Token::SingleQuotedString(_) | Token::Number(..));
        if behind.next().filter(is_value).is_none() {
            continue;
        }
        let Some(place) = behind.next() else { return };
        if let Token::Word(word) = &tokens[place].token
            && word.quote_style.is_none()
            && let Some((_, one)) = UNITS.iter().find(|(many, _)| word.value.eq_ignore_ascii_case(many))
        {
            tokens[place].token = Token::make_keyword(one);
        }
    }
}

/// `rank(ORDER BY x)` gets an argument before ORDER BY, without which the parser knows no order there.
pub(super) fn say_argument_of_rank(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    const RANKS: [&str; 6] = ["rank", "row_number", "percent_rank", "cume_dist", "dense_rank", "rank_dense"];
    let is_rank = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => RANKS.iter().any(|rank| word.value.eq_ignore_ascii_case(rank)),
        _ => false,
    };
    if !tokens.iter().any(is_rank) {
        return tokens;
    }
    let seen = seen(&tokens);
    let begins = |four: &[usize]| {
        is_rank(&tokens[four[0]])
            && tokens[four[1]].token == Token::LParen
            && is(&tokens[four[2]], Keyword::ORDER)
            && is(&tokens[four[3]], Keyword::BY)
    };
    let orders: Vec<usize> = seen.windows(4).filter(|four| begins(four)).map(|four| four[2]).collect();
    let mut said = Vec::with_capacity(tokens.len() + 2 * orders.len());
    for (at, token) in tokens.into_iter().enumerate() {
        if orders.contains(&at) {
            let instead = [Token::make_keyword("NULL"), Token::Whitespace(Whitespace::Space)];
            said.extend(instead.map(|instead| TokenWithSpan { token: instead, span: token.span }));
        }
        said.push(token);
    }
    said
}

/// Leaves out what the parser does not know and what changes no answer: MATERIALIZED and NOT MATERIALIZED of WITH, the parentheses around
/// the VALUES of an INSERT, underscores within numbers.
pub(super) fn without_hints(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for token in &mut tokens {
        if let Token::Number(number, _) = &mut token.token {
            number.retain(|digit| digit != '_');
        }
    }
    if !tokens.iter().any(|token| is(token, Keyword::MATERIALIZED) || is(token, Keyword::VALUES)) {
        return tokens;
    }
    let seen = seen(&tokens);
    let word = |nth: usize, keyword| seen.get(nth).is_some_and(|at| is(&tokens[*at], keyword));
    let is_open = |nth: usize| seen.get(nth).is_some_and(|at| tokens[*at].token == Token::LParen);
    let mut left_out = Vec::new();
    for nth in 0..seen.len() {
        if word(nth, Keyword::AS) {
            let is_not = usize::from(word(nth + 1, Keyword::NOT));
            if word(nth + 1 + is_not, Keyword::MATERIALIZED) && is_open(nth + 2 + is_not) {
                left_out.extend(nth + 1..nth + 2 + is_not);
            }
        } else if is_open(nth) && word(nth + 1, Keyword::VALUES) && is_insert(&tokens, &seen[..nth]) {
            left_out.extend(matching(&tokens, &seen, nth).into_iter().flat_map(|end| [nth, end]));
        }
    }
    if left_out.is_empty() {
        return tokens;
    }
    let left_out: Vec<usize> = left_out.into_iter().map(|nth| seen[nth]).collect();
    let stays = |(at, token)| (!left_out.contains(&at)).then_some(token);
    tokens.into_iter().enumerate().filter_map(stays).collect()
}

/// Whether tokens end with INSERT INTO, a name and perhaps columns.
fn is_insert(tokens: &[TokenWithSpan], seen: &[usize]) -> bool {
    let mut depth = 0;
    for at in seen.iter().rev() {
        match &tokens[*at].token {
            Token::RParen => depth += 1,
            Token::LParen if depth > 0 => depth -= 1,
            Token::Period | Token::DoubleQuotedString(_) => {}
            Token::Word(_) if is(&tokens[*at], Keyword::INTO) => return depth == 0,
            Token::Word(word) if depth > 0 || word.keyword != Keyword::SELECT => {}
            _ if depth > 0 => {}
            _ => return false,
        }
    }
    false
}

/// The place of the parenthesis that closes one.
fn matching(tokens: &[TokenWithSpan], seen: &[usize], open: usize) -> Option<usize> {
    let mut depth = 0;
    (open..seen.len()).find(|nth| {
        match tokens[seen[*nth]].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// Whether a query may begin there, and a name follows.
fn is_query(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_seen = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let next = tokens[at + 1..].iter().find(is_seen);
    let before = tokens[..at].iter().rev().find(is_seen);
    // Behind the tables of WITH.
    let is_behind_with = before.is_some_and(|before| before.token == Token::RParen);
    next.is_some_and(|next| matches!(next.token, Token::Word(_))) && (is_behind_with || begins_query(before))
}

/// Whether a query may begin behind a token.
pub(super) fn begins_query(before: Option<&TokenWithSpan>) -> bool {
    const WORDS: [Keyword; 9] = [
        Keyword::ALL,
        Keyword::ANALYZE,
        Keyword::AS,
        Keyword::DISTINCT,
        Keyword::EXCEPT,
        Keyword::EXPLAIN,
        Keyword::INTERSECT,
        Keyword::UNION,
        Keyword::VERBOSE,
    ];
    before.is_none_or(|before| {
        matches!(before.token, Token::LParen | Token::SemiColon) || WORDS.iter().any(|word| is(before, *word))
    })
}
